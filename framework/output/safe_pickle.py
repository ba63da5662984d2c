"""Reads pickles of builtins and numpy arrays, and nothing else: no class is looked up, nothing is called.

A pickle is a program for a small machine. Here the machine lacks every instruction that could reach code, and numpy's
constructors only leave a note of what they were asked for. When the program has ended, the notes that describe plain
arrays become arrays; anything else is refused. Memory stays in proportion to the size of the file.
"""

import io
import pickle
import re
from math import prod
from pathlib import Path
from typing import Any

import numpy as np


class UnsafePickle(ValueError):
    """The file is not a pickle of builtins and numpy arrays."""


_PLAIN = """
    PROTO FRAME STOP MARK POP POP_MARK NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG1 LONG4 FLOAT BINFLOAT
    UNICODE BINUNICODE SHORT_BINUNICODE BINBYTES SHORT_BINBYTES BINSTRING SHORT_BINSTRING STRING
    EMPTY_LIST LIST APPEND APPENDS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_DICT
    MEMOIZE PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET
"""
"""Instructions that move numbers, text and containers; taken over as they are."""
_NUMPY = {
    f"{module} {name}": kind
    for module, name, kind in (
        ("numpy", "ndarray", "ndarray"),
        ("numpy", "dtype", "dtype"),
        ("numpy.core.multiarray", "_reconstruct", "array"),
        ("numpy._core.multiarray", "_reconstruct", "array"),
        ("numpy.core.multiarray", "scalar", "scalar"),
        ("numpy._core.multiarray", "scalar", "scalar"),
        ("_codecs", "encode", "encode"),
    )
}
"""The names that a file may mention. "encode" is how protocol 2 spells bytes."""
_DEEPEST = 100
_DTYPE = re.compile(r"[<>|=]?[biufcSU?]\d{0,5}")


class _Name:
    """A name of _NUMPY that was mentioned."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind


class _Note:
    """A call of such a name: its arguments, and the state that was given to the result."""

    __slots__ = ("args", "kind", "state")

    def __init__(self, kind: str, args: tuple[Any, ...]) -> None:
        self.kind, self.args = kind, args
        self.state: Any = None


_PythonUnpickler: Any = pickle._Unpickler
"""The one whose instructions can be chosen. It also never reserves what a file only declares."""


class _Machine(_PythonUnpickler):
    """The machine with the instructions that are left."""

    dispatch = {
        getattr(pickle, name)[0]: _PythonUnpickler.dispatch[getattr(pickle, name)[0]] for name in _PLAIN.split()
    }

    def find_class(self, module: str, name: str) -> _Name:
        kind = _NUMPY.get(f"{module} {name}")
        if kind is None:
            raise UnsafePickle(f"it refers to {module}.{name}")
        return _Name(kind)

    def load_reduce(self) -> None:
        args, name = self.stack.pop(), self.stack.pop()
        if not isinstance(name, _Name) or not isinstance(args, tuple):
            raise UnsafePickle("it calls something that is not numpy's")
        self.append(_Note(name.kind, args))

    def load_build(self) -> None:
        state, note = self.stack.pop(), self.stack[-1]
        if not isinstance(note, _Note) or not isinstance(state, tuple):
            raise UnsafePickle("it changes an object that is not an array")
        note.state = state

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.set_items([key, value])

    def load_setitems(self) -> None:
        self.set_items(self.pop_mark())

    def set_items(self, items: list[Any]) -> None:
        """Only text as keys: the hash of a nested tuple can take forever."""
        target = self.stack[-1]
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(target, dict) or not isinstance(key, str):
                raise UnsafePickle("it has a dict with a key that is not text")
            target[key] = value

    dispatch[pickle.GLOBAL[0]] = _PythonUnpickler.load_global
    dispatch[pickle.STACK_GLOBAL[0]] = _PythonUnpickler.load_stack_global
    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.SETITEM[0]] = load_setitem
    dispatch[pickle.SETITEMS[0]] = load_setitems


class _Result:
    """Turns notes into arrays, within a few times as many values as the file has bytes."""

    def __init__(self, size: int) -> None:
        self.left = 8 * size
        self.arrays: dict[int, Any] = {}
        """id of a note -> its array: what is one object in the file stays one."""

    def of(self, value: Any, depth: int = 0) -> Any:
        self.spend(1)
        if depth > _DEEPEST:
            raise UnsafePickle(f"it is nested more than {_DEEPEST} deep")
        if isinstance(value, list | tuple):
            return type(value)(self.of(item, depth + 1) for item in value)
        if isinstance(value, dict):
            return {key: self.of(item, depth + 1) for key, item in value.items()}
        if isinstance(value, _Note):
            if id(value) not in self.arrays:
                self.arrays[id(value)] = self.array(value)
            return self.arrays[id(value)]
        if isinstance(value, _Name):
            raise UnsafePickle("it holds a function")
        return value

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise UnsafePickle("it unfolds into far more than it holds")

    def array(self, note: _Note) -> Any:
        """numpy's own layout: array state (version, shape, dtype, fortran, bytes); scalar arguments (dtype, bytes)."""
        if note.kind == "encode":
            return _bytes(note)
        if note.kind == "scalar":
            dtype, data = note.args
            return self.filled((), dtype, False, data)[()]
        if note.kind != "array" or note.state is None or len(note.state) != 5:
            raise UnsafePickle(f"it holds an unfinished {note.kind}")
        _, shape, dtype, fortran, data = note.state
        return self.filled(shape, dtype, fortran, data)

    def filled(self, shape: Any, dtype: Any, fortran: Any, data: Any) -> np.ndarray:
        kind, data = _dtype(dtype), _bytes(data)
        self.spend(len(data))
        whole = isinstance(shape, tuple) and all(type(side) is int and side >= 0 for side in shape)
        if not whole or prod(shape) * kind.itemsize != len(data):
            raise UnsafePickle(f"an array of shape {shape} does not fit its {len(data)} bytes")
        return np.ndarray(shape, kind, data, order="F" if fortran else "C").copy(order="K")


def _dtype(note: Any) -> np.dtype:
    """Numbers and text of a fixed length; an object or a structure is refused."""
    if not isinstance(note, _Note) or note.kind != "dtype" or not note.args:
        raise UnsafePickle("an array has no dtype")
    code = note.args[0]
    if not isinstance(code, str) or not _DTYPE.fullmatch(code):
        raise UnsafePickle(f"it holds an array of dtype {code!r}")
    swapped = bool(note.state) and note.state[1:2] == (">",)
    return np.dtype(code).newbyteorder(">" if swapped else "=")


def _bytes(value: Any) -> bytes:
    if isinstance(value, _Note) and value.kind == "encode" and len(value.args) == 2 and value.args[1] == "latin1":
        value = str(value.args[0]).encode("latin1")
    if not isinstance(value, bytes):
        raise UnsafePickle(f"it holds an array made of {type(value).__name__}")
    return value


def load(path: Path) -> Any:
    """What is in the file, or UnsafePickle."""
    data = path.read_bytes()
    try:
        return _Result(len(data)).of(_Machine(io.BytesIO(data)).load())
    except UnsafePickle as error:
        raise UnsafePickle(f"{path} was not loaded: {error}") from None
    except KeyError as error:
        raise UnsafePickle(f"{path} was not loaded: it uses instruction {chr(error.args[0])!r} of pickle") from None
    except Exception as error:
        raise UnsafePickle(f"{path} is damaged: {type(error).__name__}: {error}") from error
