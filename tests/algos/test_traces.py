"""Tables with n-step returns, eligibility traces or two tables: their formulas by hand, known values, exact resume."""

import numpy as np
import pytest

from algos.qlearning.agent import cross_value, walk
from algos.qlearning.traces import Traces
from tests.tools.core import agent_of, score, spec_of, toy_of, trained
from tests.tools.tables import RandomWalk, learned, window

HALF = {"gamma": 0.5, "lr": 1.0}


def table_of(algo, values, **settings):
    agent = agent_of(algo, spec_of(toy_of("shifted")), **{**HALF, **settings})
    agent.load_weights({"table": np.array(values, float)})
    return agent


# ----------------------------------------------------------------------------------------------------- n-step returns


def test_a_walk_sums_discounted_rewards_and_stops_at_the_end_of_an_episode():
    """Row 0: 1 + 0.5 * 2 + 0.25 * 4. Row 1 ends with its second step: 1 + 0.5 * 2. Row 2 with its first."""
    reward = np.array([[1.0] * 3, [2.0] * 3, [4.0] * 3], np.float32)
    ended = np.array([[False, False, True], [False, True, False], [False] * 3])
    way = walk(reward, ended, 3, 0.5)
    assert way.reward.tolist() == [3.0, 2.0, 1.0]
    assert way.discount.tolist() == [0.125, 0.25, 0.5]
    assert way.last.tolist() == [2, 1, 0]


TWO = {"obs": [[0], [1]], "action": [[0], [1]], "reward": [[4.0], [2.0]], "next_obs": [[1], [2]]}
VALUES = [[0, 0, 0], [1, 1, 1], [8, 4, 0]]


@pytest.mark.parametrize(
    ("flags", "value"),
    [
        ({}, 7.0),  # 4 + 0.5 * 2 + 0.25 * 8
        ({"terminated": [[False], [True]]}, 5.0),  # 4 + 0.5 * 2
        ({"truncated": [[True], [False]]}, 4.5),  # the second step is of another episode: 4 + 0.5 * 1
    ],
)
def test_the_target_of_two_steps(flags, value):
    """Sutton and Barto (2018), equation 7.1, with the value of Q-learning at its end."""
    agent = table_of("QLearning", VALUES, n_step=2)
    assert agent.cfg.memory(1).overlap == 1
    learned(agent, window(**TWO, **flags))
    assert agent.table.values[0].tolist() == [value, 0, 0]
    assert agent.table.values[1:].tolist() == VALUES[1:]


@pytest.mark.parametrize(("algo", "value"), [("Sarsa", 6.0), ("ExpectedSarsa", 6.0)])
def test_the_target_of_two_steps_ends_in_the_value_of_the_variant(algo, value):
    """4 + 0.5 * 2 + 0.25 * 4: of the action taken there, and of the mean of 8, 4 and 0."""
    chance = {"epsilon_start": 1.0, "epsilon_end": 1.0}
    agent = table_of(algo, VALUES, n_step=2, **chance)
    three = {**TWO, "obs": [[0], [1], [2]], "action": [[0], [1], [1]], "reward": [[4.0], [2.0], [9.0]]}
    learned(agent, window(**{**three, "next_obs": [[1], [2], [0]]}))
    assert agent.table.values[0, 0] == pytest.approx(value)


# ------------------------------------------------------------------------------------------------- eligibility traces


def visited(traces, *steps):
    """Each step is (state, action, begins, after) of row 0."""
    for state, action, begins, after in steps:
        traces.visit(*(np.array([value]) for value in (0, state, action, begins, after)))
    return {(s, a): v for s, a, v in zip(traces.all.state, traces.all.action, traces.all.value, strict=True)}


@pytest.mark.parametrize(("replacing", "again"), [(False, 1.25), (True, 1.0)])
def test_traces_decay_and_a_second_visit_adds_or_replaces(replacing, again):
    """Pair (0, 1) is left with 0.5 * 0.5 = 0.25 when it is visited again, (2, 0) with 0.5."""
    traces = Traces(0.5, replacing)
    assert visited(traces, (0, 1, 0, 2), (2, 0, 2, 0), (0, 1, 0, 3)) == {(2, 0): 0.5, (0, 1): again}


def test_traces_end_with_the_episode_and_with_an_exploratory_action():
    traces = Traces(0.5, False)
    assert visited(traces, (0, 1, 0, -2), (1, 0, 1, 2)) == {(1, 0): 1.0}
    assert visited(traces, (2, 1, -1, 0)) == {(2, 1): 1.0}


