"""Q-learning, Sarsa and Expected Sarsa: their formulas by hand, and tables that are known."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete, MultiBinary, MultiDiscrete

from algos.base import Progress
from algos.common.parts.tables import best_value, move, states_of, td_error
from algos.qlearning.agent import expected_value, taken_value
from envs.gym import Config as Gym
from envs.gym import env as gym_env
from tests.tools.core import CountingEnv, agent_of, score, spec_of, toy_of, trained
from tests.tools.paths import in_the_suite
from tests.tools.tables import RandomWalk, learned, window

# ------------------------------------------------------------------------------------------------------- formulas


def updated(state, action, reward, next_state, terminated, lr=0.5):
    table = np.array([[0.0, 1.0], [4.0, 2.0], [8.0, 8.0]])
    state, action, reward, next_state, terminated = map(np.array, (state, action, reward, next_state, terminated))
    error = td_error(table, state, action, reward, best_value(table[next_state]), terminated, gamma=0.5)
    move(table, state, action, error, lr)
    return table.tolist(), error.tolist()


def test_one_step_moves_one_value_towards_reward_and_best_successor():
    """Watkins (1989); Sutton and Barto (2018), equation 6.8: Q(s,a) += lr (r + gamma max Q(s',.) - Q(s,a))."""
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
    result = learned(agent, window(obs=[[1]], action=[[2]], reward=[[3.0]], next_obs=[[0]]))
    # 3 + 0.5 * 2 - 2 = 2, half of it
    assert agent.table.values[1].tolist() == [2, 2, 3]
    assert result.metrics["loss"].item() == 4.0
    assert result.metrics["q_mean"].item() == pytest.approx((8 * 2 + 3) / 9)


# ------------------------------------------------------------------------------------- the value of the next state

TABLE = np.array([[0.0, 0.0, 0.0], [1.0, 5.0, 3.0], [0.0, 0.0, 0.0]])
QUARTER = {"epsilon_start": 0.75, "epsilon_end": 0.75}
"""Every action has the probability 0.25, and the best one 0.25 more."""


def moved(algo, chunk, **settings):
    """Q(0, 0) after one update from TABLE with gamma 0.5 and lr 1: the target itself."""
    settings = {"gamma": 0.5, "lr": 1.0, **QUARTER, **settings}
    agent = agent_of(algo, spec_of(toy_of("shifted")), **settings)
    agent.load_weights({"table": TABLE, "counts": np.array([[0, 0, 0], [9, 9, 9], [0, 0, 0]])})
    learned(agent, chunk)
    after, changed = agent.table.values, agent.table.values.copy()
    changed[0, 0] = 0
    np.testing.assert_array_equal(changed, TABLE)
    return after[0, 0]


def step(next_action=2, **flags):
    """From state 0 with action 0 and reward 2 to state 1; Sarsa's window also has the step after it."""
    two = {"obs": [[0], [1]], "action": [[0], [next_action]], "reward": [[2.0], [9.0]], "next_obs": [[1], [2]]}
    return window(**two, **{name: torch.tensor([[value], [False]]) for name, value in flags.items()})


def one_step(**flags):
    return {name: column[:1] for name, column in step(**flags).items()}


MASKS = {
    "action_mask": torch.ones(1, 1, 3, dtype=torch.bool),
    "next_action_mask": torch.tensor([[[True, False, True]]]),
}
"""In the next state the best action is illegal."""


def test_q_learning_takes_the_best_next_action():
    """Sutton and Barto (2018), equation 6.8: 2 + 0.5 * 5; of those that are legal the best is 3: 2 + 0.5 * 3."""
    assert moved("QLearning", one_step()) == 4.5
    assert moved("QLearning", {**one_step(), **MASKS}) == 3.5


@pytest.mark.parametrize(
    ("settings", "value", "legal"),
    [
        # 0.25 (1 + 5 + 3) + 0.25 * 5 = 3.5;  with two legal actions 0.375 (1 + 3) + 0.25 * 3 = 2.25
        (QUARTER, 3.5, 2.25),
        # weights 1, e^2, e:  (1 + 5 e^2 + 3 e) / (1 + e^2 + e);  (1 + 3 e) / (1 + e)
        (
            {"exploration_type": "boltzmann", "temperature": 2.0},
            (1 + 5 * np.e**2 + 3 * np.e) / (1 + np.e**2 + np.e),
            (1 + 3 * np.e) / (1 + np.e),
        ),
        # equal counts, so the bound is highest where the value is
        ({"exploration_type": "ucb"}, 5.0, 3.0),
        ({"exploration_type": "none"}, 5.0, 3.0),
    ],
)
def test_expected_sarsa_takes_the_mean_over_the_actions_as_they_are_explored(settings, value, legal):
    """van Seijen et al. (2009), equation 5; Sutton and Barto (2018), equation 6.9."""
    assert moved("ExpectedSarsa", one_step(), **settings) == pytest.approx(2 + 0.5 * value)
    assert moved("ExpectedSarsa", {**one_step(), **MASKS}, **settings) == pytest.approx(2 + 0.5 * legal)


def test_expected_sarsa_explores_as_much_as_at_this_point_of_the_run():
    """At step 300 of a linear schedule over 400, from 1 to 0, epsilon is 0.25: 0.75 * 5 + 0.25 * 3 = 4.5."""
    schedule = {"epsilon_start": 1.0, "epsilon_end": 0.0, "epsilon_decay": 400, "epsilon_schedule": "linear"}
    agent = agent_of("ExpectedSarsa", spec_of(toy_of("shifted")), gamma=0.5, lr=1.0, **schedule)
    agent.load_weights({"table": TABLE})
    learned(agent, one_step(), Progress(step=300))
    assert agent.table.values[0, 0] == 2 + 0.5 * 4.5


def test_sarsa_takes_the_action_that_is_really_taken_next():
    """Sutton and Barto (2018), equation 6.7: action 2 is worth 3, action 0 is worth 1."""
    assert moved("Sarsa", step(next_action=2)) == 2 + 0.5 * 3
    assert moved("Sarsa", step(next_action=0)) == 2 + 0.5 * 1


@pytest.mark.parametrize("algo", ["QLearning", "ExpectedSarsa", "Sarsa"])
def test_after_an_end_nothing_counts_and_after_a_time_limit_the_value_of_the_true_successor(algo):
    """TRM-1. After a truncation the action in Sarsa's window belongs to another episode: the mean over the policy, 3.5
    as above, stands for it, whichever action that is."""
    value = {"QLearning": 5.0, "ExpectedSarsa": 3.5, "Sarsa": 3.5}[algo]
    for next_action in (0, 1, 2):
        for flags, target in (
            ({"terminated": True}, 2.0),
            ({"truncated": True}, 2 + 0.5 * value),
            ({"terminated": True, "truncated": True}, 2.0),
        ):
            chunk = step(next_action, **flags)
            assert moved(algo, chunk if algo == "Sarsa" else one_step(**flags)) == target


def test_the_values_of_several_rows_are_their_own():
    values, policy = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.5, 0.5], [1.0, 0.0]])
    assert expected_value(values, policy).tolist() == [1.5, 3.0]
    taken = taken_value(values, policy, np.array([1, 1]), np.array([False, True]))
    assert taken.tolist() == [2.0, 3.0]
    mask = np.array([[True, False], [False, False]])
    assert best_value(values, mask).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("algo", ["QLearning", "ExpectedSarsa", "Sarsa"])
