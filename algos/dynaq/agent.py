"""Dyna-Q: Q-learning from real steps, and from steps simulated by a learned model; with Dyna-Q+ and prioritized
sweeping."""

from typing import NamedTuple

import numpy as np
import torch

from algos.base import Array, Batch, EnvSpec, Result, Streams, Tree
from algos.common.parts.tables import TableAgent, best_value, move, td_error
from algos.dynaq.config import Config
from algos.dynaq.queue import Queue


class Steps(NamedTuple):
    """Transitions [B], with states as numbers."""

    state: Array
    action: Array
    reward: Array
    next_state: Array
    terminated: Array


class World:
    """The learned model: the last outcome of each pair of state and action that was tried."""

    def __init__(self, states: int, actions: int, curious: bool = False, backward: bool = False) -> None:
        """curious: all actions of a visited state can be recalled, those that were not tried as staying in place
        without a reward. backward: the pairs that lead to a state can be asked for."""
        self.reward = np.zeros((states, actions), np.float32)
        self.next_state = np.zeros((states, actions), np.int64)
        self.terminated = np.zeros((states, actions), bool)
        self.legal = np.ones((states, actions), bool)
        """Legal actions of each state, by the last mask of the environment."""
        self.tried = np.zeros((states, actions), bool)
        self.pairs = np.zeros(states * actions, np.int64)
        """Numbers of the pairs that can be recalled, in the order in which they became known; the rest is unused."""
        self.known = 0
        self.curious, self.backward = curious, backward
        self.time = 0
        """Number of time steps so far, in each of which all rows make a step."""
        self.last_try = np.zeros((states, actions) if curious else 0, np.int64)
        """Time of the last try of each pair; 0 if there was none."""
        self.leading: dict[int, set[int]] = {}
        """Pairs whose last outcome was a state, by this state."""
        if curious:
            self.next_state[:] = np.arange(states)[:, None]

    def remember(self, steps: Steps, next_mask: Array | None, mask: Array | None = None) -> None:
        """Stores outcomes, and the legal actions after the steps and before them. If several rows tried the same pair,
        the last one counts."""
        at = steps.state, steps.action
        new = self._new(steps)
        self.pairs[self.known : self.known + len(new)] = new
        self.known += len(new)
        if self.backward:
            self._relink(steps)
        self.tried[at] = True
        self.time += 1
        if self.curious:
            self.last_try[at] = self.time
        self.reward[at], self.next_state[at], self.terminated[at] = steps.reward, steps.next_state, steps.terminated
        if mask is not None:
            self.legal[steps.state] = mask
        if next_mask is not None:
            self.legal[steps.next_state] = next_mask

    def _new(self, steps: Steps) -> Array:
        """Returns the numbers of the pairs that can be recalled from now on."""
        actions = self.reward.shape[1]
        if not self.curious:
            return np.unique((steps.state * actions + steps.action)[~self.tried[steps.state, steps.action]])
        states = np.unique(steps.state[~self.tried[steps.state].any(axis=1)])
        return (states[:, None] * actions + np.arange(actions)).reshape(-1)

    def _relink(self, steps: Steps) -> None:
        pairs = steps.state * self.reward.shape[1] + steps.action
        outcome = dict(zip(pairs.tolist(), steps.next_state.tolist(), strict=True))
        for pair, after in outcome.items():
            at = divmod(pair, self.reward.shape[1])
            if self.tried[at]:
                self.leading[int(self.next_state[at])].discard(pair)
            self.leading.setdefault(after, set()).add(pair)

    def recall(self, place: Array) -> Steps:
        """Returns the stored transitions of the pairs at these places [B], from 0 to known - 1."""
        return self.outcome(self.pairs[place])

    def outcome(self, pair: Array) -> Steps:
        """Returns the stored transitions of the pairs with these numbers [B]."""
        at = state, action = np.divmod(pair, self.reward.shape[1])
        return Steps(state, action, self.reward[at], self.next_state[at], self.terminated[at])

    def waited(self, steps: Steps) -> Array:
        """Returns the time steps [B] since each pair was last tried."""
        return self.time - self.last_try[steps.state, steps.action]

    def state(self) -> Tree:
        arrays = {name: getattr(self, name).copy() for name in ("reward", "next_state", "terminated", "legal", "tried")}
        if self.curious:
            arrays |= {"last_try": self.last_try.copy()}
        return {**arrays, "pairs": self.pairs[: self.known].copy(), "time": self.time}

    def load_state(self, state: Tree) -> None:
        for name in ("reward", "next_state", "terminated", "legal", "tried"):
            getattr(self, name)[:] = state[name]
        self.known = len(state["pairs"])
        self.pairs[: self.known] = state["pairs"]
        self.time = state.get("time", 0)
        if self.curious:
            self.last_try[:] = state["last_try"]
        self.leading = {}
        if self.backward:
            for pair, after in zip(state["pairs"].tolist(), self.next_state.reshape(-1)[state["pairs"]], strict=True):
                self.leading.setdefault(int(after), set()).add(pair)


