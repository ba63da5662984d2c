"""The learning rate of each window of fresh steps: that of the progress at which its collection began."""

import numpy as np
import pytest

from algos.base import Progress
from config.model.layers import mlp
from config.model.memory_spec import RolloutSpec
from framework.loop.learner import AgentLearner, Learned
from framework.loop.single_process import SingleProcess
from framework.memory import PerWorker, Rollout
from tests.tools.core import agent_of, collector_of, memory_of, ramp, saved_and_read, spec_of, toy_of

ROWS, STEPS, WINDOWS = 2, 8, 5
LAYERS = {"actor_layers": mlp(4), "critic_layers": mlp(4)}


def rates(algo, schedule, **settings):
    """Learning rates of the windows of a run of so many steps, as one process makes them."""
    env = toy_of("match", ROWS)
    agent = agent_of(algo, spec_of(env), lr_schedule=schedule, **settings)
    spec = agent.cfg.memory(ROWS)
    backend = SingleProcess(collector_of(env, agent), memory_of(agent), AgentLearner(agent, spec), spec.fragment)
    planned, found = ROWS * STEPS * WINDOWS, []

    def now():
        step = backend.collector.steps * ROWS
        return Progress(step, fraction=step / planned)

    while now().fraction < 1:
        learned = (event for event in backend.round(now) if isinstance(event, Learned))
        found += [agent.optimizer.param_groups[0]["lr"] for _ in learned]
    return found


@pytest.mark.parametrize("algo", ["PPO", "A2C", "TRPO"])
def test_the_first_window_is_learned_with_the_full_rate_and_the_last_one_not_with_zero(algo):
    """Five windows: 3 (1 - 0/5), 3 (1 - 1/5) and so on, as in CleanRL; 3/2 (1 + cos(pi k / 5)) for the cosine."""
    rate = {"critic_lr": 3e-4} if algo == "TRPO" else {"lr": 3e-4}
    settings = {**LAYERS, **rate, "batch_size": ROWS * STEPS}
    if algo != "A2C":
        settings["sgd_batch_size"] = 8
    assert rates(algo, "linear", **settings) == pytest.approx([3.0e-4, 2.4e-4, 1.8e-4, 1.2e-4, 0.6e-4])
    cosine = [3.0e-4, 2.713525e-4, 1.963525e-4, 1.036475e-4, 0.286475e-4]
    assert rates(algo, "cosine", **settings) == pytest.approx(cosine, rel=1e-5)


def test_windows_of_episodes_begin_where_the_one_before_was_handed_out():
    """Episodes of one step: of 16 rounds a window takes 4, or 0, 4/16, 8/16 and 12/16 of the run."""
    found = rates("REINFORCE", "linear", actor_layers=mlp(4), lr=1.0, batch_episode=4 * ROWS)
    first = found[0]
    assert first == 1.0
    assert min(found) > 0.0
    assert found == sorted(found, reverse=True)
    assert found == pytest.approx([1.0 - k / len(found) for k in range(len(found))])


def fragment(at, worker=0):
    one = ramp(0, 2, worker=worker)
    return type(one)(one.columns, one.start, one.origin._replace(fraction=at))


def test_a_window_of_several_fragments_has_the_progress_of_its_first_also_after_a_resume():
    memory = Rollout(RolloutSpec(length=4))
    memory.add(fragment(0.25))
    other = Rollout(RolloutSpec(length=4))
    other.load_state(saved_and_read(memory.state()), [])
    other.add(fragment(0.5))
    assert other.take(0.75).fraction == 0.25
    other.add(fragment(0.75))
    other.add(fragment(1.0))
    assert other.take(1.0).fraction == 0.75


def test_steps_that_are_kept_for_the_next_window_have_the_progress_of_their_own_fragment():
    memory = Rollout(RolloutSpec(length=2, overlap=1))
    for at in (0.0, 0.25, 0.5):
        memory.add(fragment(at))
        chunk = memory.take(1.0)
    assert chunk.fraction == 0.25


def test_full_windows_of_workers_keep_their_progress_through_a_checkpoint():
    spec = RolloutSpec(length=2)
    memory, other = PerWorker(spec, 2), PerWorker(spec, 2)
    memory.add(fragment(0.25, worker=1))
    memory.add(fragment(0.5, worker=0))
    other.load_state(saved_and_read(memory.state()), [])
    chunks = [other.take(1.0), other.take(1.0)]
    assert [chunk.fraction for chunk in chunks] == [0.25, 0.5]
    assert np.array_equal(chunks[0].columns["reward"], fragment(0.0).columns["reward"])
