"""Multi-agent environments of PettingZoo and mpe2, by name."""

from typing import TYPE_CHECKING

from envs.pettingzoo.config import Config

if TYPE_CHECKING:
    from config.schema import Problem

__all__ = ["Config", "check", "explain", "ids", "knows"]


def check(cfg: Config) -> "list[Problem]":
    """Returns the problems of an env_cfg section that need PettingZoo to be found."""
    from envs.pettingzoo.validate import problems

    return list(problems(cfg))


def knows(env_id: str) -> bool:
    """Returns True if PettingZoo or mpe2 has this name."""
    from envs.pettingzoo import registry

    return "/" in env_id and ":" not in env_id and registry.lookup(env_id) is not None


def ids() -> list[str]:
    """Returns the names that can be used here."""
    from envs.pettingzoo import registry

    return registry.ids()


def explain(topic: str) -> str | None:
    """Returns the help of an environment; None for any other topic."""
    from envs.pettingzoo import registry

    return registry.explain(topic) if knows(topic) else None
