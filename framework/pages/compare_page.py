"""compare.html: series of runs on one page that loads nothing."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from config.program import PROGRAM
from config.system.terminal import joined
from config.tell.language import tr
from framework.archive import statistics
from framework.archive.curves import shown
from framework.archive.groups import begun
from framework.archive.measure import LEAST_SEEDS, Comparison, Score, SeriesScores
from framework.archive.run import RecordedRun
from framework.archive.series import Series, differing
from framework.pages import cell, charts, svg
from framework.pages import compare_words as words
from framework.pages import html_page as html
from framework.pages.charts import Charts
from framework.screen import outcome
from framework.screen.formatting import between, short

MOST_LINES = 60
"""Number of runs up to which each has a line; of more, only series have one."""
STYLE = html.asset("compare.css")


def document(several: Sequence[Comparison], left_out: Sequence[str], about: str) -> str:
    """Returns the page. left_out: remarks on environments without a comparison; about: the line below the title."""
    title = " · ".join(title_of([row.series for row in comparison.rows]) for comparison in several)
    parts = [f"<h1>{html.text(title)}</h1>", html.paragraph(about, "quiet")]
    if len(several) + len(left_out) > 1:
        remark = tr("Each environment has a section: scores of different environments are not comparable.")
        parts.append(html.paragraph(remark))
    parts += [html.paragraph(remark, "warning") for remark in left_out]
    drawn = Charts(smoothing=0)  # evaluations, or running means
    for number, comparison in enumerate(several):
        parts.append(f'<h2 class="env">{html.text(comparison.environment)}</h2>' if len(several) > 1 else "")
        parts += _section(comparison, drawn, f"runs-{number}")
    return html.page(title, "\n".join([*parts, drawn.data()]), STYLE)


def title_of(several: Sequence[Series]) -> str:
    """Returns what is compared, in words."""
    algorithms = list(dict.fromkeys(series.first.algorithm for series in several))
    environment = several[0].first.environment
    return tr("{algorithms} on {environment}", algorithms=tr(" and ").join(algorithms), environment=environment)


def _section(compared: Comparison, drawn: Charts, place: str) -> Iterator[str]:
    """Yields the parts about an environment. place: key of its chart."""
    yield html.paragraph(words.budget(compared), "warning")
    yield "".join(html.paragraph(sentence) for sentence in words.sentences(compared))
    yield "".join(html.paragraph(remark, "warning") for remark in words.remarks(compared))
    scores, kind = words.measure(compared)
    yield html.paragraph(scores, kind or "quiet")
    yield html.section(tr("Learning curves"), _curves(compared, drawn, place))
    yield html.section(tr("Scores"), _scores(compared))
    if len(compared.rows) > 1:
        probability = tr("Probability of improvement over {name}", name=compared.rows[0].series.name)
        yield html.section(probability, _improvement(compared))
        yield html.section(tr("Settings that differ"), _settings(compared))
    yield html.section(tr("Until the threshold"), _threshold(compared))
    yield html.section(tr("Runs"), _runs(compared))


def in_a_cell(compared: Comparison) -> Iterator[str]:
    """Yields what a notebook shows of the series of an environment: the verdict, the scores and the curves."""
    yield html.paragraph(words.budget(compared), "warning")
    yield "".join(html.paragraph(sentence) for sentence in words.sentences(compared))
    lines, levels = curves_of(compared)
    names = [row.series.name for row in compared.rows]
    yield cell.chart(lines, compared.curves.quantity, compared.curves.over, levels)
    interval = statistics.name_of_interval(LEAST_SEEDS)
    heads = (
        tr("series"), tr("runs"), tr("final"), interval, tr("best"), f"P(> {names[0]})", interval, tr("verdict"),
    )  # fmt: skip
    rows = [
        (
            row.series.name, html.Number(row.scored), row.final.value, html.Number(between(row.final.interval)),
            row.best.value, row.improvement.value, html.Number(between(row.improvement.interval)), tr(row.verdict),
        )
        for row in compared.rows
    ]  # fmt: skip
    yield html.table(heads, rows)
    yield "".join(html.paragraph(remark, "warning") for remark in words.remarks(compared))
    yield html.paragraph(words.measure(compared)[0], "quiet")


# ------------------------------------------------------------------------------------------------------ the curves


class Curves(NamedTuple):
    """Lines of a comparison, in the order of the colors of its series."""

    lines: list[charts.Line]
    levels: dict[str, float]
    """The threshold, if a run reaches it."""


def curves_of(compared: Comparison) -> Curves:
    """Returns the interquartile mean of each series, with its interval, and the runs."""
    several = [
        charts.Series(
            row.series.name,
            tr("{series}: interquartile mean of {count} runs", series=row.series.name, count=row.scored),
            [
                (_name(row.series, run), charts.axes_of(run, compared.curves, line[0]), line[1])
                for run, line in zip(_scored(compared, row), row.lines, strict=True)
            ],
        )
        for row in compared.rows
    ]
    thin = sum(row.scored for row in compared.rows) <= MOST_LINES
    lines = charts.lines_of(several, statistics.interquartile_mean, LEAST_SEEDS, thin)
    levels = {tr("threshold"): compared.threshold.value} if any(row.reached for row in compared.rows) else {}
    return Curves(lines, levels)


def _name(series: Series, run: RecordedRun) -> str:
    return tr("{series}, seed {seed}", series=series.name, seed=run.seed)


def _curves(compared: Comparison, drawn: Charts, place: str) -> str:
    lines, levels = curves_of(compared)
    drawn.add(place, shown(compared.curves.quantity), lines, levels, tall=True)
    note = tr(
        "Thick: interquartile mean over the runs of a series, where all of them have values, with its 95 % bootstrap "
        "interval from {count} runs on. Thin: the runs. Dashed: the threshold.",
        count=LEAST_SEEDS,
    )
    return charts.TOOLS + charts.place(place, wide=True) + html.paragraph(note, "quiet")


def _scored(compared: Comparison, row: SeriesScores) -> list[RecordedRun]:
    return [run for run in row.series.runs if str(run.folder) in compared.curves.lines]


# ------------------------------------------------------------------------------------------------------ the scores


def _scores(compared: Comparison) -> str:
    rows = [
        (
            row.series.name, html.Number(row.scored), row.final.value, html.Number(between(row.final.interval)),
            row.best.value, html.Number(between(row.best.interval)),
        )
        for row in compared.rows
    ]  # fmt: skip
    note = tr(
        "Interquartile means over the runs, with their 95 % stratified bootstrap intervals: of the score at the end, "
        "and of the best one of each run, which is too high where scores are noisy."
    )
    heads = (tr("series"), tr("runs"), tr("final"), tr("interval"), tr("best"), tr("interval"))
    finals = [row.final for row in compared.rows]
    ends = [end for score in finals for end in (score.interval or (score.value,)) if end is not None]
    drawn = _ranges(compared, finals, (min(ends), max(ends))) if ends else ""
    return html.table(heads, rows) + f"<h3>{html.text(tr('Final scores'))}</h3>" + drawn + html.paragraph(note, "quiet")


def _improvement(compared: Comparison) -> str:
    note = tr(
        "How probable it is that a run of a series ends with a higher score than a run of {first}; ties count one "
        "half. An interval that contains 0.5, the dashed line, means that the difference is within noise.",
        first=compared.rows[0].series.name,
    )
    scores = [row.improvement for row in compared.rows]
    return _ranges(compared, scores, (0.0, 1.0), 0.5) + html.paragraph(note, "quiet")


def _ranges(compared: Comparison, scores: Sequence[Score], ends: tuple[float, float], mark: float | None = None) -> str:
    """Returns a line for each score that is known, with its interval. ends: those of the scale; mark: a value that is
    marked on it."""
    ticks = svg.round_numbers(*ends)
    low, high = ticks[0], ticks[-1]

    def place(value: float) -> float:
        return 100 * (value - low) / (high - low)

    parts = []
    for number, (row, score) in enumerate(zip(compared.rows, scores, strict=True)):
        if score.value is None:
            continue
        color = f"background:var(--c{number % charts.COLORS})"
        bar = "" if mark is None else f'<u style="left:{place(mark):.2f}%"></u>'
        if score.interval:
            start, end = map(place, score.interval)
            bar += f'<i style="left:{start:.2f}%;width:{end - start:.2f}%;{color}"></i>'
        bar += f'<b style="left:{place(score.value):.2f}%;{color}"></b>'
        interval = between(score.interval) or tr("no interval")
        caption = tr("{value} ({interval})", value=short(score.value), interval=interval)
        if mark is not None:
            caption = tr(", ").join([caption, tr(row.verdict)])
        name = html.text(row.series.name)
        parts.append(f'<span>{name}</span><span class=n>{html.text(caption)}</span><div class="track">{bar}</div>')
    marks = "".join(f'<span style="left:{place(value):.2f}%">{svg.brief(value)}</span>' for value in ticks)
    scale = f'<div class="track ends">{marks}</div>'
    return f'<div class="ranges">{"".join(parts)}{scale}</div>'


def _threshold(compared: Comparison) -> str:
    counting = tr(words.counting(compared))
    rows = [(row.series.name, *map(html.Number, words.threshold(row, compared).values())) for row in compared.rows]
    note = tr(
        "Threshold {value}: {origin}. The first score that is not below it counts. {counting} and time of training are "
        "medians over all runs; empty if half of them never reach it. Times are comparable on one machine with equal "
        "load.",
        value=short(compared.threshold.value),
        origin=compared.threshold.origin,
        counting=counting.capitalize(),
    )
    return html.table((tr("series"), tr("reached"), counting, tr("time")), rows) + html.paragraph(note, "quiet")


# ---------------------------------------------------------------------------------------------- settings and runs


def _settings(compared: Comparison) -> str:
    heads = (tr("setting"), *(row.series.name for row in compared.rows))
    common, partial = (
        html.table(heads, [(html.Name(path), *row) for path, row in list(cells.items())[: html.MOST_ROWS]])
        for cells in differing([row.series for row in compared.rows])
    )
    every = common + html.folded(tr("Settings that not all of them have"), partial)
    none = tr("None; seeds, paths and what is only shown or kept are not compared.")
    return every or html.paragraph(none, "quiet")


def _runs(compared: Comparison) -> str:
    runs = [(row.series, run) for row in compared.rows for run in row.series.runs][: html.MOST_ROWS]
    cells = []
    for series, run in runs:
        line = compared.curves.lines.get(str(run.folder))
        end = (int(line[0][-1]), float(line[1][-1]), float(line[1].max())) if line else (None, None, None)
        commit = run.facts.git_commit or ""
        mark = f"{commit[:8]}{'+' if commit.endswith('+') else ''}"
        cells.append((series.name, html.plain(run.seed), outcome.shown(run.state), *end, mark, str(run.folder)))
    commands = "\n".join(dict.fromkeys(filter(None, (_command(run) for _, run in runs))))
    heads = (
        tr("series"), tr("seed"), tr("state"), tr(words.counting(compared)), tr("final"), tr("best"), tr("commit"),
        tr("folder"),
    )  # fmt: skip
    title = f"<h3>{html.text(tr('Commands'))}</h3>"
    return html.table(heads, cells) + (title + html.command(commands) if commands else "")


def _command(run: RecordedRun) -> str:
    """Returns the command that a run was started with, or its group; empty if that is not known."""
    words = begun(run.group).command_line if run.group else None
    words = run.facts.command_line if words is None else words
    return f"{PROGRAM} {joined(words)}" if words is not None else ""
