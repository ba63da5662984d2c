"""Sections of report.html that only a training run has."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from config.program import PROGRAM
from config.read.opening import read_regular
from config.read.paths import as_written
from framework.archive.curves import known
from framework.collect.fragment import RETURN
from framework.disk.csv_table import MOST_BYTES, read_csv, read_table
from framework.loop.iteration import EPISODE_COLUMNS
from framework.pages import figures
from framework.pages.html_curves import curves
from framework.pages.html_page import (
    MOST_ROWS,
    Name,
    Number,
    cards,
    image,
    pairs,
    paragraph,
    plain,
    section,
    table,
    text,
    video,
)
from framework.screen.formatting import (
    clock,
    counted,
    not_above_random,
    number,
    resume_command,
    scored,
    spread,
    video_command,
)

MOST_LINES = 40
"""Number of lines of dialogues that the report shows."""
NEWEST_ROWS = 10
"""Number of evaluations that are not folded away, if there are more than twice as many."""
MOST_AGENTS = 8
"""Number of agents of a policy that are named."""
Facts = Mapping[str, Any]
Rows = Sequence[Mapping[str, Any]]


def training(task: Path, run: Facts) -> list[str]:
    """Returns the sections in their order."""
    train, evaluations = read_table(task / "results" / "train.csv"), read_csv(task / "results" / "eval.csv")
    curve = task / "results" / "learning_curve.png"
    return [
        _outcome(task, run, train, evaluations),
        image("Learning curve", curve, "image/png", drawn=True),
        film(task / "videos"),
        section("Commands", _commands(task, run)),
        section("Evaluations", _evaluations(task / "models", evaluations, _names(run))),
        section("Checkpoints", _checkpoints(task / "models", evaluations)),
        curves(task / "results", train, evaluations, _score_policy(run), _levels(run)),
        section("Policies", _policies(run, train, evaluations)),
        section("Metrics", _metrics(run, train)),
        section("Where the time went", _profile(run)),
        section("Processes", paragraph(run["processes_said"]) if run.get("processes_said") else ""),
        section("Exactness", _repeatable(run) + _resumes(run)),
    ]


def outcome_facts(run: Facts, train: Rows, evaluations: Rows) -> list[tuple[str, Any]]:
    """Returns the facts of the cards; those that are not known are None."""
    score = run.get("score") or (evaluations[-1] if evaluations else None)
    best, last = _best(evaluations), train[-1] if train else {}
    seconds, step = _real(run.get("seconds")), run.get("step", last.get("step"))
    speed = _real(step)
    return [
        ("score", spread(score) if score else None),
        ("best evaluation", best["mean"] if best else None),
        ("random policy", run.get("random_return")),
        ("expected", run.get("expected_return")),
        ("data", run.get("data_return")),
        ("episodes", run.get("episode", last.get("episode"))),
        ("steps", step),
        ("updates", run.get("update", last.get("update"))),
        ("duration", clock(seconds) if seconds else None),
        ("steps per second", round(speed / seconds) if speed and seconds else None),
        ("seed", plain(run.get("seed"))),
    ]


def _outcome(task: Path, run: Facts, train: Rows, evaluations: Rows) -> str:
    score = run.get("score") or (evaluations[-1] if evaluations else None)
    notes = paragraph(f"Ended: {run['outcome']}", "quiet") if run.get("outcome") else ""
    if notes and run.get("finished") is False and _numbers(task / "models"):
        notes += f"<pre>{text(resume_command(task, _allowed(run)))}</pre>"
    if run.get("drawn"):
        notes += paragraph(
            f"Drawn while the run trained, as it stood at {run['drawn']}. Reload the page later.", "quiet"
        )
    if score and not_above_random(_real(score["mean"]), _real(run.get("random_return"))):
        notes += paragraph("The score is not above that of the random policy.", "warning")
    return cards(outcome_facts(run, train, evaluations)) + notes


def film(folder: Path) -> str:
    """Returns the section of the video, or the beginning of the dialogues; nothing if there is neither."""
    path = folder / "dialogue.txt"
    if not path.is_file():
        return image("Video", folder / "video.gif", "image/gif") or video("Video", folder / "video.mp4")
    spoken = read_regular(path, MOST_BYTES).decode(errors="replace").splitlines()
    more = paragraph(f"The first {MOST_LINES} of {len(spoken)} lines of {path.name}.", "quiet")
    shown = f"<pre>{text(chr(10).join(spoken[:MOST_LINES]))}</pre>"
    return section("Dialogues", shown + (more if len(spoken) > MOST_LINES else ""))


def _allowed(run: Facts) -> tuple[str, ...]:
    """Returns the packages of the user that the commands must allow to import."""
    return tuple(map(str, run.get("allow_import") or ()))


def _commands(task: Path, run: Facts) -> str:
    allowed = _allowed(run)
    commands = [
        ("Resume training", resume_command(task, allowed)),
        ("Repeat the run from its beginning", f"{PROGRAM} --yaml {shlex.quote(str(as_written(task / 'config.yaml')))}"),
    ]
    if run.get("can_film", True):
        commands.insert(0, ("Film the best model", video_command(task, allowed)))
    return "".join(f"{paragraph(what)}<pre>{text(command)}</pre>" for what, command in commands)


def _score_policy(run: Facts) -> str | None:
    """Returns the policy whose return is the score; None: the return of all agents."""
    name = run.get("score_policy")
    return name if isinstance(name, str) else None


def _levels(run: Facts) -> dict[str, float]:
    """Returns the returns that the run is compared with, by their names."""
    names = {"expected": "expected_return", "data": "data_return", "random policy": "random_return"}
    values = {name: number(run.get(key)) for name, key in names.items()}
    return {name: value for name, value in values.items() if value is not None}


def _names(run: Facts) -> list[str]:
    """Returns the names of the numbers that the environment gives an episode."""
    found = run.get("numbers")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _evaluations(models: Path, rows: Rows, numbers: Sequence[str]) -> str:
    """Returns a table that also shows which evaluated models are kept."""
    best, kept, shown = _best(rows), set(_numbers(models)), rows[-MOST_ROWS:]
    cells = []
    for row in shown:
        update = row.get("update")
        names = ["best"] if row is best else []
        names += [f"models/{update}"] if update in kept else []
        values = (row.get("min"), row.get("max"), *(row.get(name) for name in numbers))
        cells.append((update, row.get("step"), Number(spread(row)), *values, ", ".join(names)))
    episodes = {row["episodes"] for row in rows if "episodes" in row}
    notes = [f"{counted(episodes.pop(), 'episode')} each."] if len(episodes) == 1 else []
    if len(shown) < len(rows):
        notes.append(f"The last {len(shown)} of {len(rows)}; results/eval.csv has all of them.")
    heads = ("update", "step", "mean ± std", "min", "max", *map(Name, numbers), "model")
    last = len(cells) - NEWEST_ROWS if len(cells) > 2 * NEWEST_ROWS else 0
    earlier = f"<details><summary>{last} earlier ones</summary>{table(heads, cells[:last])}</details>" if last else ""
    said = paragraph(" ".join(notes), "quiet") if notes and cells else ""
    return said + earlier + table(heads, cells[last:])


def _numbers(models: Path) -> list[int]:
    names = [path.name for path in models.iterdir() if path.is_dir()] if models.is_dir() else []
    return sorted(int(name) for name in names if name.isdecimal())


def _checkpoints(models: Path, evaluations: Rows) -> str:
    numbers, best = _numbers(models), _best(evaluations)
    rows = []
    if (models / "best").is_dir():
        score = f"update {best['update']:,}: {scored(best)}" if best else ""
        rows.append(("models/best", score))
    if numbers:
        scores = {row.get("update"): scored(row) for row in evaluations}
        rows.append((f"models/{numbers[-1]}", ": ".join(filter(None, ("newest", scores.get(numbers[-1]))))))
    others = f"{counted(len(numbers), 'numbered checkpoint')}: {_listed(numbers)}" if numbers else ""
    return pairs(rows) + (paragraph(others, "quiet") if others else "")


def _listed(numbers: Sequence[int]) -> str:
    shown = [str(number) for number in numbers]
    return ", ".join(shown if len(shown) <= 12 else [*shown[:3], "...", *shown[-3:]])


def _policies(run: Facts, train: Rows, evaluations: Rows) -> str:
    """Returns a table of the policies of a multi-agent environment; nothing for a single agent."""
    heads = ("policy", "algorithm", "agents", "return in training", "return in evaluation", "last loss")
    window = train[-figures.window_for(len(train)) :]
    cells = []
    for name, facts in _several(run).items():
        marks = ["its return is the score"] if name == run.get("score_policy") else []
        marks += [] if facts.get("learns", True) else ["does not learn"]
        returns, losses = known(window, f"return_{name}"), known(train, f"{name}/loss")
        evaluated = evaluations[-1].get(f"return_{name}") if evaluations else None
        agents = facts.get("agents") or ()
        shown = ", ".join(agents[:MOST_AGENTS]) + (
            f" and {len(agents) - MOST_AGENTS} more" * (len(agents) > MOST_AGENTS)
        )
        cells.append(
            (
                f"{name} ({', '.join(marks)})" if marks else name,
                facts.get("algorithm"),
                shown,
                float(returns.mean()) if len(returns) else None,
                _real(evaluated) if _is_number(evaluated) else None,
                float(losses[-1]) if len(losses) else None,
            )
        )
    note = (
        f"Returns are means over the agents of a policy; in training, over the last {counted(len(window), 'episode')}."
    )
    return (paragraph(note, "quiet") if cells else "") + table(heads, cells)


def _several(run: Facts) -> Mapping[str, Facts]:
    """Returns the facts about each policy of a multi-agent environment."""
    found = run.get("policies")
    return found if isinstance(found, dict) and all(isinstance(facts, dict) for facts in found.values()) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and value == value


def _metrics(run: Facts, train: Rows) -> str:
    """Returns a table of what the agent measured while it learned; with several policies, one for each."""
    cells: dict[str, list[tuple[Any, ...]]] = {policy: [] for policy in _several(run)}
    for name in train[-1] if train else ():
        values = known(train, name)
        if name in (*EPISODE_COLUMNS, "phase") or not len(values):
            continue
        policy, _, metric = name.partition("/")
        if name.startswith(RETURN) and name.removeprefix(RETURN) in cells:
            policy, metric = name.removeprefix(RETURN), "return"
        policy, shown = (policy, metric) if policy in cells else ("", name)
        row = (Name(shown), *map(float, (values[0], values[-1], values.min(), values.max())))
        cells.setdefault(policy, []).append(row)
    heads = ("metric", "first", "last", "lowest", "highest")
    return "".join(
        (f"<h3>{text(policy)}</h3>" if policy and rows else "") + table(heads, rows) for policy, rows in cells.items()
    )


def _profile(run: Facts) -> str:
    """Returns a table of the parts that were timed; nothing without general_cfg.profile."""
    parts = [part for part in run.get("profile") or () if isinstance(part, dict)]
    total = sum(_real(part.get("seconds")) or 0.0 for part in parts)
    rows = [(part.get("name"), seconds, 100 * seconds / total, part.get("calls") or None)
            for part in parts if total and (seconds := _real(part.get("seconds"))) is not None]  # fmt: skip
    return table(("part", "seconds", "%", "calls"), rows)


def _repeatable(run: Facts) -> str:
    """Returns whether a run can be repeated to the byte, and if not, why."""
    found = run.get("repeatable")
    if not isinstance(found, dict) or found.get("exact") is None:
        return ""
    reasons = list(map(str, found.get("inexact_because") or ()))
    reasons += ["the clock ended it"] if str(run.get("outcome")).startswith("max_time") else []
    if reasons:
        return paragraph(f"It cannot be repeated to the byte: {'; '.join(reasons)}.")
    return paragraph(
        "A run in one go can be repeated to the byte: the same settings, seed and number of threads give equal "
        "numbers, with these versions on this kind of processor."
    )


def _resumes(run: Facts) -> str:
    sentences = []
    if run.get("branched_from"):
        sentences.append(f"Started from {run['branched_from']}{_exactness(run)}.")
    for resume in run.get("resumes") or ():
        sentences.append(
            f"Resumed from checkpoint {resume.get('from')} at {resume.get('started')}{_exactness(resume)}."
        )
    if run.get("foreach_env"):
        sentences.append(f"The {run['foreach_env']}; a resume begins without that, and is not exact.")
    for name in run.get("altered_files") or ():
        sentences.append(f"{name} was altered or damaged before a resume; its earlier rows may not be the run's own.")
    return "".join(map(paragraph, sentences))


def _exactness(resume: Facts) -> str:
    """Returns the level of exactness that was computed for a resume or a branch."""
    if resume.get("exact") is True:
        return ": exact to the byte, as if the run had never stopped"
    because = resume.get("inexact_because")
    reasons = because if isinstance(because, str) else "; ".join(map(str, because or ()))
    unknown = "exact" in resume and resume["exact"] is None
    return f": {'unknown whether it is exact' if unknown else 'not exact'}: {reasons}" if reasons else ""


def _best(evaluations: Rows) -> Mapping[str, Any] | None:
    """Returns the evaluation of models/best: the last of those that were the best so far."""
    return next((row for row in reversed(evaluations) if row.get("best") == 1), None)


def _real(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
