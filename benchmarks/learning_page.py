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
TEXT = ROOT / "benchmarks"
TABLE = TEXT / "learning.yaml"
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


@dataclass(frozen=True)
class Words:
    """Words of a page in one language: its text, with places for the tables, the forms of cells, and translations."""

    page: str
    forms: Mapping[str, str]
    translations: Mapping[str, str]
    """Names of rows and families, causes and kinds of sources, from English."""

    def cell(self, form: str, **values: object) -> str:
        """Returns a form with its values."""
        return self.forms[form].format(**values)

    def text(self, english: str) -> str:
        """Returns a name or a sentence of learning.yaml in this language."""
        return self.translations.get(english, english)


def words_of(letters: str) -> Words:
    """Returns the words of a language, by its two letters."""
    forms: dict[str, Any] = yaml.safe_load(TEXT.joinpath("learning_words.yaml").read_text(encoding="utf-8"))[letters]
    page = TEXT.joinpath(f"learning.{letters}.md").read_text(encoding="utf-8")
    return Words(page, forms, forms.pop("translations", {}))


def summary(
    known: Sequence[Row], results: Mapping[str, Entry], families: Mapping[str, Sequence[str]], words: Words
) -> list[str]:
    """Returns the lines of a table with a line for each family of algorithms."""
    lines = []
    for family, algos in families.items():
        rows = [row for row in known if row.algo in algos and not row.short]
        scores = {row: float(np.mean(results[row.name][counted(results[row.name])])) for row in rows
                  if row.name in results}  # fmt: skip
        goals = [score >= row.goal for row, score in scores.items() if row.goal is not None]
        published = {row: score >= row.theirs for row, score in scores.items() if row.theirs is not None}
        below = [words.cell("pair", algo=row.algo, env=words.text(row.env))
                 for row, reached in published.items() if not reached]  # fmt: skip
        counts = (
            words.cell("part", part=part, all=whole)
            for part, whole in (
                (len(scores), len(rows)),
                (sum(goals), len(goals)),
                (sum(published.values()), len(published)),
            )
        )
        lines.append(_line([words.text(family), *counts, words.forms["comma"].join(below)]))
    return lines


def bars(row: Row) -> list[float]:
    """Returns the numbers that a row's score is compared with: its goal, and what others have published."""
    return [number for number in (row.goal, row.theirs) if number is not None]


def is_below(row: Row, entry: Entry) -> bool:
    """Returns True if the mean of a row's scores is below its goal or the published number."""
    return any(float(np.mean(entry[counted(entry)])) < bar for bar in bars(row))


def below_cells(row: Row, entry: Entry, words: Words) -> list[str]:
    """Returns the cells of a line of the table of rows that are below."""
    scores = np.array(entry[counted(entry)], float)
    reached = int(np.sum(scores >= max(bars(row))))
    goal = "" if row.goal is None else f"{row.goal:g}"
    published = "" if row.published is None else f"{row.published:g}"
    ours = f"{np.mean(entry['steps']):,.0f}" if any(entry["steps"]) else ""
    steps = words.forms["comma"].join(filter(None, [ours, row.steps]))
    shown = ", ".join(short(float(score)) for score in scores)
    share = words.cell("part", part=reached, all=len(scores))
    return [words.text(row.env) + f"/{row.algo}", shown, goal, published, share, steps, words.text(row.below)]


