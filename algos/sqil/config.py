"""Defaults of SQIL: SoftQ's, and given data."""

from algos.softq.config import Config as Family
from config.model.inherit import fixed


class Config(Family):
    """SQIL: soft Q-learning with a reward of 1 for each step of given data, and of 0 for each of its own."""

    IMITATES = True
    RUN = {}

    imitate = fixed(True)
