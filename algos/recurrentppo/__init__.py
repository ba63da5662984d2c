"""PPO with a memory: an lstm layer in actor and critic (Schulman et al., 2017; Hochreiter and Schmidhuber, 1997)."""

from algos.recurrentppo.config import Config as Config

NAME = "RecurrentPPO"
ALIASES = ("PPO_LSTM", "PPO_RNN", "Recurrent_PPO")
