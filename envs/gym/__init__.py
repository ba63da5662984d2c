"""Environments of gymnasium, by id."""

from typing import TYPE_CHECKING

from envs.gym.config import Config

if TYPE_CHECKING:
    from config.model.fields import Problem

__all__ = [
    "Config",
    "check",
    "current_id",
    "every_id",
    "explain",
    "ids",
    "knows",
    "own_limit",
    "present_name",
    "remark",
]


def check(cfg: Config) -> "list[Problem]":
    """Returns the problems of an env_cfg section that need gymnasium to be found. Imports the module of `module:Id`."""
    from envs.gym.validate import problems

    return list(problems(cfg))


def knows(env_id: str) -> bool:
    """Returns True if gymnasium has this id, without importing a user's module."""
    from envs.common import registry

    return ":" not in env_id and registry.lookup(env_id) is not None


def present_name(env_id: str) -> str:
    """Returns ALE/Breakout-v5 for an older id of that game, such as Breakout-v4; any other id unchanged."""
    from envs.common import registry

    try:
        return registry.of_ale(env_id) or env_id
    except Exception:  # the package cannot be imported; check reports that
        return env_id


def current_id(env_id: str) -> str:
    """Returns the id of the newest version for an environment that cannot be made any more; any other id unchanged."""
    from envs.common import registry

    return registry.current_id(env_id)


def remark(cfg: Config) -> str | None:
    """Returns what a user should know of an environment that can be made: that there is a newer version, or that a
    package is installed in another version than it was tried with."""
    from envs.common import registry

    return "\n".join(filter(None, (registry.outdated(cfg.id), registry.tried_with(cfg.id)))) or None


def own_limit(cfg: Config) -> int | None:
    """Returns the number of steps after which the environment itself truncates an episode; None if it does not."""
    from envs.common import registry

    spec = registry.lookup(cfg.id)
    limit = cfg.constructor.get("max_episode_steps", spec and spec.max_episode_steps)
    return limit if isinstance(limit, int) and limit > 0 else None


def ids() -> list[str]:
    """Returns the ids that can be used here, in their newest versions; of packages with many of them one each."""
    from envs.common import registry

    return registry.ids()


def every_id() -> list[str]:
    """Returns all ids that can be used here; imports all packages that register some."""
    from envs.common import registry

    return registry.ids(every=True)


def explain(topic: str) -> str | None:
    """Returns the help of a wrapper or an environment; None for any other topic. Imports no module of a `module:Id`."""
    from envs.common import registry, wrappers

    if topic in wrappers.names():
        return wrappers.explain(topic)
    return registry.explain(topic) if knows(topic) else None
