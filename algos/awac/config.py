"""Defaults of AWAC."""

from typing import Literal

from algos.common.settings import OfflineActorCriticConfig
from config.model.fields import Positive, PositiveInt
from config.model.inherit import Condition
from config.tell.language import tr


class Config(OfflineActorCriticConfig):
    """AWAC: advantage weighted actor-critic, for continuous actions. The policy imitates the actions whose advantage is
    high."""

    READ_WITH = {
        "temperature": ("weights", ("exp",)),
        "most_weight": ("weights", ("exp",)),
        "advantage_baseline": Condition(lambda cfg: cfg.advantage_actions > 1, tr("advantage_actions is 1")),
    }

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
