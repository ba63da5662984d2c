"""What Ray's errors mean: what the code of a process raised, and what was lost with another process."""

import re
import time
from collections.abc import Callable
from typing import Any

from framework.backend import Lost
from framework.errors import JoystickError, Stopped

POLL_SECONDS = 0.2
"""Between two looks at whether the run was asked to stop."""
START_SECONDS = 120.0
"""That processes have to begin: in a cluster they may have to wait for room."""
LONGEST_REASON = 400
OURS = ("framework", "envs", "config")
"""Packages whose errors are written for a person: they need no type before them."""


def reason(error: Exception) -> str:
    """Why an actor failed: type and first line of what it raised itself, without Ray's traceback."""
    if type(error).__name__ == "ActorUnavailableError":
        return "its node or its process cannot be reached"
    text = str(error)
    if type(error).__name__ == "ActorDiedError":
        if error.actor_init_failed:  # type: ignore[attr-defined]
            return _last_raised(text)
        node = "node has died" in text or "node was" in text
        return "its node is gone" if node else "its process is gone: killed, out of memory, or crashed"
    cause = getattr(error, "cause", None)
    if cause is None:
        return _first_line(text) or type(error).__name__
    return _said(type(cause).__module__, type(cause).__name__, _first_line(str(cause)))


def _last_raised(traceback: str) -> str:
    """The error at the end of a traceback: of one whose message has many lines, the first."""
    story = traceback.splitlines()
    places = [number for number, line in enumerate(story) if line.startswith('  File "')]
    lines = [line for line in story[places[-1] :] if line[:1].strip()] if places else []
    if not lines:
        return _first_line(traceback)
    kind, _, text = lines[0].partition(": ")
    module, _, name = kind.rpartition(".")
    return _said(module, name, text.strip())


def _said(module: str, name: str, text: str) -> str:
    whole = text if text and module.split(".")[0] in OURS else f"{name}: {text}" if text else name
    return whole[:LONGEST_REASON]


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:LONGEST_REASON]


def who_died(error: Exception) -> str:
    """The part of a run whose actor this error is about."""
    found = re.search(r"class_name: (\w+)", str(error))
    names = {"DataServer": "the data server", "LearnerActor": "a learner", "Worker": "a worker"}
    return names.get(found[1] if found else "", "a learner or the data server")


def raised(kinds: Any, error: Exception) -> Any:
    """What the code of a process raised. Lost where it is Ray's: something that the process was given, or has made, is
    gone with another process or with a node."""
    cause = getattr(error, "cause", error)
    if isinstance(cause, kinds.RayActorError):
        raise Lost(f"{who_died(cause)} died ({reason(cause)})") from None
    # RayError itself stands for an error that cannot be pickled
    if isinstance(cause, kinds.RayError) and type(cause) is not kinds.RayError:
        raise Lost(f"what a process has made is lost ({type(cause).__name__})") from None
    return cause


def begun(ray: Any, refs: Any, who: str, stopping: Callable[[], bool]) -> Any:
    """ray.get of what new processes say first. One that died although nothing is wrong with its code is Lost."""
    pending, until = refs if isinstance(refs, list) else [refs], time.monotonic() + START_SECONDS
    while pending := ray.wait(pending, num_returns=len(pending), timeout=POLL_SECONDS)[1]:
        if stopping():
            raise Stopped(f"stopped before {who} stood")
        if time.monotonic() > until:
            raise JoystickError(f"{who} has not begun after {START_SECONDS:g} s: is there room for it?")
    try:
        return ray.get(refs)
    except Exception as error:
        died, why = isinstance(error, ray.exceptions.RayActorError) and not error.actor_init_failed, reason(error)
        if why.startswith("ModuleNotFoundError"):
            why += "; a package of your own must be installed on every machine of a cluster"
        raise (Lost if died else JoystickError)(f"{who} cannot begin: {why}") from None
