"""Classes and functions that a program has registered, on their way to the process of a run. Only the program's own
process sends them, through a pipe: no file holds code."""

import os
import runpy
import sys
from collections.abc import Mapping
from typing import Any

import cloudpickle

from config.own import objects as own
from config.program import ROOT
from framework.errors import JoystickError

RECEIVE = f"""\
import sys
sys.path.insert(0, {str(ROOT)!r})
from framework.jobs import own_objects
own_objects.receive()"""
"""Python code that takes the objects, and goes on as the command whose words follow."""


def packed(objects: Mapping[str, Any]) -> bytes:
    """Returns objects by their names, as bytes. Raises JoystickError if one cannot be sent."""
    try:
        path = [folder or os.getcwd() for folder in sys.path]
        return bytes(cloudpickle.dumps((path, cloudpickle.dumps(dict(objects)))))
    except Exception as error:  # an object may raise anything while it is packed
        names = ", ".join(objects)
        raise JoystickError(
            "{names} cannot be sent to the process of a run: {kind}: {error}; define it without open files, locks "
            "or runs, or in a module",
            names=names,
            kind=type(error).__name__,
            error=error,
        ) from error


def receive() -> None:
    """Registers the objects that standard input holds, and runs the program: sys.argv has its file and its words."""
    path, objects = cloudpickle.load(sys.stdin.buffer)
    sys.path += [folder for folder in path if folder not in sys.path]
    own.provide(cloudpickle.loads(objects))
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
