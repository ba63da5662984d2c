"""The rows of benchmarks/learning.yaml, and docs/learning.md made of them and of what was measured."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from config import presets
from framework.output import statistics
from framework.output.formatting import short

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "benchmarks" / "learning.yaml"
LEAST_EPISODES = 20
Entry = Mapping[str, Any]
"""What was measured of a row, as in learning.json; or a source of published numbers."""


class BenchmarkError(Exception):
    """A row could not be measured."""


@dataclass(frozen=True)
class Row:
    """A line of the page."""

    env: str
    algo: str
    goal: float | None = None
    published: float | str | None = None
    steps: str = ""
    version: str = ""
    """Of the environment, where it is not ours."""
    source: str = ""
    preset: str = ""
    words: tuple[str, ...] = ()
    score: str = "return"
    seeds: int = 3
    short: bool = False
    """A small part of the preset's run, which shows that it trains, and no more."""

    @property
    def name(self) -> str:
        return f"{self.env}/{self.algo}{', short' if self.short else ''}"

    def file(self) -> Path:
        """Its preset; BenchmarkError where it has none of its own."""
        path = presets.PRESETS / self.preset if self.preset else presets.find(self.algo, self.env)
        if path is None or path.parent.name == "_default" or not path.exists():
            raise BenchmarkError(f"{self.name} has no preset yet")
        return path

    def changes(self) -> list[str]:
        """What is changed in the preset."""
        family = self.file().parent.name.startswith("_")
        return [*([f"env_cfg.id={self.env}"] if family else []), *self.words]

    def command(self) -> list[str]:
        """What main.py is told."""
        return ["--yaml", str(self.file()), *self.changes()]

    def shown(self) -> str:
        """The same, as it is typed in the project's folder."""
        path = self.file()
        return " ".join(["--yaml", str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path), *self.changes()])

    def settings(self) -> str:
        """A fingerprint of all that the command sets: what was measured with another one, was another run."""
        told = [yaml.safe_load(self.file().read_text(encoding="utf-8")), self.changes()]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def rows() -> list[Row]:
    """Those of learning.yaml."""
    found = table()
    return [
        *[Row(**{**row, "words": tuple(row.get("words", ()))}) for row in found["rows"]],
        *[
            Row(row["env"], row["algo"], preset=row.get("preset", ""), words=_steps(row), seeds=1, short=True)
            for row in found.get("short", [])
        ],
    ]


