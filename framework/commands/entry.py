"""Turns a valid config into an exit status. torch is imported only after the environment was found suitable."""

import gc
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from config.read.loader import ConfigError, RunConfig
from config.read.paths import as_written
from config.tune.section import Tuning
from envs.base import EnvError
from framework.assemble import fit as compatibility
from framework.collect.env_calls import Watch
from framework.dataset.sources import files, naming_setting
from framework.disk.task_dir import check_new
from framework.errors import MISTAKE, JoystickError, Stopped, silence, without_memory
from framework.jobs.members import Member
from framework.runs.signals import StopSignals, Watchdog, leave
from framework.screen.formatting import counted
from framework.screen.terminal import choose, print_error


def run(config: RunConfig, command_line: list[str]) -> int:
    """Trains or tests. Every error that a user can cause ends in one message and status 2."""

    def mode(signals: StopSignals) -> int:
        if config.general.mode == "train":
            from framework.commands.train import run as play
        else:
            from framework.commands.test import run as play
        return play(config, command_line, signals)

    return _stoppable(config, mode)


def film(
    config: RunConfig, command_line: list[str], worst: bool, grid: tuple[int, int] | None, episode: int | None
) -> int:
    """Tests and films, or films an episode of the training. worst: only the episodes with the lowest returns; grid:
    rows and columns of episodes side by side; episode: number in train.csv."""

    def mode(signals: StopSignals) -> int:
        if episode is not None:
            from framework.commands import film as again

            return again.run(config, command_line, episode, signals)
        from framework.commands import test
        from framework.runs.wrap_up import Wanted

        return test.run(config, command_line, signals, Wanted(worst, grid))

    return _stoppable(config, mode)


def _stoppable(config: RunConfig, mode: Callable[[StopSignals], int]) -> int:
    """Runs a mode that obeys signals."""

    def work() -> int:
        _check(config)
        with StopSignals() as signals:
            try:
                _load_torch()
                return mode(signals)
            except Stopped as stopped:
                print(stopped, file=sys.stderr)
                return signals.exit_status

    return _guarded(work)


def run_group(
    configs: Mapping[str, RunConfig],
    title: str,
    command_line: list[str],
    seeds: tuple[int, ...] | None,
    jobs: int | None,
) -> int:
    """Trains each experiment, once or for each seed, each run in its own process. title: of the folder of several."""

    def work() -> int:
        from framework.jobs import many_runs

        return many_runs.begin(configs, title, command_line, seeds, jobs, _check_training)

    return _guarded(work)


def resume_group(
    members: Mapping[Member, RunConfig], folder: Path, words: Sequence[str], command_line: list[str], jobs: int | None
) -> int:
    """Goes on with a group of runs. words: settings that say where it is trained now."""

    def work() -> int:
        from framework.jobs import many_runs

        return many_runs.resume(members, folder, words, command_line, jobs, _check_training)

    return _guarded(work)


def tune(tuning: Tuning, command_line: list[str], folder: Path | None) -> int:
    """Tries the settings of a file. folder: of a tuning that is continued."""

    def work() -> int:
        from framework.jobs import session

        return session.run(tuning, _check_training, choose(sys.stdout), command_line, folder)[1]

    return _guarded(work)


def describe_tuning(tuning: Tuning, settings: bool) -> int:
    """Prints what a tuning would be, and writes nothing. settings: True to print the file that repeats it."""

    def work() -> int:
        from framework.jobs import dry_run

        return (dry_run.settings if settings else dry_run.describe)(tuning, _check_training)

    return _guarded(work)


def evaluate(config: RunConfig, steps: int | None, out: str | None) -> int:
    """Plays a saved model and prints its score; writes nothing but the file `out`."""

    def work() -> int:
        _check(config)
        _load_torch()
        from framework.commands.evaluate import run as play

        with StopSignals() as signals:
            return play(config, steps, out, signals)

    return _guarded(work)


def export(config: RunConfig, kind: str, policy: str | None, out: str | None) -> int:
    """Writes the policy of a saved model as a file for other programs. kind: onnx or safetensors."""

    def work() -> int:
        _check(config)
        _load_torch()
        from framework.commands.export import run as write

        with StopSignals() as signals:
            return write(config, kind, policy, out, signals)

    return _guarded(work)


