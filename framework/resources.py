"""Memory and disk that a run needs, compared with what this machine has. Does not need torch."""

from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces

from config import machine
from config.loader import RunConfig
from config.schema import MemorySpec, ReplaySpec
from framework.checkpoint.journal import FRAME_BYTES, KEPT_JOURNALS
from framework.errors import JoystickError, RayError

if TYPE_CHECKING:
    from algos.base import EnvSpec

PROCESS_BYTES = 300 * 2**20
"""Memory that one process takes with torch and Ray in it."""
MOST_AT_ONCE = 64
"""Largest number of minibatches in a chunk: many enough that sampling them costs little, few enough to stay small."""
CHUNK_BYTES = 64 * 2**20
"""Largest size of a chunk of several minibatches: fewer than MOST_AT_ONCE of them if observations are images."""


def memories_that_fit(config: RunConfig, spec: "EnvSpec") -> float:
    """Returns how many memories fit on this machine; JoystickError if not even one does."""
    needed, free = memory_bytes(config, spec) + _copied_bytes(config, spec), machine.available_bytes()
    if free is None:
        return float("inf")
    if needed > free:
        raise JoystickError(
            f"the memory of {config.algo_package.NAME} needs {needed / 2**30:.1f} GiB and this machine has "
            f"{free / 2**30:.1f} GiB free; choose a smaller algo_cfg.buffer_size"
        )
    return free // needed


def memory_bytes(config: RunConfig, spec: "EnvSpec") -> int:
    """Returns the size of the full memory. For windows of complete episodes, whose length is unknown, this is the
    least."""
    wanted: MemorySpec = config.algo.memory(spec.rows)
    steps = wanted.capacity if isinstance(wanted, ReplaySpec) else wanted.length * spec.rows
    return steps * step_bytes(config, spec)


def _copied_bytes(config: RunConfig, spec: "EnvSpec") -> int:
    """Returns the size of what is copied from a replay memory for a while: a frame by a save (a load holds it as read
    from the file, as arrays, and beside the one before), and a chunk by sampling and by the learner."""
    wanted: MemorySpec = config.algo.memory(spec.rows)
    if not isinstance(wanted, ReplaySpec):
        return 0
    chunk = minibatches_at_once(config, spec) * _minibatch_bytes(wanted, config, spec)
    return 3 * min(FRAME_BYTES, memory_bytes(config, spec)) + 2 * chunk


def minibatches_at_once(config: RunConfig, spec: "EnvSpec") -> int:
    """Returns the largest number of minibatches in a chunk of a replay memory; 1 for a window of fresh steps."""
    wanted: MemorySpec = config.algo.memory(spec.rows)
    if not isinstance(wanted, ReplaySpec):
        return 1
    return max(1, min(MOST_AT_ONCE, CHUNK_BYTES // _minibatch_bytes(wanted, config, spec)))


def _minibatch_bytes(wanted: ReplaySpec, config: RunConfig, spec: "EnvSpec") -> int:
    return wanted.batch_size * wanted.sequence * step_bytes(config, spec)


def step_bytes(config: RunConfig, spec: "EnvSpec") -> int:
    """Returns the size of one transition: both observations, the action, the policy's state before it, and the columns
    that are added to it. Action masks are counted for every Discrete action, since only a reset tells if there are
    any."""
    size = 2 * _bytes(spec.observation_space) + _bytes(spec.action_space) + 4 * config.algo.state_size() + 10
    if isinstance(spec.action_space, spaces.Discrete) and config.env.action_mask:
        size += 2 * int(spec.action_space.n)
    if not isinstance(config.algo.memory(spec.rows), ReplaySpec):
        size += _bytes(spec.action_space) + 4  # the action as it was drawn, before its bounds, and its log probability
    return size


def journal_bytes(config: RunConfig, spec: "EnvSpec") -> int:
    """Returns the size that the journal of a replay memory can reach on the disk: what the oldest of the checkpoints
    whose journal is kept remembers, and everything collected since. 0 for windows of fresh steps."""
    wanted, cfg = config.algo.memory(spec.rows), config.general
    if not isinstance(wanted, ReplaySpec):
        return 0
    kept = cfg.keep_checkpoints if cfg.keep_checkpoints >= 1 else KEPT_JOURNALS
    apart = float(cfg.model_save_fre)
    if cfg.model_save_unit == "update":
        apart /= wanted.updates_per_step
    steps = min(wanted.capacity + kept * apart, most_steps(config) or float("inf"))
    size = int(steps * step_bytes(config, spec))
    return size + min(size, FRAME_BYTES)  # of the oldest file, one step may be needed


def most_steps(config: RunConfig) -> int | None:
    """Returns about how many steps the limits of the run allow; None if they do not tell."""
    cfg, limits = config.general, []
    if cfg.max_total_step > 0:
        limits.append(cfg.max_total_step)
    if cfg.max_episode > 0 and cfg.max_step > 0:
        limits.append(cfg.max_episode * cfg.max_step)
    return min(limits, default=None)


def _bytes(space: spaces.Space) -> int:
    return int(np.prod(space.shape or ())) * np.dtype(space.dtype or np.int64).itemsize


def processes_that_fit(workers: int, learners: int, each: int = PROCESS_BYTES) -> None:
    """Raises RayError if this machine lacks the memory for so many processes and the data server."""
    free, count = machine.available_bytes(), workers + learners + 1
    if free is not None and count * each > free:
        key = "n_workers" if workers >= learners else "n_learners"
        raise RayError(
            f"general_cfg.{key}: n_workers {workers}, n_learners {learners} and the data server need about "
            f"{count * each // 2**20:,} MiB and this machine has {free // 2**20:,} MiB free, which is enough for "
            f"{free // each} processes"
        )
