"""Turns a valid config into an exit status. torch is imported only after the environment was found suitable."""

import gc
import sys
from collections.abc import Callable

from config.read.loader import RunConfig
from config.tell.language import UserError, tr
from config.tell.names import without_password
from config.tell.system_errors import refusal
from framework.assemble import fit
from framework.collect.env_calls import Watch
from framework.dataset.sources import files, naming_setting
from framework.disk.task_dir import check_new
from framework.errors import ERROR, MISTAKE, Interrupted, Stopped, of_machine, passes, silence, without_memory
from framework.runs import supervisor_pipe
from framework.runs.signals import StopSignals, Watchdog, leave
from framework.screen.stages import stage
from framework.screen.terminal import print_error


def run(config: RunConfig, command_line: list[str]) -> int:
    """Trains or tests. Every error that a user can cause ends in one message and status 2."""

    def mode(signals: StopSignals) -> int:
        if config.general.mode == "train":
            from framework.commands.work.train import run as play
        else:
            from framework.commands.work.test import run as play
        return play(config, command_line, signals)

    return stoppable(config, mode, saves=config.general.mode == "train")


def stoppable(config: RunConfig, mode: Callable[[StopSignals], int], saves: bool = True) -> int:
    """Trains or plays in a way that obeys signals. saves: True if something is kept of what was done until then."""

    def play() -> int:
        with StopSignals(doing=tr("saving and stopping") if saves else tr("stopping")) as signals:
            try:
                _load_torch()
                return mode(signals)
            except Stopped as stopped:
                print(stopped, file=sys.stderr)
            except Interrupted:
                pass
            return signals.exit_status

    return guarded(play, config)


def played(config: RunConfig, play: Callable[[], int]) -> int:
    """Plays in a way that obeys no signal but Ctrl-C, or looks for signals itself."""

    def work() -> int:
        _load_torch()
        return play()

    return guarded(work, config)


def dry_run(config: RunConfig) -> int:
    """Prints what a run would be, and writes nothing."""

    def describe() -> int:
        from framework.commands.work import dry_run

        return dry_run.describe(config)

    return played(config, describe)


def check(config: RunConfig) -> None:
    """Raises ConfigError if algorithm and environment do not fit, TaskDirError if the folder to write to exists; makes
    an environment, which may hang."""
    check_new(config.into, config.start)
    watch, limit = Watch(), config.general.env_timeout

    def hangs() -> None:
        print(
            ERROR + tr("the environment could not be made and closed within {limit:g} s", limit=limit), file=sys.stderr
        )
        leave(MISTAKE)

    with Watchdog(limit, watch, hangs), stage(tr("checking the environment")), watch("make"):
        fit.check(config)


def _load_torch() -> None:
    """Imports torch. None of its objects, hundreds of thousands, is garbage, but the collector would look through them
    again and again during the import, and once more when the process ends: up to a second."""
    if "torch" in sys.modules:  # this process is not ours alone
        return
    gc.collect()  # the environment that was checked, before what there is counts as no garbage for good
    gc.disable()
    try:
        with stage(tr("loading torch")):
            import algos.base  # noqa: F401
    finally:
        gc.freeze()
        gc.enable()


def check_training(config: RunConfig) -> None:
    """Checks a configuration that several processes will train with: what each of them would refuse is refused once,
    before anything is created."""
    check(config)
    memory = None if config.policies else config.algo.memory(config.env.n_envs)
    if memory is not None and memory.data is not None:
        with naming_setting():
            files(memory.data.paths)


def guarded(work: Callable[[], int], config: RunConfig | None = None) -> int:
    """Does something in which every error that a user can cause ends in one message. Returns the exit status. config:
    is checked first."""
    try:
        if config is not None:
            check(config)
        return work()
    except UserError as error:
        return _failed(str(error), error)
    except KeyboardInterrupt:
        print(tr("stopped"), file=sys.stderr)
        return 130
    except BrokenPipeError:
        silence(sys.stdout)
        return 0
    except OSError as error:
        # A full disk or a deleted folder, at a moment when the run cannot continue.
        return _failed(refusal(error), error)
    except (MemoryError, RuntimeError, ImportError) as error:
        if (reason := without_memory(error)) is None:
            _tell_supervisor(str(error), error)
            raise
        return _failed(reason, error)


def _tell_supervisor(message: str, error: BaseException) -> None:
    """Tells the process that has started this run, if it listens, when the machine is to blame for an error."""
    if of_machine(error):
        supervisor_pipe.tell_machine(next(iter(message.splitlines()), "") or type(error).__name__, passes(error))


def _failed(message: str, error: BaseException) -> int:
    message = without_password(message)
    _tell_supervisor(message, error)
    print_error("\n".join([ERROR + message, *getattr(error, "__notes__", [])]))
    return MISTAKE