def talk(config: RunConfig, record: str | None) -> int:
    """Lets a person talk to a saved policy; writes nothing but the file `record`."""

    def work() -> int:
        _check(config)
        _load_torch()
        from framework.commands.talk import run as converse

        return converse(config, record)

    return _guarded(work)


def bench(configured: Callable[[Sequence[str]], RunConfig], request: Namespace) -> int:
    """Measures the speed of training. configured: returns the configuration with further settings."""

    def work() -> int:
        _check(configured(()))
        _load_torch()
        from framework.commands import bench as measuring

        return measuring.run(configured, request.workers, request.envs, request.seconds)

    return _guarded(work)


def watch(folder: str | None, port: int, browser: bool) -> int:
    """Shows runs in a browser until Ctrl-C. port: 0 for a free one."""

    def work() -> int:
        from framework.commands.watch import run as serve

        return serve(folder, port, browser)

    return _guarded(work)


def data(request: Namespace) -> int:
    """Prints what data contain, and what of it does not fit an environment. Status 2 if something does not."""

    def work() -> int:
        from framework.commands import data as card
        from framework.dataset import open_data

        found, problems = open_data(request.data), None
        if request.env is not None:
            from framework.commands.data_check import unfit  # makes the environment, and imports torch

            problems = unfit(found, request.env, request.allow_import)
        sys.stdout.write((card.as_json if request.json else card.table)(found, problems))
        return MISTAKE if problems else 0

    return _guarded(work)


def compare(request: Namespace) -> int:
    """Compares runs, and writes a page."""

    def work() -> int:
        from framework.commands import compare as command

        return command.run(request.runs, request.threshold, Path(request.into) if request.into else None, request.at)

    return _guarded(work)


def convert(request: Namespace) -> int:
    """Writes data in another format."""

    def work() -> int:
        from framework.dataset.convert import convert as write

        found = write(request.file, request.target)
        summary = found.summary
        print(*found.notes, sep="\n", end="\n" if found.notes else "")
        print(f"{request.target}: {counted(summary.episodes, 'episode')}, {counted(summary.transitions, 'transition')}")
        return 0

    return _guarded(work)


def dry_run(config: RunConfig) -> int:
    """Prints what a run would be, and writes nothing."""

    def work() -> int:
        _check(config)
        from framework.commands.dry_run import describe

        return describe(config)

    return _guarded(work)


def _check(config: RunConfig) -> None:
    """Raises ConfigError if algorithm and environment do not fit, TaskDirError if the folder to write to exists; makes
    an environment, which may hang."""
    check_new(config.into, config.start)
    watch, limit = Watch(), config.general.env_timeout

    def hangs() -> None:
        print(f"error: the environment could not be made and closed within {limit:g} s", file=sys.stderr)
        leave(MISTAKE)

    with Watchdog(limit, watch, hangs), watch("make"):
        compatibility.check(config)


def _load_torch() -> None:
    """Imports torch. None of its objects, hundreds of thousands, is garbage, but the collector would look through them
    again and again during the import, and once more when the process ends: up to a second."""
    if "torch" in sys.modules:  # this process is not ours alone
        return
    gc.collect()  # the environment that was checked, before what there is counts as no garbage for good
    gc.disable()
    try:
        import algos.base  # noqa: F401
    finally:
        gc.freeze()
        gc.enable()


def _check_training(config: RunConfig) -> None:
    """Checks a configuration that several processes will train with: what each of them would refuse is refused once,
    before anything is created."""
    _check(config)
    memory = None if config.policies else config.algo.memory(config.env.n_envs)
    if memory is not None and memory.data is not None:
        with naming_setting():
            files(memory.data.paths)


def _guarded(work: Callable[[], int]) -> int:
    try:
        return work()
    except (JoystickError, ConfigError, EnvError) as error:
        print_error("\n".join([f"error: {error}", *getattr(error, "__notes__", [])]))
        return MISTAKE
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        silence(sys.stdout)
        return 0
    except OSError as error:
        # A full disk or a deleted folder, at a moment when the run cannot continue.
        name = as_written(Path(error.filename)) if isinstance(error.filename, str) else "writing"
        place = f"error: {name}: {error.strerror or error}"
        print_error("\n".join([place, *getattr(error, "__notes__", [])]))
        return MISTAKE
    except (MemoryError, RuntimeError, ImportError) as error:
        if (said := without_memory(error)) is None:
            raise
        print_error("\n".join([f"error: {said}", *getattr(error, "__notes__", [])]))
        return MISTAKE
