"""Workers, a data server and learners, with a Ray that runs them all in this process, in any order."""

from contextlib import closing

import numpy as np
import pytest

import algos
from algos.common.fast import kernels, measuring
from config.model.kernels import Kernels
from config.model.memory_spec import MOST_AT_ONCE
from framework.assemble import build
from framework.distributed.data_server import DataServer
from framework.distributed.learner_actor import LearnerActor
from framework.distributed.worker import Worker
from tests.tools.core import of_one_agent
from tests.tools.distributed import Run, config_of, frozen, local, nothing_twice, remote
from tests.tools.fake_ray import FakeRay
from tests.tools.paths import in_the_suite, one_of_each

MAY_LAG = [algo for algo in of_one_agent() if algos.get(algo).Config.MAY_LAG]
JOINED = {"DQN": (), "PER_DQN": ("algo_cfg.n_step=3",), "PPO": ("algo_cfg.normalize_reward=true",), "Sarsa": ()}
"""A replay memory, one with priorities, a window, and windows that overlap."""


@pytest.fixture
def added(monkeypatch):
    """Every fragment that comes to a data server, in the order of its coming."""
    found, add = [], DataServer.add

    def recorded(self, *fragments):
        found.extend(fragments)
        return add(self, *fragments)

    monkeypatch.setattr(DataServer, "add", recorded)
    return found


# -------------------------------------------------------------------------------------------------- in lockstep


@pytest.mark.parametrize("algo", one_of_each(of_one_agent()))
def test_one_worker_in_lockstep_is_one_process_to_the_bit(algo):
    """RAY-7: weights, optimizers, memory, streams and counters."""
    one = Run(config_of(algo), local(config_of(algo))).until(44)
    config = config_of(algo, workers=1)
    other = Run(config, remote(config)).until(44)
    assert one.learned
    assert one.state() == other.state()
    assert one.episodes() == other.episodes()
    assert [learned.metrics for learned in one.learned] == [learned.metrics for learned in other.learned]


@pytest.mark.parametrize("algo", ["DQN", "PER_DQN", "PPO", "TRPO", "SAC"])
def test_what_a_network_learns_from_begins_on_16_bytes_though_it_comes_from_another_process(algo, monkeypatch):
    """DET-4: elsewhere it would give other last bits (see docs/design/runs_on_disk.md)."""
    agent, begins = algos.agent_class(algos.get(algo)), []
    update = agent.update

    def recorded(self, batch):
        begins.extend(value.data_ptr() % 16 for value in batch.values())
        return update(self, batch)

    monkeypatch.setattr(agent, "update", recorded)
    config = config_of(algo, workers=1, toy="parts" if algo != "SAC" else None)
    Run(config, remote(config)).until(60)
    assert begins
    assert not any(begins)


IN_STEP = [*JOINED, *(algo for algo in one_of_each(of_one_agent()) if algo not in {*MAY_LAG, *JOINED})]
"""The others learn from two workers that run ahead."""


@pytest.mark.parametrize("algo", in_the_suite(of_one_agent(), *IN_STEP))
def test_every_algorithm_learns_from_two_workers_in_lockstep(algo, added):
    config = config_of(algo, workers=2)
    run = Run(config, remote(config)).until(40).rest()
    assert run.learned
    check(run, added)


@pytest.mark.parametrize("algo", JOINED)
def test_in_lockstep_no_order_of_arrival_makes_a_difference(algo):
    """DET-5: the fragments are joined by the numbers of their workers."""
    config = config_of(algo, *JOINED[algo], workers=3)
    states = [Run(config, remote(config, FakeRay(seed))).until(64).state() for seed in (None, 1, 2)]
    assert states[0]["count"][2] > 0
    assert all(state == states[0] for state in states)


