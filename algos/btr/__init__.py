"""Beyond the Rainbow (Clark et al., 2024): Munchausen IQN with dueling, noise, priorities and 3-step returns."""

from algos.btr.config import Config as Config

NAME = "BTR"
ALIASES = ("BeyondTheRainbow",)
