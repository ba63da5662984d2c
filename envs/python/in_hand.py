"""Environments that a program holds in its hands, as one vector environment."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium

from config.own import env_packages
from envs.base import EnvError, VectorEnv
from envs.common.registry import lookup, unknown_id, without_its_warning
from envs.common.rows import assemble, make_env
from envs.gym.config import Config
from envs.gym.env import make_scalar
from envs.several.multi_agent import several as has_several_agents


def rows_of(env: Any) -> VectorEnv:
    """Returns environments as rows that are stepped together.

    env: an environment, a function that makes one, an id of gymnasium, or a list of these, one for each row; or a
    vector environment, ours or gymnasium's.
    """
    if isinstance(env, VectorEnv):
        return env
    several = env if isinstance(env, Sequence) and not isinstance(env, str) else [env]
    if not several:
        raise EnvError("the list of environments is empty; give at least one")
    first = _env_of(several[0])
    if has_several_agents(first):
        raise _for_a_run(_name(first))
    rows = first.num_envs if isinstance(first, gymnasium.vector.VectorEnv) else len(several)
    vector = assemble(partial(_row, several), _name(first), rows, "sync", first=first)
    _compare([vector.member(row) for row in range(len(several))] if len(several) > 1 else [])
    return vector


def _for_a_run(name: str) -> EnvError:
    """Returns the error of an environment of several agents."""
    return EnvError(
        "{name} has several agents, which are trained by joystick.Run with policies_cfg (docs/agents.md)", name=name
    )


def _compare(members: Sequence[Any]) -> None:
    """Raises EnvError unless the environments of a list are different objects."""
    seen: dict[int, int] = {}
    for row, env in enumerate(members):
        if (other := seen.setdefault(id(env.unwrapped), row)) != row:
            raise EnvError(
                "environments {other} and {row} of the list are the same object, and would be "
                "stepped twice; give a function that makes a new one for each, such as [lambda: "
                "MyEnv()] * 8",
                other=other,
                row=row,
            )


def _row(several: Sequence[Any], index: int) -> gymnasium.Env:
    env: gymnasium.Env = _env_of(several[index])
    return env


def _env_of(thing: Any) -> Any:
    """Returns an environment, a function's result, or what gymnasium makes of an id."""
    if isinstance(thing, str) and (package := env_packages.of_id(thing)) is not None:
        if package.kind == "pettingzoo":
            raise _for_a_run(thing)
        if lookup(thing) is None:
            raise EnvError(unknown_id(thing))
        settings = {key: value for key, value, _ in env_packages.settings_of(thing)}
        return make_env(partial(make_scalar, Config(id=thing, **settings)), thing, 0)
    if isinstance(thing, str):
        try:
            with without_its_warning():
                return gymnasium.make(thing)
        except gymnasium.error.Error as error:
            raise EnvError(f"{thing}: {error}") from error
    is_env = isinstance(thing, gymnasium.Env | gymnasium.vector.VectorEnv)
    return thing() if isinstance(thing, Callable) and not is_env else thing  # type: ignore[arg-type]


def _name(env: Any) -> str:
    """Returns the name of an environment in messages: its id, or its class."""
    spec = getattr(env, "spec", None)
    return spec.id if spec is not None else type(getattr(env, "unwrapped", env)).__name__