def test_dummy_steps_are_neither_learned_from_nor_counted(algo):
    chunk = {name: column.repeat(1, 2) for name, column in step().items()}
    chunk["valid"] = torch.tensor([[True, False], [True, True]])
    chunk["obs"][:, 1], chunk["action"][:, 1] = 2, 2
    if algo != "Sarsa":
        chunk = {name: column[:1] for name, column in chunk.items()}
    agent = agent_of(algo, spec_of(toy_of("shifted")), exploration_type="ucb")
    learned(agent, chunk)
    assert np.argwhere(agent.table.values).tolist() == np.argwhere(agent.table.counts).tolist() == [[0, 0]]


def test_every_step_of_every_row_is_a_visit_and_belongs_to_the_weights():
    """Rows 0 and 2 meet."""
    agent = agent_of("QLearning", spec_of(toy_of("shifted")), exploration_type="ucb")
    chunk = window(obs=[[0, 1, 0]], action=[[1, 0, 1]], reward=[[0.0, 0.0, 0.0]], next_obs=[[1, 1, 1]])
    learned(agent, chunk)
    assert agent.weights()["counts"].tolist() == [[0, 2, 0], [1, 0, 0], [0, 0, 0]]
    other = agent_of("QLearning", spec_of(toy_of("shifted")), exploration_type="ucb")
    other.load_weights(agent.weights())
    assert other.table.counts.tolist() == agent.table.counts.tolist()
    assert "counts" not in agent_of("QLearning", spec_of(toy_of("shifted"))).weights()


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
    assert ((low < agent.table.values) & (agent.table.values < high)).all()


