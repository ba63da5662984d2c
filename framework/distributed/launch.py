"""Starts the backend of many processes and ends it."""

import contextlib
from collections.abc import Callable, Iterator

import cloudpickle

from algos.base import EnvSpec
from config.read.loader import RunConfig
from config.tell.language import tr
from framework.assemble import build, resources
from framework.assemble import fit as compatibility
from framework.distributed import ray_cluster
from framework.distributed.ray_backend import RayBackend
from framework.distributed.worker_pool import LONGEST_FRAGMENT
from framework.errors import JoystickError
from framework.policies.policy_plan import plan
from framework.screen.formatting import counted
from framework.screen.stages import stage

LEAST_BYTES = 64 * 2**20
"""Shared memory for everything but fragments and chunks."""
STORE_FRAGMENTS = 8
"""Number of fragments of each worker, and of chunks, that fit into shared memory at once."""


@contextlib.contextmanager
def backend(
    config: RunConfig, spec: EnvSpec, stopping: Callable[[], bool], say: Callable[[str], None] = print
) -> Iterator[RayBackend]:
    """Starts the processes of a run, and ends them all on exit. stopping: True if the run was asked to stop."""
    config = _without_absent_gpu(config)
    cfg = config.general
    _refuse_unpicklable(config)
    spec = compatibility.spec_of_all(config, spec)
    agent = build.make_agent(config, spec, cfg.seed, build.CPU)
    build.choose_threads(config, agent)
    workers, learners = counted(cfg.n_workers, "worker"), counted(cfg.n_learners, "learner")
    sentence = tr("starting Ray: {workers}, {learners}, data server ...")
    if cfg.ray_address:
        sentence = tr("starting Ray in the cluster at {address}: {workers}, {learners}, data server ...")
    say(sentence.format(address=cfg.ray_address, workers=workers, learners=learners))
    with contextlib.ExitStack() as stack:
        once = _sent_bytes(config, spec)
        several = LEAST_BYTES + STORE_FRAGMENTS * once
        with stage(tr("starting Ray")):
            ray = stack.enter_context(ray_cluster.started(cfg, several))
            if cfg.ray_address:
                ray_cluster.must_have_store(ray, once, several)
        with stage(tr("starting the processes")):
            remote = RayBackend(ray, config, spec, agent, stopping, ray_cluster.renew)
        try:
            yield remote
        finally:
            remote.end()


def _refuse_unpicklable(config: RunConfig) -> None:
    """Raises JoystickError if a class or function of the user's own cannot be sent to another process."""
    for name, thing in config.objects.items():
        try:
            cloudpickle.dumps(thing)
        except Exception as error:  # what it refers to may raise anything
            cause = " ".join(f"{type(error).__name__}: {error}".split())
            raise JoystickError(
                "{name!r} cannot be sent to Ray workers ({cause}): create what it refers to inside "
                "of it, or put it into a module and name it as module:name",
                name=name,
                cause=cause,
            ) from error


def _without_absent_gpu(config: RunConfig) -> RunConfig:
    """Returns settings that request no GPU, if device auto finds none on this machine. A cluster may have one."""
    cfg = config.general
    if not cfg.gpus or cfg.device != "auto" or cfg.ray_address or build.device_of(config).type == "cuda":
        return config
    print(
        tr("no GPU here: num_gpus_per_learner {number:g} is not used, and learners use the CPU", number=cfg.gpus),
        flush=True,
    )
    return config.with_general(num_gpus_per_learner=0)


def _sent_bytes(config: RunConfig, spec: EnvSpec) -> int:
    """Returns the bytes of a fragment of each worker and of a chunk."""
    its = plan(config, spec)
    longest = its.fragment if its.fresh else LONGEST_FRAGMENT
    step = max(
        resources.row_bytes(spec),
        sum(resources.step_bytes(config, learner) * learner.per_row for learner in its.learning),
    )
    fragments = longest * config.general.n_workers * config.env.n_envs * step
    chunk = max((resources.chunk_bytes(config, policy) for policy in its.learning), default=0)
    return fragments + chunk
