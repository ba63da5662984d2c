"""Twin delayed deep deterministic policy gradient (Fujimoto et al., 2018)."""

from algos.td3.config import Config as Config

NAME = "TD3"
