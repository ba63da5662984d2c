"""First-visit Monte Carlo control with a table (Sutton and Barto, 2018)."""

from algos.montecarlo.config import Config

NAME = "MonteCarlo"
ALIASES = ("MC", "Monte_Carlo")

__all__ = ["ALIASES", "NAME", "Config"]
