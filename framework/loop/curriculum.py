"""The present phase of a curriculum, and the phase of evaluations."""

from collections.abc import Sequence

import numpy as np

from config.model.curriculum import Curriculum
from config.model.fields import is_number, whole
from config.tell.names import did_you_mean
from framework.errors import CheckpointError, JoystickError
from framework.loop.iteration import Result, measured


class Phases:
    """The phase that new training episodes get. Without a curriculum there are none."""

    def __init__(self, cfg: Curriculum | None, metrics: Sequence[str] | None = None) -> None:
        """metrics: entries of a result that may decide; None: not checked. Raises JoystickError for another metric."""
        self.cfg = cfg
        self.now: float = whole(cfg.first) if cfg else 0
        if cfg and cfg.phases and metrics is not None and cfg.metric not in metrics:
            raise JoystickError(
                "general_cfg.curriculum.metric: a result has no {metric!r}{nearest}; known: {metrics}",
                metric=cfg.metric,
                nearest=did_you_mean(cfg.metric, metrics),
                metrics=", ".join(metrics),
            )

    @property
    def shown(self) -> float | None:
        """The present phase; None without a curriculum."""
        return self.now if self.cfg else None

    def evaluation(self) -> float | None:
        """Returns the phase of evaluations; None without a curriculum."""
        if self.cfg and self.cfg.phases and self.cfg.evaluate_at == "last":
            return whole(self.cfg.phases[-1].value)
        return self.shown

    def follow(self, result: Result) -> bool:
        """Moves to the phase that follows from the result of an iteration. Returns True if it is another one. A metric
        that was not measured changes nothing."""
        if self.cfg is None or not self.cfg.phases:
            return False
        metric = {**result, **measured(result)}.get(self.cfg.metric)
        before = self.now
        if metric is not None:
            self.now = whole(self.cfg.following(before, metric))
        return self.now != before

    def set(self, value: float) -> bool:
        """Moves to a phase that the program chooses. Returns True if it is another one."""
        if self.cfg is None:
            raise JoystickError(
                "set_phase: this run has no curriculum; give general_cfg.curriculum: {method: "
                "set_phase}, the method of the environment"
            )
        if self.cfg.phases:
            raise JoystickError("set_phase: general_cfg.curriculum.phases decides on the phase; leave the list out")
        value = value.item() if isinstance(value, np.generic) else value
        if not is_number(value):
            raise JoystickError("set_phase({value!r}): a phase is a finite number", value=value)
        before, self.now = self.now, whole(value)
        return self.now != before

    def load(self, value: float | None) -> None:
        """Restores the phase of a checkpoint; None if it has none."""
        if self.cfg is None or value is None:
            return
        if self.cfg.phases and value not in [phase.value for phase in self.cfg.phases]:
            raise CheckpointError(
                "the checkpoint is in phase {value:g}, which general_cfg.curriculum.phases does not list", value=value
            )
        self.now = value
