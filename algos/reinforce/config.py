"""Defaults of REINFORCE."""

from typing import Literal

from algos.common.settings import NetworkConfig
from config.model.fields import NonNegative, Positive, PositiveInt
from config.model.layers import Layers, mlp
from config.model.memory_spec import RolloutSpec


class Config(NetworkConfig):
    """REINFORCE: the Monte Carlo policy gradient, from complete episodes."""

    ALIASES = {"critic_loss_coef": "value_coef", "vf_coef": "value_coef"}
    ACTION_SPACES = ("Discrete", "Box", "MultiDiscrete", "MultiBinary")
    SPECIAL_LAYERS = ("lstm", "gru")
    READ_WITH = {key: ("baseline", ("value",)) for key in ("critic_layers", "critic_lr", "value_coef")}

    actor_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers of the policy network; its output layer is added automatically."""
    critic_layers: Layers = mlp(64, 64, activation="tanh")
    """Layers of the value network, with baseline value."""

    lr: Positive = 1e-3
    """Learning rate of policy and value network, unless actor_lr or critic_lr is set."""
    actor_lr: Positive | None = None
    """Learning rate of the policy network; null is lr."""
    critic_lr: Positive | None = None
    """Learning rate of the value network; null is lr."""
    lr_schedule = "linear"
    batch_episode: PositiveInt = 16
    """Complete episodes per update, over all rows."""
    baseline: Literal["none", "mean", "value"] = "value"
    """Baseline subtracted from each return: none, the mean return of the window, or a learned state value."""
    normalize_obs = True
    normalize_advantage: bool = True
    """Divide advantages by their root mean square over the window."""
    entropy_coef: NonNegative = 0.0
    """Entropy bonus coefficient."""
    value_coef: NonNegative = 0.5
    """Value loss coefficient, with baseline value."""
    log_std_init: float = 0.0
    """Initial log standard deviation of continuous actions; with unlike finite bounds, of actions scaled to -1..1."""
    normalize_reward: bool = False
    """Divide rewards by the running standard deviation of the discounted return. Saved with the model."""

    def memory(self, rows: int) -> RolloutSpec:
        sequence = 0 if self.remembers() else 1
        return RolloutSpec(self.batch_episode, unit="episodes", sequence=sequence, reward_clip=self.reward_clip)
