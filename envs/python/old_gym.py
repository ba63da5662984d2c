"""Environments of gym before version 0.26, one or several agents: a step of four values, a reset without a seed."""

import inspect
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium import spaces as kinds

from config.tell.language import tr
from envs.base import EnvError
from envs.python import old_agents

_SPACES = ("observation_space", "action_space")


class OldGym(gymnasium.Env):
    """An environment with the old interface, as a gymnasium.Env, or as an environment of several agents. `done` is a
    termination, unless info has a true `TimeLimit.truncated`: then it is a truncation. Spaces of the package gym are
    converted."""

    def __init__(self, env: Any, render_mode: str | None = None, spaces: old_agents.Spaces | None = None) -> None:
        """spaces: observation space and action space by name or pattern of agents, for an environment of several
        agents that has none."""
        if isinstance(env, type) or not any(hasattr(env, name) for name in ("reset", *_SPACES)):
            raise EnvError(
                "OldGym: got {env!r:.80}; expected an environment with reset and step, such as MyEnv()", env=env
            )
        old_agents.check(spaces)
        self.env, self.render_mode, self._name = env, render_mode, type(env).__name__
        self._several = old_agents.several(env, spaces)
        if self._several:
            self.possible_agents = old_agents.names(env, spaces)
            methods: Any = old_agents.spaces_by_agent(env, spaces, _space)
            self.observation_space, self.action_space = methods
        else:
            self.observation_space, self.action_space = (self._own_space(name) for name in _SPACES)
        old = getattr(env, "metadata", None) or {}
        self.metadata = {"render_modes": old.get("render_modes", old.get("render.modes", [])),
                         "render_fps": old.get("render_fps", old.get("video.frames_per_second"))}  # fmt: skip

    def _own_space(self, field: str) -> Any:
        if not hasattr(self.env, field):
            raise EnvError(
                "{name} has no {field}; set self.{field} in its __init__, or, if it has several "
                'agents, write joystick.OldGym(env, spaces={{"car_*": (observation_space, '
                "action_space)}})",
                name=self._name,
                field=field,
            )
        return _space(getattr(self.env, field))

    def __getattr__(self, name: str) -> Any:
        """Returns a method or an attribute that only the old environment has, such as one for phases."""
        if name.startswith("_") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if "seed" in inspect.signature(self.env.reset).parameters:
            result = self.env.reset(seed=seed)
        else:
            if seed is not None and hasattr(self.env, "seed"):
                self.env.seed(seed % 2**32)
            result = self.env.reset()
        pair = isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)
        obs, info = result if pair else (result, {})
        if isinstance(obs, Mapping) and not self._several and not isinstance(self.observation_space, kinds.Dict):
            raise EnvError(self._by_agent("reset", obs))
        return obs, info

    def _by_agent(self, method: str, mapping: Mapping[str, Any]) -> str:
        """Returns a sentence about an environment that has several agents and does not say so."""
        return tr(
            "{method} of {name} gives a mapping ({keys}) and its space is one for all; if these are "
            'agents, write joystick.OldGym(env, spaces={{"*": (env.observation_space, '
            "env.action_space)}})",
            method=method,
            name=self._name,
            keys=", ".join(map(str, [*mapping][:3])),
        )

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        result = self.env.step(action)
        if len(result) == 5:
            return result
        if len(result) != 4:
            raise EnvError(
                "step of {name} gives {count} values; expected obs, reward, done, info",
                name=self._name,
                count=len(result),
            )
        obs, reward, done, info = result
        if self._several:
            return self._step_of_agents(obs, reward, done, info)
        if isinstance(done, Mapping):
            raise EnvError(self._by_agent("step", done))
        cut = bool(done) and bool(info.get("TimeLimit.truncated"))
        return obs, reward, bool(done) and not cut, cut, info

    def _step_of_agents(self, *parts: Any) -> Any:
        """Returns the five mappings of the dict interface for the four old ones."""
        for name, part in zip(("observations", "rewards", "dones", "infos"), parts, strict=True):
            if not isinstance(part, Mapping):
                raise EnvError(
                    "step of {name}: {part}: got a {kind}; expected a mapping by agent",
                    name=self._name,
                    part=name,
                    kind=type(part).__name__,
                )
        obs, reward, done, info = parts
        return obs, reward, *old_agents.ends(done, info), info

    def render(self) -> Any:
        taken = inspect.signature(self.env.render).parameters
        return self.env.render(mode=self.render_mode) if "mode" in taken else self.env.render()

    def close(self) -> None:
        if hasattr(self.env, "close"):
            self.env.close()


def _space(space: Any) -> Any:
    """Returns a space of gymnasium for one of gym, which has the same attributes."""
    if isinstance(space, gymnasium.Space):
        return space
    match type(space).__name__:
        case "Box":
            return kinds.Box(space.low, space.high, dtype=space.dtype.type)
        case "Discrete":
            return kinds.Discrete(int(space.n), start=int(getattr(space, "start", 0)))
        case "MultiDiscrete":
            return kinds.MultiDiscrete(space.nvec)
        case "MultiBinary":
            return kinds.MultiBinary(space.n)
        case "Dict":
            return kinds.Dict({key: _space(part) for key, part in space.spaces.items()})
        case "Tuple":
            return kinds.Tuple([_space(part) for part in space.spaces])
    return space
