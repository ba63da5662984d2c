"""Pipe through which a run tells its facts to the process that keeps it alive (framework/jobs/supervisor.py)."""

import contextlib
import json
import os
from typing import Any

VARIABLE = "JOYSTICK_SUPERVISOR"
"""Environment variable with the descriptor of the pipe."""
FOLDER, MACHINE = "folder", "machine"
"""Facts: the folder of the run, or of the group of runs; an error that the machine is to blame for."""
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


def tell_machine(error: str) -> None:
    """Says that the run ends by an error of the machine, with which another attempt may not meet."""
    _tell({MACHINE: error})


def _tell(facts: dict[str, Any]) -> None:
    if _pipe is not None:
        with contextlib.suppress(OSError):  # the supervisor was killed; the run goes on without it
            os.write(_pipe, json.dumps(facts).encode() + b"\n")
