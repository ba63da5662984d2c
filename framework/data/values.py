"""Values of a Batch: how lists become arrays, and how nested dicts of arrays are joined and stacked."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from config.tell.language import tr

Nested = dict[str, Any]
_MISSING = object()
_MOST_TEXT = 60
"""Number of characters of a value in a message."""


@contextlib.contextmanager
def naming(key: str) -> Iterator[None]:
    """Puts the name of a key before the message of an error with its value."""
    try:
        yield
    except IndexError as error:
        raise IndexError(f"{key}: {error}") from None
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"{key}: {error}") from None


def brief(value: Any) -> str:
    """Returns a value as text in one line, shortened, for a message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]} ..."


def as_array(values: Sequence[Any]) -> np.ndarray | Tensor:
    """Returns a list as an array: of numbers if all are numbers or arrays of one shape; else of objects. Tensors are
    stacked. Text in a list makes text of its numbers, as numpy does."""
    if values and all(isinstance(value, Tensor) for value in values):
        shapes = dict.fromkeys(tuple(value.shape) for value in values)
        if len(shapes) > 1:
            raise TypeError(
                tr(
                    "tensors of the shapes {shapes} make no tensor; pad them to one shape",
                    shapes=", ".join(map(str, shapes)),
                )
            )
        return torch.stack(list(values))
    try:
        array = np.asarray(values)
    except ValueError:  # arrays or lists of several lengths
        return objects(values)
    return array if array.dtype.kind in "biufc" else array.astype(object)


def objects(values: Sequence[Any]) -> np.ndarray:
    """Returns an array [len] of these very objects, even if they are lists or arrays of one length."""
    array = np.empty(len(values), object)
    for number, value in enumerate(values):
        array[number] = value
    return array


def zero_of(array: np.ndarray | Tensor) -> Any:
    """Returns what an empty place of such an array holds: 0, or None among objects."""
    return None if array.dtype == object else 0


def numpy_index(index: Any) -> Any:
    """Returns an index as numpy takes it."""
    if isinstance(index, list):
        return np.asarray(index, None if index else np.int64)
    return index.detach().cpu().numpy() if isinstance(index, Tensor) else index


def to_write(mine: Any, value: Any) -> Any:
    """Returns a value to write into an array or tensor: 0 or None if there is none."""
    if value is None:
        return zero_of(mine)
    if isinstance(mine, Tensor):
        return torch.as_tensor(value, dtype=mine.dtype, device=mine.device)
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else value


def same(value: Any, other: Any) -> bool:
    """Returns true if two values have equal type, shape and content."""
    if isinstance(value, Tensor) or isinstance(other, Tensor):
        return isinstance(value, Tensor) and isinstance(other, Tensor) and torch.equal(value, other)
    if isinstance(value, np.ndarray) or isinstance(other, np.ndarray):
        return isinstance(value, np.ndarray) and isinstance(other, np.ndarray) and np.array_equal(value, other)
    return bool(value == other)


def rows_of(value: Any, path: str = "") -> int | None:
    """Returns the number of rows of a nested value; None if nothing in it has rows. ValueError for a single value."""
    if isinstance(value, dict):
        counts = [count for key, item in value.items() if (count := rows_of(item, _inner(path, key))) is not None]
        return min(counts, default=None)
    if value is None:
        return None
    if not getattr(value, "ndim", 0):
        raise ValueError(
            tr("{path} is a single value without rows; Batch.stack makes rows of single values", path=path)
        )
    return len(value)


def joined(parts: Sequence[Nested], fill: Any) -> Nested:
    """Returns the rows of these dicts, one after another. fill: value of keys that some of them lack."""
    counts = [rows_of(part) or 0 for part in parts]

    def join(values: list[Any], path: str) -> Any:
        present = [value for value in values if not _is_missing(value)]
        if len(present) < len(values) and fill is None:
            raise ValueError(
                tr("{path} is missing in some of the Batches; Batch.cat(..., fill=0) fills it with 0", path=path)
            )
        example = present[0]
        if isinstance(example, Tensor):
            tensors = [
                example.new_full((count, *example.shape[1:]), fill) if _is_missing(value) else value
                for value, count in zip(values, counts, strict=True)
            ]
            with naming(path):
                return torch.cat(tensors)
        if not isinstance(example, np.ndarray):
            return None
        filled = [
            np.full((count, *example.shape[1:]), fill, example.dtype) if _is_missing(value) else value
            for value, count in zip(values, counts, strict=True)
        ]
        with naming(path):
            return np.concatenate(filled)

    return _merged(parts, join)


def stacked(parts: Sequence[Nested], axis: int) -> Nested:
    """Returns dicts in which each of these dicts is a row. Keys that some of them lack become 0 or None."""

    def stack(values: list[Any], path: str) -> Any:
        present = [value for value in values if not _is_missing(value)]
        if len(present) == len(values) and axis == 0:
            return as_array(values)
        if len(present) < len(values) and axis:
            raise ValueError(
                tr("{path} is missing in some of the Batches, which can be stacked along axis 0 only", path=path)
            )
        if isinstance(present[0], Tensor):
            blank = torch.zeros_like(present[0])
            with naming(path):
                return torch.stack([blank if _is_missing(value) else value for value in values], axis)
        example = np.asarray(present[0])
        if example.dtype.kind not in "biufc":
            return objects([None if _is_missing(value) else value for value in values])
        empty = np.zeros_like(example)
        with naming(path):
            return np.stack([empty if _is_missing(value) else np.asarray(value) for value in values], axis)

    return _merged(parts, stack)


def _merged(parts: Sequence[Nested], merge: Callable[[list[Any], str], Any], path: str = "") -> Nested:
    """Returns a dict of merge(values, path) for each key that a part has, in order of first appearance; nested as they
    are. An empty dict counts as a missing key where another part has more."""
    tree: Nested = {}
    for key in dict.fromkeys(key for part in parts for key in part):
        values = [part.get(key, _MISSING) for part in parts]
        inner = _inner(path, key)
        if any(isinstance(value, dict) and value for value in values):
            if single := [value for value in values if not isinstance(value, dict) and not _is_missing(value)]:
                raise ValueError(
                    tr(
                        "{path} is a Batch in some of the Batches, and {value!r} in another one",
                        path=inner,
                        value=single[0],
                    )
                )
            tree[key] = _merged([value if isinstance(value, dict) else {} for value in values], merge, inner)
        elif all(_is_missing(value) for value in values):
            tree[key] = {}
        else:
            tree[key] = merge(values, inner)
    return tree


def _is_missing(value: Any) -> bool:
    return value is _MISSING or (isinstance(value, dict) and not value)


def _inner(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
