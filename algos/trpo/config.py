"""Defaults of TRPO."""

from typing import Annotated

from pydantic import Field

from algos.common.settings import CentralCriticConfig, MinibatchConfig
from config.model.fields import Fraction, Int, Positive, PositiveInt
from config.model.memory_spec import RolloutSpec
from config.model.schedules import Rate


class Config(MinibatchConfig, CentralCriticConfig):
    """TRPO: natural gradient steps within a trust region of the KL divergence."""

    ALIASES = {"kl_target": "max_kl", "target_kl": "max_kl"}

    gae_lambda: Fraction = 0.95
    """Lambda of generalized advantage estimation: 0 is the 1-step TD error, 1 the Monte Carlo return less the value."""

    batch_size: PositiveInt = 2048
    """Transitions per policy step, over all rows."""
    max_kl: Positive = 0.01
    """Trust region: largest mean KL divergence of a policy step."""
    cg_steps: PositiveInt = 10
    """Iterations of the conjugate gradient method."""
    cg_damping: Positive = 0.1
    """Damping: multiple of the identity added to the Fisher matrix."""
    line_search_steps: PositiveInt = 10
    """Step lengths that the line search tries, each half of the one before."""
    normalize_obs = True
    normalize_advantage: bool = True
    """Normalize the advantages of each window to mean 0 and standard deviation 1."""

    critic_lr: Rate = 1e-3
    """Learning rate of the value network; the policy has none."""
    sgd_batch_size: PositiveInt = 128
    """Transitions per minibatch of the value network; where the window does not divide evenly, the last one of an epoch
    is smaller."""
    k_epochs: PositiveInt = 10
    """Epochs of the value network: passes over each window."""
    lookup_step: Annotated[Int, Field(ge=2)] = 16
    """With lstm or gru layers: steps per training sequence (truncated backpropagation through time)."""

    def memory(self, rows: int) -> RolloutSpec:
        sequence = self.lookup_step if self.remembers() else 1
        return RolloutSpec.of_transitions(self.batch_size, rows, sequence=sequence, reward_clip=self.reward_clip)
