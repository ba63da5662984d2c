"""DAgger (Ross, Gordon and Bagnell, 2011): behavior cloning that asks an expert about the states that it visits."""

from algos.dagger.config import Config as Config

NAME = "DAgger"
ALIASES = ("dataset_aggregation",)
