"""Defaults of DQN: the quick start's values, but for a learning rate that needs less luck in 100 episodes."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from algos.common.settings import Exploration, ReplayConfig, TargetConfig, problems_of_epsilon
from config.schema import Fraction, Layers, Positive, PositiveFraction, PositiveInt, Problem, mlp


class Config(ReplayConfig, TargetConfig):
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
    target_update: PositiveInt = 4
    tau: PositiveFraction = 1.0

    adam_epsilon: Positive = 1e-8
    """Added to the denominator of optimizer adam or adamw. Larger values hold a high learning rate back where gradients
    are small; the papers on distributions of returns take 0.01 / batch_size."""

    buffer_size: PositiveInt = 100_000

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

    eval_epsilon: Fraction = 0.0
    """Share of random actions in evaluation and test, with every exploration_type. Papers on Atari use 0.05 or 0.001,
    so that a policy cannot repeat the same game."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.soft and self.double:
            yield Problem("double", "a soft value chooses no next action; set it to false")
        if self.soft and self.HEAD != "scalar":
            yield Problem("soft", "is for single values, and this algorithm learns distributions")
        if self.HEAD != "scalar" and self.changed("loss"):
            yield Problem("loss", "is for single values; the distance of distributions has a loss of its own")
        yield from self.only_with("optimizer", ("adam", "adamw"), "adam_epsilon")
        yield from self.only_with("noisy", (True,), "std_init")
        yield from problems_of_epsilon(self)
        of_temperature = "soft and of exploration_type softmax, and there is neither"
        yield from self.unread(of_temperature, self.soft or self.exploration_type == "softmax", "temperature")
