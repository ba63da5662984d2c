"""Cal-QL (Nakamoto et al., 2023): CQL whose values stay above the returns of the data."""

from algos.calql.config import Config as Config

NAME = "CalQL"
ALIASES = ("Cal_QL",)
