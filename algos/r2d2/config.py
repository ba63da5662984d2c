"""Defaults of R2D2: DRQN's, except for these."""

from algos.drqn.config import Config as Family
from config.model.inherit import Condition
from config.tell.language import tr


class Config(Family):
    """R2D2: DRQN with prioritized sequences, n-step returns, rescaled values and dueling double networks."""

    NEEDED = {
        "buffer_type": Condition(
            lambda cfg: cfg.buffer_type.startswith("PER"), tr("{value} has no priorities: without them this is DRQN")
        ),
    }

    buffer_type = "PER"
    per_alpha = 0.9
    per_beta = 0.6
    n_step = 5
    double = True
    dueling = True
    value_rescale = True
    lookup_step = 20
    burn_in = 10
    gamma = 0.997
