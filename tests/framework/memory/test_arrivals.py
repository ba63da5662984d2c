"""Statistics of observations with a replay memory: each observation that arrives counts once."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from algos.base import Progress
from config.model.memory_spec import ReplaySpec
from framework.collect.fragment import Fragment
from framework.disk.journal import Journal, JournalPart
from framework.loop.learner import AgentLearner
from framework.memory import arrivals
from framework.memory.replay import Replay
from tests.tools.core import agent_of, collector_of, memory_of, ramp, spec_of, toy_of

STEPS, EACH = 320, 8
REPLAYS = [("DQN", "match"), ("SAC_D", "match"), *((algo, "reach") for algo in ("SAC", "TD3", "TQC", "CrossQ"))]


def work_of(algo, toy, seed=1):
    env = toy_of(toy)
    agent = agent_of(
        algo,
        spec_of(env),
        seed,
        normalize_obs=True,
        train_fre=EACH,
        batch_size=32,
        buffer_size=STEPS,
        learning_starts=64,
    )  # fmt: skip
    return agent, memory_of(agent), collector_of(env, agent)


def feed(agent, memory, collector, rounds):
    """Observations are 0 in the first half of the run and 10 in the second, and everything owed is learned."""
    learner = AgentLearner(agent, memory.spec)
    for number in rounds:
        fragment, _ = collector.collect(EACH, Progress())
        fragment.columns["obs"][:] = 0.0 if number < STEPS / EACH / 2 else 10.0
        memory.add(fragment)
        while (chunk := memory.take(0.0)) is not None:
            learner.learn(chunk, Progress())


@pytest.mark.long
@pytest.mark.parametrize(("algo", "toy"), REPLAYS)
def test_the_mean_of_a_feature_is_that_of_what_was_collected(algo, toy):
    """Drawn samples gave mean 1.55 and deviation 3.6 here, since early observations are drawn more often."""
    agent, memory, collector = work_of(algo, toy)
    feed(agent, memory, collector, range(STEPS // EACH))
    moments = agent.normalizer.moments
    assert moments.count == STEPS
    assert moments.mean.tolist() == pytest.approx([5.0] * len(moments.mean))
    assert moments.deviation().tolist() == pytest.approx([5.0] * len(moments.mean))
    # the value of now becomes (10 - 5) / 5
    now = torch.full((1, *agent.normalizer.shift.shape), 10.0)
    assert agent.normalizer(now).flatten().tolist() == pytest.approx([1.0] * len(moments.mean))


@pytest.mark.parametrize("rounds", [4, 21])
def test_a_resume_counts_every_observation_once(rounds, tmp_path):
    """During the warm-up nothing was handed out yet; later all but what is not owed."""
    agent, memory, collector = work_of("DQN", "match")
    feed(agent, memory, collector, range(rounds))
    again, other, _ = work_of("DQN", "match", seed=2)
    again.load_state(agent.state())
    journal = Journal(tmp_path)
    span = memory.write(journal)
    other.load_state(memory.state(), JournalPart(journal, span))
    feed(again, other, collector, range(rounds, STEPS // EACH))
    assert again.normalizer.moments.count == STEPS
    assert again.normalizer.shift.item() == pytest.approx(5.0)


def of(steps, rows=1, valid=None, worker=0):
    fragment = ramp(steps.start, len(steps), rows)
    columns = fragment.columns if valid is None else {**fragment.columns, "valid": valid}
    return Fragment(columns, fragment.start, fragment.origin._replace(worker=worker))


def spec(capacity=20, **settings):
    return ReplaySpec(capacity, 2, 2, 1.0, **{"statistics": True, **settings})


def test_dummy_steps_do_not_count():
    memory = Replay(spec(), np.random.default_rng(0))
    valid = np.array([[True, True], [False, True]])
    memory.add(of(range(2), rows=2, valid=valid))
    columns = of(range(2), rows=2).columns["obs"]
    np.testing.assert_array_equal(memory.take(0.0, most=1).arrived["obs"], columns[valid])
    assert len(memory.take(0.0, most=1).arrived["obs"]) == 0


def test_each_collector_has_its_own_position():
    memory = Replay(spec(), np.random.default_rng(0), collectors=2)
    memory.add(of(range(0, 3), worker=1))
    assert len(memory.take(0.0, most=1).arrived["obs"]) == 3
    memory.add(of(range(5, 7), worker=0))
    memory.add(of(range(8, 9), worker=1))
    expected = np.concatenate([of(range(5, 7)).columns["obs"], of(range(8, 9)).columns["obs"]])[:, 0]
    np.testing.assert_array_equal(memory.take(0.0, most=1).arrived["obs"], expected)


def test_a_large_backlog_is_handed_out_in_parts(monkeypatch):
    memory = Replay(spec(), np.random.default_rng(0))
    memory.add(of(range(10)))
    monkeypatch.setattr(arrivals, "MOST_BYTES", 4 * of(range(1)).columns["obs"].nbytes)
    parts = [memory.take(0.0, most=1).arrived["obs"] for _ in range(4)]
    assert [len(part) for part in parts] == [4, 4, 2, 0]
    np.testing.assert_array_equal(np.concatenate(parts), of(range(10)).columns["obs"][:, 0])


def test_global_states_are_handed_out_beside_observations():
    memory = Replay(spec(), np.random.default_rng(0))
    fragment = of(range(3))
    states = np.arange(6, dtype=np.float32).reshape(3, 1, 2)
    columns = {**fragment.columns, "global_state": states, "next_global_state": states + 1}
    memory.add(replace(fragment, columns=columns))
    assert memory.take(0.0, most=1).arrived["global_state"].tolist() == states[:, 0].tolist()


def test_without_statistics_nothing_is_copied():
    memory = Replay(spec(statistics=False), np.random.default_rng(0))
    memory.add(of(range(10)))
    assert memory.take(0.0).arrived is None


def test_the_last_observations_of_episodes_are_handed_out_where_they_are_asked_for():
    """No step begins with them. The observations of a ramp are 0, 1, ..., the successor of a step is it and a half."""
    ends = {(1, 0): "terminated", (2, 0): "truncated", (3, 0): "dummy"}
    for final, expected in ((False, [0, 1, 2, 4]), (True, [0, 1, 2, 4, 1.5, 2.5])):
        memory = Replay(spec(final_statistics=final), np.random.default_rng(0))
        memory.add(ramp(0, 5, ends=ends))
        assert memory.take(0.0, most=1).arrived["obs"].ravel().tolist() == expected
