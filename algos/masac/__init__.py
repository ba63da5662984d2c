"""Multi-agent SAC: stochastic policies of single observations, and critics of all observations and actions."""

from algos.masac.config import Config as Config

NAME = "MASAC"
