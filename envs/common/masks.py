"""Action masks, from `action_mask` in the info or in a Dict observation."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

from config.model.composite import Choices, Composite, choices_of
from config.tell.language import tr
from envs.base import Array, EnvError

KEY = "action_mask"


def in_observation(space: Space) -> bool:
    """Returns True if the mask is a part of the observation."""
    return isinstance(space, Dict) and KEY in space.spaces


def mask_in(obs: Any, info: dict[str, Any]) -> Any:
    """Returns the mask as the environment gives it; None if it gives none."""
    return obs[KEY] if isinstance(obs, dict) and KEY in obs else info.get(KEY)


def rest_of(space: Any) -> Space:
    """Returns a Dict space without the mask. If one part remains, it is the observation."""
    parts = {key: part for key, part in space.spaces.items() if key != KEY}
    if not parts:
        raise EnvError("the observation has no part besides {key}: the agent has nothing to observe", key=KEY)
    return next(iter(parts.values())) if len(parts) == 1 else Dict(parts)


def without(obs: dict[str, Any]) -> Any:
    """Returns an observation of one row or of N rows without the mask."""
    parts = {key: part for key, part in obs.items() if key != KEY}
    return next(iter(parts.values())) if len(parts) == 1 else parts


def encoder(encode: Callable[[Any], Any], inside: bool) -> Callable[[Any], Any]:
    """Returns what encodes an observation of the environment itself, with or without the mask that may be inside."""
    return (lambda obs: encode(without(obs) if isinstance(obs, dict) and KEY in obs else obs)) if inside else encode


def count(space: Space) -> int:
    """Returns the length of a mask: an entry for each value of each whole number; EnvError if there is none."""
    if isinstance(space, Discrete):
        return int(space.n)
    entries = choices(space).entries
    if not entries:
        raise EnvError(
            "{key} is for actions that are chosen from a few, and these are {space}; env_cfg.action_mask: false "
            "ignores it",
            key=KEY,
            space=space,
        )
    return entries


def choices(space: Space) -> Choices:
    """Returns the choices of an action, which may be a Tuple or Dict of the environment's own."""
    return choices_of(Composite(space) if isinstance(space, Dict | Tuple) else space)


def legal(mask: Any, space: Space) -> Array:
    """Returns a mask as a new bool array [..., entries]; EnvError for a wrong shape. It may be such an array already,
    or have the form of gymnasium's `space.sample(mask)`: a tuple with an array for each number of a MultiDiscrete, 0, 1
    or 2 (either) for each bit of a MultiBinary, a Tuple or Dict of masks, None for a part without one."""
    size = count(space)
    try:
        numbers = np.array(_flat(mask, space, size))
        if numbers.dtype != bool and not ((numbers == 0) | (numbers == 1)).all():
            raise ValueError(tr("expected True or False for each action, got {mask!r:.80}", mask=mask))
        array = numbers.astype(bool)
    except (ValueError, TypeError, LookupError) as error:
        raise EnvError("the {key} does not fit {space}: {error}", key=KEY, space=space, error=error) from None
    if array.shape[-1:] != (size,):
        raise EnvError(
            "the {key} has shape {shape}, and there are {count} actions", key=KEY, shape=array.shape, count=size
        )
    return array


def legal_now(mask: Any, space: Space, batch: tuple[int, ...] = ()) -> Array:
    """Returns the mask [*batch, entries] of observations to act on; EnvError also where no action is legal."""
    bools = legal(mask, space)
    if bools.shape[:-1] != batch:
        expected = (*batch, bools.shape[-1])
        raise EnvError(
            "the {key} has shape {shape}; expected {expected}", key=KEY, shape=bools.shape, expected=expected
        )
    if stuck(bools, np.bool_(False), space).any():
        raise EnvError("no action is legal: the {key} is 0 everywhere", key=KEY)
    return bools


