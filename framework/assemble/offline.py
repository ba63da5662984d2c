"""The data that a run is given: opened for a policy, counted, and compared with the environment."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from config.model.memory_spec import DataSpec, MemorySpec, ReplaySpec
from config.program import PROGRAM
from config.read.loader import RunConfig
from config.tell.language import tr
from envs.base import VectorEnv
from framework.assemble import resources
from framework.collect.env_calls import Watch
from framework.memory.offline_data import (
    OfflineData,
    changes_of,
    has_masks,
    mean_return,
    select_data,
    share,
    updates_of,
)
from framework.policies.policy_plan import PolicyPlan

MOST_NOTES = 3
"""Number of notes on the data that a run prints; many files may have one each."""


def offline_data(config: RunConfig, policy: PolicyPlan, seed: int) -> OfflineData | None:
    """Opens the data that a policy is given; None if it is given none. Raises JoystickError if they do not suit the
    environment, or do not fit into this machine."""
    if (data_spec := data_of(config, policy.memory)) is None:
        return None
    data = select_data(data_spec, policy.spec, seed, config.env.action_mask)
    resources.data_that_fit(config, policy, data.transitions)
    return data


def with_updates(config: RunConfig) -> RunConfig:
    """Returns the settings with the number of updates of a run whose length is written in passes over given data."""
    cfg, epochs, memory = config.general, config.algo.data_epochs_of(), memory_of(config)
    if not epochs or not isinstance(memory, ReplaySpec) or (data := data_of(config, memory)) is None:
        return config
    updates = updates_of(data, cfg.seed, epochs, memory.batch_size * memory.sequence)
    return config.with_general(max_update=updates)


def data_return(config: RunConfig) -> float | None:
    """Returns the mean return of the given data; None if there are none."""
    data = data_of(config, memory_of(config))
    return mean_return(data, config.general.seed) if data else None


def mask_notes(config: RunConfig, env: VectorEnv, idle: Watch | None = None) -> Iterator[str]:
    """Yields what is taken for granted if the environment has action masks and the given data have none. idle: the
    watch of an environment that other processes collect in, in place of this one; None if it has begun its episodes."""
    data = data_of(config, memory_of(config))
    if data is None or has_masks(data):
        return
    if idle is not None:
        with idle("reset"):  # which shows whether there are masks
            env.reset(np.ones(env.rows, bool), np.arange(env.rows))
    if env.action_mask is not None:
        yield tr("algo_cfg.data has no action masks, and the environment has: all actions count as legal in the data")


def memory_of(config: RunConfig) -> MemorySpec | None:
    """Returns what a run of a single policy learns from; None with several."""
    return None if config.policies else config.algo.memory(config.env.n_envs)


def data_notes(config: RunConfig) -> Iterator[str]:
    """Yields how much of the given data is learned from if not all, and what was added to them, left out or seen."""
    if (data := data_of(config, memory_of(config))) is None:
        return
    if part := share(data, config.general.seed):
        yield f"algo_cfg.data: {part}"
    notes = changes_of(data)
    yield from (f"algo_cfg.data: {note}" for note in notes[:MOST_NOTES])
    if (more := len(notes) - MOST_NOTES) > 0:
        yield tr(
            "algo_cfg.data: {count:,} more notes of this kind; {program} data lists them", count=more, program=PROGRAM
        )


def data_of(config: RunConfig, memory: MemorySpec | None) -> DataSpec | None:
    """Returns the data that a memory learns from, with relative paths as they were meant when the settings were read:
    an environment may change the working directory."""
    if memory is None or memory.data is None:
        return None
    return replace(memory.data, start=config.start, resumed=config.task is not None)


def pace(config: RunConfig, updates: int, most: int) -> int:
    """Returns the number of minibatches in a chunk of given data: as many as divide the updates between checkpoints and
    those of the whole run, so that both end with a chunk."""
    cfg = config.general
    counts = [cfg.model_save_fre] if cfg.model_save_unit == "update" else []
    common = math.gcd(*counts, *(count for count in (updates, cfg.max_update, cfg.iteration_steps) if count > 0))
    return max(size for size in range(1, most + 1) if common % size == 0)
