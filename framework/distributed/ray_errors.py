"""Interprets errors of Ray: what the code of a process raised, and what was lost with another process."""

import copy
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from config.own.lines import is_own
from config.tell.language import UserError, tr
from framework.errors import JoystickError, RayUnavailable, Stopped
from framework.loop.backend import Lost
from framework.screen.stages import part, stage

POLL_SECONDS = 0.2
"""Seconds between two checks for a stop signal."""
START_SECONDS = 120.0
"""Seconds that processes have to start. In a cluster they may have to wait for resources."""
LONGEST_REASON = 400
"""Largest number of characters of a cause."""
NEEDED = ("raylet", "gcs_server")
"""Processes of Ray without which its driver ends."""
_LINE = re.compile(r'^ *File "(.+)", line (\d+), in ', re.MULTILINE)
"""Line of code in the text of a traceback."""
OURS = ("framework", "envs", "config")
"""Packages whose error messages are complete without the type of the error."""


def reason(error: Exception) -> str:
    """Returns the cause of an actor's failure in one line, without the traceback that Ray sends along."""
    kind, cause, text = type(error).__name__, getattr(error, "cause", None), str(error).strip()
    if kind == "ActorUnavailableError":
        return tr("its node or its process cannot be reached")
    if kind == "ActorDiedError" and not getattr(error, "actor_init_failed", False):
        lost = "node has died" in text or "node was" in text
        return tr("its node is gone") if lost else tr("its process is gone: killed, out of memory, or crashed")
    if cause is not None:
        return _named(f"{type(cause).__module__}.{type(cause).__name__}", str(cause)) + _place(text, cause)
    if kind == "ActorDiedError":  # only the text of the traceback is left of an error of its constructor
        return _named(*_last_raised(text.splitlines()).partition(": ")[::2])
    return text.split("\n")[0][:LONGEST_REASON] or kind


def _place(text: str, cause: BaseException) -> str:
    """Returns the end of a sentence: the last line of the user's own that an error has passed, by the text of its
    traceback; empty if there is none, or if the error says itself what it is."""
    own = [line for line in _LINE.findall(text) if is_own(line[0])]
    return f" at {Path(own[-1][0]).name}:{own[-1][1]}" if own and not isinstance(cause, UserError) else ""


def _last_raised(traceback: list[str]) -> str:
    """Returns the line that names the last error of a traceback; its message may have more lines, as CUDA's have."""
    at = max((number for number, line in enumerate(traceback) if line.startswith('  File "')), default=-1)
    return next((line for line in traceback[at + 1 :] if line[:1].strip()), "")


def _named(kind: str, message: str) -> str:
    """Returns the first line of an error's message, after its type unless it is an error of ours."""
    first = message.strip().split("\n")[0][:LONGEST_REASON]
    ours = first and kind.split(".")[0] in OURS
    return first if ours else ": ".join(filter(None, [kind.rpartition(".")[2], first]))


def who_died(error: Exception) -> str:
    """Returns the part of the run whose actor died."""
    match = re.search(r"class_name: (\w+)", str(error))
    names = {"DataServer": tr("the data server"), "LearnerActor": tr("a learner"), "Worker": tr("a worker")}
    return names.get(match[1] if match else "", tr("a learner or the data server"))


def ended_part() -> str | None:
    """Returns the name of a process that our own Ray cannot be without, and that has ended; None if there is none, as
    in a cluster, whose nodes belong to it."""
    worker: Any = sys.modules.get("ray._private.worker")
    node: Any = getattr(worker, "_global_node", None)
    if not hasattr(node, "dead_processes"):
        return None
    return next((name for name, _ in node.dead_processes() if name in NEEDED), None)


def must_run() -> None:
    """Raises Lost if a process of our own Ray has ended: Ray would end this process, too, some seconds later or as soon
    as it reads from the store of objects."""
    if (name := ended_part()) is not None:
        raise Lost("Ray's own process {name} has ended: killed, out of memory, or crashed", name=name)


def answers(ray: Any, refs: Any) -> Any:
    """Returns a copy of what the references stand for. Raises Lost if our own Ray ends meanwhile: an answer may never
    come then. Ray ends a process that reads from its store of objects, or gives memory back to it, once its raylet is
    gone: so this looks at the raylet right before it reads, and what it returns does not lie in the store."""
    waiting = refs if isinstance(refs, list) else [refs]
    while True:
        done, left = ray.wait(waiting, num_returns=len(waiting), timeout=POLL_SECONDS, fetch_local=False)
        must_run()
        if not left:
            return copy.deepcopy(ray.get(refs))
        ray.get(done)  # raises if one of them has died: the others may wait for it


def raised(kinds: Any, error: Exception) -> Any:
    """Returns the error that the code of a process raised. Raises Lost if the error is Ray's own: an argument or result
    was lost with another process or with a node."""
    cause = getattr(error, "cause", error)
    if isinstance(cause, kinds.RayActorError):
        raise Lost("{who} died ({reason})", who=who_died(cause), reason=reason(cause)) from None
    # RayError itself stands for an error that cannot be pickled
    if isinstance(cause, kinds.RayError) and type(cause) is not kinds.RayError:
        raise Lost("what a process has made is lost ({kind})", kind=type(cause).__name__) from None
    return cause


def begun(ray: Any, refs: Any, who: str, stopping: Callable[[], bool]) -> Any:
    """Returns the first answers of new processes. Raises Lost if a process died without an error of its code."""
    pending, until = refs if isinstance(refs, list) else [refs], time.monotonic() + START_SECONDS
    total = len(pending)
    with stage(tr("waiting for {who}", who=who), lambda: part(total - len(pending), total, tr("started"))):
        while pending := ray.wait(pending, num_returns=len(pending), timeout=POLL_SECONDS)[1]:
            must_run()
            if stopping():
                raise Stopped("stopped before {who} had started", who=who)
            if time.monotonic() > until:
                raise RayUnavailable(
                    "{who} has not started after {seconds:g} s: does the cluster have room for it?",
                    who=who,
                    seconds=START_SECONDS,
                )
    must_run()
    try:
        return ray.get(refs)
    except Exception as error:
        died, why = isinstance(error, ray.exceptions.RayActorError) and not error.actor_init_failed, reason(error)
        if why.startswith("ModuleNotFoundError"):
            why = tr("{reason}; a package of your own must be installed on every machine of a cluster", reason=why)
        raise (Lost if died else JoystickError)(tr("{who} cannot start: {why}", who=who, why=why)) from None
