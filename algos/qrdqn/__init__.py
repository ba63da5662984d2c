"""QR-DQN (Dabney et al., 2018a): the distribution of the return, as quantiles."""

from algos.qrdqn.config import Config as Config

NAME = "QRDQN"
ALIASES = ("QR_DQN", "QR-DQN")
