"""Kinds of environment, found by folder: envs/<name>/config.py has Config, envs/<name>/env.py has make."""

import inspect
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from config.own import former
from envs.base import EnvContext, VectorEnv

former.answer()


class UnknownEnvironment(LookupError):
    """No kind of environment has this name."""


@cache
def _folders() -> dict[str, ModuleType]:
    names = sorted(path.parent.name for path in Path(__file__).parent.glob("*/config.py"))
    return {name: import_module(f"envs.{name}") for name in names}


def available() -> list[str]:
    """Returns the names of all kinds of environment."""
    return list(_folders())


def get(name: str) -> ModuleType:
    """Returns the package of a kind of environment. A dotted name is a user's own package."""
    if "." in name:
        return import_module(name)
    if name.lower() in _folders():
        return _folders()[name.lower()]
    raise UnknownEnvironment(name)


def make(package: ModuleType, cfg: Any, rows: int, context: EnvContext | None = None) -> VectorEnv:
    """Makes a vector environment with this number of rows; seeds are given at each reset. context: its place in the
    run, which a package's make need not take."""
    maker = import_module(f"{package.__name__}.env").make
    place = EnvContext() if context is None else context
    takes = "context" in inspect.signature(maker).parameters
    env: VectorEnv = maker(cfg, rows, **({"context": place} if takes else {}))
    env.context = place.row(cfg.constructor, 0, rows)
    return env


def vector_of(env: Any) -> VectorEnv:
    """Returns environments that a program holds in its hands as one vector environment: an environment, a function that
    makes one, an id of gymnasium, or a list of these, one for each row; or a vector environment."""
    rows: VectorEnv = import_module("envs.python.in_hand").rows_of(env)
    return rows
