"""Defaults of BC."""

from typing import ClassVar, Literal

from algos.common.settings import GivenData, NetworkConfig
from config.schema import Layers, NonNegative, Positive, PositiveInt, ReplaySpec, mlp


class Config(GivenData, NetworkConfig):
    """BC: behaviour cloning. A policy learns to choose the actions of given data."""

    ALIASES: ClassVar = {**NetworkConfig.ALIASES, **GivenData.ALIASES}
    ACTION_SPACES: ClassVar = ("Discrete", "Box", "MultiDiscrete", "MultiBinary")
    OFFLINE: ClassVar = True
    HAS_GRADIENTS: ClassVar = True
    READ_WITH: ClassVar = {
        "entropy_coef": ("head", ("gaussian",)),
        "log_std_init": ("head", ("gaussian",)),
        "reward_clip": ("rewards_to_learn_from", ()),
        "gamma": ("rewards_to_learn_from", ()),
    }

    actor_layers: Layers = mlp(256, 256)
    """Layers of the policy network; its output layer is added automatically."""
    lr: Positive = 3e-4
    """Learning rate."""
    batch_size: PositiveInt = 128
    """Transitions per minibatch."""
    head: Literal["gaussian", "deterministic"] = "gaussian"
    """With Box actions, gaussian: the log density of a normal distribution, whose deviation is learned too;
    deterministic: the squared error of the action. Other actions always have the log probability."""
    entropy_coef: NonNegative = 0.0
    """Weight of the policy's entropy, which keeps it from becoming certain."""
    log_std_init: float = 0.0
    """Initial log standard deviation of continuous actions; with unlike finite bounds, of actions scaled to -1..1."""

    @property
    def rewards_to_learn_from(self) -> bool:
        """False: the actions alone count."""
        return False

    def memory(self, rows: int) -> ReplaySpec:
        return ReplaySpec(
            capacity=1,
            batch_size=self.batch_size,
            warmup=0,
            updates_per_step=0.0,
            gamma=self.gamma,
            reward_clip=self.reward_clip,
            statistics=self.normalize_obs,
            data=self.data_spec(),
        )