def _flat(mask: Any, space: Space, size: int) -> Any:
    """Returns a mask in the form of gymnasium as one array [..., entries], or one number that stands for all of it."""
    if mask is None:
        return np.ones(size, bool)
    if isinstance(space, Composite):
        return _flat(mask, space.source, size)
    if isinstance(space, MultiBinary):
        bits = np.asarray(mask)
        own = bits.shape[bits.ndim - len(space.shape) :] == space.shape
        return (
            np.stack([bits != 1, bits != 0], -1).reshape(*bits.shape[: bits.ndim - len(space.shape)], -1)
            if own
            else bits
        )
    if isinstance(mask, dict) and isinstance(space, Dict):
        if unknown := set(mask) - set(space.spaces):
            raise ValueError(tr("there is no part {name!r}", name=sorted(unknown, key=str)[0]))
        pairs = [(mask.get(key), part) for key, part in space.spaces.items()]
    elif isinstance(mask, tuple) and isinstance(space, Tuple | MultiDiscrete):
        parts = space.spaces if isinstance(space, Tuple) else [Discrete(int(n)) for n in space.nvec.ravel()]
        pairs = list(zip(mask, parts, strict=True))
    else:
        return mask
    arrays = [legal(part, of) for part, of in pairs if choices(of).entries]
    batch = max((array.shape[:-1] for array in arrays), key=len)  # None is a mask of one row
    return np.concatenate([np.broadcast_to(array, (*batch, array.shape[-1])) for array in arrays], axis=-1)


def stuck(mask: Array, over: Any, space: Space) -> Array:
    """Makes all actions legal where a number has no legal value and the episode is over. Returns [...], True for such a
    mask [..., entries] in an episode that goes on, which is an error."""
    none = ~mask.any(axis=-1) if isinstance(space, Discrete) else choices(space).stuck(mask)
    mask[none & over] = True
    return np.asarray(none & ~over)


class Legal(gymnasium.Wrapper):
    """Puts the mask, checked and as bools, into every info, and removes it from the observation."""

    def __init__(self, env: gymnasium.Env, obey: bool = True) -> None:
        super().__init__(env)
        self._obey, self._inside = obey, in_observation(env.observation_space)
        if self._inside:
            self.observation_space = rest_of(env.observation_space)

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(**kwargs)
        return self._without_mask(obs), self._with_mask(obs, info, over=False)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        info = self._with_mask(obs, info, over=terminated or truncated)
        return self._without_mask(obs), reward, terminated, truncated, info

    def _without_mask(self, obs: Any) -> Any:
        return without(obs) if self._inside else obs

    def _with_mask(self, obs: Any, info: dict[str, Any], over: bool) -> dict[str, Any]:
        """Adds the mask to info. All actions count as legal if no mask is given or the episode is over."""
        if not self._obey:
            return info
        mask = mask_in(obs, info)
        bools = np.ones(count(self.action_space), bool) if mask is None else legal(mask, self.action_space)
        if stuck(bools, np.bool_(over), self.action_space):
            raise ValueError(tr("no action is legal: the {key} is 0 everywhere", key=KEY))
        return {**info, KEY: bools}


def with_masks(maker: Callable[[int], gymnasium.Env], obey: bool, index: int) -> gymnasium.Env:
    """Makes the environment of a row, which reports its masks."""
    return Legal(maker(index), obey)


class LegalRows(gymnasium.vector.VectorWrapper):
    """Moves the mask of a vector environment from the observation into the infos."""

    def __init__(self, env: gymnasium.vector.VectorEnv) -> None:
        super().__init__(env)
        self.single_observation_space = rest_of(env.single_observation_space)
        self._actions = env.single_action_space

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, infos = self.env.reset(seed=seed, options=options)
        return without(obs), {**infos, KEY: self._mask(obs)}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        obs, reward, terminated, truncated, infos = self.env.step(actions)
        infos = {**infos, KEY: self._mask(obs)}
        if "final_obs" in infos:
            self._divide(infos)
        return without(obs), reward, terminated, truncated, infos

    def _mask(self, obs: Any) -> Array:
        mask = obs[KEY]
        return mask.copy() if isinstance(mask, np.ndarray) else legal(mask, self._actions)

    def _divide(self, infos: dict[str, Any]) -> None:
        """Separates the final observations of an autoreset, one Dict per ended row, from their masks."""
        finals = infos["final_obs"]
        observations, masks = np.full(len(finals), None, object), infos[KEY].copy()
        for i in np.flatnonzero([final is not None for final in finals]):
            observations[i], masks[i] = without(finals[i]), self._mask(finals[i])
        infos["final_obs"] = observations
        infos["final_info"] = {**infos.get("final_info", {}), KEY: masks, f"_{KEY}": infos["_final_obs"]}
