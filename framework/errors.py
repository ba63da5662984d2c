"""Errors that a user can cause. Each ends in one clear message and exit status 2; the traceback goes to the log."""

import contextlib
import os
from typing import TextIO

MISTAKE = 2
"""Exit status of a run that ended with one of these errors."""


class JoystickError(Exception):
    """Base class; str() is the message."""


class NumericsError(JoystickError):
    """A value stopped being a finite number."""


class CheckpointError(JoystickError):
    """A checkpoint is missing, damaged, or belongs to something else."""


class CallbackError(JoystickError):
    """A callback of the user's own raised an error, or gave a number that it did not declare."""


class DataError(JoystickError, ValueError):
    """A batch or a replay buffer was given something that it cannot take, or asked for something it does not have."""


class Stopped(JoystickError):
    """A signal came before there was anything to save."""


class TaskDirError(JoystickError):
    """A task directory cannot be made, opened or written."""


class RayError(JoystickError):
    """Ray is missing, broken, or cannot be reached, or this machine is too small for its processes."""


def silence(stream: TextIO | None) -> None:
    """Sends what is still written to a stream nowhere, after its reader has closed the pipe. Never fails."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]
        os.close(nowhere)
