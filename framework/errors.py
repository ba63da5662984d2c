"""Errors that a user can cause. Each ends in one clear message and exit status 2; the traceback goes to the log."""

import contextlib
import errno
import os
import re
from importlib import import_module
from typing import Any, TextIO

from config.machine import NO_MEMORY
from config.own.extras import install
from config.tell.language import UserError, tr
from config.tell.traceback import concise

ERROR = tr("error: ")
"""Beginning of the message of one of these errors on stderr, by which a job finds it there."""
MISTAKE = 2
"""Exit status of a run that ended with one of these errors."""


class JoystickError(UserError):
    """Base class; str() is the message."""

    _render_traceback_ = concise
    of_machine = False
    """True if the machine or the cluster is to blame, so that the same run may go on later."""


class NumericsError(JoystickError):
    """A value stopped being a finite number."""


class CheckpointError(JoystickError):
    """A checkpoint is missing, damaged, or belongs to something else."""


class CallbackError(JoystickError):
    """A callback of the user's own raised an error, or gave a number that it did not declare."""


class CallbackInterrupt(CallbackError, KeyboardInterrupt):
    """A callback of the user's own was ended by KeyboardInterrupt: its own, or a second Ctrl-C meanwhile. A program
    that expects one gets it, and the run is saved as after any other end of a callback."""


class DataError(JoystickError, ValueError):
    """A batch or a replay buffer was given something that it cannot take, or asked for something it does not have."""


class CtrlC(KeyboardInterrupt):
    """Ctrl-C in a call of a program, after the work has come to a whole end. Its text says what is left."""

    def _render_traceback_(self) -> list[str]:
        """Returns the lines that a notebook shows in place of a traceback."""
        return [f"Interrupted: {self}"]


class Interrupted(Exception):
    """The run was asked to stop during an evaluation or at the end of a run."""


class Stopped(JoystickError):
    """A signal came while there was nothing to save, or nobody left to save it."""


class TaskDirError(JoystickError):
    """A task directory cannot be made, opened or written."""


class RayError(JoystickError):
    """Ray is missing, broken, or cannot be reached, or this machine is too small for its processes."""


class RayUnavailable(JoystickError):
    """Ray does not start, or does not answer, or has no room at the moment."""

    of_machine = True


def without_memory(error: BaseException) -> str | None:
    """Returns what to say of an error for which a lack of memory is to blame; None for another error."""
    reason = next(iter(str(error).splitlines()), "") or type(error).__name__
    if not isinstance(error, MemoryError) and not NO_MEMORY.search(reason):
        return None
    return tr(
        "no memory is left: {reason}. Free some, raise the limit of this process (ulimit -v), or use "
        "a smaller n_envs, buffer_size or batch_size",
        reason=reason.rstrip("."),
    )


_PASSING = ("ENOSPC EDQUOT EIO ESTALE EREMOTEIO EROFS ENODEV ENXIO ENOMEM EMFILE ENFILE EAGAIN ETIMEDOUT ECONNREFUSED "
            "ECONNRESET ECONNABORTED ENOTCONN ENETDOWN ENETUNREACH EHOSTDOWN EHOSTUNREACH")  # fmt: skip
"""Errors of the system that no setting and no code is to blame for: a disk, a file server, a network."""
_DEVICE = re.compile(r"CUDA (driver )?error|CUDNN_STATUS|CUBLAS_STATUS|NCCL|HIP error|Gloo|device-side", re.IGNORECASE)
"""Phrases of torch and its libraries for a GPU, or a connection between processes, that has failed."""


def passes(error: BaseException) -> bool:
    """Returns True for an error of the system that the same settings need not meet again, such as a full disk. A lack
    of memory is none: other settings may need less."""
    cause = error.__cause__ if isinstance(error, JoystickError) else error
    if not isinstance(cause, OSError) or without_memory(cause) is not None:
        return False
    return errno.errorcode.get(cause.errno or 0) in _PASSING.split()


def of_machine(error: BaseException) -> bool:
    """Returns True if the machine is to blame for an error that ends a run, rather than its settings or its code."""
    if passes(error):
        return True
    if isinstance(error, JoystickError):
        return error.of_machine
    if isinstance(error.__cause__, EOFError | ConnectionError):  # a process of an environment was killed
        return True
    if isinstance(error, OSError | MemoryError | RuntimeError | ImportError) and without_memory(error) is not None:
        return True
    return isinstance(error, RuntimeError) and _DEVICE.search(str(error)) is not None


def optional(module: str, user: str, kind: type[JoystickError] = JoystickError) -> Any:
    """Returns a module of a package that may be missing. Raises an error with what to install if it is. user: what
    needs it."""
    try:
        return import_module(module)
    except ImportError as error:
        why = tr("{name} needs a package that is not installed here: {install}", name=user, install=install(module))
        raise kind(why) from error


def silence(stream: TextIO | None) -> None:
    """Sends what is still written to a stream nowhere, after its reader has closed the pipe. Never fails."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]
        os.close(nowhere)
