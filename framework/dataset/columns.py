"""Columns of transitions under one set of names, and the checks that every format shares."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from config.tell.language import tr
from framework.errors import DataError

Columns = dict[str, np.ndarray]
"""Arrays [K, ...] of transitions in order of time."""
NAMES = {
    "obs": ("obs", "observations", "observation", "states", "state"),
    "action": ("action", "actions"),
    "reward": ("reward", "rewards"),
    "next_obs": ("next_obs", "next_observations", "next_observation", "next_states", "next_state", "new_obs"),
    "terminated": ("terminated", "terminateds", "terminations", "terminals", "terminal"),
    "truncated": ("truncated", "truncateds", "truncations", "timeouts", "timeout"),
    "done": ("done", "dones"),
    "action_mask": ("action_mask", "action_masks"),
    "next_action_mask": ("next_action_mask", "next_action_masks"),
}
"""Column -> its names in files. done: the episode ended, in either way. action_mask: true for each legal action."""
MASKS = ("action_mask", "next_action_mask")
"""Columns of data from an environment with action masks: the masks of obs and of next_obs."""
REQUIRED = ("obs", "action", "reward", "terminated")
PIECE_BYTES = 2**20
"""Bytes of a piece of data; small, so that a reader needs little more memory than what it keeps."""
MOST_STEP_BYTES = 2**24
"""Bytes of the largest transition, whose observation is held twice, so that a piece of one stays below 64 MiB."""


class Block(NamedTuple):
    """Consecutive steps of a file as they are written there, under our names."""

    columns: Columns
    end: Literal["", "episode", "file"]
    """Unit that the last step ends by the layout of the file, whatever its flags are; empty if the file goes on."""
    place: str = ""
    """Place in the file, such as `line 3`; empty for a file without parts."""
    first: int = 0
    """Number of the first step in its place, from 0."""
    rewarded: bool = True
    """False if the file has no rewards, and those in `columns` are 0."""

    def where(self, step: int) -> str:
        """Returns the place of a step for a message."""
        return (self.place and self.place + ", ") + tr("step {number}", number=self.first + step)


# --------------------------------------------------------------------------------------------------- names


def renamed(keys: Iterable[str]) -> dict[str, str]:
    """Returns our column -> name in the file; names that mean no column are left out. Raises DataError if one that
    is needed is missing or given twice."""
    names = set(keys)
    columns: dict[str, str] = {}
    for column, aliases in NAMES.items():
        match [name for name in aliases if name in names]:
            case [name]:
                columns[column] = name
            case [name, other, *_]:
                raise DataError("both {name} and {other} are given; leave one out", name=name, other=other)
    if "action_mask" not in columns:
        columns.pop("next_action_mask", None)
    if "terminated" in columns:
        columns.pop("done", None)
    elif "done" in columns and "truncated" not in columns:
        columns["terminated"] = columns.pop("done")
    for column in REQUIRED:
        if column not in columns and not (column == "terminated" and "done" in columns):
            raise DataError(missing(column, sorted(names)))
    return columns


def missing(column: str, names: list[str]) -> str:
    """Returns the message on a column that no name of the file means."""
    there = ", ".join(names[:12]) or tr("nothing")
    if column == "terminated":
        return tr(
            "nothing tells how an episode ended: add terminated (or terminals, dones), true at the "
            "last step of an episode that ended, and truncated (or timeouts), true where it was cut "
            "off; there is {names}",
            names=there,
        )
    aliases = NAMES[column]
    if parts := [name for name in names if re.fullmatch(rf"(?:{'|'.join(aliases)})[\W_]*\d+\W*", name)]:
        return tr(
            "{column} is missing; {part} is a single number of it, and one array [steps, numbers] is needed, or "
            "one column of lists; there is {names}",
            column=column,
            part=parts[0],
            names=there,
        )
    listed = ", ".join(aliases[:-1]) + tr(" or ") + aliases[-1]
    return tr(
        "{column} is missing, which may be called {aliases}; there is {names}",
        column=column,
        aliases=listed,
        names=there,
    )


# --------------------------------------------------------------------------------------------------- values


def column_of(name: str, values: Any, dtype: np.dtype | None = None) -> np.ndarray:
    """Returns the values of a column as an array of numbers, in the machine's byte order."""
    try:
        array = np.asarray(values, dtype)
    except (ValueError, TypeError, OverflowError):
        raise DataError("the entries of {name} differ in shape, or are not numbers", name=name) from None
    check_dtype(name, array.dtype)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def check_dtype(name: str, dtype: np.dtype) -> None:
    """Raises DataError for anything but whole numbers, floats and truth values of at most eight bytes."""
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        kind = tr("objects") if dtype.hasobject else str(dtype)
        raise DataError("{name} is an array of {kind}; numbers are needed", name=name, kind=kind)


