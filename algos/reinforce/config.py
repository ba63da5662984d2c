"""Defaults of REINFORCE."""

from typing import Literal

from algos.common.settings import JointRateConfig
from config.model.fields import PositiveInt
from config.model.layers import mlp
from config.model.memory_spec import RolloutSpec


class Config(JointRateConfig):
    """REINFORCE: the Monte Carlo policy gradient, from complete episodes."""

    READ_WITH = {key: ("baseline", ("value",)) for key in ("critic_layers", "critic_lr", "value_coef")}

    critic_layers = mlp(64, 64, activation="tanh")
    """Layers of the value network, with baseline value."""

    lr_schedule = "linear"
    batch_episode: PositiveInt = 16
    """Complete episodes per update, over all rows."""
    baseline: Literal["none", "mean", "value"] = "value"
    """Baseline subtracted from each return: none, the mean return of the window, or a learned state value."""
    normalize_obs = True
    normalize_advantage: bool = True
    """Divide advantages by their root mean square over the window."""
    value_coef = 0.5
    """Weight of the value loss, half of the mean squared error, with baseline value."""

    def memory(self, rows: int) -> RolloutSpec:
        sequence = 0 if self.remembers() else 1
        return RolloutSpec(self.batch_episode, unit="episodes", sequence=sequence, reward_clip=self.reward_clip)
