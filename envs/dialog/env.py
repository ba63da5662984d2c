"""Makes rows of dialogues."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from config.model.fields import Problem
from envs.base import EnvError, VectorEnv
from envs.common.error_text import described
from envs.common.rows import assemble
from envs.dialog.actions import Actions, Bits, Sets
from envs.dialog.codec import Codec, full
from envs.dialog.config import Config
from envs.dialog.convlab import convlab
from envs.dialog.database import BUNDLED, Database, DatabaseError, load
from envs.dialog.dialog import DialogEnv
from envs.dialog.goal import sample
from envs.dialog.ontology import IDS
from envs.dialog.parts import OURS, Parts, of_settings
from envs.dialog.parts import problems as problems_of_parts
from envs.gym.env import prepare

Shared = tuple[Database, Codec, Actions]
"""Parts that rows have in common."""
MINED = 500
"""Dialogues of the rule policy in which frequent sets of acts are looked for."""


def make(cfg: Config, rows: int) -> VectorEnv:
    """Makes a vector environment. Raises EnvError if a database cannot be used."""
    prepare(cfg.render_mode, f"dialog {cfg.id}", rows)
    shared = _shared(cfg), of_settings(cfg)
    _try(cfg, *shared)
    return assemble(partial(_row, cfg, *shared), f"dialog {cfg.id}", rows, cfg.vectorization, cfg.action_mask)


def problems(cfg: Config) -> Iterator[Problem]:
    """Yields what is wrong with the databases."""
    try:
        database = database_of(cfg)
        if cfg.p_request or cfg.p_book:  # otherwise it is not a fault of the databases that goals ask for nothing
            sample(database, np.random.default_rng(0), cfg)
    except DatabaseError as error:
        yield Problem("data_dir", str(error))
    yield from problems_of_parts(cfg)


def single(cfg: Config, parts: Parts | None = None) -> DialogEnv:
    """Makes one environment. parts: of the user's own; None: those that the settings name."""
    shared = _shared(cfg), of_settings(cfg) if parts is None else parts
    _try(cfg, *shared)
    return _row(cfg, *shared)


def database_of(cfg: Config) -> Database:
    """Returns the databases of these settings. Raises DatabaseError."""
    return load(BUNDLED if cfg.data_dir is None else Path(cfg.data_dir).expanduser(), IDS[cfg.id])


def _row(cfg: Config, shared: Shared, parts: Parts, index: int = 0) -> DialogEnv:
    return DialogEnv(cfg, *shared, parts)


def _try(cfg: Config, shared: Shared, parts: Parts) -> None:
    """Lets parts of the user's own play the beginning of a dialogue. Raises EnvError if one cannot be used."""
    if parts == OURS:
        return
    try:
        env = _row(cfg.model_copy(update={"render_mode": None}), shared, parts)
        obs, _ = env.reset(seed=0)
        env.step(env.expert(obs[None])[0])
    except EnvError:
        raise
    except Exception as error:  # the user's own code may raise anything
        raise EnvError(
            "dialog {id} failed in its first exchange: {error}", id=cfg.id, error=described(error)
        ) from error


def _shared(cfg: Config) -> Shared:
    """Returns what rows have in common."""
    try:
        database = database_of(cfg)
    except DatabaseError as error:
        raise EnvError(f"env_cfg.data_dir: {error}") from error
    codec = convlab() if cfg.features == "convlab" else full(IDS[cfg.id], cfg.ranks)
    size = len(codec.system)
    if cfg.actions == "bits":
        return database, codec, Bits(size)
    return database, codec, Sets(size, _frequent(cfg, database, codec) if cfg.actions == "composite" else ())


def _frequent(cfg: Config, database: Database, codec: Codec) -> list[tuple[int, ...]]:
    """Returns the most frequent sets of several acts that the rule policy says; of equally frequent ones, the first."""
    env = DialogEnv(cfg.model_copy(update={"render_mode": None}), database, codec, Bits(len(codec.system)))
    counts: Counter[tuple[int, ...]] = Counter()
    for number in range(MINED):
        obs, _ = env.reset(seed=0 if number == 0 else None)
        ended = False
        while not ended:
            acts = env.expert.policy.acts(obs)
            counts[tuple(acts)] += len(acts) > 1
            obs, _, terminated, truncated, _ = env.step(env.actions.of(acts))
            ended = terminated or truncated
    return [acts for acts, count in counts.most_common(cfg.composite) if count]
