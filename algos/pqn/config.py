"""Defaults of PQN."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from algos.common.settings import READ_WITH_EPSILON, Exploration, NetworkConfig, problems_of_epsilon
from config.schema import Fraction, Int, LayerNorm, Layers, Linear, Positive, PositiveInt, Problem, RolloutSpec


def _normalised(*sizes: int) -> Layers:
    """Fully connected layers, each with layer normalisation before its activation."""
    pairs = [(Linear(layer_size=[size], activation="none"), LayerNorm(activation="relu")) for size in sizes]
    return [layer for pair in pairs for layer in pair]


class Config(NetworkConfig):
    """PQN: Q-learning from fresh steps of many environments at once, made stable by layer normalisation."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    SPECIAL_LAYERS: ClassVar = ("lstm", "gru")
    MAY_LAG: ClassVar = True
    READ_WITH: ClassVar = {**READ_WITH_EPSILON, "temperature": ("exploration_type", ("softmax",))}

    value_layers: Layers = _normalised(128, 128)
    """Layers between the observation and the values; without layer normalisation in them learning may diverge. The
    output layer is added by itself."""
    dueling: bool = False
    """Split the output into the value of the state and the advantages of the actions."""
    gamma: Fraction = 0.99
    """Discount of the reward one step later."""
    q_lambda: Fraction = 0.65
    """How far the target looks: 0 one step, 1 to the end of the window or of the episode."""
    loss: Literal["mse", "huber"] = "mse"
    """Penalty of a wrong value: mse, or huber, which grows linearly beyond 1."""

    lr: Positive = 5e-4
    """Learning rate."""
    max_grad_norm: Positive | None = 10.0
    """Longest gradient, as its norm over all parameters; null does not clip."""
    batch_size: PositiveInt = 1024
    """Transitions collected, over all rows, before each round of learning."""
    sgd_batch_size: PositiveInt = 256
    """Transitions of a minibatch."""
    k_epochs: PositiveInt = 4
    """Passes over the collected transitions."""
    lookup_step: Annotated[Int, Field(ge=2)] = 16
    """With lstm or gru layers: steps of a sequence that is learned from as a whole."""

    exploration_type: Exploration = "e-greedy"
    """e-greedy: the best action, or any with probability epsilon; softmax: by the values at the temperature; none."""
    temperature: Positive = 1.0
    """With exploration_type softmax: how much worse an action may be and still be taken often."""
    epsilon_start: Fraction = 1.0
    """Share of random actions at the start."""
    epsilon_end: Fraction = 0.05
    """Share of random actions that remains."""
    epsilon_decay: Positive = 20_000
    """Environment steps: of the exponential's time constant, or until epsilon_end with epsilon_schedule linear."""
    epsilon_schedule: Literal["exponential", "linear"] = "linear"
    """exponential: end + (start - end) exp(-step / decay); linear: a straight line."""
    reward_scale: Positive = 1.0
    """Factor on every reward before it is learned from."""
    normalize_reward: bool = False
    """Divide rewards by the running deviation of the discounted return. Saved with the model."""

    def memory(self, rows: int) -> RolloutSpec:
        return RolloutSpec.of_transitions(
            self.batch_size, rows, self.k_epochs, self.sgd_batch_size, self.lookup_step if self.remembers() else 1
        )

    def problems(self) -> Iterator[Problem]:
        if self.sgd_batch_size > self.batch_size:
            message = f"{self.sgd_batch_size} is more than batch_size, {self.batch_size}"
            yield Problem("sgd_batch_size", message, depends_on=("batch_size",))
        yield from problems_of_epsilon(self)
