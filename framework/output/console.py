"""What a person sees of a run while it goes on and when it ends, and logs/log.txt."""

import logging
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

from config.general import GeneralConfig
from framework.checkpoint.atomic import regular
from framework.output import LOGGER, terminal
from framework.output.formatting import clock, listed, resume_command, scored, short, video_command

RECENT = 20
"""Episodes of the running mean."""
PACE_SECONDS = 30.0
"""Speed and time left are those of this much of the past."""


class Counts(Protocol):
    """How much training there has been."""

    @property
    def step(self) -> int: ...
    @property
    def episode(self) -> int: ...
    @property
    def update(self) -> int: ...


@dataclass(frozen=True)
class Outcome:
    """What is left of a training run."""

    task: Path
    reason: str
    """Why it ended."""
    finished: bool
    """False where it can be gone on with."""
    count: Counts
    seconds: float
    score: Mapping[str, float] | None = None
    """mean, std and episodes of the last evaluation."""
    best: float | None = None
    best_update: int | None = None
    random_return: float | None = None
    expected_return: float | None = None
    figure: Path | None = None
    best_model: Path | None = None
    allowed: tuple[str, ...] = ()
    """Packages of the user's own that the commands must allow to import."""


class Console:
    """Fed by the loop with plain values. Costs a look at the clock per round."""

    def __init__(self, log: Path, cfg: GeneralConfig, stream: TextIO | None = None) -> None:
        self.cfg = cfg
        self._screen = terminal.choose(sys.stdout if stream is None else stream)
        self._handlers = (_LogFile(log), _Warnings(self._screen))
        LOGGER.setLevel(logging.INFO)
        LOGGER.propagate = False
        for handler in self._handlers:
            LOGGER.addHandler(handler)
        self._began = self._next = time.monotonic()
        self._earlier = 0.0
        self._pace: deque[tuple[float, float, int, int]] = deque()
        self._returns: deque[float] = deque(maxlen=RECENT)
        self._best = float("-inf")
        self._length = 0
        self._values: Mapping[str, float] = {}
        self._evaluation = ""

    # while it goes on -------------------------------------------------------------------------------------

    def start(self, count: Counts, seconds: float = 0.0) -> None:
        """Training begins, at these counters and after so many seconds of earlier sessions."""
        self._began = time.monotonic()
        self._earlier = seconds
        self._pace.clear()

    def round(self, count: Counts, fraction: float, says: Callable[[], tuple[str, str]] = lambda: ("", "")) -> None:
        """A round is over; fraction is the share of the planned run, 0 for an endless one. says: what the parts of the
        run say of their work."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._screen.interval
        if self.cfg.max_time > 0:
            fraction = max(fraction, min(1.0, (now - self._began + self._earlier) / self.cfg.max_time))
        self._pace.append((now, fraction, count.step, count.update))
        while now - self._pace[0][0] > PACE_SECONDS:
            self._pace.popleft()
        head, counters = self._progress(count, fraction)
        rows = [("trained", counters), ("return", self._recent()), ("evaluation", self._evaluation)]
        rows += [("agent", listed(self._values)), *zip(("processes", "limit"), says(), strict=True)]
        self._screen.draw(fraction or None, head, [row for row in rows if row[1]])

    def episode(self, number: int, total: float, length: int, values: Mapping[str, float]) -> None:
        """An episode has ended; values are what the agent says of its learning and exploring."""
        self._returns.append(total)
        self._best = max(self._best, total)
        self._length, self._values = length, values
        if number % self.cfg.interact_summary_fre == 0:
            LOGGER.info("episode %d: return %s, length %d, %s", number, short(total), length, listed(values))

    def evaluation(self, update: int, mean: float, std: float, episodes: int, best: bool) -> None:
        """The agent has been evaluated."""
        text = f"{scored({'mean': mean, 'std': std, 'episodes': episodes})} at update {update:,}"
        self._evaluation = text
        text = f"evaluation: {text}{', the best so far' if best else ''}"
        LOGGER.info(text)
        if best or isinstance(self._screen, terminal.Plain):
            self._screen.say(text)

    # single lines -----------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Something worth knowing."""
        LOGGER.info(text)
        self._screen.say(text)

    def warn(self, text: str) -> None:
        """Something that went wrong without ending the run."""
        LOGGER.warning(text)

    def log_traceback(self, error: BaseException) -> None:
        """The whole story of an error, into logs/log.txt only."""
        LOGGER.info("".join(traceback.format_exception(error)).rstrip())

    # the end ----------------------------------------------------------------------------------------------

    def summary(self, outcome: Outcome) -> None:
        """How a training run came out, where its things are, and the commands that go on from here."""
        self._screen.close()
        self._table(_summary_rows(outcome))

    def tested(
        self, task: Path, model: Path, score: Mapping[str, float], compared: str | None, video: Path | None
    ) -> None:
        """How a test came out."""
        self._screen.close()
        rows = [("score", scored(score)), ("lowest, highest", f"{short(score['min'])}, {short(score['max'])}")]
        rows += [("compared", compared)] if compared else []
        rows += [("model", str(model)), ("results", str(task))]
        self._table(rows + ([("video", str(video))] if video else []))

    def close(self) -> None:
        """Take the live part away and let go of the log."""
        self._screen.close()
        for handler in self._handlers:
            LOGGER.removeHandler(handler)
            handler.close()

    def _table(self, rows: list[terminal.Row]) -> None:
        width = max(len(label) for label, _ in rows)
        for label, text in rows:
            self.note(f"{label:<{width}}  {text}")

    def _recent(self) -> str:
        if not self._returns:
            return ""
        last, count, mean = self._returns[-1], len(self._returns), sum(self._returns) / len(self._returns)
        return f"{short(last)}, mean of {count}: {short(mean)}, best {short(self._best)}, length {self._length:,}"

    def _progress(self, count: Counts, fraction: float) -> tuple[str, str]:
        """Share and time left; counters with their limits and speeds."""
        then, before, step, update = self._pace[0]
        now = self._pace[-1][0]
        past = max(now - then, 1e-9)
        elapsed = clock(now - self._began + self._earlier)
        head = f"{elapsed} so far"
        if fraction:
            left = (1 - fraction) * past / (fraction - before) if fraction > before else None
            head = f"{fraction:.0%}, {elapsed} so far" + (f", {clock(left)} left" if left is not None else "")
        cfg = self.cfg
        parts = [
            _of("episode", count.episode, cfg.max_episode),
            _of("step", count.step, cfg.max_total_step) + f" ({(count.step - step) / past:,.0f}/s)",
            _of("update", count.update, cfg.max_update) + f" ({(count.update - update) / past:,.0f}/s)",
        ]
        return head, ", ".join(parts)


