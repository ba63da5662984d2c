"""Defaults of prioritized sweeping."""

from algos.dynaq.config import Config as DynaQ
from config.model.inherit import fixed


class Config(DynaQ):
    """PrioritizedSweeping: Dyna-Q that plans where values change most, backward from there."""

    planning = fixed("prioritized")
