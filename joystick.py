"""Joystick as a library: everything that is public. Importing it loads neither torch nor Ray.

import joystick

with joystick.Run("PPO", "CartPole-v1", seed=1) as run:
    for _ in range(10):
        print(joystick.pretty(run.train(1000)))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from config.loader import ConfigError as ConfigError
    from config.own import register as register
    from envs.base import EnvContext as EnvContext
    from envs.base import EnvError as EnvError
    from envs.python.old_gym import OldGym as OldGym
    from framework.callbacks import Callbacks as Callbacks
    from framework.errors import JoystickError as JoystickError
    from framework.output.trace_reader import read_traces as read_traces
    from framework.runs.api import Run as Run
    from framework.runs.api import pretty as pretty
    from framework.runs.policy import Policy as Policy
    from framework.runs.policy import load as load

_HOMES = {
    "Callbacks": "framework.callbacks",
    "EnvContext": "envs.base",
    "OldGym": "envs.python.old_gym",
    "ConfigError": "config.loader",
    "EnvError": "envs.base",
    "JoystickError": "framework.errors",
    "Policy": "framework.runs.policy",
    "Run": "framework.runs.api",
    "load": "framework.runs.policy",
    "pretty": "framework.runs.api",
    "read_traces": "framework.output.trace_reader",
    "register": "config.own",
    "register_env": "config.own",
}
"""Public name -> module that defines it, imported on first use."""
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'joystick' has no attribute {name!r}; public are {', '.join(_HOMES)}")
    return getattr(import_module(_HOMES[name]), "register" if name == "register_env" else name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
