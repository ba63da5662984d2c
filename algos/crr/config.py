"""Defaults of CRR: AWAC's, except for these."""

from algos.awac.config import Config as Family


class Config(Family):
    """CRR: critic regularized regression, for continuous actions. The policy imitates the actions that are better than
    its own ones."""

    weights = "binary"
    most_weight = 20.0
    advantage_actions = 4
