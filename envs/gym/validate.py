"""Validation of an env_cfg section that needs gymnasium."""

import os
import re
from collections.abc import Iterator
from typing import Any

from gymnasium.envs.registration import EnvSpec, load_env_creator

from config.model.fields import Problem
from config.own import env_packages
from config.own import objects as own
from config.own.values import value_problems
from config.tell.language import tr
from envs.common import registry, wrappers
from envs.common.headless import without_display
from envs.gym import pool
from envs.gym.config import Config, Wrappers
from envs.gym.native import ROWS
from envs.pettingzoo import registry as pettingzoo

_OF_MAKE = ("max_episode_steps",)


def problems(cfg: Config) -> Iterator[Problem]:
    """Yields all problems; those of the keywords only if the environment can be found."""
    yield from wrapper_problems(cfg.wrappers)
    if cfg.vectorization == "envpool":
        yield from _pool_problems(cfg)
        return
    if not cfg.id.strip() or not cfg.id.isprintable():
        yield Problem("id", tr("{id!r} is not the name of an environment", id=cfg.id))
        return
    try:
        spec = registry.lookup(cfg.id)
    except Exception as error:  # a module may raise anything on import
        yield Problem("id", tr("the module of {id} cannot be imported: {error}", id=cfg.id, error=own.described(error)))
        return
    if spec is None:
        of_pettingzoo = re.fullmatch(r"[\w/]+_v\d+", cfg.id) and not pettingzoo.missing(cfg.id)
        yield Problem("id", pettingzoo.unknown(cfg.id) if of_pettingzoo else registry.unknown_id(cfg.id))
        return
    reason = registry.unusable(spec)
    if reason:
        yield Problem("id", reason)
        return
    yield from _environment_problems(cfg, spec)


def _environment_problems(cfg: Config, spec: EnvSpec) -> Iterator[Problem]:
    entry: Any = spec.entry_point
    if several_in(cfg.id):
        yield from _several_problems(cfg)
    elif cfg.vectorization == "native":
        yield from _native_problems(cfg, spec)
        entry = spec.vector_entry_point or (spec.entry_point if spec.entry_point in ROWS else None)
    if entry is None:
        return
    try:
        creator = load_env_creator(entry) if isinstance(entry, str) else entry
    except Exception as error:
        yield Problem("id", tr("{id} cannot be loaded: {error}", id=spec.id, error=own.described(error)))
        return
    by_vector = cfg.vectorization == "native" and entry is spec.vector_entry_point
    extra, supplied = () if by_vector else _OF_MAKE, ("num_envs", *spec.kwargs)
    yield from own.keyword_problems(creator, cfg.constructor, extra, supplied=supplied, beside=(*Config.model_fields,))
    modes = (getattr(creator, "metadata", None) or {}).get("render_modes")
    if cfg.render_mode is not None and (reason := registry.undrawable(spec)):
        yield Problem("render_mode", reason)
    if isinstance(modes, list | tuple) and cfg.render_mode is not None:
        drawn = ["rgb_array"] if several_in(cfg.id) else []  # by envs.gym.agents, whatever they say
        yield from render_problems(cfg.render_mode, [*modes, *drawn], spec.id)


def several_in(env_id: str) -> bool:
    """Returns True for an environment of several agents."""
    package = env_packages.of_id(env_id)
    return package is not None and package.agents


def _several_problems(cfg: Config) -> Iterator[Problem]:
    """Yields settings for which an environment of several agents has no use."""
    if cfg.vectorization != "auto" and cfg.vectorization != "sync":
        message = tr("{id} has several agents, and its rows are stepped in this process; use auto or sync", id=cfg.id)
        yield Problem("vectorization", message)
    if cfg.wrappers:
        yield Problem("wrappers", tr("wrappers are for one agent, and {id} has several", id=cfg.id))


