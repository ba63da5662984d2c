"""Defaults of DRQN: DQN's, except for these."""

from typing import ClassVar

from algos.dqn.config import Config as Family
from config.model.fields import PositiveInt
from config.model.layers import Layers, Linear, Lstm
from config.model.schema import Needed


class Config(Family):
    """DRQN: DQN with a recurrent network, learned from sequences."""

    FIXED: ClassVar = {"value_layers": Needed(Family.remembers, "has no lstm or gru: without a memory this is DQN")}

    value_layers: Layers = [Linear(layer_size=[64]), Lstm(layer_size=[64])]
    """Layers between the observation and the values, with lstm or gru among them; the output layer is added
    automatically."""
    batch_size: PositiveInt = 16
    """Number of sequences in a minibatch."""
    train_fre: PositiveInt = 4