def _steps(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (f"general_cfg.max_total_step={row['steps']}", *row.get("words", ()))


def table() -> dict[str, Any]:
    """The file as it is: sources and rows."""
    found: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return found


def chosen(words: Iterable[str]) -> list[Row]:
    """The rows that words name, in the order of the page; BenchmarkError for a word that names none."""
    known, found = rows(), set()
    for word in words:
        hits = {row.name for row in known if word.lower() in _called(row)}
        if not hits:
            raise BenchmarkError(f"{word} is no row of {TABLE.name}; without a word, they are listed")
        found |= hits
    return [row for row in known if row.name in found]


def _called(row: Row) -> tuple[str, ...]:
    """Words that name it. A short row has only its name, or `short` for all of them."""
    names = (row.name, "short") if row.short else (row.name, row.env, row.algo)
    return tuple(name.lower() for name in names)


INTRODUCTION = """\
# Learning

What the presets learn, beside what others have published. `python benchmarks/learning.py ROW` measures a row and
writes this page; an empty cell was not measured, or nothing is published that could be compared.

How a row is measured:

- Its preset is trained once for each seed, with `--seeds`, where it is also said how the interquartile mean and its
  interval are [calculated](task_directory.md#runs-with-several-seeds).
- Each model then plays 100 episodes, or as many as its [line below](#when-and-where) says (never less than {least}),
  without exploration, from starts of their own seeds: distinct ones that neither training nor its evaluations have
  seen, but for CliffWalking and FrozenLake, which have one start, and Taxi, which has 300. A run's score is their mean
  return; that of bit flipping and reach is the share of successes.
- **Mean** and **interquartile mean** are over the scores of `models/best`, one per seed: the model that a run hands
  out, chosen by its own online evaluations and not by these episodes. **Last** is the mean of the last models.
- **Steps** are environment steps, as a mean over the seeds: a preset may stop when its task is solved.
- **Time** is that of training one run, with so many side by side; **random** is the mean of a policy that knows
  nothing, over as many episodes.
- **Goal** is compared with the mean. A published number is another program's, often with other settings, other steps
  and fewer runs; the [sources](#sources) say what kind of number it is.

## Measured

"""
COLUMNS = (
    "environment", "algorithm", "steps", "seeds", "mean", "interquartile mean [95 % interval]", "last", "time",
    "random", "goal", "published", "source",
)  # fmt: skip
SHORT = """\

## Short runs

Of presets whose whole run takes many hours: a first part of it, with one seed, shows that they train. Schedules
follow the short length.

"""
WHEN = """\
A commit with + had changes on top of it, of presets for the most part. The presets of now are those that were measured:
a test compares the fingerprints of all that the commands set."""
SHORT_COLUMNS = ("environment", "algorithm", "steps", "best model", "random", "time")


def page(known: Iterable[Row], results: Mapping[str, Entry], sources: Mapping[str, Entry]) -> str:
    """docs/learning.md."""
    known = list(known)
    whole, short_ones = ([row for row in known if row.short == kind] for kind in (False, True))
    lines = [INTRODUCTION.format(least=LEAST_EPISODES) + _line(COLUMNS), _line(["---"] * len(COLUMNS))]
    at_random = {row.env: short(results[row.name]["random"]) for row in known if row.name in results}
    lines += [_line(cells(row, results.get(row.name), sources, at_random.get(row.env, ""))) for row in whole]
    lines += [SHORT + _line(SHORT_COLUMNS), _line(["---"] * len(SHORT_COLUMNS))]
    lines += [_line(short_cells(row, results.get(row.name))) for row in short_ones]
    found = [(row.name, results[row.name]) for row in known if row.name in results]
    lines += ["", "## When and where", "", WHEN, ""]
    if found:
        names = ("row", "date", "commit", "machine", "test episodes", "command")
        lines += [_line(names), _line(["---"] * len(names))]
        lines += [_line([name, *_circumstances(entry)]) for name, entry in found]
    else:
        lines.append("No row has been measured yet.")
    lines += ["", "## Sources", "", "The environment's version is that of the row where the row names no other.", ""]
    for key, source in sources.items():
        runs = {None: "", 1: "; one run each"}.get(source.get("runs"), f"; {source.get('runs')} runs each")
        lines.append(f"- **{key}**: [{source['title']}]({source['url']}): {source['kind']}{runs}.")
    return "\n".join(lines) + "\n"


def cells(row: Row, entry: Entry | None, sources: Mapping[str, Entry], at_random: str = "") -> list[str]:
    """A line of the table; at_random: what is known of the random policy from other rows of the environment."""
    goal = "" if row.goal is None else f"{row.goal:g}"
    mine = [*[""] * 6, at_random]
    if entry:
        scores = np.array(entry["best"], float)
        mean = float(statistics.mean(scores))
        if row.goal is not None:
            goal += ", missed" if mean < row.goal else ", reached" if len(scores) >= row.seeds else ", too few seeds"
        mine = [
            f"{np.mean(entry['steps']):,.0f}",
            ", ".join(map(str, entry["seeds"])),
            f"**{short(mean)}**",
            _middle(scores),
            short(float(np.mean(entry["last"]))),
            f"{np.mean(entry['seconds']):,.0f} s, {entry['at_once']} at once",
            short(entry["random"]),
        ]
    return [row.env, row.algo, *mine, goal, *_published(row, sources)]


def short_cells(row: Row, entry: Entry | None) -> list[str]:
    """A line of the table of short runs."""
    if not entry:
        return [row.env, row.algo, "", "", "", ""]
    steps, seconds = np.mean(entry["steps"]), np.mean(entry["seconds"])
    best = short(float(np.mean(entry["best"])))
    return [row.env, row.algo, f"{steps:,.0f}", f"**{best}**", short(entry["random"]), f"{seconds:,.0f} s"]


def _middle(scores: np.ndarray) -> str:
    """Interquartile mean and interval; nothing for one run."""
    between = statistics.interval(scores, statistics.interquartile_mean)
    if between is None:
        return ""
    return f"{short(float(statistics.interquartile_mean(scores)))} [{short(between[0])}, {short(between[1])}]"


def _published(row: Row, sources: Mapping[str, Entry]) -> tuple[str, str]:
    if row.published is None:
        return "", ""
    if row.source not in sources:
        raise BenchmarkError(f"{row.name}: there is no source {row.source!r}")
    value = f"{row.published:g}" if isinstance(row.published, float | int) else row.published
    about = [part for part in (row.version, row.steps and f"{row.steps} steps") if part]
    return value, ", ".join([f"[{row.source}](#sources)", *about])


def _circumstances(entry: Entry) -> list[str]:
    commit = str(entry["commit"] or "")
    return [
        entry["date"],
        commit[:10] + commit[40:],
        entry["machine"],
        str(entry["episodes"]),
        f"`{entry['command']}`",
    ]


def _line(values: Iterable[str]) -> str:
    return f"| {' | '.join(values)} |"
