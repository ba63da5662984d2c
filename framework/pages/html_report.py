"""report.html: a run or a test on one page, made only from the files in its task directory."""

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from config.model import policies
from config.program import PROGRAM
from config.read.task_files import REPORT
from config.read.yaml_reader import DocumentError, inline
from config.system.terminal import joined
from config.tell.language import tr
from framework.archive import sentences
from framework.archive.defaults import defaults_of
from framework.archive.run import RecordedRun, Row
from framework.collect.fragment import RETURN
from framework.disk.atomic import write_whole
from framework.disk.facts import Circumstances, RunFacts
from framework.pages import html_page as html
from framework.pages.html_training import film, training
from framework.screen.formatting import counted, spread

MOST_WARNINGS = 20
"""Number of warnings that are shown; logs/log.txt has all of them."""
NOT_SETTINGS = ("seed", "mode", "load_checkpoint", "load_path", "load_model_step")
"""Keys of general_cfg that other parts of the page show."""
CHOICES = ("compile", "kernels")
"""Keys of general_cfg in whose place a run records what it chose on its machine."""


def write(task: Path, now: Mapping[str, Any] | None = None) -> Path:
    """Writes the page of a task directory. Returns its path. now: of a run that trains, facts in the place of those in
    run.json."""
    path = task / REPORT
    write_whole(path, content(RecordedRun(task, now), time.strftime("%Y-%m-%d %H:%M:%S %z") if now else ""))
    return path


def content(run: RecordedRun, drawn: str = "") -> bytes:
    """Returns the page of a run or a test as the content of a file. drawn: time of day, of a run that trains."""
    config = _settings(run)
    general = config.get("general_cfg", {})
    tested = general.get("mode") == "test"
    name = _title(config) or run.folder.name
    title = tr("Test of {name}", name=name) if tested else name
    started = f"  ·  {run.facts.started}" if run.facts.started else ""
    head = [html.paragraph(f"{run.folder.name}{started}", "quiet"), _group(run)]
    warnings, machine = html.section(tr("Warnings"), _warnings(run)), html.pairs(system(run.facts))
    if tested:
        outcome, *results = _test(run)
        details = [warnings, html.section(tr("Settings"), settings(config)), html.section(tr("System"), machine)]
        return html.whole(title, [*head, outcome, html.contents([*results, *details])])
    parts = training(run, general, drawn)
    sections = [
        *parts.results, warnings, parts.charts.section(), html.section(tr("Settings"), settings(config)),
        html.section(tr("System"), machine + parts.charts.system()), *parts.details,
    ]  # fmt: skip
    return html.whole(title, [*head, parts.outcome, html.contents(sections), parts.charts.data()])


def _settings(run: RecordedRun) -> dict[str, dict[str, Any]]:
    try:
        return run.settings
    except DocumentError:
        return {}


def _group(run: RecordedRun) -> str:
    """Returns a link to the page of the runs that this one belongs to; nothing for a run of its own."""
    group = run.group
    if group is None:
        return ""
    page = html.address(group / REPORT, run.folder)
    name = html.Link(group.name, page).element if page else html.text(group.name)
    return f"<p class=quiet>{tr('One of the runs of {group}', group=name)}</p>"


def _test(run: RecordedRun) -> list[str]:
    score = run.facts.score or {}
    facts = [
        (tr("score"), spread(score) if score else None),
        (tr("lowest"), score.get("min")),
        (tr("highest"), score.get("max")),
        (tr("median"), score.get("median")),
        (tr("episodes"), len(run.tested) or None),
        (tr("seed"), html.plain(run.facts.seed)),
    ]
    return [
        html.cards(facts),
        html.section(tr("Checkpoint"), _tested(run)),
        film(run.task.videos),
        html.section(tr("Episodes"), _episodes(run.tested)),
    ]


def _title(settings: Mapping[str, Any]) -> str:
    algo = policies.algorithms(settings)
    env = settings.get("env_cfg", {}).get("id") or settings.get("general_cfg", {}).get("env_name")
    return tr("{algorithms} on {environment}", algorithms=algo, environment=env) if algo and env else ""


def settings_table(config: Mapping[str, Any]) -> str:
    """Returns a table of the settings that differ from their defaults, with both values."""
    parts = dict(config) | {policies.section_of(name): policy for name, policy in policies.below(config).items()}
    rows = []
    for part, base in defaults_of(config).items():
        for key, value in parts.get(part, {}).items():
            left_out = part == "general_cfg" and key in (*NOT_SETTINGS, *CHOICES)
            if not left_out and (key not in base or base[key] != value):
                rows.append((html.Name(f"{part}.{key}"), inline(value), inline(base[key]) if key in base else ""))
    return html.table((tr("setting"), tr("value"), tr("default")), rows)


