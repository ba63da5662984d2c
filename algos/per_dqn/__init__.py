"""DQN with prioritized replay (Schaul et al., 2016): transitions with a large TD error are sampled more often."""

from algos.per_dqn.config import Config as Config

NAME = "PER_DQN"
ALIASES = ("PERDQN", "PrioritizedDQN")
