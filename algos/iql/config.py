"""Defaults of IQL."""

from typing import Annotated

from pydantic import Field

from algos.common.settings import OfflineActorCriticConfig
from config.model.fields import NonNegative, Positive


class Config(OfflineActorCriticConfig):
    """IQL: implicit Q-learning, for continuous actions. The policy imitates the actions of the data whose advantage is
    high."""

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
