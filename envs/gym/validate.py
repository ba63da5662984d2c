"""Validation of an env_cfg section that needs gymnasium."""

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gymnasium.envs.registration import EnvSpec, load_env_creator

from config.schema import Problem
from envs.gym import registry, wrappers
from envs.gym.config import Config

_OF_MAKE = ("max_episode_steps",)
_OF_CONFIG = ("id", "render_mode", "n_envs", "wrappers", "vectorization", "action_mask")


def problems(cfg: Config) -> Iterator[Problem]:
    """Yields all problems; those of the keywords only if the environment can be found."""
    yield from _wrapper_problems(cfg)
    if not cfg.id.strip() or not cfg.id.isprintable():
        yield Problem("id", f"{cfg.id!r} is not the name of an environment")
        return
    try:
        spec = registry.lookup(cfg.id)
    except Exception as error:  # a module may raise anything on import
        yield Problem("id", f"the module of {cfg.id} cannot be imported: {registry.described(error)}")
        return
    if spec is None:
        yield Problem("id", registry.unknown_id(cfg.id))
        return
    reason = registry.unusable(spec)
    if reason:
        yield Problem("id", reason)
        return
    yield from _environment_problems(cfg, spec)


def _environment_problems(cfg: Config, spec: EnvSpec) -> Iterator[Problem]:
    entry: Any = spec.entry_point
    if cfg.vectorization == "native":
        yield from _native_problems(cfg, spec)
        entry = spec.vector_entry_point
    if entry is None:
        return
    try:
        creator = load_env_creator(entry) if isinstance(entry, str) else entry
    except Exception as error:
        yield Problem("id", f"{spec.id} cannot be loaded: {registry.described(error)}")
        return
    known = None if cfg.vectorization == "native" else (*_OF_MAKE, *_OF_CONFIG)
    yield from keyword_problems(creator, cfg.constructor, known or (), supplied=("num_envs", *spec.kwargs))
    modes = (getattr(creator, "metadata", None) or {}).get("render_modes")
    if cfg.render_mode is not None and (reason := registry.undrawable(spec)):
        yield Problem("render_mode", reason)
    if isinstance(modes, list | tuple) and cfg.render_mode is not None:
        yield from _render_problems(cfg.render_mode, list(modes), spec.id)


def _native_problems(cfg: Config, spec: EnvSpec) -> Iterator[Problem]:
    if spec.vector_entry_point is None:
        present = registry.of_ale(spec.id)
        other = f"{present}, which has one, or " if present else ""
        yield Problem("vectorization", f"{spec.id} has no vector version of its own; use {other}auto, sync or async")
    if cfg.wrappers:
        yield Problem("vectorization", "native cannot be combined with wrappers; use auto, sync or async")


def without_display() -> bool:
    """Returns True if no window can be opened."""
    return sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _render_problems(mode: str, offered: list[str], env_id: str) -> Iterator[Problem]:
    through_pictures = mode == "human" and "rgb_array" in offered
    if mode not in offered and not through_pictures:
        modes = ", ".join(offered) or "none"
        yield Problem("render_mode", f"{env_id} does not offer {mode}; it offers: {modes}")
    elif mode == "human" and without_display() and "SDL_VIDEODRIVER" not in os.environ:
        yield Problem("render_mode", "human needs a display and DISPLAY is not set; rgb_array writes videos/video.gif")


def _wrapper_problems(cfg: Config) -> Iterator[Problem]:
    for entry in cfg.wrappers or []:
        name, settings = wrappers.split(entry)
        for message in _wrapper_messages(name, settings):
            yield Problem("wrappers", message)


def _wrapper_messages(name: str, settings: dict[str, Any]) -> Iterator[str]:
    try:
        kind = wrappers.find(name)
    except ValueError as error:
        yield str(error)
    except ImportError as error:
        yield f"{name} needs a package that is not installed: {error}"
    else:
        for problem in keyword_problems(kind, settings, skip=1):
            yield f"{name}: {problem.key}: {problem.message}"


def keyword_problems(
    creator: Callable[..., Any],
    given: Mapping[str, Any],
    known: tuple[str, ...] = (),
    skip: int = 0,
    supplied: tuple[str, ...] = (),
) -> Iterator[Problem]:
    """Yields keywords that a constructor does not take or lacks. The first `skip` parameters are not settings;
    `supplied` ones need not be."""
    parameters = list(inspect.signature(creator).parameters.values())[skip:]
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return
    names = {one.name for one in parameters} | set(known)
    for key in given:
        if key not in names:
            hint = registry.nearest(key, names)
            taken = ", ".join(sorted(names - set(_OF_CONFIG))) or "none"
            yield Problem(key, f"unknown; did you mean {hint}?" if hint else f"unknown; known are: {taken}")
    for one in parameters:
        optional = one.default is not one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        if not optional and one.name not in given and one.name not in supplied:
            yield Problem(one.name, "is required, and not set")
