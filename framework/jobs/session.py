"""Begins a tuning in a new folder, or continues one."""

import contextlib
import math
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from config.read.loader import RunConfig
from config.read.paths import as_written
from config.tune.section import Tuning
from framework.disk.atomic import write_whole
from framework.disk.task_dir import add_facts, circumstances, held_lock, new_folder
from framework.errors import JoystickError, TaskDirError
from framework.jobs.children import at_once
from framework.jobs.ending import finish, write_report
from framework.jobs.many_runs import Checked
from framework.jobs.plan import Plan, RunPlan
from framework.jobs.processes import Processes, Runner
from framework.jobs.tuner import Tuner, Waiting
from framework.runs.signals import StopSignals
from framework.screen.formatting import counted
from framework.screen.terminal import Screen


def run(
    tuning: Tuning,
    check: Callable[[RunConfig], None],
    screen: Screen,
    command_line: list[str],
    folder: Path | None = None,
) -> tuple[Tuner, int]:
    """Tunes to the end, or until a signal. Returns the tuner and the exit status. folder: of a tuning that is
    continued; None: a new one."""
    plan = RunPlan(tuning)
    found = plan.check(check)
    with _runner(plan, found, screen) as runner:
        if folder is None:
            folder = _begin(tuning, plan, found, screen, command_line)
        return drive(plan, folder, runner, screen)


@contextlib.contextmanager
def _runner(plan: RunPlan, found: Sequence[Checked], screen: Screen) -> Iterator[Runner]:
    """Makes what runs the trials."""
    cfg = plan.cfg
    if cfg.ray_address:
        from framework.distributed import stage_tasks

        general = plan.config(plan.first[0]).general
        with stage_tasks.started(cfg.ray_address, general, cfg.jobs, screen.say) as tasks:
            yield tasks
        return
    yield Processes(runs_at_once(plan, found), plan.tuning.start)


def runs_at_once(plan: RunPlan, found: Sequence[Checked]) -> int:
    """Returns how many runs this machine trains at once."""
    configs = [plan.config(settings) for settings in plan.first] * plan.cfg.seeds
    return at_once(configs, plan.cfg.jobs, min((each.fitting for each in found), default=math.inf))


def drive(plan: Plan, folder: Path, runner: Runner, screen: Screen) -> tuple[Tuner, int]:
    """Tunes in a folder that has been begun, as `run` does."""
    text = f"{counted(plan.search.total, 'trial')}, {counted(runner.free, 'run')} at once: {as_written(folder)}"
    screen.say(text)
    tuner = Tuner(plan, folder, runner, screen, write_report)
    with locked(folder), StopSignals(again=runner.end_at_once) as stop:
        try:
            tuner.run(stop)
            screen.close()
            return tuner, finish(tuner)
        except Waiting:
            tuner.session = "interrupted"
            tuner.write()
            write_report(tuner)
            screen.say(f"to go on: {plan.resume_command(folder)}")
            return tuner, stop.exit_status if stop.received is not None else 128 + signal.SIGTERM
        finally:
            runner.end_all()
            screen.close()


def _begin(tuning: Tuning, plan: RunPlan, found: list[Checked], screen: Screen, command_line: list[str]) -> Path:
    """Creates the folder, once there is room for what the trials write."""
    config = plan.config(plan.first[0])
    screen.say(room(plan, found, tuning.into or tuning.start))
    folder = new_folder("tune", found[0].env_id, config.algorithms, tuning.into, tuning.start)
    add_facts(folder / "tune.json", circumstances(command_line))
    write_whole(folder / "config.yaml", tuning.to_yaml(as_written(folder / "config.yaml")).encode())
    for note in plan.notes:
        screen.say(note)
    return folder


def room(plan: RunPlan, found: Sequence[Checked], place: Path) -> str:
    """Returns how much all runs may write. Raises JoystickError if the disk has no room for it."""
    place = existing(place)
    needed, free = max(each.disk for each in found) * plan.runs, shutil.disk_usage(place).free
    size = f"{max(1, needed / 2**20):,.0f} MiB"
    text = f"{counted(plan.runs, 'run')} may write about {size} of checkpoints and replay memories"
    if needed > free:
        raise JoystickError(
            f"{text}, and {as_written(place)} has {free / 2**20:,.0f} MiB free; try fewer samples, a smaller "
            "buffer_size, or general_cfg.keep_checkpoints=1"
        )
    return text


def existing(place: Path) -> Path:
    """Returns a folder, or the nearest one above it that exists."""
    while not place.exists():
        place = place.absolute().parent
    return place


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps out a second tuner."""
    lock = held_lock(folder)
    if lock is None:
        raise TaskDirError(f"{as_written(folder)} is being tuned by another process; wait for it, or stop it first")
    with lock:
        yield
