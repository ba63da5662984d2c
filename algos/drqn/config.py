"""Defaults of DRQN: DQN's, except for these."""

from collections.abc import Iterator

from algos.dqn.config import Config as Family
from config.schema import Layers, Linear, Lstm, PositiveInt, Problem


class Config(Family):
    """DRQN: DQN with a recurrent network, learned from sequences."""

    value_layers: Layers = [Linear(layer_size=[64]), Lstm(layer_size=[64])]
    """Layers between the observation and the values, with lstm or gru among them; the output layer is added
    automatically."""
    batch_size: PositiveInt = 16
    """Number of sequences in a minibatch."""
    train_fre: PositiveInt = 4

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if not self.remembers():
            yield Problem("value_layers", "has no lstm or gru: without a memory this is DQN")
