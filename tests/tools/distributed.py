"""Small runs in one process and, with the fake Ray, in many: the loop of the Trainer without anything around it."""

import copy
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

import algos
from algos.base import Progress
from algos.common.settings import NetworkConfig
from config.model.schema import OF_THE_ENVIRONMENT
from config.read.loader import RunConfig, load
from framework.assemble import build
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from framework.collect.fragment import Accepted
from framework.disk.journal import Journal, JournalPart
from framework.distributed import ray_cluster, worker_pool
from framework.distributed.ray_backend import RayBackend
from framework.loop.backend import Backend
from framework.loop.iteration import Count
from framework.loop.learner import Learned
from framework.loop.single_process import SingleProcess
from framework.policies.policy_plan import plan
from tests.tools.fake_ray import FakeRay
from tests.tools.short_runs import narrow, short

torch.set_num_threads(1)
SMALL = {
    "batch_size": 16, "sgd_batch_size": 8, "k_epochs": 2, "learning_starts": 20, "start_steps": 20, "lookup_step": 3,
    "burn_in": 1, "batch_episode": 2, "n_members": 3, "target_update": 5, "updates_per_train": 1,
    "baseline": "value",
}  # fmt: skip
"""Where an algorithm has such a setting."""
LAYERS = ("value_layers", "actor_layers", "critic_layers")


def words_of(algo: str, toy: str | None = None) -> list[str]:
    """A small config of an algorithm, on a toy that suits it."""
    package = algos.get(algo)
    default = package.Config()
    unread = set() if isinstance(default, NetworkConfig) and default.remembers() else {"lookup_step", "burn_in"}
    fields = package.Config.model_fields.keys() - unread
    settings = short(algo, **{key: value for key, value in SMALL.items() if key in fields})
    words = [f"algo_cfg.{key}={value}" for key, value in settings.items() if key not in LAYERS]
    for key in LAYERS:
        if isinstance(default, NetworkConfig) and getattr(default, key, None):
            layers = [layer.model_dump(mode="json") for layer in getattr(default, key)]
            small = narrow(layers, 8)
            words.append(f"algo_cfg.{key}={json.dumps(small)}")
    return [
        f"general_cfg.algo_name={algo}",
        "general_cfg.env_name=toy",
        *([f"env_cfg.id={toy}"] if toy else toy_of(package.Config)),
        *words,
    ]


def toy_of(config: Any) -> list[str]:
    """A toy on which the algorithm can act: episodes of 5 steps, where it has such a length."""
    default = config()
    if default.NEEDS_MODEL or default.asked_expert() == OF_THE_ENVIRONMENT:
        return ["env_cfg.id=walk"]
    if getattr(default, "her_ratio", 0):
        return ["env_cfg.id=reach"]
    if "Box" not in default.OBSERVATION_SPACES:
        return ["env_cfg.id=walk"]
    if "Discrete" not in default.ACTION_SPACES:
        return ["env_cfg.id=target", "env_cfg.steps=5"]
    return ["env_cfg.id=match", "env_cfg.steps=5"]


def config_of(
    algo: str,
    *words: str,
    workers: int = 0,
    ahead: int = 0,
    rows: int = 2,
    steps: int = 300,
    toy: str | None = None,
    allow_import: Sequence[str] = (),
) -> RunConfig:
    """workers 0: one process."""
    many = ["general_cfg.mp_backend=ray", f"general_cfg.n_workers={workers}", f"general_cfg.run_ahead={ahead}"]
    general = ["general_cfg.seed=3", "general_cfg.max_episode=-1", f"general_cfg.max_total_step={steps}"]
    general += ["general_cfg.env_timeout=0", f"env_cfg.n_envs={rows}", *(many if workers else [])]
    return load(
        None, [*words_of(algo, toy), *general, *words], find_algo=ALGOS, find_env=ENVS, allow_import=allow_import
    )


def local(config: RunConfig) -> SingleProcess:
    """As framework.runs.experiment makes it."""
    env = build.make_env(config, config.env.n_envs)
    spec, seed = build.env_spec(config, env), config.general.seed
    agent = build.make_agent(config, spec, seed, build.CPU)
    collector = build.make_collector(config, env, agent, seed)
    memory = build.make_memory(config, spec, seed, env.goal)
    return SingleProcess(collector, memory, build.make_learner(config, spec, agent), plan(config, spec).fragment)


def remote(config: RunConfig, ray: FakeRay | None = None) -> RayBackend:
    """As framework.distributed.launch makes it, without a real Ray."""
    with closing(build.make_env(config, config.env.n_envs)) as env:
        spec = build.env_spec(config, env)
    spec = compatibility.all_rows(config, spec)
    compatibility.refuse(config, spec)
    return RayBackend(ray or FakeRay(), config, spec, build.make_agent(config, spec, config.general.seed, build.CPU))


