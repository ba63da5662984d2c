"""Defaults of RecurrentPPO: those of PPO but for these."""

from collections.abc import Iterator

from algos.ppo.config import Config as Family
from config.schema import Layers, Linear, Lstm, Problem


class Config(Family):
    """RecurrentPPO: PPO with a memory of the episode so far, learned from sequences."""

    actor_layers: Layers = [Linear(layer_size=[64], activation="tanh"), Lstm(layer_size=[64])]
    """Layers between the observation and the policy, with lstm or gru among them; the output is added by itself."""
    critic_layers: Layers = [Linear(layer_size=[64], activation="tanh"), Lstm(layer_size=[64])]
    """Layers between the observation and the value of the state; they may do without a memory."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if not self.remembers():
            yield Problem("actor_layers", "has no lstm or gru: without a memory this is PPO")
