"""Defaults of PQN."""

from typing import Annotated

from pydantic import Field

from algos.common.settings import EpsilonConfig, Loss, MinibatchConfig
from config.model.fields import Fraction, Int, Positive, PositiveInt
from config.model.layers import LayerNorm, Layers, Linear
from config.model.memory_spec import RolloutSpec
from config.model.schedules import Rate
from config.model.schema import run


def _normalized(*sizes: int) -> Layers:
    """Returns fully connected layers, each with layer normalization before its activation."""
    pairs = [(Linear(layer_size=[size], activation="none"), LayerNorm(activation="relu")) for size in sizes]
    return [layer for pair in pairs for layer in pair]


class Config(MinibatchConfig, EpsilonConfig):
    """PQN: on-policy Q-learning in many environments at once, stabilized by layer normalization."""

    ACTION_SPACES = ("Discrete",)
    SPECIAL_LAYERS = ("lstm", "gru")
    MAY_LAG = True
    RUN = run(steps=500_000, save=25_000, rows=32)

    value_layers: Layers = _normalized(128, 128)
    """Layers between the observation and the values; without layer normalization learning may diverge. The output layer
    is added automatically."""
    dueling: bool = False
    """Estimate the value of the state and the advantages of the actions in two streams. The last linear layer of
    value_layers becomes a hidden layer of each stream."""
    q_lambda: Fraction = 0.8
    """Lambda of the return: 0 bootstraps after one step, 1 at the end of the window or of the episode."""
    loss: Loss = "mse"
    """Loss of the TD error: mse, or huber, which is linear beyond 1."""

    lr: Rate = 5e-4
    """Learning rate."""
    lr_schedule = "linear"
    max_grad_norm = 10.0
    """Clip the global gradient norm to this value; null disables clipping."""
    batch_size: PositiveInt = 1024
    """Number of transitions collected, over all rows, before each round of learning."""
    sgd_batch_size: PositiveInt = 256
    """Number of transitions in a minibatch."""
    k_epochs: PositiveInt = 4
    """Number of passes over the collected transitions."""
    lookup_step: Annotated[Int, Field(ge=2)] = 16
    """With lstm or gru layers: number of steps in a training sequence."""

    epsilon_decay = 100_000
    epsilon_schedule = "linear"
    reward_scale: Positive = 1.0
    """Factor on every reward before learning."""
    normalize_reward: bool = False
    """Divide rewards by the running standard deviation of the discounted return. Saved with the model."""

    def memory(self, rows: int) -> RolloutSpec:
        sequence = self.lookup_step if self.remembers() else 1
        return RolloutSpec.of_transitions(
            self.batch_size, rows, self.k_epochs, self.sgd_batch_size, sequence, self.reward_clip
        )
