"""Value iteration with the known transition model of a finite environment (Bellman, 1957)."""

from algos.valueiteration.config import Config as Config

NAME = "ValueIteration"
ALIASES = ("VI", "Value_Iteration")
