"""Defaults of DQN."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from algos.common.settings import BonusConfig, EpsilonConfig, Loss, ReplayConfig, TargetConfig
from config.model.fields import Fraction, NonNegative, Positive, Problem
from config.model.inherit import Condition, unread
from config.model.layers import Layers, mlp
from config.model.memory_spec import ReplaySpec
from config.model.schedules import Rate
from config.model.schema import run
from config.tell.language import tr


class Config(ReplayConfig, TargetConfig, EpsilonConfig, BonusConfig):
    """DQN: a network learns the value of each action from a replay buffer."""

    ACTION_SPACES = ("Discrete",)
    SPECIAL_LAYERS = ("lstm", "gru", "noisy_linear")
    RUN = run(steps=100_000, save=5000)
    READ_WITH = {
        "std_init": ("noisy", (True,)),
        "temperature": Condition(
            lambda cfg: cfg.soft or cfg.exploration_type == "softmax", tr("no softmax or soft values")
        ),
        "munchausen_floor": ("munchausen_alpha", ()),
        "bonus_gamma": unread(tr("samples of a replay buffer have no returns of the bonus")),
    }
    HEAD: ClassVar = "scalar"
    """Meaning of the network's outputs; a name in HEADS of algos/dqn/distributional.py."""

    value_layers: Layers = mlp(256, 256)
    """Layers between the observation and the values; the output layer is added automatically. With images and no conv2d
    layer in the list, a convolutional network is put before it."""
    dueling: bool = False
    """Estimate the value of the state and the advantages of the actions in two streams. The last linear layer of
    value_layers becomes a hidden layer of each stream; without one behind lstm or gru layers, and with architecture
    simba, the streams are linear."""
    double: bool = True
    """Double Q-learning: select the next action with the online network, evaluate it with the target network."""
    noisy: bool = False
    """Noisy networks: noise of learned size on the weights of the linear layers and of the output layer, resampled for
    each batch and off in evaluation and test. Use exploration_type none with it."""
    std_init: Positive = 0.5
    """sigma_0: the initial standard deviation of the noise is sigma_0 / sqrt(number of inputs of the layer)."""
    soft: bool = False
    """Use the soft maximum over the actions at the temperature as the value of a state, instead of the maximum."""
    temperature = 1.0
    """Softmax temperature, with soft or exploration_type softmax: a higher one makes worse actions more likely."""
    munchausen_alpha: Fraction = 0.0
    """Weight of the bonus that Munchausen Q-learning adds to each reward, with soft: temperature times the log
    probability of the action taken, under the softmax of the target network's values at the temperature. With n_step
    above 1, the bonus is that of the first action."""
    munchausen_floor: Annotated[float, Field(le=0.0)] = -1.0
    """Lowest bonus before it is weighted: an action of almost no probability would have one without bound."""
    value_rescale: bool = False
    """Learn h(Q) = sign(Q) (sqrt(|Q| + 1) - 1) + 0.001 Q instead of Q, so that returns of any size need no scaling or
    clipping of rewards. q_mean is then a mean of h(Q)."""
    cql_alpha: NonNegative = 0.0
    """Weight of conservative Q-learning: pushes down the values of actions that the data do not choose."""

    lr: Rate = 5e-4
    """Learning rate."""
    batch_size = 64
    learning_starts = 1000
    train_fre = 4
    updates_per_train = 2
    target_update = 500
    tau = 1.0
    loss: Loss = "huber"

    adam_epsilon = 1e-8

    buffer_size = 100_000

    epsilon_schedule = "linear"
    epsilon_decay = 20_000

    eval_epsilon: Fraction = 0.0
    """Probability of a random action in evaluation and test, with every exploration_type; with general_cfg.explore it
    is that of training. Papers on Atari use 0.05 or 0.001, so that a policy cannot repeat one memorized game."""

    def memory(self, rows: int) -> ReplaySpec:
        spec = super().memory(rows)
        visits = self.bonus != "none"
        return replace(spec, statistics=spec.statistics or visits, final_statistics=visits)

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.bonus != "none":
            yield from self._problems_of_bonus()
        if self.soft and self.double:
            yield Problem("double", tr("a soft value chooses no next action; set it to false"), depends_on=("soft",))
        if self.soft and self.HEAD == "categorical":
            yield Problem("soft", tr("is for single values and quantiles, and this algorithm learns probabilities"))
        if self.munchausen_alpha and not self.soft:
            message = tr("adds the log policy of soft values to the rewards; set soft to true, and double to false")
            yield Problem("munchausen_alpha", message, depends_on=("soft",))
        if self.value_rescale and self.HEAD != "scalar":
            yield Problem("value_rescale", tr("is for single values, and this algorithm learns distributions"))
        if self.value_rescale and self.soft:
            message = tr("the soft maximum is one of returns; set soft to false, or value_rescale to false")
            yield Problem("value_rescale", message, depends_on=("soft",))
        if self.HEAD != "scalar" and self.changed("loss"):
            yield Problem("loss", tr("is for single values; the distance of distributions has a loss of its own"))

    def _problems_of_bonus(self) -> Iterator[Problem]:
        if self.remembers():
            yield Problem("bonus", tr("does not support lstm and gru layers in this algorithm"))
        if self.n_step > 1:
            yield Problem("n_step", tr("a bonus is that of one step; set it to 1"), depends_on=("bonus",))
        if self.imitate:
            yield Problem("bonus", tr("adds to rewards that imitate replaces"), depends_on=("imitate",))
        if self.offline_updates_of():
            yield Problem("bonus", tr("is for what the run collects, and there are updates from data alone"))
