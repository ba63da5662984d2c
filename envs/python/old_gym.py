"""Environments of gym before version 0.26: a step of four values, a reset without a seed."""

import inspect
from typing import Any

import gymnasium
from gymnasium import spaces

from envs.base import EnvError

_SPACES = ("observation_space", "action_space")


class OldGym(gymnasium.Env):
    """An environment with the old interface, as a gymnasium.Env. `done` is a termination, unless info has a true
    `TimeLimit.truncated`: then it is a truncation. Spaces of the package gym are converted."""

    def __init__(self, env: Any, render_mode: str | None = None) -> None:
        if lacking := [name for name in _SPACES if not hasattr(env, name)]:
            raise EnvError(f"OldGym: got {env!r}, which has no {' and no '.join(lacking)}; expected an environment")
        self.env, self.render_mode = env, render_mode
        self.observation_space, self.action_space = _space(env.observation_space), _space(env.action_space)
        old = getattr(env, "metadata", None) or {}
        self.metadata = {"render_modes": old.get("render_modes", old.get("render.modes", [])),
                         "render_fps": old.get("render_fps", old.get("video.frames_per_second"))}  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        """Returns a method or an attribute that only the old environment has, such as one for phases."""
        if name.startswith("_") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if "seed" in inspect.signature(self.env.reset).parameters:
            found = self.env.reset(seed=seed)
        else:
            if seed is not None and hasattr(self.env, "seed"):
                self.env.seed(seed % 2**32)
            found = self.env.reset()
        pair = isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict)
        return found if pair else (found, {})

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        found = self.env.step(action)
        if len(found) == 5:
            return found
        obs, reward, done, info = found
        cut = bool(done) and bool(info.get("TimeLimit.truncated"))
        return obs, reward, bool(done) and not cut, cut, info

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
            return spaces.Box(space.low, space.high, dtype=space.dtype.type)
        case "Discrete":
            return spaces.Discrete(int(space.n), start=int(getattr(space, "start", 0)))
        case "MultiDiscrete":
            return spaces.MultiDiscrete(space.nvec)
        case "MultiBinary":
            return spaces.MultiBinary(space.n)
        case "Dict":
            return spaces.Dict({key: _space(part) for key, part in space.spaces.items()})
        case "Tuple":
            return spaces.Tuple([_space(part) for part in space.spaces])
    return space
