"""Trust region policy optimization by natural gradients (Schulman et al., 2015)."""

from algos.trpo.config import Config as Config

NAME = "TRPO"
