"""Starts Ray on this machine or connects to a cluster, and leaves no process or file behind."""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch

from algos.common.fast import kernels, switch
from config.config import GeneralConfig
from config.program import ROOT
from config.system.name import is_windows
from config.system.processes import LOOPBACK
from config.tell.language import VARIABLE, language, tr
from framework.distributed import ray_errors, reaper
from framework.errors import RayError, RayUnavailable, Stopped
from framework.runs import signals
from framework.screen.formatting import byte_size


class Words(NamedTuple):
    """Parts of messages, which depend on what Ray is for."""

    address: str
    """The setting with the address of a cluster."""
    way_out: str
    """Advice on what works without Ray."""


OF_A_RUN = Words("general_cfg.ray_address", tr("general_cfg.mp_backend=single trains without Ray"))
OLDEST = (2, 54)
LEAST_STORE = 80 * 2**20
"""Smallest object store with which Ray starts, in bytes."""
CONNECT_SECONDS = 5.0
"""Time in which the head node of a cluster must answer."""
SETTINGS = b"\x04"
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + SETTINGS + b"\0\0\0\0\0"
"""Begin of an HTTP/2 connection, which Ray speaks: the answer is a frame of the same type."""
CPUS_PER_LEARNER = 1
"""CPUs requested per learner. The data server is placed beside learner 0 and requests none."""
SMALLER = {"CPU": "num_cpus_per_worker", "GPU": tr("num_gpus_per_worker or num_gpus_per_learner")}
"""Kind of resource -> settings that request it."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",  # 15 by default: beside other work on this machine, our processes would stand still
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # every socket of our own Ray is on 127.0.0.1
}
ASLEEP = {"OMP_NUM_THREADS": "1", "GOMP_SPINCOUNT": "0"}
"""Threads that wait sleep at once: the other processes of the run have use for their cores."""
THERE = {
    **ASLEEP,
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    switch.VARIABLE: str(int(switch.PLAIN)),
    kernels.VARIABLE: str(int(kernels.are_fixed())),
    VARIABLE: language(),
}
"""Environment variables of our processes in a cluster."""
WITHOUT = [number for number in (signals.HANGUP, *signals.SAVING) if number is not None]
"""Signals that our processes ignore, also when each process of a job gets them: the driver saves."""
_begin: Callable[[], None] | None = None
"""Starts the Ray of this process, of which there is one, again; None without one of our own."""
NOT_SHIPPED = ["tasks/", ".git/", "docs/", "tests/", "benchmarks/", "build/", "*.gif", "*.log", ".venv*/", "venv/"]


def load(way_out: str = OF_A_RUN.way_out) -> ModuleType:
    """Returns the package ray; raises RayError if it is missing, broken or too old."""
    try:
        import ray

        version = tuple(int(part) for part in ray.__version__.split(".")[:2])
    except Exception as error:  # an incompatible package raises anything: AttributeError, TypeError
        if isinstance(error, ImportError) and error.name == "ray":
            raise RayError("Ray is not installed: pip install ray; {way_out}", way_out=way_out) from None
        cause = " ".join(f"{type(error).__name__}: {error}".split())[: ray_errors.LONGEST_REASON]
        raise RayError(
            "Ray cannot be imported ({cause}): pip install --upgrade ray; {way_out}", cause=cause, way_out=way_out
        ) from None
    if version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise RayError(
            'Ray {version} is too old: pip install "ray>={oldest}"; {way_out}',
            version=ray.__version__,
            oldest=oldest,
            way_out=way_out,
        )
    return ray


@contextlib.contextmanager
def started(cfg: GeneralConfig, store_bytes: int, words: Words = OF_A_RUN) -> Iterator[ModuleType]:
    """Starts Ray, or connects to a cluster; shuts it down on exit. store_bytes: size of the object store; words: for
    messages."""
    if cfg.ray_address is None and "ray" not in sys.modules:  # Ray reads them when it is imported, and never again
        os.environ.update(QUIET, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    ray = load(words.way_out)
    if ray.is_initialized():  # its end would be that of the other user
        raise RayUnavailable(
            "Ray is in use in this program already, by ray.init or by another run, and there is one for each program: "
            "leave out ray.init, since a run starts Ray itself, or close the other run; {way_out}",
            way_out=words.way_out,
        )
    with _connected(ray, cfg, cfg.ray_address, words) if cfg.ray_address else _local(ray, cfg, store_bytes):
        yield ray


@contextlib.contextmanager
def _local(ray: ModuleType, cfg: GeneralConfig, store_bytes: int) -> Iterator[None]:
    """Starts a Ray of our own: on the loopback interface, without dashboard, in a temporary folder."""
    # paths of sockets have at most 107 characters; on Windows they have none
    short = is_windows() or len(tempfile.gettempdir()) <= 22
    folder = Path(tempfile.mkdtemp(prefix="joystick-", dir=None if short else "/tmp"))  # noqa: S108  # 0700
    with signals.ignored_by_children(WITHOUT):
        watch = reaper.Reaper(folder)

    def begin() -> None:
        with inherited(_environment(folder)), signals.ignored_by_children(WITHOUT):
            _init(
                ray,
                tr("Ray could not be started"),
                address="local",  # also where RAY_ADDRESS names a cluster: that takes general_cfg.ray_address
                num_cpus=1,  # our actors request none, so any number of them can run
                num_gpus=None if torch.cuda.is_available() else 0,
                include_dashboard=False,
                object_store_memory=max(LEAST_STORE, store_bytes),
                _temp_dir=str(folder / "r"),  # Ray lets everybody write to it; nobody else gets through the one above
            )
        _silence()

    global _begin
    _begin = begin
    try:
        begin()
        must_have_room(ray, cfg, "GPU", learner=cfg.gpus)
        yield
    finally:
        _begin = None
        with contextlib.suppress(Exception):
            ray.shutdown()
        watch.close()
        shutil.rmtree(folder, ignore_errors=True)


def renew() -> None:
    """Starts our own Ray again if one of its processes has ended."""
    if _begin is None or ray_errors.ended_part() is None:
        return
    with contextlib.suppress(Exception):
        sys.modules["ray"].shutdown()
    _begin()


@contextlib.contextmanager
def _connected(ray: ModuleType, cfg: GeneralConfig, address: str, words: Words = OF_A_RUN) -> Iterator[None]:
    """Connects to a running cluster and sends our code to it."""
    cluster = os.environ.get("RAY_ADDRESS") or _head(words) if address == "auto" else address
    if cluster != "auto":
        _must_listen(cluster, words)
    failure = tr("Ray cannot be reached at {address}", address=address)
    if os.environ.get("RAY_AUTH_MODE") != "token":
        failure += tr(" (a cluster with tokens needs RAY_AUTH_MODE=token: docs/ray.md)")
    try:
        _init(
            ray,
            failure,
            words.way_out,
            address=address,
            # modules of the user's own are found where a machine has the same folders
            runtime_env={
                "working_dir": str(ROOT),
                "excludes": NOT_SHIPPED,
                "env_vars": {**THERE, "PYTHONPATH": _path(os.getcwd())},
            },
        )
        _silence()
        must_have_room(ray, cfg, "CPU", cfg.num_cpus_per_worker, CPUS_PER_LEARNER)
        must_have_room(ray, cfg, "GPU", cfg.num_gpus_per_worker, cfg.gpus)
        yield
    finally:
        ray.shutdown()


def _head(words: Words) -> str:
    """Returns the place of the head that Ray finds on this machine, which may have been killed; auto if it does not
    tell. Raises RayUnavailable if there is none."""
    services: Any = sys.modules.get("ray._private.services")
    try:
        return str(services.canonicalize_bootstrap_address("auto"))
    except AttributeError:
        return "auto"
    except ConnectionError:
        raise RayUnavailable(
            "{setting}: auto finds no Ray on this machine. `ray start --head` starts one; {way_out}",
            setting=words.address,
            way_out=words.way_out,
        ) from None


def _must_listen(address: str, words: Words) -> None:
    """Raises RayUnavailable if no Ray answers at HOST:PORT. ray.init has no timeout: at another service's port, such as
    that of Ray's own dashboard, it tries for many minutes."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), CONNECT_SECONDS) as connection:
            connection.sendall(GREETING)
            if connection.recv(9)[3:4] != SETTINGS:
                raise OSError(tr("the service there is not Ray"))
    except (OSError, UnicodeError, OverflowError) as error:
        raise RayUnavailable(
            "{setting}: nothing answers at {place} ({error}). `ray start --head` on the first "
            "machine prints the address; {way_out}",
            setting=words.address,
            place=address,
            error=error,
            way_out=words.way_out,
        ) from None


