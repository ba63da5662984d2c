"""The contract of an observer: it receives the events of training, in the process that drives it, and changes nothing.

The Trainer calls its observers in this order: the console, the log files, the callbacks of the user, the videos, the
log of the machine, and the report that is drawn while it trains.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from algos.base import Progress, Tree
from framework.collect.fragment import Episode
from framework.loop.evaluator import Evaluation
from framework.loop.iteration import Count, Result, Row
from framework.loop.learner import Learned


class Observer:
    """Ignores all events; a subclass overrides those that it wants."""

    KEY: ClassVar[str]
    """Name of its state in checkpoints. It never changes."""
    BRANCHES: ClassVar[bool] = False
    """True if its state goes on in a branch, whose files are new."""

    def recorded(self, kind: str, item: Any) -> None:
        """Receives a record of a fragment that was accepted, before the episodes that ended in it."""

    def episodes(self, episodes: Sequence[Episode], rows: Sequence[Row]) -> None:
        """Receives the episodes that ended in a fragment, one or more, and their rows in train.csv."""

    def updates(self, learned: Learned, first: int) -> None:
        """Receives the metrics of updates first .. first + learned.updates - 1."""

    def evaluation(self, evaluation: Evaluation, count: Count, best: bool) -> None:
        """Receives an evaluation. best: its model becomes models/best."""

    def checkpoint(self, path: Path, count: Count) -> None:
        """Receives the folder of a checkpoint that was saved."""

    def result(self, result: Result) -> None:
        """Receives the result of an iteration."""

    def sync(self) -> None:
        """Training has ended: what it has recorded is on the disk when this returns."""

    def settled(self) -> None:
        """A round is complete, and its state could be saved."""

    def state(self) -> Tree:
        """Returns what it keeps in checkpoints."""
        return {}

    def load_state(self, state: Tree) -> None:
        """Restores `state`."""


class Narrator(Observer):
    """An observer that also tells a person what the Trainer does: the console."""

    def note(self, text: str) -> None:
        """Tells of something that is as it should be."""

    def warn(self, text: str) -> None:
        """Tells of something that the user may want to change."""

    def round(self, count: Progress, load: Callable[[], tuple[str, str]] = lambda: ("", "")) -> None:
        """Receives how far training is after a round. load: returns how busy processes are, and what limits the
        speed."""
