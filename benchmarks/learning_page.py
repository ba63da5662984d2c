"""Rows of benchmarks/learning.yaml, and docs/learning.md, made from them and from the measurements."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from config.read import presets
from framework.archive import statistics
from framework.archive.run import RecordedRun, is_run
from framework.disk.task_dir import checkpoint_numbers
from framework.screen.formatting import short

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "benchmarks" / "learning.yaml"
LEAST_EPISODES = 20
Entry = Mapping[str, Any]
"""Measurements of a row, as in learning.json; or a source of published numbers."""


class BenchmarkError(Exception):
    """Raised if a row cannot be measured."""


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    env: str
    algo: str
    goal: float | None = None
    published: float | str | None = None
    steps: str = ""
    version: str = ""
    """Version of the environment in the publication, if it is not ours."""
    source: str = ""
    preset: str = ""
    words: tuple[str, ...] = ()
    score: str = "return"
    seeds: int = 3
    data: str = ""
    """Folder of given data that the preset learns from."""
    short: bool = False
    """True for a small part of the preset's run, which only shows that it trains."""
    below: str = ""
    """Why the score is below the goal or the published number, as far as is known; empty if it is not."""

    @property
    def name(self) -> str:
        return f"{self.env}/{self.algo}{', short' if self.short else ''}"

    @property
    def theirs(self) -> float | None:
        """Published number that the score is compared with; None if there is none, or an optimum, which no mean over
        episodes exceeds."""
        return self.published if isinstance(self.published, float | int) and self.source != "optimum" else None

    def file(self) -> Path:
        """Returns the path of its preset; raises BenchmarkError if it has none of its own."""
        path = self._path()
        if path is None:
            raise BenchmarkError(f"{self.name} has no preset yet")
        return path

    def _path(self) -> Path | None:
        path = presets.PRESETS / self.preset if self.preset else presets.find(self.algo, self.env)
        return path if path is not None and path.exists() else None

    def _preset(self) -> dict[str, Any]:
        content: dict[str, Any] = yaml.safe_load(self.file().read_text(encoding="utf-8"))
        return content

    def explores(self) -> bool:
        """Returns True if models are tested with the exploration of training: a stochastic policy draws its actions."""
        return self._path() is not None and bool(self._preset()["general_cfg"].get("explore"))

    def changes(self) -> list[str]:
        """Returns the settings that differ from the preset."""
        family = self.file().parent.name.startswith("_")
        return [*([f"env_cfg.id={self.env.split()[0]}"] if family else []), *self.words]

    def command(self) -> list[str]:
        """Returns the arguments of main.py."""
        return ["--yaml", str(self.file()), *self.changes()]

    def shown(self) -> str:
        """Returns the same command as typed in the project's folder."""
        return " ".join(["--yaml", self.shown_file(), *self.changes()])

    def shown_file(self) -> str:
        """Returns the path of the preset from the project's folder."""
        path = self.file()
        return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)

    def settings(self) -> str:
        """Returns a fingerprint of all settings of the command: a measurement with another one is of another run."""
        settings = [self._preset(), self.changes()]
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


def rows() -> list[Row]:
    """Returns the rows of learning.yaml."""
    found = table()
    return [
        *[Row(**{**row, "words": tuple(row.get("words", ()))}) for row in found["rows"]],
        *[
            Row(row["env"], row["algo"], preset=row.get("preset", ""), words=_length(row), data=row.get("data", ""),
                seeds=1, short=True)
            for row in found.get("short", [])
        ],
    ]  # fmt: skip


def _length(row: Mapping[str, Any]) -> tuple[str, ...]:
    limits = {"steps": "max_total_step", "updates": "max_update"}
    limit = next(f"general_cfg.{setting}={row[key]}" for key, setting in limits.items() if key in row)
    return (limit, *row.get("words", ()))


def table() -> dict[str, Any]:
    """Returns the content of learning.yaml: sources and rows."""
    return _parsed(TABLE.read_text(encoding="utf-8"))


