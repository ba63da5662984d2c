"""Processes that call a function for this one. They are started once, without the program's main module, so that a
program needs no `if __name__ == "__main__"`."""

import atexit
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import IO, Any

import cloudpickle

from framework.errors import JoystickError

CODE = "import sys; sys.path[:] = {path!r}; from framework.dialog.processes import serve; serve()"
_running: list["Process"] = []
_owner = os.getpid()


class Process:
    """One process, which waits for calls on its standard input, and answers on its standard output."""

    def __init__(self) -> None:
        code = CODE.format(path=[folder or os.getcwd() for folder in sys.path])
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def send(self, message: bytes) -> None:
        """Sends a call; of a process that has ended, `answer` says so."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(message)
            self._process.stdin.flush()

    def answer(self) -> Any:
        """Returns the result of the call. Raises its error."""
        assert self._process.stdout is not None
        try:
            result, error = cloudpickle.load(self._process.stdout)
        except Exception:  # the answer was broken off: whole ones were loaded there already
            status = self._process.wait()
            raise JoystickError(
                "sample: a process has ended with exit status {status} while it played", status=status
            ) from None
        if error is not None:
            raise error
        return result

    def end(self) -> None:
        """Ends the process."""
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        self._process.kill()
        self._process.wait()


def run_in(count: int, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Returns the results of a function for these arguments, each in one of several processes, which go on running."""
    try:
        messages = [cloudpickle.dumps((function, arguments)) for arguments in calls]
    except Exception as error:  # parts of the user's own may refuse with anything
        raise JoystickError(
            "sample: environment or policy cannot be sent to other processes: {error}", error=error
        ) from error
    try:
        processes = _ready(count)
        senders = [threading.Thread(target=p.send, args=(m,)) for p, m in zip(processes, messages, strict=True)]
        for sender in senders:
            sender.start()
        results = [process.answer() for process in processes]
        for sender in senders:
            sender.join()
        return results
    except BaseException:
        end_all()  # an answer may be under way, which the next call would take for its own
        raise


def _ready(count: int) -> list[Process]:
    """Returns this many running processes."""
    global _owner
    if _owner != os.getpid():  # a forked child has copies of its parent's
        _running.clear()
        _owner = os.getpid()
    while len(_running) < count:
        _running.append(Process())
    return _running[:count]


@atexit.register
def end_all() -> None:
    """Ends all processes."""
    while _running:
        process = _running.pop()
        if _owner == os.getpid():
            process.end()


def serve() -> None:
    """Answers calls until the input ends. What the called code prints goes to the standard error."""
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    nothing, end = os.pipe()
    os.close(end)
    os.dup2(nothing, 0)  # code that reads the standard input finds its end
    with contextlib.suppress(KeyboardInterrupt, OSError):  # OSError: the program has ended meanwhile
        while calls.peek(1):
            answers.write(_answered(calls))
            answers.flush()


def _answered(calls: IO[bytes]) -> bytes:
    """Returns result and error of the next call, of which one is None."""
    try:
        function, arguments = cloudpickle.load(calls)
        answer: bytes = cloudpickle.dumps((function(*arguments), None))
    except Exception as error:
        try:
            answer = cloudpickle.dumps((None, error))
            cloudpickle.loads(answer)
        except Exception:
            answer = cloudpickle.dumps((None, JoystickError(f"sample: {type(error).__name__}: {error}")))
    return answer
