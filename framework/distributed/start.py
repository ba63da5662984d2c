"""From a config to a running topology of processes, and its end."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

from algos.base import EnvSpec
from config.loader import ConfigError, RunConfig
from config.schema import MemorySpec, NetworkConfig, ReplaySpec, RolloutSpec
from framework import build
from framework.distributed import cluster
from framework.distributed.crew import LONGEST_FRAGMENT
from framework.distributed.driver import Remote, run_ahead
from framework.memory.chunk import MOST_AT_ONCE

PROCESS_BYTES = 300 * 2**20
"""Memory that a process of ours takes with torch and Ray in it."""
LEAST_BYTES = 64 * 2**20
STORE_FRAGMENTS = 8
"""Fragments of each worker, and chunks, for which there is room in shared memory."""


@contextlib.contextmanager
def topology(config: RunConfig, spec: EnvSpec, stopping: Callable[[], bool]) -> Iterator[Remote]:
    """Processes as the config says; none of them is alive afterwards. stopping: true when the run was asked to stop."""
    cfg = config.general
    spec = all_rows(config, spec)
    refuse(config, spec)
    agent = build.make_agent(config, spec, cfg.seed, build.CPU)
    with cluster.started(cfg, _store_bytes(config, spec)) as ray:
        remote = Remote(ray, config, spec, agent, stopping)
        try:
            yield remote
        finally:
            remote.end()


def _is_rollout(config: RunConfig) -> bool:
    return isinstance(config.algo.memory(1), RolloutSpec)


def all_rows(config: RunConfig, spec: EnvSpec) -> EnvSpec:
    """With the rows of which the memory makes a window: those of all workers, where their fragments are joined."""
    joined = not (run_ahead(config) and _is_rollout(config))
    return replace(spec, rows=spec.rows * (config.general.n_workers if joined else 1))


def refuse(config: RunConfig, spec: EnvSpec) -> None:
    """ConfigError where the processes cannot share the work, RayError where there are too many of them for here."""
    cfg, wanted = config.general, config.algo.memory(spec.rows)
    if run_ahead(config) and (why := _must_not_lag(config)):
        place = config.where.get("general_cfg.run_ahead", "default")
        raise ConfigError([f"{place}: general_cfg.run_ahead: {why}; set it to 0"])
    place = config.where.get("general_cfg.n_learners", "default")
    if cfg.n_learners > 1 and not isinstance(config.algo, NetworkConfig):
        raise ConfigError([f"{place}: general_cfg.n_learners: {config.algo_package.NAME} has no gradients to share"])
    batch = _minibatch(wanted, spec.rows)
    if batch is not None and batch % cfg.n_learners:
        raise ConfigError(
            [f"{place}: general_cfg.n_learners: a batch of {batch} cannot be split evenly between {cfg.n_learners}"]
        )
    if cfg.ray_address is None:
        cluster.processes_that_fit(cfg.n_workers, cfg.n_learners, PROCESS_BYTES)


def _must_not_lag(config: RunConfig) -> str | None:
    """Why workers have to wait for the learner."""
    if not type(config.algo).MAY_LAG:
        return f"{config.algo_package.NAME} learns only from what its newest policy has done"
    if _is_rollout(config) and getattr(config.algo, "normalize_reward", False):
        return "normalize_reward follows each row without a gap, and windows of several workers come in any order"
    return config.algo.must_wait()


def _minibatch(wanted: MemorySpec, rows: int) -> int | None:
    """Samples of a minibatch, which learners divide; None where it depends on what was collected."""
    if isinstance(wanted, ReplaySpec):
        return wanted.batch_size
    if wanted.unit == "episodes":
        return None
    samples = wanted.length * rows // (wanted.sequence or wanted.length)
    return min(wanted.minibatch or samples, samples)


def _store_bytes(config: RunConfig, spec: EnvSpec) -> int:
    """Shared memory for what is on its way between processes."""
    wanted = config.algo.memory(spec.rows)
    step = build.step_bytes(config, spec)
    longest = wanted.fragment if isinstance(wanted, RolloutSpec) else LONGEST_FRAGMENT
    fragments = longest * config.general.n_workers * config.env.n_envs * step
    chunk = wanted.length * spec.rows * step if isinstance(wanted, RolloutSpec) else 0
    if isinstance(wanted, ReplaySpec):
        chunk = MOST_AT_ONCE * wanted.batch_size * wanted.sequence * step
    return LEAST_BYTES + STORE_FRAGMENTS * (fragments + chunk)
