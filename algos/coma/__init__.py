"""Counterfactual multi-agent policy gradients (Foerster et al., 2018): what an agent's action adds to the others'."""

from algos.coma.config import Config as Config

NAME = "COMA"
