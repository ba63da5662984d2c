"""Tabular Sarsa(lambda): Sarsa with eligibility traces (Rummery and Niranjan, 1994)."""

from algos.sarsalambda.config import Config as Config

NAME = "SarsaLambda"
ALIASES = ("Sarsa(lambda)", "Sarsa_lambda")
