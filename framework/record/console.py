"""Console output of a run, live and at its end, and logs/log.txt."""

import contextlib
import logging
import os
import re
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from algos.base import Progress, Tree
from config.config import GeneralConfig
from config.read.opening import regular
from config.read.paths import as_written
from config.read.task_files import REPORT
from config.tell.cells import cells, padded
from config.tell.language import is_one_of, tr
from framework.collect.fragment import RETURN, Episode
from framework.disk.csv_table import TAIL_BYTES
from framework.disk.task_dir import TaskDir, checkpoint_numbers
from framework.log import LOGGER, level_of
from framework.loop.evaluator import Evaluation
from framework.loop.iteration import Count, Row
from framework.loop.observer import Narrator
from framework.screen import stages, terminal
from framework.screen.formatting import (
    NOT_LEARNING,
    clock,
    counted,
    listed,
    not_above_random,
    resume_command,
    scored,
    short,
    video_command,
)
from framework.screen.outcome import shown
from framework.screen.speed import RECENT, Counts, Pace


@dataclass(frozen=True)
class Outcome:
    """Result of a training run."""

    task: Path
    reason: str
    """Stop rule that ended it."""
    finished: bool
    """False if the run was stopped and can be resumed."""
    count: Counts
    seconds: float
    score: Mapping[str, float] | None = None
    """mean, std and episodes of the last evaluation."""
    best: float | None = None
    best_update: int | None = None
    random_return: float | None = None
    expected_return: float | None = None
    data_return: float | None = None
    figure: Path | None = None
    best_model: Path | None = None
    can_film: bool = True
    """True if the environment offers rgb_array."""
    allowed: tuple[str, ...] = ()
    """Packages of the user that the printed commands must allow to import."""


LONG_ROUND = 2.0
"""Seconds after which a round is said to be under way."""


