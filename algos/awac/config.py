"""Defaults of AWAC."""

from typing import Literal

from algos.common.settings import OfflineActorCriticConfig
from config.model.fields import Positive, PositiveInt


class Config(OfflineActorCriticConfig):
    """AWAC: advantage weighted actor-critic, for continuous actions. The policy imitates the actions whose advantage is
    high."""

    READ_WITH = {key: ("weights", ("exp",)) for key in ("temperature", "most_weight")}

    weights: Literal["exp", "binary"] = "exp"
    """Weights with which the policy imitates actions: exp(advantage / temperature), or binary: 1 where the advantage is
    above 0, otherwise 0."""
    temperature: Positive = 1.0
    """Temperature of the weights: a low one imitates only the actions with a high advantage, a high one all alike."""
    most_weight: Positive = 100.0
    """Upper limit of exp(advantage / temperature)."""
    advantage_actions: PositiveInt = 1
    """Policy actions sampled per state to estimate V(s)."""
    advantage_baseline: Literal["mean", "max"] = "mean"
    """V(s) is the mean or the maximum of their values."""
    log_std_init: float = 0.0
    """Initial log standard deviation of the policy, with actions scaled to -1..1."""
    log_std_min: float = -6.0
    """Lowest log standard deviation that is learned."""
