"""From a config to a running backend of processes, and its end."""

import contextlib
from collections.abc import Callable, Iterator

from algos.base import EnvSpec
from config.loader import RunConfig
from config.schema import ReplaySpec, RolloutSpec
from framework import build, compatibility, resources
from framework.distributed import ray_cluster
from framework.distributed.ray_backend import RayBackend
from framework.distributed.worker_pool import LONGEST_FRAGMENT

LEAST_BYTES = 64 * 2**20
STORE_FRAGMENTS = 8
"""Fragments of each worker, and chunks, for which there is room in shared memory."""


@contextlib.contextmanager
def backend(config: RunConfig, spec: EnvSpec, stopping: Callable[[], bool]) -> Iterator[RayBackend]:
    """Processes as the config says; none of them is alive afterwards. stopping: true when the run was asked to stop."""
    cfg = config.general
    spec = compatibility.spec_of_all(config, spec)
    agent = build.make_agent(config, spec, cfg.seed, build.CPU)
    with ray_cluster.started(cfg, _store_bytes(config, spec)) as ray:
        remote = RayBackend(ray, config, spec, agent, stopping)
        try:
            yield remote
        finally:
            remote.end()


def _store_bytes(config: RunConfig, spec: EnvSpec) -> int:
    """Shared memory for what is on its way between processes."""
    wanted = config.algo.memory(spec.rows)
    step = resources.step_bytes(config, spec)
    longest = wanted.fragment if isinstance(wanted, RolloutSpec) else LONGEST_FRAGMENT
    fragments = longest * config.general.n_workers * config.env.n_envs * step
    chunk = wanted.length * spec.rows * step if isinstance(wanted, RolloutSpec) else 0
    if isinstance(wanted, ReplaySpec):
        chunk = resources.minibatches_at_once(config, spec) * wanted.batch_size * wanted.sequence * step
    return LEAST_BYTES + STORE_FRAGMENTS * (fragments + chunk)