class Console(Narrator):
    """Shows the events of training; a round costs one look at the clock."""

    KEY = "Console"

    def __init__(self, log: Path, cfg: GeneralConfig, stream: TextIO | None = None, show: bool = True) -> None:
        """show: False prints warnings only, to stderr."""
        self.cfg = cfg
        self._screen = terminal.choose(sys.stdout if stream is None else stream) if show else terminal.Screen()
        warnings = self._screen if show else terminal.choose(sys.stderr)
        self._log = _LogFile(log, cfg.log_level.upper())
        self._handlers = (self._log, _Terminal(self._screen, warnings))
        self.listen()
        self._began = self._next = time.monotonic()
        self._earlier = 0.0
        self._pace = Pace(cfg)
        self._returns: deque[float] = deque(maxlen=RECENT)
        self._highest_return = self._highest_mean = float("-inf")
        self._length = 0
        self._shown: Sequence[str] = ()
        self._evaluated: Sequence[str] = ()
        self._values: Mapping[str, float] = {}
        self._evaluation = ""
        self._count = Progress()
        self._load = ("", "")
        self._rounded = self._began
        """Time of the last round."""
        self._doing: Callable[[], str] = lambda: ""
        self._stages = contextlib.ExitStack()
        if show:
            self._stages.enter_context(stages.shown_on(self._screen, self._between_rounds))

    def listen(self) -> None:
        """Takes what is logged from now on, in the place of the console of another run of this process."""
        LOGGER.setLevel(level_of(self.cfg.log_level))
        LOGGER.propagate = False
        others = [handler for handler in LOGGER.handlers if isinstance(handler, _LogFile | _Terminal)]
        if others != [*self._handlers]:
            for handler in others:
                LOGGER.removeHandler(handler)
            for handler in self._handlers:
                LOGGER.addHandler(handler)

    # during the run ---------------------------------------------------------------------------------------

    def start(
        self,
        count: Progress,
        seconds: float = 0.0,
        best: float | None = None,
        columns: Sequence[str] = (),
        evaluated: Sequence[str] = (),
        doing: Callable[[], str] = lambda: "",
    ) -> None:
        """Starts the clock of training, at these counters. seconds: duration of earlier sessions. best: their highest
        mean return. columns: columns of train.csv that are shown beside the return. evaluated: numbers that are shown
        beside the score of an evaluation. doing: returns what a round that takes long is at; empty between rounds."""
        self._count, self._doing = count, doing
        self._shown, self._evaluated = columns, evaluated
        self._began = self._rounded = time.monotonic()
        self._earlier = seconds
        self._highest_mean = float("-inf") if best is None else best
        self._pace.start(self._began, count)

    def round(self, count: Progress, load: Callable[[], tuple[str, str]] = lambda: ("", "")) -> None:
        """Shows progress after a round, at most a few times a second. load: returns how busy the processes are and
        which one limits the speed."""
        now = time.monotonic()
        if now < self._next:
            return
        with terminal.LOCK:
            self._next, self._rounded = now + self._screen.interval, now
            self._take(now, count, load())
            self._screen.draw(*self._picture(now))

    def trained(self, count: Progress) -> None:
        """Brings the picture to the end of training, below which the work after it is shown."""
        with terminal.LOCK:
            if self._screen.picture is not None:
                self._take(now := time.monotonic(), count, ("", ""))
                self._screen.picture = self._picture(now)

    def _take(self, now: float, count: Progress, load: tuple[str, str]) -> None:
        """Takes down the present counters."""
        self._log.flush()
        self._pace.mark(now, count)
        self._count, self._load = count, load

    def _picture(self, now: float) -> terminal.Picture:
        count, elapsed = self._count, now - self._began + self._earlier
        fraction = count.fraction
        if self.cfg.max_time > 0:
            fraction = max(fraction, min(1.0, elapsed / self.cfg.max_time))
        processes, limit = self._load
        rows = [
            (tr("trained"), self._counters(count)),
            (tr("return"), self._recent()),
            (tr("evaluation"), self._evaluation),
            (tr("agent"), listed(self._values)),
            (tr("processes"), processes),
            (tr("limit"), limit),
        ]
        head = self._head(fraction, elapsed, count, now - self._rounded)
        return fraction or None, head, [row for row in rows if row[1]]

    def _between_rounds(self) -> str:
        """Returns what a round is at that takes long, and brings the clock of the picture up to date."""
        now = time.monotonic()
        text = self._doing() if now - self._rounded >= LONG_ROUND else ""
        if text:
            self._screen.picture = self._picture(now)
        return tr("{text}, {time} so far", text=text, time=clock(now - self._rounded)) if text else ""

    @contextlib.contextmanager
    def shown_on(self, screen: terminal.Screen, count: Callable[[], Progress]) -> Iterator[None]:
        """Shows progress on another screen, on which it settles at the end; an error leaves the last picture. count:
        returns the counters."""
        before, self._screen, self._next = self._screen, screen, 0.0
        try:
            with stages.shown_on(screen, self._between_rounds):
                yield
            self._take(now := time.monotonic(), count(), ("", ""))
            screen.settle(*self._picture(now))
        finally:
            screen.close()
            self._screen, self._next = before, 0.0

    def episodes(self, episodes: Sequence[Episode], rows: Sequence[Row]) -> None:
        returns, lengths = [*self._scores(episodes, rows)], [episode.length for episode in episodes]
        self._returns.extend(returns)
        self._highest_return = max([self._highest_return, *returns])
        self._length, self._values = lengths[-1], self._shown_of(rows[-1])
        self._pace.episodes(lengths)
        values, numbers = None, ""
        of_episode = tr("episode {number}: return {total}, length {length}")
        for episode, row in zip(episodes, rows, strict=True):
            if row["episode"] % self.cfg.interact_summary_fre == 0:
                if values != (values := self._shown_of(row)):
                    numbers = tr(", ") + listed(values) if values else ""
                values_of = {"number": row["episode"], "total": short(episode.total), "length": episode.length}
                self._log.later(of_episode.format(**values_of) + numbers)

    def _scores(self, episodes: Sequence[Episode], rows: Sequence[Row]) -> Iterable[float]:
        """Returns what counts as the return of each episode; of the policy of the score, where it played."""
        if not self.cfg.score_policy:
            return (episode.total for episode in episodes)
        name = f"{RETURN}{self.cfg.score_policy}"
        return (row[name] for row in rows if name in row)

    def _shown_of(self, row: Row) -> Mapping[str, float]:
        return {name: row[name] for name in self._shown if name in row}

    def evaluation(self, evaluation: Evaluation, count: Count, best: bool) -> None:
        """Shows an evaluation; one that equals an earlier best is not news."""
        mean = evaluation.mean
        self._evaluation = tr("{score} at update {update:,}", score=scored(evaluation.facts()), update=count.update)
        if self.cfg.score_policy:
            self._evaluation = tr(
                "{score} of {policy} at update {update:,}",
                score=scored(evaluation.facts()),
                policy=self.cfg.score_policy,
                update=count.update,
            )
        if numbers := {name: value for name, value in evaluation.metrics().items() if name in self._evaluated}:
            self._evaluation += f" ({listed(numbers)})"
        news = best and mean > self._highest_mean
        self._highest_mean = max(self._highest_mean, mean)
        text = tr("evaluation: {evaluation}", evaluation=self._evaluation)
        if news:
            text = tr("evaluation: {evaluation}, the best so far", evaluation=self._evaluation)
        LOGGER.info(text)
        if LOGGER.isEnabledFor(logging.INFO) and (news or isinstance(self._screen, terminal.Plain)):
            self._screen.say(text, "green" if news else "")

    def state(self) -> Tree:
        return {"returns": list(self._returns), "highest": self._highest_return, "length": self._length}

    def load_state(self, state: Tree) -> None:
        self._returns = deque(state["returns"], maxlen=RECENT)
        self._highest_return, self._length = state["highest"], state["length"]

    # single lines -----------------------------------------------------------------------------------------

    def note(self, text: str, style: str = "") -> None:
        """Prints and logs a line, unless log_level leaves out notes."""
        LOGGER.info(text)
        if LOGGER.isEnabledFor(logging.INFO):
            self._screen.say(text, style)

    def warn(self, text: str) -> None:
        """Prints and logs a problem that does not end the run."""
        LOGGER.warning(text)

    def log_traceback(self, error: BaseException) -> None:
        """Writes the traceback of an error to logs/log.txt only."""
        LOGGER.error("".join(traceback.format_exception(error)).rstrip())

    # the end ----------------------------------------------------------------------------------------------

    def summary(self, outcome: Outcome) -> None:
        """Prints the result of a training run, its files, and the commands for what comes next."""
        self._screen.close()
        self._table(_summary_rows(outcome))

    def profile(self, lines: list[terminal.Row]) -> None:
        """Prints where the time of the session went."""
        self._table([(tr("where the time went"), ""), *lines])

    def tested(self, task: Path, model: Path, evaluation: Evaluation, compared: str | None, video: Path | None) -> None:
        """Prints the result of a test and its files."""
        self._screen.close()
        score, numbers = evaluation.facts(), evaluation.metrics()
        rows = [
            (tr("score"), scored(score)),
            (tr("lowest, highest"), f"{short(score['min'])}, {short(score['max'])}"),
        ]
        if numbers:
            all_returns = all(name.startswith(RETURN) for name in numbers)
            rows.append((tr("policies") if all_returns else tr("means"), listed(numbers)))
        rows += [(tr("compared"), compared)] if compared else []
        self._table(
            [
                *rows,
                (tr("model"), str(as_written(model))),
                *_files(task),
                (tr("episodes"), str(as_written(task / "results" / "test.csv"))),
            ]
        )

    def close(self) -> None:
        """Removes the live block and closes the log."""
        self._stages.close()
        self._screen.close()
        for handler in self._handlers:
            LOGGER.removeHandler(handler)
            handler.close()

    def _table(self, rows: list[terminal.Row]) -> None:
        width = max(cells(label) for label, _ in rows)
        for label, text in rows:
            line = f"{padded(label, width)}  {text}"
            LOGGER.info(line)
            self._screen.say(line, _STYLES.get(label, ""))

    # parts of the picture ---------------------------------------------------------------------------------

    def _recent(self) -> str:
        if not self._returns:
            return ""
        last, count, mean = self._returns[-1], len(self._returns), sum(self._returns) / len(self._returns)
        newest, policy = short(last), self.cfg.score_policy
        return tr(
            "{last}, mean of {count}: {mean}, best {best}, length {length:,}",
            last=tr("{score} of {policy}", score=newest, policy=policy) if policy else newest,
            count=count,
            mean=short(mean),
            best=short(self._highest_return),
            length=self._length,
        )

    def _head(self, fraction: float, elapsed: float, count: Progress, pause: float) -> str:
        left = self._pace.left(count, elapsed, pause)
        parts = [f"{fraction:.0%}"] if fraction else []
        parts.append(tr("{time} so far", time=clock(elapsed)))
        parts += [] if left is None else [tr("{time} left", time=clock(left))]
        return tr(", ").join(parts)

    def _counters(self, count: Progress) -> str:
        cfg = self.cfg
        steps, updates, _ = self._pace.speeds()
        parts = [
            _of(tr("episode"), count.episode, cfg.max_episode),
            _of(tr("step"), count.step, cfg.max_total_step) + f" ({steps:,.0f}/s)",
            _of(tr("update"), count.update, cfg.max_update) + f" ({updates:,.0f}/s)",
        ]
        return tr(", ").join(parts)