def _native_problems(cfg: Config, spec: EnvSpec) -> Iterator[Problem]:
    if spec.vector_entry_point is None and spec.entry_point not in ROWS:
        present = registry.of_ale(spec.id)
        message = (
            tr(
                "{id} has no vector version of its own; use {present}, which has one, or auto, sync or async",
                id=spec.id,
                present=present,
            )
            if present
            else tr("{id} has no vector version of its own; use auto, sync or async", id=spec.id)
        )
        yield Problem("vectorization", message)
    yield from _wrapped_problems(cfg)


def _pool_problems(cfg: Config) -> Iterator[Problem]:
    """Yields why envpool cannot make an environment; its settings are checked when it is made."""
    if not env_packages.is_installed("envpool"):
        yield Problem("vectorization", registry.needs(cfg.id, "envpool", pool.INSTALL))
        return
    names = pool.ids()
    if pool.name_of(cfg.id) not in names:
        hint = registry.nearest(pool.name_of(cfg.id), names)
        near = tr("; did you mean {hint}?", hint=hint) if hint else ""
        yield Problem("id", tr("envpool has no {id}{near}", id=pool.name_of(cfg.id), near=near))
    yield from _wrapped_problems(cfg)
    if cfg.render_mode is not None:
        yield Problem("render_mode", tr("envpool is not drawn here; use vectorization auto, sync or async"))


def _wrapped_problems(cfg: Config) -> Iterator[Problem]:
    """Yields why rows that another package steps have no wrappers."""
    if cfg.wrappers:
        message = tr("{kind} cannot be combined with wrappers; use auto, sync or async", kind=cfg.vectorization)
        yield Problem("vectorization", message)


def render_problems(mode: str, offered: list[str], env_id: str) -> Iterator[Problem]:
    """Yields why an environment that offers these modes cannot render in this one here."""
    through_pictures = mode == "human" and "rgb_array" in offered
    if mode not in offered and not through_pictures:
        yield Problem(
            "render_mode",
            tr("{env_id} does not offer {mode}; it offers: {modes}", env_id=env_id, mode=mode, modes=", ".join(offered))
            if offered
            else tr(
                "{env_id} does not offer {mode}; a class of your own offers it with {metadata} and a method render",
                env_id=env_id,
                mode=mode,
                metadata='metadata = {"render_modes": ["rgb_array"]}',
            ),
        )
    elif mode == "human" and without_display() and "SDL_VIDEODRIVER" not in os.environ:
        yield Problem(
            "render_mode", tr("human needs a display and DISPLAY is not set; rgb_array writes videos/video.gif")
        )


def wrapper_problems(entries: Wrappers) -> Iterator[Problem]:
    """Yields the problems of a list of wrappers."""
    for entry in entries or []:
        name, settings = wrappers.split(entry)
        for message in _wrapper_messages(name, settings):
            yield Problem("wrappers", message)


def _wrapper_messages(name: str, settings: dict[str, Any]) -> Iterator[str]:
    if name in wrappers.REFUSED:
        yield tr("{name} cannot be used: {reason}", name=name, reason=wrappers.REFUSED[name])
    elif name not in wrappers.names() and not own.is_own(name):
        module, _, last = name.rpartition(".")
        mine = tr(
            "one of your own is named {module}:{last}, with --allow-import {package}",
            module=module,
            last=last,
            package=module.partition(".")[0],
        )
        hint = registry.nearest(last, wrappers.names())
        packaged = tr("one of a package or of your own has its module before it: my_module:{name}", name=name)
        more = mine if module else tr("did you mean {hint}?", hint=hint) if hint else packaged
        yield tr("there is no wrapper {name!r}; {hint}", name=name, hint=more)
    else:
        try:
            kind = wrappers.find(name)
        except ImportError as error:
            yield tr("{name} needs a package that is not installed: {error}", name=name, error=error)
            return
        except (own.OwnError, ValueError) as error:
            yield str(error)
            return
        unfit = list(own.keyword_problems(kind, settings, skip=1))
        if not unfit and kind in wrappers.OURS.values():
            unfit = list(value_problems({key: (wrappers.adapter(kind, key), value) for key, value in settings.items()}))
        for problem in unfit:
            yield f"{name}: {problem.key}: {problem.message}"