def _init(ray: ModuleType, failure: str, way_out: str = OF_A_RUN.way_out, **settings: Any) -> None:
    """Calls ray.init. Raises RayUnavailable with `failure` if it fails, and Stopped if a signal ends it."""
    ours = {number: signal.getsignal(number) for number in signals.NAMES}
    interrupted = None
    try:
        ray.init(log_to_driver=False, logging_level="critical", **settings)
    except SystemExit as error:  # the handler of SIGTERM that Ray installs while it starts
        interrupted = error
    except Exception as error:  # RuntimeError, ConnectionError, ValueError, OSError, ...
        cause = " ".join(str(error).split()) or type(error).__name__
        raise RayUnavailable(f"{failure}: {cause[: ray_errors.LONGEST_REASON]}; {way_out}") from None
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in ours.items():
                signal.signal(number, handler)
    if interrupted is not None:
        signal.raise_signal(signal.SIGTERM)  # now for our own handler
        raise Stopped("stopped before Ray had started") from interrupted


def _path(*folders: str) -> str:
    """Returns the PYTHONPATH that has these folders, and those of this process."""
    return os.pathsep.join(filter(None, [*folders, os.environ.get("PYTHONPATH", "")]))


def _environment(folder: Path) -> dict[str, str]:
    """Returns the environment variables of our processes; JOYSTICK_RAY marks them for the reaper, and SPT_NOENV keeps
    Ray's agents from writing zeros over it with their titles."""
    loopback = {"GLOO_SOCKET_IFNAME": LOOPBACK} if LOOPBACK else {}
    return {
        **ASLEEP,
        **loopback,
        "PYTHONPATH": _path(str(ROOT), os.getcwd()),
        "JOYSTICK_RAY": str(folder),
        "SPT_NOENV": "1",
        VARIABLE: language(),
    }