def pausing_for(log: Path) -> str:
    """Returns what keeps a run from training, such as an evaluation, by the newest line of its logs/log.txt; empty if
    it trains."""
    try:
        with open(log, "rb", opener=regular) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return ""
    newest = re.fullmatch(r"\S+ \S+ INFO (.*)", lines[-1]) if lines else None
    return newest[1] if newest and is_one_of(newest[1], stages.PAUSES) else ""


class _LogFile(logging.FileHandler):
    """Writes logs/log.txt. A full disk costs lines of the log, not the run."""

    def __init__(self, path: Path, level: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(path, encoding="utf-8", errors="backslashreplace")
        self.setLevel(level)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self._process = os.getpid()
        """The process that writes it; a forked child, which ends with a flush of all handlers, does not."""
        self._waiting: list[tuple[float, str]] = []
        """Notes that are not written yet, with their times."""
        self._second = (-1, "")
        """Second of the latest stamp, and its text."""

    def later(self, text: str) -> None:
        """Adds a note that is written with the next record or at the next `flush`: hundreds of episodes may end in one
        round, and a record of its own costs each of them more than its step."""
        if LOGGER.isEnabledFor(logging.INFO) and self.level <= logging.INFO:
            self._waiting.append((time.time(), text))

    def _write_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting and self.stream is not None:
            with contextlib.suppress(OSError):  # as in handleError
                self.stream.write("".join(f"{self._stamp(moment)} INFO {text}\n" for moment, text in waiting))

    def _stamp(self, moment: float) -> str:
        """Returns a time as the formatter has it."""
        second = int(moment)
        if second != self._second[0]:
            self._second = second, time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))
        return f"{self._second[1]},{int(1000 * (moment - second)):03d}"

    def emit(self, record: logging.LogRecord) -> None:
        if os.getpid() == self._process:
            self._write_waiting()
            super().emit(record)

    def flush(self) -> None:
        """Writes what waits. On a full disk it goes on to wait: an error here would hide the one of the run's data."""
        if os.getpid() == self._process:
            self._write_waiting()
            with contextlib.suppress(OSError):
                super().flush()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # as in flush
            super().close()

    def _open(self) -> Any:
        return open(self.baseFilename, self.mode, encoding=self.encoding, errors=self.errors, opener=regular)

    def handleError(self, record: logging.LogRecord) -> None:
        """Drops the line."""


