"""Task-oriented dialogue: a system, which is the policy, talks to a simulated user."""

from typing import TYPE_CHECKING

from envs.dialog.config import Config
from envs.dialog.ontology import IDS

if TYPE_CHECKING:
    from config.schema import Problem

__all__ = ["Config", "check", "ids", "knows"]


def check(cfg: Config) -> "list[Problem]":
    """Returns the problems of an env_cfg section that need the databases."""
    from envs.dialog.env import problems

    return list(problems(cfg))


def knows(env_id: str) -> bool:
    """Returns True if there are dialogues of this name."""
    return env_id in ids()


def ids() -> list[str]:
    """Returns the names of the sets of domains."""
    return list(IDS)
