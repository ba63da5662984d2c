"""MAPPO: PPO with a critic of the global state."""

from algos.ppo.config import Config as Family
from config.model.inherit import fixed


class Config(Family):
    """MAPPO: PPO for cooperating agents, with a critic that sees the global state."""

    AGENT_ID = True

    critic_input = fixed("global")
    batch_size = 4096
    sgd_batch_size = 512
    k_epochs = 10
    entropy_coef = 0.01
