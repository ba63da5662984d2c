"""Measures the speed of training with several numbers of workers and rows: python main.py bench."""

import shutil
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from config.read.loader import ConfigError, RunConfig
from config.tell.cells import padded
from config.tell.language import tr
from envs.base import EnvError
from framework.commands.line.start import configured
from framework.errors import ERROR, MISTAKE, JoystickError, Stopped
from framework.record.console import Console
from framework.runs.experiment import Experiment
from framework.runs.signals import StopSignals, Watchdog, leave
from framework.screen import stages, terminal
from framework.screen.formatting import counted, short

WARM_UP = 1.0
"""Fewest seconds of training before a measurement."""
MOST_WARM_UP = 60.0
"""Seconds after which a measurement begins even if there was no update yet."""
LONGEST_REASON = 100
"""Number of characters that are shown of an error."""
COLUMN = 12
"""Cells of a column."""
HEAD = (tr("workers"), "n_envs", tr("steps/s"), tr("updates/s"))


@dataclass(frozen=True)
class Speed:
    """Environment steps and updates per second."""

    steps: float
    updates: float


@dataclass(frozen=True)
class Choice:
    """A number of workers (0: one process) and of rows."""

    workers: int
    rows: int

    def words(self) -> list[str]:
        """Returns the settings that choose it."""
        ray = ["general_cfg.mp_backend=ray", f"general_cfg.n_workers={self.workers}"]
        return [*(ray if self.workers else ["general_cfg.mp_backend=single"]), f"env_cfg.n_envs={self.rows}"]


Results = dict[Choice, Speed | str]
"""Choice -> speed, or why it has none."""


def run(config: RunConfig, request: Namespace) -> int:
    """Measures every combination and prints the table. config: as it is without them. Returns the exit status."""
    choices = [Choice(count, rows) for count in request.workers for rows in request.envs]
    results: Results = {}
    folder = Path(tempfile.mkdtemp(prefix="joystick-bench-"))
    screen = terminal.choose(sys.stdout)
    try:
        with StopSignals(doing=tr("stopping; what is complete is shown")) as signals:
            for number, choice in enumerate(choices):
                message = tr(
                    "measuring {settings} ({number} of {count})",
                    settings=" ".join(choice.words()),
                    number=number + 1,
                    count=len(choices),
                )
                if isinstance(screen, terminal.Plain):
                    screen.say(message)  # its draw leaves out some
                else:
                    screen.draw(number / len(choices), message, [])
                try:
                    with stages.shown_on(screen), stages.stage(tr("preparing")):
                        [config] = configured(request, choice.words()).values()
                        config = _lean(config, folder / f"{choice.workers}-{choice.rows}")
                        results[choice] = measure(config, request.seconds, signals.came)
                except Stopped:
                    break
                except (JoystickError, ConfigError, EnvError) as error:
                    results[choice] = " ".join(str(error).split())
    finally:
        screen.close()
        shutil.rmtree(folder, ignore_errors=True)
    for line in table(results):
        screen.say(line)
    measured = any(isinstance(result, Speed) for result in results.values())
    return signals.exit_status if signals.came() else 0 if measured else MISTAKE


def _lean(config: RunConfig, folder: Path) -> RunConfig:
    """Returns the settings of a run that starts at step 0, with one seed for all, and writes to `folder`."""
    lean = config.with_general(
        mode="train", load_checkpoint=False, load_path=None, seed=config.general.seed or 1, collect_traj=False,
        online_eval_episode=1,
    )  # fmt: skip
    return replace(lean, task=None, into=folder)


def measure(config: RunConfig, seconds: float, stopping: Callable[[], bool]) -> Speed:
    """Trains for some seconds after the warm-up. Only rounds are run: nothing is evaluated or saved. Raises Stopped."""
    run = Experiment(config, stopping, make_console=lambda log, cfg: Console(log, cfg, show=False))

    def hangs() -> None:
        print(
            ERROR + tr("the environment has not answered for {seconds:g} s", seconds=config.general.env_timeout),
            file=sys.stderr,
        )
        if config.into is not None:
            shutil.rmtree(config.into.parent, ignore_errors=True)
        leave(MISTAKE)

    with Watchdog(config.general.env_timeout, run.watch, hangs), run:
        trainer = run.trainer

        def advance(done: Callable[[float], bool]) -> float:
            since = time.monotonic()
            while not done(time.monotonic() - since):
                if stopping():
                    raise Stopped("stopped")
                trainer.round()
            return time.monotonic() - since

        with stages.stage(tr("warming up"), lambda: counted(trainer.count.step, "step")):
            advance(lambda past: past >= MOST_WARM_UP or (past >= WARM_UP and trainer.count.update > 0))
        before = trainer.count
        with stages.stage(tr("measuring"), lambda: counted(trainer.count.step - before.step, "step")):
            took = advance(lambda past: past >= seconds)
        return Speed((trainer.count.step - before.step) / took, (trainer.count.update - before.update) / took)


def table(results: Results) -> list[str]:
    """Returns the table, with the fastest row marked, and the settings to write."""
    measured = {choice: result for choice, result in results.items() if isinstance(result, Speed)}
    best = max(measured, key=lambda choice: measured[choice].steps, default=None)
    lines = ["".join(padded(title, COLUMN, right=True) for title in HEAD)]
    for choice, result in results.items():
        line = f"{choice.workers:>{COLUMN}}{choice.rows:>{COLUMN}}"
        if isinstance(result, Speed):
            line += f"{short(result.steps):>{COLUMN}}{short(result.updates):>{COLUMN}}"
            line += f"  {tr('fastest')}" if choice == best else ""
        else:
            line += f"  {result[:LONGEST_REASON]}"
        lines.append(line)
    if best is None:
        return [*lines, tr("nothing was measured")]
    return [*lines, tr("write: {settings}", settings=" ".join(best.words()))]
