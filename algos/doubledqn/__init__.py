"""Double DQN (van Hasselt et al., 2016): one network selects the next action, the other evaluates it."""

from algos.doubledqn.config import Config as Config

NAME = "DoubleDQN"
ALIASES = ("DDQN", "Double_DQN")
