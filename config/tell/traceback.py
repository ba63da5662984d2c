"""Tracebacks of errors that a user can cause, as a notebook shows them: the lines of the user, and the message."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from traceback import format_exception
from types import TracebackType
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
_OURS = (
    *(f"{_ROOT / package}/" for package in ("algos", "config", "envs", "framework")),
    str(_ROOT / "joystick.py"),
    contextlib.__file__,
)
"""Beginnings of the paths of this program's files, and of what only passes its calls on."""


def concise(error: BaseException) -> list[str]:
    """Returns the lines that a notebook shows of an error, without those of this program; `%xmode Verbose` shows them,
    too. Errors that a user can cause have it as their method _render_traceback_, which IPython calls."""
    try:
        return _as_in(sys.modules["IPython"].get_ipython().InteractiveTB, error)
    except Exception:  # another version of IPython
        return "".join(format_exception(error)).splitlines()


def _as_in(style: Any, error: BaseException) -> list[str]:
    """Returns a traceback. style: the object with which IPython writes tracebacks."""
    if style.mode == "Verbose":
        return list(style.structured_traceback(type(error), error, error.__traceback__))
    bare = RuntimeError(str(error))  # without the errors that have led to it: the message has their texts
    return list(style.structured_traceback(type(error), bare, _joined([*_lines(error, style.tb_offset)]), tb_offset=0))


def _lines(error: BaseException, offset: int = 0) -> Iterator[TracebackType]:
    """Yields the lines of a traceback that are not of this program, and the line where the first error was raised.
    offset: number of lines before those of the user."""
    lines = [*_each(error.__traceback__)][offset:]
    theirs = [line for line in lines if not line.tb_frame.f_code.co_filename.startswith(_OURS)]
    yield from theirs
    if (cause := error.__cause__) is not None:
        yield from _lines(cause)
    elif lines[-1:] != theirs[-1:] and not hasattr(error, "_render_traceback_"):
        yield lines[-1]


def _each(lines: TracebackType | None) -> Iterator[TracebackType]:
    while lines is not None:
        yield lines
        lines = lines.tb_next


def _joined(lines: list[TracebackType]) -> TracebackType | None:
    joined = None
    for line in reversed(lines):
        joined = TracebackType(joined, line.tb_frame, line.tb_lasti, line.tb_lineno)
    return joined
