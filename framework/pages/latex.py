"""The final scores of a comparison as a table for a paper, in LaTeX."""

import re
import textwrap
from collections.abc import Iterator, Sequence

from config.tell.language import tr
from config.tell.names import printable
from framework.archive.measure import BUDGETS, TOO_FEW, Comparison, Score
from framework.pages import compare_words as words
from framework.screen.formatting import counted, short

WIDTH = 100
"""Characters of a line of a comment."""
_ESCAPED = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_POWER = re.compile(r"e([+-]\d+)$")
_SPECIAL = re.compile(r"[\\~^&%$#_{}]")


def table(several: Sequence[Comparison], about: str) -> str:
    """Returns a row for each series and a column for each environment, below comments that say what the numbers are.
    The highest score of an environment is bold, and so are those whose intervals overlap with its own; none is where
    the budgets are unequal, or there are too few seeds. about: where the table comes from."""
    names = list(dict.fromkeys(row.series.name for comparison in several for row in comparison.rows))
    columns = [_column(comparison) for comparison in several]
    lines = [_row(["", *(escaped(comparison.environment) for comparison in several)]), r"\midrule"]
    lines += [_row([escaped(name), *(column.get(name, "--") for column in columns)]) for name in names]
    return "\n".join(
        [
            *(f"% {line}" for text in _comments(several, about) for line in textwrap.wrap(text, WIDTH)),
            rf"\begin{{tabular}}{{l{'r' * len(several)}}}",
            r"\toprule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def escaped(text: str) -> str:
    """Returns a text as LaTeX that shows it."""
    return _SPECIAL.sub(lambda match: _ESCAPED.get(match[0], rf"\{match[0]}"), printable(text))


def _comments(several: Sequence[Comparison], about: str) -> Iterator[str]:
    yield about
    yield tr(
        "Needs \\usepackage{booktabs}. Interquartile means of the final scores over seeds, "
        "with 95 % intervals from 3 seeds on."
    )
    for comparison in several:
        seeds = tr(", ").join(f"{row.series.name} {counted(row.scored, 'seed')}" for row in comparison.rows)
        yield printable(tr("{series}: {sentence}", series=comparison.environment, sentence=seeds))
        yield from filter(None, [words.measure(comparison)[0], words.budget(comparison)])


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _column(comparison: Comparison) -> dict[str, str]:
    """Returns the cells of an environment by the names of their series."""
    scores = {row.series.name: row.final for row in comparison.rows if row.final.value is not None}
    best = max(scores.values(), key=lambda score: score.value or 0.0)
    judged = len(scores) > 1 and all(row.verdict not in (BUDGETS, TOO_FEW) for row in comparison.rows)
    return {name: _cell(score, judged and _overlaps(score, best)) for name, score in scores.items()}


def _overlaps(score: Score, best: Score) -> bool:
    if score is best or score.value == best.value:
        return True
    return score.interval is not None and score.interval[1] >= (best.interval or (best.value or 0.0,))[0]


def _cell(score: Score, bold: bool) -> str:
    value = _number(score.value or 0.0)
    text = rf"$\mathbf{{{value}}}$" if bold else f"${value}$"
    if score.interval is None:
        return text
    return rf"{text} {{\scriptsize $[{_number(score.interval[0])}, {_number(score.interval[1])}]$}}"


def _number(value: float) -> str:
    return _POWER.sub(lambda match: rf" \times 10^{{{int(match[1])}}}", short(value).replace(",", "{,}"))
