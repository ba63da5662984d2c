"""Tabular temporal difference learning: Q-learning, Sarsa and Expected Sarsa, with n-step returns, eligibility traces
or two tables."""

from typing import NamedTuple

import numpy as np
import torch

from algos.base import Array, Batch, EnvSpec, Progress, Result, Streams, Tree
from algos.common.maths.exploration import greedy
from algos.common.parts.tables import TableAgent, best_value, move, td_error
from algos.qlearning.config import Config
from algos.qlearning.traces import Traces


def taken_value(values: Array, policy: Array, next_action: Array, truncated: Array) -> Array:
    """Returns Q(s', a') [N] of values [N, A]. After a truncation the next action belongs to another episode; the
    expectation under the policy [N, A] replaces it, which is the value of s' under the policy that acts."""
    taken = np.take_along_axis(values, next_action[:, None], 1)[:, 0]
    return np.where(truncated, expected_value(values, policy), taken)


def expected_value(values: Array, policy: Array) -> Array:
    """Returns sum_a pi(a|s') Q(s', a) [N] of values and policy [N, A]."""
    return (policy * values).sum(axis=1)


def cross_value(choosing: Array, judging: Array, mask: Array | None) -> Array:
    """Returns the value [N] that one table [N, A] has of the action that is best in the other; 0 if none is legal (van
    Hasselt, 2010)."""
    value = np.take_along_axis(judging, greedy(choosing, mask)[:, None], 1)[:, 0]
    return value if mask is None else np.where(mask.any(axis=1), value, 0.0)


class Walk(NamedTuple):
    """Walks from the first step of each row over up to n steps; [N] each."""

    reward: Array
    """Sum of the discounted rewards on the way."""
    discount: Array
    """gamma to the power of the number of steps."""
    last: Array
    """Place of the last step in the window."""


def walk(reward: Array, ended: Array, n: int, gamma: float) -> Walk:
    """Walks over rewards and ends of episodes [T, N]: fewer than n steps where an episode ends."""
    total, discount = reward[0].astype(np.float64), np.full(reward.shape[1], gamma)
    last, going = np.zeros(reward.shape[1], np.int64), ~ended[0]
    for step in range(1, n):
        total += np.where(going, discount * reward[step], 0.0)
        discount = np.where(going, discount * gamma, discount)
        last = np.where(going, step, last)
        going = going & ~ended[step]
    return Walk(total, discount, last)


