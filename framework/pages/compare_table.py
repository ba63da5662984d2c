"""The table that a comparison prints, in 80 columns, and compare.csv."""

import csv
import io
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from config.tell.cells import cells as width_of
from config.tell.cells import wrapped
from config.tell.language import english, tr
from config.tell.names import printable
from framework.archive.measure import Comparison, Score, SeriesScores
from framework.archive.series import differing
from framework.pages import compare_words as words
from framework.screen.formatting import between, counted, short_cell
from framework.screen.tables import WIDTH, lines
from framework.screen.terminal import Screen

LONGEST_NAME = 20
"""Characters of the name of a series in a table."""
LONGEST_VALUE = 24
"""Characters of a setting in a table."""
MOST_SETTINGS = 12
"""Number of settings that the terminal shows; the page has all."""
INTERVAL = english("95 % interval")
BEST_INTERVAL = english("95 % interval ")
"""Head of the column that is left out first; another column has the same without the blank."""


def show(compared: Comparison, screen: Screen) -> None:
    """Prints the tables of an environment, the settings that differ, and the remarks."""
    screen.say(f"\n{printable(compared.environment)}", "bold")
    if caveat := words.budget(compared):
        _say(screen, caveat, "yellow")
    for sentence in words.sentences(compared):
        _say(screen, sentence)
    screen.say("")
    _print(screen, [_scores(row) for row in compared.rows], BEST_INTERVAL)
    if others := compared.rows[1:]:
        screen.say("")
        _print(screen, [_improvement(row) for row in others])
    value, origin = short_cell(compared.threshold.value), compared.threshold.origin
    _say(screen, tr("\nuntil {value} ({origin})", value=value, origin=origin))
    _print(screen, [{english("series"): _name(row), **words.threshold(row, compared)} for row in compared.rows])
    for line in _settings(compared) if others else ():
        _say(screen, line) if width_of(line) > WIDTH else screen.say(line)
    screen.say("")
    for row in compared.rows:
        places = tr("; ").join(words.places(row.series))
        _say(screen, printable(tr("{series}: {places}", series=row.series.name, places=places)))
    screen.say("")
    scores, kind = words.measure(compared)
    _say(screen, scores, "yellow" if kind else "")
    for remark in words.remarks(compared):
        _say(screen, remark, "yellow")


def _print(screen: Screen, cells: Sequence[Mapping[str, str]], least: str = "") -> None:
    """Prints a table. least: head of the column that is left out if it does not fit."""
    if width_of(lines(cells)[0]) > WIDTH:
        cells = [{head: text for head, text in row.items() if head != least} for row in cells]
    for line in lines(cells):
        screen.say(line.rstrip())


def _say(screen: Screen, text: str, style: str = "") -> None:
    """Prints a text in lines that fit."""
    start = "\n" if text.startswith("\n") else ""
    text = text.strip()
    if width_of(text) > len(text):  # Chinese, which breaks between its letters
        pieces = ["\n  ".join(wrapped(text, WIDTH - 2))]
    else:
        pieces = textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    screen.say(start + "\n".join(pieces), style)


def _name(row: SeriesScores) -> str:
    name = row.series.name
    return name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}"


def _scores(row: SeriesScores) -> dict[str, str]:
    return {
        english("series"): _name(row),
        english("seeds"): str(row.scored),
        english("final IQM"): short_cell(row.final.value),
        INTERVAL: between(row.final.interval),
        english("best IQM"): short_cell(row.best.value),
        BEST_INTERVAL: between(row.best.interval),
    }


def _improvement(row: SeriesScores) -> dict[str, str]:
    return {
        english("series"): _name(row),
        english("P(> first)"): short_cell(row.improvement.value),
        INTERVAL: between(row.improvement.interval),
        english("verdict"): tr(row.verdict),
    }


def _settings(compared: Comparison) -> Iterator[str]:
    """Yields the lines of the settings that differ: a table if it fits, otherwise a line for each."""
    settings, partial = differing([row.series for row in compared.rows])
    every = {**settings, **partial}
    chosen = list((every if len(every) <= MOST_SETTINGS else settings or partial).items())[:MOST_SETTINGS]
    if not chosen:
        yield tr("\nno setting differs")
        return
    cells = {printable(path): [_short(value) for value in row] for path, row in chosen}
    names = [_name(row) for row in compared.rows]
    heads = [name if names.count(name) == 1 else f"{number} {name}" for number, name in enumerate(names, start=1)]
    table = lines([{english("setting"): path, **dict(zip(heads, row, strict=True))} for path, row in cells.items()])
    yield ""
    if width_of(table[0]) <= WIDTH:
        yield from table
    else:
        yield from (f"{path}: {' | '.join(row)}" for path, row in cells.items())
    if more := len(every) - len(cells):
        yield tr("and {count} in compare.html", count=counted(more, "more setting"))


def _short(value: str) -> str:
    text = printable(value) or "-"
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


# ----------------------------------------------------------------------------------------------------- for programs


def rows(compared: Comparison) -> list[dict[str, Any]]:
    """Returns a row for each series: the columns of compare.csv. None for what is not known."""
    whole, partial = differing([row.series for row in compared.rows])
    return [
        {
            "environment": compared.environment,
            "series": row.series.name,
            "seeds": [run.seed for run in row.series.runs],
            "scored": row.scored,
            "score": "evaluation" if compared.curves.evaluated else "training",
            "at": compared.at,
            **_columns("final", row.final),
            **_columns("best", row.best),
            **_columns("improvement", row.improvement),
            "verdict": row.verdict,
            "threshold": compared.threshold.value,
            "reached": row.reached,
            words.counting(compared): row.steps,
            "seconds": row.seconds,
            "states": [run.state for run in row.series.runs],
            "settings": {path: row.series.settings.get(path) for path in (*whole, *partial)},
            "folders": [str(run.folder) for run in row.series.runs],
        }
        for row in compared.rows
    ]


def _columns(name: str, score: Score) -> dict[str, float | None]:
    low, high = score.interval or (None, None)
    return {name: score.value, f"{name}_low": low, f"{name}_high": high}


def as_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Returns compare.csv: lists and settings are JSON, and what is not known is an empty cell."""
    text = io.StringIO()
    table = csv.DictWriter(text, list(dict.fromkeys(name for row in records for name in row)), lineterminator="\n")
    table.writeheader()
    table.writerows({name: _plain(value) for name, value in row.items()} for row in records)
    return text.getvalue()


def _plain(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else value
