"""A summary of data, gathered piece by piece."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from config.read.paths import as_written
from config.tell.language import tr
from framework.dataset.columns import Columns


class Range:
    """Extremes of each part of an observation or an action, and where they are."""

    def __init__(self, first: np.ndarray) -> None:
        """first: values [K, ...] of the first transitions."""
        self.shape: tuple[int, ...] = first.shape[1:]
        self.dtype: np.dtype = first.dtype
        flat = first.reshape(len(first), -1)
        self.low, self.high = flat[0].copy(), flat[0].copy()
        """Extremes [parts], the parts of a value in one row."""
        self.low_at, self.high_at = np.zeros((2, len(self.low)), np.int64)
        """Numbers [parts] of the transitions that have them."""
        self.whole = True
        """True if all values are whole numbers, whatever their type."""

    def add(self, values: np.ndarray, start: int) -> None:
        """Takes in values [K, ...]; start: number of the first transition."""
        flat = values.reshape(len(values), -1)
        self.whole = self.whole and (flat.dtype.kind != "f" or bool((flat == np.rint(flat)).all()))
        low, high = flat.min(axis=0), flat.max(axis=0)
        if (lower := low < self.low).any():
            self.low_at[lower] = start + flat[:, lower].argmin(axis=0)
            self.low[lower] = low[lower]
        if (higher := high > self.high).any():
            self.high_at[higher] = start + flat[:, higher].argmax(axis=0)
            self.high[higher] = high[higher]


@dataclass
class Summary:
    """Counts, shapes, ranges and episodes of data."""

    obs: Range
    action: Range
    next_obs: Range
    """Range of the observations after the steps; after a terminal one, which nothing follows, of its own obs."""
    next_obs_given: bool = True
    truncated_given: bool = True
    reward_given: bool = True
    """False if that column was derived in any file."""
    transitions: int = 0
    returns: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Return of each episode, undiscounted, of the transitions that are handed out."""
    lengths: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Number of transitions of each episode."""
    terminated: int = 0
    """Number of episodes that ended; the others were cut off."""
    mask: int = 0
    """Number of entries of an action mask; 0 if the data have none."""
    starts: list[tuple[int, Path]] = field(default_factory=list)
    """Number of the first transition of each file."""

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return len(self.returns)

    @property
    def truncated(self) -> int:
        """Number of episodes that were cut off."""
        return self.episodes - self.terminated

    def where(self, transition: int) -> str:
        """Returns the place of a transition for a message."""
        start, path = next(pair for pair in reversed(self.starts) if pair[0] <= transition)
        return tr("transition {number} of {path}", number=transition - start, path=as_written(path))


class Gathering:
    """Makes a summary of pieces."""

    def __init__(self) -> None:
        self._summary: Summary | None = None
        self._returns: list[np.ndarray] = []
        self._lengths: list[np.ndarray] = []
        self._open = 0.0
        """Return of the running episode so far."""
        self._since = 0
        """Its number of transitions."""

    @property
    def transitions(self) -> int:
        """Number of transitions so far."""
        return self._summary.transitions if self._summary else 0

    def add(self, piece: Columns, path: Path) -> None:
        """Takes in the next piece of a file."""
        obs, action = piece["obs"], piece["action"]
        mask = piece["action_mask"].shape[1] if "action_mask" in piece else 0
        terminal = piece["terminated"].reshape(-1, *[1] * (obs.ndim - 1))
        after = np.where(terminal, obs, piece["next_obs"])
        summary = self._summary = self._summary or Summary(Range(obs), Range(action), Range(after), mask=mask)
        if not summary.starts or summary.starts[-1][1] != path:
            summary.starts.append((summary.transitions, path))
        summary.obs.add(obs, summary.transitions)
        summary.action.add(action, summary.transitions)
        summary.next_obs.add(after, summary.transitions)
        summary.transitions += len(obs)
        ends = np.flatnonzero(piece["terminated"] | piece["truncated"])
        summary.terminated += int(piece["terminated"].sum())
        self._split(piece["reward"].astype(np.float64), ends)

    def _split(self, reward: np.ndarray, ends: np.ndarray) -> None:
        """Adds the episodes that end at these steps, and keeps what is left of the last one."""
        starts = np.concatenate([[0], ends + 1])
        last = int(starts[-1])
        if len(ends):
            sums = np.add.reduceat(reward[:last], starts[:-1])
            sums[0] += self._open
            lengths = np.diff(starts)
            lengths[0] += self._since
            self._returns.append(sums)
            self._lengths.append(lengths)
            self._open = 0.0
            self._since = 0
        self._open += float(reward[last:].sum())
        self._since += len(reward) - last

    def result(self, next_obs_given: bool, truncated_given: bool, reward_given: bool) -> Summary:
        """Returns the summary of the pieces, at least one."""
        assert self._summary is not None
        self._summary.returns = np.concatenate(self._returns)
        self._summary.lengths = np.concatenate(self._lengths)
        self._summary.next_obs_given, self._summary.truncated_given = next_obs_given, truncated_given
        self._summary.reward_given = reward_given
        return self._summary
