"""Defaults of DQN: the quick start's values, but for a learning rate that needs less luck in 100 episodes."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from config.schema import (
    Exploration,
    Fraction,
    Int,
    Layers,
    NetworkConfig,
    Positive,
    PositiveInt,
    Problem,
    ReplayKind,
    ReplaySpec,
    mlp,
)


class Config(NetworkConfig):
    """DQN: a network learns the value of each action from stored transitions."""

    ALIASES: ClassVar = {
        **NetworkConfig.ALIASES,
        "max_buffer_size": "buffer_size",
        "learn_frequency": "train_fre",
    }
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
    n_step: PositiveInt = 1
    """Rewards summed before the value of a later state is used."""
    loss: Literal["mse", "huber"] = "mse"
    """Penalty of a wrong value: mse, or huber, which grows linearly beyond 1."""

    lr: Positive = 2e-4
    """Learning rate."""
    batch_size: PositiveInt = 64
    """Transitions of a minibatch."""
    train_fre: PositiveInt = 1
    """Environment steps (transitions) between two looks at the memory."""
    updates_per_train: PositiveInt = 1
    """Gradient updates at each look: updates_per_train / train_fre updates per transition."""
    learning_starts: Annotated[Int, Field(ge=0)] = 0
    """Transitions collected before the first update; at least batch_size."""
    target_update: PositiveInt = 4
    """Updates between two hard copies into the target network (with tau 1)."""
    tau: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """Share of the online network that is mixed into the target network at each target_update."""

    buffer_type: ReplayKind = "REPLAY_QUE"
    """REPLAY or REPLAY_QUE draw uniformly; PER or PER_QUE draw by priority."""
    buffer_size: PositiveInt = 100_000
    """Transitions kept."""
    per_alpha: Fraction = 0.6
    """How much priorities count, with buffer_type PER: 0 not at all, 1 fully."""
    per_beta: Fraction = 0.4
    """Correction for drawing by priority at the start; it rises to 1 over the planned run."""
    per_epsilon: Positive = 0.01
    """Added to each priority, so that nothing is never drawn."""

    lookup_step: Annotated[Int, Field(ge=2)] = 16
    """With lstm or gru layers: steps of a sampled sequence that are learned from; batch_size counts sequences."""
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
    reward_scale: Positive = 1.0
    """Factor on every reward before it is learned from."""

    def memory(self, rows: int) -> ReplaySpec:
        return ReplaySpec(
            capacity=self.buffer_size,
            batch_size=self.batch_size,
            warmup=max(self.batch_size, self.learning_starts),
            updates_per_step=self.updates_per_train / self.train_fre,
            n_step=self.n_step,
            gamma=self.gamma,
            fragment=max(1, self.train_fre // rows),
            priority_alpha=self.per_alpha if self.buffer_type.startswith("PER") else 0.0,
            priority_beta=self.per_beta,
            priority_epsilon=self.per_epsilon,
            sequence=self.burn_in + self.lookup_step if self.remembers() else 1,
        )

    def problems(self) -> Iterator[Problem]:
        if self.batch_size > self.buffer_size:
            yield Problem("batch_size", f"{self.batch_size} is more than buffer_size, {self.buffer_size}")
        if self.learning_starts > self.buffer_size:
            yield Problem("learning_starts", f"{self.learning_starts} is more than buffer_size, {self.buffer_size}")
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
        if self.buffer_type.startswith("PER"):
            yield Problem("buffer_type", f"{self.buffer_type} has no priorities for sequences; use REPLAY")
