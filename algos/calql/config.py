"""Defaults of CalQL: CQL's, except for these."""

from algos.cql.config import Config as Family
from config.model.inherit import fixed


class Config(Family):
    """CalQL: CQL whose values stay above the returns of the data, so that learning online goes on from them."""

    calibrate = fixed(True)
