"""What keeps Ray from starting is said in one line, with the way out; and what cannot be shared is refused before."""

import contextlib
import os
import re
import signal
import socket
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import gymnasium
import pytest

from config import machine
from config.config import GeneralConfig
from config.read.loader import load
from framework.assemble import build, resources
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from framework.distributed import launch, ray_cluster, worker_pool
from framework.errors import JoystickError, Stopped
from framework.runs.signals import StopSignals
from main import main
from tests.tools.ray import RAY, TINY

ROOT = Path(__file__).parents[3]
WAY_OUT = "mp_backend=single trains without Ray"


UNUSED = "__version__ = '2.60.0'\ndef is_initialized(): return False\n"
"""Begin of a package ray that this program has not used yet."""


@pytest.fixture
def refused(tmp_path, capsys):
    """Returns what a run in this process writes to stderr that ends with status 2 and without a task directory."""

    def run_here(*words: str) -> str:
        folder = tmp_path / "run"
        try:
            status = main([*TINY, RAY, *words, "--into", str(folder)])
        except SystemExit as end:
            status = end.code
        assert status == 2
        assert not folder.exists()
        return capsys.readouterr().err

    return run_here


@pytest.fixture
def another_ray(tmp_path, monkeypatch):
    """Installs another package ray in the place of the real one, and forgets what is known of the real one."""

    def install(text: str) -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == "ray"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "ray", None)  # so that it is removed again after the test
        del sys.modules["ray"]
        for name in (*ray_cluster.QUIET, "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
            monkeypatch.setenv(name, "")
        (tmp_path / "ray").mkdir()
        (tmp_path / "ray" / "__init__.py").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))

    return install


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ImportError(\"No module named 'ray'\", name='ray')", "pip install ray"),
        ("raise ImportError('libsomething.so: cannot open')", "libsomething.so: cannot open"),
        ("raise AttributeError('numpy has no\\nattribute foo')", "(AttributeError: numpy has no attribute foo)"),
        ("", "has no attribute '__version__'"),
        ("__version__ = '1.13.0'", "Ray 1.13.0 is too old"),
        (f"{UNUSED}def init(**kwargs): raise OSError('No space left on device')", "No space left"),
        (
            f"{UNUSED}def init(**kwargs): raise RuntimeError('Version mismatch: The cluster was started "
            "with:\\n    Ray: 2.9.0\\n    Python: 3.10.1\\nThis process was started with:\\n    Ray: 2.60.0')",
            "started with: Ray: 2.9.0 Python: 3.10.1 This process was started with: Ray: 2.60.0",
        ),
    ],
    ids=["missing", "broken", "does not fit", "no version", "old", "cannot start", "another version"],
)
def test_a_ray_that_does_not_work_is_one_line_that_names_the_way_out(text, said, another_ray, refused):
    """RAY-5: and there is no task directory, and no traceback."""
    another_ray(text)
    (line,) = refused("--env=CartPole-v1").strip().splitlines()
    assert said in line
    assert WAY_OUT in line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("general_cfg.n_workers=0",), "at least 1"),
        (("general_cfg.n_workers=-2",), "at least 1"),
        (
            ("general_cfg.n_workers=100000",),
            "n_workers: n_workers 100000, n_learners 1 and the data server need about",
        ),
        (("--dry-run", "general_cfg.n_workers=100000"), "n_workers: n_workers 100000, n_learners 1 and"),
        (("general_cfg.n_learners=3",), "a batch of 64 cannot be split evenly between 3"),
        (("general_cfg.n_learners=128",), "a batch of 64 cannot be split evenly between 128"),
        (("general_cfg.ray_address=127.0.0.1:1",), "nothing answers at 127.0.0.1:1"),
        (("general_cfg.ray_address=127.0.0.1:99999",), "general_cfg.ray_address"),
        (("general_cfg.ray_address=127.0.0.1:0",), "general_cfg.ray_address"),
        (("general_cfg.ray_address=here",), "general_cfg.ray_address"),
        (("general_cfg.share_buffer=false",), "all learners share one memory"),
        (("general_cfg.run_ahead=2", "--algo=REINFORCE"), "REINFORCE learns only from what its newest policy has done"),
        (("general_cfg.run_ahead=1", "--algo=PPO", "algo_cfg.normalize_reward=true"), "normalize_reward"),
        (
            ("general_cfg.run_ahead=1", "--algo=PPO", "algo_cfg.normalize_obs=true"),
            "compare with the policy at the time",
        ),
        (("general_cfg.n_learners=2", "--algo=QLearning", "env_cfg.id=FrozenLake-v1"), "no gradients to share"),
    ],
)
def test_what_processes_cannot_do_is_refused_before_any_is_started(words, said, refused, monkeypatch):
    """RAY-6."""
    monkeypatch.setattr(ray_cluster, "_local", lambda *args: pytest.fail("Ray was started"))
    env = () if any(word.startswith("env_cfg.id=") for word in words) else ("--env=CartPole-v1",)
    err = refused(*env, *words)
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("workers", "learners", "said"),
    [
        (2, 4, "Ray has 3 CPUs and this run asks for 5: general_cfg.n_workers 2 times 0.5 and general_cfg.n_learners 4 "
               "times 1;"),
        (6, 1, "asks for 4: general_cfg.n_workers 6 times 0.5 and general_cfg.n_learners 1 times 1;"),
        (4, 1, None),
    ],
)  # fmt: skip
def test_where_a_cluster_has_too_little_room_each_setting_that_asks_for_it_is_named(workers, learners, said):
    ray = SimpleNamespace(cluster_resources=lambda: {"CPU": 3.0})
    cfg = GeneralConfig(mp_backend="ray", n_workers=workers, n_learners=learners)
    with pytest.raises(JoystickError, match=re.escape(said)) if said else contextlib.nullcontext():
        ray_cluster.must_have_room(ray, cfg, "CPU", 0.5, 1)


