"""Defaults of DQN: the quick start's values, but for a learning rate that needs less luck in 100 episodes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from config.replay import ReplayConfig
from config.schema import (
    Exploration,
    Fraction,
    Int,
    Layers,
    Positive,
    PositiveInt,
    Problem,
    ReplaySpec,
    mlp,
)


class Config(ReplayConfig):
    """DQN: a network learns the value of each action from stored transitions."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    SPECIAL_LAYERS: ClassVar = ("lstm", "gru", "noisy_linear")
    HEAD: ClassVar = "scalar"
    """What the network's outputs mean; a class of algos/dqn/heads.py."""

    value_layers: Layers = mlp(256, 256)
    """Layers between the observation and the values; the output layer is added by itself. With images and no list
    of your own, a convolutional network is put before it."""
    dueling: bool = False
    """Split the output into the value of the state and the advantages of the actions."""
    double: bool = False
    """Choose the next action with the online network and judge it with the target network."""
    noisy: bool = False
    """Noise of learned size on the weights of the linear layers and of the output layer, drawn anew for each batch and
    off in evaluation and test. exploration_type none goes with it."""
    std_init: Positive = 0.5
    """Size of this noise at the start, divided by the root of the number of inputs."""
    soft: bool = False
    """Value of a state: the soft maximum over its actions at the temperature, in place of the highest value."""
    temperature: Positive = 1.0
    """With soft or exploration_type softmax: how much worse an action may be and still be taken often."""
    gamma: Fraction = 0.95
    """Discount of the reward one step later."""

    lr: Positive = 2e-4
    """Learning rate."""
    batch_size: PositiveInt = 64
    """Transitions of a minibatch, or with lstm or gru layers sequences."""
    target_update: PositiveInt = 4
    """Updates between two hard copies into the target network (with tau 1)."""
    tau: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """Share of the online network that is mixed into the target network at each target_update."""

    buffer_size: PositiveInt = 100_000
    """Transitions kept."""
    lookup_step: Annotated[Int, Field(ge=2)] = 16
    """With lstm or gru layers: steps of a sampled sequence that are learned from."""
    burn_in: Annotated[Int, Field(ge=0)] = 8
    """With lstm or gru layers: steps before them that only bring the memory up to date."""

    exploration_type: Exploration = "e-greedy"
    """e-greedy: the best action, or any with probability epsilon; softmax: by the values at the temperature; none."""
    epsilon_start: Fraction = 0.95
    """Share of random actions at the start."""
    epsilon_end: Fraction = 0.01
    """Share of random actions that remains."""
    epsilon_decay: Positive = 500
    """Environment steps: of the exponential's time constant, or until epsilon_end with epsilon_schedule linear."""
    epsilon_schedule: Literal["exponential", "linear"] = "exponential"
    """exponential: end + (start - end) exp(-step / decay); linear: a straight line."""

    def memory(self, rows: int) -> ReplaySpec:
        return replace(super().memory(rows), sequence=self.burn_in + self.lookup_step if self.remembers() else 1)

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.soft and (self.double or self.HEAD != "scalar"):
            yield Problem("soft", "there is no next action to choose in it: it goes with no double and no distribution")
        if self.remembers():
            yield from self._problems_of_sequences()
        if self.epsilon_end > self.epsilon_start:
            yield Problem("epsilon_end", f"{self.epsilon_end} is more than epsilon_start, {self.epsilon_start}")

    def _problems_of_sequences(self) -> Iterator[Problem]:
        length = self.burn_in + self.lookup_step
        if length > self.buffer_size:
            yield Problem("lookup_step", f"{length} steps with burn_in are more than buffer_size, {self.buffer_size}")
        if self.n_step > 1:
            yield Problem("n_step", "lstm and gru layers learn from single steps; set it to 1")
        if self.her_ratio:
            yield Problem("her_ratio", "goals are replaced in single steps, and lstm and gru layers need sequences")
        if self.buffer_type.startswith("PER"):
            yield Problem("buffer_type", f"{self.buffer_type} has no priorities for sequences; use REPLAY")