@cache
def _parsed(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def collecting(row: Row) -> list[list[str]]:
    """Returns the arguments of the commands that collect the data of a row, and what they are played with; none if they
    are there or it needs none. A training that was stopped goes on."""
    if not row.data or _is_whole(Path(row.data)):
        return []
    commands = [words.split() for words in table()["data"][row.data]]
    left = [words for words in commands if not _is_whole(Path(words[-1]))]
    return [["resume", words[-1]] if checkpoint_numbers(Path(words[-1], "models")) else words for words in left]


def _is_whole(folder: Path) -> bool:
    """Returns True for a run that has ended, and for what is no run of ours. Raises BenchmarkError for one that another
    process writes."""
    if not folder.exists() or not is_run(folder):
        return folder.exists()
    if (state := RecordedRun(folder).state) == "running":
        raise BenchmarkError(f"{folder} is being written by another process")
    return state == "finished"


def chosen(words: Iterable[str]) -> list[Row]:
    """Returns the rows that the words name, in the order of the page; raises BenchmarkError for an unknown word."""
    known, found = rows(), set()
    for word in words:
        hits = {row.name for row in known if word.lower() in _called(row)}
        if not hits:
            raise BenchmarkError(f"{word} is not a row of {TABLE.name}; without arguments, all rows are listed")
        found |= hits
    return [row for row in known if row.name in found]


def _called(row: Row) -> tuple[str, ...]:
    """Returns the words that name a row. A short row has only its name, and `short` for all short rows."""
    names = (row.name, "short") if row.short else (row.name, row.env, row.algo)
    return tuple(name.lower() for name in names)


INTRODUCTION = """\
# Learning

Scores of the presets, beside published results. `python benchmarks/learning.py ROW` measures a row and
writes this page. {whole} rows have been measured, and {short} [short ones](#short-runs); in the others our cells
are empty. An empty cell under "published" means that there is no published result to compare with.

How a row is measured:

- Its preset is trained once for each seed, with `--seeds`. The interquartile mean and its interval are
  [calculated](task_directory.md#runs-with-several-seeds) as for every group of seeds.
- Each model then plays 100 episodes, or the number in its [line below](#conditions) (at least {least}),
  without exploration (but with `eval_epsilon`{explored}).
  Every episode has its own seed, so that the start states are distinct and were used neither in training nor in its
  evaluations. The exceptions are CliffWalking, FrozenLake and the two-step game, which have one start state, and Taxi,
  which has 300. The score of a run is the mean return; with several agents
  that is the sum over all of them. For bit flipping and reach it is the share of successes.
- **Best by online evaluation** is the mean score of `models/best`, one per seed: the model that a run selects by its
  own online evaluations, not by these episodes. **Last** is the mean score of the last models. The number in bold
  counts: the goal is compared with it, and the interquartile mean is over its scores.
- It is the mean of the best models where a run collects. Where it learns from data alone (0 steps) it is the mean
  of the last ones, since the choice by evaluations would need the environment that such a run is meant to do without.
  Where the two lie far apart, the score depends on when the training stops.
- **Steps** is the number of environment steps, as a mean over the seeds: a preset may stop when its task is solved.
- **Time** is the training time of one run, with the number of runs at once, by the clock: most rows were trained beside
  other work, which slowed or suspended them, so that it is an upper bound. **random** is the mean of the random policy,
  over the same number of episodes. **data** beside it is the mean score of the episodes that a row learns from, which
  are collected anew on each machine; rows that were measured before 2026-11-30 do not have it.
- A **published** number comes from another program, often with other settings, another
  number of steps and fewer runs; the [sources](#sources) describe how it was measured.
- Self-play is scored against random actions: 1 for a win, 0 for a draw, -1 for a loss. `benchmarks/board_games.py`
  plays tictactoe and connect four against a perfect player, too; the first lines of the presets have the results.

"""
EXPLORED = """; with {names} a policy draws its actions"""
CURVES = """\
## Curves

![Learning curves by environment](images/learning.svg)

Mean of the online evaluations of three seeds, with its 95 % interval; a row with one seed has no interval. A run
that stopped early, as its task was solved, keeps its last score. `python benchmarks/learning.py --page` draws them from
`benchmarks/results/curves.json`, which has the curves of the rows that were measured since 2026-11-26.

## Results

"""
SUMMARY = """\
## Summary

The mean of a row's scores beside its goal, and beside what others have published. An optimum, which no mean over
episodes exceeds, is not counted as published. [Short runs](#short-runs) are left out.

"""
SUMMARY_COLUMNS = ("family", "rows measured", "goal reached", "published value reached", "below it")
COLUMNS = (
    "environment", "algorithm", "steps", "seeds", "best by online evaluation", "interquartile mean [95 % interval]",
    "last", "time", "random", "goal", "published", "source",
)  # fmt: skip
BELOW = """\

## Below the goal or the published number

Each row whose mean is below one of them, the score of each seed, how many seeds reach it, and the cause as far as it
is known. A publication with one run may be a lucky or an unlucky one.

"""
BELOW_COLUMNS = ("row", "scores", "goal", "published", "seeds that reach both", "steps, ours and theirs", "cause")
SHORT = """\

## Short runs

For presets whose whole run takes many hours, a shorter run with one seed shows that they train. Schedules
follow the shorter length. The scores are means over the same 100 episodes; the bold one counts.

"""
WHEN = """\
A + after a commit means uncommitted changes, mostly of presets. The current presets have the settings that were
measured: a test compares the fingerprints of all settings. Rows of commits with other numbers than 22b6a8be75 and
7196c3013b are, except for several agents, older than these changes of the code: a reward_threshold wants two
evaluations in a row, so runs that stop at one take longer; an on-policy window is learned with the learning rate at
the start of its collection; normalize_obs counts each observation once, also with a replay buffer. The times of the
rows of these two commits, and of all rows of 2026-11-24 and 2026-11-26, were measured on a machine that was busy
with other work. CQL on Pendulum-v1 was measured with `entropy_backup: true`, which was its only way when it was
measured."""
SHORT_COLUMNS = ("environment", "algorithm", "steps", "best by online evaluation", "last", "random", "time")


def summary(known: Sequence[Row], results: Mapping[str, Entry], families: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns the lines of a table with a line for each family of algorithms."""
    lines = [_line(SUMMARY_COLUMNS), _line(["---"] * len(SUMMARY_COLUMNS))]
    for family, algos in families.items():
        rows = [row for row in known if row.algo in algos and not row.short]
        scores = {row: float(np.mean(results[row.name][counted(results[row.name])])) for row in rows
                  if row.name in results}  # fmt: skip
        goals = [score >= row.goal for row, score in scores.items() if row.goal is not None]
        published = {row: score >= row.theirs for row, score in scores.items() if row.theirs is not None}
        below = ", ".join(f"{row.algo} on {row.env}" for row, reached in published.items() if not reached)
        counts = f"{len(scores)} of {len(rows)}", f"{sum(goals)} of {len(goals)}"
        lines.append(_line([family, *counts, f"{sum(published.values())} of {len(published)}", below]))
    return lines


def bars(row: Row) -> list[float]:
    """Returns the numbers that a row's score is compared with: its goal, and what others have published."""
    return [number for number in (row.goal, row.theirs) if number is not None]


def is_below(row: Row, entry: Entry) -> bool:
    """Returns True if the mean of a row's scores is below its goal or the published number."""
    return any(float(np.mean(entry[counted(entry)])) < bar for bar in bars(row))


def below_cells(row: Row, entry: Entry) -> list[str]:
    """Returns the cells of a line of the table of rows that are below."""
    scores = np.array(entry[counted(entry)], float)
    reached = int(np.sum(scores >= max(bars(row))))
    goal = "" if row.goal is None else f"{row.goal:g}"
    published = "" if row.published is None else f"{row.published:g}"
    ours = f"{np.mean(entry['steps']):,.0f}" if any(entry["steps"]) else ""
    steps = ", ".join(filter(None, [ours, row.steps]))
    shown = ", ".join(short(float(score)) for score in scores)
    return [row.name, shown, goal, published, f"{reached} of {len(scores)}", steps, row.below]


def page(known: Iterable[Row], results: Mapping[str, Entry], content: Mapping[str, Any]) -> str:
    """Returns docs/learning.md. content: that of learning.yaml."""
    known, sources = list(known), content["sources"]
    whole, short_ones = ([row for row in known if row.short == kind] for kind in (False, True))
    counts = [f"{sum(row.name in results for row in rows)} of {len(rows)}" for rows in (whole, short_ones)]
    names = " and ".join(dict.fromkeys(f"`{row.shown_file()}`" for row in known if row.explores()))
    explored = EXPLORED.format(names=names) if names else ""
    introduction = INTRODUCTION.format(least=LEAST_EPISODES, whole=counts[0], short=counts[1], explored=explored)
    lines = [introduction + SUMMARY.rstrip("\n"), "", *summary(known, results, content["families"]), ""]
    lines += [CURVES + _line(COLUMNS), _line(["---"] * len(COLUMNS))]
    at_random = {row.env: short(results[row.name]["random"]) for row in known if row.name in results}
    lines += [_line(cells(row, results.get(row.name), sources, at_random.get(row.env, ""))) for row in whole]
    lines += [BELOW + _line(BELOW_COLUMNS), _line(["---"] * len(BELOW_COLUMNS))]
    lines += [
        _line(below_cells(row, results[row.name]))
        for row in whole
        if row.name in results and is_below(row, results[row.name])
    ]
    lines += [SHORT + _line(SHORT_COLUMNS), _line(["---"] * len(SHORT_COLUMNS))]
    lines += [_line(short_cells(row, results.get(row.name))) for row in short_ones]
    found = [(row.name, results[row.name]) for row in known if row.name in results]
    lines += ["", "## Conditions", "", WHEN, ""]
    if found:
        names = ("row", "date", "commit", "machine", "test episodes", "command")
        lines += [_line(names), _line(["---"] * len(names))]
        lines += [_line([name, *_circumstances(entry)]) for name, entry in found]
    else:
        lines.append("No row has been measured yet.")
    version = "The version of the environment is the row's, unless the cell names another."
    lines += ["", "## Sources", "", version, ""]
    for key, source in sources.items():
        runs = {None: "", 1: "; one run each"}.get(source.get("runs"), f"; {source.get('runs')} runs each")
        lines.append(f"- **{key}**: [{source['title']}]({source['url']}): {source['kind']}{runs}.")
    return "\n".join(lines) + "\n"


def cells(row: Row, entry: Entry | None, sources: Mapping[str, Entry], at_random: str = "") -> list[str]:
    """Returns the cells of a line; at_random: score of the random policy from another row of the environment."""
    goal = "" if row.goal is None else f"{row.goal:g}"
    mine = [*[""] * 6, at_random]
    if entry:
        scores = np.array(entry[counted(entry)], float)
        if row.goal is not None:
            reached = ", reached" if len(scores) >= row.seeds else ", too few seeds"
            goal += ", missed" if float(statistics.mean(scores)) < row.goal else reached
        mine = [
            f"{np.mean(entry['steps']):,.0f}",
            ", ".join(map(str, entry["seeds"])),
            _mean(entry, "best"),
            _middle(scores),
            _mean(entry, "last"),
            f"{np.mean(entry['seconds']):,.0f} s, {entry['at_once']} at once",
            short(entry["random"]) + (f"; data {short(entry['data'])}" if "data" in entry else ""),
        ]
    return [row.env, row.algo, *mine, goal, *_published(row, sources)]


def short_cells(row: Row, entry: Entry | None) -> list[str]:
    """Returns the cells of a line of the table of short runs."""
    if not entry:
        return [row.env, row.algo, *[""] * (len(SHORT_COLUMNS) - 2)]
    steps, seconds = np.mean(entry["steps"]), np.mean(entry["seconds"])
    updates = next((int(word.partition("=")[2]) for word in row.words if word.startswith("general_cfg.max_update=")), 0)
    length = f"{steps:,.0f}" if steps else f"{updates:,} updates"
    scores = [_mean(entry, "best"), _mean(entry, "last")]
    return [row.env, row.algo, length, *scores, short(entry["random"]), f"{seconds:,.0f} s"]


def counted(entry: Entry) -> str:
    """Returns which models count: the last ones of runs that have collected nothing, otherwise those that evaluations
    chose."""
    return "best" if any(entry["steps"]) else "last"


def _mean(entry: Entry, models: str) -> str:
    """Returns the mean score of the best or the last models, in bold if it counts."""
    text = short(float(statistics.mean(np.array(entry[models], float))))
    return f"**{text}**" if models == counted(entry) else text


def _middle(scores: np.ndarray) -> str:
    """Returns the interquartile mean and its interval; empty for one run."""
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
