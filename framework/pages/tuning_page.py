"""report.html of a tuning: what was tried and how it came out, on one page that loads nothing."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from config.read.search_space import LISTS, Domain
from config.read.task_files import GroupFiles
from config.read.tuning import TuneConfig
from config.tell.language import english, tr
from framework.archive.curves import Curves, shown
from framework.archive.run import RecordedRun
from framework.archive.trials import TrialResult
from framework.disk.facts import Circumstances
from framework.pages import charts, svg
from framework.pages import html_page as html
from framework.pages.charts import Charts
from framework.pages.svg import Axis, Line
from framework.screen import outcome
from framework.screen.formatting import cell, clock, counted, short

STATES = ("running", "finished", "paused", "interrupted", "replaced", "failed", "waiting")
LATE = 3
"""Number of times its patience after which the page of a tuning that runs is late."""
MOST_LINES = 300
"""Number of trials in a figure, best first."""
LINES = tr(
    "A line for each trial, from blue for the worst to orange for the best, which is thick. Trials that are not "
    "trained to the end are pale, those without a score dashed."
)
"""Meaning of the lines in parallel coordinates."""
STYLE, SCRIPT = svg.STYLE + html.asset("tuning.css"), html.asset("tuning.js")


class Importance(NamedTuple):
    """Estimates of how much each setting matters."""

    shares: Mapping[str, float] = MappingProxyType({})
    """Share of each in being among the best quarter of the trials, the largest first; empty if too few have a score."""
    trials: int = 0
    """Number of trials that have a score."""
    remark: str = ""
    """Reason why the shares are not known; empty if they are."""


class TuningContents(NamedTuple):
    """Contents of a page."""

    folder: Path
    title: str
    domains: Sequence[Domain]
    cfg: TuneConfig
    rows: Sequence[TrialResult]
    """All trials, best first."""
    best: TrialResult | None
    """The best trial, once tuning has ended."""
    reasons: Mapping[str, str]
    """Name of a trial that failed -> why."""
    curves: Curves
    """Curves of the trials, by their names."""
    runs: Mapping[str, RecordedRun]
    """The run of each trial that has the curve."""
    commands: Sequence[tuple[str, str]]
    """Effect of a command, and the command."""
    begun: Circumstances
    session: str = english("ended")
    """running, interrupted or ended."""
    importance: Importance = Importance()
    patience: float = 30.0
    """Seconds after which the page of a tuning that runs is written again."""


def write(contents: TuningContents) -> Path:
    """Writes the page into the folder of a tuning. Returns its path."""
    from framework.pages.html_report import system  # imports torch, which the figures do without

    drawn = Charts(smoothing=0)  # evaluations, or running means
    parts = [
        _subtitle(contents),
        _outcome(contents),
        html.section(tr("Search"), html.pairs(_search(contents))),
        html.section(tr("Best settings"), _best(contents)),
        _commands(contents),
        html.section(tr("Trials"), _trials(contents)),
        html.section(tr("Settings and scores"), _parallel(contents)),
        html.section(tr("Importance of the settings"), _importance(contents.importance)),
        html.section(tr("Learning curves"), _curves(contents, drawn)),
        html.section(tr("Trials that failed"), html.pairs(contents.reasons.items())),
        html.section(tr("System"), html.pairs(system(contents.begun))),
        drawn.data(),
    ]
    return html.write(contents.folder, contents.title, parts, STYLE, SCRIPT)


def _subtitle(contents: TuningContents) -> str:
    started = contents.begun.started
    parts = [contents.folder.name, *([tr("begun {time}", time=started)] if started else [])]
    line = "  ·  ".join(map(html.text, parts))
    if contents.session != "running":
        return f"<p class=quiet>{line}  ·  {tr(contents.session)}</p>"
    now = time.strftime("%Y-%m-%d %H:%M:%S %z")
    until = f'data-until="{time.time() + LATE * contents.patience:.0f}" data-written="{now}"'
    state = tr("running, as of {time}", time=now)
    return f'<p class=quiet>{line}  ·  <span class="alive" {until}>{state}</span></p>'


def _commands(contents: TuningContents) -> str:
    hidden = " hidden" if contents.session == "running" else ""
    body = html.section(tr("Commands"), html.commands(contents.commands))
    return f"<div{hidden}>{body}</div>" if body else ""


def _outcome(contents: TuningContents) -> str:
    states = [row.state for row in contents.rows]
    seconds = [row.seconds for row in contents.rows if row.seconds]
    top = contents.best or next((row for row in contents.rows if row.score is not None), None)
    facts = [
        (tr("best score") if contents.best else tr("best score so far"), top.score if top else None),
        (tr("best trial"), html.plain(top.trial.name) if top else None),
        (tr("trials"), len(states)),
        *((outcome.shown(state), states.count(state) or None) for state in STATES),
        (tr("time of all trials"), clock(sum(seconds)) if seconds else None),
    ]
    return html.cards(facts)


def _search(contents: TuningContents) -> list[tuple[str, Any]]:
    cfg = contents.cfg
    rows: list[tuple[str, Any]] = [(html.Name(domain.path), _written(domain)) for domain in contents.domains]
    search, scheduler = [str(cfg.search), counted(cfg.samples, "sample")], [str(cfg.scheduler)]
    if cfg.search != "random":
        search.append(tr("{trials} at once", trials=counted(cfg.batch, "trial")))
    if cfg.halves:
        scheduler.append(tr("1 of {eta} goes on", eta=cfg.eta))
    score = [cfg.score, tr("higher is better") if cfg.mode == "max" else tr("lower is better")]
    if cfg.seeds > 1:
        score.append(tr("each the interquartile mean of {runs}", runs=counted(cfg.seeds, "run")))
    rows += [
        (tr("search"), tr(", ").join(search)),
        (tr("scheduler"), tr(", ").join(scheduler)),
        (tr("score"), tr(", ").join(score)),
        (tr("seed"), str(cfg.seed)),
    ]
    return rows


def _written(domain: Domain) -> str:
    """Returns the values of a domain in words."""
    if domain.kind in LISTS:
        return tr("{kind} of {values}", kind=domain.kind, values=", ".join(map(cell, domain.values)))
    low, high = domain.values
    return tr("{kind} from {low} to {high}", kind=domain.kind, low=low, high=high)


def _best(contents: TuningContents) -> str:
    if contents.best is None:
        return ""
    chosen = zip(contents.domains, contents.best.trial.settings, strict=True)
    return html.pairs((html.Name(domain.path), cell(value)) for domain, value in chosen)


# ----------------------------------------------------------------------------------------------------- the trials


def short_names(paths: Sequence[str]) -> list[str]:
    """Returns the last parts of the names of settings; whole names where two are equal."""
    last = [path.rpartition(".")[2] for path in paths]
    return [name if last.count(name) == 1 else path for name, path in zip(last, paths, strict=True)]


def _trials(contents: TuningContents) -> str:
    best = contents.rows[: html.MOST_ROWS]
    names = short_names([domain.path for domain in contents.domains])
    rows = [
        [
            html.Number(row.trial.name), row.score, row.best, *(_setting(value) for value in row.trial.settings),
            row.step, row.last_return, row.seconds, outcome.shown(row.state),
        ]
        for row in best
    ]  # fmt: skip
    part = html.part_of(contents.rows, best, "best", GroupFiles(contents.folder).table("trial").name)
    heads = (
        *map(html.Number, (tr("trial"), tr("score"), tr("best"))),
        *map(html.Name, names),
        *map(html.Number, (tr("steps"), tr("last return"), tr("seconds"))),
    )
    whole = html.table((*heads, tr("state")), rows)
    if contents.best is not None:
        whole = whole.replace("<tbody><tr>", '<tbody><tr class="first">', 1)
    return f'{html.paragraph(part, "quiet")}<div class="trials">{whole}</div>' if rows else ""


def _setting(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return html.Number(cell(value)) if number else cell(value)


def looks(contents: TuningContents) -> list[tuple[TrialResult, Line]]:
    """Returns how the line of each trial looks, the best first."""
    scored = [row.trial.name for row in contents.rows if row.score is not None and row.state != "failed"]
    shares = {name: 1 - place / max(1, len(scored) - 1) for place, name in enumerate(scored)}
    lines = []
    for row in contents.rows[:MOST_LINES]:
        share = shares.get(row.trial.name)
        kind = "failed" if share is None else "" if row.state == "finished" else "pale"
        if contents.best is not None and row.trial.name == contents.best.trial.name:
            kind = "first"
        lines.append((row, Line(_about(contents, row), share, kind)))
    return lines


def _about(contents: TuningContents, row: TrialResult) -> str:
    names = short_names([domain.path for domain in contents.domains])
    values = (f"{name} {cell(value)}" for name, value in zip(names, row.trial.settings, strict=True))
    score = tr("no score") if row.score is None else tr("score {value}", value=short(row.score))
    return tr(
        "trial {name}: {settings}; {score}, {state}",
        name=row.trial.name,
        settings=", ".join(values),
        score=score,
        state=outcome.shown(row.state),
    )


def coordinates(contents: TuningContents) -> tuple[list[Axis], list[tuple[TrialResult, Line, list[Any]]]]:
    """Returns the axes of the settings and the score, and each trial with its line and its value on each axis; nothing
    without a score."""
    scores = [row.score for row in contents.rows if row.score is not None]
    if not scores:
        return [], []
    names = short_names([domain.path for domain in contents.domains])
    axes = [_axis(name, domain) for name, domain in zip(names, contents.domains, strict=True)]
    axes.append(Axis(tr("score"), "linear", (min(scores), max(scores))))
    lines = []
    for row, line in looks(contents):
        values = list(map(_on_axis, contents.domains, row.trial.settings))
        lines.append((row, line, [*values, None if line.kind == "failed" else row.score]))
    return axes, lines


def _parallel(contents: TuningContents) -> str:
    axes, lines = coordinates(contents)
    drawn = [(line, values) for _, line, values in lines]
    return html.paragraph(LINES, "quiet") + svg.parallel(axes, drawn) if axes else ""


def _axis(name: str, domain: Domain) -> Axis:
    if domain.kind in LISTS:
        return Axis(name, "list", [cell(value) for value in domain.values])
    return Axis(name, "log" if domain.kind == "log" else "linear", domain.values)


def _on_axis(domain: Domain, value: Any) -> Any:
    return cell(value) if domain.kind in LISTS else value


def _importance(importance: Importance) -> str:
    if importance.remark:
        return html.paragraph(importance.remark, "quiet")
    bars = "".join(
        f'<span>{html.text(path)}</span><i style="width:{max(100 * share, 0.5):.1f}%"></i>'
        f"<span>{100 * share:.0f} %</span>"
        for path, share in importance.shares.items()
    )
    note = tr(
        "Share of each setting in being among the best quarter of {count} trials (PED-ANOVA).", count=importance.trials
    )
    return html.paragraph(note, "quiet") + f'<div class="bars">{bars}</div>' if bars else ""


def _curves(contents: TuningContents, drawn: Charts) -> str:
    lines = []
    for row, line in looks(contents):
        if row.trial.name in contents.curves.lines:
            step, value = contents.curves.lines[row.trial.name]
            run = contents.runs[row.trial.name]
            axes, values = charts.thinned(charts.axes_of(run, contents.curves, step), value)
            color = None if line.share is None else svg.color(line.share)
            lines.append(charts.Line(line.about, axes, values, color=color, kind=line.kind))
    if not lines:
        return ""
    drawn.add("trials", shown(contents.curves.quantity), lines, tall=True)
    return charts.TOOLS + charts.place("trials", wide=True)
