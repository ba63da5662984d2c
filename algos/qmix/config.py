"""Defaults of QMIX."""

from collections.abc import Iterator
from typing import Literal

from algos.common.settings import EpsilonConfig, ReplayConfig, TargetConfig
from config.model.fields import PositiveInt, Problem
from config.model.layers import Layers, is_recurrent, mlp
from config.model.schedules import Rate
from config.model.schema import run
from config.tell.language import tr


class Config(ReplayConfig, TargetConfig, EpsilonConfig):
    """QMIX: cooperating agents share a value network; a monotonic mix of their values is learned as one."""

    ACTION_SPACES = ("Discrete",)
    SPECIAL_LAYERS = ("lstm", "gru")
    JOINT = True
    RUN = run(steps=200_000, save=10_000)
    READ_WITH = {
        "mixer_size": ("mixer", ("monotonic",)),
        "hyper_layers": ("mixer", ("monotonic",)),
    }

    value_layers: Layers = mlp(64, 64)
    """Layers between an agent's observation, with its one-hot index, and the values of its actions. All agents share
    them; the output layer is added automatically."""
    mixer: Literal["monotonic", "sum"] = "monotonic"
    """Function that combines the agents' values into the value of all: monotonic, a network that grows with each of
    them and whose weights depend on the global state (QMIX), or sum (VDN)."""
    mixer_size: PositiveInt = 32
    """Number of hidden units of the monotonic mixer."""
    hyper_layers: Layers = mlp(64)
    """Layers between the global state (without one, the observations of all agents) and the weights of the monotonic
    mixer; the output layer is added automatically."""
    double: bool = True
    """Double Q-learning: select the next actions with the online network, evaluate them with the target network."""
    joint_reward: Literal["sum", "mean"] = "sum"
    """Reduction of the agents' rewards to the team's. Where each agent is given the reward of the team, the sum counts
    it once for each agent; the mean is that reward."""
    lr: Rate = 5e-4
    """Learning rate."""
    batch_size = 64
    learning_starts = 1000
    train_fre = 4
    buffer_size = 100_000
    target_update = 200
    tau = 1.0
    max_grad_norm = 10.0
    adam_epsilon = 1e-8

    exploration_type = "e-greedy"
    """For each agent by itself: e-greedy, the best action, or with probability epsilon a random one; softmax, in
    proportion to exp(value / temperature); none, the best action."""
    epsilon_decay = 50_000
    epsilon_schedule = "linear"

    def needs_global_state(self) -> bool:
        return self.mixer == "monotonic"

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if any(is_recurrent(layer) for layer in self.hyper_layers):
            yield Problem(
                "hyper_layers", tr("the mixer has no recurrent state; put lstm and gru layers in value_layers")
            )
