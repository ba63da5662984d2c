"""Multi-agent environments of PettingZoo and mpe2, by name."""

from typing import TYPE_CHECKING

from config.own import objects as own
from envs.pettingzoo.config import Config

if TYPE_CHECKING:
    from config.model.fields import Problem

__all__ = ["Config", "check", "explain", "ids", "knows", "own_limit"]


def check(cfg: Config) -> "list[Problem]":
    """Returns the problems of an env_cfg section that need PettingZoo to be found."""
    from envs.pettingzoo.validate import problems

    return list(problems(cfg))


def knows(env_id: str) -> bool:
    """Returns True if PettingZoo or mpe2 has this name."""
    from envs.pettingzoo import registry

    return "/" in env_id and ":" not in env_id and registry.lookup(env_id) is not None


def own_limit(cfg: Config) -> int | None:
    """Returns the number of steps after which the environment itself truncates an episode, its max_cycles; None if it
    has none, or counts the turns of one agent after the other."""
    from envs.pettingzoo import registry

    entry = None if registry.missing(cfg.id) else registry.lookup(cfg.id)
    if entry is None or entry.interface(cfg.api) != "parallel":
        return None
    defaults = {parameter.name: parameter.default for parameter in own.parameters_of(entry.constructor()) or ()}
    limit = cfg.constructor.get("max_cycles", defaults.get("max_cycles"))
    return limit if isinstance(limit, int) and limit > 0 else None


def ids() -> list[str]:
    """Returns the names that can be used here."""
    from envs.pettingzoo import registry

    return registry.ids()


def explain(topic: str) -> str | None:
    """Returns the help of an environment; None for any other topic."""
    from envs.pettingzoo import registry

    return registry.explain(topic) if knows(topic) else None
