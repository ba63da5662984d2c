"""Dyna-Q: Q-learning from real steps, and from steps simulated by a learned model."""

from typing import NamedTuple

import numpy as np
import torch

from algos.base import Array, Batch, EnvSpec, Result, Streams, Tree
from algos.common.parts.tables import TableAgent, best_value, move, td_error
from algos.dynaq.config import Config


class Steps(NamedTuple):
    """Transitions [B], with states as numbers."""

    state: Array
    action: Array
    reward: Array
    next_state: Array
    terminated: Array


class World:
    """The learned model: the last outcome of each pair of state and action that was tried."""

    def __init__(self, states: int, actions: int) -> None:
        self.reward = np.zeros((states, actions), np.float32)
        self.next_state = np.zeros((states, actions), np.int64)
        self.terminated = np.zeros((states, actions), bool)
        self.legal = np.ones((states, actions), bool)
        """Legal actions of each state, by the last mask of the environment."""
        self.tried = np.zeros((states, actions), bool)
        self.pairs = np.zeros(states * actions, np.int64)
        """Numbers of the tried pairs in the order of their first try; the rest is unused."""
        self.known = 0

    def remember(self, steps: Steps, next_mask: Array | None) -> None:
        """Stores outcomes. If several rows tried the same pair, the last one counts."""
        at = steps.state, steps.action
        new = np.unique((steps.state * self.reward.shape[1] + steps.action)[~self.tried[at]])
        self.pairs[self.known : self.known + len(new)] = new
        self.known += len(new)
        self.tried[at] = True
        self.reward[at], self.next_state[at], self.terminated[at] = steps.reward, steps.next_state, steps.terminated
        if next_mask is not None:
            self.legal[steps.next_state] = next_mask

    def recall(self, place: Array) -> Steps:
        """Returns the stored transitions of the pairs at these places [B], from 0 to known - 1."""
        at = state, action = np.divmod(self.pairs[place], self.reward.shape[1])
        return Steps(state, action, self.reward[at], self.next_state[at], self.terminated[at])

    def state(self) -> Tree:
        arrays = {name: getattr(self, name).copy() for name in ("reward", "next_state", "terminated", "legal", "tried")}
        return {**arrays, "pairs": self.pairs[: self.known].copy()}

    def load_state(self, state: Tree) -> None:
        for name in ("reward", "next_state", "terminated", "legal", "tried"):
            getattr(self, name)[:] = state[name]
        self.known = len(state["pairs"])
        self.pairs[: self.known] = state["pairs"]


class Agent(TableAgent):
    """A table of action values and a model of the environment."""

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.world = World(*self.table.values.shape)

    def update(self, batch: Batch) -> Result:
        columns = {name: value.numpy() for name, value in batch.items()}
        index = self.table.index
        steps = Steps(
            index(columns["obs"]), columns["action"],
            columns["reward"], index(columns["next_obs"]), columns["terminated"],
        )  # fmt: skip
        self.world.remember(steps, columns.get("next_action_mask"))
        self.table.visited(steps.state, steps.action)
        result = self.table.learn(steps.state, steps.action, self._error(steps), self.now.lr)
        self._plan(len(steps.state))
        return result

    def _plan(self, rows: int) -> None:
        """Makes n_planning updates for each row, one after the other, from stored pairs drawn at random."""
        places = self.streams.learn.integers(self.world.known, size=(self.cfg.n_planning, rows))
        for place in places:
            steps = self.world.recall(place)
            move(self.table.values, steps.state, steps.action, self._error(steps), self.now.lr)

    def _error(self, steps: Steps) -> Array:
        """Returns the TD error of Q-learning."""
        next_value = best_value(self.table.values[steps.next_state], self.world.legal[steps.next_state])
        return td_error(
            self.table.values, steps.state, steps.action, steps.reward, next_value, steps.terminated, self.cfg.gamma
        )

    def state(self) -> Tree:
        return {**self.weights(), "world": self.world.state(), "learn": self.streams.learn.bit_generator.state}

    def load_state(self, state: Tree) -> None:
        self.load_weights(state)
        self.world.load_state(state["world"])
        self.streams.learn.bit_generator.state = state["learn"]
