"""DQN with noisy networks (Fortunato et al., 2018): noise on the weights in place of random actions."""

from algos.noisydqn.config import Config

NAME = "NoisyDQN"
ALIASES = ("Noisy_DQN", "NoisyNet")

__all__ = ["ALIASES", "NAME", "Config"]
