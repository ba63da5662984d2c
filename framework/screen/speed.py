"""Speed of a training run, and the time it has left."""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from config.config import GeneralConfig

WINDOW_SECONDS = 30.0
"""Seconds of the past over which speeds are measured."""
LEAST_SECONDS = 1.0
"""Seconds that speeds are measured over before they predict anything: the first steps may take a thousandth of one."""
RECENT = 20
"""Number of the latest episodes whose mean length is assumed for those to come."""


class Counts(Protocol):
    """Amount of training."""

    @property
    def step(self) -> int: ...
    @property
    def episode(self) -> int: ...
    @property
    def update(self) -> int: ...


class Course(Counts, Protocol):
    """Amount of training, and the completed share of the planned run."""

    @property
    def fraction(self) -> float: ...


class _Mark(NamedTuple):
    at: float
    step: int
    update: int
    fraction: float


class Pace:
    """Measures speeds over the last half minute and predicts when the first limit is reached."""

    def __init__(self, cfg: GeneralConfig) -> None:
        self._cfg = cfg
        self._marks: deque[_Mark] = deque()
        self._lengths: deque[int] = deque(maxlen=RECENT)

    def start(self, now: float, count: Course) -> None:
        """Starts to measure, at these counters."""
        self._marks.clear()
        self._marks.append(_Mark(now, count.step, count.update, count.fraction))

    def episodes(self, lengths: Iterable[int]) -> None:
        """Notes the lengths of episodes."""
        self._lengths.extend(lengths)

    def mark(self, now: float, count: Course) -> None:
        """Notes the counters at a moment."""
        self._marks.append(_Mark(now, count.step, count.update, count.fraction))
        while len(self._marks) > 2 and now - self._marks[0].at > WINDOW_SECONDS:
            self._marks.popleft()

    def speeds(self) -> tuple[float, float, float]:
        """Returns environment steps, updates, and the share of the run per second."""
        if not self._marks:
            return 0.0, 0.0, 0.0
        first, last = self._marks[0], self._marks[-1]
        seconds = max(last.at - first.at, 1e-9)
        step, update, share = last.step - first.step, last.update - first.update, last.fraction - first.fraction
        return step / seconds, update / seconds, share / seconds

    def left(self, count: Course, elapsed: float, pause: float = 0.0) -> float | None:
        """Returns the seconds until the first limit is reached; None if they cannot be predicted. Episodes count by
        the steps of the latest ones: their number alone misleads where a better policy plays longer episodes.
        Iterations count by the share of the run, since an iteration may have more steps than it needs. pause: seconds
        of the present round; one that takes longer than all that speeds are measured over tells nothing, such as one
        in which a gradient step is compiled."""
        cfg = self._cfg
        steps, updates, share = self.speeds()
        limits: list[tuple[float, float]] = [(cfg.max_total_step - count.step, steps)] if cfg.max_total_step > 0 else []
        if cfg.max_update > 0:
            limits.append((cfg.max_update - count.update, updates))
        if cfg.max_iteration > 0:
            limits.append((1.0 - count.fraction, share))
        if cfg.max_episode > 0 and self._lengths:
            length = sum(self._lengths) / len(self._lengths)
            limits.append((round((cfg.max_episode - count.episode) * length), steps))
        measured = self._marks[-1].at - self._marks[0].at if self._marks else 0.0
        seconds = [todo / speed for todo, speed in limits if speed > 0 and measured >= max(pause, LEAST_SECONDS)]
        if cfg.max_time > 0:
            seconds.append(cfg.max_time - elapsed)
        return max(0.0, min(seconds)) if seconds else None
