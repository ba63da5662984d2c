"""Value and policy iteration: their equations by hand, and the optimum of worlds that tell their rules."""

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from algos.base import EnvSpec, Model, UnfitError
from algos.common.parts.tables import backup
from algos.policyiteration import Config as PolicyIteration
from algos.policyiteration.agent import evaluate, improve
from envs.gym import Config as Gym
from envs.gym import env as gym_env
from tests.tools.core import agent_of, score, spec_of, toy_of

# Two states. In state 0, action 0 stays and gives 1; action 1 gives 2 and goes to state 1 with chance 1/2, else it
# ends. In state 1, both actions give 4 and end. The second outcome of a sure thing has probability 0.
RULES = Model(
    probability=np.array([[[1.0, 0], [0.5, 0.5]], [[1, 0], [1, 0]]]),
    next_state=np.array([[[0, 0], [1, 0]], [[1, 0], [1, 0]]]),
    reward=np.array([[[1.0, 9], [2, 2]], [[4, 9], [4, 9]]]),
    terminated=np.array([[[False, False], [False, True]], [[True, False], [True, False]]]),
)
SPEC = EnvSpec("two", Discrete(2), Discrete(2), rows=1, model=RULES)


def test_a_backup_is_the_mean_of_reward_and_discounted_value():
    """Bellman (1957); Sutton and Barto (2018), equation 4.2. TRM-1: an end is worth its reward."""
    # gamma 0.5, v = 10, 6:  1 + 0.5 * 10 = 6;  2 + 0.5 * 0.5 * 6 = 3.5;  4
    assert backup(RULES, np.array([10.0, 6.0]), 0.5).tolist() == [[6, 3.5], [4, 4]]


def test_a_policy_has_the_values_that_solve_its_equations():
    """Sutton and Barto (2018), equation 4.4."""
    # staying: v = 1 + 0.5 v = 2.  leaving: 2 + 0.25 * 4 = 3
    assert evaluate(RULES, np.array([0, 0]), 0.5).tolist() == pytest.approx([2, 4])
    assert evaluate(RULES, np.array([1, 0]), 0.5).tolist() == pytest.approx([3, 4])
    # gamma 0.9: staying 1 / 0.1 = 10, leaving 2 + 0.45 * 4 = 3.8
    assert evaluate(RULES, np.array([0, 1]), 0.9).tolist() == pytest.approx([10, 4])


def test_a_policy_is_improved_and_stays_where_it_is_as_good():
    q = np.array([[1.0, 2.0], [3.0, 3.0 + 1e-13], [5.0, 5.0]])
    assert improve(np.array([0, 0, 1]), q).tolist() == [1, 0, 1]


def test_value_iteration_makes_one_sweep_at_each_update_and_stops_below_theta():
    agent = agent_of("ValueIteration", SPEC, gamma=0.5, theta=0.3)
    tables, deltas = [], []
    for _ in range(5):
        deltas.append(agent.update({}).metrics["delta"].item())
        tables.append(agent.table.tolist())
    # v = 0, 0 -> 2, 4 -> 3, 4 -> 3, 4;  staying 1, 1 + 0.5 * 2, 1 + 0.5 * 3;  leaving 2, 2 + 0.25 * 4
    assert tables[:3] == [[[1, 2], [4, 4]], [[2, 3], [4, 4]], [[2.5, 3], [4, 4]]]
    assert tables[3:] == tables[2:3] * 2
    assert deltas == [4, 1, 0.5, 0, 0]
    small = agent_of("ValueIteration", SPEC, gamma=0.5, theta=0.6)
    for _ in range(5):
        assert small.update({}).metrics["delta"].item() >= 0.5
    assert small.table.tolist() == tables[1]


def test_policy_iteration_evaluates_and_improves_at_each_update():
    agent = agent_of("PI", SPEC, gamma=0.5)
    assert agent.predict_action(np.array([0, 1]), None).action.tolist() == [0, 0]
    first = agent.update({}).metrics
    # of staying, 2: stay 2, leave 3
    assert agent.table.tolist() == [[2, 3], [4, 4]]
    assert (first["changed"].item(), first["value_mean"].item()) == (1, 3)
    assert agent.predict_action(np.array([0, 1]), None).action.tolist() == [1, 0]
    second = agent.update({}).metrics
    assert (second["changed"].item(), second["value_mean"].item()) == (0, 3.5)
    assert agent.table.tolist() == [[2.5, 3], [4, 4]]


