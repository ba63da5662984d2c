"""Defaults of CRR: AWAC's, except for these."""

from typing import Literal

from algos.awac.config import Config as Family
from config.model.fields import Positive, PositiveInt


class Config(Family):
    """CRR: critic regularized regression, for continuous actions. The policy imitates the actions that are better than
    its own ones."""

    weights: Literal["exp", "binary"] = "binary"
    most_weight: Positive = 20.0
    advantage_actions: PositiveInt = 4
