"""Defaults of BC."""

from typing import Annotated, Literal

from pydantic import Field

from algos.common.settings import GivenData, NetworkConfig
from config.model.fields import Int, PositiveInt
from config.model.inherit import unread
from config.model.layers import Layers, mlp
from config.model.memory_spec import ReplaySpec
from config.model.schedules import Rate, ScheduledNonNegative
from config.tell.language import tr


class Config(GivenData, NetworkConfig):
    """BC: behavior cloning. A policy learns to choose the actions of given data."""

    ACTION_SPACES = ("Discrete", "Box", "MultiDiscrete", "MultiBinary", "Tuple", "Dict")
    OFFLINE = True
    SPECIAL_LAYERS = ("lstm", "gru")
    HAS_GRADIENTS = True
    READ_WITH = {
        "entropy_coef": ("head", ("gaussian", "mixture")),
        "log_std_init": ("head", ("gaussian", "mixture")),
        "log_std_min": ("head", ("gaussian", "mixture")),
        "components": ("head", ("mixture",)),
        "reward_clip": unread(tr("no rewards to learn from")),
        "gamma": unread(tr("no rewards to learn from")),
    }

    actor_layers: Layers = mlp(256, 256)
    """Layers of the policy network; its output layer is added automatically."""
    lr: Rate = 3e-4
    """Learning rate."""
    batch_size: PositiveInt = 128
    """Transitions per minibatch; with lstm or gru layers, sequences per minibatch."""
    head: Literal["gaussian", "mixture", "deterministic"] = "gaussian"
    """With Box actions, gaussian: the log density of a normal distribution, whose deviation is learned too; mixture:
    the log density of a mixture of normal distributions, for data in which several unlike actions are right;
    deterministic: the squared error of the action. Other actions always have the log probability."""
    components: Annotated[Int, Field(ge=2)] = 5
    """Number of normal distributions, with head mixture."""
    entropy_coef: ScheduledNonNegative = 0.0
    """Weight of the policy's entropy, which keeps it from becoming certain; with head mixture, of an upper bound of
    it."""
    log_std_init: float = 0.0
    """Initial log standard deviation of continuous actions; with unlike finite bounds, of actions scaled to -1..1."""
    log_std_min: float = -5.0
    """Lowest log standard deviation that is learned."""

    lookup_step: Annotated[Int, Field(ge=2)] = 16
    """With lstm or gru layers: steps of each sampled sequence that are trained on."""
    burn_in: Annotated[Int, Field(ge=0)] = 8
    """With lstm or gru layers: preceding steps that only build up the recurrent state, which data do not have."""

    @property
    def reads_rewards(self) -> bool:
        return False

    def memory(self, rows: int) -> ReplaySpec:
        sequence = self.burn_in + self.lookup_step if self.remembers() else 1
        return ReplaySpec(
            capacity=sequence * rows,
            batch_size=self.batch_size,
            warmup=0,
            updates_per_step=0.0,
            gamma=self.gamma,
            sequence=sequence,
            reward_clip=self.reward_clip,
            statistics=self.normalize_obs,
            data=self.data_spec(),
        )
