"""PQN (Gallici et al., 2024): on-policy Q-learning in many environments, without replay or target network."""

from algos.pqn.config import Config as Config

NAME = "PQN"
ALIASES = ("ParallelisedQN",)
