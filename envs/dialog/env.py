"""Makes rows of dialogues."""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from config.schema import Problem
from envs.base import EnvError, VectorEnv
from envs.dialog.actions import Actions, Bits, Sets
from envs.dialog.codec import Codec, full
from envs.dialog.config import Config
from envs.dialog.convlab import convlab
from envs.dialog.database import OWN, Database, DatabaseError, load
from envs.dialog.dialog import DialogEnv, MakeUser, simulated
from envs.dialog.goal import sample
from envs.dialog.ontology import IDS
from envs.gym.rows import assemble

MINED = 500
"""Dialogues of the rule policy in which frequent sets of acts are looked for."""


def make(cfg: Config, rows: int) -> VectorEnv:
    """Makes a vector environment. Raises EnvError if a database cannot be used."""
    return assemble(partial(row, cfg), f"dialog {cfg.id}", rows, cfg.vectorization, cfg.action_mask)


def problems(cfg: Config) -> Iterator[Problem]:
    """Yields what is wrong with the databases."""
    try:
        sample(database_of(cfg), np.random.default_rng(0), cfg)
    except DatabaseError as error:
        yield Problem("data_dir", str(error))


def row(cfg: Config, index: int = 0, user: MakeUser = simulated) -> DialogEnv:
    """Makes one environment; user: makes who talks to the system."""
    try:
        database = database_of(cfg)
    except DatabaseError as error:
        raise EnvError(f"env_cfg.data_dir: {error}") from error
    codec = codec_of(cfg)
    return DialogEnv(cfg, database, codec, _actions(cfg, codec), user)


def database_of(cfg: Config) -> Database:
    """Returns the databases of these settings. Raises DatabaseError."""
    return load(OWN if cfg.data_dir is None else Path(cfg.data_dir).expanduser(), IDS[cfg.id])


def codec_of(cfg: Config) -> Codec:
    """Returns the vocabularies and positions of these settings."""
    return convlab() if cfg.features == "convlab" else full(IDS[cfg.id], cfg.ranks)


def _actions(cfg: Config, codec: Codec) -> Actions:
    size = len(codec.system)
    if cfg.actions == "bits":
        return Bits(size)
    return Sets(size, frequent_sets(cfg.model_dump_json()) if cfg.actions == "composite" else ())


@lru_cache(maxsize=8)
def frequent_sets(settings: str) -> tuple[tuple[int, ...], ...]:
    """Returns the most frequent sets of several acts that the rule policy says, for settings as JSON; the first one of
    equally frequent sets is the one that is said first."""
    cfg = Config.model_validate_json(settings)
    env = row(cfg.model_copy(update={"actions": "bits", "render_mode": None}))
    counts: Counter[tuple[int, ...]] = Counter()
    for number in range(MINED):
        obs, _ = env.reset(seed=0 if number == 0 else None)
        ended = False
        while not ended:
            acts = env.expert.policy.acts(obs)
            counts[tuple(acts)] += len(acts) > 1
            obs, _, terminated, truncated, _ = env.step(env.actions.of(acts))
            ended = terminated or truncated
    return tuple(acts for acts, count in counts.most_common(cfg.composite) if count)