def test_fragments_come_to_the_memory_in_the_order_of_their_workers(added):
    config = config_of("DQN", workers=3)
    Run(config, remote(config, FakeRay(5))).until(60)
    assert [fragment.origin.worker for fragment in added] == [0, 1, 2] * (len(added) // 3)


def test_learners_share_the_cores_and_a_worker_takes_one(monkeypatch):
    """How many threads a learner takes is in tests/algos/test_threads.py."""
    shares, threads = [], []
    config = config_of("DQN", workers=4)
    with closing(build.make_env(config, 2)) as env:
        spec = build.env_spec(config, env)
    monkeypatch.setattr(build, "choose_threads", lambda config, agent, processes: shares.append(processes))
    for learners in (1, 3):
        LearnerActor(config, spec, 0, learners)
    monkeypatch.setattr(build, "make_collector", lambda *args: None)
    monkeypatch.setattr("framework.distributed.worker.torch.set_num_threads", threads.append)
    Worker(config, spec, 0)
    assert shares == [1, 3]
    assert threads[0] == 1


@pytest.mark.parametrize("part", [LearnerActor, Worker])
def test_each_process_computes_with_the_kernels_of_the_run_and_measures_none(part, monkeypatch):
    """The driver has chosen them, and another machine would choose others."""
    monkeypatch.setattr(measuring, "chosen", None)
    config = config_of("DQN", "general_cfg.kernels={products: 5, tanh: 7}", workers=1)
    with closing(build.make_env(config, 2)) as env:
        spec = build.env_spec(config, env)
    part(config, spec, 0, *([1] if part is LearnerActor else []))
    assert kernels.now == Kernels(products=5, tanh=7)


# ------------------------------------------------------------------------------------------------- running ahead


@pytest.mark.parametrize("algo", one_of_each(MAY_LAG))
def test_what_may_lag_learns_from_two_workers_that_run_ahead(algo, added):
    config = config_of(algo, workers=2, ahead=2, rows=8)
    run = Run(config, remote(config, FakeRay(1))).until(60).rest()
    assert run.learned
    check(run, added)


@pytest.fixture
def taken(monkeypatch):
    """Every chunk that was asked for, or None in its place."""
    found, take = [], DataServer.take

    def recorded(self, fraction, most):
        found.append(take(self, fraction, most))
        return found[-1]

    monkeypatch.setattr(DataServer, "take", recorded)
    return found


def check(run, added):
    """RAY-8: what was accepted is what came to the memory, and nothing is in it twice."""
    columns = [fragment.columns for fragment in added]
    assert run.count.step == sum(column["reward"].size for column in columns)
    ends = sum(int((column["terminated"] | column["truncated"]).sum()) for column in columns)
    assert run.count.episode == len(run.episodes()) == ends
    nothing_twice(run.episodes())
    for worker in (0, 1):
        mine = [fragment for fragment in added if fragment.origin.worker == worker]
        assert [f.origin.first_step for f in mine] == np.cumsum([0, *(f.steps for f in mine)])[:-1].tolist()
    assert run.count.update == sum(learned.updates for learned in run.learned)
    assert all(np.isfinite(values).all() for learned in run.learned for values in learned.metrics.values())
    learner = run.backend.ray.get(run.backend.learners[0].weights.remote())
    assert frozen(learner) == frozen(run.backend.agent.weights()), "at rest, the agent knows all that was learned"


def chosen(*order):
    """A Ray in which the actors of the first of these classes that have anything to do are always first."""

    class Ray(FakeRay):
        def _advance(self, wanted):
            able = [actor for actor in self.actors if actor.tasks and actor.tasks[0].can_run()]
            min(able, key=lambda actor: (order.index(actor.kind.__name__), actor.counts["collect"])).step()

    return Ray()


ORDERS = {
    "slow learner": ("DataServer", "Worker", "LearnerActor"),
    "slow data server": ("Worker", "LearnerActor", "DataServer"),
    "slow workers": ("DataServer", "LearnerActor", "Worker"),
}


BACKLOGS = [(workers, algo, order) for workers in (1, 2, 4) for algo in ("DQN", "PPO", "PQN") for order in ORDERS]
OF_DQN = [case for case in BACKLOGS if case[1] == "DQN"]


@pytest.mark.parametrize(
    ("workers", "algo", "order"),
    in_the_suite(BACKLOGS, *OF_DQN, *((2, "PPO", order) for order in ORDERS), (2, "PQN", "slow learner")),
)
def test_the_backlog_never_exceeds_run_ahead_chunks(algo, order, workers, taken):
    """RAY-5, D1: also counted are fragments that are being collected or added, and chunks queued at the learner."""
    ahead, rows = 2, 8
    config = config_of(algo, workers=workers, ahead=ahead, rows=rows)
    backend = remote(config, chosen(*ORDERS[order]))
    run, found = Run(config, backend), []
    spec = config.algo.memory(rows)
    one = spec.updates_per_step * rows * spec.fragment if algo == "DQN" else 1
    for _ in range(60):
        run.take_in(backend.round(run.now))
        early = 0.02 * run.count.step * spec.updates_per_step if algo == "DQN" else 0
        found.append(backend.backlog() / max(ahead * one * workers, early, ahead))
        assert backend.owed <= backend.throttle.limit()
        assert len(backend.learning) <= 2
        assert all(len(worker.requests) <= 2 for worker in backend.pool.workers)
    assert run.learned
    assert all(chunk is not None for chunk in taken), "nobody asks for what is not there"
    assert 0.5 < max(found) <= 1 + 1e-6


@pytest.mark.parametrize("workers", in_the_suite([1, 2, 4], 4))
def test_the_quick_start_learns_as_much_per_step_as_in_one_process(workers):
    """D1: at the end of the run nothing is owed, and 2 % at most is missing at any time after its beginning."""
    words = ("algo_cfg.train_fre=1", "algo_cfg.updates_per_train=1", "algo_cfg.learning_starts=16")
    config = config_of("DQN", *words, workers=workers, ahead=2, rows=1, steps=500)
    run = Run(config, remote(config, FakeRay(workers)))
    while run.count.step < 500:
        run.take_in(run.backend.round(run.now))
        missing = run.count.step - 15 - run.count.update
        under_way = sum(chunk.size for chunk in list(run.backend.learning)[:1])
        assert missing - under_way <= max(2 * workers, 0.02 * run.count.step) + workers
    run.rest()
    assert run.backend.owed == 0
    assert run.count.update == pytest.approx(run.count.step - 15, abs=workers)
    # a worker that runs ahead does not collect while the last updates are made
    assert run.count.step < 500 + 2 * run.backend.throttle.limit()


def test_what_is_owed_is_learned_before_a_limit_ends_a_run_and_not_beyond_max_update():
    words = ("algo_cfg.train_fre=1", "algo_cfg.updates_per_train=4")
    config = config_of("DQN", *words, "general_cfg.max_update=100", workers=2, ahead=2, rows=1)
    run = Run(config, remote(config, chosen(*ORDERS["slow learner"])))
    while run.count.update < 100:
        run.take_in(run.backend.round(run.now))
    run.rest()
    assert run.count.update < 100 + 2 * MOST_AT_ONCE
    assert run.backend.owed > 0


def test_a_run_that_learned_too_little_says_so():
    config = config_of("DQN", "algo_cfg.train_fre=1", "algo_cfg.updates_per_train=2", workers=1, ahead=2, rows=1)
    backend = remote(config)
    Run(config, backend).until(60).rest()
    assert "updates per step" not in backend.load(whole=True)[0]
    backend._updates = backend._taken // 4
    assert backend.load(whole=True)[0].endswith("; 0.49 updates per step, 2 was asked for")
    assert "updates per step" not in backend.load()[0]


@pytest.mark.parametrize("algo", ["PPO", "A2C", "PQN"])
def test_each_window_of_a_worker_that_runs_ahead_is_learned_from_once_and_alone(algo, added):
    """Also where a worker has sent the next before the first was taken: no window is longer than the config says, and
    each has only one worker's rows."""
    config = config_of(algo, workers=2, ahead=2, rows=8)
    run = Run(config, remote(config, chosen(*ORDERS["slow learner"]))).until(300)
    spec = config.algo.memory(8)
    per_window = run.learned[0].updates
    assert all(learned.updates == per_window for learned in run.learned)
    run.rest()
    left = run.backend.owed
    assert len(added) * spec.fragment == (len(run.learned) + left) * spec.length


def test_a_worker_that_runs_ahead_has_its_second_fragment_to_do_before_the_first_is_heard_of():
    config = config_of("PPO", workers=2, ahead=2, rows=8)
    backend = remote(config)
    backend._collect(Run(config, backend).now)
    assert [len(worker.requests) for worker in backend.pool.workers] == [2, 2]
