"""Memory that a run needs, compared with what this machine has. torch is not needed to know."""

from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces

from config import machine
from config.loader import RunConfig
from config.schema import MemorySpec, ReplaySpec
from framework.errors import JoystickError, RayError

if TYPE_CHECKING:
    from algos.base import EnvSpec

PROCESS_BYTES = 300 * 2**20
"""Memory that a process of ours takes with torch and Ray in it."""


def memories_that_fit(config: RunConfig, spec: "EnvSpec") -> float:
    """How many full ones this machine has room for; JoystickError where it is not even one."""
    needed, free = memory_bytes(config, spec), machine.available_bytes()
    if free is None:
        return float("inf")
    if needed > free:
        raise JoystickError(
            f"the memory of {config.algo_package.NAME} needs {needed / 2**30:.1f} GiB and this machine has "
            f"{free / 2**30:.1f} GiB free; choose a smaller algo_cfg.buffer_size"
        )
    return free // needed


def memory_bytes(config: RunConfig, spec: "EnvSpec") -> int:
    """Size of the full memory; of complete episodes, whose steps nobody knows, at least this."""
    wanted: MemorySpec = config.algo.memory(spec.rows)
    steps = wanted.capacity if isinstance(wanted, ReplaySpec) else wanted.length * spec.rows
    return steps * step_bytes(config, spec)


def step_bytes(config: RunConfig, spec: "EnvSpec") -> int:
    """Size of one transition, from the shapes of observation and action, and what layers carry beside them."""
    carried = config.algo.state_size()
    return 2 * _bytes(spec.observation_space) + _bytes(spec.action_space) + 4 * carried + 10


def _bytes(space: spaces.Space) -> int:
    return int(np.prod(space.shape or ())) * np.dtype(space.dtype or np.int64).itemsize


def processes_that_fit(workers: int, learners: int, each: int = PROCESS_BYTES) -> None:
    """RayError where this machine has not the memory for so many processes and the data server."""
    free, count = machine.available_bytes(), workers + learners + 1
    if free is not None and count * each > free:
        key = "n_workers" if workers >= learners else "n_learners"
        raise RayError(
            f"general_cfg.{key}: n_workers {workers}, n_learners {learners} and the data server need about "
            f"{count * each // 2**20:,} MiB and this machine has {free // 2**20:,} MiB free, which is enough for "
            f"{free // each} processes"
        )
