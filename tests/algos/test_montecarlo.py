"""First-visit Monte Carlo: returns and visits by hand, and values that are known."""

import numpy as np
import pytest

from algos.montecarlo.agent import first_visits
from tests.tools.core import agent_of, spec_of, toy_of, trained
from tests.tools.tables import RandomWalk, learned, window


def monte_carlo(**settings):
    return agent_of("MonteCarlo", spec_of(toy_of("shifted")), **{"gamma": 0.5, "lr": 0.5, **settings})


def column(*values):
    """One row."""
    return [[value] for value in values]


EPISODE = {
    "obs": column(0, 1, 0),
    "action": column(0, 2, 0),
    "reward": column(1.0, 2.0, 4.0),
    "valid": column(True, True, True),
}
ENDED = column(False, False, True)
# returns backward, gamma 0.5:  4;  2 + 0.5 * 4 = 4;  1 + 0.5 * 4 = 3.  (0, 0) is visited first in the first step.


@pytest.mark.parametrize("flag", ["terminated", "truncated"])
def test_a_value_moves_towards_the_return_after_its_first_visit(flag):
    """Sutton and Barto (2018), section 5.4. TRM-1: a truncated episode counts with the return that was seen."""
    agent = monte_carlo()
    result = learned(agent, window(**EPISODE, **{flag: ENDED}))
    assert agent.table.values.tolist() == [[1.5, 0, 0], [0, 0, 2], [0, 0, 0]]
    assert result.metrics["loss"].item() == pytest.approx((3**2 + 4**2) / 2)


def test_without_a_learning_rate_a_value_is_the_mean_of_its_returns():
    """3 and 4, then 6 for (0, 0): the mean of 3 and 6 is 4.5. The first value does not count."""
    agent = monte_carlo(lr=None, initial_value=100.0)
    learned(agent, window(**EPISODE, terminated=ENDED))
    assert agent.table.values[0, 0] == 3
    one = window(obs=[[0]], action=[[0]], reward=[[6.0]], terminated=[[True]], valid=[[True]])
    learned(agent, one)
    assert agent.table.values.tolist() == [[4.5, 100, 100], [100, 100, 4], [100, 100, 100]]
    # two rows at once, 0 and 3: the mean of 3, 6, 0 and 3 is 3
    both = window(obs=[[0, 0]], action=[[0, 0]], reward=[[0.0, 3.0]], terminated=[[True] * 2], valid=[[True] * 2])
    learned(agent, both)
    assert agent.table.values[0, 0] == 3
    assert agent.returns[0, 0] == 4


def test_the_mean_goes_on_after_a_resume():
    """RES-1: the next return is one of three, and not one of one."""
    one, other = monte_carlo(lr=None), monte_carlo(lr=None)
    chunk = window(obs=[[0]], action=[[0]], reward=[[6.0]], terminated=[[True]], valid=[[True]])
    for _ in range(2):
        learned(one, chunk)
    other.load_state(one.state())
    for agent in (one, other):
        learned(agent, {**chunk, "reward": chunk["reward"] * 0})
        assert agent.table.values[0, 0] == 4


def test_rows_that_meet_move_the_value_by_the_mean_of_their_errors():
    agent = monte_carlo()
    learned(
        agent, window(obs=[[0, 0]], action=[[0, 0]], reward=[[2.0, 6.0]], terminated=[[True] * 2], valid=[[True] * 2])
    )
    assert agent.table.values[0, 0] == 2


def test_several_episodes_of_several_rows_keep_their_returns_and_visits_apart():
    """Row 0: two episodes of one and two steps. Row 1: a dummy step, then one of two; then what is not complete."""
    agent = monte_carlo(gamma=1.0, lr=1.0)
    chunk = window(
        obs=[[0, 2], [0, 1], [1, 0], [2, 2]],
        action=[[0, 0], [1, 0], [0, 1], [2, 2]],
        reward=[[1.0, 90.0], [2.0, 4.0], [3.0, 8.0], [90.0, 90.0]],
        terminated=[[False, False], [False, False], [True, True], [False, False]],
        truncated=[[True, False], [False, False], [False, False], [False, False]],
        valid=[[True, False], [True, True], [True, True], [False, False]],
    )
    learned(agent, chunk)
    # (0,0): 1.  (0,1): 2 + 3 in row 0 and 8 in row 1, mean 6.5.  (1,0): 3 in row 0 and 4 + 8 in row 1, mean 7.5
    assert agent.table.values.tolist() == [[1, 6.5, 0], [7.5, 0, 0], [0, 0, 0]]


def test_a_pair_is_met_first_once_in_each_episode_and_never_in_a_step_that_does_not_count():
    pair = np.array([[3, 5], [3, 5], [3, 5], [3, 5]])
    ended = np.array([[0, 1], [1, 0], [0, 0], [1, 1]], bool)
    valid = np.array([[1, 1], [1, 0], [1, 1], [1, 1]], bool)
    assert first_visits(pair, ended, valid).tolist() == [[True, True], [False, False], [True, True], [False, False]]


def test_every_visit_is_counted_for_the_upper_bound_not_only_the_first():
    agent = monte_carlo(exploration_type="ucb")
    learned(agent, window(**EPISODE, terminated=ENDED))
    assert agent.table.counts.tolist() == [[2, 0, 0], [0, 0, 1], [0, 0, 0]]


@pytest.mark.long
@pytest.mark.parametrize("lr", [None, 0.02])
def test_by_chance_alone_the_values_of_chance_are_learned(lr):
    """Sutton and Barto (2018), example 6.2: going right from place i is worth (i + 1) / 6."""
    env = RandomWalk(50)
    chance = {"epsilon_start": 1.0, "epsilon_end": 1.0, "gamma": 1.0, "initial_value": 0.5}
    agent = trained(agent_of("MonteCarlo", spec_of(env), lr=lr, **chance), env, 400)
    known = np.stack([np.arange(5), np.arange(2, 7)], axis=1) / 6
    np.testing.assert_allclose(agent.table.values[1:6], known, atol=0.08)
