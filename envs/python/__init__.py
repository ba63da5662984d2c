"""Environments of the user's own: a class, or a function that makes one."""

from typing import TYPE_CHECKING

from config.own import objects as own
from envs.python.config import Config

if TYPE_CHECKING:
    from config.model.fields import Problem

__all__ = ["Config", "check", "ids", "knows"]


def check(cfg: Config) -> "list[Problem]":
    """Returns the problems of an env_cfg section. Imports the module of `module:name`."""
    from envs.python.validate import problems

    return list(problems(cfg))


def ids() -> list[str]:
    """Returns the environments that are built in: none."""
    return []


def knows(env_id: str) -> bool:
    """Returns True if an environment is registered under this name."""
    return ":" not in env_id and own.is_own(env_id)
