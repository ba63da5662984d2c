"""What a group of runs with several seeds leaves: seeds.csv, group.json, learning_curves.png, and a printed table."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from config.loader import RunConfig
from framework.checkpoint.atomic import write_whole
from framework.output import figures, statistics
from framework.output.csv_log import read_csv
from framework.output.formatting import clock, short
from framework.runs.task_dir import TaskDir

Curve = tuple[np.ndarray, np.ndarray]
"""Environment steps [n], returns [n]."""


class Result(NamedTuple):
    """A row of seeds.csv; None where there is nothing to say."""

    seed: int
    mean: float | None
    """Of the last evaluation, as the three after it."""
    std: float | None
    min: float | None
    max: float | None
    episodes: int | None
    best: float | None
    """Of all evaluations, the highest mean: that of models/best."""
    step: int | None
    seconds: float | None
    """From the start of the process to its end."""
    status: int | None
    folder: str


def result(task: TaskDir, seed: int, status: int | None, seconds: float) -> Result:
    """What a run has come to so far."""
    facts = task.read_run()
    rows: list[Any] = list(read_csv(task.results / "eval.csv"))
    last = rows[-1] if rows else {}
    return Result(
        seed=seed,
        mean=last.get("mean"),
        std=last.get("std"),
        min=last.get("min"),
        max=last.get("max"),
        episodes=last.get("episodes"),
        best=max((row["mean"] for row in rows), default=None),
        step=facts.get("step"),
        seconds=None if status is None else round(seconds, 1),
        status=status,
        folder=task.path.name,
    )


def told(one: Result) -> str:
    """A finished run in a few words."""
    score = "no evaluation" if one.mean is None else f"{short(one.mean)} ± {short(one.std or 0.0)}"
    return f"{score}, {one.step or 0:,} steps in {clock(one.seconds or 0.0)}"


def summary(results: Iterable[Result]) -> dict[str, Any]:
    """Mean and interquartile mean of the last evaluations of the runs that finished, each with its interval."""
    scores = np.array([one.mean for one in results if one.status == 0 and one.mean is not None], float)
    if not len(scores):
        return {"finished": 0}
    facts: dict[str, Any] = {"finished": len(scores)}
    for name, statistic in (("mean", statistics.mean), ("interquartile_mean", statistics.interquartile_mean)):
        facts[name] = float(statistic(scores))
        facts[f"{name}_interval"] = statistics.interval(scores, statistic)
    return facts


# ------------------------------------------------------------------------------------------------------- files


def write_facts(folder: Path, facts: Mapping[str, Any]) -> None:
    """Add facts to group.json."""
    path = folder / "group.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    write_whole(path, (json.dumps({**known, **facts}, indent=2, ensure_ascii=False) + "\n").encode())


def write_table(folder: Path, results: Iterable[Result]) -> None:
    """seeds.csv; an empty cell means: nothing to say yet."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(Result._fields)
    rows.writerows(results)
    write_whole(folder / "seeds.csv", text.getvalue().encode())


def curves(folder: Path, results: Iterable[Result], evaluated: bool) -> tuple[list[Curve], str]:
    """Return over steps of each run that has some, and what the returns are: online evaluations where all have them,
    else running means of the training episodes."""
    tasks = [TaskDir(folder / one.folder) for one in results]
    evaluations = [_curve(read_csv(task.results / "eval.csv"), "mean") for task in tasks]
    found = [curve for curve in evaluations if len(curve[0])]
    if evaluated and found and all(len(step) > 1 for step, _ in found):
        return found, "return of the evaluations"
    episodes = [_curve(read_csv(task.results / "train.csv"), "return") for task in tasks]
    found = [(step, figures.smooth(value, figures.window_for(len(value)))) for step, value in episodes if len(step)]
    return found, "return of the episodes, running mean"


def _curve(rows: Sequence[Mapping[str, Any]], name: str) -> Curve:
    points = np.array([(row["step"], row[name]) for row in rows], float).reshape(-1, 2)
    return points[:, 0], points[:, 1]


def draw(
    folder: Path, config: RunConfig, results: Sequence[Result], show: bool, warn: Callable[[str], None]
) -> Path | None:
    """learning_curves.png; a figure that cannot be drawn costs a warning."""
    path = folder / "learning_curves.png"
    known = [TaskDir(folder / one.folder).read_run().get("random_return") for one in results]
    measured = [value for value in known if value is not None]
    try:
        lines, what = curves(folder, results, config.general.online_eval)
        if not lines:
            return None
        figures.seed_curves(
            lines,
            path,
            title=f"{config.algo_package.NAME} on {getattr(config.env, 'id', config.general.env_name)}",
            what=what,
            random_return=sum(measured) / len(measured) if measured else None,
            expected_return=config.expected_return,
            show=show,
        )
    except Exception as error:  # matplotlib raises what it likes; the runs are worth more than their picture
        warn(f"warning: the learning curves could not be drawn: {error}")
        return None
    return path


# ------------------------------------------------------------------------------------------- what is printed

HEADS = ("seed", "mean ± std", "min", "max", "episodes", "best", "steps", "time", "status")


def table(results: Sequence[Result]) -> list[str]:
    """The lines of the table, and below it what the finished runs say together."""
    cells = [HEADS, *(_cells(one) for one in results)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADS))]
    lines = ["   ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in cells]
    return ["", *lines, "", *_together(summary(results), len(results)), ""]


def _cells(one: Result) -> tuple[str, ...]:
    if one.mean is None:
        scores = ("", "", "", "", "")
    else:
        spread = f"{short(one.mean)} ± {short(one.std or 0.0)}"
        scores = (spread, short(one.min or 0.0), short(one.max or 0.0), f"{one.episodes:,}", short(one.best or 0.0))
    status = {None: "not begun", 0: "done"}.get(one.status, f"status {one.status}")
    time = "" if one.seconds is None else clock(one.seconds)
    return (str(one.seed), *scores, "" if one.step is None else f"{one.step:,}", time, status)


def _together(facts: Mapping[str, Any], runs: int) -> list[str]:
    count = facts["finished"]
    if not count:
        return ["no run finished with an evaluation"]
    names = {"mean": "mean", "interquartile_mean": "interquartile mean"}
    lines = []
    for key, name in names.items():
        between = facts[f"{key}_interval"]
        spread = f"   95 % interval {short(between[0])} to {short(between[1])}" if between else ""
        lines.append(f"{name:<18}   {short(facts[key]):>7}{spread}")
    return [*lines, f"of the last evaluations of {count} of {runs} runs"]