class Folder:
    """A temporary folder that is removed with the last object that refers to it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class Run:
    """What a Trainer counts."""

    def __init__(self, config: RunConfig, backend: Backend) -> None:
        self.cfg, self.backend, self.count = config.general, backend, Count()
        self._folder = Folder()
        self.journal = Journal(self._folder.path)
        self.accepted: list[Accepted] = []
        self.learned: list[Learned] = []
        backend.say = lambda text: None

    def now(self) -> Progress:
        return Progress(*self.count, self.cfg.length.share(*self.count, 0))

    def take_in(self, events: Iterator[Accepted | Learned]) -> None:
        for event in events:
            step, episode, update = self.count
            if isinstance(event, Learned):
                self.learned.append(event)
                self.count = Count(step, episode, update + event.updates)
            else:
                self.accepted.append(event)
                self.count = Count(step + event.steps, episode + len(event.episodes), update)

    def until(self, step: int) -> "Run":
        """Whole rounds until there are so many steps."""
        while self.count.step < step:
            self.take_in(self.backend.round(self.now))
        return self

    def rest(self) -> "Run":
        self.take_in(self.backend.rest(self.now))
        return self

    def state(self) -> dict[str, Any]:
        """At rest: the state, frozen, and what the agent acts by."""
        self.rest()
        return {"count": tuple(self.count), "weights": frozen(self.backend.agent.weights()),
                **frozen(self.backend.state())}  # fmt: skip

    def saved(self) -> "Saved":
        """What a checkpoint holds: counters, state, part of the journal."""
        self.rest()
        span = self.backend.memory.write(self.journal)
        part = None if span is None else JournalPart(copy.copy(self.journal), span)
        return Saved(self.count, copied(self.backend.state()), part, self._folder)

    def load(self, saved: "Saved", different: tuple[str, ...] = ()) -> "Run":
        """Go on; these rows begin anew."""
        self.count = saved.count
        assert tuple(self.backend.load_state(copied(saved.state), saved.journal or ())) == different
        if saved.journal is not None:
            self.journal = copy.copy(saved.journal.journal)
            self.journal.continue_from(saved.journal.span.end)
            self._folder = saved.folder
        return self

    def episodes(self) -> list[tuple[int, int, int, int]]:
        """(worker, row, number, seed) of all that were accepted."""
        found = [episode for accepted in self.accepted for episode in accepted.episodes]
        return [(episode.worker, episode.row, episode.number, episode.seed) for episode in found]


class Saved:
    """A checkpoint, and the folder of its journal for as long as somebody needs it."""

    def __init__(self, count: Count, state: dict[str, Any], journal: JournalPart | None, folder: Folder) -> None:
        self.count, self.state, self.journal, self.folder = count, state, journal, folder


def copied(tree: Any) -> Any:
    """A tree of state with arrays of its own."""
    if isinstance(tree, dict):
        return {key: copied(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [copied(value) for value in tree]
    return np.array(tree) if isinstance(tree, np.ndarray) else tree


def frozen(tree: Any) -> Any:
    """A tree of state as plain bytes, to compare."""
    if isinstance(tree, dict):
        return {key: frozen(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [frozen(value) for value in tree]
    if isinstance(tree, torch.Tensor):
        tree = tree.detach().numpy()
    return (tree.dtype.str, tree.shape, tree.tobytes()) if isinstance(tree, np.ndarray) else tree


def nothing_twice(episodes: list[tuple[int, int, int, int]]) -> None:
    """No episode and no seed is counted twice, and the numbers of each row rise."""
    assert len(set(episodes)) == len({seed for *_, seed in episodes}) == len(episodes)
    last: dict[tuple[int, int], int] = {}
    for worker, row, number, _ in episodes:
        assert number > last.get((worker, row), -1)
        last[worker, row] = number


def without_pauses(monkeypatch: Any) -> None:
    """Who dies is replaced at once, a worker any number of times."""
    monkeypatch.setattr(worker_pool, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(worker_pool, "MOST_DEATHS", 10**6)
    monkeypatch.setattr("framework.runs.experiment.FIRST_PAUSE", 0.0)


class Rays(list):
    """Every Ray that was started; `fate` decides who dies in the next one."""

    fate = staticmethod(lambda call: None)


def fake_rays(monkeypatch: Any) -> Rays:
    """Makes runs with mp_backend ray use a Ray that runs everything in this process."""
    without_pauses(monkeypatch)
    found = Rays()

    @contextmanager
    def started(cfg: Any, store_bytes: int) -> Iterator[FakeRay]:
        found.append(FakeRay(len(found), found.fate))
        yield found[-1]

    monkeypatch.setattr(ray_cluster, "started", started)
    return found
