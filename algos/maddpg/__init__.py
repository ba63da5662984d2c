"""Multi-agent DDPG: each agent acts on its own observation, the critic sees all of them (Lowe et al., 2017)."""

from algos.maddpg.config import Config as Config

NAME = "MADDPG"
