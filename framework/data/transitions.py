"""Transitions on their way into a buffer: their flags, and the observations after them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from config.tell.language import tr
from framework.data.batch import Batch, converted
from framework.data.values import brief
from framework.errors import DataError


def keep_newest(values: dict[str, Any], newest: Any) -> None:
    """Replaces stacked observations by their newest ones. newest: their index."""
    for key in ("obs", "obs_next"):
        if values.get(key) is not None:
            values[key] = Batch(obs=values[key])[newest].obs


def complete(values: dict[str, Any], rows: int | None, first: bool) -> None:
    """Makes the flags of a transition, or of several, what is stored. first: True before anything was stored."""
    terminated, truncated = values.get("terminated", values.get("done")), values.get("truncated", False)
    lacking = [key for key in ("obs", "act", "rew") if values.get(key) is None] if first else []
    if terminated is None:
        lacking.append(tr("terminated (or done)"))
    if lacking:
        raise DataError(
            "a transition needs {names}, beside {others}", names=", ".join(lacking), others=", ".join(values)
        )
    if rows is None:
        terminated, truncated = _flag("terminated", terminated), _flag("truncated", truncated)
    else:
        terminated, truncated = (_flags(flags, rows) for flags in (terminated, truncated))
    values["terminated"], values["truncated"], values["done"] = terminated, truncated, terminated | truncated


def _flag(name: str, flag: Any) -> bool:
    """Returns the flag of one transition, [] or [1]."""
    if type(flag) is bool:
        return flag
    array = np.asarray(flag)
    if array.size != 1:
        raise DataError(
            "{name}: got the shape {shape} for one transition; rows go into a VectorReplayBuffer, or with buffer_ids",
            name=name,
            shape=array.shape,
        )
    if array.dtype.kind not in "biuf":
        raise DataError("{name}: got {value}; expected True or False", name=name, value=brief(flag))
    return bool(array)


def _flags(flags: Any, rows: int) -> np.ndarray:
    """Returns flags [rows] or [rows, 1] as an array [rows]; one flag counts for all of them."""
    array = np.asarray(flags, bool)
    if array.ndim == 0:
        return np.full(rows, array)
    if array.shape[:1] != (rows,) or array.size != rows:
        raise DataError(
            "terminated and truncated: got the shape {shape}; expected {rows} flags", shape=array.shape, rows=rows
        )
    return array.reshape(rows)


def as_rows(name: str, value: Any) -> Any:
    """Returns a column of recorded transitions as a Batch or an array. DataError for a single value."""
    column = converted(value) if isinstance(value, Batch | Mapping | list | tuple) else np.asarray(value)
    if not isinstance(column, Batch) and not column.ndim:
        raise DataError("{name}: got {value}; expected a row for each transition", name=name, value=brief(value))
    return column


def without_next(values: dict[str, Any]) -> Batch | None:
    """Takes out the observation after it, which is not stored. Returns it, if something was truncated: it cannot be
    found in the buffer then."""
    after = values.pop("obs_next", None)
    return None if after is None or not np.any(values["truncated"]) else Batch(obs=after)


def ring_numbers(buffer_ids: Any, count: int) -> np.ndarray:
    """Returns the numbers of buffers as an array: of all `count` of them if buffer_ids is None."""
    if buffer_ids is None:
        return np.arange(count)
    ring = np.asarray(buffer_ids).reshape(-1)
    numbers = ring.tolist()
    if numbers and (
        ring.dtype.kind not in "iu" or len(set(numbers)) < len(numbers) or min(numbers) < 0 or max(numbers) >= count
    ):
        raise DataError(
            "buffer_ids: got {numbers}; expected different numbers from 0 to {last}", numbers=numbers, last=count - 1
        )
    return ring.astype(np.int64)
