"""Defaults of IMPALA: A2C's, except for these."""

from typing import ClassVar

from algos.a2c.config import Config as Family


class Config(Family):
    """IMPALA: A2C with asynchronous workers, whose lag V-trace corrects; in one process it is A2C."""

    RUN_AHEAD: ClassVar = 2

    vtrace: bool = True
