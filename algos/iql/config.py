"""Defaults of IQL."""

from typing import Annotated

from pydantic import Field

from algos.common.settings import ReplayConfig, TargetConfig
from config.model.fields import NonNegative, Positive, PositiveInt
from config.model.layers import Layers, mlp


class Config(ReplayConfig, TargetConfig):
    """IQL: implicit Q-learning, for continuous actions. The policy imitates the actions of the data whose advantage is
    high."""

    ACTION_SPACES = ("Box",)
    OFFLINE = True
    NEEDS_BOUNDS = True

    actor_layers: Layers = mlp(256, 256)
    """Layers of the policy network; its output layer is added automatically."""
    critic_layers: Layers = mlp(256, 256)
    """Layers of the value network and of each critic."""
    n_critics: PositiveInt = 2
    """Number of critics; their minimum is the action's value."""
    actor_lr: Positive = 3e-4
    """Learning rate of the policy."""
    critic_lr: Positive = 3e-4
    """Learning rate of the critics and of the value network."""
    expectile: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.7
    """Expectile of the action values that the value network learns: 0.5 is their mean, near 1 the best one of the
    data."""
    beta: NonNegative = 3.0
    """Inverse temperature of the policy's weights exp(beta advantage); 0 imitates all actions alike."""
    most_weight: Positive = 100.0
    """Upper limit of exp(beta * advantage)."""
    log_std_init: float = 0.0
    """Initial log standard deviation of the policy; with unlike bounds, of actions scaled to -1..1."""
    log_std_min: float = -5.0
    """Lowest log standard deviation that is learned."""
