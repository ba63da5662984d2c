"""Tabular Q-learning: its formula by hand, and tables that are known."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete, MultiBinary, MultiDiscrete
from helpers_core import CountingEnv, agent_of, score, spec_of, toy_of, trained

from algos.common.tables import states_of
from algos.qlearning.agent import q_update
from envs.gym import Config as Gym
from envs.gym import env as gym_env

# ------------------------------------------------------------------------------------------------------- formulas


def updated(state, action, reward, next_state, terminated, lr=0.5):
    table = np.array([[0.0, 1.0], [4.0, 2.0], [8.0, 8.0]])
    columns = [np.array(column) for column in (state, action, reward, next_state, terminated)]
    error = q_update(table, *columns, gamma=0.5, lr=lr)
    return table.tolist(), error.tolist()


def test_one_step_moves_one_value_towards_reward_and_best_successor():
    """Watkins (1989): Q(s,a) += lr (r + gamma max Q(s',.) - Q(s,a))."""
    # 3 + 0.5 * 4 - 1 = 4, half of it
    assert updated([0], [1], [3.0], [1], [False]) == ([[0, 3], [4, 2], [8, 8]], [4.0])


def test_a_terminal_successor_is_worth_nothing():
    """TRM-1: 3 - 1 = 2, half of it."""
    assert updated([0], [1], [3.0], [1], [True]) == ([[0, 2], [4, 2], [8, 8]], [2.0])


def test_rows_move_their_own_values_and_those_that_meet_move_theirs_once_by_the_mean():
    # rows 0 and 2 meet in (0, 1): errors 4 (as above) and 7 + 0.5 * 8 - 1 = 10, mean 7, half of it 3.5.
    # row 1: 1 + 0.5 * 1 - 4 = -2.5, half of it -1.25
    table, error = updated([0, 1, 0], [1, 0, 1], [3.0, 1.0, 7.0], [1, 0, 2], [False, False, False])
    assert error == [4.0, -2.5, 10.0]
    assert table == [[0, 4.5], [2.75, 2], [8, 8]]


@pytest.mark.parametrize(
    ("space", "obs", "numbers", "states"),
    [
        (Discrete(5), [3, 0], [3, 0], 5),
        # the last digit counts fastest: 2 * 6 + 1 * 3 + 2 = 17
        (MultiDiscrete([4, 2, 3]), [[2, 1, 2], [0, 0, 1]], [17, 1], 24),
        (MultiBinary(3), [[1, 0, 1], [1, 1, 1]], [5, 7], 8),
    ],
)
def test_every_state_has_a_number_of_its_own(space, obs, numbers, states):
    index, count = states_of(space)
    assert index(np.array(obs)).tolist() == numbers
    assert count == states


def test_an_update_of_the_agent_is_the_formula():
    agent = agent_of("QLearning", spec_of(toy_of("shifted")), gamma=0.5, lr=0.5, initial_value=2.0)
    batch = {"obs": 1, "action": 2, "reward": 3.0, "next_obs": 0, "terminated": False}
    result = agent.update({name: torch.tensor([value]) for name, value in batch.items()})
    # 3 + 0.5 * 2 - 2 = 2, half of it
    assert agent.table[1].tolist() == [2, 2, 3]
    assert result.metrics["loss"].item() == 4.0
    assert result.metrics["q_mean"].item() == pytest.approx((8 * 2 + 3) / 9)


# ---------------------------------------------------------------------------------------------------------- tasks


class Limited(CountingEnv):
    """One state and the reward 1 for ever, cut off after 5 steps."""

    observation_space = Discrete(1)
    action_space = Discrete(2)

    def _obs(self):
        return np.zeros(self.rows, np.int64)

    def reset(self, mask, seeds):
        self._out = np.zeros(self.rows, np.int64)
        return super().reset(mask, seeds)

    def step(self, action):
        return super().step(action)._replace(reward=np.ones(self.rows, np.float32))


@pytest.mark.parametrize(("kind", "low", "high"), [("truncated", 4.99, 5.01), ("terminated", 0.0, 4.5)])
def test_the_value_goes_on_past_a_time_limit_and_not_past_an_end(kind, low, high):
    """TRM-1: 1 / (1 - 0.8) = 5."""
    env = Limited((5, kind))
    agent = trained(agent_of("QLearning", spec_of(env), gamma=0.8, lr=0.5, epsilon_end=0.5), env, 300)
    assert ((low < agent.table) & (agent.table < high)).all()


@pytest.mark.parametrize("rows", [1, 4])
def test_the_frozen_lake_without_slipping_is_crossed_on_a_shortest_way(rows):
    """Six steps to the goal, which pays 1: the start is worth 0.9^5."""
    cfg = Gym(id="FrozenLake-v1", is_slippery=False, vectorization="sync")
    env = gym_env.make(cfg, rows)
    agent = agent_of(
        "QLearning", spec_of(env), gamma=0.9, lr=0.5, epsilon_start=1.0, epsilon_end=1.0, initial_value=0.0
    )
    trained(agent, env, 12_000 // rows)
    assert agent.table[0].max() == pytest.approx(0.9**5, rel=0.01)
    assert score(agent, gym_env.make(cfg, 1), episodes=3) == 1.0


def test_the_action_that_fits_the_state_is_learned():
    env = toy_of("shifted", 2)
    assert score(trained(agent_of("QLearning", spec_of(env)), env, 500), env) == 1.0
