"""Tracebacks as a notebook shows them. The object that IPython writes tracebacks with is a stand-in."""

import contextlib
import sys
import traceback
import types

import pytest

from config.own import lines
from config.program import ROOT
from config.read.loader import ConfigError
from config.tell import traceback as ours
from config.tell.arguments import ArgumentError
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
    inner = function(str(ROOT / "framework" / "loop.py"), "def f():\n call()", call=failing)
    cell = function("cell", "def f():\n inner()", inner=inner)
    with pytest.raises((ConfigError, EnvError, JoystickError, ArgumentError)) as info:
        cell()
    return info.value


def raising(kind):
    def failing():
        raise kind

    return function(str(ROOT / "config" / "read.py"), "def f():\n call()", call=failing)


@pytest.mark.parametrize("kind", [ConfigError, EnvError, JoystickError, DataError, ArgumentError])
def test_lines_of_the_program_are_left_out(style, kind):
    found = error_of(raising(kind("no lr")))
    assert [entry.filename for entry in traceback.extract_tb(found.__traceback__)][1] == "cell"
    # the first line is that which runs the cell; the last one is that of this test
    assert found._render_traceback_() == ["f", "failing", f"{kind.__name__}: no lr"]


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

    guarded.__code__ = guarded.__code__.replace(co_filename=str(ROOT / "envs" / "common" / "sync.py"))
    assert error_of(guarded)._render_traceback_() == ["f", "step", "EnvError: step failed: KeyError: 'x'"]


def test_the_line_that_raised_the_first_error_is_shown_though_it_is_of_the_program(style):
    fails = function(str(ROOT / "envs" / "own.py"), "def f():\n raise KeyError('x')")

    def guarded():
        try:
            fails()
        except KeyError as error:
            raise EnvError("step failed") from error

    guarded.__code__ = guarded.__code__.replace(co_filename=str(ROOT / "envs" / "common" / "sync.py"))
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


OWN = """def f():
    return batch.rewrad
"""


def own_error(folder, code=OWN, **names):
    """Returns the error of a program of ours that calls a function in a file of the user's own."""
    (folder / "own.py").write_text(code)
    theirs = function(str(folder / "own.py"), code, **names)
    inner = function(str(ROOT / "framework" / "loop.py"), "def f():\n call()", call=theirs)
    with pytest.raises(Exception) as info:  # noqa: PT011 - of any kind
        inner()
    tested = info.value.__traceback__.tb_next.tb_next  # without the lines of this test
    return info.value.with_traceback(tested)


def test_the_command_line_shows_the_lines_of_the_user_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = own_error(tmp_path, batch=types.SimpleNamespace(reward=1))
    kind = "AttributeError: 'types.SimpleNamespace' object has no attribute 'rewrad'; did you mean reward?"
    assert ours.told(error) == f'{kind}\n  File "own.py", line 2, in f\n    return batch.rewrad'


def test_a_name_that_there_is_not_is_answered_with_the_nearest(tmp_path):
    error = own_error(tmp_path, "def f():\n    reward = 1\n    return rewrad\n")
    assert ours.told(error).startswith("NameError: name 'rewrad' is not defined; did you mean reward?\n")


def test_a_line_that_python_cannot_read_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text("class Agent\n")
    with pytest.raises(SyntaxError) as info:
        compile("class Agent\n", str(tmp_path / "agent.py"), "exec")
    error = info.value.with_traceback(None)
    assert ours.told(error).endswith('\n  File "agent.py", line 1, in <module>\n    class Agent')


def test_an_error_of_the_program_itself_has_no_lines_of_the_user():
    with pytest.raises(ZeroDivisionError) as info:
        function(str(ROOT / "framework" / "loop.py"), "def f():\n 1 / 0")()
    error = info.value.with_traceback(info.value.__traceback__.tb_next)
    assert ours.told(error) == ""


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("<dynamic-code>", "the program"),  # a class of the main program that was sent to a process
        ("/tmp/ipykernel_12/34.py", "/tmp/ipykernel_12/34.py"),
        (__file__, __file__),
        ("<string>", traceback.__file__),  # no line of the user: the one that raised it
    ],
)
def test_the_last_line_of_the_user_is_named(file, name):
    library = function(traceback.__file__, "def f():\n 1 / 0")
    with pytest.raises(ZeroDivisionError) as caught:
        function(file, "def f():\n\n call()", call=library)()
    error = caught.value.with_traceback(caught.tb.tb_next)  # without the line of this test
    assert lines.last_line(error) == (name, 2 if name == traceback.__file__ else 3)
