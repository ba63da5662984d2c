"""Begins a tuning in a new folder, or continues one."""

import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from config.read.loader import RunConfig
from config.read.paths import as_written
from config.read.task_files import GroupFiles
from config.read.tuning import Tuning
from config.tell.language import tr
from framework.archive.trials import tuning_facts
from framework.disk.atomic import write_whole
from framework.disk.task_dir import add_facts, circumstances, new_folder
from framework.errors import JoystickError
from framework.jobs.children import at_once
from framework.jobs.many_runs import Checked
from framework.jobs.processes import Runner, locked
from framework.jobs.runners import runner
from framework.jobs.tuner import Tuner
from framework.jobs.tuning_plan import RunPlan, TuningPlan
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
    if folder is not None and (function := tuning_facts(folder).function):
        raise JoystickError(
            "{folder} tries a function, which only a program has; to go on, there: joystick.tune({function}, "
            "resume={folder!r})",
            folder=str(as_written(folder)),
            function=function,
        )
    plan = RunPlan(tuning)
    checks = plan.check(check, begins=folder is None)
    config, here = plan.config(plan.first[0]), runs_at_once(plan, checks)
    where = plan.cfg.ray_address, config.general, plan.cfg.jobs, here, tuning.start, screen
    with runner(*where, "trial", config.objects) as running:
        if folder is None:
            folder = _begin(tuning, plan, checks, screen, command_line)
        return drive(plan, folder, running, screen)


def runs_at_once(plan: RunPlan, checks: Sequence[Checked]) -> int:
    """Returns how many runs this machine trains at once."""
    configs = [plan.config(settings) for settings in plan.first] * plan.cfg.seeds
    return at_once(configs, plan.cfg.jobs, min((check.fitting for check in checks), default=math.inf))


def drive(plan: TuningPlan, folder: Path, running: Runner, screen: Screen) -> tuple[Tuner, int]:
    """Tunes in a folder that has been begun, as `run` does."""
    text = tr(
        "{trials}, {runs} at once: {path}",
        trials=counted(plan.search.total, "trial"),
        runs=counted(running.free, "run"),
        path=as_written(folder),
    )
    screen.say(text)
    tuner = Tuner(plan, folder, running, screen)
    with locked(folder):
        return tuner, tuner.drive()


def _begin(tuning: Tuning, plan: RunPlan, checks: list[Checked], screen: Screen, command_line: list[str]) -> Path:
    """Creates the folder, once there is room for what the trials write."""
    config = plan.config(plan.first[0])
    screen.say(room(plan, checks, tuning.into or tuning.start))
    folder = make_folder(tuning, checks[0].env_id, config.algorithms, command_line)
    for note in plan.notes:
        screen.say(note)
    return folder


def make_folder(tuning: Tuning, task: str, learner: str, command_line: list[str], function: str | None = None) -> Path:
    """Creates the folder of a tuning, with its settings. task, learner: what is tuned, in the name of the folder;
    function: name of the one that is tried in place of training runs."""
    folder = new_folder("tune", task, learner, tuning.into, tuning.start)
    files = GroupFiles(folder)
    add_facts(files.tuning, {**circumstances(command_line), **({"function": function} if function else {})})
    write_whole(files.config, tuning.to_yaml(as_written(files.config), function).encode())
    return folder


def room(plan: RunPlan, checks: Sequence[Checked], place: Path) -> str:
    """Returns how much all runs may write. Raises JoystickError if the disk has no room for it."""
    place = existing(place)
    needed, free = max(check.disk for check in checks) * plan.runs, shutil.disk_usage(place).free
    size = f"{max(1, needed / 2**20):,.0f} MiB"
    text = tr(
        "{runs} may write about {size} of checkpoints and replay memories",
        runs=counted(plan.runs, "run"),
        size=size,
    )
    if needed > free:
        raise JoystickError(
            "{text}, and {path} has {free:,.0f} MiB free; try fewer samples, a smaller "
            "buffer_size, or general_cfg.keep_checkpoints=1",
            text=text,
            path=as_written(place),
            free=free / 2**20,
        )
    return text


def existing(place: Path) -> Path:
    """Returns a folder, or the nearest one above it that exists."""
    while not place.exists():
        place = place.absolute().parent
    return place
