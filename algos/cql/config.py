"""Defaults of CQL: SAC's, except for these."""

from typing import ClassVar

from algos.sac.config import Config as Family
from config.model.fields import NonNegative, Positive


class Config(Family):
    """CQL: SAC on given data, with values that are low for actions that the data do not choose."""

    OFFLINE: ClassVar = True

    cql_alpha: NonNegative = 5.0
    entropy_backup: bool = False
    actor_lr: Positive = 1e-4
    critic_lr: Positive = 3e-4
    alpha_lr: Positive = 1e-4
