"""Defaults of RecurrentPPO: those of PPO but for these."""

from algos.ppo.config import Config as Family
from config.schema import Layers, Linear, Lstm


class Config(Family):
    """RecurrentPPO: PPO with a memory of the episode so far, learned from sequences."""

    actor_layers: Layers = [Linear(layer_size=[64], activation="tanh"), Lstm(layer_size=[64])]
    """Layers between the observation and the policy, with lstm or gru among them; the output is added by itself."""
    critic_layers: Layers = [Linear(layer_size=[64], activation="tanh"), Lstm(layer_size=[64])]
    """Layers between the observation and the value of the state; they may do without a memory."""
