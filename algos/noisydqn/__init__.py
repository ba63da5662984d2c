"""DQN with noisy networks (Fortunato et al., 2018): exploration by noise on the weights."""

from algos.noisydqn.config import Config as Config

NAME = "NoisyDQN"
ALIASES = ("Noisy_DQN", "NoisyNet")
