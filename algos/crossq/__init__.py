"""SAC without target networks, by batch renormalization (Bhatt et al., 2024)."""

from algos.crossq.config import Config as Config

NAME = "CrossQ"