def test_workers_and_learners_can_share_the_gpus_of_a_cluster():
    ray = SimpleNamespace(cluster_resources=lambda: {"GPU": 1.0})
    cfg = GeneralConfig(mp_backend="ray", n_workers=2, n_learners=1)
    ray_cluster.must_have_room(ray, cfg, "GPU", 0.25, 0.5)
    with pytest.raises(JoystickError, match="or a smaller num_gpus_per_worker or num_gpus_per_learner"):
        ray_cluster.must_have_room(ray, cfg, "GPU", 0.25, 0.75)


def test_a_cluster_that_cannot_share_a_chunk_is_refused():
    """It would wait for the chunk forever, and say nothing."""
    nodes = [{"Alive": True, "Resources": {"object_store_memory": size}} for size in (78e6, 150e6)]
    nodes.append({"Alive": False, "Resources": {"object_store_memory": 1e12}})
    ray = SimpleNamespace(nodes=lambda: nodes)
    ray_cluster.must_have_store(ray, 140_000_000, 1_500_000_000)
    said = "share at most 143.1 MiB between processes, and this run sends 152.6 MiB at once: start Ray with `ray start "
    with pytest.raises(JoystickError, match=re.escape(f"{said}--object-store-memory 1600000000`")):
        ray_cluster.must_have_store(ray, 160_000_000, 1_600_000_000)


@pytest.mark.parametrize(("address", "workers_request"), [(None, (0, 0)), ("auto", (0.5, 0.25))])
def test_workers_request_cores_and_gpus_of_a_cluster_alone(monkeypatch, address, workers_request):
    words = [
        "general_cfg.mp_backend=ray",
        "general_cfg.num_cpus_per_worker=0.5",
        "general_cfg.num_gpus_per_worker=0.25",
    ]
    config = load(None, [*words, *([f"general_cfg.ray_address={address}"] if address else [])], find_algo=ALGOS,
                  find_env=ENVS)  # fmt: skip
    asked = {}
    ray = SimpleNamespace(remote=lambda **options: asked.update(options) or (lambda kind: kind), put=lambda value: None)
    monkeypatch.setattr(worker_pool.WorkerPool, "_start", lambda self, worker: None)
    spec = SimpleNamespace(rows=1, joint=None)
    worker_pool.WorkerPool(ray, config, spec, ahead=False)
    assert (asked["num_cpus"], asked["num_gpus"]) == workers_request
    assert asked["enable_task_events"] is False  # Ray's head would keep one of each call


