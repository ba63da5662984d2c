"""Describes the tuning that a file would start (tune --dry-run). Writes nothing."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from pathlib import Path

from config.program import PROGRAM
from config.read.loader import RunConfig
from config.read.tuning import Tuning
from config.tell.language import english, tr
from config.tell.names import printable
from framework.jobs import schedulers, session
from framework.jobs.many_runs import Checked
from framework.jobs.tuning_plan import RunPlan
from framework.pages.tuning_page import short_names
from framework.screen import tables
from framework.screen.formatting import byte_size, cell, counted
from framework.screen.tables import entry
from framework.screen.terminal import fitted


def describe(tuning: Tuning, check: Callable[[RunConfig], None]) -> int:
    """Prints the trials, and what they cost. Refuses what the tuning would refuse."""
    plan = RunPlan(tuning)
    checked, place = plan.check(check), tuning.into or Path.cwd()
    free = shutil.disk_usage(session.existing(place)).free
    lines = [
        entry(tr("trains"), _tasks(plan, checked)),
        *_search(plan),
        *_budget(plan),
        *_machine(plan, checked),
        entry(tr("disk"), tr("{room}; {size} free", room=session.room(plan, checked, place), size=byte_size(free))),
        *(entry(tr("note"), note) for note in plan.notes),
        "",
        *_trials(plan),
        "",
        entry(tr("all settings"), f"{PROGRAM} tune ... --print-config"),
    ]
    print(fitted("\n".join(lines)))
    return 0


def settings(tuning: Tuning, check: Callable[[RunConfig], None]) -> int:
    """Prints the file that repeats a tuning, all settings of tune_cfg with it. Refuses what the tuning would refuse."""
    RunPlan(tuning).check(check)
    print(tuning.to_yaml(Path("FILE")), end="")
    return 0


def _tasks(plan: RunPlan, checked: Sequence[Checked]) -> str:
    """Returns the algorithms and environments of the first trials, each pair once."""
    pairs = zip((plan.config(settings).algorithms for settings in plan.first), checked, strict=True)
    texts = (tr("{algorithms} on {env_id}", algorithms=name, env_id=facts.env_id) for name, facts in pairs)
    return tr(", ").join(dict.fromkeys(texts))


def _search(plan: RunPlan) -> Iterator[str]:
    cfg = plan.cfg
    runs = counted(plan.runs, "run")
    text = tr("{total:,} by {search}, {runs} in all", total=plan.search.total, search=cfg.search, runs=runs)
    yield entry(tr("trials"), text)
    text = tr("{score}, higher is better") if cfg.mode == "max" else tr("{score}, lower is better")
    yield entry(tr("score"), text.format(score=cfg.score))


def _budget(plan: RunPlan) -> Iterator[str]:
    """Yields how far trials are trained, and how many steps that are in all."""
    cfg, budget = plan.cfg, plan.budget
    if cfg.halves:
        counts = schedulers.halving_counts(len(plan.first), cfg.eta)
        ends = tr(", ").join(starmap(_end, zip(counts, plan.rungs, strict=True)))
        scheduler = tr("{name}: {ends}", name=cfg.scheduler, ends=ends)
    elif cfg.scheduler == "pbt":
        comparisons = counted(len(plan.rungs) - 1, "comparison")
        scheduler = tr("pbt: {comparisons}, the first at step {step:,}", comparisons=comparisons, step=plan.rungs[0])
    else:
        scheduler = tr("none: every trial is trained to its end")
    yield entry(tr("scheduler"), scheduler)
    if budget is None:
        text = tr("not known: no limit of steps ends a run")
    elif len(plan.first) < plan.search.total:
        text = tr("about {steps:,} environment steps; {budget:,} for a run that comes to its end")
    else:
        text = tr("{steps:,} environment steps; {budget:,} for a run that comes to its end")
    yield entry(tr("budget"), text if budget is None else text.format(steps=_steps(plan, budget), budget=budget))


def _end(count: int, until: int | None) -> str:
    """Returns how many trials are trained, and up to where."""
    if until is None:
        return tr("{count} to the end", count=count)
    return tr("{count} to step {step:,}", count=count, step=until)


def _steps(plan: RunPlan, budget: int) -> int:
    """Returns the environment steps of all runs."""
    cfg, trials, batch = plan.cfg, plan.search.total, len(plan.first)
    if not cfg.halves:
        return trials * cfg.seeds * budget
    ends = [budget if until is None else until for until in plan.rungs]
    parts = [end - before for end, before in zip(ends, [0, *ends], strict=False)]
    counts = schedulers.halving_counts(batch, cfg.eta)
    steps = sum(count * part for count, part in zip(counts, parts, strict=True))
    return round(steps * cfg.seeds * trials / batch)


def _machine(plan: RunPlan, checked: Sequence[Checked]) -> Iterator[str]:
    if plan.cfg.ray_address:
        number = tr("as many as the cluster at {address} has room for", address=plan.cfg.ray_address)
    else:
        number = str(session.runs_at_once(plan, checked))
    yield entry(tr("runs at once"), number)
    size = byte_size(max(check.memory for check in checked))
    yield entry(tr("memory"), tr("up to {size} for what a run collects, besides its program", size=size))


def _trials(plan: RunPlan) -> Iterator[str]:
    """Yields the trials that are known: all, or the first batch of a search that depends on scores."""
    if len(plan.first) < plan.search.total:
        trials = counted(plan.search.total, "trial")
        yield tr(
            "the first {count} of {trials}; the next ones are chosen when these have ended:",
            count=len(plan.first),
            trials=trials,
        )
    names = short_names([domain.path for domain in plan.domains])
    rows = (dict(zip(names, map(printable, map(cell, row)), strict=True)) for row in plan.first)
    yield from tables.lines([{english("trial"): f"{number:03}", **row} for number, row in enumerate(rows)])