def page(known: Iterable[Row], results: Mapping[str, Entry], content: Mapping[str, Any], words: Words) -> str:
    """Returns docs/learning.md in a language. content: that of learning.yaml."""
    known, sources = list(known), content["sources"]
    whole, short_ones = ([row for row in known if row.short == kind] for kind in (False, True))
    counts = [
        words.cell("part", part=sum(row.name in results for row in rows), all=len(rows)) for rows in (whole, short_ones)
    ]
    names = words.forms["and"].join(dict.fromkeys(f"`{row.shown_file()}`" for row in known if row.explores()))
    at_random = {row.env: short(results[row.name]["random"]) for row in known if row.name in results}
    measured = [row for row in known if row.name in results]
    tables = {
        "summary": summary(known, results, content["families"], words),
        "results": [
            _line(cells(row, results.get(row.name), sources, words, at_random.get(row.env, ""))) for row in whole
        ],
        "below": [
            _line(below_cells(row, results[row.name], words))
            for row in measured
            if not row.short and is_below(row, results[row.name])
        ],
        "short_runs": [_line(short_cells(row, results.get(row.name), words)) for row in short_ones],
        "conditions": [_line([row.name, *_circumstances(results[row.name])]) for row in measured],
        "sources": [_source(key, source, words) for key, source in sources.items()],
    }
    return words.page.format(
        whole=counts[0],
        short=counts[1],
        least=LEAST_EPISODES,
        explored=words.cell("explored", names=names) if names else "",
        **{name: "\n".join(lines) for name, lines in tables.items()},
    )


def _source(key: str, source: Entry, words: Words) -> str:
    """Returns the line of a source."""
    runs = source.get("runs")
    text = "" if runs is None else words.forms["one_run"] if runs == 1 else words.cell("runs", runs=runs)
    kind = words.text(source["kind"])
    return words.cell("source", key=key, title=source["title"], url=source["url"], kind=kind, runs=text)


def cells(row: Row, entry: Entry | None, sources: Mapping[str, Entry], words: Words, at_random: str = "") -> list[str]:
    """Returns the cells of a line; at_random: score of the random policy from another row of the environment."""
    goal = "" if row.goal is None else f"{row.goal:g}"
    mine = [*[""] * 6, at_random]
    if entry:
        scores = np.array(entry[counted(entry)], float)
        if row.goal is not None:
            reached = "reached" if len(scores) >= row.seeds else "few"
            outcome = "missed" if float(statistics.mean(scores)) < row.goal else reached
            goal = words.cell("goal", goal=goal, outcome=words.forms[outcome])
        by_chance = short(entry["random"])
        mine = [
            f"{np.mean(entry['steps']):,.0f}",
            ", ".join(map(str, entry["seeds"])),
            _mean(entry, "best"),
            _middle(scores),
            _mean(entry, "last"),
            words.cell("time", seconds=f"{np.mean(entry['seconds']):,.0f}", runs=entry["at_once"]),
            words.cell("data", random=by_chance, data=short(entry["data"])) if "data" in entry else by_chance,
        ]
    return [words.text(row.env), row.algo, *mine, goal, *_published(row, sources, words)]


def short_cells(row: Row, entry: Entry | None, words: Words) -> list[str]:
    """Returns the cells of a line of the table of short runs."""
    if not entry:
        return [row.env, row.algo, *[""] * 5]
    steps, seconds = np.mean(entry["steps"]), np.mean(entry["seconds"])
    updates = next((int(word.partition("=")[2]) for word in row.words if word.startswith("general_cfg.max_update=")), 0)
    length = f"{steps:,.0f}" if steps else words.cell("updates", updates=f"{updates:,}")
    scores = [_mean(entry, "best"), _mean(entry, "last")]
    seconds_text = words.cell("seconds", seconds=f"{seconds:,.0f}")
    return [words.text(row.env), row.algo, length, *scores, short(entry["random"]), seconds_text]


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


def _published(row: Row, sources: Mapping[str, Entry], words: Words) -> tuple[str, str]:
    if row.published is None:
        return "", ""
    if row.source not in sources:
        raise BenchmarkError(f"{row.name}: there is no source {row.source!r}")
    value = f"{row.published:g}" if isinstance(row.published, float | int) else row.published
    about = [part for part in (row.version, row.steps and words.cell("steps", steps=row.steps)) if part]
    return value, words.forms["comma"].join([words.cell("at", source=row.source), *about])


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
