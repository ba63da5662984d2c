"""Reads pickles of builtins and numpy arrays without running code, in memory proportional to the size of the file.

A pickle is a program. Here its names resolve to functions of this module only, no instruction reserves memory before
it reads, and a budget bounds what can be multiplied. This needs Python's own unpickler: that of C hashes any key and
makes room for any memo number.
"""

import io
import pickle
import re
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from config.read.opening import read_regular
from config.tell.language import tr

MOST_BYTES = 2**32
_PLAIN = """
    PROTO FRAME STOP MARK POP POP_MARK NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG1 LONG4 FLOAT BINFLOAT
    UNICODE BINUNICODE SHORT_BINUNICODE BINBYTES SHORT_BINBYTES BINSTRING SHORT_BINSTRING STRING
    EMPTY_LIST LIST APPEND APPENDS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_DICT
    MEMOIZE PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET GLOBAL STACK_GLOBAL REDUCE
"""
"""Instructions that are used as they are."""
_DEEPEST = 100
_DTYPE = re.compile(r"[<>|=]?(?:[biufc][1-9]\d?|\?|[SU][1-9]\d{0,4})")
_Unpickler: Any = pickle._Unpickler


class UnsafePickle(ValueError):
    """The file is not a pickle of builtins and numpy arrays."""


class _Dtype:
    """A dtype of numbers or text while the file is read."""

    def __init__(self, code: Any, *_: Any) -> None:
        if not isinstance(code, str) or not _DTYPE.fullmatch(code):
            raise UnsafePickle(tr("it holds an array of dtype {dtype!r}", dtype=code))
        self.value = np.dtype(code)

    def build(self, state: Any) -> None:
        """Applies the byte order: state is (version, order, ...)."""
        if state[1] == ">":
            self.value = self.value.newbyteorder(">")


class _Array:
    """An array while the file is read. What one place of the file makes stays one object."""

    def __init__(self, *_: Any) -> None:
        self.value: Any = None

    def build(self, state: Any) -> None:
        """Sets the content: state is (version, shape, dtype, fortran, bytes)."""
        self.value = _filled(*state[1:])


def _filled(shape: Any, dtype: Any, fortran: Any, data: Any) -> np.ndarray:
    whole = type(shape) is tuple and all(type(side) is int and side >= 0 for side in shape)
    if not whole or not isinstance(data, bytes) or prod(shape) * dtype.value.itemsize != len(data):
        raise UnsafePickle(tr("an array of shape {shape} does not fit its content", shape=shape))
    return np.ndarray(shape, dtype.value, data, order="F" if fortran else "C").copy(order="K")


class _Lines(io.BytesIO):
    """Bytes whose last line is whole: the name of a class that is cut is not that of another one."""

    def readline(self, size: int | None = -1) -> bytes:
        line = super().readline(size)
        if not line.endswith(b"\n"):
            raise EOFError
        return line


class _Machine(_Unpickler):
    dispatch = {getattr(pickle, name)[0]: _Unpickler.dispatch[getattr(pickle, name)[0]] for name in _PLAIN.split()}

    def __init__(self, data: bytes) -> None:
        super().__init__(_Lines(data))
        self.left = 8 * len(data)

    def find_class(self, module: str, name: str) -> Any:
        if module in ("numpy.core.multiarray", "numpy._core.multiarray", "numpy", "_codecs"):
            if name in ("ndarray", "_reconstruct"):
                return _Array
            if name in ("dtype", "scalar", "encode"):
                return {"dtype": _Dtype, "scalar": self.scalar, "encode": self.encode}[name]
        raise UnsafePickle(tr("it refers to {module}.{name}", module=module, name=name))

    def scalar(self, dtype: Any, data: Any) -> Any:
        self.spend(len(data))
        return _filled((), dtype, False, data)[()]

    def encode(self, text: str, codec: str) -> bytes:
        """Returns bytes as protocol 2 spells them."""
        self.spend(len(text))
        if codec != "latin1":
            raise UnsafePickle(tr("it encodes with {codec}", codec=codec))
        return text.encode("latin1")

    def load_build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if not isinstance(target, _Array | _Dtype):
            raise UnsafePickle(tr("it changes an object that is not an array"))
        self.spend(len(state[-1]) if isinstance(target, _Array) else 0)
        target.build(state)

    def load_setitems(self) -> None:
        self.set_items(self.pop_mark())

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.set_items([key, value])

    def set_items(self, items: list[Any]) -> None:
        """Accepts text as keys only: the hash of a nested tuple can take forever."""
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(self.stack[-1], dict) or not isinstance(key, str):
                raise UnsafePickle(tr("it has a dict with a key that is not text"))
            self.stack[-1][key] = value

    dispatch |= {pickle.BUILD[0]: load_build, pickle.SETITEM[0]: load_setitem, pickle.SETITEMS[0]: load_setitems}

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise UnsafePickle(tr("it unfolds into far more than it holds"))

    def finished(self, value: Any, depth: int = 0) -> Any:
        """Returns the value with arrays in place of what stood for them."""
        self.spend(1)
        if depth > _DEEPEST:
            raise UnsafePickle(tr("it is nested more than {limit} deep", limit=_DEEPEST))
        if isinstance(value, list | tuple):
            return type(value)(self.finished(item, depth + 1) for item in value)
        if isinstance(value, dict):
            return {key: self.finished(item, depth + 1) for key, item in value.items()}
        if isinstance(value, _Array) and value.value is not None:
            return value.value
        if value is None or isinstance(value, bool | int | float | str | bytes | np.generic):
            return value
        raise UnsafePickle(tr("it holds a function or an unfinished array"))


def load(path: Path) -> Any:
    """Returns the content of the file, or raises UnsafePickle."""
    data = read_regular(path, MOST_BYTES)
    try:
        machine = _Machine(data)
        return machine.finished(machine.load())
    except UnsafePickle as error:
        raise UnsafePickle(tr("{path} was not loaded: {error}", path=path, error=error)) from None
    except KeyError as error:
        raise UnsafePickle(
            tr("{path} was not loaded: it uses an instruction that is not known here: {error}", path=path, error=error)
        ) from None
    except Exception as error:
        if not data:
            raise UnsafePickle(tr("{path} is damaged: it is empty", path=path)) from error
        if isinstance(error, EOFError) or not data.endswith(pickle.STOP):  # cut within a number, it is no EOFError
            raise UnsafePickle(
                tr("{path} is damaged: it is cut off; copy it again, or take another file", path=path)
            ) from error
        raise UnsafePickle(
            tr("{path} is damaged: {kind}: {error}", path=path, kind=type(error).__name__, error=error)
        ) from error