def checked(block: Block) -> Block:
    """Returns the block with flags as bool and rewards as float32, or raises DataError."""
    columns = dict(block.columns)
    at = block.place and f"{block.place}: "
    sizes = {name: len(column) if column.ndim else -1 for name, column in columns.items()}
    if len(set(sizes.values())) > 1 or -1 in sizes.values():
        listed = ", ".join(
            f"{name} {size}" if size >= 0 else tr("{name} none", name=name) for name, size in sizes.items()
        )
        raise DataError("{at}the columns differ in length: {lengths}", at=at, lengths=listed)
    for name in {"reward", "terminated", "truncated", "done"} & columns.keys():
        columns[name] = one_each(at + name, columns[name])
    for name in {"terminated", "truncated", "done", *MASKS} & columns.keys():
        columns[name] = _flags(name, columns[name], block)
    if "done" in columns:
        columns["terminated"] = columns.pop("done") & ~columns["truncated"]
    for name in ("obs", "action", "reward", "next_obs"):
        if name in columns:
            _finite(name, columns[name], block)
    with np.errstate(over="ignore"):
        rewards = columns["reward"].astype(np.float32, copy=False)
    if (beyond := np.flatnonzero(~np.isfinite(rewards))).size:
        step = int(beyond[0])
        raise DataError(
            "reward of {where} is {value}, and rewards are float32, up to {most:.3g}",
            where=block.where(step),
            value=columns["reward"][step],
            most=np.finfo(np.float32).max,
        )
    columns["reward"] = rewards
    _check_shapes(at, columns)
    return block._replace(columns=columns)


def one_each(name: str, column: np.ndarray) -> np.ndarray:
    """Returns a column [K, 1, ...] of single numbers as [K]."""
    if column.size != len(column):
        raise DataError(
            "{name} has the shape {shape}; one number for each step is needed", name=name, shape=column.shape
        )
    return column.reshape(-1)


def _flags(name: str, column: np.ndarray, block: Block) -> np.ndarray:
    flags = column.astype(bool)
    if column.dtype.kind != "b" and (wrong := np.argwhere(column != flags)).size:
        step, *place = wrong[0].tolist()
        value = column[(step, *place)]
        raise DataError(
            "{name} of {where} is {value}; true or false (1 or 0) is needed",
            name=name,
            where=block.where(step),
            value=value,
        )
    return flags


def _finite(name: str, column: np.ndarray, block: Block) -> None:
    if column.dtype.kind != "f" or np.isfinite(column).all():
        return
    step, *place = np.argwhere(~np.isfinite(column))[0].tolist()
    value = column[(step, *place)]
    part = f"[{', '.join(map(str, place))}]" if place else ""
    raise DataError(
        "{name}{part} of {where} is {value}; a finite number is needed",
        name=name,
        part=part,
        where=block.where(step),
        value=value,
    )


def _check_shapes(at: str, columns: Mapping[str, np.ndarray]) -> None:
    obs, after = columns["obs"], columns.get("next_obs")
    if after is not None and after.shape[1:] != obs.shape[1:]:
        raise DataError(
            "{at}next_obs has the shape {shape} and obs has {obs_shape}",
            at=at,
            shape=after.shape[1:],
            obs_shape=obs.shape[1:],
        )
    check_step(
        obs.shape[1:], obs.dtype, columns["action"].shape[1:], columns["action"].dtype, _check_masks(at, columns)
    )


def _check_masks(at: str, columns: Mapping[str, np.ndarray]) -> int:
    """Returns the number of entries of a mask, 0 without masks; raises DataError if a mask is not one row."""
    shapes = {columns[name].shape[1:] for name in MASKS if name in columns}
    if any(len(shape) != 1 or not shape[0] for shape in shapes) or len(shapes) > 1:
        listed = tr(" and ").join(map(str, sorted(shapes)))
        raise DataError(
            "{at}a step of action_mask has the shape {shape}; one true or false for each action is needed",
            at=at,
            shape=listed,
        )
    return next(iter(shapes))[0] if shapes else 0


def check_step(
    obs: tuple[int, ...], obs_dtype: np.dtype, action: tuple[int, ...], action_dtype: np.dtype, mask: int = 0
) -> int:
    """Returns the bytes of a transition; raises DataError if it is empty or too large. mask: entries of a mask."""
    sizes = [int(np.prod(shape, dtype=object)) for shape in (obs, action)]
    if 0 in sizes:
        raise DataError(
            "{name} has a side of length 0: {shape}",
            name="action" if sizes[0] else "obs",
            shape=action if sizes[0] else obs,
        )
    return check_size(2 * sizes[0] * obs_dtype.itemsize + sizes[1] * action_dtype.itemsize + 6 + 2 * mask)


def check_size(step: int) -> int:
    """Returns the bytes of a step; raises DataError if these are too many."""
    if step > MOST_STEP_BYTES:
        raise DataError(
            "a step takes {size:,.0f} MiB, and at most {limit:,.0f} are read",
            size=step / 2**20,
            limit=MOST_STEP_BYTES / 2**20,
        )
    return step


def rows(columns: Mapping[str, np.ndarray], part: slice | np.ndarray) -> Columns:
    """Returns some of the steps."""
    return {name: column[part] for name, column in columns.items()}


def joined(parts: list[Columns]) -> Columns:
    """Returns the steps of all parts as one."""
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def size_of(columns: Mapping[str, np.ndarray]) -> int:
    """Returns the bytes of the steps."""
    return sum(column.nbytes for column in columns.values())
