"""Defaults of BCQ."""

from algos.common.settings import OfflineActorCriticConfig
from config.model.fields import Fraction, NonNegative, PositiveInt
from config.model.layers import Layers, mlp
from config.model.schedules import Rate


class Config(OfflineActorCriticConfig):
    """BCQ: Q-learning from given data with the maximum over actions like the data's, for continuous actions."""

    batch_size = 100
    actor_layers = mlp(256, 256)
    """Layers of the network that perturbs actions; its output layer is added automatically."""
    vae_layers: Layers = mlp(256, 256)
    """Layers of encoder and decoder of the variational autoencoder that imitates the data."""
    actor_lr = 1e-3
    """Learning rate of the network that perturbs actions."""
    critic_lr = 1e-3
    vae_lr: Rate = 1e-3
    """Learning rate of the variational autoencoder."""
    kl_weight: NonNegative = 0.5
    """Weight of the KL term in the autoencoder's loss. Low: varied actions; high: their mean."""
    min_weight: Fraction = 0.75
    """Weight of the critics' minimum in a target; their maximum has the weight 1 - min_weight."""
    perturbation: NonNegative = 0.05
    """Largest change of an action by the perturbation, with actions scaled to -1..1."""
    target_actions: PositiveInt = 10
    """Number of actions drawn in the next state of a target, the best of which counts."""
    acting_actions: PositiveInt = 100
    """Number of actions drawn while acting, the best of which is chosen."""
