"""Tracebacks as a notebook shows them. The object that IPython writes tracebacks with is a stand-in."""

import contextlib
import sys
import traceback
import types

import pytest

from config.read.loader import ConfigError
from config.tell import traceback as ours
from envs.base import EnvError
from framework.errors import DataError, JoystickError


class Style:
    """Writes the names of the functions of a traceback, and the message."""

    tb_offset, mode = 1, "Context"

    def structured_traceback(self, kind, error, lines, tb_offset=None):
        return [*(frame.name for frame in traceback.extract_tb(lines)), f"{kind.__name__}: {error}"]


@pytest.fixture
def style(monkeypatch):
    shell = types.SimpleNamespace(InteractiveTB=Style())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    return shell.InteractiveTB


def function(file, code, **names):
    """Returns the function f of a code that stands in a file."""
    exec(compile(code, file, "exec"), names)
    return names["f"]


def error_of(failing):
    """Returns the error of a program of the user that calls a function of ours."""
    inner = function(str(ours._ROOT / "framework" / "loop.py"), "def f():\n call()", call=failing)
    cell = function("cell", "def f():\n inner()", inner=inner)
    with pytest.raises((ConfigError, EnvError, JoystickError)) as info:
        cell()
    return info.value


def raising(kind):
    def failing():
        raise kind

    return function(str(ours._ROOT / "config" / "read.py"), "def f():\n call()", call=failing)


@pytest.mark.parametrize("error", [ConfigError("no lr"), EnvError("no lr"), JoystickError("no lr"), DataError("no lr")])
def test_lines_of_the_program_are_left_out(style, error):
    found = error_of(raising(error))
    assert [entry.filename for entry in traceback.extract_tb(found.__traceback__)][1] == "cell"
    # the first line is that which runs the cell; the last one is that of this test
    assert found._render_traceback_() == ["f", "failing", f"{type(error).__name__}: no lr"]


def test_verbose_shows_all_lines(style):
    style.mode = "Verbose"
    assert error_of(raising(JoystickError("no lr")))._render_traceback_() == [
        "error_of", "f", "f", "f", "failing", "JoystickError: no lr",
    ]  # fmt: skip


def test_the_line_of_the_user_that_failed_is_shown_behind_the_call(style):
    def step():
        raise KeyError("x")

    def guarded():
        try:
            step()
        except KeyError as error:
            raise EnvError("step failed: KeyError: 'x'") from error

    guarded.__code__ = guarded.__code__.replace(co_filename=str(ours._ROOT / "envs" / "common" / "sync.py"))
    assert error_of(guarded)._render_traceback_() == ["f", "step", "EnvError: step failed: KeyError: 'x'"]


def test_the_line_that_raised_the_first_error_is_shown_though_it_is_of_the_program(style):
    fails = function(str(ours._ROOT / "envs" / "own.py"), "def f():\n raise KeyError('x')")

    def guarded():
        try:
            fails()
        except KeyError as error:
            raise EnvError("step failed") from error

    guarded.__code__ = guarded.__code__.replace(co_filename=str(ours._ROOT / "envs" / "common" / "sync.py"))
    assert error_of(guarded)._render_traceback_() == ["f", "f", "EnvError: step failed"]


def test_context_managers_are_left_out(style):
    @contextlib.contextmanager
    def opened():
        raise JoystickError("no file")
        yield

    def entered():
        with contextlib.ExitStack() as stack:
            stack.enter_context(opened())

    assert error_of(entered)._render_traceback_() == ["f", "entered", "opened", "JoystickError: no file"]


@pytest.mark.parametrize("version", [None, types.SimpleNamespace(), types.SimpleNamespace(get_ipython=lambda: None)])
def test_without_a_notebook_of_a_known_version_all_is_shown(monkeypatch, version):
    monkeypatch.setitem(sys.modules, "IPython", version)
    lines = error_of(raising(JoystickError("no lr")))._render_traceback_()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1].endswith("JoystickError: no lr")