def test_rows_have_traces_of_their_own():
    traces = Traces(0.5, False)
    for state in (0, 1):
        pair = np.array([state, state])
        traces.visit(np.arange(2), pair, np.array([0, 1]), pair, pair + 1)
    assert traces.all.row.tolist() == [0, 1, 0, 1]
    assert traces.all.value.tolist() == [0.5, 0.5, 1.0, 1.0]


def test_an_error_reaches_the_pair_before_it_with_gamma_lambda():
    """Sarsa(lambda), section 12.7: the first step gives 0. The error of the second one, 8, moves its own pair by
    0.5 * 8, and that of the first step by 0.5 * 8 * gamma lambda = 0.5 * 8 * 0.5 * 0.5."""
    agent = table_of("SarsaLambda", np.zeros((3, 3)), lr=0.5, trace_lambda=0.5)
    learned(agent, window(obs=[[0], [1]], action=[[0], [1]], reward=[[0.0], [8.0]], next_obs=[[1], [2]]))
    assert not agent.table.values.any()
    last = {"obs": [[1], [0]], "action": [[1], [0]], "reward": [[8.0], [0.0]], "next_obs": [[2], [1]]}
    learned(agent, window(**last, terminated=[[True], [False]]))
    assert agent.table.values.tolist() == [[1, 0, 0], [0, 4, 0], [0, 0, 0]]


def test_a_row_without_a_step_does_not_thin_the_error_of_another_row():
    """Both rows have visited (0, 0). The error of row 0, 8, moves it by 0.5 * 8 * 0.5 * 0.5; row 1 has no step."""
    agent = table_of("SarsaLambda", np.zeros((3, 3)), lr=0.5, trace_lambda=0.5)
    both = {"obs": [[0, 0], [1, 1]], "action": [[0, 0], [1, 1]], "reward": [[0.0, 0.0], [8.0, 8.0]]}
    learned(agent, window(**both, next_obs=[[1, 1], [2, 2]]))
    last = {"obs": [[1, 1], [0, 0]], "action": [[1, 1], [0, 0]], "reward": [[8.0, 8.0], [0.0, 0.0]]}
    flags = {"terminated": [[True, False], [False, False]], "valid": [[True, False], [True, True]]}
    learned(agent, window(**last, next_obs=[[2, 2], [1, 1]], **flags))
    assert agent.table.values.tolist() == [[1, 0, 0], [0, 4, 0], [0, 0, 0]]


@pytest.mark.parametrize(("action", "before"), [(1, 1.0), (2, 0.0)])
def test_q_learning_passes_an_error_on_only_after_a_greedy_action(action, before):
    """Watkins (1989). In state 1 the best action is 1, worth 2: its error 10 - 2 goes back by 0.5 * 0.25."""
    agent = table_of("QLearning", [[0, 0, 0], [0, 2, 0], [0, 0, 0]], lr=0.5, trace_lambda=0.5)
    first = {"obs": [[0]], "action": [[0]], "reward": [[-1.0]], "next_obs": [[1]]}
    learned(agent, window(**first))
    assert agent.table.values[0, 0] == 0.0  # -1 + 0.5 * 2
    second = {"obs": [[1]], "action": [[action]], "reward": [[10.0]], "next_obs": [[2]], "terminated": [[True]]}
    learned(agent, window(**second))
    assert agent.table.values[0, 0] == before


def test_lambda_1_without_discount_learns_what_the_episode_has_earned():
    """The traces add up to a Monte Carlo return (section 12.3): 1 and 2 and 4 give 7, 6 and 4."""
    agent = table_of("SarsaLambda", np.zeros((3, 3)), gamma=1.0, trace_lambda=1.0)
    path = [(0, 1.0, 1, False), (1, 2.0, 2, False), (2, 4.0, 0, True)]
    for state, reward, after, ended in path:
        two = {"obs": [[state], [after]], "action": [[0], [0]], "reward": [[reward], [0.0]], "next_obs": [[after], [0]]}
        learned(agent, window(**two, terminated=[[ended], [False]]))
    assert agent.table.values[:, 0].tolist() == [7, 6, 4]


# ------------------------------------------------------------------------------------------------ two tables


