"""Dyna-Q: its model and its planning by hand, and fewer steps to the goal than without planning."""

import numpy as np
import pytest

from algos.dynaq.agent import Steps, World
from algos.dynaq.queue import Queue
from envs.gym import Config as Gym
from envs.gym import env as gym_env
from tests.tools.core import agent_of, spec_of, toy_of, trained
from tests.tools.tables import RandomWalk, learned, window


def steps(*rows):
    """Of (state, action, reward, next state, terminated) each."""
    return Steps(*(np.array(column) for column in zip(*rows, strict=True)))


def dyna(**settings):
    return agent_of("DynaQ", spec_of(toy_of("shifted")), **{"gamma": 0.5, "lr": 0.5, **settings})


ONE = {"obs": [[0]], "action": [[1]], "reward": [[4.0]], "next_obs": [[2]]}


@pytest.mark.parametrize(("planning", "value"), [(0, 2.0), (1, 3.0), (2, 3.5)])
def test_each_planning_update_is_one_of_q_learning_from_the_remembered_step(planning, value):
    """Sutton and Barto (2018), section 8.2: 4 halves the distance from 0 to 4 once, and again for each."""
    agent = dyna(n_planning=planning)
    learned(agent, window(**ONE))
    assert agent.table.values[0].tolist() == [0, value, 0]


def test_planning_carries_a_value_back_over_remembered_steps():
    """0 -> 1 gave 0, then 1 -> 2 gave 8 and ended. From here on, planning alone: Q(0,0) goes to 0.5 * 8."""
    agent = dyna(n_planning=60, lr=1.0)
    learned(agent, window(obs=[[0]], action=[[0]], reward=[[0.0]], next_obs=[[1]]))
    assert not agent.table.values.any()
    learned(agent, window(obs=[[1]], action=[[0]], reward=[[8.0]], next_obs=[[2]], terminated=[[True]]))
    assert agent.table.values[:, 0].tolist() == [4, 8, 0]


@pytest.mark.parametrize(("flags", "value"), [({"terminated": [[True]]}, 4.0), ({"truncated": [[True]]}, 7.0)])
def test_planning_knows_a_termination_from_a_time_limit(flags, value):
    """TRM-1: 4, or 4 + 0.5 * 6."""
    agent = dyna(n_planning=3, lr=1.0)
    agent.load_weights({"table": np.array([[0.0, 0, 0], [0, 0, 0], [6, 0, 0]])})
    learned(agent, window(**ONE, **flags))
    assert agent.table.values[0, 1] == value


def test_planning_takes_the_maximum_over_legal_actions():
    """6 is illegal in state 2, so 4 + 0.5 * 2."""
    agent = dyna(n_planning=3, lr=1.0)
    agent.load_weights({"table": np.array([[0.0, 0, 0], [0, 0, 0], [6, 2, 0]])})
    learned(agent, window(**ONE, action_mask=[[[True] * 3]], next_action_mask=[[[False, True, True]]]))
    assert agent.table.values[0, 1] == 5.0


def test_the_world_remembers_the_last_outcome_of_each_pair_and_lists_each_once():
    world = World(3, 2)
    world.remember(steps((2, 1, 5.0, 0, False), (0, 1, 1.0, 2, False), (2, 1, 6.0, 1, True)), None)
    world.remember(steps((0, 1, 3.0, 1, True), (1, 0, 7.0, 2, False)), None)
    assert world.pairs[: world.known].tolist() == [1, 5, 2]
    recalled = world.recall(np.array([0, 1, 2, 1]))
    assert [column.tolist() for column in recalled] == [
        [0, 2, 1, 2],
        [1, 1, 0, 1],
        [3, 6, 7, 6],
        [1, 1, 2, 1],
        [True, True, False, True],
    ]


def test_planning_draws_every_pair_that_was_tried_and_no_other():
    agent = dyna(n_planning=50, lr=1.0, initial_value=-1.0)
    learned(agent, window(obs=[[0, 2]], action=[[1, 2]], reward=[[4.0, 6.0]], next_obs=[[1, 1]]))
    before = agent.table.values.copy()
    agent.table.values[:] = -1.0
    agent._plan(1)
    assert np.argwhere(agent.table.values != -1).tolist() == [[0, 1], [2, 2]]
    np.testing.assert_array_equal(agent.table.values, before)


def test_planning_is_not_counted_as_a_visit():
    agent = dyna(n_planning=20, exploration_type="ucb")
    learned(agent, window(**ONE))
    assert agent.table.counts.sum() == 1


def test_a_resumed_world_is_the_same_world():
    """RES-1, with an agent that knew more: what is not in the state is forgotten."""
    one, other = dyna(), dyna()
    learned(one, window(**ONE))
    for state in range(3):
        learned(other, window(obs=[[state]], action=[[2]], reward=[[9.0]], next_obs=[[1]]))
    other.load_state(one.state())
    for agent in (one, other):
        learned(agent, window(obs=[[2]], action=[[0]], reward=[[1.0]], next_obs=[[0]]))
    np.testing.assert_array_equal(one.table.values, other.table.values)
    assert one.world.known == other.world.known == 2


@pytest.mark.parametrize(("planning", "known"), [(30, True), (0, False)])
def test_with_planning_few_steps_are_enough_to_know_the_lake(planning, known):
    """After 200 steps the start is worth 0.9^5, six steps before the goal; without planning it is still a guess."""
    env = gym_env.make(Gym(id="FrozenLake-v1", is_slippery=False, vectorization="sync"), 1)
    curious = {"epsilon_start": 0.1, "epsilon_end": 0.1, "initial_value": 1.0, "lr": 0.5, "gamma": 0.9}
    agent = trained(agent_of("DynaQ", spec_of(env), n_planning=planning, **curious), env, 200)
    assert (agent.table.values[0].max() == pytest.approx(0.9**5, rel=0.02)) == known


