"""Defaults of DiscreteBCQ."""

from typing import Annotated

from pydantic import Field

from algos.common.settings import ReplayConfig, TargetConfig
from config.model.fields import Fraction, NonNegative
from config.model.layers import Layers, mlp
from config.model.schedules import Rate


class Config(ReplayConfig, TargetConfig):
    """DiscreteBCQ: Q-learning from given data with the maximum over the actions that the data would choose, for
    discrete actions."""

    ACTION_SPACES = ("Discrete",)
    OFFLINE = True

    value_layers: Layers = mlp(256, 256)
    """Layers of the network of the action values; its output layer is added automatically."""
    actor_layers: Layers = mlp(256, 256)
    """Layers of the network that imitates the data; its output layer is added automatically."""
    lr: Rate = 3e-4
    """Learning rate."""
    loss = "huber"
    bcq_threshold: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.3
    """Least probability of an action in the data, relative to the likeliest one: 0 allows all actions, near 1 only the
    likeliest one."""
    logit_penalty: NonNegative = 0.01
    """Weight of the squared logits of the network that imitates, which keeps it from becoming certain."""
    epsilon: Fraction = 0.05
    """Probability of a random action while the run collects."""
