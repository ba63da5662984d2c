"""Tables of action values: finite spaces as table indices, tables that act and learn, and planning of whole tables."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium import spaces

from algos import base
from algos.base import Act, Array, EnvSpec, Explore, Model, Numbers, Progress, Result, Streams, Tree, UnfitError
from algos.common.maths.exploration import (
    Explorer,
    best_policy,
    draw,
    epsilon_greedy_policy,
    greedy,
    softmax_policy,
    ucb_policy,
)
from algos.common.parts.acting import ActingAgent
from algos.common.settings import TableConfig
from config.tell.language import tr

MOST_PAIRS = 10**8
"""Largest number of state-action pairs of a table: 0.8 GB."""


def actions_of(space: spaces.Space) -> int:
    """Returns the number of actions of a Discrete space."""
    if not isinstance(space, spaces.Discrete):
        raise ValueError(tr("{space} is not Discrete: it has no table or list of action values", space=space))
    return int(space.n)


def states_of(space: spaces.Space) -> tuple[Callable[[Array], Array], int]:
    """Returns a function from observations [N, ...] to state numbers [N], and the number of states."""
    if isinstance(space, spaces.Discrete):
        return lambda obs: obs, int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        sizes = np.asarray(space.nvec, np.int64).reshape(-1)
    elif isinstance(space, spaces.MultiBinary):
        sizes = np.full(int(np.prod(space.shape)), 2, np.int64)
    else:
        raise ValueError(
            tr("{space} has no numbered states: it is not Discrete, MultiDiscrete or MultiBinary", space=space)
        )
    strides = np.concatenate([np.cumprod(sizes[::-1])[::-1][1:], [1]])
    return lambda obs: obs.reshape(len(obs), -1).astype(np.int64) @ strides, math.prod(sizes.tolist())


# update rules


def best_value(values: Array, mask: Array | None = None) -> Array:
    """Returns max_a Q(s, a) [N] of values [N, A] over the legal actions; 0 if none is legal."""
    if mask is None:
        return values.max(axis=1)
    return np.where(mask.any(axis=1), np.where(mask, values, -np.inf).max(axis=1), 0.0)


def td_error(
    table: Array, state: Array, action: Array, reward: Array, next_value: Array, terminated: Array, gamma: float | Array
) -> Array:
    """Returns the TD error r + gamma V(s') - Q(s, a) [B]; a terminal s' has value 0."""
    return reward + gamma * next_value * ~terminated - table[state, action]


def move(table: Array, state: Array, action: Array, error: Array, lr: float | Array) -> None:
    """Adds lr times the TD error to Q(s, a), in place. A pair with several samples is updated once, by their mean
    error; lr is a number, or [B] with equal entries for equal pairs."""
    if len(error) == 1:
        table[state, action] += lr * error
        return
    _, first, where = np.unique(state * table.shape[1] + action, return_index=True, return_inverse=True)
    mean = np.bincount(where, weights=error) / np.bincount(where)
    table[state[first], action[first]] += (lr[first] if isinstance(lr, np.ndarray) else lr) * mean


# acting


class ActionTable:
    """Q(s, a) [S, A] in float64 numpy, and the policies derived from it."""

    METRICS: ClassVar = ("loss", "q_mean")

    def __init__(self, cfg: TableConfig, spec: EnvSpec) -> None:
        self.cfg = cfg
        self.index, states = states_of(spec.observation_space)
        self.explorer = Explorer(cfg)
        actions = actions_of(spec.action_space)
        if states * actions > MOST_PAIRS:
            raise UnfitError(
                "a table of {states:,} states and {actions:,} actions is too large; DQN needs no table",
                states=states,
                actions=actions,
            )
        self.values = np.full((states, actions), cfg.initial_value)
        self.counting = cfg.exploration_type == "ucb"
        self.counts = np.zeros(self.values.shape, np.int64)
        """Visit counts of state-action pairs, if exploration depends on them."""

    def explore(self, obs: Array, progress: Progress, rng: np.random.Generator, mask: Array | None) -> Array:
        """Returns actions [N] for observations [N, ...]."""
        return draw(self.policy(self.index(obs), progress, mask), rng)

    def policy(self, state: Array, progress: Progress, mask: Array | None) -> Array:
        """Returns the probabilities [N, A] with which explore chooses in states [N]."""
        values, strength = self.values[state], self.explorer.strength(progress)
        match self.cfg.exploration_type:
            case "e-greedy":
                return epsilon_greedy_policy(values, strength["epsilon"], mask)
            case "softmax":
                return softmax_policy(values, strength["temperature"], mask)
            case "ucb":
                return ucb_policy(values, self.counts[state], strength["ucb_c"], mask)
            case _:
                return best_policy(values, mask)

    def best(self, obs: Array, mask: Array | None) -> Array:
        """Returns actions [N] for observations [N, ...]."""
        return greedy(self.values[self.index(obs)], mask)

    def visited(self, state: Array, action: Array) -> None:
        """Counts the visits of steps [B], if exploration depends on them."""
        if self.counting:
            np.add.at(self.counts, (state, action), 1)

    def learn(self, state: Array, action: Array, error: Array, lr: float | Array) -> Result:
        """Updates the values by their TD errors [B]; returns the METRICS."""
        move(self.values, state, action, error, lr)
        return self.metrics(error)

    def metrics(self, error: Array) -> Result:
        """Returns the METRICS after an update by TD errors [B]."""
        return Result({"loss": torch.tensor((error**2).mean()), "q_mean": torch.tensor(self.values.mean())})

    def weights(self) -> dict[str, Array]:
        return {"table": self.values.copy(), **({"counts": self.counts.copy()} if self.counting else {})}

    def load_weights(self, weights: dict[str, Array]) -> None:
        self.values = np.array(weights["table"], np.float64).reshape(self.values.shape)
        if self.counting:
            self.counts = np.array(weights["counts"], np.int64).reshape(self.counts.shape)


class TableAgent(ActingAgent):
    """An agent that learns a table of action values, on the CPU, where numpy is."""

    METRICS: ClassVar = ActionTable.METRICS

    def __init__(self, cfg: Any, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, torch.device("cpu"))
        self.now = Numbers(cfg)
        self.table = ActionTable(cfg, spec)

    def exploration(self, progress: Progress) -> dict[str, float]:
        return self.table.explorer.strength(progress)

    def act(self, obs: Array, state: Array | None, mask: Array | None, explore: Explore | None = None) -> Act:
        return Act(self.table.best(obs, mask) if explore is None else self.table.explore(obs, *explore, mask))

    def weights(self) -> dict[str, Array]:
        return self.table.weights()

    def load_weights(self, weights: dict[str, Array]) -> None:
        self.table.load_weights(weights)

    def state(self) -> Tree:
        return self.weights()

    def load_state(self, state: Tree) -> None:
        self.load_weights(state)


# planning


def rules_of(spec: EnvSpec, algorithm: str) -> Model:
    """Returns the transition model of the environment; raises UnfitError if it has none."""
    size = states_of(spec.observation_space)[1], actions_of(spec.action_space)
    if spec.model is None:
        raise UnfitError(
            "{algo} plans with the rules of the environment, and {env} does not tell them; FrozenLake-v1, "
            "CliffWalking-v1 and Taxi-v4 do",
            algo=algorithm,
            env=spec.id,
        )
    if spec.model.probability.shape[:2] != size:
        raise UnfitError(
            "the rules of {env} are for {shape} and not for {size}",
            env=spec.id,
            shape=spec.model.probability.shape[:2],
            size=size,
        )
    return spec.model


def backup(model: Model, value: Array, gamma: float) -> Array:
    """Returns q(s, a) = sum_s' p(s'|s, a) (r + gamma v(s')) [S, A] of values [S]; a terminal s' has value 0."""
    later = gamma * value[model.next_state] * ~model.terminated
    return (model.probability * (model.reward + later)).sum(axis=2)


class Planner(base.Agent):
    """An agent that plans with the transition model of a finite environment; its arrays are its weights and its
    state."""

    NAME: ClassVar[str]
    """Name of the algorithm, for messages."""
    ARRAYS: ClassVar[tuple[str, ...]] = ("table",)
    """Attributes that are its weights."""

    def __init__(self, cfg: Any, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.model = rules_of(spec, self.NAME)
        self.table = np.zeros(self.model.probability.shape[:2])
        """Action values [S, A]."""

    def weights(self) -> dict[str, Array]:
        return {name: getattr(self, name).copy() for name in self.ARRAYS}

    def load_weights(self, weights: dict[str, Array]) -> None:
        for name in self.ARRAYS:
            getattr(self, name)[:] = weights[name]

    def state(self) -> Tree:
        return self.weights()

    def load_state(self, state: Tree) -> None:
        self.load_weights(state)
