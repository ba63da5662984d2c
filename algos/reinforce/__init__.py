"""Policy gradient from complete episodes (Williams, 1992)."""

from algos.reinforce.config import Config as Config

NAME = "REINFORCE"