class _LogFile(logging.FileHandler):
    """logs/log.txt. A full disk costs lines of the log, not the run."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(path, encoding="utf-8", errors="backslashreplace")
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))

    def _open(self) -> Any:
        return open(self.baseFilename, self.mode, encoding=self.encoding, errors=self.errors, opener=regular)

    def handleError(self, record: logging.LogRecord) -> None:
        """Nothing more can be done about it here."""


class _Warnings(logging.Handler):
    """Shows warnings, wherever in the framework they come from."""

    def __init__(self, where: terminal.Screen) -> None:
        super().__init__(logging.WARNING)
        self._where = where

    def emit(self, record: logging.LogRecord) -> None:
        self._where.say(f"warning: {record.getMessage()}")


def _summary_rows(outcome: Outcome) -> list[terminal.Row]:
    count, task = outcome.count, outcome.task
    rows = [("finished" if outcome.finished else "stopped", outcome.reason)]
    if outcome.score is not None:
        rows.append(("score", scored(outcome.score) + _compared(outcome)))
    if outcome.best is not None:
        at = "" if outcome.best_update is None else f" at update {outcome.best_update:,}"
        rows.append(("best", f"{short(outcome.best)}{at}{f'   {outcome.best_model}' if outcome.best_model else ''}"))
    trained = f"{count.episode:,} episodes, {count.step:,} steps, {count.update:,} updates"
    rows.append(("trained", f"{trained} in {clock(outcome.seconds)}"))
    if outcome.figure is not None:
        rows.append(("curve", str(outcome.figure)))
    if not outcome.finished:
        rows.append(("to go on", resume_command(task, outcome.allowed)))
    if outcome.best_model is not None:
        rows.append(("see it play", video_command(task, outcome.allowed)))
    return rows


def _compared(outcome: Outcome) -> str:
    known = [("random policy", outcome.random_return), ("expected", outcome.expected_return)]
    text = ", ".join(f"{name} {short(value)}" for name, value in known if value is not None)
    return f"   ({text})" if text else ""


def _of(name: str, done: int, limit: int) -> str:
    return f"{name} {done:,}" + (f" of {limit:,}" if limit > 0 else "")
