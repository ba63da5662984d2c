"""Tiny environments with known optimal returns, for tests that an algorithm learns."""

from typing import TYPE_CHECKING

from envs.toy.config import Config

if TYPE_CHECKING:
    from config.model.fields import Problem

__all__ = ["Config", "check", "ids", "knows"]


def check(cfg: Config) -> "list[Problem]":
    """Returns the problems of an env_cfg section."""
    from envs.toy.env import problems

    return list(problems(cfg))


def knows(env_id: str) -> bool:
    """Returns True if there is a toy of this name."""
    from envs.toy.env import names

    return env_id in names()


def ids() -> list[str]:
    """Returns the names of the toys."""
    from envs.toy.env import names

    return sorted(names())
