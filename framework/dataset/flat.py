"""Files of flat arrays: the steps of all episodes one after the other, an array for each column, read in pieces."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from framework.dataset.columns import PIECE_BYTES, Block, check_dtype, check_step, one_each, renamed
from framework.errors import DataError

NAMES = {
    "obs": "observations", "action": "actions", "reward": "rewards", "next_obs": "next_observations",
    "terminated": "terminals", "truncated": "timeouts", "action_mask": "action_masks",
    "next_action_mask": "next_action_masks",
}  # fmt: skip
"""Column -> its name in the files that are written."""
OGBENCH = ("masks", "qpos", "button_states")
"""Arrays of which OGBench's files have one, and others none."""


class Flat(ABC):
    """An array of a file, whose header is read and checked, and whose values are read in order."""

    def __init__(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
        """shape: number of steps, and shape of a step. Raises DataError for anything but numbers for each step."""
        check_dtype(name, dtype)
        if not shape:
            raise DataError("{name} is a single number; an array with an entry for each step is needed", name=name)
        self.count, self.shape, self.dtype = shape[0], shape[1:], dtype

    @property
    def step_bytes(self) -> int:
        """Bytes of a step."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize

    @abstractmethod
    def take(self, first: int, count: int) -> np.ndarray:
        """Returns the next steps; first: number of the first one."""


def steps(names: Collection[str], opened: Callable[[str], Flat]) -> Iterator[Block]:
    """Yields the steps of a file. names: of its arrays; opened: returns the array of a name."""
    if "terminals" in names and any(name in names for name in OGBENCH):
        yield from _ogbench(names, opened)
    else:
        yield from blocks({column: opened(name) for column, name in renamed(names).items()})


def _ogbench(names: Collection[str], opened: Callable[[str], Flat]) -> Iterator[Block]:
    """Yields the steps of a file of OGBench: `terminals` ends a trajectory that was cut off, and where the task is
    over, `masks` is 0. Without next_obs, the last row of a trajectory is no step: it holds the last observation, and an
    action that leads nowhere. There may be no rewards, which its programs compute from a goal."""
    arrays = [name for name in names if name not in ("terminals", "masks", "truncated", "timeouts")]
    rewarded = not {"reward", "rewards"}.isdisjoint(arrays)
    by_column = renamed([*arrays, *([] if rewarded else ["rewards"]), "terminals"])
    columns = {column: opened(name) for column, name in by_column.items() if rewarded or column != "reward"}
    if "masks" in names:
        columns["mask"] = opened("masks")
    for block in blocks(columns):
        values = dict(block.columns)
        ends, goes_on = one_each("terminals", values["terminated"]), values.pop("mask", np.ones(len(values["obs"])))
        ends, over = ends != 0, one_each("masks", goes_on) == 0
        over &= ~ends | ("next_obs" in values)
        values |= {"terminated": over, "truncated": ends & ~over}
        values.setdefault("reward", np.zeros(len(ends), np.float32))
        yield block._replace(columns=values, rewarded=rewarded)


def blocks(columns: Mapping[str, Flat]) -> Iterator[Block]:
    """Yields the steps of columns, in pieces of a few MiB."""
    counts = {name: column.count for name, column in columns.items()}
    if len(set(counts.values())) > 1:
        raise DataError(
            "the columns differ in length: {lengths}", lengths=", ".join(f"{n} {count}" for n, count in counts.items())
        )
    count = counts["obs"]
    if not count:
        raise DataError("it holds no step")
    obs, action, mask = columns["obs"], columns["action"], columns.get("action_mask")
    step = check_step(obs.shape, obs.dtype, action.shape, action.dtype, mask.step_bytes if mask else 0)
    if max(column.step_bytes for column in columns.values()) > step:
        raise DataError(
            "next_obs, rewards and flags take more room than obs; obs has the shape {shape}", shape=obs.shape
        )
    most = max(PIECE_BYTES // step, 1)
    for first in range(0, count, most):
        taken = min(most, count - first)
        values = {name: column.take(first, taken) for name, column in columns.items()}
        yield Block(values, "file" if first + taken == count else "", first=first)
