"""Defaults of CQL: SAC's, except for these."""

from algos.sac.config import Config as Family


class Config(Family):
    """CQL: SAC on given data, with values that are low for actions that the data do not choose."""

    ACTION_SPACES = ("Box",)
    OFFLINE = True
    RUN = {}

    cql_alpha = 5.0
    entropy_backup = False
    actor_lr = 1e-4
    alpha_lr = 1e-4
