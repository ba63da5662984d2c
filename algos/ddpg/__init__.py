"""Deep deterministic policy gradient (Lillicrap et al., 2016)."""

from algos.ddpg.config import Config as Config

NAME = "DDPG"
