"""Splits joint fragments into the transitions of a policy's agents."""

from typing import NamedTuple

import numpy as np

from algos.base import Array, Tree
from envs.several.joint import JointLayout
from framework.collect.fragment import Columns, Fragment
from framework.policies.slots import Seen, Slots


class Transitions(NamedTuple):
    """Complete transitions of a policy's agents, in the order in which they were completed."""

    columns: Columns
    """Arrays [K, ...]: obs, action, reward, next_obs, terminated, truncated, and columns of the policy."""
    slot: Array
    """Slot [K] of each: environment * S + slot of the policy."""
    lost: Array
    """Slots whose trajectory broke off, since the worker that collected it was lost."""


class Splitter:
    """Follows the agents of one policy through joint fragments. A transition begins when its agent acts, and is
    complete when it acts again or its trajectory ends; its reward is the sum in between. Incomplete transitions are
    carried over to the next fragment."""

    def __init__(self, name: str, slots: Slots, layout: JointLayout, global_state: bool, training: bool = True) -> None:
        """training: False in evaluations, which have other opponents."""
        self._prefix, self.slots, self.layout, self._global = f"{name}/", slots, layout, global_state
        self._training = training
        self._carried: Columns = {}
        """Columns [M, ...] of the incomplete transitions; the values of other slots are meaningless."""
        self._reward = np.zeros(0, np.float32)
        """Reward [M] that they have got so far."""
        self._open = np.zeros(0, bool)
        """[M], True for slots with an incomplete transition."""
        self._unfinished = np.zeros(0, bool)
        """[M], True for slots whose latest transition has not ended its trajectory."""

    def split(self, fragment: Fragment) -> Transitions:
        """Returns the transitions that this fragment completes."""
        columns, count = fragment.columns, fragment.rows * self.slots.count
        if len(self._open) != count:  # the first fragment, or another number of environments than before a resume
            self._open, self._unfinished = np.zeros((2, count), bool)
            self._reward = np.zeros(count, np.float32)
        lost = self._unfinished & np.repeat(fragment.start["first"], self.slots.count)
        self._open &= ~lost
        records, after = self.layout.decode(columns["obs"]), self.layout.decode(columns["next_obs"])
        seen, then = self.slots.observe(records), self.slots.observe(after)
        acts, begins = then.acts, seen.acts
        if self.slots.has_opponents(self._training):  # what opponents do is not learned from
            begins = begins & ~self.slots.opponents(records, self._training)
        terminated, truncated = then.ends(columns["terminated"], columns["truncated"])
        ends = terminated | truncated
        begin, end, slot, reward = self._pairs(begins, ends | acts, then.reward)
        self._unfinished &= ~lost
        self._unfinished[slot] = ~_rows(ends)[end, slot]  # the last one counts if a slot is named twice
        self._unfinished |= self._open
        first = {"obs": seen.obs, "action": self.slots.actions(self.layout.decode_action(columns["action"]))}
        last = {"next_obs": then.obs, "terminated": terminated, "truncated": truncated}
        self._extend(first, last, records, after, seen, then)
        first |= {name.removeprefix(self._prefix): columns[name] for name in columns if name.startswith(self._prefix)}
        parts = self._gather(first, begin, slot)
        parts |= {name: _rows(value)[end, slot] for name, value in last.items()}
        parts["reward"] = reward
        self._carry(first, begin)
        return Transitions(parts, slot, np.flatnonzero(lost))

    def _extend(self, first: Columns, last: Columns, records: Array, after: Array, seen: Seen, then: Seen) -> None:
        """Adds action masks and the global state."""
        if seen.mask is not None and then.mask is not None:
            first["action_mask"], last["next_action_mask"] = seen.mask, then.mask
        if self._global:
            first["global_state"] = self.slots.global_state(records, seen)
            last["next_global_state"] = self.slots.global_state(after, then)

    def _pairs(self, acts: Array, completes: Array, reward: Array) -> tuple[Array, Array, Array, Array]:
        """Returns the step at which each complete transition begins [K] (-1: it was carried), the one at which it ends,
        its slot, and its reward."""
        acts, completes, reward = _rows(acts), _rows(completes), _rows(reward)
        steps, count = acts.shape
        if acts.all() and completes.all() and not self._open.any():  # all agents act at every step
            self._begun = np.full(count, -1)
            grid = np.divmod(np.arange(steps * count), count)
            return grid[0], grid[0], grid[1], reward.reshape(-1).copy()
        open_, total, begun = self._open, self._reward, np.full(count, -1)
        pairs: list[tuple[Array, Array, Array, Array]] = []
        for t in range(steps):
            open_ |= acts[t]
            begun[acts[t]], total[acts[t]] = t, 0.0
            total[open_] += reward[t][open_]
            done = np.flatnonzero(open_ & completes[t])
            pairs.append((begun[done], np.full(len(done), t), done, total[done]))
            open_[done] = False
        self._begun = begun
        begin, end, slot, rewards = (np.concatenate(part) for part in zip(*pairs, strict=True))
        return begin, end, slot, rewards

    def _gather(self, first: Columns, begin: Array, slot: Array) -> Columns:
        """Returns the columns that a transition gets when it begins."""
        columns = {name: _rows(value)[begin, slot] for name, value in first.items()}
        if (early := begin < 0).any():
            for name, value in columns.items():
                value[early] = self._carried[name][slot[early]]
        return columns

    def _carry(self, first: Columns, begin: Array) -> None:
        """Keeps the transitions that are incomplete after this fragment."""
        if not self._open.any():
            return
        slots, now = np.arange(len(self._open)), self._begun >= 0
        for name, value in first.items():
            latest = _rows(value)[self._begun, slots]
            carried = self._carried.get(name)
            if carried is not None and carried.shape == latest.shape and not now.all():
                latest[~now] = carried[~now]
            self._carried[name] = latest

    # stopping and going on --------------------------------------------------------------------------------

    def state(self) -> Tree:
        carried = dict(sorted(self._carried.items())) if self._open.any() else {}
        # other slots are blank, so that equal states have equal bytes
        return {
            "open": self._open.copy(),
            "unfinished": self._unfinished.copy(),
            "reward": np.where(self._open, self._reward, np.float32(0)),
            "carried": {name: value[self._open] for name, value in carried.items()},
        }

    def load_state(self, state: Tree) -> None:
        self._open, self._reward = np.array(state["open"], bool), np.array(state["reward"], np.float32)
        self._unfinished = np.array(state["unfinished"], bool)
        self._carried = {}
        for name, value in state["carried"].items():
            self._carried[name] = np.zeros((len(self._open), *value.shape[1:]), value.dtype)
            self._carried[name][self._open] = value


def _rows(column: Array) -> Array:
    """Returns a column [T, N, S, ...] as [T, M, ...]."""
    return column.reshape(column.shape[0], -1, *column.shape[3:])
