"""Defaults of FQL."""

from typing import Literal

from algos.common.settings import OfflineActorCriticConfig
from config.model.fields import NonNegative, PositiveInt
from config.model.layers import LayerNorm, Layers, Linear, mlp


class Config(OfflineActorCriticConfig):
    """FQL: flow Q-learning, for continuous actions. The policy maximizes the value and stays close to a flow that
    imitates the data."""

    actor_layers = mlp(512, 512, 512, 512, activation="gelu")
    """Layers of the policy, and of the flow; their output layers are added automatically."""
    critic_layers: Layers = [
        layer for _ in range(4) for layer in (Linear(layer_size=[512], activation="gelu"), LayerNorm())
    ]
    """Layers of each critic."""
    distill_alpha: NonNegative = 10.0
    """Weight of the squared distance of the policy's action to the flow's from the same noise."""
    flow_steps: PositiveInt = 10
    """Number of Euler steps from noise to an action of the flow."""
    normalize_q: bool = False
    """Divide the value in the policy's loss by its mean size."""
    target_value: Literal["mean", "min"] = "mean"
    """Value of the next action in the targets: the mean or the minimum of the critics."""
