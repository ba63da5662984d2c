"""Defaults of SAC."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from algos.common.settings import ContinuousConfig, StateNoiseConfig, TargetConfig, TemperatureConfig
from config.model.fields import NonNegative, PositiveFraction, PositiveInt, Problem
from config.tell.language import tr


class Config(ContinuousConfig, TargetConfig, TemperatureConfig, StateNoiseConfig):
    """SAC: maximum entropy actor-critic for continuous actions, alone or beside choices in a Tuple or Dict."""

    ACTION_SPACES: ClassVar[tuple[str, ...]] = ("Box", "Tuple", "Dict")
    SPECIAL_LAYERS = ("lstm", "gru")
    BEFORE = {"entropy_backup": True}
    READ_WITH = {"cql_actions": ("cql_alpha", ()), "target_entropy_scale": ("alpha", ("auto",))}

    critic_lr = 3e-4
    target_critics: PositiveInt = 2
    """Size of the subset of target critics whose minimum is the target; below n_critics, a new random subset is drawn
    in each update."""
    actor_value: Literal["min", "mean"] = "min"
    """Value that the actor maximizes: the minimum or the mean of the critics."""

    target_entropy_scale: PositiveFraction = 0.5
    """With Tuple and Dict actions: target entropy of the choices among them, as a share of its maximum; target_entropy
    is then that of the numbers of Boxes."""
    entropy_backup: bool = True
    """Targets contain the entropy of the next action; if false, only its value."""

    cql_alpha: NonNegative = 0.0
    """Weight of conservative Q-learning: pushes down the values of actions that the data do not choose."""
    cql_actions: PositiveInt = 10
    """Number of actions that are drawn from each of the uniform distribution, the policy, and the policy in the next
    state, to estimate the conservative loss."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.cql_alpha and self.remembers():
            yield Problem("cql_alpha", tr("does not support lstm and gru layers; set it to 0"))
        if self.target_critics > self.n_critics:
            message = tr(
                "{value} is more than {setting}, {limit}",
                value=self.target_critics,
                setting="n_critics",
                limit=self.n_critics,
            )
            yield Problem("target_critics", message, depends_on=("n_critics",))
