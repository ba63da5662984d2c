"""Ray itself: a small one of our own on this machine, or somebody's cluster; and nothing of ours left behind."""

import contextlib
import importlib
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from config.general import GeneralConfig
from framework.distributed import ray_errors, reaper
from framework.errors import JoystickError, RayError
from framework.runs import signals

ROOT = Path(__file__).resolve().parents[2]
WAY_OUT = "general_cfg.mp_backend=single trains without Ray"
ASKS_FOR_TOKEN = "if the cluster asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as it has them"
OLDEST = (2, 54)
LEAST_STORE = 80 * 2**20
"""Bytes of shared memory below which Ray does not start."""
CONNECT_SECONDS = 5.0
SETTINGS = b"\x04"
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + SETTINGS + b"\0\0\0\0\0"
"""Ray speaks HTTP/2: what begins like this is answered by a frame of the same type."""
CPUS_PER_LEARNER = 1
"""That a learner asks a cluster for; the data server, which sits beside the first, asks for none."""
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",  # 15 by default: beside other work on this machine, our processes would stand still
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # every socket of our own Ray is on 127.0.0.1
}
THERE = {"OMP_NUM_THREADS": "1", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Of our processes in a cluster."""
NOT_SHIPPED = ["tasks/", ".git/", "docs/", "tests/", "benchmarks/", "*.gif", "*.log", ".venv*/", "venv/"]


def load() -> ModuleType:
    """The package ray, or one line that says what is wrong with it."""
    try:
        import ray

        version = tuple(int(part) for part in ray.__version__.split(".")[:2])
    except Exception as error:  # a package that does not fit raises what it likes: AttributeError, TypeError
        if isinstance(error, ImportError) and error.name == "ray":
            raise RayError(f"mp_backend: ray needs Ray: pip install ray; {WAY_OUT}") from None
        cause = " ".join(f"{type(error).__name__}: {error}".split())[: ray_errors.LONGEST_REASON]
        raise RayError(f"Ray cannot be imported ({cause}): pip install --upgrade ray; {WAY_OUT}") from None
    if version < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise RayError(f"Ray {ray.__version__} is too old: pip install 'ray>={wanted}'; {WAY_OUT}")
    return ray


@contextlib.contextmanager
def started(cfg: GeneralConfig, store_bytes: int) -> Iterator[ModuleType]:
    """A running Ray, and its end. store_bytes: shared memory that the run needs."""
    if cfg.ray_address is None and "ray" not in sys.modules:  # Ray reads them when it is imported, and never again
        os.environ.update(QUIET, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    ray = load()
    with _connected(ray, cfg, cfg.ray_address) if cfg.ray_address else _local(ray, cfg, store_bytes):
        yield ray


@contextlib.contextmanager
def _local(ray: ModuleType, cfg: GeneralConfig, store_bytes: int) -> Iterator[None]:
    """Our own: on the loopback interface, without dashboard, in a folder that goes away again."""
    folder = Path(tempfile.mkdtemp(prefix="joystick-", dir=_short_folder()))
    watch = reaper.start(folder)
    try:
        with _said_in_one_line(), _our_signals(), _inherited(_environment(folder)), _deaf():
            ray.init(
                address="local",  # also where RAY_ADDRESS names a cluster: that takes general_cfg.ray_address
                num_cpus=1,  # our actors ask for none: this machine runs as many as are wanted
                num_gpus=None if torch.cuda.is_available() else 0,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="critical",
                object_store_memory=max(LEAST_STORE, store_bytes),
                _temp_dir=str(folder),
            )
        _silence(ray)
        must_have_room(ray, cfg, "GPU", learner=cfg.num_gpus_per_learner)
        yield
    finally:
        with contextlib.suppress(Exception):
            ray.shutdown()
        watch.close()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _connected(ray: ModuleType, cfg: GeneralConfig, address: str) -> Iterator[None]:
    """A cluster that is there already; our code travels to it."""
    with _said_in_one_line(address), _our_signals():
        _must_listen(_found(address))
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="critical",
            runtime_env={"working_dir": str(ROOT), "excludes": NOT_SHIPPED, "env_vars": THERE},
        )
    _silence(ray)
    try:
        must_have_room(ray, cfg, "CPU", cfg.num_cpus_per_worker, CPUS_PER_LEARNER)
        must_have_room(ray, cfg, "GPU", learner=cfg.num_gpus_per_learner)
        yield
    finally:
        ray.shutdown()


def _found(address: str) -> str:
    """The address, or the one that Ray finds for auto."""
    if address != "auto":
        return address
    services = importlib.import_module("ray._private.services")
    return str(services.canonicalize_bootstrap_address(address))


def _must_listen(address: str) -> None:
    """Ray itself would try for a minute, or two where somebody listens and never answers."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), CONNECT_SECONDS) as door:
            door.sendall(GREETING)
            answer = door.recv(9)
        if answer[3:4] != SETTINGS:
            raise OSError("what listens there is not Ray")
    except (OSError, UnicodeError, OverflowError) as error:
        raise RayError(
            f"general_cfg.ray_address: nothing answers at {address} ({error}). `ray start --head` on the first machine "
            f"prints the address; without ray_address, Ray is started here; {WAY_OUT}"
        ) from None


@contextlib.contextmanager
def _said_in_one_line(address: str | None = None) -> Iterator[None]:
    """Whatever keeps Ray from starting, as one line with the way out."""
    try:
        yield
    except JoystickError:
        raise
    except Exception as error:  # Ray raises what it likes here: RuntimeError, ConnectionError, ValueError, OSError
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        # two versions are a list of lines; what is wrong with our code on its way comes after the first one
        whole = lines[0].endswith(":") or "runtime environment" in lines[0]
        cause = (" ".join(lines) if whole else lines[0])[: ray_errors.LONGEST_REASON]
        place = f"cannot be reached at {address}" if address else "could not be started"
        token = f"; {ASKS_FOR_TOKEN}" if address and isinstance(error, ConnectionError) else ""
        raise RayError(f"Ray {place}: {cause}{token}; {WAY_OUT}") from None


def _environment(folder: Path) -> dict[str, str]:
    """Of our processes: a thread for each, where gloo may speak, where our packages are, and whose they are."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.getcwd(), os.environ.get("PYTHONPATH", "")]))
    return {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": path, "JOYSTICK_RAY": str(folder)}


@contextlib.contextmanager
def _inherited(variables: dict[str, str]) -> Iterator[None]:
    """What begins meanwhile has these variables, and so has all that it begins later. A runtime environment of Ray's
    would do the same in a second."""
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


@contextlib.contextmanager
def _our_signals() -> Iterator[None]:
    """Ray would take SIGTERM from us, and end the process in the middle of what it starts. Ours remembers it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = {number: signal.getsignal(number) for number in signals.NAMES}
    utils: Any = sys.modules.get("ray._private.utils")
    theirs = getattr(utils, "set_sigterm_handler", None)
    if theirs is not None:
        utils.set_sigterm_handler = lambda handler: None
    try:
        yield
    finally:
        if theirs is not None:
            utils.set_sigterm_handler = theirs
        for number, handler in ours.items():
            signal.signal(number, handler)  # beneath Python, Ray has taken SIGTERM all the same


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """What begins meanwhile does not hear that the terminal closes: the driver does, and it has to save first."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGHUP"):
        yield
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _short_folder() -> str | None:
    """Sockets in it have at most 107 characters."""
    folder = tempfile.gettempdir()
    return folder if len(folder) <= 24 else "/tmp"


def _silence(ray: ModuleType) -> None:
    """Our driver says itself that a worker died, in a line."""
    worker: Any = sys.modules.get("ray._private.worker")
    if worker is not None and hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *args, **kwargs: None


def options(cpus: float, gpus: float = 0, node: str | None = None) -> dict[str, Any]:
    """What an actor asks Ray for, and the node of a cluster on which it would best live; where that is nobody's wish,
    actors are spread. Never Ray's own restart: it would repeat the random streams of its birth."""
    place: Any = "SPREAD"
    if node:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # soft alone waits for ever where the node is there but has no room; who asks for nothing finds room anywhere
        place = NodeAffinitySchedulingStrategy(node, soft=True, _spill_on_unavailable=cpus + gpus > 0)
    return {
        "num_cpus": cpus, "num_gpus": gpus, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": place,
    }  # fmt: skip


def must_have_room(ray: ModuleType, cfg: GeneralConfig, kind: str, worker: float = 0, learner: float = 0) -> None:
    """RayError where Ray has less than this run asks for: it would wait for ever."""
    has = ray.cluster_resources().get(kind, 0)
    asked = {"n_workers": (cfg.n_workers, worker), "n_learners": (cfg.n_learners, learner)}
    wanted = sum(count * each for count, each in asked.values())
    if wanted > has:
        parts = [f"general_cfg.{key} {count} times {each:g}" for key, (count, each) in asked.items() if each]
        raise RayError(
            f"Ray has {has:g} {kind}s and this run asks for {wanted:g}: {' and '.join(parts)}; choose fewer of them, "
            "or a smaller num_cpus_per_worker or num_gpus_per_learner"
        )
