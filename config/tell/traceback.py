"""Tracebacks of errors that a user can cause, as a notebook and the command line show them: the lines of the user, and
the message."""

import builtins
import sys
from collections.abc import Iterator
from pathlib import Path
from traceback import FrameSummary, StackSummary, format_exception
from types import TracebackType
from typing import Any

from config.own.lines import OURS, each, is_own
from config.tell.names import did_you_mean


def told(error: BaseException) -> str:
    """Returns an error of code of the user's own as the command line shows it: kind and text, and the lines of the user
    that it has passed. Empty if there are none."""
    if not (lines := list(_own_lines(error))):
        return ""
    kind, *text = f"{type(error).__name__}: {error}".splitlines()
    rest = "".join(StackSummary.from_list(lines).format()).rstrip()
    return "\n".join(["".join([kind.rstrip(": "), _meant(error)]), *text, rest])


def _own_lines(error: BaseException) -> Iterator[FrameSummary]:
    """Yields the lines of the user that an error has passed, the last one where it was raised."""
    for line in each(error.__traceback__):
        code = line.tb_frame.f_code
        if is_own(code.co_filename):
            yield FrameSummary(_shown(code.co_filename), line.tb_lineno, code.co_name, lookup_line=True)
    if isinstance(error, SyntaxError) and error.filename and is_own(error.filename):  # that line has not been run
        yield FrameSummary(_shown(error.filename), error.lineno or 1, "<module>")


def _shown(file: str) -> str:
    """Returns a path from the current folder, if the file is in it."""
    path, folder = Path(file), Path.cwd()
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _meant(error: BaseException) -> str:
    """Returns the end of a sentence about a name that there is not: the nearest one that there is."""
    if isinstance(error, AttributeError) and error.name and error.obj is not None:
        return did_you_mean(error.name, (name for name in dir(error.obj) if name[:1] != "_"))
    if isinstance(error, NameError) and error.name and (lines := [*each(error.__traceback__)]):
        frame = lines[-1].tb_frame
        return did_you_mean(error.name, {**frame.f_locals, **frame.f_globals, **vars(builtins)})
    return ""


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
    lines = [*each(error.__traceback__)][offset:]
    theirs = [line for line in lines if not line.tb_frame.f_code.co_filename.startswith(OURS)]
    yield from theirs
    if (cause := error.__cause__) is not None:
        yield from _lines(cause)
    elif lines[-1:] != theirs[-1:] and not hasattr(error, "_render_traceback_"):
        yield lines[-1]


def _joined(lines: list[TracebackType]) -> TracebackType | None:
    joined = None
    for line in reversed(lines):
        joined = TracebackType(joined, line.tb_frame, line.tb_lasti, line.tb_lineno)
    return joined