@pytest.mark.long
@pytest.mark.parametrize("rows", in_the_suite([1, 4], 4))
def test_the_frozen_lake_without_slipping_is_crossed_on_a_shortest_way(rows):
    """Six steps to the goal, which pays 1: the start is worth 0.9^5."""
    cfg = Gym(id="FrozenLake-v1", is_slippery=False, vectorization="sync")
    env = gym_env.make(cfg, rows)
    curious = {"epsilon_start": 0.1, "epsilon_end": 0.1, "initial_value": 1.0}
    agent = trained(agent_of("QLearning", spec_of(env), gamma=0.9, lr=0.5, **curious), env, 6000 // rows)
    assert agent.table.values[0].max() == pytest.approx(0.9**5, rel=0.01)
    assert score(agent, gym_env.make(cfg, 1), episodes=3) == 1.0


@pytest.mark.long
def test_a_table_of_zeros_finds_the_goal_since_the_best_of_equal_actions_is_any_of_them():
    """The first of them would be `left` at the start, for ever but for a few random steps."""
    cfg = Gym(id="FrozenLake-v1", is_slippery=False, vectorization="sync")
    schedule = {"epsilon_start": 0.7, "epsilon_end": 0.1, "epsilon_decay": 2000}
    env = gym_env.make(cfg, 1)
    agent = trained(agent_of("QLearning", spec_of(env), gamma=0.95, lr=0.9, **schedule), env, 4000)
    assert score(agent, gym_env.make(cfg, 1), episodes=3) == 1.0


TABLES = ("QLearning", "ExpectedSarsa", "Sarsa", "SarsaLambda", "DoubleQLearning", "DynaQ", "DynaQPlus",
          "PrioritizedSweeping", "MonteCarlo")  # fmt: skip
WAYS = [*((algo, "e-greedy") for algo in TABLES), *(("QLearning", way) for way in ("softmax", "ucb", "none"))]
by_all_and_with_all = pytest.mark.parametrize(("algo", "exploration"), WAYS)
"""Every algorithm, and every exploration with one of them, since the code that explores is the same."""


@by_all_and_with_all
def test_the_action_that_fits_the_state_is_learned_with_every_exploration(algo, exploration):
    env = toy_of("shifted", 2)
    curious = {"initial_value": 1.0} if exploration == "none" else {}
    agent = trained(agent_of(algo, spec_of(env), exploration_type=exploration, **curious), env, 150)
    assert score(agent, env) == 1.0


@pytest.mark.parametrize(("algo", "optimal"), [("Sarsa", False), ("ExpectedSarsa", False), ("QLearning", True)])
def test_by_chance_alone_sarsa_learns_the_values_of_chance_and_q_learning_those_of_the_best(algo, optimal):
    """Sutton and Barto (2018), example 6.2: place i is worth i / 6, so going right from it (i + 1) / 6."""
    chance = {"epsilon_start": 1.0, "epsilon_end": 1.0}
    env = RandomWalk(100)
    agent = trained(agent_of(algo, spec_of(env), gamma=1.0, lr=0.1, initial_value=0.5, **chance), env, 600)
    known = np.stack([np.arange(5), np.arange(2, 7)], axis=1) / 6
    known = np.array([[0, 1], [1, 1], [1, 1], [1, 1], [1, 1]]) if optimal else known
    np.testing.assert_allclose(agent.table.values[1:6], known, atol=0.08)


@pytest.mark.long
@by_all_and_with_all
def test_illegal_actions_are_never_taken_and_never_learned(algo, exploration):
    """The walk raises where one is taken; going left from place 3 is worth what it was at first."""
    env = RandomWalk(3, wall=True)
    often = {"epsilon_start": 1.0, "epsilon_end": 0.5, "initial_value": 2.0, "lr": 0.5, "gamma": 0.9}
    agent = trained(agent_of(algo, spec_of(env), exploration_type=exploration, **often), env, 300)
    score(agent, env, episodes=3)
    values = agent.table.values
    assert values[3, 0] == 2.0
    assert (values[:3] == 2.0).all()
    # right of it nothing is worth more than the way to the end; 0.9 * 2 would come back from an illegal action
    assert (values[3:6, 1] < 1.1).all()
    assert (values[4:6, 0] < 1.1).all()


@pytest.mark.parametrize("algo", ["QLearning", "Sarsa", "ExpectedSarsa", "MonteCarlo", "DynaQ"])
def test_a_table_is_on_the_processor_whatever_device_is_asked_for(algo):
    """The learner brings columns to the agent's device, and numpy reads them there."""
    assert agent_of(algo, spec_of(toy_of("walk")), device="meta").device.type == "cpu"
