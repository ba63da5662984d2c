"""Validation of an env_cfg section that needs PettingZoo."""

from collections.abc import Iterator
from typing import Any

from config.model.fields import Problem
from config.own import objects as own
from config.tell.language import tr
from envs.common.registry import needs
from envs.gym.validate import render_problems
from envs.pettingzoo import registry
from envs.pettingzoo.config import Config


def problems(cfg: Config) -> Iterator[Problem]:
    """Yields all problems; those of the settings only if the environment can be found."""
    if package := registry.missing(cfg.id):
        yield Problem("id", needs(cfg.id, package, registry.INSTALL))
        return
    entry = registry.lookup(cfg.id)
    if entry is None:
        yield Problem("id", registry.unknown(cfg.id))
    elif reason := registry.unusable(entry):
        yield Problem("id", reason)
    elif cfg.api != "auto" and cfg.api not in entry.entries:
        yield Problem("api", tr("{id} has no {api} interface; use auto", id=entry.id, api=cfg.api))
    else:
        yield from _setting_problems(cfg, entry)


def _setting_problems(cfg: Config, entry: registry.Entry) -> Iterator[Problem]:
    try:
        entry.creator(cfg.api)
        constructor: Any = entry.constructor()
    except ImportError as error:
        module = (error.name or "").partition(".")[0]
        yield Problem("id", registry.needs(entry.id, module) if module else own.described(error))
        return
    except Exception as error:
        yield Problem("id", tr("{id} cannot be loaded: {error}", id=entry.id, error=own.described(error)))
        return
    yield from own.keyword_problems(constructor, cfg.constructor, beside=(*Config.model_fields,))
    modes = (getattr(constructor, "metadata", None) or {}).get("render_modes")
    if cfg.render_mode is not None and isinstance(modes, list | tuple):
        yield from render_problems(cfg.render_mode, list(modes), entry.id)
