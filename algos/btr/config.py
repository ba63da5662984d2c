"""Defaults of BTR: IQN's, and the other parts of the paper."""

from algos.iqn.config import Config as Family
from config.model.inherit import Condition, fixed
from config.model.layers import ImpalaCnn, Pooling
from config.tell.language import tr


class Config(Family):
    """BTR: IQN with the parts of Rainbow, and rewards that grow with the log probability of the action taken."""

    LARGE_IMAGES = [ImpalaCnn(channels=[32, 64, 64], spectral_norm=True), Pooling(output_size=6)]

    NEEDED = {
        "munchausen_alpha": Condition(
            lambda cfg: cfg.munchausen_alpha > 0, tr("0 adds nothing to the rewards: Munchausen is a part of BTR")
        ),
    }

    soft = fixed(True)
    temperature = 0.03
    munchausen_alpha = 0.9
    n_quantiles = 8
    dueling = True
    noisy = True
    exploration_type = "none"
    buffer_type = "PER"
    per_alpha = 0.2
    per_beta = 0.4
    n_step = 3
    gamma = 0.997
    optimizer = "adamw"
    weight_decay = 1e-4
    lr = 1e-4
    adam_epsilon = 2e-5
    batch_size = 256
    train_fre = 64
    updates_per_train = 1
