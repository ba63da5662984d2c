"""Rainbow (Hessel et al., 2018): C51 with double, dueling, noisy networks, prioritized replay and n-step returns."""

from algos.rainbowdqn.config import Config as Config

NAME = "RainbowDQN"
ALIASES = ("Rainbow",)
