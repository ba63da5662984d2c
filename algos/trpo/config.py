"""Defaults of TRPO."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import Field

from algos.common.settings import NetworkConfig
from config.schema import Fraction, Int, Layers, NonNegative, Positive, PositiveInt, Problem, RolloutSpec, mlp


class Config(NetworkConfig):
    """TRPO: the longest step along the natural gradient that keeps the new policy near the old one."""

    ALIASES: ClassVar = {**NetworkConfig.ALIASES, "kl_target": "max_kl", "target_kl": "max_kl"}
    ACTION_SPACES: ClassVar = ("Discrete", "Box", "MultiDiscrete", "MultiBinary")
    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")

    actor_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers between the observation and the policy; the output layer is added by itself."""
    critic_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers between the observation and the value of the state."""
    gae_lambda: Fraction = 0.95
    """Bias against variance of the advantage: 0 looks one step ahead, 1 to the end of the episode."""

    batch_size: PositiveInt = 2048
    """Transitions collected, over all rows, for each step of the policy."""
    max_kl: Positive = 0.01
    """Farthest that one step may move the policy, as the mean KL divergence."""
    cg_steps: PositiveInt = 10
    """Steps of the conjugate gradient method that finds the direction."""
    cg_damping: Positive = 0.1
    """Part of the identity that is added to the Fisher matrix: shorter steps where it is nearly singular."""
    line_search_steps: PositiveInt = 10
    """Lengths that are tried, each half of the one before, until the step is given up."""
    entropy_coef: NonNegative = 0.0
    """Reward for an undecided policy."""
    normalize_advantage: bool = True
    """Bring the advantages of each window to mean 0 and deviation 1."""

    critic_lr: Positive = 1e-3
    """Learning rate of the value; the policy has none."""
    sgd_batch_size: PositiveInt = 64
    """Transitions of a minibatch of the value."""
    k_epochs: PositiveInt = 10
    """Passes of the value over the collected transitions."""
    lookup_step: Annotated[Int, Field(ge=2)] = 16
    """With lstm or gru layers: steps of a sequence that is learned from as a whole."""
    log_std_init: float = 0.0
    """Logarithm of the first standard deviation of continuous actions."""
    normalize_reward: bool = False
    """Divide rewards by the running deviation of the discounted return. Saved with the model."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec.of_transitions(self.batch_size, rows, sequence=self.lookup_step if self.remembers() else 1)

    def problems(self) -> Iterator[Problem]:
        if self.sgd_batch_size > self.batch_size:
            message = f"{self.sgd_batch_size} is more than batch_size, {self.batch_size}"
            yield Problem("sgd_batch_size", message, depends_on=("batch_size",))
