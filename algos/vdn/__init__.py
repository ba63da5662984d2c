"""Value decomposition network: the value of all agents is the sum of theirs (Sunehag et al., 2018)."""

from algos.vdn.config import Config as Config

NAME = "VDN"