def settings(config: Mapping[str, Any]) -> str:
    """Returns the settings that differ from the defaults, then all, folded away."""
    changed = settings_table(config)
    rows = [
        (html.Name(f"{part}.{key}"), inline(value))
        for part, section in config.items()
        if isinstance(section, Mapping)
        for key, value in section.items()
        if part != "general_cfg" or key not in NOT_SETTINGS
    ]
    every = html.folded(tr("All settings ({count})", count=len(rows)), html.table((tr("setting"), tr("value")), rows))
    said = tr("These differ from the defaults.") if changed else tr("None differs from the defaults.")
    return html.paragraph(said, "quiet") + changed + every if rows else ""


# ------------------------------------------------------------------------------------------- parts of a test


def _tested(run: RecordedRun) -> str:
    facts, trained = run.facts.checkpoint_facts or {}, run.tested_run
    counts = [counted(facts[noun], noun) for noun in ("update", "step", "episode") if isinstance(facts.get(noun), int)]
    rows: list[tuple[str, Any]] = [
        (tr("tested"), run.facts.checkpoint),
        (tr("trained for"), tr(", ").join(counts) or None),
    ]
    if trained is not None:
        page = html.address(trained / REPORT, run.folder)
        rows.append((tr("report of its training"), html.Link(trained.name, page) if page else None))
    rows.append((tr("compared with the online evaluation"), sentences.shown(run.facts.compared or "")))
    return html.pairs((name, value) for name, value in rows if value)


def _episodes(rows: Sequence[Row]) -> str:
    names = ("episode", "return", "length", "terminated", "seed")
    first = rows[: html.MOST_ROWS]
    returns = [name for name in (rows[0] if rows else ()) if name.startswith(RETURN)]
    cells = [
        [*(row.get(name) for name in names[:-1]), html.plain(row.get("seed")), *(row.get(name) for name in returns)]
        for row in first
    ]
    part = html.part_of(rows, first, "first", "results/test.csv")
    heads = (tr("episode"), tr("return"), tr("length"), tr("terminated"), tr("seed"))
    return html.paragraph(part, "quiet") + html.table((*heads, *returns), cells)


# ------------------------------------------------------------------------------------------- parts of both


def _warnings(run: RecordedRun) -> str:
    """Returns the last warnings in logs/log.txt."""
    warnings = run.warnings
    last = warnings[-MOST_WARNINGS:]
    part = html.part_of(warnings, last, "last", "logs/log.txt")
    return html.paragraph(part, "quiet") + "".join(html.paragraph(warning, "warning") for warning in last)


_ABOUT = {
    "preset": tr("preset"),
    "git_commit": tr("git commit"),
    "python": "Python",
    "platform": tr("platform"),
    "cpu": "CPU",
    "gpu": "GPU",
    "cores": tr("cores"),
    "torch_threads": tr("torch threads"),
    "kernels": tr("kernels"),
}
"""Fact -> label."""


def system(facts: Circumstances) -> Iterable[tuple[str, Any]]:
    """Yields the circumstances of a run, a group or a tuning: its command, machine and versions."""
    if facts.command_line is not None:
        yield tr("command"), f"{PROGRAM} {joined(facts.command_line)}"
    for key, label in _ABOUT.items():
        if (value := getattr(facts, key, None)) is not None:
            yield label, str(value)
    if isinstance(facts, RunFacts) and (memory := _memory(facts)):
        yield tr("peak memory"), memory
    if facts.versions is not None:
        yield tr("versions"), ", ".join(f"{name} {number}" for name, number in facts.versions.items() if number)


def _memory(facts: RunFacts) -> str:
    """Returns the largest memory of a run's processes."""
    parent, children, count = ((facts.peak_memory or {}).get(key) for key in ("own", "children", "processes"))
    parts = [f"{parent / 2**20:,.0f} MiB"] if isinstance(parent, int) and parent else []
    if isinstance(children, int) and isinstance(count, int) and count:
        size = f"{children / 2**20:,.0f}"
        if count == 1:
            shared = tr("1 child process {size} MiB, where what they share counts in each", size=size)
        else:
            shared = tr(
                "{count} child processes {size} MiB, where what they share counts in each", count=count, size=size
            )
        parts.append(shared)
    return tr("; ").join(parts)
