"""Defaults of RecurrentPPO: PPO's, except for these."""

from typing import ClassVar

from algos.ppo.config import Config as Family
from config.model.layers import Layers, Linear, Lstm
from config.model.schema import Needed


class Config(Family):
    """RecurrentPPO: PPO with recurrent layers, trained on sequences."""

    FIXED: ClassVar = {"actor_layers": Needed(Family.remembers, "has no lstm or gru layer: this is PPO then")}

    actor_layers: Layers = [Linear(layer_size=[64], activation="tanh"), Lstm(layer_size=[64])]
    """Layers of the policy network, with lstm or gru among them; its output layer is added automatically."""
    critic_layers: Layers = [Linear(layer_size=[64], activation="tanh"), Lstm(layer_size=[64])]
    """Layers of the value network; recurrent layers are optional here."""
