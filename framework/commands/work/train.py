"""Mode train on the command line: signals, the watchdog, messages and exit statuses around an Experiment."""

import sys
from functools import partial

from config.read.loader import RunConfig
from config.read.paths import as_written
from config.tell.language import UserError, tr
from framework.disk.task_dir import circumstances
from framework.errors import ERROR, MISTAKE, CheckpointError, Interrupted
from framework.runs import run_files, supervisor_pipe
from framework.runs.experiment import Experiment
from framework.runs.model import unanswered
from framework.runs.session import Run
from framework.runs.signals import SaveSignals, StopSignals, Watchdog, leave
from framework.screen.formatting import resume_command


def run(config: RunConfig, command_line: list[str], signals: StopSignals) -> int:
    """Trains, and returns the exit status."""
    saving = SaveSignals()
    facts = circumstances(command_line)
    training = Experiment(config, signals.came, facts, handle=Run.of, asked_to_save=saving.taken)
    signals.waits = lambda: training.compiles
    with saving, Watchdog(config.general.env_timeout, training.watch, lambda: _hangs(training)):
        try:
            with training:
                status = _train(training, signals)
            return status or (MISTAKE if training.mirror is not None and training.mirror.is_behind else 0)
        except Exception as error:
            if training.opened and not isinstance(error, UserError | Interrupted):
                error.add_note(tr("whole traceback: {path}", path=as_written(training.task.logs / "log.txt")))
            # a checkpoint that does not fit will not fit the next time
            if (command := _resume(training)) and not isinstance(error, CheckpointError):
                error.add_note(command)
            raise


def _train(training: Experiment, signals: StopSignals) -> int:
    """Trains an open run, and returns the exit status."""
    reason = training.train()
    if reason is None:
        training.interrupted()
        return signals.exit_status
    end = training.pause if training.trainer.paused() else training.complete
    if not end(reason):
        return signals.exit_status
    return MISTAKE if training.trainer.points.unsaved else 0


def _resume(training: Experiment) -> str:
    """Returns how to resume a run that failed; nothing if it has no checkpoint."""
    if not training.opened or not training.store.numbers():
        return ""
    return tr("to resume: {command}", command=resume_command(training.task.path, training.config.allow_import))


def _hangs(training: Experiment) -> None:
    """Ends the process when an environment hangs; called by the watchdog, since the main thread will not return. Saves
    the last complete round first, unless the training is complete and saved."""
    lines = [why := unanswered(training.config, training.watch)]
    if training.trained:
        lines[0] = tr("warning: {reason}. The training is complete and saved", reason=why)
        facts = {"outcome": "trained; the environment hung at the end", "finished": True}
        training.output.write_run(facts)
    elif training.loaded:
        training.output.guarded(tr("the run could not be saved"), training.trainer.save)
        if training.trainer.points.unsaved:
            lines[0] = ERROR + tr("{reason}. The run was NOT saved", reason=why)
        else:
            lines[0] = ERROR + tr("{reason}. The run was saved", reason=why)
    else:
        lines[0] = ERROR + why
    if training.opened and not training.trained:
        failed = partial(run_files.write_failure, training.task, why)
        training.output.guarded(tr("run.json could not be written"), failed)
    if not training.trained:
        supervisor_pipe.tell_machine(why)
    print("\n" + "\n".join([*lines, *filter(None, [_resume(training)])]), file=sys.stderr)
    if training.opened:
        training.console.close()
    leave(0 if training.trained and not training.trainer.points.unsaved else MISTAKE)
