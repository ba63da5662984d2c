"""Defaults of SAC."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from algos.common.settings import SoftPolicyConfig, StateNoiseConfig, TargetConfig, more_than
from config.model.fields import Int, NonNegative, Positive, PositiveFraction, PositiveInt, Problem
from config.model.inherit import Condition
from config.model.layers import flat
from config.model.memory_spec import ReplaySpec
from config.tell.language import tr


class Config(SoftPolicyConfig, TargetConfig, StateNoiseConfig):
    """SAC: maximum entropy actor-critic for continuous actions, alone or beside choices in a Tuple or Dict."""

    ACTION_SPACES: ClassVar[tuple[str, ...]] = ("Box", "Tuple", "Dict")
    SPECIAL_LAYERS = ("lstm", "gru", "batchnorm")
    BEFORE = {"entropy_backup": True}
    READ_WITH = {
        "cql_actions": ("cql_alpha", ()),
        "calibrate": ("cql_alpha", ()),
        "target_entropy_scale": ("alpha", ("auto",)),
        "critic_range": Condition(
            lambda cfg: bool(cfg.critic_bins) or cfg.normalize_reward, tr("neither critic_bins nor normalize_reward")
        ),
        "loss": Condition(lambda cfg: not cfg.critic_bins, tr("critics with bins learn by cross entropy")),
    }

    critic_lr = 3e-4
    target_critics: PositiveInt | None = 2
    """Size of the subset of target critics whose minimum is the target; below n_critics, a new random subset is drawn
    in each update. null: all critics."""
    actor_value: Literal["min", "mean"] = "min"
    """Value that the actor maximizes: the minimum or the mean of the critics."""

    target_entropy_scale: PositiveFraction = 0.5
    """With Tuple and Dict actions: target entropy of the choices among them, as a share of its maximum; target_entropy
    is then that of the numbers of Boxes."""
    entropy_backup: bool = True
    """Targets contain the entropy of the next action; if false, only its value."""

    critic_bins: Annotated[Int, Field(ge=2)] | None = None
    """Number of values, evenly spaced from -critic_range to critic_range, whose probabilities the critics learn as
    classes: the target is a distribution, the loss a cross entropy. null: critics give one number."""
    critic_range: Positive = 5.0
    """Largest value of critics with bins, and the largest return that normalize_reward makes."""
    normalize_reward: bool = False
    """Divide rewards by the running standard deviation of the discounted returns, or by their largest size divided by
    critic_range if that is more; all of a minibatch by the same number. Saved with the memory."""

    cql_alpha: NonNegative = 0.0
    """Weight of conservative Q-learning: pushes down the values of actions that the data do not choose."""
    cql_actions: PositiveInt = 10
    """Number of actions that are drawn from each of the uniform distribution, the policy, and the policy in the next
    state, to estimate the conservative loss."""

    calibrate: bool = False
    """Push the values of the policy's actions down no further than to the return that the data earn from the state on
    (Cal-QL); steps that the run collects have no such limit."""
    diversity: NonNegative = 0.0
    """Weight of the similarity of the critics' gradients with respect to the action, which is added to their loss
    (EDAC)."""

    def memory(self, rows: int) -> ReplaySpec:
        spec = super().memory(rows)
        limit = self.critic_range if self.normalize_reward else None
        return replace(spec, return_limit=limit, to_go=self.calibrate and spec.data is not None)

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.cql_alpha and self.remembers():
            yield Problem("cql_alpha", tr("does not support lstm and gru layers; set it to 0"))
        if self.target_critics is not None:
            yield from more_than(self, "target_critics", "n_critics")
        if self.calibrate and self.normalize_reward:
            message = tr("compares values with returns of the data, which normalize_reward changes; set it to false")
            yield Problem("calibrate", message, depends_on=("normalize_reward",))
        if self.calibrate and bool(getattr(self, "her_ratio", 0.0)):
            message = tr("compares values with returns of the data, and hindsight gives them other goals; set one to 0")
            yield Problem("her_ratio", message, depends_on=("calibrate",))
        if self.diversity and self.n_critics < 2:
            yield Problem("diversity", tr("needs two critics at least"), depends_on=("n_critics",))
        if self.diversity and any(layer.layer_type == "batchnorm" for layer in flat(self.critic_layers)):
            yield Problem("diversity", tr("does not support batchnorm layers in critics; set it to 0"))
