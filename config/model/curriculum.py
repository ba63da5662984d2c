"""Settings of a curriculum: phases of training, each with an environment of another difficulty."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from config.model.fields import Strict, lower
from config.tell.language import tr

CLOCK = ("seconds", "seconds_total")
"""Entries of a result that cannot be the metric of a curriculum: a run that the clock decides cannot be repeated."""


class Phase(Strict):
    """A phase of a curriculum."""

    below: float | None = None
    """Value of the metric at which the next phase begins. Every phase has one, except the last."""
    value: float
    """Argument of the environment's method; an int if it is a whole number."""


class Curriculum(Strict):
    """Phases of training. A new one takes effect at the next episode of each row."""

    metric: Annotated[str, Field(min_length=1)] = "return_mean"
    """Entry of an iteration's result that decides, such as return_mean, length_mean, evaluation, or a metric of the
    algorithm or of callbacks."""
    method: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")] = "set_phase"
    """Method of the environment that gets the value of the phase before each reset."""
    phases: list[Phase] = []
    """Phases in order, each with `value`, and all but the last with `below`. Empty: the phase is 0 until the program
    calls set_phase of joystick.Run."""
    may_go_back: bool = False
    """Return to an earlier phase when the metric falls below its bound again."""
    evaluate_at: Annotated[Literal["last", "now"], BeforeValidator(lower)] = "last"
    """Phase of evaluations: last (of the list) or now (the present one, also without a list)."""

    @property
    def first(self) -> float:
        """Value of the phase that training begins with."""
        return self.phases[0].value if self.phases else 0

    def faults(self) -> Iterator[str]:
        """Yields what is wrong with the phases and the metric."""
        bounds = [phase.below for phase in self.phases]
        for number, bound in enumerate(bounds[:-1], start=1):
            if bound is None:
                count = len(bounds)
                yield tr(
                    "phase {number} of {count} has no `below`; only the last phase has none", number=number, count=count
                )
        if bounds and bounds[-1] is not None:
            yield tr("the last phase has `below`, and no phase follows it")
        limits = [bound for bound in bounds[:-1] if bound is not None]
        for low, high in pairwise(limits):
            if low >= high:
                yield tr("phases are not in order: `below` {low:g} comes before {high:g}", low=low, high=high)
        if len({phase.value for phase in self.phases}) < len(self.phases):
            yield tr("two phases have the same value")
        if self.metric in CLOCK:
            yield tr("metric {metric} depends on the clock, and the run could not be repeated", metric=self.metric)

    def following(self, now: float, measured: float) -> float:
        """Returns the value of the phase that follows from a measurement. Phases may be skipped."""
        values = [phase.value for phase in self.phases]
        reached = next((i for i, phase in enumerate(self.phases) if phase.below is None or measured < phase.below), -1)
        return values[reached if self.may_go_back else max(reached, values.index(now))]
