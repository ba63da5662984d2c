"""Any environment of gymnasium, by its id."""

from typing import TYPE_CHECKING

from envs.gym.config import Config

if TYPE_CHECKING:
    from config.schema import Problem

__all__ = ["Config", "check", "knows", "present_name"]


def check(cfg: Config) -> "list[Problem]":
    """What is wrong with this section, seen with gymnasium at hand. Imports the module of a `module:Id`."""
    from envs.gym.validate import problems

    return list(problems(cfg))


def knows(env_id: str) -> bool:
    """Whether gymnasium has it; no module is imported for that."""
    from envs.gym import registry

    return ":" not in env_id and registry.lookup(env_id) is not None


def present_name(env_id: str) -> str:
    """ALE/Breakout-v5 for an older name of that game, such as Breakout-v4; any other name as it is."""
    from envs.gym import registry

    try:
        return registry.of_ale(env_id) or env_id
    except Exception:  # of a package that cannot be imported; check says so
        return env_id
