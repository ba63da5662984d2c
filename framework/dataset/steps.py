"""Turns the blocks of a file into whole transitions: with a successor, and with an end for every episode."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from config.tell.language import tr
from framework.dataset.columns import MASKS, PIECE_BYTES, Block, Columns, checked, joined, rows, size_of
from framework.errors import DataError
from framework.screen.formatting import counted

FINAL = ("obs", "action", "reward", "next_obs", "terminated", "truncated")
"""Columns of all data; some have the columns of MASKS too."""
ORDER_STEPS = 1000
"""Least number of steps of a file whose order is looked at, if it has as many."""


@dataclass
class Changes:
    """Numbers of steps that were added to the steps of a file, or left out."""

    unmarked: int = 0
    """Number of episodes whose last step no flag marks."""
    dropped: int = 0
    """Number of steps without a successor."""
    derived: bool = False
    """True if next_obs was not given."""
    no_truncated: bool = False
    """True if truncated was not given."""
    no_reward: bool = False
    """True if rewards were not given."""
    followed: int = 0
    """Number of the first steps with a next_obs of their own and a step after them in their episode."""
    unrelated: int = 0
    """Number of these whose next_obs is not the obs of the step after them."""

    def notes(self) -> Iterator[str]:
        """Yields a sentence on each."""
        if self.no_reward:
            yield tr("rewards are not given, and each is 0: fit for learning from actions alone, as BC does")
        if self.unmarked:
            why = tr("truncated is not given") if self.no_truncated else tr("no flag marks it")
            yield tr(
                "the last step of {count} counts as truncated: {why}", count=counted(self.unmarked, "episode"), why=why
            )
        if self.unrelated > self.followed / 2:  # a few may have an obs that was changed later
            yield tr(
                "next_obs of {unrelated:,} of the first {followed:,} steps within episodes is not the obs of the step "
                "after them, as in order of time: episodes, with their returns and lengths, may not be those that "
                "were played",
                unrelated=self.unrelated,
                followed=self.followed,
            )
        if self.dropped:
            yield (
                tr(
                    "{count} at the end of truncated episodes left out: next_obs is not given, so the "
                    "observation after them is unknown",
                    count=counted(self.dropped, "step"),
                )
            )


def transitions(blocks: Iterable[Block], changes: Changes) -> Iterator[Columns]:
    """Yields the transitions of a file in parts of any size, with all columns of FINAL, and both of MASKS or none. The
    last step of a file is terminated or truncated."""
    held: Columns | None = None
    marked = False
    for block in map(checked, blocks):
        columns, whole = dict(block.columns), bool(block.end)
        changes.derived |= "next_obs" not in columns
        changes.no_reward |= not block.rewarded
        changes.no_truncated |= "truncated" not in columns
        columns.setdefault("truncated", np.zeros_like(columns["terminated"]))
        if held is not None:
            columns, held = joined([held, columns]), None
        ends = columns["terminated"] | columns["truncated"]
        marked |= bool(ends.any())
        if block.end == "file" and not marked:
            raise DataError(
                "no step ends an episode, so all of it would be one: set terminated (or terminals) "
                "at the last step of an episode that ended, and truncated (or timeouts) where it was "
                "cut off"
            )
        if whole and len(ends) and not ends[-1]:
            columns["truncated"] = _with_last(columns["truncated"])
            changes.unmarked += 1
        if "next_obs" in columns and changes.followed < ORDER_STEPS:
            _look_at_order(columns, changes)
        if "next_obs" not in columns or ("action_mask" in columns and "next_action_mask" not in columns):
            columns, held = _followed(columns, changes)
        if "next_action_mask" in columns:
            columns["next_action_mask"] = columns["next_action_mask"] | ~columns["next_action_mask"].any(
                1, keepdims=True
            )
        if len(columns["reward"]):
            yield {name: columns[name] for name in (*FINAL, *MASKS) if name in columns}


def _look_at_order(columns: Columns, changes: Changes) -> None:
    """Counts the steps whose next_obs the next step of their episode has as its obs, up to the precision of a file."""
    inside = ~(columns["terminated"] | columns["truncated"])[:-1]
    after, obs = columns["next_obs"][:-1][inside], columns["obs"][1:][inside]
    changes.followed += len(obs)
    equal = np.isclose(after, obs, 1e-2, 1e-2).all(axis=tuple(range(1, obs.ndim)))
    changes.unrelated += int((~equal).sum())


def _with_last(flags: np.ndarray) -> np.ndarray:
    flags = flags.copy()
    flags[-1] = True
    return flags


def _followed(columns: Columns, changes: Changes) -> tuple[Columns, Columns | None]:
    """Returns the steps with what the next one has as their next_obs and next_action_mask, and the last one apart if
    what follows it is in the next block. A terminal step gets its own observation, since the value of what follows it
    is 0; a truncated one whose next_obs is unknown is left out, and the step before it becomes the last one. All
    actions count as legal after the end of an episode."""
    ends = columns["terminated"] | columns["truncated"]
    held = None if ends[-1] else rows(columns, slice(-1, None))
    cut = columns["truncated"] & ~columns["terminated"] & ("next_obs" not in columns)
    columns = {**_after(columns, ends), **columns}
    mask = ~cut
    if cut.any():
        changes.dropped += int(cut.sum())
        before = cut[1:] & ~ends[:-1]  # the step before, if it is of the same episode
        columns["truncated"] = np.append(before, False)
    mask[-1] &= held is None
    return (columns if mask.all() else rows(columns, mask)), held


def _after(columns: Columns, ends: np.ndarray) -> Columns:
    """Returns next_obs and, if there are masks, next_action_mask by the step that follows each. ends: True where none
    does."""
    following = np.minimum(np.arange(len(ends)) + 1, len(ends) - 1)
    after = columns["obs"][following]
    after[columns["terminated"]] = columns["obs"][columns["terminated"]]
    if "action_mask" not in columns:
        return {"next_obs": after}
    return {"next_obs": after, "next_action_mask": columns["action_mask"][following] | ends[:, None]}


def pieces(parts: Iterable[Columns]) -> Iterator[Columns]:
    """Yields the same transitions in pieces of about PIECE_BYTES."""
    waiting: list[Columns] = []
    size = 0
    for part in parts:
        if waiting and size + size_of(part) > PIECE_BYTES:
            yield joined(waiting)
            waiting, size = [], 0
        *whole, remainder = _cut(part)
        yield from whole
        waiting.append(remainder)
        size += size_of(remainder)
    if waiting:
        yield joined(waiting)


def _cut(part: Columns) -> Iterator[Columns]:
    """Yields parts of at most PIECE_BYTES, or of a single step."""
    count = len(part["reward"])
    most = max(PIECE_BYTES * count // max(size_of(part), 1), 1)
    for start in range(0, count, most):
        yield rows(part, slice(start, start + most))