@pytest.mark.parametrize("algo", ["VI", "PI"])
def test_an_illegal_action_is_not_taken_however_good_it_is(algo):
    agent = agent_of(algo, SPEC, gamma=0.5)
    for _ in range(3):
        agent.update({})
    obs, mask = np.array([0, 0, 1]), np.array([[True, True], [True, False], [False, True]])
    assert agent.predict_action(obs, None, mask).action.tolist() == [1, 0, 1]
    assert agent.sample_action(obs, None, None, None, mask).action.tolist() == [1, 0, 1]


def world(name, **settings):
    """The environment, and what may be known of it."""
    env = gym_env.make(Gym(id=name, **settings), 1)
    return env, spec_of(env)


def planned(algo, spec, updates, **settings):
    agent = agent_of(algo, spec, **settings)
    for _ in range(updates):
        agent.update({})
    return agent


WORLDS = [("FrozenLake-v1", {"is_slippery": True}), ("CliffWalking-v1", {}), ("Taxi-v4", {})]


@pytest.mark.parametrize(("name", "settings"), WORLDS)
def test_both_find_the_same_values_and_these_satisfy_the_equation_of_optimality(name, settings):
    """Sutton and Barto (2018), equation 4.1: v(s) = max_a q(s, a)."""
    _, spec = world(name, **settings)
    values, policy = planned("VI", spec, 600), planned("PI", spec, 30)
    v = values.table.max(axis=1)
    np.testing.assert_allclose(backup(spec.model, v, 0.95).max(axis=1), v, atol=1e-9)
    np.testing.assert_allclose(policy.table.max(axis=1), v, atol=1e-8)
    assert policy.update({}).metrics["changed"].item() == 0


@pytest.mark.parametrize("algo", ["VI", "PI"])
def test_the_slippery_lake_is_crossed_as_often_as_is_possible(algo):
    """With gamma 0.99 and without a time limit the goal is reached in 0.8235 of all episodes: solved by itself here,
    as the chance of reaching it under the policy that was found."""
    _, spec = world("FrozenLake-v1", is_slippery=True)
    agent = planned(algo, spec, 1500 if algo == "VI" else 20, gamma=0.99)
    action = agent.predict_action(np.arange(16), None).action
    # the reward is 1 at the goal alone, so the undiscounted value is the chance
    chance = np.zeros(16)
    for _ in range(5000):
        chance = backup(spec.model, chance, 1.0)[np.arange(16), action]
    assert chance[0] == pytest.approx(0.8235, abs=1e-4)


@pytest.mark.parametrize("algo", ["VI", "PI"])
def test_the_cliff_is_walked_in_thirteen_steps(algo):
    env, spec = world("CliffWalking-v1")
    assert score(planned(algo, spec, 100), env, episodes=1) == -13


def test_undiscounted_values_are_found_where_every_way_costs():
    env, spec = world("CliffWalking-v1")
    agent = planned("VI", spec, 100, gamma=1.0)
    assert agent.table[36].max() == -13
    assert score(agent, env, episodes=1) == -13


def test_policy_iteration_says_why_it_needs_a_discount():
    """With gamma 1 a policy that never ends has no finite value."""
    assert list(PolicyIteration(gamma=0.9999).problems()) == []
    (problem,) = PolicyIteration(gamma=1.0).problems()
    assert problem.key == "gamma"
    assert "never reaches the end" in problem.message


@pytest.mark.parametrize("algo", ["ValueIteration", "PolicyIteration"])
def test_rules_that_are_not_there_or_of_another_size_are_refused(algo):
    with pytest.raises(UnfitError, match=rf"{algo} plans .* toy does not tell them; FrozenLake-v1"):
        agent_of(algo, spec_of(toy_of("shifted")))
    with pytest.raises(UnfitError, match=r"\(3, 2\) and not for \(2, 2\)"):
        agent_of(algo, EnvSpec("two", Discrete(2), Discrete(2), rows=1, model=spec_of(toy_of("walk", length=1)).model))
