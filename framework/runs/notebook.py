"""Views of a run in a notebook: cards and the learning curve, a film, a line of progress. Works without a notebook,
too: as methods and texts."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from config.read.opening import named, read_regular
from config.read.paths import as_written
from framework.archive.run import RecordedRun
from framework.assemble import build
from framework.errors import JoystickError
from framework.film.film import file_name, film_into
from framework.pages.html_page import MOST_IMAGE_BYTES, cards, data_url, pairs, paragraph, text
from framework.pages.html_training import outcome_facts
from framework.record.recorders import Tape
from framework.runs import final_output
from framework.runs.experiment import Experiment

_STYLE = """<style>
.joystick { font: 14px/1.5 system-ui, sans-serif; max-width: 60rem; } .joystick .quiet { opacity: .65; margin: 0; }
.joystick dl.facts { display: flex; flex-wrap: wrap; gap: .5rem; margin: .75rem 0; }
.joystick dl.facts div { border: 1px solid rgba(128, 128, 128, .4); border-radius: .5rem; padding: .4rem .8rem; }
.joystick dt { opacity: .65; font-size: 12px; font-weight: normal; }
.joystick dd { margin: 0; font-size: 16px; font-weight: 600; }
.joystick img, .joystick video { max-width: 100%; background: #fff; }
</style>"""
_MIMES = {".gif": "image/gif", ".mp4": "video/mp4"}


def is_running() -> bool:
    """Returns True in the kernel of a notebook."""
    return "ipykernel" in sys.modules


def html(title: str, where: object, *parts: str) -> str:
    """Returns a block of HTML for the output of a cell: no scripts, and styles for nothing outside it."""
    return "\n".join(
        [_STYLE, '<div class="joystick">', f"<b>{text(title)}</b>", paragraph(where, "quiet"), *parts, "</div>"]
    )


def summary(experiment: Experiment, running: bool) -> str:
    """Returns the cards and the learning curve of a run. running: False once it is closed, and while another thread
    trains it: then only what is in its files is shown."""
    task = experiment.task
    if running:
        experiment.log.flush()
    run = RecordedRun(task.path, final_output.so_far(experiment.trainer) if running else None)
    parts = [cards(outcome_facts(run))]
    if run.episodes or run.evaluations:
        parts.append(_embedded(picture(experiment, running).png, "image/png"))
    return html(final_output.title_of(experiment.config), as_written(task.path), *parts)


def about(title: str, where: str, facts: Iterable[tuple[str, Any]]) -> str:
    """Returns a table of facts."""
    return html(title, where, pairs(facts))


def _embedded(content: bytes, kind: str) -> str:
    """Returns an image or a video as HTML that loads nothing."""
    source = data_url(content, kind)
    return f'<video controls loop muted src="{source}"></video>' if "video" in kind else f'<img alt="" src="{source}">'


class Picture:
    """A learning curve: a notebook shows it."""

    def __init__(self, png: bytes) -> None:
        self.png = png

    def save(self, path: str | Path) -> Path:
        """Writes the picture to a file, and returns its path."""
        with open(path, "wb", opener=named) as file:
            file.write(self.png)
        return Path(path)

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return f"<learning curve, PNG of {len(self.png):,} bytes: save(path) writes it>"


def picture(experiment: Experiment, running: bool) -> Picture:
    """Draws the current learning curve. running: as for `summary`."""
    if running:
        experiment.log.flush()
    return Picture(experiment.output.curve_now())


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
        return f"<film {self.path}: {self.about}>"

    def _repr_html_(self) -> str:
        kind = _MIMES.get(self.path.suffix)
        if not self.path.exists():
            return html(self.path.name, f"{self.path} (deleted)")
        if self.path.stat().st_size > MOST_IMAGE_BYTES:
            return html(self.path.name, f"{self.path} (too large to be shown here)")
        content = read_regular(self.path, MOST_IMAGE_BYTES)
        if kind is None:
            return html(self.path.name, self.about, f"<pre>{text(content.decode(errors='replace'))}</pre>")
        return html(self.path.name, self.about, _embedded(content, kind))


def film(experiment: Experiment, episodes: int) -> Film:
    """Plays evaluation episodes with the present weights, and films them into videos/."""
    config, evaluator = experiment.config, experiment.evaluator
    open_env = build.open_drawing(build.drawing(config), experiment.watch)
    tape = Tape(evaluator.env.rows)
    evaluation = evaluator.play(experiment.trainer.agent, episodes, [tape])
    path = experiment.task.videos / f"update_{experiment.trainer.count.update}{file_name(config).suffix}"
    path.parent.mkdir(exist_ok=True)
    played = final_output.ALL_PLAYED.of(evaluation, tape)
    video, different = film_into(path, open_env, played, lambda: None, experiment.watch)
    if video.path is None:
        raise JoystickError(f"film: {video.text}")
    if different:
        experiment.console.warn(different)
    return Film(video.path, video.text, evaluation.facts())