@pytest.mark.parametrize(
    ("words", "has_gpu", "gpus"),
    [
        (["device=auto"], False, 0),
        (["device=auto"], True, 0.2),
        (["device=auto", "ray_address=auto"], False, 0.2),
    ],
)
def test_a_gpu_that_is_not_here_is_not_requested_with_device_auto(monkeypatch, capsys, words, has_gpu, gpus):
    monkeypatch.setattr("torch.cuda.is_available", lambda: has_gpu)
    monkeypatch.setattr("torch.cuda.device_count", lambda: int(has_gpu))
    words = [f"general_cfg.{word}" for word in ("mp_backend=ray", "num_gpus_per_learner=0.2", *words)]
    config = launch._without_absent_gpu(load(None, words, find_algo=ALGOS, find_env=ENVS))
    assert config.general.gpus == gpus
    assert ("num_gpus_per_learner 0.2 is not used" in capsys.readouterr().out) == (gpus == 0)


def test_where_memory_is_short_the_larger_number_is_to_blame_and_what_fits_does_not_contradict_it(monkeypatch):
    """10 + 64 + 1 processes of 300 MiB need 22,500; one MiB less holds 74 of them."""
    free = 22500 * 2**20
    monkeypatch.setattr(machine, "available_bytes", lambda: free)
    resources.processes_that_fit(10, 64, 300 * 2**20)
    free -= 2**20
    with pytest.raises(JoystickError) as error:
        resources.processes_that_fit(10, 64, 300 * 2**20)
    assert str(error.value) == (
        "general_cfg.n_learners: n_workers 10, n_learners 64 and the data server need about 22,500 MiB and this "
        "machine has 22,499 MiB free, which is enough for 74 processes"
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionError("Failed to connect"), "Failed to connect;"),
        (RuntimeError("Two versions:\n  Ray: 2.9\n  Ray: 2.60"), "Two versions: Ray: 2.9 Ray: 2.60;"),
        (OSError(), "OSError;"),
    ],
)
def test_a_cluster_that_refuses_us_is_one_line_with_the_cause(error, said):
    def init(**settings):
        raise error

    with pytest.raises(JoystickError) as refused:
        ray_cluster._init(SimpleNamespace(init=init), "Ray cannot be reached at 10.0.0.1:6379")
    assert str(refused.value).startswith(f"Ray cannot be reached at 10.0.0.1:6379: {said}")


@pytest.mark.parametrize(
    ("mode", "hint"), [("", r" \(a cluster with tokens needs RAY_AUTH_MODE=token"), ("token", ":")]
)
def test_a_cluster_that_refuses_us_may_want_a_token(mode, hint, monkeypatch):
    def init(**settings):
        raise ConnectionError("Failed to connect")

    config = load(None, ["general_cfg.algo_name=PPO", "env_cfg.id=CartPole-v1"], find_algo=ALGOS, find_env=ENVS)
    monkeypatch.setenv("RAY_AUTH_MODE", mode)
    monkeypatch.setattr(ray_cluster, "_must_listen", lambda address, words: None)
    ray = SimpleNamespace(init=init, shutdown=lambda: None)
    with pytest.raises(JoystickError, match=f"Ray cannot be reached at 10.0.0.1:6379{hint}"):
        ray_cluster._connected(ray, config.general, "10.0.0.1:6379").__enter__()


def test_processes_in_a_cluster_find_the_modules_of_the_folder_of_the_command(tmp_path, monkeypatch):
    asked = {}

    def init(**settings):
        asked.update(settings)
        raise ConnectionError("no more is asked here")

    config = load(None, ["general_cfg.algo_name=PPO", "env_cfg.id=CartPole-v1"], find_algo=ALGOS, find_env=ENVS)
    monkeypatch.setattr(ray_cluster, "_must_listen", lambda address, words: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "/mine")
    ray = SimpleNamespace(init=init, shutdown=lambda: None)
    with pytest.raises(JoystickError):
        ray_cluster._connected(ray, config.general, "10.0.0.1:6379").__enter__()
    assert asked["runtime_env"]["env_vars"]["PYTHONPATH"].split(os.pathsep) == [str(tmp_path), "/mine"]


@pytest.mark.parametrize("address", [None, "auto"])
def test_the_ray_of_another_user_in_this_program_is_left_alone(address, monkeypatch):
    def fails(**settings):
        pytest.fail("the Ray of the other user was touched")

    words = ["general_cfg.algo_name=PPO", "env_cfg.id=CartPole-v1"]
    general = load(None, words, find_algo=ALGOS, find_env=ENVS).general.model_copy(update={"ray_address": address})
    ray = SimpleNamespace(is_initialized=lambda: True, init=fails, shutdown=fails)
    monkeypatch.setattr(ray_cluster, "load", lambda way_out: ray)
    with pytest.raises(JoystickError, match="Ray is in use in this program already"):
        ray_cluster.started(general, 1).__enter__()


