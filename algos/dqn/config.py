"""Defaults of DQN: the quick start's values, but for a learning rate that needs less luck in 100 episodes."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from algos.common.settings import READ_WITH_EPSILON, Exploration, ReplayConfig, TargetConfig, problems_of_epsilon
from config.schema import Fraction, Layers, Positive, PositiveFraction, PositiveInt, Problem, mlp


class Config(ReplayConfig, TargetConfig):
    """DQN: a network learns the value of each action from stored transitions."""

    ACTION_SPACES: ClassVar = ("Discrete",)
    SPECIAL_LAYERS: ClassVar = ("lstm", "gru", "noisy_linear")
    READ_WITH: ClassVar = {
        **READ_WITH_EPSILON,
        "adam_epsilon": ("optimizer", ("adam", "adamw")),
        "std_init": ("noisy", (True,)),
        "temperature": ("softmax_or_soft_values", ()),
    }
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

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.soft and self.double:
            yield Problem("double", "a soft value chooses no next action; set it to false", depends_on=("soft",))
        if self.soft and self.HEAD != "scalar":
            yield Problem("soft", "is for single values, and this algorithm learns distributions")
        if self.HEAD != "scalar" and self.changed("loss"):
            yield Problem("loss", "is for single values; the distance of distributions has a loss of its own")
        yield from problems_of_epsilon(self)

    @property
    def softmax_or_soft_values(self) -> bool:
        """True if the temperature is read."""
        return self.soft or self.exploration_type == "softmax"
