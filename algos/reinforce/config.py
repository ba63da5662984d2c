"""Defaults of REINFORCE."""

from typing import ClassVar, Literal

from algos.common.settings import NetworkConfig
from config.schema import Layers, NonNegative, Positive, PositiveInt, RolloutSpec, mlp


class Config(NetworkConfig):
    """REINFORCE: after complete episodes, actions become likelier in proportion to the return that followed them."""

    ALIASES: ClassVar = {**NetworkConfig.ALIASES, "critic_loss_coef": "value_coef", "vf_coef": "value_coef"}
    ACTION_SPACES: ClassVar = ("Discrete", "Box", "MultiDiscrete", "MultiBinary")
    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")
    READ_WITH: ClassVar = {key: ("baseline", ("value",)) for key in ("critic_layers", "critic_lr", "value_coef")}

    actor_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers between the observation and the policy; the output layer is added by itself."""
    critic_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers between the observation and the value of the state, with baseline value."""

    lr: Positive = 2e-3
    """Learning rate of policy and value, unless the next two say otherwise."""
    actor_lr: Positive | None = None
    """Learning rate of the policy; null is lr."""
    critic_lr: Positive | None = None
    """Learning rate of the value; null is lr."""
    batch_episode: PositiveInt = 8
    """Complete episodes, over all rows, for one update."""
    baseline: Literal["none", "mean", "value"] = "mean"
    """What is subtracted from each return: nothing, the mean return of the window, or a learned value of the state."""
    normalize_advantage: bool = True
    """Divide what is left by its root mean square over the window."""
    entropy_coef: NonNegative = 0.0
    """Reward for an undecided policy."""
    value_coef: NonNegative = 0.5
    """Weight of the value loss beside the policy loss, with baseline value."""
    log_std_init: float = 0.0
    """Logarithm of the first standard deviation of continuous actions."""
    normalize_reward: bool = False
    """Divide rewards by the running deviation of the discounted return. Saved with the model."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec(length=self.batch_episode, unit="episodes", sequence=0 if self.remembers() else 1)