class Agent(TableAgent):
    """A table of action values; Q-learning, Expected Sarsa and Sarsa differ in the value of the next state."""

    def __init__(self, cfg: Config, spec: EnvSpec, streams: Streams, device: torch.device) -> None:
        super().__init__(cfg, spec, streams, device)
        self.pair = np.stack([self.table.values] * 2) if cfg.double else None
        """The two tables [2, S, A] of double Q-learning, whose mean is the table that acts."""
        self.traces = Traces(cfg.gamma * cfg.trace_lambda, cfg.traces == "replacing") if cfg.trace_lambda else None

    def prepare(self, window: Batch, progress: Progress) -> Batch:
        """Returns what the first step of each row is learned from, [1, N]. The window has as many steps more as the
        n-step return takes, and for Sarsa one more for the action taken there."""
        steps = {name: column.numpy() for name, column in window.items()}
        way = walk(steps["reward"], steps["terminated"] | steps["truncated"], self.cfg.n_step, self.cfg.gamma)
        rows = np.arange(len(way.last))
        updated = None if self.pair is None else self.streams.learn.integers(2, size=len(rows))
        columns = {
            "obs": steps["obs"][0],
            "action": steps["action"][0],
            "reward": way.reward,
            "discount": way.discount,
            "terminated": steps["terminated"][way.last, rows],
            "next_value": self._next_value(steps, way.last, progress, updated),
        }
        if updated is not None:
            columns["updated"] = updated
        if self.traces is not None:
            columns |= {"row": rows, "begins": self._begins(steps), "after": self._after(steps)}
        if "valid" in steps:
            columns["valid"] = steps["valid"][0]
        return {name: torch.from_numpy(column).unsqueeze(0) for name, column in columns.items()}

    def _next_value(self, window: dict[str, Array], last: Array, progress: Progress, updated: Array | None) -> Array:
        """Returns the value [N] of the successors of these steps under the present tables. updated: the table of each
        row that learns from it, if there are two; the other one judges."""
        rows = np.arange(len(last))
        state = self.table.index(window["next_obs"][last, rows])
        mask = window["next_action_mask"][last, rows] if "next_action_mask" in window else None
        values = self.table.values[state]
        judging = choosing = values
        if self.pair is not None and updated is not None:
            choosing, judging = self.pair[updated, state], self.pair[1 - updated, state]
        if self.cfg.next_value == "greedy":
            return best_value(values, mask) if self.pair is None else cross_value(choosing, judging, mask)
        policy = self.table.policy(state, progress, mask)
        if self.cfg.next_value == "expected":
            return expected_value(judging, policy)
        return taken_value(judging, policy, window["action"][last + 1, rows], window["truncated"][last, rows])

    def update(self, batch: Batch) -> Result:
        steps = {name: value.numpy() for name, value in batch.items()}
        state, action = self.table.index(steps["obs"]), steps["action"]
        self.table.visited(state, action)
        if self.pair is not None:
            return self._update_pair(self.pair, state, action, steps)
        error = self._error(self.table.values, state, action, steps)
        if self.traces is None:
            return self.table.learn(state, action, error, self.now.lr)
        traced = self.traces.visit(steps["row"], state, action, steps["begins"], steps["after"])
        traced = traced.only(np.isin(traced.row, steps["row"]))  # the other rows have no error
        errors = np.zeros(traced.row.max() + 1)
        errors[steps["row"]] = error
        move(self.table.values, traced.state, traced.action, errors[traced.row] * traced.value, self.now.lr)
        return self.table.metrics(error)

    def _error(self, table: Array, state: Array, action: Array, steps: dict[str, Array]) -> Array:
        return td_error(
            table, state, action, steps["reward"], steps["next_value"], steps["terminated"], steps["discount"]
        )

    def _update_pair(self, pair: Array, state: Array, action: Array, steps: dict[str, Array]) -> Result:
        """Updates one of the two tables with each step, and the table that acts."""
        error = np.zeros(len(state))
        for number, table in enumerate(pair):
            mine = np.flatnonzero(steps["updated"] == number)
            if len(mine):
                chosen = {name: column[mine] for name, column in steps.items()}
                error[mine] = self._error(table, state[mine], action[mine], chosen)
                move(table, state[mine], action[mine], error[mine], self.now.lr)
        self.table.values[state, action] = pair[:, state, action].mean(axis=0)
        return self.table.metrics(error)

    # eligibility traces -----------------------------------------------------------------------------------

    def _begins(self, steps: dict[str, Array]) -> Array:
        """Returns the states [N] that the steps begin in; -1 for an exploratory action of Q-learning, whose return says
        nothing of the actions before it (Watkins, 1989)."""
        state = self.table.index(steps["obs"][0])
        if self.cfg.next_value != "greedy":
            return state
        values = self.table.values[state]
        mask = steps["action_mask"][0] if "action_mask" in steps else None
        taken = np.take_along_axis(values, steps["action"][0][:, None], 1)[:, 0]
        return np.where(taken < best_value(values, mask), -1, state)

    def _after(self, steps: dict[str, Array]) -> Array:
        """Returns the states [N] that the next steps of the episodes begin in; -2 at their ends."""
        ended = steps["terminated"][0] | steps["truncated"][0]
        return np.where(ended, -2, self.table.index(steps["next_obs"][0]))

    # checkpoints ------------------------------------------------------------------------------------------

    def state(self) -> Tree:
        state: Tree = self.weights()
        if self.pair is not None:
            state |= {"pair": self.pair.copy(), "learn": self.streams.learn.bit_generator.state}
        return state if self.traces is None else {**state, "traces": self.traces.state()}

    def load_state(self, state: Tree) -> None:
        self.load_weights(state)
        if self.pair is not None:
            self.pair = np.array(state["pair"], np.float64).reshape(self.pair.shape)
            self.streams.learn.bit_generator.state = state["learn"]
        if self.traces is not None:
            self.traces.load_state(state["traces"])

    def load_weights(self, weights: dict[str, Array]) -> None:
        super().load_weights(weights)
        if self.pair is not None:
            self.pair[:] = self.table.values
