"""Toy environments by name."""

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gymnasium

from config.model.fields import Problem
from config.own import objects as own
from config.tell.language import tr
from envs.base import EnvContext, EnvError, VectorEnv
from envs.common.registry import nearest
from envs.common.rows import assemble
from envs.several.multi_agent import MultiAgentVector
from envs.toy.config import Config
from envs.toy.faults import Bad, Crash, Hang, Sleep
from envs.toy.finite import DeepSea, Masked, StochasticMDP, Walk
from envs.toy.goals import BitFlip, Reach
from envs.toy.modes import Modes
from envs.toy.several import SEVERAL, Several
from envs.toy.tasks import TASKS, Draws
from envs.toy.timed import Counter, Recall, TimeLimit, TwoStep

TIMED: dict[str, Callable[..., gymnasium.Env]] = {
    "two_step": TwoStep,
    "time_limit": TimeLimit,
    "counter": Counter,
    "recall": Recall,
    "masked": Masked,
    "modes": Modes,
    "walk": Walk,
    "stochastic_mdp": StochasticMDP,
    "deep_sea": DeepSea,
    "bitflip": BitFlip,
    "reach": Reach,
    "crash": Crash,
    "bad": Bad,
    "sleep": Sleep,
    "hang": Hang,
}


def names() -> list[str]:
    """Returns the names of all toys."""
    return [*TASKS, *TIMED, *SEVERAL]


def make(cfg: Config, rows: int, context: EnvContext | None = None) -> VectorEnv:
    """Makes a vector environment of a toy."""
    if cfg.id not in names():
        raise EnvError(_unknown(cfg.id))
    if cfg.id in SEVERAL:
        wants_state = context is not None and context.global_state
        maker = partial(_several, cfg)
        return MultiAgentVector(maker, f"toy {cfg.id}", rows, obey_masks=cfg.action_mask, global_state=wants_state)
    return assemble(partial(_scalar, cfg), f"toy {cfg.id}", rows, cfg.vectorization, cfg.action_mask)


def problems(cfg: Config) -> Iterator[Problem]:
    """Yields the problems of name and settings."""
    if cfg.id not in names():
        yield Problem("id", _unknown(cfg.id))
        return
    if cfg.id in SEVERAL and cfg.vectorization == "async":
        yield Problem(
            "vectorization", tr("toy {id} has several agents, and those are stepped in this process", id=cfg.id)
        )
    offered = "render_mode" in inspect.signature(_creator(cfg.id)).parameters
    if cfg.render_mode is not None and not (offered and cfg.render_mode == "rgb_array"):
        yield Problem(
            "render_mode",
            tr(
                "toy {id} does not offer {mode}; counter offers rgb_array",
                id=cfg.id,
                mode=cfg.render_mode,
            ),
        )
    yield from own.keyword_problems(_creator(cfg.id), cfg.constructor, ("steps",) if cfg.id in TASKS else ())


def _scalar(cfg: Config, index: int) -> gymnasium.Env:
    settings = cfg.constructor
    if cfg.id in TASKS:
        return Draws(
            TASKS[cfg.id](**{key: settings[key] for key in settings if key != "steps"}), settings.get("steps", 1)
        )
    if cfg.render_mode is not None:
        settings["render_mode"] = cfg.render_mode
    return TIMED[cfg.id](**settings)


def _several(cfg: Config, index: int) -> Several:
    return SEVERAL[cfg.id](**cfg.constructor)


def _creator(name: str) -> Callable[..., Any]:
    return TASKS.get(name) or TIMED.get(name) or SEVERAL[name]


def _unknown(name: str) -> str:
    hint = nearest(name, names())
    remedy = tr("did you mean {hint}?", hint=hint) if hint else tr("there are {names}", names=", ".join(names()))
    return tr("there is no toy {name!r}; {remedy}", name=name, remedy=remedy)
