"""Save points: when a run is evaluated and saved, which checkpoints are kept, and which model is the best."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from algos.base import Tree
from config.config import GeneralConfig
from framework.disk.atomic import remove_folder
from framework.disk.checkpoints import CheckpointStore, Saved
from framework.log import LOGGER
from framework.loop.evaluator import Evaluation
from framework.loop.iteration import Count, Score
from framework.memory import Memory

STATE = ("best", "best_update", "evaluated", "reached", "saved", "point")
"""Attributes that a checkpoint contains."""
TIMED = "timed"
"""Fact in a checkpoint that was written because save_minutes were over: a resume after a kill deletes it, too."""


class SavePoints:
    """The checkpoints of a run, and the evaluations that they were saved with."""

    def __init__(self, cfg: GeneralConfig, store: CheckpointStore) -> None:
        self.cfg, self.store = cfg, store
        self.best: float | None = None
        """Highest mean return of the evaluations so far whose models are saved."""
        self.best_update: int | None = None
        self._better: Score | None = None
        """Score of the newest model that is the best; it counts once the model is saved."""
        self.evaluated: int | None = None
        """Update of the last evaluation."""
        self.reached = 0
        """Number of consecutive evaluations at or above reward_threshold."""
        self.saved = 0
        """Updates (or steps or iterations, see model_save_unit) at the last save point."""
        self.point: int | None = None
        """Update of the last save point, as opposed to a save at the end of the run or of a session."""
        self.last: tuple[Count, int] | None = None
        """Amount of training and number of the running iteration at the last save."""
        self.unsaved = False
        """True while a save is not complete, and after one that failed."""
        self._kept: int | None = None
        """Update of the checkpoint that models/best is."""
        self._interim: int | None = None
        """Newest checkpoint that is no save point: this session resumed from it, a signal has asked for it, or
        save_minutes were over."""
        self._timed = False
        """True if that checkpoint was written since save_minutes were over."""
        self._saved_at = time.monotonic()
        """Time at which the last save began."""

    @property
    def score(self) -> Score:
        """Score of the best model."""
        return Score(self.best, self.best_update)

    def due(self, done: int) -> bool:
        """Returns True if a multiple of model_save_fre was passed since the last save point. done: what model_save_unit
        counts."""
        return done // self.cfg.model_save_fre > self.saved // self.cfg.model_save_fre

    def overdue(self) -> bool:
        """Returns True if save_minutes are over since the last save."""
        return 0 < 60 * self.cfg.save_minutes <= time.monotonic() - self._saved_at

    def begin(self, done: int, update: int, evaluation: Evaluation | None) -> bool:
        """Notes a save point and its evaluation. Returns True if the model is the best so far."""
        self.saved, self.point = done, update
        if self._interim == update:  # an interruption has saved it before
            self._interim = None
        if evaluation is None:
            return False
        if (least := self.cfg.reward_threshold) is not None:
            self.reached = self.reached + 1 if evaluation.mean >= least else 0
        self.evaluated = update
        best = self.best is None or evaluation.mean >= self.best
        if best:
            self._better = Score(evaluation.mean, update)
        return best

    def write(
        self, place: tuple[Count, int], state: Callable[[], Tree], memory: Memory, facts: Mapping[str, Any]
    ) -> Path:
        """Writes a checkpoint, and returns its folder. Raises OSError if that fails; the earlier ones stay."""
        number = place[0].update
        began = self._saved_at = time.monotonic()
        facts = {**facts, **place[0]._asdict(), "save_point": self.point == number}
        before = self.score
        if self._better is not None and self._better.update == number:
            self.best, self.best_update = self._better
        try:
            path = self.store.save(number, state(), memory, facts)
        except OSError:
            self.best, self.best_update = before
            raise
        size = sum(file.stat().st_size for file in path.iterdir())
        LOGGER.debug("checkpoint %s: %d bytes in %.3f s", path.name, size, time.monotonic() - began)
        self._keep_best()
        self.unsaved, self.last = False, place
        self._prune(number)
        return path

    def _keep_best(self) -> None:
        """Makes models/best the best checkpoint. What fails, on a full disk, is made up for by the next save."""
        number = self.best_update
        if self.cfg.save_best_model and number not in (None, self._kept) and self.store.has(number):
            self.store.mark_best(number)
            self._kept = number

    def timed(self, number: int) -> bool:
        """Returns True if a checkpoint was written because save_minutes were over, and nobody has asked for it."""
        return self._timed and self._interim == number

    def note_interim(self, number: int, timed: bool) -> None:
        """Notes that a checkpoint was written between save points, so that the next save deletes it: one that somebody
        asked for only where the number of checkpoints is bounded. timed: it was written because save_minutes were
        over."""
        if self.point != number and not self.unsaved:
            self._interim, self._timed = number, timed

    def _prune(self, number: int) -> None:
        """Deletes checkpoints beyond keep_checkpoints, first the one that an interruption added: a run that was
        interrupted keeps the same ones as a run that was not."""
        if (self._timed or self.cfg.keep_checkpoints > 0) and self._interim not in (None, number):
            remove_folder(self.store.folder / str(self._interim))
            self._interim = None
        self.store.prune(self.cfg.keep_checkpoints)

    def state(self) -> Tree:
        """Returns what a checkpoint contains of it."""
        return {**{name: getattr(self, name) for name in STATE}, "threshold": self.cfg.reward_threshold}

    def load_state(self, saved: Saved, place: tuple[Count, int], branch: bool) -> None:
        """Restores the state in a checkpoint. branch: the run continues in another directory."""
        for name in STATE:
            setattr(self, name, saved.tree.get(name))
        if saved.tree.get("threshold", self.cfg.reward_threshold) != self.cfg.reward_threshold:
            self.reached = 0  # those evaluations were compared with another one
        self.last = place
        if branch:
            self.best = self.best_update = None  # a model of the other folder, which this one does not have
        else:
            if not saved.facts.get("save_point", True):
                self._interim, self._timed = place[0].update, bool(saved.facts.get(TIMED))
            self.store.realign_best(self.best_update)
            self._kept = self.best_update
