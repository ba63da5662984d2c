"""A run, a test or a trial, as its folder tells: the only place that reads the files of a run."""

import os
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from config.model import policies
from config.read.opening import read_regular, regular, unreadable
from config.read.task_config import facts_of_model, load_task_config
from config.read.task_files import RUN, TaskFiles
from config.read.tasks import group_of
from config.read.yaml_reader import MAX_BYTES, DocumentError, parse
from config.tell.language import tr
from config.tell.names import printable
from framework.archive.curves import UPDATES, Curve, Rows, column_of, running_mean, window_for
from framework.disk.csv_table import Table, last_row, read_csv, read_table, read_values
from framework.disk.facts import RunFacts
from framework.disk.lines import last_objects, read_objects
from framework.disk.notes import Notes
from framework.disk.task_dir import (
    CLOSED,
    FAILED,
    MOST_BYTES,
    PAUSED,
    TaskDir,
    checkpoint_numbers,
    is_damaged,
    is_locked,
    read_facts,
)
from framework.screen.formatting import number

MOST_CHARACTERS = 500
"""Characters of an error that are shown; run.json of a stranger may hold any number."""
TAIL_BYTES = 2**14
"""Bytes at the end of result.json that are read; a line has some 600, more with several policies."""
_NAMES = re.compile(r"^(?:(?:  )?\w+:|  (?:  )?algo_name: .*|  (?:env_name|id): .*)$", re.MULTILINE)
"""Lines of a config.yaml that name algorithm and environment: reading all of it takes 10 ms."""
_PLAIN_LINE = re.compile(r"(  )?([a-z]\w*):(?: ([A-Za-z](?:[\w./-]*\w)?))?(?: +#.*)?")
"""Line of _NAMES with a text that needs no reader of YAML, which takes 1 ms."""
_OTHER_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
"""Words that may be no text."""
_WARNING = re.compile(r"\S+ \S+ WARNING (.*)")
Row = dict[str, Any]


