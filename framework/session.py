"""From a valid config to an exit status: sets a run up, lets it go, and tells its story at the end."""

import os
import sys
from collections.abc import Callable

from config.loader import ConfigError, RunConfig
from envs.base import EnvError
from framework import testing, training
from framework.errors import JoystickError
from framework.signals import StopSignals

CONFIG_MISTAKE = 2


def run(config: RunConfig, command_line: list[str]) -> int:
    """Train or test. Every error that a person can cause ends in one message and status 2."""
    mode = training.run if config.general.mode == "train" else testing.run
    with StopSignals() as signals:
        return _guarded(lambda: mode(config, command_line, signals))


def dry_run(config: RunConfig) -> int:
    """Say what a run would be, and write nothing."""
    from framework.dry_run import describe

    return _guarded(lambda: describe(config))


def _guarded(work: Callable[[], int]) -> int:
    try:
        return work()
    except (JoystickError, ConfigError, EnvError) as error:
        print(f"error: {error}", file=sys.stderr)
        return CONFIG_MISTAKE
    except BrokenPipeError:
        # whoever read our output has gone; nothing more can be said there
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
