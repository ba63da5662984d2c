"""Task-oriented dialogue: a system, which is the policy, talks to a simulated user."""

from typing import TYPE_CHECKING, Any

from envs.dialog.config import PARTS, Config
from envs.dialog.ontology import IDS

if TYPE_CHECKING:
    from config.model.fields import Problem

__all__ = ["PARTS", "Config", "check", "composed", "ids", "knows"]


def check(cfg: Config) -> "list[Problem]":
    """Returns the problems of an env_cfg section that need the databases."""
    from envs.dialog.env import problems

    return list(problems(cfg))


def composed(cfg: Config, *parts: Any) -> Any:
    """Returns the environment of parts that a program has put together: sys_nlg, usr, sys_nlu, sys_dst, evaluator."""
    from envs.dialog.composition import environment

    return environment(cfg, *parts)


def knows(env_id: str) -> bool:
    """Returns True if there are dialogues of this name."""
    return env_id in ids()


def ids() -> list[str]:
    """Returns the names of the sets of domains."""
    return list(IDS)
