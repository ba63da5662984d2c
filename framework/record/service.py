"""Base of the loggers of tracking services: an import that may fail, and points that a resume does not double.

A service gets each point at once, and a checkpoint counts the points of each curve. A run that goes on from a
checkpoint cuts the service's own files back to these counts, and sends again what a killed service had not written.
Where the points are on a server that cannot forget them, `<name>.json` in logs/ has the last step that was sent, and
points up to there are not sent again."""

import json
import os
import re
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from algos.base import Tree
from config.read.opening import read_regular, regular
from framework.errors import optional
from framework.record.loggers import Logger

PROJECT = "joystick"
"""Name of the project or experiment that runs belong to."""
MOST_BYTES = 4096
"""Size of the largest file of sent steps that is read."""
WRITTEN_SECONDS = 5.0
"""Time after which a service has written a point to its own files, even if it is killed then."""
MOST_NEWEST = 500
"""Number of points that a checkpoint keeps because they may not be written yet."""
NAME = re.compile(r"\w[\w.-]{0,199}")
"""Names of runs that are read from a checkpoint."""
Counts = Mapping[str, int]
"""Curve, such as interact/train_ep_reward -> number of its points."""


class Beyond:
    """Tells which points of a service a checkpoint does not have, in the order in which they were written."""

    def __init__(self, counts: Counts) -> None:
        self._left = Counter(counts)
        """Curve -> number of points of the checkpoint that have not come yet; below 0 for those beyond it."""

    def __call__(self, curve: str) -> bool:
        """Returns True for a point of this curve that came after the checkpoint."""
        self._left[curve] -= 1
        return self._left[curve] < 0

    def lost(self, newest: Sequence[Any]) -> Iterator[tuple[str, dict[str, float], int]]:
        """Yields the points of a checkpoint that did not come: the service had not written them when it was killed.
        newest: last points that were sent before the checkpoint, each as group, values by curve, and step."""
        points = []
        for group, values, step in reversed(newest):
            mine = {curve: value for curve, value in values.items() if self._left[curve] > 0}
            self._left.subtract(mine.keys())
            points.append((str(group), mine, int(step)))
        yield from (point for point in reversed(points) if point[1])


class Service(Logger, ABC):
    """A run of a tracking service. A subclass begins it, goes on with it, and sends points."""

    NAME: ClassVar[str]
    """Name of the service, and of its package."""
    VARIABLES: ClassVar[Mapping[str, str]] = {}
    """Variables that the user may set otherwise."""

    def __init__(self) -> None:
        for name, value in self.VARIABLES.items():
            os.environ.setdefault(name, value)
        self._package = optional(self.NAME, self.NAME)
        self._run: Any = None
        """The run, as the package has it."""
        self.id = ""
        """Name of the run for the service, the same after a resume."""
        self._counts: Counter[str] = Counter()
        self._newest: deque[tuple[float, Any]] = deque(maxlen=MOST_NEWEST)
        """Points that the service may not have written yet, each with the time when it got them."""
        self._sent: dict[str, int] = {}
        """Group -> last step that a server has, of a run that went on."""
        self._last: dict[str, int] = {}
        """Group -> last step that was sent to a server."""
        self._mark: Any = None
        """File of these steps, while points go to a server."""

    # a subclass has these ---------------------------------------------------------------------------------

    @abstractmethod
    def _begin(self, folder: Path, config: Mapping[str, Any], goes_on: bool) -> None:
        """Begins a run, and sets `id`; goes_on: True to go on with the run of that id."""

    @abstractmethod
    def _is_local(self) -> bool:
        """Returns True if points are written to files of this machine, which `_cut` can cut back."""

    @abstractmethod
    def _cut(self, folder: Path, beyond: Beyond) -> None:
        """Removes the points of the run that are beyond the checkpoint."""

    @abstractmethod
    def _send(self, group: str, values: Mapping[str, float], step: int) -> None:
        """Sends points; values: by curve."""

    # ------------------------------------------------------------------------------------------------------

    def start(self, folder: Path, config: Mapping[str, Any], state: Tree) -> None:
        counts = state.get("counts") if isinstance(state, dict) else None
        self.id, self._counts = _name(state.get("id")) if counts is not None else "", Counter(_numbers(counts))
        beyond = Beyond(self._counts)
        if local := self._is_local():
            if self.id:
                self._cut(folder, beyond)
        else:
            self._open_mark(folder / "logs" / f"{self.NAME}.json")
        goes_on = bool(self.id)
        self._begin(folder, config, goes_on)
        if not local:
            self._write_mark()
        elif goes_on:
            for point in beyond.lost(state.get("newest", ()) if isinstance(state, dict) else ()):
                self._send(*point)

    def scalars(self, group: str, values: Mapping[str, float], step: int) -> None:
        named = {f"{group}/{name}": value for name, value in values.items()}
        self._counts.update(named.keys())
        if step <= self._sent.get(group, -1):
            return
        if self._mark is not None:  # before they are sent: a point may be missing after a crash, and none is twice
            self._last[group] = step
            self._write_mark()
        else:
            self._newest.append((time.monotonic(), [group, named, step]))
        self._send(group, named, step)

    def close(self) -> None:
        if self._mark is not None:
            self._mark.close()
            self._mark = None
        run, self._run = self._run, None
        if run is not None:
            self._finish(run)

    def _finish(self, run: Any) -> None:
        """Ends the run for the package."""
        run.finish()

    def state(self) -> Tree:
        now = time.monotonic()
        newest = [point for sent, point in self._newest if now - sent < WRITTEN_SECONDS]
        return {"id": self.id, "counts": dict(self._counts), "newest": newest}

    def _open_mark(self, path: Path) -> None:
        """Reads which steps the server has of this run, and opens the file to note further ones."""
        try:
            mark = json.loads(read_regular(path, MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            mark = {}
        same = isinstance(mark, dict) and self.id and mark.get("id") == self.id
        self._sent = _numbers(mark.get("steps")) if same else {}
        self._last = dict(self._sent)
        self._mark = open(path, "w+b", buffering=0, opener=regular)  # noqa: SIM115  # open while the run lasts

    def _write_mark(self) -> None:
        text = json.dumps({"id": self.id, "steps": self._last}).encode()
        self._mark.seek(0)
        self._mark.write(text)
        self._mark.truncate()


def _name(value: Any) -> str:
    """Returns the name of a run as a checkpoint has it; empty if it could lead out of a folder."""
    return value if isinstance(value, str) and NAME.fullmatch(value) else ""


def _numbers(values: Any) -> dict[str, int]:
    """Returns whole numbers by their names; a checkpoint may come from a stranger."""
    pairs = values.items() if isinstance(values, dict) else ()
    return {str(name): value for name, value in pairs if type(value) is int}