def test_the_walk_is_learned_to_its_optimum():
    env = RandomWalk(2)
    chance = {"epsilon_start": 1.0, "epsilon_end": 1.0, "lr": 0.5, "gamma": 0.9}
    agent = trained(agent_of("DynaQ", spec_of(env), **chance), env, 100)
    np.testing.assert_allclose(agent.table.values[1:6, 1], 0.9 ** np.array([4, 3, 2, 1, 0]), rtol=0.01)


# ------------------------------------------------------------------------------------------------ Dyna-Q+


def curious(**settings):
    return agent_of("DynaQPlus", spec_of(toy_of("shifted")), **{"gamma": 0.5, "lr": 1.0, **settings})


def test_the_bonus_grows_with_the_root_of_the_time_since_the_last_try():
    """Sutton and Barto (2018), section 8.3: pair (0, 1) was tried at time 1. Nine steps later, a planned step gives
    4 + 0.5 sqrt(9) and an action that was never tried 0.5 sqrt(10)."""
    agent = curious(kappa=0.5, n_planning=0)
    learned(agent, window(**ONE, terminated=[[True]]))
    for _ in range(9):
        learned(agent, window(obs=[[1]], action=[[0]], reward=[[0.0]], next_obs=[[1]], terminated=[[True]]))
    steps = agent.world.recall(np.arange(6))
    assert agent.world.waited(steps).tolist() == [10, 9, 10, 0, 10, 10]
    agent.cfg = agent.cfg.model_copy(update={"n_planning": 60})
    agent._plan(1)
    assert agent.table.values[0, 1] == 4 + 0.5 * 3.0
    # action 0 of state 0 stays there: Q = 0.5 sqrt(10) + 0.5 max Q(0, .)
    assert agent.table.values[0, 0] == pytest.approx(0.5 * 10**0.5 + 0.5 * 5.5)


def test_what_was_never_tried_is_planned_as_staying_in_place():
    world = World(3, 2, curious=True)
    world.remember(steps((2, 1, 5.0, 0, False)), None)
    assert world.pairs[: world.known].tolist() == [4, 5]
    untried = world.recall(np.array([0]))
    assert [column.tolist() for column in untried] == [[2], [0], [0.0], [2], [False]]
    world.remember(steps((2, 0, 7.0, 1, True)), None)
    assert world.known == 2
    assert world.recall(np.array([0])).reward.tolist() == [7.0]


# ------------------------------------------------------------------------------------------------ prioritized sweeping


def test_the_queue_hands_out_the_largest_change_and_keeps_the_larger_of_two():
    queue = Queue(0.5)
    queue.push(np.array([3, 1, 7, 2]), np.array([2.0, 4.0, 0.5, 1.0]))
    queue.push(np.array([3, 1]), np.array([6.0, 1.0]))
    copy = Queue(0.5)
    copy.load_state(queue.state())
    for each in (queue, copy):
        assert [each.pop() for _ in range(4)] == [3, 1, 2, None]


def sweeping(**settings):
    return agent_of("PrioritizedSweeping", spec_of(toy_of("shifted")), **{"gamma": 0.5, "lr": 1.0, **settings})


def test_one_reward_is_swept_back_along_the_whole_way():
    """0 -> 1 gave 0, then 1 -> 2 gave 8 and ended. Two updates are enough: Q(1, 0) = 8, then Q(0, 0) = 0.5 * 8."""
    agent = sweeping(n_planning=2)
    learned(agent, window(obs=[[0]], action=[[0]], reward=[[0.0]], next_obs=[[1]]))
    assert not agent.queue.priority
    learned(agent, window(obs=[[1]], action=[[0]], reward=[[8.0]], next_obs=[[2]], terminated=[[True]]))
    assert agent.table.values[:, 0].tolist() == [4, 8, 0]


def test_a_pair_whose_outcome_changed_no_longer_leads_to_where_it_led():
    world = World(3, 2, backward=True)
    world.remember(steps((0, 1, 0.0, 2, False), (1, 0, 0.0, 2, False)), None)
    world.remember(steps((0, 1, 0.0, 1, False)), None)
    assert world.leading == {2: {2}, 1: {1}}
    other = World(3, 2, backward=True)
    other.load_state(world.state())
    assert {state: pairs for state, pairs in world.leading.items() if pairs} == other.leading


@pytest.mark.parametrize("make", [curious, sweeping])
def test_a_resumed_planner_plans_the_same(make):
    """RES-1, with what waits in the queue and the times of the last tries."""
    env = RandomWalk(2)
    settings = {"n_planning": 1, "lr": 0.5, "gamma": 0.9}
    algo = "DynaQPlus" if make is curious else "PrioritizedSweeping"
    one = trained(agent_of(algo, spec_of(env), **settings), env, 60)
    other = agent_of(algo, spec_of(env), **settings)
    other.load_state(one.state())
    for agent in (one, other):
        trained(agent, RandomWalk(2), 30)
    np.testing.assert_array_equal(one.table.values, other.table.values)


def test_sweeping_learns_the_walk_to_its_optimum():
    env = RandomWalk(2)
    chance = {"epsilon_start": 1.0, "epsilon_end": 1.0, "lr": 1.0, "gamma": 0.9}
    agent = trained(agent_of("PrioritizedSweeping", spec_of(env), **chance), env, 100)
    np.testing.assert_allclose(agent.table.values[1:6, 1], 0.9 ** np.array([4, 3, 2, 1, 0]), rtol=0.01)
