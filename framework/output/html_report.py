"""report.html: the story of a run on one page, made only of what its task directory holds. It loads nothing, runs no
script, and shows every text as text."""

import base64
import html
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

import algos
import envs
from config.general import GeneralConfig
from config.task_config import load_task_config
from config.yaml_reader import DocumentError
from framework.checkpoint.atomic import read_regular, write_whole
from framework.output.csv_log import read_csv
from framework.output.formatting import resume_command, scored, short, video_command
from framework.runs.task_dir import TaskDir

MOST_ROWS = 200
"""Rows of a table; the CSV files have them all."""
MOST_VIDEO_BYTES = 16 * 2**20
"""A larger film is named, not shown."""
Facts = Mapping[str, Any]

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --quiet: #667085; --line: #e4e7ec; --paper: #ffffff; --card: #f8fafc;
  --accent: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --quiet: #98a2b3; --line: #2c3440; --paper: #12161c;
  --card: #1a2029; --accent: #6bb8e6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 3rem 1.5rem 4rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .25rem; letter-spacing: -.02em; }
h2 { font-size: 1.1rem; margin: 2.75rem 0 .75rem; }
p { margin: .5rem 0; } .quiet { color: var(--quiet); }
dl.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem; margin: 1.75rem 0; }
dl.facts div { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; }
dl.facts dt { color: var(--quiet); font-size: .8rem; }
dl.facts dd { margin: 0; font-size: 1.25rem; font-weight: 600; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere; }
dl.facts div.first dd { color: var(--accent); }
figure { margin: 0; } figure img { display: block; max-width: 100%; border-radius: .6rem; border: 1px solid var(--line);
  background: #fff; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .4rem .9rem .4rem 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
th { color: var(--quiet); font-weight: 500; white-space: nowrap; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem;
  margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere; font: .85rem/1.5 ui-monospace, monospace; }
"""


def write(task: Path) -> Path:
    """Write the page of a task directory, a training run or a test. Returns its path."""
    run, config = TaskDir(task).read_run(), _yaml(task / "config.yaml")
    evaluations = read_csv(task / "results" / "eval.csv")
    title = _title(config) or task.name
    parts = [
        f"<h1>{_text(title)}</h1>",
        f'<p class="quiet">{_text(task.name)}{_text("  ·  " + str(run["started"]) if "started" in run else "")}</p>',
        _outcome(task, run, config, evaluations),
        _picture("Learning curve", task / "results" / "learning_curve.png", "image/png"),
        _picture("Film", task / "videos" / "video.gif", "image/gif"),
        _how_to_go_on(task, config, tuple(map(str, run.get("allow_import") or ()))),
        _section(
            "Settings that differ from the defaults", _table(("setting", "value", "default"), _differences(config))
        ),
        _evaluations(evaluations),
        _episodes(read_csv(task / "results" / "test.csv")),
        _checkpoints(task / "models", evaluations),
        _section("Resumes and exactness", _exactness(run)),
        _section("Circumstances", _table(("", ""), _circumstances(run))),
    ]
    path = task / "report.html"
    write_whole(path, _page(title, "\n".join(parts)).encode())
    return path


def _page(title: str, body: str) -> str:
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{_STYLE}</style></head>\n<body><main>\n{body}\n</main></body></html>\n"
    )


# ------------------------------------------------------------------------------------------- what is read


def _yaml(path: Path) -> dict[str, dict[str, Any]]:
    try:
        return load_task_config(path.parent).settings()
    except DocumentError:
        return {}


def _title(config: Facts) -> str:
    algo = config.get("general_cfg", {}).get("algo_name")
    env = config.get("env_cfg", {}).get("id") or config.get("general_cfg", {}).get("env_name")
    return f"{algo} on {env}" if algo and env else ""


def _differences(config: Facts) -> list[tuple[str, str, str]]:
    """Setting, value, default. Settings of a user's own package are all shown: its code is not imported for a page."""
    general = config.get("general_cfg", {})
    defaults = {
        "general_cfg": GeneralConfig().model_dump(mode="json"),
        "algo_cfg": _defaults(algos, general.get("algo_name")),
        "env_cfg": _defaults(envs, general.get("env_name")),
    }
    rows = []
    for section, known in defaults.items():
        for key, value in config.get(section, {}).items():
            if key not in known or known[key] != value:
                rows.append((f"{section}.{key}", _value(value), _value(known[key]) if key in known else ""))
    return rows


def _defaults(finder: Any, name: Any) -> dict[str, Any]:
    if not isinstance(name, str) or "." in name:
        return {}
    try:
        defaults: dict[str, Any] = finder.get(name).Config().model_dump(mode="json")
    except (LookupError, ValueError):
        return {}
    return defaults


def _value(value: Any) -> str:
    return (
        yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6).removesuffix("\n...\n").strip()
    )


# ------------------------------------------------------------------------------------------- what is told


def _outcome(task: Path, run: Facts, config: Facts, evaluations: Sequence[Facts]) -> str:
    score = run.get("score") or (evaluations[-1] if evaluations else None)
    best = max((row["mean"] for row in evaluations if row.get("best") == 1), default=None)
    last = (read_csv(task / "results" / "train.csv") or [{}])[-1]
    facts = [
        ("score", scored(score).partition(" over ")[0] if score else None),
        ("best evaluation", best),
        ("random policy", run.get("random_return")),
        ("expected", run.get("expected_return")),
        ("episodes", run.get("episode", last.get("episode"))),
        ("steps", run.get("step", last.get("step"))),
        ("updates", run.get("update", last.get("update"))),
        ("seed", str(run["seed"]) if "seed" in run else None),
    ]
    cells = "".join(
        f"<div{' class=first' if not i else ''}><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>"
        for i, (name, value) in enumerate((name, value) for name, value in facts if value is not None)
    )
    ended = f'<p class="quiet">Ended: {_text(run["outcome"])}</p>' if run.get("outcome") else ""
    return f'<dl class="facts">{cells}</dl>{ended}'


