"""Files that a training run appends to: train.csv, eval.csv, progress.csv, result.json, and records; the loggers."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from algos.base import Tree
from config.read.paths import as_written
from config.tell.language import tr
from framework.collect.fragment import RETURN, Episode
from framework.dataset.store import StepStore
from framework.disk.csv_log import CsvLog, JsonLog, LineLog
from framework.disk.task_dir import TaskDir
from framework.loop.evaluator import Evaluation
from framework.loop.iteration import Count, EpisodeRows, Result, Row, progress_row
from framework.loop.learner import Learned
from framework.loop.observer import Observer
from framework.record.console import Console
from framework.record.loggers import Logger, Loggers

MOST_POINTS = 1000
"""Points of a curve in TensorBoard before it is thinned: TensorBoard itself shows no more."""
EVAL_COLUMNS = ("update", "step", "episode", "mean", "std", "min", "max", "median", "episodes", "best")


def is_point(before: int, now: int, every: int) -> bool:
    """Returns True if a curve in TensorBoard gets a point when a counter goes from `before` to `now`. One of each
    `every` is a point, and after 1,000 points one of 2 * every, after 2,000 one of 4 * every, and so on: a run twice as
    long has 500 points more."""
    stride = every << (now // every // MOST_POINTS).bit_length()
    return now // stride > before // stride


class RunLog(Observer):
    """Buffers rows until `flush`. `state` holds the positions in the files, for an exact resume."""

    KEY = "RunLog"

    def __init__(
        self,
        task: TaskDir,
        rows: EpisodeRows,
        console: Console,
        every_episodes: int,
        every_updates: int,
        evaluated: Sequence[str] = (),
        writers: Mapping[str, StepStore] | None = None,
        loggers: Mapping[str, Logger] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """evaluated: numbers that callbacks give the episodes of an evaluation. writers: by the kind of their
        records. loggers: by their names. config: all settings, for the loggers."""
        self.writers, self._policies = writers or {}, rows.policies
        self.task, self.console = task, console
        self.every_episodes, self.every_updates = every_episodes, every_updates
        self.files: dict[str, LineLog] = {
            "train": CsvLog(task.train, rows.columns),
            "eval": CsvLog(task.eval, (*EVAL_COLUMNS, *evaluated)),
            "progress": CsvLog(task.progress, rows.progress_columns),
            "result": JsonLog(task.result, needed=False),
        }
        self.loggers = Loggers(loggers or {}, task.path, config or {}, console.warn)
        self._step: int | None = None
        """Environment step at the end of the last iteration; None before it, also that of the run of a branch."""

    def recorded(self, kind: str, item: Any) -> None:
        if kind in self.writers:
            self.writers[kind].add(item)

    def episodes(self, episodes: Sequence[Episode], rows: Sequence[Row]) -> None:
        self.files["train"].extend(rows)
        for episode, row in zip(episodes, rows, strict=True):
            if is_point(row["episode"] - 1, row["episode"], self.every_episodes):
                values = {"train_ep_reward": episode.total, "train_ep_step": episode.length}
                values |= self._returns("ep_return", episode.metrics)
                self.loggers.scalars("interact", values, row["step"])

    def updates(self, learned: Learned, first: int) -> None:
        last = first + learned.updates
        if is_point(first, last, self.every_updates):
            self.loggers.scalars("model", {f"train_{n}": values[-1] for n, values in learned.metrics.items()}, last)

    def evaluation(self, evaluation: Evaluation, count: Count, best: bool) -> None:
        self.files["eval"].append({**count._asdict(), **evaluation.facts(), "best": int(best), **evaluation.metrics()})
        values = {"train_online_eval_reward": evaluation.mean}
        values |= self._returns("online_eval_return", evaluation.metrics())
        self.loggers.scalars("interact", values, count.step)

    def _returns(self, name: str, metrics: Mapping[str, float]) -> dict[str, float]:
        """Returns the returns of the policies as curves beside the curves of their metrics: train_POLICY/NAME."""
        returns = {policy: metrics.get(f"{RETURN}{policy}") for policy in self._policies}
        return {f"train_{policy}/{name}": value for policy, value in returns.items() if value is not None}

    def result(self, result: Result) -> None:
        self.task.check_there()
        self.files["progress"].append(progress_row(result))
        self.files["result"].append({**result, "pid": os.getpid()})
        before = 0 if result["iteration"] == 1 else self._step
        if before is not None and result["seconds"] > 0 and is_point(result["iteration"] - 1, result["iteration"], 1):
            speed = (result["step"] - before) / result["seconds"]
            self.loggers.scalars("interact", {"train_steps_per_second": speed}, result["step"])
        self._step = result["step"]

    def flush(self) -> None:
        """Writes buffered rows to the files."""
        for file in self.files.values():
            file.flush()

    def sync(self) -> None:
        """Writes buffered rows to the files, and the points of loggers. They are on the disk when this returns."""
        for file in self.files.values():
            file.position()
        self.loggers.state()  # a state refers to what is on the disk

    def state(self) -> Tree:
        """Returns the positions in the files."""
        self.task.check_there()
        self.flush()
        files = {name: {"position": file.position(), "crc": file.crc} for name, file in self.files.items()}
        writers = {kind: writer.state() for kind, writer in self.writers.items()}
        return {"files": files, "step": self._step, "loggers": self.loggers.state(), "records": writers}

    def load_state(self, state: Any) -> None:
        """Truncates the files to their saved positions: one curve, no row twice."""
        for name, place in state["files"].items():
            file = self.files[name]
            if not file.restore(**place):
                self.altered(file.path, lost=file.size < place["position"])
        self._step = state.get("step", 0)
        self.loggers.load_state(state.get("loggers", {}))
        for kind, writer in self.writers.items():
            if kind in state["records"] and not writer.restore(state["records"][kind]):
                self.altered(writer.path)

    def altered(self, path: Path, lost: bool = False) -> None:
        """Reports a file whose bytes before the checkpoint are no longer those that were written. Nothing that the
        training needs is in it, so the run continues, and run.json keeps the fact. lost: True if some are missing."""
        names = self.task.facts().altered_files or []
        name = path.relative_to(self.task.path).as_posix()
        self.task.write_run({"altered_files": [*names, *([] if name in names else [name])]})
        sentence = tr("{path} was altered or damaged since the checkpoint; the run continues, the file is kept")
        if lost:
            sentence = tr("{path} has lost rows that it had at the checkpoint; the run continues, the file is kept")
        self.console.warn(sentence.format(path=as_written(path)))

    def close(self) -> None:
        """Writes buffered rows and closes the files."""
        with contextlib.ExitStack() as stack:
            stack.callback(self.loggers.close)
            for file in self.files.values():
                stack.callback(file.close)
            for writer in self.writers.values():
                stack.callback(writer.close)
            self.flush()
