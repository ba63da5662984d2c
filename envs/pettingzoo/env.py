"""Vector environments made from PettingZoo's environments."""

from functools import partial
from typing import Any

from envs.base import EnvContext, EnvError, VectorEnv
from envs.common.registry import needs
from envs.gym.env import prepare
from envs.pettingzoo import registry
from envs.pettingzoo.adapters import Adapter, Parallel, Turns
from envs.pettingzoo.config import Config
from envs.several.multi_agent import MultiAgentVector

_NEVER_THE_SAME = "butterfly/knights_archers_zombies"
"""Keeps something from one episode to the next: equal seeds and actions give other observations from step 3 on."""


def make(cfg: Config, rows: int, context: EnvContext | None = None) -> VectorEnv:
    """Makes a vector environment. Raises EnvError if it cannot be made."""
    prepare(cfg.render_mode, cfg.id, rows)
    if package := registry.missing(cfg.id):
        raise EnvError(needs(cfg.id, package, registry.INSTALL))
    entry = registry.lookup(cfg.id)
    if entry is None:
        raise EnvError(registry.unknown(cfg.id))
    return MultiAgentVector.of(cfg, rows, partial(_adapted, cfg, entry), context)


def _adapted(cfg: Config, entry: registry.Entry, index: int) -> Adapter:
    """Makes the environment of a row."""
    settings: dict[str, Any] = dict(cfg.constructor)
    if cfg.render_mode is not None:
        settings["render_mode"] = cfg.render_mode
    kind = Parallel if entry.interface(cfg.api) == "parallel" else Turns
    return kind(partial(entry.creator(cfg.api), **settings), anew=entry.id.startswith(_NEVER_THE_SAME))