def test_a_sigterm_while_ray_starts_reaches_our_handler():
    """RAY-4: Ray installs a handler of its own meanwhile, which exits."""

    def init(**settings):
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))
        signal.raise_signal(signal.SIGTERM)

    with StopSignals() as signals, pytest.raises(Stopped):
        ray_cluster._init(SimpleNamespace(init=init), "Ray could not be started")
    assert signals.received == signal.SIGTERM


def test_what_listens_at_the_address_and_is_not_ray_is_said_at_once(refused):
    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=lambda: door.accept()[0].sendall(b"HTTP/1.0 400 Bad Request"), daemon=True).start()
        err = refused("--env=CartPole-v1", f"general_cfg.ray_address=127.0.0.1:{door.getsockname()[1]}")
    assert "the service there is not Ray" in err


def test_who_listens_and_never_answers_is_found_out_in_seconds_with_auto_too(monkeypatch):
    config = load(None, ["general_cfg.algo_name=PPO", "env_cfg.id=CartPole-v1"], find_algo=ALGOS, find_env=ENVS)
    monkeypatch.setattr(ray_cluster, "CONNECT_SECONDS", 0.2)
    with socket.create_server(("", 0)) as door:
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{door.getsockname()[1]}")
        with pytest.raises(JoystickError, match=r"nothing answers at .*timed out"):
            ray_cluster._connected(ray_cluster.load(), config.general, "auto").__enter__()


@pytest.mark.parametrize(
    ("head", "said"),
    [("127.0.0.1:1", "nothing answers at 127.0.0.1:1"), (ConnectionError(), "auto finds no Ray on this machine")],
)
def test_auto_is_asked_where_the_head_was_and_whether_it_still_answers(head, said, monkeypatch):
    def find(address):
        if isinstance(head, str):
            return head
        raise head

    config = load(None, ["general_cfg.algo_name=PPO", "env_cfg.id=CartPole-v1"], find_algo=ALGOS, find_env=ENVS)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    services = SimpleNamespace(canonicalize_bootstrap_address=find)
    monkeypatch.setitem(sys.modules, "ray._private.services", services)
    ray = SimpleNamespace(init=lambda **settings: pytest.fail("Ray tries for minutes"), shutdown=lambda: None)
    with pytest.raises(JoystickError, match=f"general_cfg.ray_address: {said}"):
        ray_cluster._connected(ray, config.general, "auto").__enter__()


def test_shared_memory_grows_with_the_workers_and_no_faster():
    words = ["general_cfg.algo_name=PPO", "env_cfg.id=CartPole-v1", "env_cfg.n_envs=8", RAY]
    sizes = []
    for workers in (1, 8):
        config = load(None, [*words, f"general_cfg.n_workers={workers}"], find_algo=ALGOS, find_env=ENVS)
        spec = compatibility.all_rows(config, build.env_spec(config, build.make_env(config, 8)))
        sizes.append(launch._sent_bytes(config, spec))
    assert 0 < sizes[1] <= 8 * sizes[0]


def test_a_worker_that_cannot_begin_says_why_once(tmp_path, monkeypatch, capfd):
    """The driver knows this environment, and no other process does."""
    (tmp_path / "known_here.py").write_text(
        "import os, gymnasium\n"
        "if 'RAY_RAYLET_PID' not in os.environ:\n"
        "    gymnasium.register('Here-v0', 'gymnasium.envs.classic_control:CartPoleEnv', max_episode_steps=50)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    words = ("env_cfg.id=known_here:Here-v0", "--allow-import", "known_here", "--into", str(tmp_path / "run"))
    assert main([*TINY, RAY, *words]) == 2
    gymnasium.registry.pop("Here-v0")
    stderr = capfd.readouterr().err
    # a busy machine takes half a minute to start a worker, and then says that it waits for it
    waiting = re.compile(r"[a-z].*, \d+:\d\d so far|waiting for .*")
    said = [line for line in stderr.strip().splitlines() if not waiting.fullmatch(line)]
    assert len(said) == 1, stderr
    assert "Here" in said[0]
    assert not (tmp_path / "run").exists()
