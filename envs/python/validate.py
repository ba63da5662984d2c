"""Validation of an env_cfg section that names a class or a function of the user's own."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import gymnasium

from config.model.fields import Problem
from config.own import objects as own
from config.tell.language import tr
from envs.common.rows import no_environment
from envs.gym.validate import render_problems, wrapper_problems
from envs.python.config import Config
from envs.python.env import NOT_ASYNC, takes_context
from envs.several.multi_agent import several


def problems(cfg: Config) -> Iterator[Problem]:
    """Yields all problems; those of the arguments only if the class or function is found."""
    yield from wrapper_problems(cfg.wrappers)
    if not cfg.id:
        yield Problem("id", tr("must be given: a class or function as my_module:MyEnv, or a registered name"))
        return
    try:
        creator = own.find(cfg.id)
    except own.OwnError as error:
        yield Problem("id", str(error))
        return
    if not callable(creator):
        yield Problem(
            "id",
            tr(
                "{id} is of type {kind}; expected a class or a function that makes one",
                id=cfg.id,
                kind=type(creator).__name__,
            ),
        )
    elif isinstance(creator, type) and not several(creator) and (fault := no_environment(creator)):
        yield Problem("id", f"{cfg.id} {fault}")
    else:
        if cfg.vectorization == "async" and several(creator):
            yield Problem("vectorization", NOT_ASYNC)
        yield from _argument_problems(cfg, creator)
        yield from _render_problems(cfg, creator)


def _argument_problems(cfg: Config, creator: Callable[..., Any]) -> Iterator[Problem]:
    if takes_context(creator):
        return
    beside = (*Config.model_fields,)
    for key, message, *_ in own.keyword_problems(creator, cfg.constructor, supplied=("num_envs",), beside=beside):
        if key not in cfg.constructor:
            message += tr(
                ": add env_cfg.{key}=VALUE, or name the parameter env_config to get all settings as one mapping",
                key=key,
            )
        yield Problem(key, message)


def _takes_render_mode(creator: Callable[..., Any]) -> bool:
    """Returns True if render_mode is a parameter, or may be passed on as one of **kwargs."""
    parameters = own.parameters_of(creator) or ()
    return any(each.name == "render_mode" or each.kind is each.VAR_KEYWORD for each in parameters)


def _render_problems(cfg: Config, creator: Callable[..., Any]) -> Iterator[Problem]:
    if cfg.render_mode is None:
        return
    if not takes_context(creator) and not _takes_render_mode(creator):
        message = tr(
            "{id} has no parameter render_mode; a video needs it, and a method render that returns an image", id=cfg.id
        )
        yield Problem("render_mode", message)
    elif isinstance(creator, type) and getattr(creator, "render", None) is gymnasium.Env.render:
        yield Problem("render_mode", tr("{id} has no method render that returns an image; a video needs it", id=cfg.id))
    elif isinstance(creator, type) and isinstance(metadata := getattr(creator, "metadata", None) or {}, Mapping):
        # of a gymnasium.Wrapper it is a property: only an instance knows
        yield from render_problems(cfg.render_mode, list(metadata.get("render_modes", ())), cfg.id)