class _Terminal(logging.Handler):
    """Prints the warnings and debug lines of any part of the framework. Notes are printed by Console.note, tracebacks
    are not."""

    def __init__(self, screen: terminal.Screen, warnings: terminal.Screen) -> None:
        super().__init__()
        self._screen, self._warnings = screen, warnings

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.WARNING:
            self._warnings.say(tr("warning: {problem}", problem=record.getMessage()), "yellow")
        elif record.levelno == logging.DEBUG:
            self._screen.say(record.getMessage())


WIDTH = 80
"""Columns of a terminal."""
LABELS = 14
"""Columns that the widest label and the blanks behind it take."""
_STYLES = {tr("finished"): "green", tr("stopped"): "yellow", tr("score"): "bold"}
"""Label of a row of the summary -> style."""


def _summary_rows(outcome: Outcome) -> list[terminal.Row]:
    count, task = outcome.count, outcome.task
    rows = [(tr("finished") if outcome.finished else tr("stopped"), shown(outcome.reason))]
    if outcome.score is not None:
        rows += _score_rows(outcome)
    if outcome.best is not None:
        best = short(outcome.best)
        if outcome.best_update is not None:
            best = tr("{score} at update {update:,}", score=best, update=outcome.best_update)
        where = f"   {as_written(outcome.best_model)}" if outcome.best_model else ""
        rows.append((tr("best"), f"{best}{where}"))
    numbers = {"episode": count.episode, "step": count.step, "update": count.update}
    trained = tr(", ").join(counted(number, noun) for noun, number in numbers.items())
    rows.append((tr("trained"), tr("{amounts} in {time}", amounts=trained, time=clock(outcome.seconds))))
    rows += [row for row in _files(task) if row[0] != _CURVE or outcome.figure is not None]
    if not outcome.finished and checkpoint_numbers(TaskDir(task).models):
        rows.append((tr("to resume"), resume_command(task, outcome.allowed)))
    if outcome.best_model is not None and outcome.can_film and not any((task / path).exists() for path in _VIDEOS):
        rows.append((tr("to watch it"), video_command(task, outcome.allowed)))
    return rows


