"""First-visit Monte Carlo control with a table (Sutton and Barto, 2018)."""

from algos.montecarlo.config import Config as Config

NAME = "MonteCarlo"
ALIASES = ("MC", "Monte_Carlo")
