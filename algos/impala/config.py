"""Defaults of IMPALA: A2C's, except for these."""

from algos.a2c.config import Config as Family


class Config(Family):
    """IMPALA: A2C with asynchronous workers, whose lag V-trace corrects."""

    RUN_AHEAD = 2

    vtrace = True
