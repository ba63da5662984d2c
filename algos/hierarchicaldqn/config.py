"""Defaults of HierarchicalDQN."""

from collections.abc import Iterator
from dataclasses import replace

from algos.common.settings import EpsilonConfig, ReplayConfig, TargetConfig
from config.model.fields import Problem
from config.model.inherit import fixed
from config.model.layers import Layers, is_recurrent, mlp
from config.model.memory_spec import ReplaySpec
from config.model.schedules import Rate
from config.tell.language import tr

GOAL_NUMBERS = 6
"""Numbers of 4 bytes of a goal: itself, where it was chosen, and what was earned since; in the recurrent state, and as
columns of a transition."""


class Config(ReplayConfig, TargetConfig, EpsilonConfig):
    """HierarchicalDQN: a meta-controller chooses a state as the goal, and a controller learns to reach it."""

    ACTION_SPACES = ("Discrete",)
    OBSERVATION_SPACES = ("Discrete",)
    SPECIAL_LAYERS = ("lstm", "gru")

    controller_layers: Layers = mlp(64)
    """Layers of the network that chooses actions, from the state and the goal; its output layer is added
    automatically."""
    meta_layers: Layers = mlp(64)
    """Layers of the network that chooses goals, from the state; its output layer is added automatically."""
    gamma = 0.95
    """Discount factor of both."""
    lr: Rate = 1e-3
    """Learning rate."""
    batch_size = 64
    target_update = 4
    tau = 0.05
    buffer_size = 100_000

    # a goal is of single steps, their rewards are summed as they are, and data have none
    n_step = fixed(1)
    her_ratio = fixed(0.0)
    reward_clip = fixed("none")
    data = fixed(None)

    exploration_type = "e-greedy"
    """Exploration with actions, and with goals alike. e-greedy: the best one, or with probability epsilon a random one;
    softmax: in proportion to exp(value / temperature); none: the best one."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if any(map(is_recurrent, self.meta_layers)):
            message = tr(
                "goals are learned from the states where they were chosen and reached, without those in between; put "
                "lstm and gru layers in controller_layers"
            )
            yield Problem("meta_layers", message)

    def memory(self, rows: int) -> ReplaySpec:
        return replace(super().memory(rows), terminated=True)

    def state_size(self) -> int:
        return super().state_size() + GOAL_NUMBERS
