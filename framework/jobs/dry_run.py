"""Describes the tuning that a file would start (tune --dry-run). Writes nothing."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from config.program import PROGRAM
from config.read.loader import RunConfig
from config.tell.names import printable
from config.tune.section import Tuning
from framework.jobs import schedulers, session
from framework.jobs.many_runs import Checked
from framework.jobs.tuning_plan import RunPlan
from framework.pages.tuning_page import short_names
from framework.screen import tables
from framework.screen.formatting import byte_size, cell, counted
from framework.screen.terminal import fitted


def describe(tuning: Tuning, check: Callable[[RunConfig], None]) -> int:
    """Prints the trials, and what they cost. Refuses what the tuning would refuse."""
    plan = RunPlan(tuning)
    checked, place = plan.check(check), tuning.into or Path.cwd()
    config, free = plan.config(plan.first[0]), shutil.disk_usage(session.existing(place)).free
    lines = [
        f"trains        {config.algorithms} on {checked[0].env_id}",
        *_search(plan),
        *_budget(plan),
        *_machine(plan, checked),
        f"disk          {session.room(plan, checked, place)}; {byte_size(free)} free",
        *([f"note          {note}" for note in plan.notes]),
        "",
        *_trials(plan),
        "",
        f"all settings  {PROGRAM} tune ... --print-config",
    ]
    print(fitted("\n".join(lines)))
    return 0


def settings(tuning: Tuning, check: Callable[[RunConfig], None]) -> int:
    """Prints the file that repeats a tuning, all settings of tune_cfg with it. Refuses what the tuning would refuse."""
    RunPlan(tuning).check(check)
    print(tuning.to_yaml(Path("FILE")), end="")
    return 0


def _search(plan: RunPlan) -> Iterator[str]:
    cfg = plan.cfg
    yield f"trials        {plan.search.total:,} by {cfg.search}, {counted(plan.runs, 'run')} in all"
    yield f"score         {cfg.score}, {'higher' if cfg.mode == 'max' else 'lower'} is better"


def _budget(plan: RunPlan) -> Iterator[str]:
    """Yields how far trials are trained, and how many steps that are in all."""
    cfg, budget = plan.cfg, plan.budget
    if cfg.halves:
        counts = schedulers.halving_counts(len(plan.first), cfg.eta)
        ends = (f"{count} to {_end(until)}" for count, until in zip(counts, plan.rungs, strict=True))
        yield f"scheduler     {cfg.scheduler}: {', '.join(ends)}"
    elif cfg.scheduler == "pbt":
        yield f"scheduler     pbt: {counted(len(plan.rungs) - 1, 'comparison')}, the first at step {plan.rungs[0]:,}"
    else:
        yield "scheduler     none: every trial is trained to its end"
    if budget is None:
        yield "budget        not known: no limit of steps ends a run"
    else:
        about = "about " if len(plan.first) < plan.search.total else ""
        whole = f"{about}{_steps(plan, budget):,} environment steps"
        yield f"budget        {whole}; {budget:,} for a run that comes to its end"


def _end(until: int | None) -> str:
    return "the end" if until is None else f"step {until:,}"


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
    memory = f"up to {byte_size(max(check.memory for check in checked))} for what a run collects, besides its program"
    if plan.cfg.ray_address:
        yield f"runs at once  as many as the cluster at {plan.cfg.ray_address} has room for"
    else:
        count = session.runs_at_once(plan, checked)
        yield f"runs at once  {count}"
    yield f"memory        {memory}"


def _trials(plan: RunPlan) -> Iterator[str]:
    """Yields the trials that are known: all, or the first batch of a search that depends on scores."""
    if len(plan.first) < plan.search.total:
        some = f"the first {len(plan.first)} of {counted(plan.search.total, 'trial')}"
        yield f"{some}; the next ones are chosen when these have ended:"
    names = short_names([domain.path for domain in plan.domains])
    rows = (dict(zip(names, map(printable, map(cell, row)), strict=True)) for row in plan.first)
    yield from tables.lines([{"trial": f"{number:03}", **row} for number, row in enumerate(rows)])