class RecordedRun:
    """A run. Each file is read when it is first asked for, and once; what `newest_...` return is read at each call."""

    def __init__(self, folder: Path, now: Mapping[str, Any] | None = None, model: Path | None = None) -> None:
        """now: of a run that trains, facts in the place of those in run.json. model: the checkpoint that counts as its
        best one; None: models/best."""
        self.folder, self.task, self._now = folder, TaskDir(folder), now or {}
        self._model = model or self.task.models / "best"

    # settings ---------------------------------------------------------------------------------------------

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The sections of its settings. Raises DocumentError if they cannot be read."""
        return load_task_config(self.folder).settings()

    @property
    def general(self) -> Mapping[str, Any]:
        """Section general_cfg."""
        section: Mapping[str, Any] = self.settings.get("general_cfg", {})
        return section

    @property
    def algorithm(self) -> str:
        return policies.algorithms(self.settings) or "?"

    @property
    def environment(self) -> str:
        return str(self.settings.get("env_cfg", {}).get("id", self.general.get("env_name", "?")))

    @property
    def seed(self) -> Any:
        return self.general.get("seed")

    @property
    def is_test(self) -> bool:
        """True for a test of a model."""
        return self.general.get("mode") == "test"

    @cached_property
    def names(self) -> tuple[str, str]:
        """Algorithm and environment, as config.yaml names them: read in a tenth of the time that `settings` takes."""
        try:
            text = read_regular(self.task.config, MAX_BYTES).decode(errors="replace")
            lines = _NAMES.findall(text)
            value = _plain(lines) or parse("\n".join(lines), "config.yaml").value
            if not isinstance(value, dict) or not _section(value, "general_cfg"):
                value = parse(text, "config.yaml").value
        except (OSError, DocumentError):
            return "?", "?"
        general, env = _section(value, "general_cfg"), _section(value, "env_cfg")
        return policies.algorithms(value) or "?", str(env.get("id", general.get("env_name", "?")))

    @property
    def unread(self) -> str:
        """Files that are not read, each with the reason; empty if all are."""
        most = {self.task.config: MAX_BYTES, self.task.run: MOST_BYTES}
        faults = ((path.name, unreadable(path, size)) for path, size in most.items())
        said = [tr("{name} is not read: {reason}", name=name, reason=fault) for name, fault in faults if fault]
        if not (said or self.facts.model_fields_set) and is_damaged(self.task.run):
            said = [tr("{name} is not read: {reason}", name=RUN, reason=tr("it is no JSON that can be read"))]
        return "; ".join(said)

    @property
    def group(self) -> Path | None:
        """Folder of the group or tuning that it belongs to; None for a run of its own."""
        return group_of(self.folder)

    @property
    def tested_run(self) -> Path | None:
        """Folder of the run whose model a test plays; None for a run that trains."""
        checkpoint = self.facts.checkpoint
        return None if checkpoint is None else Path(checkpoint).parent.parent

    # facts ------------------------------------------------------------------------------------------------

    @cached_property
    def facts(self) -> RunFacts:
        """Content of run.json."""
        facts = self.task.facts()
        return facts.model_copy(update=self._now) if self._now else facts

    @cached_property
    def params(self) -> dict[str, Any]:
        """Content of params.json: its settings with their defaults. None if that is missing or damaged."""
        return read_facts(self.task.params)

    @cached_property
    def notes(self) -> Notes:
        """Tags and note that the user has given it."""
        return Notes.read(self.folder)

    @cached_property
    def state(self) -> str:
        """running, finished, paused at step N, interrupted or failed."""
        if is_locked(self.folder):
            return "running"
        if self.facts.finished or self.facts.has("score"):
            return "finished"
        outcome = self.facts.outcome or ""
        if outcome.startswith(PAUSED):
            return printable(outcome)
        return "interrupted" if outcome in ("interrupted", CLOSED) else "failed"

    @property
    def reason(self) -> str:
        """Error that has ended the run; empty if it left none, as a killed one does."""
        outcome = self.facts.outcome or ""
        return printable(outcome.removeprefix(FAILED).strip()[:MOST_CHARACTERS]) if outcome.startswith(FAILED) else ""

    @property
    def score(self) -> float | None:
        """Mean return of a test, or of the best model of a training run; None if there is none yet."""
        return number(self.facts.best if self.facts.score is None else self.facts.score.get("mean"))

    # results ----------------------------------------------------------------------------------------------

    @cached_property
    def episodes(self) -> Table:
        """Rows of train.csv."""
        return read_table(self.task.train)

    @cached_property
    def rows_of_eval(self) -> Table:
        """All rows of eval.csv."""
        return read_table(self.task.eval)

    @cached_property
    def evaluations(self) -> list[Row]:
        """Rows of eval.csv that have a mean; others are damaged."""
        return [row for row in self.rows_of_eval if isinstance(row.get("mean"), int | float)]

    @cached_property
    def progress(self) -> list[Row]:
        """Rows of progress.csv."""
        return _rows(self.task.progress)

    @cached_property
    def iterations(self) -> list[Row]:
        """Lines of result.json."""
        return read_objects(self.task.result)

    @cached_property
    def system(self) -> Table:
        """Rows of system.csv; none from a run that measured nothing of its machine."""
        return read_table(self.task.system)

    @cached_property
    def tested(self) -> list[Row]:
        """Rows of test.csv."""
        return _rows(self.task.test)

    @cached_property
    def best(self) -> Row | None:
        """Evaluation of the best model; None if it was not evaluated. Without a model that can be read, the last one
        that was the best so far."""
        facts = facts_of_model(self._model)
        column, value = ("best", 1) if facts is None else ("update", facts.get("update"))
        return next((row for row in reversed(self.evaluations) if row.get(column) == value), None)

    def facts_with_best(self, update: int) -> dict[str, Any]:
        """Returns the content of run.json with the best model, which has this number; without its score if it was not
        evaluated."""
        facts = {**read_facts(self.task.run), "best_update": update}
        facts.pop("best", None)
        return facts | ({"best": self.best["mean"]} if self.best else {})

    @cached_property
    def checkpoints(self) -> list[int]:
        """Numbers of the checkpoints."""
        return checkpoint_numbers(self.task.models)

    @property
    def warnings(self) -> list[str]:
        """Warnings in logs/log.txt, each once, the latest last."""
        return self.warnings_from(0)[0]

    def warnings_from(self, place: int) -> tuple[list[str], int]:
        """Returns the warnings in logs/log.txt behind so many bytes, each once, the latest last, and its size in bytes.
        A log that is shorter has begun anew, and is read from its beginning."""
        try:
            with open(self.task.log, "rb", opener=regular) as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(place if 0 <= place <= size else 0)
                lines = (line.decode(errors="replace") for line in file)
                return list(dict.fromkeys(match[1].rstrip() for line in lines if (match := _WARNING.match(line)))), size
        except OSError:
            return [], 0

    @property
    def score_policy(self) -> str | None:
        """Policy whose return is the score; None: the sum of all agents."""
        if self.facts.score_policy is not None:
            return self.facts.score_policy
        general = self.params.get("general_cfg")  # a run that trains has no fact of it yet
        policy = general.get("score_policy") if isinstance(general, dict) else None
        return policy if isinstance(policy, str) else None

    @property
    def return_column(self) -> str:
        """Column of train.csv with the score of an episode."""
        return "return" if self.score_policy is None else f"return_{self.score_policy}"

    def newest_episode(self) -> Row | None:
        """Returns the last row of train.csv, of a run that trains; None without one, or of a damaged table."""
        row = None if self.task.results.is_symlink() else last_row(self.task.train)
        return _with_numbers(row, "step", "episode", "update", "return")

    def newest_evaluation(self) -> Row | None:
        """Returns the last row of eval.csv, of a run that trains; None without one, or of a damaged table."""
        return _with_numbers(last_row(self.task.eval), "mean")

    def newest_iterations(self) -> list[Row]:
        """Returns the last lines of result.json, of a run that trains."""
        return last_objects(self.task.result, TAIL_BYTES)

    def newest_counts(self) -> dict[str, float | None]:
        """Returns how far a run that trains is, by its newest episode and its newest iteration: what learns from data
        alone has no episodes. A count is None without either."""
        rows = self.newest_episode() or {}, (self.newest_iterations() or [{}])[-1]
        return {
            name: max((value for row in rows if (value := number(row.get(name))) is not None), default=None)
            for name in ("step", "episode", "update", "iteration")
        }

    # curves -----------------------------------------------------------------------------------------------

    @property
    def is_offline(self) -> bool:
        """True if the run has learned from given data before its first step."""
        return any(row.get("step") == 0 < (number(row.get("update")) or 0) for row in self.evaluations)

    def curve(self, over: str) -> Curve:
        """Returns the mean returns of the evaluations over steps or updates."""
        return _curve(self.evaluations, "mean", over)

    def training_curve(self, over: str, whole_windows: bool = False) -> Curve:
        """Returns the running mean of the scores of the training episodes, of those in which the policy of the score
        played. whole_windows: True for one without its beginning, which is of fewer episodes."""
        column = self.return_column
        rows: Rows = self.episodes
        if self.score_policy is not None:
            rows = [row for row in rows if number(row.get(column)) is not None]
        step, value = _curve(rows, column, over)
        mean = running_mean(step, value)
        mask = mean.episodes >= (window_for(len(step)) if whole_windows else 1)
        return mean.step[mask], mean.value[mask]

    # pauses -----------------------------------------------------------------------------------------------

    def paused(self, step: int) -> Row | None:
        """Returns counts and score at a pause; None if the run has not been there. A run that has ended before counts
        with its end."""
        if pause := (self.facts.pauses or {}).get(str(step)):
            return pause
        return {"step": self.facts.step, "update": self.facts.update} if self.facts.finished else None

    def score_at(self, until: int | None, score: str, mode: str) -> float | None:
        """Returns the score at a pause, or at the end (None); None if there is none. score: evaluation, best, or a
        column of progress.csv. Later training changes nothing."""
        pause = (None if until is None else self.paused(until)) or {}
        if score in ("evaluation", "best"):
            scores = self.evaluations[: pause.get("evaluations")] + ([pause] if "mean" in pause else [])
            if score == "evaluation":
                return number(scores[-1]["mean"]) if scores else None
            earlier = (self.paused(int(at)) for at in self.facts.pauses or {} if until is None or int(at) < until)
            return best_of(_values([*scores, *filter(None, earlier)], "mean"), mode)
        if score in pause.get("numbers", {}):
            return number(pause["numbers"][score])
        step = pause.get("step")
        # an iteration may have no number; the newest one that is not finite is no score
        known = [row for row in read_values(self.task.progress, "step", score) if row[1] is not None]
        numbers = known or [(number(row.get("step")), row[score]) for row in self.iterations if score in row]
        values = [value for at, value in numbers if step is None or (at is not None and at <= step)]
        return number(values[-1]) if values else None

    def best_score(self, mode: str) -> float | None:
        """Returns the best score of all evaluations so far, those at pauses among them."""
        pauses = (self.facts.pauses or {}).values()
        return best_of([*_values(self.evaluations, "mean"), *_values(pauses, "mean")], mode)


def is_run(folder: Path) -> bool:
    """Returns True for a folder that is one of a run."""
    files = TaskFiles(folder)
    return files.run.is_file() or files.config.is_file()


def best_of(scores: Iterable[float], mode: str) -> float | None:
    """Returns the highest or the lowest score; None without one. mode: max or min."""
    return (max if mode == "max" else min)(scores, default=None)


def _plain(lines: Iterable[str]) -> dict[str, Any]:
    """Returns the sections of plain lines; nothing if one of them is not."""
    sections: dict[str, Any] = {}
    section: dict[str, Any] = {}
    for line in lines:
        match = _PLAIN_LINE.fullmatch(line)
        if match is None or (match[3] or "").lower() in _OTHER_WORDS:
            return {}
        indent, name, value = match.groups()
        if not indent and value is None and name not in sections:
            section = sections[name] = {}
        elif indent and name not in section:
            section[name] = value
        else:
            return {}
    return sections


def _with_numbers(row: Row | None, *names: str) -> Row | None:
    """Returns a row if it has numbers by these names."""
    return row if row and all(isinstance(row.get(name), int | float) for name in names) else None


def _rows(path: Path) -> list[Row]:
    return list(read_csv(path))


def _section(value: Any, name: str) -> dict[str, Any]:
    section = value.get(name) if isinstance(value, dict) else None
    return section if isinstance(section, dict) else {}


def _curve(rows: Rows, name: str, over: str) -> Curve:
    counted = "update" if over == UPDATES else "step"
    step, value = column_of(rows, counted), column_of(rows, name)
    if np.isnan([step, value]).any():
        raise ValueError(tr("some rows have no number as {count} or {name}", count=counted, name=name))
    return step, value


def _values(rows: Iterable[Mapping[str, Any]], column: str) -> list[float]:
    """Returns the finite numbers of a column."""
    values = [number(row.get(column)) for row in rows]
    return [float(value) for value in values if value is not None]
