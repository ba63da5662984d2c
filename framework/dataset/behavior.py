"""Estimates of the policy that collected data."""

from typing import Any

import numpy as np

from config.tell.language import tr
from framework.dataset.data import Dataset
from framework.screen.formatting import counted

MOST = 1_000_000
"""Transitions that are compared with one another."""
MOST_KINDS = 1000
"""Different discrete actions that are counted."""
MOST_PARTS = 6
"""Largest number of parts of an action that is written beside its share."""
NEAR = 1e-3
"""Share of the range within which an action counts as at its bound."""


class Behavior:
    """Statistics of the actions, of the first MOST transitions at the most."""

    def __init__(self, data: Dataset) -> None:
        self._action = data.summary.action
        count = 0
        states: list[np.ndarray] = []
        pairs: list[np.ndarray] = []
        actions: list[np.ndarray] = []
        for piece in data.pieces():
            states.append(_marks(piece["obs"]))
            pairs.append(_marks(piece["obs"], piece["action"]))
            actions.append(piece["action"])
            count += len(piece["action"])
            if count >= MOST:
                break
        self._states, self._pairs = np.concatenate(states), np.concatenate(pairs)
        self._actions = np.concatenate(actions)

    def facts(self) -> dict[str, Any]:
        """Returns the share of repeated pairs, the statistics, and sentences on them."""
        count = len(self._pairs)
        distinct, states = len(np.unique(self._pairs)), len(np.unique(self._states))
        facts: dict[str, Any] = {"compared": count, "repeated_pairs": (count - distinct) / count}
        facts["repeated_obs"] = (count - states) / count
        lines = [self._determined(count, distinct, states)]
        if self._action.dtype.kind == "f":
            lines.append(self._at_bounds(facts))
        else:
            lines.append(self._entropy(facts))
        return {**facts, "behaviour": lines}

    def _determined(self, count: int, distinct: int, states: int) -> str:
        """Returns whether equal observations are followed by equal actions."""
        if states == count:
            return tr("no observation occurs twice, so whether it is deterministic cannot be told")
        if distinct == states:
            return tr(
                "seems deterministic: {count:,} observations came before, always with the same action",
                count=count - states,
            )
        return tr(
            "not deterministic: {times} an observation came again with another action",
            times=counted(distinct - states, "time"),
        )

    def _entropy(self, facts: dict[str, Any]) -> str:
        """Returns how evenly the actions are used over all."""
        values, counts = np.unique(self._actions.reshape(len(self._actions), -1), axis=0, return_counts=True)
        shares = counts / counts.sum()
        facts["action_entropy"] = float(-(shares * np.log(shares)).sum())
        text = tr(
            "entropy of all actions {entropy:.3f} nats, at most {limit:.3f}",
            entropy=facts["action_entropy"],
            limit=np.log(len(values)),
        )
        if len(values) <= MOST_KINDS:
            facts["action_shares"] = {
                " ".join(map(str, value.tolist())): float(share) for value, share in zip(values, shares, strict=True)
            }
        most = np.argsort(-shares, kind="stable")[:6]
        names = [f"{' '.join(map(str, values[i].tolist()))}: " if values.shape[1] <= MOST_PARTS else "" for i in most]
        listed = tr(", ").join(f"{name}{shares[i]:.1%}" for name, i in zip(names, most, strict=True))
        listed += tr(", ") + "..." if len(values) > len(most) else ""
        return tr("{text} ({shares})", text=text, shares=listed)

    def _at_bounds(self, facts: dict[str, Any]) -> str:
        """Returns the share of actions at the lowest or highest value of any part."""
        flat = self._actions.reshape(len(self._actions), -1)
        slack = NEAR * (self._action.high.astype(np.float64) - self._action.low)
        at = (flat <= self._action.low + slack) | (flat >= self._action.high - slack)
        facts["actions_at_bounds"] = float(at.any(axis=1).mean())
        return tr(
            "{share:.1%} of the actions are at the lowest or highest value in the data",
            share=facts["actions_at_bounds"],
        )


def _marks(*columns: np.ndarray) -> np.ndarray:
    """Returns a number for the values [K, ...] of each step; equal values have equal numbers, and others hardly ever
    do."""
    count = len(columns[0])
    flat = [np.ascontiguousarray(column).reshape(count, -1).view(np.uint8) for column in columns]
    width, data = sum(part.shape[1] for part in flat), np.concatenate(flat, axis=1).tobytes()
    return np.fromiter((hash(data[start : start + width]) for start in range(0, count * width, width)), np.int64, count)
