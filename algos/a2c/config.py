"""Defaults of A2C."""

from typing import ClassVar

from algos.common.settings import NetworkConfig
from config.schema import Fraction, Layers, NonNegative, Positive, PositiveInt, RolloutSpec, mlp


class Config(NetworkConfig):
    """A2C: a policy learns from a few fresh steps of many environments, once from each."""

    ALIASES: ClassVar = {**NetworkConfig.ALIASES, "critic_loss_coef": "value_coef", "vf_coef": "value_coef"}
    ACTION_SPACES: ClassVar = ("Discrete", "Box", "MultiDiscrete", "MultiBinary")
    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")
    MAY_LAG: ClassVar = True

    actor_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers between the observation and the policy; the output layer is added by itself."""
    critic_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers between the observation and the value of the state."""
    gae_lambda: Fraction = 1.0
    """Bias against variance of the advantage: 0 looks one step ahead, 1 to the end of the window."""

    vtrace: bool = False
    """Let actions count less that the policy would choose less often now: a correction for workers that run ahead of
    the learner (general_cfg.run_ahead)."""

    lr: Positive = 7e-4
    """Learning rate of actor and critic, unless the next two say otherwise."""
    actor_lr: Positive | None = None
    """Learning rate of the actor; null is lr."""
    critic_lr: Positive | None = None
    """Learning rate of the critic; null is lr."""
    batch_size: PositiveInt = 64
    """Transitions collected, over all rows, for one update: with n_envs 8, 64 are 8 steps of each."""
    entropy_coef: NonNegative = 0.0
    """Reward for an undecided policy."""
    value_coef: NonNegative = 0.5
    """Weight of the value loss beside the policy loss."""
    max_grad_norm: Positive | None = 0.5
    """Longest gradient, as its norm over all parameters; null does not clip."""
    normalize_advantage: bool = False
    """Bring the advantages of each window to mean 0 and deviation 1."""
    log_std_init: float = 0.0
    """Logarithm of the first standard deviation of continuous actions."""
    normalize_reward: bool = False
    """Divide rewards by the running deviation of the discounted return. Saved with the model."""

    def memory(self, rows: int) -> RolloutSpec:
        length, sequence = max(1, self.batch_size // rows), 0 if self.remembers() else 1
        return RolloutSpec(length, sequence=sequence, reward_clip=self.reward_clip)