@contextlib.contextmanager
def inherited(variables: dict[str, str]) -> Iterator[None]:
    """Sets variables that the processes started meanwhile inherit. A runtime environment of Ray would take a second."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _silence() -> None:
    """Suppresses the paragraphs that Ray prints when a process dies; our driver reports deaths in one line. Ray has no
    setting for it: log_to_driver does not cover them."""
    worker: Any = sys.modules.get("ray._private.worker")
    if worker is not None and hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *args, **kwargs: None


def options(cpus: float, gpus: float = 0, node: str | None = None) -> dict[str, Any]:
    """Returns the options of an actor: its resources, and the preferred node; without one, actors are spread. Ray never
    restarts an actor: its random streams would repeat. Nor does its head keep an event of each call: they took
    hundreds of megabytes."""
    place: Any = "SPREAD"
    if node:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # soft alone waits forever if the node is alive but full; an actor that requests nothing fits anywhere
        place = NodeAffinitySchedulingStrategy(node, soft=True, _spill_on_unavailable=cpus + gpus > 0)
    return {
        "num_cpus": cpus, "num_gpus": gpus, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": place,
        "enable_task_events": False,
    }  # fmt: skip


def must_have_room(ray: ModuleType, cfg: GeneralConfig, kind: str, worker: float = 0, learner: float = 0) -> None:
    """Raises RayUnavailable if Ray has fewer resources than this run requests: it would wait forever."""
    has = ray.cluster_resources().get(kind, 0)
    demands = {"n_workers": (cfg.n_workers, worker), "n_learners": (cfg.n_learners, learner)}
    demand = sum(count * need for count, need in demands.values())
    if demand > has:
        parts = [
            tr("general_cfg.{key} {count} times {need:g}", key=key, count=count, need=need)
            for key, (count, need) in demands.items()
            if need
        ]
        raise RayUnavailable(
            "Ray has {has:g} {kind}s and this run asks for {demand:g}: {parts}; choose fewer of "
            "them, or a smaller {smaller}",
            has=has,
            kind=kind,
            demand=demand,
            parts=tr(" and ").join(parts),
            smaller=SMALLER[kind],
        )


def must_have_store(ray: ModuleType, once: int, several: int) -> None:
    """Raises RayUnavailable if no machine of a cluster has shared memory for what is sent at once: it would wait
    forever. several: number of bytes with which nothing waits."""
    sizes = [node["Resources"].get("object_store_memory", 0.0) for node in ray.nodes() if node["Alive"]]
    if max(sizes) < once:
        raise RayUnavailable(
            "the machines of this cluster share at most {has} between processes, and this run sends {once} at once: "
            "start Ray with `ray start --object-store-memory {several}`, or choose a smaller algo_cfg.batch_size or "
            "env_cfg.n_envs",
            has=byte_size(max(sizes)),
            once=byte_size(once),
            several=several,
        )