class Agent(TableAgent):
    """A table of action values and a model of the environment."""

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        prioritized = cfg.planning == "prioritized"
        self.world = World(*self.table.values.shape, curious=cfg.kappa > 0, backward=prioritized)
        self.queue = Queue(cfg.priority_threshold) if prioritized else None

    def update(self, batch: Batch) -> Result:
        columns = {name: value.numpy() for name, value in batch.items()}
        index = self.table.index
        steps = Steps(
            index(columns["obs"]), columns["action"],
            columns["reward"], index(columns["next_obs"]), columns["terminated"],
        )  # fmt: skip
        self.world.remember(steps, columns.get("next_action_mask"), columns.get("action_mask"))
        self.table.visited(steps.state, steps.action)
        if self.queue is not None:
            return self._sweep(self.queue, steps)
        result = self.table.learn(steps.state, steps.action, self._error(steps), self.now.lr)
        self._plan(len(steps.state))
        return result

    def _plan(self, rows: int) -> None:
        """Makes n_planning updates for each row, one after the other, from stored pairs drawn at random."""
        kappa = self.cfg.kappa
        places = self.streams.learn.integers(self.world.known, size=(self.cfg.n_planning, rows))
        for place in places:
            steps = self.world.recall(place)
            if kappa:
                legal = self.world.legal[steps.state, steps.action]
                steps = Steps(*(column[legal] for column in steps))
                if not legal.any():
                    continue
                steps = steps._replace(reward=steps.reward + kappa * np.sqrt(self.world.waited(steps)))
            move(self.table.values, steps.state, steps.action, self._error(steps), self.now.lr)

    def _sweep(self, queue: Queue, steps: Steps) -> Result:
        """Makes up to n_planning updates for each row, from the pairs whose values change most (Sutton and Barto, 2018,
        section 8.4). The steps of the environment are among them, and have no update of their own."""
        error = self._error(steps)
        actions = self.table.values.shape[1]
        queue.push(steps.state * actions + steps.action, np.abs(error))
        for _ in range(self.cfg.n_planning * len(steps.state)):
            if (pair := queue.pop()) is None:
                break
            planned = self.world.outcome(np.array([pair]))
            move(self.table.values, planned.state, planned.action, self._error(planned), self.now.lr)
            if leading := self.world.leading.get(int(planned.state[0])):
                pairs = np.array(sorted(leading))
                queue.push(pairs, np.abs(self._error(self.world.outcome(pairs))))
        return self.table.metrics(error)

    def _error(self, steps: Steps) -> Array:
        """Returns the TD error of Q-learning."""
        next_value = best_value(self.table.values[steps.next_state], self.world.legal[steps.next_state])
        return td_error(
            self.table.values, steps.state, steps.action, steps.reward, next_value, steps.terminated, self.cfg.gamma
        )

    def state(self) -> Tree:
        state = {**self.weights(), "world": self.world.state(), "learn": self.streams.learn.bit_generator.state}
        return state if self.queue is None else {**state, "queue": self.queue.state()}

    def load_state(self, state: Tree) -> None:
        self.load_weights(state)
        self.world.load_state(state["world"])
        self.streams.learn.bit_generator.state = state["learn"]
        if self.queue is not None:
            self.queue.load_state(state["queue"])
