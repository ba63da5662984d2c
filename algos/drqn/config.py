"""Defaults of DRQN: DQN's, except for these."""

from algos.dqn.config import Config as Family
from config.model.inherit import Condition
from config.model.layers import Linear, Lstm
from config.tell.language import tr


class Config(Family):
    """DRQN: DQN with a recurrent network, learned from sequences."""

    NEEDED = {"value_layers": Condition(Family.remembers, tr("has no lstm or gru: without a memory this is DQN"))}

    value_layers = [Linear(layer_size=[64]), Lstm(layer_size=[64])]
    """Layers between the observation and the values, with lstm or gru among them; the output layer is added
    automatically."""
    batch_size = 32
    """Number of sequences in a minibatch."""
    updates_per_train = 1
    double = False
    loss = "mse"
