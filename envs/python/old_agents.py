"""Agents of multi-agent environments with the old interface: their names, and the spaces of each."""

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from gymnasium import Space

from envs.base import EnvError

Spaces = Mapping[str, tuple[Any, Any]]
"""Name of an agent, or pattern of names -> observation space and action space."""
MARKS = ("possible_agents", "get_agent_ids", "_agent_ids", "observation_spaces")
"""Attributes that only environments of several agents have."""
TIME_LIMIT = "TimeLimit.truncated"
"""Key of an info: the end comes from a time limit."""


def check(spaces: Any) -> None:
    """Raises EnvError for spaces that are not given as pairs by name or pattern of agents."""
    pairs = spaces.values() if isinstance(spaces, Mapping) else () if spaces is None else (spaces,)
    if wrong := [pair for pair in pairs if not isinstance(pair, tuple | list) or len(pair) != 2]:
        raise EnvError(
            'OldGym: spaces: got {wrong!r:.80}; expected {{"car_*": (observation_space, '
            "action_space)}}, by names or patterns of agents",
            wrong=wrong[0],
        )
    if isinstance(spaces, list | tuple):
        raise EnvError('OldGym: spaces: got a list; expected {"car_*": (observation_space, action_space)}')


def several(env: Any, spaces: Spaces | None) -> bool:
    """Returns True if an environment with the old interface has agents by name."""
    bases = {base.__name__ for base in type(env).__mro__}
    by_name = callable(getattr(env, "observation_space", None))
    return spaces is not None or by_name or "MultiAgentEnv" in bases or any(hasattr(env, mark) for mark in MARKS)


def names(env: Any, spaces: Spaces | None) -> list[str]:
    """Returns the names of all agents: those that the environment lists, else those with spaces of their own, else
    those that one reset shows."""
    listed = getattr(env, "possible_agents", None) or getattr(env, "_agent_ids", None)
    listed = listed or (env.get_agent_ids() if hasattr(env, "get_agent_ids") else None)
    listed = listed or _keys(getattr(env, "observation_spaces", None)) or _keys(getattr(env, "observation_space", None))
    listed = listed or [name for name in spaces or () if not set(name) & set("*?[")]
    return _in_order(listed or _first_observations(env))


def _keys(spaces: Any) -> list[Any]:
    parts = getattr(spaces, "spaces", spaces)
    return [*parts] if isinstance(parts, Mapping) else []


def _in_order(listed: Iterable[Any]) -> list[str]:
    return [*(sorted(listed) if isinstance(listed, set | frozenset) else listed)]


def _first_observations(env: Any) -> list[Any]:
    obs = env.reset()
    obs = obs[0] if isinstance(obs, tuple) and obs else obs
    if not isinstance(obs, Mapping):
        raise EnvError(
            "reset of {kind} gives a {got}; expected observations by agent",
            kind=type(env).__name__,
            got=type(obs).__name__,
        )
    return [*obs]


def spaces_by_agent(env: Any, spaces: Spaces | None, convert: Callable[[Any], Any]) -> tuple[Callable[[str], Any], ...]:
    """Returns observation_space(agent) and action_space(agent). convert: makes a space of gymnasium."""

    def of(number: int, agent: str) -> Any:
        pattern = next((name for name in spaces or () if fnmatchcase(agent, name)), None)
        if spaces is not None and pattern is not None:
            return convert(spaces[pattern][number])
        space = _own_space(env, ("observation_space", "action_space")[number], agent)
        if isinstance(space := convert(space), Space):
            return space
        raise EnvError(
            '{kind} has no spaces of agent {agent!r}; write joystick.OldGym(env, spaces={{"car_*": '
            "(observation_space, action_space)}}), by names or patterns of agents",
            kind=type(env).__name__,
            agent=agent,
        )

    return (lambda agent: of(0, agent)), (lambda agent: of(1, agent))


def _own_space(env: Any, field: str, agent: str) -> Any:
    """Returns what an environment says of the space of an agent: by a method, by a mapping, or one for all."""
    by_name = getattr(env, f"{field}s", None) or getattr(env, field, None)
    if callable(by_name) and not hasattr(by_name, "sample"):
        return by_name(agent)
    parts = getattr(by_name, "spaces", by_name)
    return parts.get(agent, by_name) if isinstance(parts, Mapping) else by_name


def ends(dones: Mapping[str, Any], infos: Mapping[str, Any]) -> tuple[dict[str, bool], dict[str, bool]]:
    """Returns terminated and truncated by agent. An end is a termination, unless the info of the agent has a true
    TimeLimit.truncated; that of the episode is one unless all infos have it."""
    cut = {name: _is_cut(infos.get(name)) for name in dones}
    cut["__all__"] = _is_cut(infos.get("__all__")) or (bool(infos) and all(map(_is_cut, infos.values())))
    terminated = {name: bool(done) and not cut[name] for name, done in dones.items()}
    return terminated, {name: bool(done) and cut[name] for name, done in dones.items()}


def _is_cut(info: Any) -> bool:
    return isinstance(info, Mapping) and bool(info.get(TIME_LIMIT))
