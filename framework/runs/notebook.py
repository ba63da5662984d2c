"""Views of a run in a notebook: progress while it trains, cards and the learning curve, a film. Works without a
notebook, too: as methods and texts."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from algos.base import TrainableActor
from config.read.loader import RunConfig
from config.read.opening import read_regular
from config.read.paths import as_written
from config.tell.language import tr
from envs.base import EnvError
from framework.archive.curves import STEPS, UPDATES, Curve
from framework.archive.run import RecordedRun
from framework.assemble import build
from framework.assemble.fit import drawing_faults
from framework.errors import JoystickError
from framework.film.film import file_name, film_into
from framework.log import LOGGER
from framework.loop.evaluator import Evaluator
from framework.pages import cell, charts, figures
from framework.pages.html_page import MOST_IMAGE_BYTES, cards, pairs, paragraph, text
from framework.pages.html_training import outcome_facts
from framework.record.recorders import Tape
from framework.runs import final_output
from framework.runs.experiment import Experiment
from framework.runs.model import opened, settings_of
from framework.screen import terminal

MOST_NOTES = 3
"""Number of notes that a cell shows, the newest."""
CURVE_SECONDS = 1.0
"""Seconds between two reads of the curve of a run that trains, at least."""
CURVE_SHARE = 50
"""The pause is at least this many times as long as a read takes."""
_MIMES = {".gif": "image/gif", ".mp4": "video/mp4"}


# ------------------------------------------------------------------------------------------------------- progress


class Cell(terminal.Screen):
    """Shows progress below a cell, in one output that is updated. Without a kernel, and after an error, it shows
    nothing."""

    interval = 0.5

    def __init__(
        self, title: str, where: object, chart: Callable[[], str], ending: Callable[[], Iterable[str]]
    ) -> None:
        """where: the line below the title. chart: returns the curve so far; ending: returns what stays at the end. Both
        as HTML."""
        self.title, self.where, self.chart, self.ending = title, where, chart, ending
        self._handle: Any = None
        self._number = -1
        """Number of the cell that the output belongs to."""
        self._curve = ""
        self._notes: list[str] = []
        self._failed = False
        self._is_open = True
        """False from the end on: the ending shows in its own way what was said, and what is said then, such as paths of
        files."""

    def begin(self) -> "Cell":
        """Takes a new output, unless this cell has one already: a loop of calls updates one."""
        shell = terminal.kernel()
        number = getattr(shell, "execution_count", -1)
        if number != self._number:
            self._handle, self._number, self._notes = None, number, []
        self._failed, self._is_open = shell is None, True
        return self

    def draw(self, fraction: float | None, head: str, rows: Sequence[terminal.Row]) -> None:
        try:  # here, in the thread that trains; another one may show what is waited for
            self._curve = self.chart()
        except Exception:  # a file that cannot be read is no reason to end a run
            self._failed = True
        super().draw(fraction, head, rows)

    def rest(self) -> None:
        if self.picture is not None:
            self._put(*self.picture)

    def _put(self, fraction: float | None, head: str, rows: Sequence[terminal.Row]) -> None:
        def parts() -> list[str]:
            shown = cell.bar(fraction) if fraction is not None else ""
            return [shown, paragraph(head, "quiet"), pairs(rows), self._curve, *self._said()]

        self._show(parts, terminal.line(head, rows))

    def say(self, text: str, style: str = "") -> None:
        if self._is_open:
            self._notes = [*self._notes, text][-MOST_NOTES:]

    def close(self) -> None:
        self._is_open = False

    def settle(self, fraction: float | None, head: str, rows: Sequence[terminal.Row]) -> None:
        said = self._said() if self._is_open else []
        self._show(lambda: [*self.ending(), *said], terminal.line(head, rows))

    def _said(self) -> list[str]:
        return [paragraph(note, "quiet") for note in self._notes]

    def _show(self, parts: Callable[[], list[str]], plain: str) -> None:
        """Shows a block. parts: returns its parts; plain: the same in a line, for what shows no HTML."""
        if self._failed:
            return
        try:
            from IPython.display import display

            bundle = {"text/html": cell.block(self.title, self.where, *parts()), "text/plain": plain}
            if self._handle is None:
                self._handle = display(bundle, raw=True, display_id=True)
            else:
                self._handle.update(bundle, raw=True)
        except Exception:  # a display that is gone, or a file that cannot be read, is no reason to end a run
            self._failed = True


class LiveCurve:
    """The curve of a run that trains, read anew as often as takes a small share of the time."""

    def __init__(self, read: Callable[[], str]) -> None:
        """read: returns it as HTML."""
        self._read, self._shown, self._next = read, "", 0.0

    def __call__(self) -> str:
        began = time.monotonic()
        if began >= self._next:
            self._shown = self._read()
            taken = time.monotonic() - began
            self._next = began + taken + max(CURVE_SECONDS, CURVE_SHARE * taken)
        return self._shown


def screen_of(experiment: Experiment, ending: Callable[[], Iterable[str]]) -> Cell:
    """Returns the screen of a run in a notebook. ending: returns what stays below cards and curve."""
    title, where = experiment.config.title, as_written(experiment.task.path)
    return Cell(
        title, where, LiveCurve(partial(chart_of, experiment)),
        lambda: [cards(outcome_facts(_so_far(experiment))), chart_of(experiment), *ending()],
    )  # fmt: skip


def _so_far(experiment: Experiment) -> RecordedRun:
    """Returns a run that this thread trains, as it stands now."""
    experiment.log.flush()
    return RecordedRun(experiment.task.path, final_output.so_far(experiment.trainer))


def chart_of(experiment: Experiment) -> str:
    """Returns the running mean of the returns and the evaluations of a run that this thread trains."""
    run = _so_far(experiment)
    over = UPDATES if run.is_offline else STEPS
    curves = {tr("running mean of the episodes"): run.training_curve(over), tr("evaluations"): run.curve(over)}
    return lines_chart({name: curve for name, curve in curves.items() if len(curve[0])}, tr("return"), over)


def lines_chart(curves: Mapping[str, Curve], quantity: str, over: str) -> str:
    """Returns curves by their names, each in a color."""
    lines = [
        charts.Line(name, *charts.thinned({over: x}, values), color=color, series=name)
        for color, (name, (x, values)) in enumerate(curves.items())
    ]
    return cell.chart(lines, quantity, over)


# ------------------------------------------------------------------------------------------------------- summaries


def summary(experiment: Experiment, running: bool) -> str:
    """Returns the cards and the learning curve of a run. running: False once it is closed, and while another thread
    trains it: then only what is in its files is shown."""
    return recorded(_so_far(experiment) if running else RecordedRun(experiment.task.path))


def recorded(run: RecordedRun) -> str:
    """Returns the cards and the learning curve of a run."""
    return cell.block(title_of(run), as_written(run.folder), *cards_and_curve(run))


def title_of(run: RecordedRun) -> str:
    """Returns what a run is called: PPO on CartPole-v1."""
    algorithms, environment = run.names
    return tr("{algorithms} on {environment}", algorithms=algorithms, environment=environment)


def cards_and_curve(run: RecordedRun) -> list[str]:
    """Returns both as parts of a block; no curve before the first episode."""
    drawn = [cell.embedded(cell.file_of(curve_of(run)), "image/png")] if run.episodes or run.evaluations else []
    return [cards(outcome_facts(run)), *drawn]


def picture(experiment: Experiment, running: bool) -> cell.Picture:
    """Draws the current learning curve. running: as for `summary`."""
    return cell.Picture(curve_of(_so_far(experiment) if running else RecordedRun(experiment.task.path)))


def curve_of(run: RecordedRun) -> Callable[[Path], None]:
    """Returns what draws the learning curve of a run into a file. Leaves the one in its task directory as it is."""
    return partial(figures.curve_of, run, title=title_of(run), random_return=run.facts.random_return)


# ------------------------------------------------------------------------------------------------------------ films


class Film:
    """A film of episodes: a notebook shows it, and open(film) reads its file."""

    def __init__(self, path: Path, about: str, scores: Mapping[str, float]) -> None:
        self.path = path
        """The file: a GIF or MP4; for dialogues text."""
        self.about = about
        """Length of the film in a sentence."""
        self.scores = dict(scores)
        """Mean, standard deviation, lowest and highest return of the episodes."""

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return tr("<film {path}: {about}>", path=as_written(self.path), about=self.about)

    def _repr_html_(self) -> str:
        kind = _MIMES.get(self.path.suffix)
        if not self.path.exists():
            return cell.block(self.path.name, tr("{path} (deleted)", path=self.path))
        if self.path.stat().st_size > MOST_IMAGE_BYTES:
            return cell.block(self.path.name, tr("{path} (too large to be shown here)", path=self.path))
        content = read_regular(self.path, MOST_IMAGE_BYTES)
        if kind is None:
            return cell.block(self.path.name, self.about, f"<pre>{text(content.decode(errors='replace'))}</pre>")
        return cell.block(self.path.name, self.about, cell.embedded(content, kind))


def film(
    config: RunConfig, evaluator: Evaluator, agent: TrainableActor, episodes: int, path: Path, check: Callable[[], None]
) -> Film:
    """Plays evaluation episodes, and films them into a file. path: without the suffix, which the environment decides.
    check: called before each step; may raise."""
    config = config.of_evaluation()
    tape, watch = Tape(evaluator.env.rows), evaluator.watch
    evaluation = evaluator.play(agent, episodes, [tape])
    path = path.with_name(path.name + file_name(config).suffix)
    path.parent.mkdir(exist_ok=True)
    played = final_output.ALL_PLAYED.of(evaluation, tape)
    open_env = build.open_drawing(build.drawing(config), watch)
    try:
        video, different = film_into(path, open_env, played, check, watch)
    except EnvError as error:
        if faults := drawing_faults(config):
            raise JoystickError("film: {error}", error=faults[0]) from error
        raise
    if video.path is None:
        raise JoystickError("film: {error}", error=video.text)
    if different:
        LOGGER.warning(different)
    return Film(video.path, video.text, evaluation.facts())


def film_of(task: Path, model: str | int, episodes: int, allow_import: Iterable[str] = ()) -> Film:
    """Plays a saved model of a run, and films it into videos/ of its task directory. model: best, latest, or the update
    of a checkpoint."""
    config = settings_of(task, model, allow_import)
    with opened(config) as player:
        path = task / "videos" / f"update_{player.saved.facts['update']}"
        return film(config, player.evaluator(config), player.agent, episodes, path, lambda: None)