def _picture(title: str, path: Path, kind: str) -> str:
    if not path.is_file():
        return ""
    if path.stat().st_size > MOST_VIDEO_BYTES:
        return _section(title, f"<p>{_text(path)} (too large to be shown here)</p>")
    data = base64.b64encode(read_regular(path, MOST_VIDEO_BYTES)).decode()
    return _section(title, f'<figure><img alt="{_text(title)}" src="data:{kind};base64,{data}"></figure>')


def _how_to_go_on(task: Path, config: Facts, allowed: tuple[str, ...]) -> str:
    if config.get("general_cfg", {}).get("mode") != "train":
        return ""
    rerun = f"python main.py --yaml {shlex.quote(str(task / 'config.yaml'))}"
    commands = [
        ("Film the best model", video_command(task, allowed)),
        ("Go on training", resume_command(task, allowed)),
        ("Repeat", rerun),
    ]
    return _section(
        "Commands", "".join(f"<p>{_text(what)}</p><pre>{_text(command)}</pre>" for what, command in commands)
    )


def _evaluations(rows: Sequence[Facts]) -> str:
    names = ("update", "step", "episode", "mean", "std", "min", "max", "median", "episodes")
    cells = [[*(row.get(name) for name in names), "best" if row.get("best") == 1 else ""] for row in rows[-MOST_ROWS:]]
    left_out = len(rows) - len(cells)
    note = f'<p class="quiet">The last {len(cells)}; results/eval.csv has all {len(rows)}.</p>' if left_out else ""
    return _section("Evaluations", note + _table((*names, ""), cells))


def _episodes(rows: Sequence[Facts]) -> str:
    names = ("episode", "return", "length", "terminated", "seed")
    return _section("Episodes", _table(names, [[row.get(name) for name in names] for row in rows[:MOST_ROWS]]))


def _checkpoints(folder: Path, evaluations: Sequence[Facts]) -> str:
    names = [path.name for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    numbers = sorted((int(name) for name in names if name.isdecimal()), reverse=True)
    scores = {row.get("update"): scored(row) for row in evaluations}
    rows = [("best", "")] if "best" in names else []
    rows += [(str(number), scores.get(number, "")) for number in numbers[:MOST_ROWS]]
    return _section("Checkpoints", _table(("models/", "evaluation"), rows))


def _exactness(run: Facts) -> str:
    sentences = []
    if run.get("branched_from"):
        sentences.append(f"Begun from {run['branched_from']}.")
    for resume in run.get("resumes") or ():
        sentences.append(
            f"Resumed from checkpoint {resume.get('from')} at {resume.get('started')}: {_verdict(resume)}."
        )
    if run.get("branched_from"):
        sentences.append(f"The branch: {_verdict(run)}.")
    for name in run.get("altered_files") or ():
        sentences.append(
            f"{name} was altered or damaged before a resume; its earlier rows may not be what the run wrote."
        )
    if run.get("checkpoint"):
        sentences.append(f"Tested: {run['checkpoint']}.")
    return "".join(f"<p>{_text(sentence)}</p>" for sentence in sentences)


def _verdict(resume: Facts) -> str:
    """Returns whether a resume was exact, as run.json says."""
    reasons = "; ".join(map(str, resume.get("inexact_because") or ()))
    if resume.get("exact") is True:
        return "exact to the byte, as if the run had never stopped"
    if resume.get("exact") is False:
        return f"not exact to the byte ({reasons})"
    return f"unknown whether it was exact{f' ({reasons})' if reasons else ''}"


_ABOUT = {
    "preset": "preset",
    "git_commit": "git commit",
    "python": "Python",
    "platform": "platform",
    "cores": "cores",
    "torch_threads": "torch threads",
}
"""Key of run.json -> label."""


def _circumstances(run: Facts) -> list[tuple[str, Any]]:
    words = run.get("command_line")
    rows: list[tuple[str, Any]] = []
    if isinstance(words, list):
        rows.append(("command", "python main.py " + shlex.join(map(str, words))))
    rows += [(label, str(run[key])) for key, label in _ABOUT.items() if run.get(key) is not None]
    versions = run.get("versions")
    if isinstance(versions, dict):
        rows.append(("versions", ", ".join(f"{name} {number}" for name, number in versions.items() if number)))
    return rows


# ------------------------------------------------------------------------------------------- how it is written


def _text(value: Any) -> str:
    """Any value as harmless text."""
    if isinstance(value, bool):
        value = str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return html.escape(short(value) if isinstance(value, float) else str(value))


def _section(title: str, body: str) -> str:
    return f"<section><h2>{_text(title)}</h2>{body}</section>" if body else ""


def _table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Nothing at all where there are no rows."""
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    if not body:
        return ""
    head = "".join(f"<th>{_text(name)}</th>" for name in names)
    head = f"<thead><tr>{head}</tr></thead>" if any(names) else ""
    return f'<div class="scroll"><table>{head}<tbody>{body}</tbody></table></div>'


def _cell(value: Any) -> str:
    return f"<td>{_text('' if value is None else value)}</td>"
