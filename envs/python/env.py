"""Vector environments made by a class or a function of the user's own."""

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium

from config.own import objects as own
from config.tell.language import tr
from envs.base import EnvContext, EnvError, VectorEnv
from envs.common.recipe import of_own
from envs.common.rows import assemble, make_env
from envs.common.wrappers import wrap
from envs.gym.env import prepare
from envs.pettingzoo.adapters import with_turns
from envs.python.config import Config
from envs.several.multi_agent import MultiAgentVector, several

CONTEXT = "env_config"
"""Parameter that gets all settings as one EnvContext."""
ALONE = ("config", "cfg", "conf", "c", "ctx", "context", "env_ctx", "env_context", "_")
"""Names of a parameter that does the same where it is the only one."""

NOT_ASYNC = tr("vectorization: async is for one agent; environments of several agents are stepped in this process")


def make(cfg: Config, rows: int, context: EnvContext) -> VectorEnv:
    """Makes a vector environment. Raises EnvError if it cannot be made or violates gymnasium's API."""
    prepare(cfg.render_mode, cfg.id, rows)
    try:
        creator = own.find(cfg.id)
    except own.OwnError as error:
        raise EnvError(str(error)) from error
    maker = partial(_row, creator, cfg, context, rows)
    first = make_env(maker, cfg.id, 0)
    if several(first):
        if cfg.vectorization == "async":
            raise EnvError(f"{cfg.id}: {NOT_ASYNC}")
        return MultiAgentVector.of(cfg, rows, lambda index: with_turns(maker(index) if index else first), context)
    if cfg.max_agents:
        raise EnvError(
            "env_cfg.max_agents is for several agents, and {id} gives a {kind}", id=cfg.id, kind=type(first).__name__
        )
    env = assemble(maker, cfg.id, rows, cfg.vectorization, cfg.action_mask, first)
    env.recipe = of_own(cfg.id, cfg.constructor, context_parameter(creator), cfg.wrappers)
    return env


def parameter_names(creator: Callable[..., Any]) -> list[str]:
    """Returns the names of the parameters; none if they cannot be determined."""
    return [parameter.name for parameter in own.parameters_of(creator) or ()]


def context_parameter(creator: Callable[..., Any]) -> str | None:
    """Returns the parameter that gets all settings as one EnvContext; None if each setting is an argument. A function
    of one parameter `config` or `_`, as RLlib's programs have it, gets them too."""
    names = parameter_names(creator)
    return next((name for name in (CONTEXT, *(ALONE if len(names) == 1 else ())) if name in names), None)


def takes_context(creator: Callable[..., Any]) -> bool:
    """Returns True if all settings are one argument, an EnvContext."""
    return context_parameter(creator) is not None


def _row(creator: Callable[..., Any], cfg: Config, context: EnvContext, rows: int, index: int) -> Any:
    """Makes the environment of a row with its wrappers, or a vector environment of all rows."""
    settings = cfg.constructor if cfg.render_mode is None else {**cfg.constructor, "render_mode": cfg.render_mode}
    mine = context.row(settings, index, rows)
    if (name := context_parameter(creator)) is not None:
        env = creator(**{name: mine})
    else:
        count = {"num_envs": rows} if "num_envs" in parameter_names(creator) else {}
        env = creator(**{**count, **mine})
    if cfg.wrappers and not isinstance(env, gymnasium.Env):
        raise EnvError("wrappers are for a gymnasium.Env, and {id} gives a {kind}", id=cfg.id, kind=type(env).__name__)
    return wrap(env, cfg.wrappers)
