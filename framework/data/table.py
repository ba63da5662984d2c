"""Nested values in the columns of rings."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from torch import Tensor

from config.tell.language import tr
from framework.data.batch import Batch, converted
from framework.data.values import objects
from framework.errors import DataError
from framework.memory.ring import Array, Columns, Rings

NEEDED = ("obs", "act", "rew", "terminated", "truncated", "done", "obs_next")
"""Keys that every transition has if the first one has them. All other keys may come and go: they read as 0 or None."""
_DTYPES = {"rew": np.dtype(float)}
_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3, "O": 4}
"""Kind of numbers -> rank. A column takes values of its own rank and of those below."""
_OBJECTS = _RANKS["O"]
_RANK_OF = {bool: 0, int: 1, float: 2}
_LIMITS = {np.dtype(code): (np.iinfo(code).min, np.iinfo(code).max) for code in np.typecodes["AllInteger"]}
"""Type of whole numbers -> the least and the greatest of them."""
_NESTED = (dict, Batch, Mapping)

Tree = dict[str, Any]
"""key -> name of its column, or such a dict."""


class Table:
    """A column of the rings for each array in nested values, made when its first value comes. Its name is the path of
    the keys: obs.id. A column becomes one of larger numbers, or of objects, when a value asks for it."""

    def __init__(self, rings: Rings) -> None:
        self.rings = rings
        self.tree: Tree = {}
        self._kinds: dict[str, tuple[tuple[int, ...], int, np.dtype]] = {}
        """Name of a column -> shape of its values, their rank and their type."""
        self._needed: set[str] = set()

    def share(self, other: "Table") -> None:
        """Takes the keys of another table, whose rings have the columns of this one."""
        self.tree, self._kinds, self._needed = other.tree, other._kinds, other._needed

    # writing ----------------------------------------------------------------------------------------------

    def fitted(self, values: dict[str, Any], rows: int | None) -> Columns:
        """Returns what to write into each column. rows: number of transitions [K, ...] in the values; None for one.

        DataError if something is missing or has another shape than before."""
        try:
            return self._fitted(values, rows)
        except DataError:
            if not self.rings.added.any():  # the columns of a first transition that is none
                self.tree, self._kinds, self._needed = {}, {}, set()
                self.rings.drop_columns()
            raise

    def _fitted(self, values: dict[str, Any], rows: int | None) -> Columns:
        """Does the work of fitted()."""
        columns: dict[str, Any] = {}
        self._flatten(values, self.tree, (), columns, rows)
        kinds, lead = self._kinds, () if rows is None else (rows,)
        for name, value in columns.items():
            shape, rank, dtype = kinds[name]
            kind = type(value)
            if kind is np.ndarray:
                fits = value.shape == lead + shape and _RANKS.get(value.dtype.kind, 9) <= rank
                fits = fits and (value.dtype == dtype or _holds(dtype, value))
            else:
                fits = rows is None and not shape and _RANK_OF.get(kind, 9) <= rank
                fits = fits and (kind is not int or _holds(dtype, value))
            if not fits:
                columns[name] = self._made_to_fit(name, value, lead)
        if len(columns) < len(kinds):
            columns |= self._blank(kinds.keys() - columns.keys())
        return columns

    def _flatten(self, values: Any, tree: Tree, path: tuple[str, ...], cells: dict[str, Any], rows: int | None) -> None:
        """Puts the values of a nested mapping under the names of their columns, which it makes if they are new."""
        for key, value in values.items():
            node = tree.get(key)
            if type(node) is str:
                cells[node] = value
            elif isinstance(value, _NESTED) and _has_names(value):
                self._flatten(value, {} if node is None else node, (*path, key), cells, rows)
            elif node is not None and value is not None:
                raise DataError(
                    "{name} was a mapping so far, and is {value!r} now", name=_name((*path, key)), value=value
                )
            elif value is not None:
                name, value = self._new((*path, key), value, rows)
                cells[name] = value
            elif path and node is None:  # None is a value of a nested key, such as one of `info`
                cells[self.add_column((*path, key), (), np.dtype(object))] = None

    def _new(self, path: tuple[str, ...], value: Any, rows: int | None) -> tuple[str, Any]:
        """Makes a column for values like this one. Returns its name, and the value as an array."""
        name = _name(path)
        array = _array(name, value, rows)
        if path[0] in NEEDED and self.rings.added.any():
            raise DataError(
                "{name} is new; every transition has had {names}", name=name, names=", ".join(sorted(self._needed))
            )
        dtype = np.promote_types(array.dtype, _DTYPES.get(path[0], array.dtype))
        self.add_column(path, array.shape if rows is None else array.shape[1:], dtype)
        return name, array if rows is not None else array[()]

    def add_column(self, path: tuple[str, ...], shape: tuple[int, ...], dtype: np.dtype) -> str:
        """Adds an empty column for the values at this path, or replaces it. Returns its name."""
        name, node = _name(path), self.tree
        try:
            self.rings.add_column(name, shape, dtype)
        except MemoryError as error:
            raise DataError(
                "no memory for {count} transitions with {name}: choose a smaller size",
                count=self.rings.total,
                name=name,
            ) from error
        for key in path[:-1]:
            node = node.setdefault(key, {})
        node[path[-1]] = name
        self._kinds[name] = shape, _RANKS[dtype.kind], dtype
        if path[0] in NEEDED:
            self._needed.add(name)
        return name

    def _made_to_fit(self, name: str, value: Any, lead: tuple[int, ...]) -> Any:
        """Returns a value as an array that fits into its column, which becomes a wider one if it must."""
        shape, rank, dtype = self._kinds[name]
        if value is None:
            return self._blank([name])[name]
        rows = lead[0] if lead else None
        if rank == _OBJECTS and rows is None:
            return value
        array = _array(name, value, rows)
        number = array.dtype != object
        if array.shape == lead + shape and (number or rank == _OBJECTS):
            if _RANKS[array.dtype.kind] > rank or not _holds(dtype, array):
                self._widen(name, np.promote_types(dtype, array.dtype))
            return array
        if name in self._needed:
            got = tr("shape {shape}", shape=array.shape) if number else repr(value)
            raise DataError(
                "{name}: got {got}; the first transition had numbers of shape {shape}",
                name=name,
                got=got,
                shape=lead + shape,
            )
        if rank != _OBJECTS:
            self._widen(name, np.dtype(object))
        return objects(list(array)) if lead else value

    def _widen(self, name: str, dtype: np.dtype) -> None:
        """Makes a column one of another type, with the same values."""
        old, path = self.rings.flat[name], self.paths()[name]
        self.add_column(path, () if dtype.kind == "O" else old.shape[1:], dtype)
        self.rings.flat[name][...] = objects(list(old)) if dtype.kind == "O" else old

    def _blank(self, names: Iterable[str]) -> dict[str, Any]:
        """Returns 0 or None for each of these columns, which have no value. DataError if one is needed."""
        if missing := sorted(self._needed.intersection(names)):
            raise DataError("{names} missing; every transition needs what the first one had", names=", ".join(missing))
        return {name: None if self._kinds[name][1] == _OBJECTS else 0 for name in names}

    # reading ----------------------------------------------------------------------------------------------

    def read(self, key: str, places: Array | int) -> Any:
        """Returns copies of the values of a key at these places: an array, or a Batch of them."""
        node = self.tree[key]
        return self.rings.flat[node].take(places, 0) if type(node) is str else self._read(node, places)

    def _read(self, node: Any, places: Array | int) -> Any:
        if type(node) is str:
            return self.rings.flat[node].take(places, 0)
        return Batch.of({key: self._read(inner, places) for key, inner in node.items()})

    def whole(self, node: Any) -> Any:
        """Returns all values of a node of the tree, by place: the arrays themselves."""
        if type(node) is str:
            return self.rings.flat[node]
        return Batch.of({key: self.whole(inner) for key, inner in node.items()})

    def paths(self) -> dict[str, tuple[str, ...]]:
        """Returns the path of each column."""
        columns: dict[str, tuple[str, ...]] = {}

        def walk(node: Any, path: tuple[str, ...]) -> None:
            if type(node) is str:
                columns[node] = path
            else:
                for key, inner in node.items():
                    walk(inner, (*path, key))

        walk(self.tree, ())
        return columns


def _has_names(value: Any) -> bool:
    """Returns true for a mapping whose keys are text."""
    return isinstance(value, Batch) or all(isinstance(key, str) for key in value)


def _holds(dtype: np.dtype, values: Any) -> bool:
    """Returns true unless whole numbers are beyond those of a type of whole numbers."""
    if dtype not in _LIMITS or not np.size(values):
        return True
    least, most = _LIMITS[dtype]
    return bool(np.min(values) >= least and np.max(values) <= most)


def _name(path: tuple[str, ...]) -> str:
    """Returns the name of a column: the keys with dots between them, and a backslash before dots inside of a key."""
    return ".".join(key.replace("\\", "\\\\").replace(".", "\\.") for key in path)


def _array(name: str, value: Any, rows: int | None) -> np.ndarray:
    """Returns a value as an array of numbers, or of objects: one object for a single transition."""
    if isinstance(value, Tensor):
        value = value.detach().cpu().numpy()
    array = objects(list(value)) if rows is not None and isinstance(value, Batch) else converted(value)
    if rows is not None and (not isinstance(array, np.ndarray) or array.shape[:1] != (rows,)):
        raise DataError(
            "{name}: got {value!r}; expected {rows} rows, one for each buffer", name=name, value=value, rows=rows
        )
    array = np.asarray(array) if isinstance(array, np.ndarray | np.generic | bool | int | float | complex) else None
    if array is None or (array.dtype.kind == "O" and rows is None):
        return objects([value]).reshape(())
    return array if rows is None or array.dtype != object else objects(list(array))
