"""From a valid config to an exit status. torch is imported only once the environment has agreed to the algorithm."""

import os
import sys
from collections.abc import Callable

from config.loader import ConfigError, RunConfig
from envs.base import EnvError
from framework import compatibility
from framework.errors import MISTAKE, JoystickError, Stopped
from framework.output.terminal import print_error
from framework.runs.signals import StopSignals


def run(config: RunConfig, command_line: list[str]) -> int:
    """Train or test. Every error that a person can cause ends in one message and status 2."""

    def work() -> int:
        compatibility.check(config)
        if config.general.mode == "train":
            from framework.runs.train import run as mode
        else:
            from framework.runs.test import run as mode
        with StopSignals() as signals:
            try:
                return mode(config, command_line, signals)
            except Stopped as stopped:
                print(stopped, file=sys.stderr)
                return signals.exit_status

    return _guarded(work)


def run_seeds(config: RunConfig, command_line: list[str], seeds: tuple[int, ...], jobs: int | None) -> int:
    """Train once for each seed, in processes of their own."""

    def work() -> int:
        compatibility.check(config)
        from framework.runs import many_seeds as group

        return group.run(config, command_line, seeds, jobs)

    return _guarded(work)


def dry_run(config: RunConfig) -> int:
    """Say what a run would be, and write nothing."""

    def work() -> int:
        compatibility.check(config)
        from framework.runs.dry_run import describe

        return describe(config)

    return _guarded(work)


def _guarded(work: Callable[[], int]) -> int:
    try:
        return work()
    except (JoystickError, ConfigError, EnvError) as error:
        print_error(f"error: {error}")
        return MISTAKE
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # whoever read our output has gone; nothing more can be said there
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # a full disk or a folder taken away, at a moment when nothing can be gone on with
        print_error(f"error: {error.filename or 'writing'}: {error.strerror or error}")
        return MISTAKE
