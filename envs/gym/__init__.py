"""Environments of gymnasium, by id."""

from typing import TYPE_CHECKING

from envs.gym.config import Config

if TYPE_CHECKING:
    from config.schema import Problem

__all__ = ["Config", "check", "knows", "present_name"]


def check(cfg: Config) -> "list[Problem]":
    """Returns the problems of an env_cfg section that need gymnasium to be found. Imports the module of `module:Id`."""
    from envs.gym.validate import problems

    return list(problems(cfg))


def knows(env_id: str) -> bool:
    """Returns True if gymnasium has this id, without importing a user's module."""
    from envs.gym import registry

    return ":" not in env_id and registry.lookup(env_id) is not None


def present_name(env_id: str) -> str:
    """Returns ALE/Breakout-v5 for an older id of that game, such as Breakout-v4; any other id unchanged."""
    from envs.gym import registry

    try:
        return registry.of_ale(env_id) or env_id
    except Exception:  # the package cannot be imported; check reports that
        return env_id