def _score_rows(outcome: Outcome) -> list[terminal.Row]:
    """Returns the score with what it compares to: in a line, or in two if one were wider than a terminal."""
    assert outcome.score is not None
    score, compared = scored(outcome.score), _compared(outcome)
    poor = not_above_random(outcome.score["mean"], outcome.random_return)
    both = f"{score}   ({compared})" if compared else score
    line = tr("{scores}: not above the random policy", scores=both) if poor else both
    advice = [(tr("what to do"), NOT_LEARNING)] if poor else []
    if cells(line) <= WIDTH - LABELS:
        return [(tr("score"), line), *advice]
    against = tr("{scores}: not above the random policy", scores=compared) if poor else compared
    return [(tr("score"), score), (tr("against"), against), *advice]


def _compared(outcome: Outcome) -> str:
    """Returns the scores to compare to; empty without one."""
    values = [
        (tr("data"), outcome.data_return),
        (tr("random policy"), outcome.random_return),
        (tr("expected"), outcome.expected_return),
    ]
    return tr(", ").join(f"{name} {short(value)}" for name, value in values if value is not None)


_VIDEOS = Path("videos", "video.gif"), Path("videos", "video.mp4")
_CURVE = tr("curve")
_FILES = (
    (tr("report"), Path(REPORT)),
    (_CURVE, Path("results", "learning_curve.png")),
    *((tr("video"), path) for path in _VIDEOS),
    (tr("dialogues"), Path("videos", "dialogue.html")),
    (tr("trajectories"), Path("results", "trajs.pkl")),
    (tr("trajectories"), Path("results", "trajs_0.pkl")),
    (tr("trajectories"), Path("results", "trajs_0.npz")),
    (tr("trajectories"), Path("results", "trajs.jsonl")),
    (tr("trajectories"), Path("results", "trajs.minari")),
    (tr("log"), Path("logs", "log.txt")),
)


def _files(task: Path) -> list[terminal.Row]:
    """Returns the files of a task directory that a person may want to open."""
    return [(label, str(as_written(task / path))) for label, path in _FILES if (task / path).exists()]


def _of(name: str, done: int, limit: int) -> str:
    if limit >= max(done, 1):  # the last round of several rows is played to its end, beyond a limit in episodes
        return tr("{name} {done:,} of {limit:,}", name=name, done=done, limit=limit)
    return f"{name} {done:,}"
