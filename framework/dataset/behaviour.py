"""What the policy that collected data seems to be."""

from typing import Any

import numpy as np

from framework.dataset.columns import Columns
from framework.dataset.data import Dataset
from framework.output.formatting import counted

MOST = 1_000_000
"""Transitions that are compared with one another."""
MOST_KINDS = 1000
"""Different discrete actions that are counted."""
NEAR = 1e-3
"""Share of the range within which an action counts as at its bound."""


class Behaviour:
    """Statistics of the actions, of the first MOST transitions at the most."""

    def __init__(self, data: Dataset) -> None:
        self._data = data
        self._action = data.summary.action
        kept: list[Columns] = []
        count = 0
        states: list[np.ndarray] = []
        pairs: list[np.ndarray] = []
        for piece in data.pieces():
            obs, action = _marks(piece["obs"]), _marks(piece["action"])
            states.append(obs)
            pairs.append(_mixed(obs * _FACTOR ^ action))
            kept.append({"action": piece["action"]})
            count += len(obs)
            if count >= MOST:
                break
        self._states, self._pairs = np.concatenate(states), np.concatenate(pairs)
        self._actions = np.concatenate([part["action"] for part in kept])

    def facts(self) -> dict[str, Any]:
        """Returns the share of repeated pairs, the statistics, and sentences on them."""
        count = len(self._pairs)
        distinct, states = len(np.unique(self._pairs)), len(np.unique(self._states))
        found: dict[str, Any] = {"compared": count, "repeated_pairs": (count - distinct) / count}
        found["repeated_obs"] = (count - states) / count
        lines = [self._determined(count, distinct, states)]
        if self._action.dtype.kind == "f":
            lines.append(self._at_bounds(found))
        else:
            lines.append(self._entropy(found))
        return {**found, "behaviour": lines}

    def _determined(self, count: int, distinct: int, states: int) -> str:
        """Returns whether equal observations are followed by equal actions."""
        if states == count:
            return "no observation occurs twice, so whether it is deterministic cannot be told"
        if distinct == states:
            return f"seems deterministic: {count - states:,} observations came before, always with the same action"
        return f"not deterministic: {counted(distinct - states, 'time')} an observation came again with another action"

    def _entropy(self, found: dict[str, Any]) -> str:
        """Returns how evenly the actions are used over all."""
        values, counts = np.unique(self._actions.reshape(len(self._actions), -1), axis=0, return_counts=True)
        shares = counts / counts.sum()
        found["action_entropy"] = float(-(shares * np.log(shares)).sum())
        text = f"entropy of all actions {found['action_entropy']:.3f} nats, at most {np.log(len(values)):.3f}"
        if len(values) <= MOST_KINDS:
            found["action_shares"] = {
                " ".join(map(str, value.tolist())): float(share) for value, share in zip(values, shares, strict=True)
            }
        most = np.argsort(-shares, kind="stable")[:6]
        listed = ", ".join(f"{' '.join(map(str, values[i].tolist()))}: {shares[i]:.1%}" for i in most)
        return f"{text} ({listed}{', ...' if len(values) > len(most) else ''})"

    def _at_bounds(self, found: dict[str, Any]) -> str:
        """Returns the share of actions at the lowest or highest value of any part."""
        flat = self._actions.reshape(len(self._actions), -1)
        slack = NEAR * (self._action.high.astype(np.float64) - self._action.low)
        at = (flat <= self._action.low + slack) | (flat >= self._action.high - slack)
        found["actions_at_bounds"] = float(at.any(axis=1).mean())
        return f"{found['actions_at_bounds']:.1%} of the actions are at the lowest or highest value in the data"


_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def _marks(column: np.ndarray) -> np.ndarray:
    """Returns a number of 64 bits for each value [K, ...]; equal values have equal numbers, and others hardly ever."""
    flat = np.ascontiguousarray(column.reshape(len(column), -1)).view(np.uint8)
    width = -(-flat.shape[1] // 8)
    padded = np.zeros((len(flat), 8 * width), np.uint8)
    padded[:, : flat.shape[1]] = flat
    marks = np.zeros(len(flat), np.uint64)
    for word in padded.view(np.uint64).T:
        marks = _mixed(marks * _FACTOR ^ word)
    return marks


def _mixed(marks: np.ndarray) -> np.ndarray:
    """Returns the numbers with every bit spread over all of them."""
    marks = (marks ^ (marks >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return (marks ^ (marks >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
