"""Defaults of RecurrentPPO: PPO's, except for these."""

from algos.ppo.config import Config as Family
from config.model.inherit import Condition
from config.model.layers import Linear, Lstm
from config.model.schema import run
from config.tell.language import tr


class Config(Family):
    """RecurrentPPO: PPO with recurrent layers, trained on sequences."""

    NEEDED = {"actor_layers": Condition(Family.remembers, tr("has no lstm or gru layer: this is PPO then"))}
    RUN = run(steps=500_000, save=25_000, rows=16)

    actor_layers = [Linear(layer_size=[64], activation="tanh"), Lstm(layer_size=[64])]
    """Layers of the policy network, with lstm or gru among them; its output layer is added automatically."""
    critic_layers = [Linear(layer_size=[64], activation="tanh"), Lstm(layer_size=[64])]
    """Layers of the value network; recurrent layers are optional here."""
    lr = 3e-4
    lr_schedule = "constant"
    sgd_batch_size = 512
    k_epochs = 10
