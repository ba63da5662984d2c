"""Pipe through which a run tells its facts to the process that has started it: the one that keeps it alive
(framework/jobs/supervisor.py), or a job (framework/jobs/children.py)."""

import contextlib
import json
import os
from typing import Any

VARIABLE = "JOYSTICK_SUPERVISOR"
"""Environment variable with the descriptor of the pipe."""
FOLDER, MACHINE, PASSES = "folder", "machine", "passes"
"""Facts: the folder of the run, or of the group of runs; an error that the machine is to blame for; true if the same
settings need not meet it again."""
MOST_BYTES = 2**16
"""Bytes that are read at once; a run tells less."""
_pipe: int | None = None


def connect() -> None:
    """Takes the pipe, which no process that this one starts shall have."""
    global _pipe
    number = os.environ.pop(VARIABLE, None)
    if number is not None:
        _pipe = int(number)
        os.set_inheritable(_pipe, False)


def connected() -> bool:
    """Returns True if this process has a supervisor."""
    return _pipe is not None


def tell_folder(folder: os.PathLike[str]) -> None:
    """Says where the run is."""
    _tell({FOLDER: os.fspath(folder)})


def tell_machine(error: str, passes: bool = False) -> None:
    """Says that the run ends by an error of the machine, with which another attempt may not meet. passes: True if the
    settings of the run have no part in it."""
    _tell({MACHINE: error, PASSES: passes})


def _tell(facts: dict[str, Any]) -> None:
    if _pipe is not None:
        with contextlib.suppress(OSError):  # the supervisor was killed; the run goes on without it
            os.write(_pipe, json.dumps(facts).encode() + b"\n")


class Listener:
    """Both ends of the pipe. The run inherits the end `theirs`, and is heard when it has ended."""

    def __init__(self) -> None:
        self._ours, self.theirs = os.pipe()
        if hasattr(os, "set_blocking"):  # processes that the run has started may keep their copy of its end open
            os.set_blocking(self._ours, False)

    def begun(self) -> None:
        """Leaves the end of the run to the run alone."""
        os.close(self.theirs)

    def facts(self) -> dict[str, Any]:
        """Returns what the run has told, and closes the pipe."""
        with open(self._ours, "rb", buffering=0) as pipe:
            return facts_of(pipe.read(MOST_BYTES) or b"")


def facts_of(told: bytes) -> dict[str, Any]:
    """Returns the facts in what was read from the pipe."""
    facts: dict[str, Any] = {}
    for line in told.splitlines():
        with contextlib.suppress(ValueError):
            facts |= json.loads(line)
    return facts