def test_one_table_chooses_and_the_other_judges():
    """van Hasselt (2010), algorithm 1."""
    choosing, judging = np.array([[1.0, 5.0, 3.0]]), np.array([[7.0, 2.0, 4.0]])
    assert cross_value(choosing, judging, None).tolist() == [2.0]
    assert cross_value(choosing, judging, np.array([[True, False, True]])).tolist() == [4.0]
    assert cross_value(choosing, judging, np.zeros((1, 3), bool)).tolist() == [0.0]


def test_a_step_updates_one_table_by_the_other_and_their_mean_acts():
    agent = agent_of("DoubleQLearning", spec_of(toy_of("shifted")), **HALF)
    agent.pair[0, 1], agent.pair[1, 1] = [1, 5, 3], [7, 2, 4]
    step = {"obs": [[0]], "action": [[0]], "reward": [[2.0]], "next_obs": [[1]]}
    targets = (3.0, 2.5)  # 2 + 0.5 * 2, and 2 + 0.5 * 1: the second table likes action 0, which the first one gives 1
    seen = set()
    for _ in range(12):
        agent.pair[:, 0] = 0
        learned(agent, window(**step))
        changed = tuple(agent.pair[:, 0, 0])
        seen.add(changed)
        assert agent.table.values[0, 0] == sum(changed) / 2
    assert seen == {(targets[0], 0.0), (0.0, targets[1])}


def test_double_q_learning_is_not_drawn_to_the_action_of_random_rewards():
    """Sutton and Barto (2018), example 6.7: values whose noise has the mean -0.1. The maximum of ten estimates is above
    0, and that of two tables is not."""
    rng = np.random.default_rng(0)
    values = {}
    for algo in ("QLearning", "DoubleQLearning"):
        agent = agent_of(algo, spec_of(toy_of("shifted")), gamma=1.0, lr=0.1)
        for _ in range(600):
            reward = float(rng.normal(-0.1, 1.0))
            arm = int(rng.integers(3))
            end = {"obs": [[1]], "action": [[arm]], "reward": [[reward]], "next_obs": [[2]], "terminated": [[True]]}
            learned(agent, window(**end))
            learned(agent, window(obs=[[0]], action=[[0]], reward=[[0.0]], next_obs=[[1]]))
        values[algo] = agent.table.values[0, 0]
    assert values["DoubleQLearning"] < values["QLearning"]


# ------------------------------------------------------------------------------------------------ all of them

KINDS = [
    ("QLearning", {"n_step": 3}), ("Sarsa", {"n_step": 3}), ("ExpectedSarsa", {"n_step": 2}),
    ("QLearning", {"trace_lambda": 0.8}), ("ExpectedSarsa", {"trace_lambda": 0.8, "traces": "replacing"}),
    ("SarsaLambda", {}), ("DoubleQLearning", {}), ("Sarsa", {"double": True, "n_step": 2}),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("algo", "settings"), [(a, s) for a, s in KINDS if a != "QLearning"])
def test_by_chance_alone_the_values_of_chance_are_learned(algo, settings):
    """Sutton and Barto (2018), example 6.2: going right from place i is worth (i + 1) / 6."""
    chance = {"epsilon_start": 1.0, "epsilon_end": 1.0}
    if algo == "DoubleQLearning":
        settings = {**settings, "next_value": "expected"}
    env = RandomWalk(100)
    agent = trained(agent_of(algo, spec_of(env), gamma=1.0, lr=0.05, initial_value=0.5, **chance, **settings), env, 450)
    known = np.stack([np.arange(5), np.arange(2, 7)], axis=1) / 6
    np.testing.assert_allclose(agent.table.values[1:6], known, atol=0.1)


@pytest.mark.long
@pytest.mark.parametrize(("algo", "settings"), KINDS)
def test_each_learns_the_action_that_fits_the_state_and_goes_on_as_if_it_had_not_stopped(algo, settings):
    """RES-1, in the middle of episodes."""
    env = RandomWalk(3, wall=True)
    one = trained(agent_of(algo, spec_of(env), lr=0.2, gamma=0.9, **settings), env, 157)
    other = agent_of(algo, spec_of(env), lr=0.2, gamma=0.9, **settings)
    other.load_state(one.state())
    for agent in (one, other):
        trained(agent, RandomWalk(3, wall=True), 40)
    np.testing.assert_array_equal(one.table.values, other.table.values)
    toy = toy_of("shifted", 2)
    assert score(trained(agent_of(algo, spec_of(toy), **settings), toy, 200), toy) == 1.0
