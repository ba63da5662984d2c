"""A Batch: arrays by name, nested as deep as one likes, which are indexed, joined and computed with together."""

import copy
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from numbers import Number
from typing import Any

import numpy as np
import torch
from torch import Tensor

from config.tell.language import tr
from framework.data.absent_names import OF_A_BATCH
from framework.data.values import (
    as_array,
    brief,
    joined,
    naming,
    numpy_index,
    rows_of,
    same,
    stacked,
    to_write,
    zero_of,
)

_PLAIN = (int, float, bool, str, type(None), Tensor)
"""Types of values that need no conversion."""


class Batch:
    """A mapping of names to arrays, tensors, numbers, text, None or further Batches. A key is an item, b["obs"], and an
    attribute, b.obs, unless it is the name of a method; every other index chooses rows of all arrays."""

    __slots__ = ("_data",)
    __array_ufunc__ = None  # so that a number of numpy on the left leaves the calculation to the Batch
    __hash__ = None  # type: ignore[assignment]
    _data: dict[str, Any]

    def __init__(self, source: Any = None, /, copy: bool = False, **values: Any) -> None:
        """Takes a mapping, a list of mappings (stacked) or keywords. Lists become arrays, dicts Batches, and lists of
        dicts Batches with a row for each. copy: copies arrays, which are shared otherwise."""
        object.__setattr__(self, "_data", {})
        if isinstance(source, Batch | Mapping):
            self.update(source)
        elif isinstance(source, Iterable) and not isinstance(source, str):
            items = list(source)
            if not all(isinstance(item, Batch | Mapping) for item in items):
                raise TypeError(tr("Batch(list): every item must be a dict or a Batch"))
            self.update(Batch.stack(items))
        elif source is not None:
            raise TypeError(tr("Batch({source!r}): expected a dict, a list of dicts, or keywords", source=source))
        if values:
            self.update(values)
        if copy:
            object.__setattr__(self, "_data", self.copy()._data)

    @staticmethod
    def of(data: dict[str, Any]) -> "Batch":
        """Returns a Batch of values that need no conversion: arrays, tensors, numbers and Batches. Keeps the dict."""
        batch = Batch.__new__(Batch)
        object.__setattr__(batch, "_data", data)
        return batch

    # keys -------------------------------------------------------------------------------------------------

    def keys(self) -> Any:
        """Returns the names."""
        return self._data.keys()

    def values(self) -> Any:
        """Returns the values."""
        return self._data.values()

    def items(self) -> Any:
        """Returns pairs of name and value."""
        return self._data.items()

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value of a key, or the default."""
        return self._data.get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        """Removes a key and returns its value. KeyError without the key and a default."""
        return self._data.pop(key, *default)

    def update(self, other: Any = None, /, **values: Any) -> None:
        """Sets the keys of a mapping, and those given as keywords."""
        if other is not None and not hasattr(other, "items"):
            raise TypeError(tr("update({value}): expected a dict, a Batch or keywords", value=brief(other)))
        for key, value in [*({} if other is None else other).items(), *values.items()]:
            if not isinstance(key, str):
                raise TypeError(tr("a key of a Batch is text, got {key!r}", key=key))
            self._data[key] = converted(value)

    def to_dict(self) -> dict[str, Any]:
        """Returns the same values in nested dicts."""
        return {key: value.to_dict() if isinstance(value, Batch) else value for key, value in self._data.items()}

    def _lacking(self, key: str) -> str:
        """Returns a sentence about a missing key."""
        if remark := OF_A_BATCH.get(key):
            return tr("a Batch has no {key!r}; {remark}", key=key, remark=remark)
        return tr("this Batch has no key {key!r}; it has {keys}", key=key, keys=", ".join(self._data) or tr("none"))

    def __contains__(self, key: object) -> bool:
        return key in self._data

    def __getattr__(self, key: str) -> Any:
        try:
            return object.__getattribute__(self, "_data")[key]
        except KeyError:
            raise AttributeError(self._lacking(key)) from None

    def __setattr__(self, key: str, value: Any) -> None:
        if hasattr(Batch, key):
            raise AttributeError(tr("{key} is the name of a method of Batch; write batch[{key!r}] = ...", key=key))
        self._data[key] = converted(value)

    def __delattr__(self, key: str) -> None:
        getattr(self, key)
        del self._data[key]

    # rows -------------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            if index not in self._data:
                raise KeyError(self._lacking(index))
            return self._data[index]
        if not self._data:
            raise IndexError(tr("an empty Batch has no rows"))
        index = numpy_index(index)
        return Batch.of({key: _rows(key, value, index) for key, value in self._data.items()})

    def __setitem__(self, index: Any, value: Any) -> None:
        """Sets a key, or rows of all keys: to a number, or those of a Batch or dict (0 or None for keys it lacks)."""
        if isinstance(index, str):
            self._data[index] = converted(value)
            return
        index = numpy_index(index)
        if isinstance(value, Mapping):
            value = Batch(value)
        if isinstance(value, Batch) and (extra := value.keys() - self.keys()):
            raise ValueError(
                tr(
                    "rows of a Batch: {extra} is none of its keys: {keys}",
                    extra=", ".join(sorted(extra)),
                    keys=", ".join(self._data),
                )
            )
        for key, mine in self._data.items():
            part = value.get(key) if isinstance(value, Batch) else value
            if isinstance(mine, Batch):
                mine[index] = Batch() if part is None else part
            elif isinstance(mine, np.ndarray | Tensor):
                with naming(key):
                    mine[index] = to_write(mine, part)
            elif mine is not None:
                raise IndexError(tr("key {key!r} is a single value: it has no rows", key=key))

    def __delitem__(self, key: str) -> None:
        del self._data[key]

    def __iter__(self) -> Iterator["Batch"]:
        """Yields the rows. (The keys are in keys().)"""
        return (self[row] for row in range(len(self)))

    def __len__(self) -> int:
        """Returns the smallest number of rows of its arrays. TypeError if a key is a number, which has no rows."""
        try:
            return rows_of(self.to_dict()) or 0
        except ValueError as error:
            raise TypeError(tr("this Batch has no len(): {error}", error=error)) from None

    @property
    def shape(self) -> list[int]:
        """The sizes that all arrays have in common from the left: in each place the smallest."""
        arrays = [value for value in self._data.values() if not (value is None or _is_bare(value))]
        return [min(sizes) for sizes in zip(*(getattr(value, "shape", ()) for value in arrays), strict=False)]

    def is_empty(self, recurse: bool = False) -> bool:
        """Returns true without any key. recurse: keys of Batches that are empty themselves do not count."""
        if not recurse:
            return not self._data
        return all(isinstance(value, Batch) and value.is_empty(recurse=True) for value in self._data.values())

    def split(
        self, size: int, shuffle: bool = True, merge_last: bool = False, rng: np.random.Generator | None = None
    ) -> Iterator["Batch"]:
        """Yields parts of `size` rows (-1: all), in random order unless shuffle is False. merge_last: joins a last
        part that would be smaller to the one before it. rng: makes the order repeatable."""
        length = len(self)
        size = length if size == -1 else size
        if not isinstance(size, int | np.integer) or (size < 1 and length):
            raise ValueError(tr("split({size!r}): expected a whole number, at least 1; -1 means all rows", size=size))
        order = (rng or np.random.default_rng()).permutation(length) if shuffle else np.arange(length)
        starts = list(range(0, length, size or 1))
        if merge_last and len(starts) > 1 and length % size:
            starts.pop()
        yield from (self[order[start:end]] for start, end in pairwise([*starts, length]))

    def empty_(self, index: Any = ...) -> "Batch":
        """Sets rows to 0, None or an empty Batch, all of them by default. Returns this Batch."""
        index = numpy_index(index)
        for key, value in self._data.items():
            if isinstance(value, Batch):
                value.empty_(index)
            elif isinstance(value, np.ndarray | Tensor):
                value[index] = zero_of(value)
            elif index is ...:
                self._data[key] = 0 if isinstance(value, Number) else None
        return self

    def empty(self, index: Any = ...) -> "Batch":
        """Returns a copy with these rows set to 0, None or an empty Batch."""
        return self.copy().empty_(index)

    # joining ----------------------------------------------------------------------------------------------

    @staticmethod
    def cat(batches: Iterable[Any], fill: Any = None) -> "Batch":
        """Joins the rows of Batches or dicts. fill: value of keys that some of them lack; an error without it."""
        parts = [part for part in _each("cat", batches) if not part.is_empty(recurse=True)]
        return Batch(joined([part.to_dict() for part in parts], fill)) if parts else Batch()

    @staticmethod
    def stack(batches: Iterable[Any], axis: int = 0) -> "Batch":
        """Makes each of several Batches or dicts a row. With axis 0, keys that some of them lack become 0 or None."""
        return Batch(stacked([batch.to_dict() for batch in _each("stack", batches)], axis))

    def cat_(self, batches: Any, fill: Any = None) -> None:
        """Appends the rows of a Batch, or of several. fill: as of cat()."""
        several = [batches] if isinstance(batches, Batch | Mapping) else list(batches)
        self._become(Batch.cat([self, *several], fill))

    def stack_(self, batches: Any, axis: int = 0) -> None:
        """Becomes the stack of this Batch and these ones."""
        several = [batches] if isinstance(batches, Batch | Mapping) else list(batches)
        self._become(Batch.stack([self, *several], axis))

    def _become(self, other: "Batch") -> None:
        """Takes the keys and values of another Batch in place of its own."""
        object.__setattr__(self, "_data", other._data)

    # copies and conversions -------------------------------------------------------------------------------

    def copy(self) -> "Batch":
        """Returns a copy that shares no array with it."""
        return copy.deepcopy(self)

    def __copy__(self) -> "Batch":
        return Batch.of(dict(self._data))

    def __reduce__(self) -> Any:
        return Batch.of, (self._data,)

    def to_numpy(self) -> "Batch":
        """Returns a Batch with arrays in place of tensors."""
        return self.mapped(lambda value: value.detach().cpu().numpy() if isinstance(value, Tensor) else value)

    def to_torch(self, dtype: torch.dtype | None = None, device: str | torch.device = "cpu") -> "Batch":
        """Returns a Batch with tensors in place of arrays and numbers. Text and other objects stay. dtype: of all."""
        if not isinstance(dtype, torch.dtype | None):
            raise TypeError(
                tr("to_torch: dtype: got {dtype!r}; expected one of torch, such as torch.float32", dtype=dtype)
            )

        def tensor(value: Any) -> Any:
            if isinstance(value, np.ndarray) and value.dtype == object:
                return value
            if isinstance(value, Tensor | np.ndarray | Number | np.generic):
                return torch.as_tensor(value, dtype=dtype, device=device)
            return value

        return self.mapped(tensor)

    def to_numpy_(self) -> None:
        """Puts arrays in place of its tensors, as to_numpy()."""
        self._become(self.to_numpy())

    def to_torch_(self, dtype: torch.dtype | None = None, device: str | torch.device = "cpu") -> None:
        """Puts tensors in place of its arrays and numbers, as to_torch()."""
        self._become(self.to_torch(dtype, device))

    def mapped(self, function: Callable[[Any], Any]) -> "Batch":
        """Returns a Batch with function(value) in place of each value."""
        changed = {
            key: value.mapped(function) if isinstance(value, Batch) else function(value) for key, value in self.items()
        }
        return Batch.of(changed)

    # calculating ------------------------------------------------------------------------------------------

    def combined(self, other: Any, how: Callable[[Any, Any], Any]) -> Any:
        """Returns how(mine, its) for each value of this Batch; its is a number, or the value of the other Batch."""
        if isinstance(other, Number | np.generic):
            return self.mapped(lambda value: None if value is None else how(value, other))
        if not isinstance(other, Batch):
            return NotImplemented
        if self.keys() != other.keys():
            raise ValueError(tr("Batches of other keys: {keys}", keys=", ".join(sorted(self.keys() ^ other.keys()))))
        changed = {}
        for key, mine in self._data.items():
            with naming(key):
                changed[key] = None if mine is None else how(mine, other[key])
        return Batch.of(changed)

    def __add__(self, other: Any) -> Any:
        return self.combined(other, operator.add)

    def __sub__(self, other: Any) -> Any:
        return self.combined(other, operator.sub)

    def __mul__(self, other: Any) -> Any:
        return self.combined(other, operator.mul)

    def __truediv__(self, other: Any) -> Any:
        return self.combined(other, operator.truediv)

    def __rsub__(self, other: Any) -> Any:
        return self.combined(other, lambda mine, its: its - mine)

    def __rtruediv__(self, other: Any) -> Any:
        return self.combined(other, lambda mine, its: its / mine)

    __radd__, __rmul__ = __add__, __mul__

    def __eq__(self, other: object) -> bool:
        """Returns true if both have the same keys, and values of equal type, shape and content."""
        if not isinstance(other, Batch):
            return NotImplemented
        return self.keys() == other.keys() and all(same(value, other[key]) for key, value in self._data.items())

    def __repr__(self) -> str:
        if not self._data:
            return "Batch()"
        return listed("Batch", self._data)


def _each(method: str, batches: Iterable[Any]) -> list[Batch]:
    """Returns Batches or dicts as Batches. ValueError for anything else."""
    if isinstance(batches, Batch | Mapping):
        raise ValueError(tr("Batch.{method} takes a list of Batches; got a single one", method=method))
    several = list(batches)
    for number, item in enumerate(several):
        if not isinstance(item, Batch | Mapping):
            raise ValueError(
                tr(
                    "Batch.{method} takes a list of Batches or dicts; item {number} is {item}",
                    method=method,
                    number=number,
                    item=brief(item),
                )
            )
    return [Batch(item) for item in several]


def listed(name: str, values: Mapping[str, Any]) -> str:
    """Returns values as text, a key in each line; the further lines of a value stand below its first one."""
    lines = [f"    {key}: {value!r},".replace("\n", "\n" + " " * (len(key) + 6)) for key, value in values.items()]
    return "\n".join([f"{name}(", *lines, ")"])


def converted(value: Any) -> Any:
    """Returns a value as a Batch holds it: mappings as Batches, lists as arrays, everything else as it is."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "biufc" or value.ndim == 0:
            return value
        return _batch_of_items(value) if value.dtype == object else value.astype(object)
    if isinstance(value, Mapping):
        return Batch(value) if all(isinstance(key, str) for key in value) else value
    if isinstance(value, list | tuple | range):
        return _batch_of_items(value)
    return value


def _batch_of_items(items: Any) -> Any:
    """Returns a list or an array of objects as an array; as a Batch with a row for each if all are mappings."""
    if len(items) and all(isinstance(item, Batch | Mapping) for item in items):
        return Batch.stack(items)
    return items if isinstance(items, np.ndarray) else as_array(items)


def _rows(key: str, value: Any, index: Any) -> Any:
    """Returns rows of a value. An empty Batch and None stay as they are."""
    if value is None or _is_bare(value):
        return value
    if not isinstance(value, np.ndarray | Tensor | Batch) or (not isinstance(value, Batch) and value.ndim == 0):
        raise IndexError(tr("key {key!r} is a single value: it has no rows", key=key))
    with naming(key):
        return value[index]


def _is_bare(value: Any) -> bool:
    """Returns true for a Batch without any array: it has as many rows as one likes."""
    return isinstance(value, Batch) and value.is_empty(recurse=True)
