"""Tiny environments with known answers, for tests and for proofs that an algorithm learns."""

from typing import TYPE_CHECKING

from envs.toy.config import Config

if TYPE_CHECKING:
    from config.schema import Problem

__all__ = ["Config", "check", "ids", "knows"]


def check(cfg: Config) -> "list[Problem]":
    """What is wrong with this section."""
    from envs.toy.env import problems

    return list(problems(cfg))


def knows(env_id: str) -> bool:
    """Whether there is a toy of this name."""
    from envs.toy.env import names

    return env_id in names()


def ids() -> list[str]:
    """Returns the names of the toys."""
    from envs.toy.env import names

    return sorted(names())
