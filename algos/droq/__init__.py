"""SAC with dropout and normalization in its critics (Hiraoka et al., 2022)."""

from algos.droq.config import Config as Config

NAME = "DroQ"
