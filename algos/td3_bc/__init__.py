"""TD3+BC (Fujimoto and Gu, 2021): TD3 on given data, whose policy stays close to their actions."""

from algos.td3_bc.config import Config as Config

NAME = "TD3_BC"
ALIASES = ("TD3+BC", "TD3BC")
