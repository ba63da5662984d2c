"""Environments with goals, and the memory that puts other goals in their place."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary

from algos.base import Act, Progress
from config.model.memory_spec import ReplaySpec
from envs.base import EnvError, Goal
from framework import memory
from framework.collect.fragment import Fragment, Origin
from tests.tools.actor_critic import small
from tests.tools.core import (
    FakeJournal,
    agent_of,
    collector_of,
    saved_and_read,
    score,
    spec_of,
    toy_of,
    trained,
    written,
)
from tests.tools.envs import assembled, everyone
from tests.tools.paths import EVERY, in_the_suite


class Field(gymnasium.Env):
    """A goal in the plane, in an array [1, 2] of float64; the distance is the price. Judges one pair at a time."""

    action_space = Discrete(2)
    observation_space = Dict(
        {
            "observation": Box(-1, 1, (3,)),
            "achieved_goal": Box(-9, 9, (1, 2), np.float64),
            "desired_goal": Box(-9, 9, (1, 2), np.float64),
        }
    )
    calls: list = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._goal = self.np_random.uniform(-9, 9, (1, 2))
        return self._seen(), {}

    def step(self, action):
        return self._seen(), 0.0, False, False, {}

    def _seen(self):
        at = self.np_random.uniform(-9, 9, (1, 2))
        return {"observation": np.zeros(3, np.float32), "achieved_goal": at, "desired_goal": self._goal}

    def compute_reward(self, achieved, desired, info):
        self.calls.append(achieved.shape)
        assert achieved.dtype == np.float64
        return -float(np.linalg.norm(achieved - desired))

    def compute_terminated(self, achieved, desired, info):
        return bool(np.linalg.norm(achieved - desired) < 1)


class Vectorised(Field):
    def compute_reward(self, achieved, desired, info):
        self.calls.append(achieved.shape)
        return -np.linalg.norm((achieved - desired).reshape(*achieved.shape[:-2], 2), axis=-1)

    def compute_terminated(self, achieved, desired, info):
        return False


def fields(factory, kind="sync"):
    return assembled(factory, "field", 2, kind)


# --------------------------------------------------------------------------------------------------- environments


def test_the_goal_of_a_toy_says_where_its_parts_stand_and_judges_many_at_once():
    env = toy_of("bitflip", n=3)
    assert [part[:3] for part in env.parts] == [("achieved_goal", 0, 3), ("desired_goal", 3, 6), ("observation", 6, 9)]
    assert (env.goal.achieved, env.goal.desired) == (slice(0, 3), slice(3, 6))
    achieved = np.float32([[1, 0, 1], [1, 0, 1]])
    reward, terminated = env.goal.judge(achieved, np.float32([[1, 0, 1], [1, 1, 1]]))
    assert (reward.tolist(), terminated.tolist()) == ([0.0, -1.0], [True, False])
    assert (reward.dtype, terminated.dtype) == (np.float32, bool)


@pytest.mark.parametrize("name", ["bitflip", "reach"])
def test_what_the_goal_says_of_the_goals_in_a_step_is_what_the_step_gave(name):
    env = toy_of(name, rows=8)
    env.reset(everyone(env), np.arange(8))
    rng = np.random.default_rng(0)
    ends = 0
    for t in range(60):
        action = rng.uniform(-1, 1, (8, 1)) if name == "reach" else rng.integers(0, 6, 8)
        out = env.step(action)
        reward, terminated = env.goal.judge(out.obs[:, env.goal.achieved], out.obs[:, env.goal.desired])
        assert (reward.tolist(), terminated.tolist()) == (out.reward.tolist(), out.terminated.tolist())
        ends += terminated.sum()
        ended = out.terminated | out.truncated
        if ended.any():
            env.reset(ended, np.arange(8) + 100 * t)
    assert ends > 3


@pytest.mark.parametrize(("factory", "shape"), [(Field, (1, 2)), (Vectorised, (2, 1, 2))])
def test_a_judge_of_one_pair_is_asked_in_a_loop_and_one_of_many_at_once(factory, shape):
    """By hand: distance 5 of (0, 0) and (3, 4), and 0.5."""
    goal = fields(factory).goal
    Field.calls.clear()
    achieved = np.float32([[0, 0], [1, 1]])
    reward, terminated = goal.judge(achieved, np.float32([[3, 4], [1, 1.5]]))
    assert reward.tolist() == [-5.0, -0.5]
    assert terminated.tolist() == [False, factory is Field]
    assert set(Field.calls) == {shape}


@pytest.mark.parametrize("over_all", [np.sum, np.cumsum])
def test_a_judge_that_only_seems_to_take_many_is_asked_in_a_loop(over_all):
    """Of many pairs one of these gives a single number, and the other as many as there are, which are wrong."""

    def compute_reward(self, achieved, desired, info):
        return -over_all(np.abs(achieved - desired).reshape(-1, 2)[:, 0])

    goal = fields(type("Wrong", (Field,), {"compute_reward": compute_reward})).goal
    reward, _ = goal.judge(np.float32([[0, 0], [1, 1]]), np.float32([[3, 4], [2, 1.5]]))
    assert reward.tolist() == [-3.0, -1.0]


def test_processes_have_the_same_goal():
    env, other = fields(Field, "async"), fields(Field)
    pairs = np.float32([[0, 0], [1, 1]]), np.float32([[3, 4], [1, 1.5]])
    for one, two in zip(env.goal.judge(*pairs), other.goal.judge(*pairs), strict=True):
        np.testing.assert_array_equal(one, two)
    env.close()


def test_a_goal_beside_a_mask_keeps_its_place():
    def masked(self, *, seed=None, options=None):
        obs, info = Field.reset(self, seed=seed)
        return {**obs, "action_mask": np.ones(2, np.int8)}, info

    def step(self, action):
        obs, *rest = Field.step(self, action)
        return {**obs, "action_mask": np.ones(2, np.int8)}, *rest

    space = Dict({**Field.observation_space.spaces, "action_mask": MultiBinary(2)})
    env = fields(type("Masked", (Field,), {"reset": masked, "step": step, "observation_space": space}))
    obs = env.reset(everyone(env), np.arange(2))
    expected = fields(Field).reset(np.ones(2, bool), np.arange(2))
    np.testing.assert_array_equal(obs, expected)
    assert (env.goal.achieved, env.goal.desired) == (slice(0, 2), slice(2, 4))


def test_an_environment_without_compute_reward_or_under_a_wrapper_that_changes_rewards_has_no_goal():
    assert toy_of("parts").goal is None
    assert fields(type("Mute", (Field,), {"compute_reward": None})).goal is None
    assert fields(lambda: gymnasium.wrappers.TransformReward(Field(), lambda reward: 2 * reward)).goal is None
    assert fields(lambda: gymnasium.wrappers.TimeLimit(Field(), 5)).goal is not None


def test_a_judge_that_fails_is_named():
    def compute_reward(self, achieved, desired, info):
        return 1 / info["scale"]

    with pytest.raises(EnvError, match="field failed in compute_reward: KeyError: 'scale'"):
        fields(type("Needy", (Field,), {"compute_reward": compute_reward}))


# --------------------------------------------------------------------------------------------------------- memory

ACHIEVED, DESIRED = slice(1, 2), slice(2, 3)
NOBODY = -1.0
"""The goal that was wanted, which nobody reaches."""


def judge(achieved, desired):
    """The reward tells what was asked: 1000 achieved + desired. The task is over where they are the same."""
    return (1000 * achieved + desired)[:, 0].astype(np.float32), (achieved == desired)[:, 0]


GOAL = Goal(ACHIEVED, DESIRED, judge)


def steps(first, count, rows=1, ends=(), fresh=False):
    """Step t of row i starts at 100 i + t and achieves 100 i + t + 1; its reward is 7. ends: (step, row) pairs."""
    t, row = np.meshgrid(np.arange(first, first + count), np.arange(rows), indexing="ij")
    here = (100 * row + t).astype(np.float32)

    def seen(value):
        return np.stack([value, value, np.full_like(value, NOBODY)], axis=-1)

    truncated = np.zeros((count, rows), bool)
    for step, i in ends:
        if first <= step < first + count and i < rows:
            truncated[step - first, i] = True
    columns = {
        "obs": seen(here),
        "action": t,
        "reward": np.full((count, rows), 7, np.float32),
        "next_obs": seen(here + 1),
        "terminated": np.zeros((count, rows), bool),
        "truncated": truncated,
    }
    return Fragment(columns, {"first": np.full(rows, fresh)}, Origin(first_step=first))


def kept(relabel=1.0, capacity=64, batch=64, seed=0, goal=GOAL, **settings):
    spec = ReplaySpec(
        capacity=capacity, batch_size=batch, warmup=1, updates_per_step=1.0, gamma=0.5, relabel=relabel, **settings
    )
    return memory.make(spec, np.random.default_rng(seed), goal)


def drawn(held):
    """{state: set of goals} of everything that is drawn while updates are owed, each sample looked at."""
    goals = {}
    while (chunk := held.take(0.0)) is not None:
        columns = {name: value.reshape(-1, *value.shape[2:]) for name, value in chunk.columns.items()}
        for obs, next_obs, reward, discount in zip(
            columns["obs"], columns["next_obs"], columns["reward"], columns["discount"], strict=True
        ):
            goal = obs[2]
            assert next_obs[2] == goal
            assert obs[0] == obs[1] == next_obs[0] - 1 == next_obs[1] - 1, "only the goal is another one"
            assert reward == (7 if goal == NOBODY else 1000 * next_obs[1] + goal)
            assert discount == (0.0 if goal == next_obs[1] else 0.5)
            goals.setdefault(int(obs[0]), set()).add(int(goal))
    return goals


def expected(first, after, ends, rows=1):
    """By hand: step t may want what it achieves itself, t + 1, and so on to what its episode's last step achieves."""
    table = {}
    for row in range(rows):
        for t in range(first, after):
            last = min([step for step, i in ends if i == row and step >= t], default=after - 1)
            table[100 * row + t] = {100 * row + later + 1 for later in range(t, min(last, after - 1) + 1)}
    return table


ENDS = [(4, 0), (5, 0), (11, 0), (7, 1), (18, 1)]


@pytest.mark.parametrize("length", [1, 3, 20, 33])
@pytest.mark.parametrize(("rows", "capacity"), [(1, 64), (1, 9), (2, 64), (2, 18)])
def test_every_goal_was_reached_later_in_the_same_episode_and_all_of_them_come(rows, capacity, length):
    """Andrychowicz et al. (2017), section 4.5, strategy "future". Also past the end of the ring, with episodes
    longer than it, and with fragments longer than it."""
    total, held = 33, kept(capacity=capacity, batch=512)
    for first in range(0, total, length):
        held.add(steps(first, min(length, total - first), rows, ENDS))
    oldest = max(0, total - capacity // rows)
    assert drawn(held) == expected(oldest, total, ENDS, rows)


def test_the_goal_is_uniform_over_what_came_later():
    """Andrychowicz et al. (2017), section 4.5: "future" draws at random from what the episode observed after the
    step. Step 0 of an episode of four: each of 1, 2, 3, 4 in a quarter of its samples."""
    held = kept(batch=20000)
    held.add(steps(0, 4, ends=[(3, 0)]))
    obs = held.take(0.0).columns["obs"].reshape(-1, 3)
    goals = obs[obs[:, 0] == 0][:, 2].astype(int)
    np.testing.assert_allclose(np.bincount(goals)[1:] / len(goals), 0.25, atol=0.01)


def test_rewards_for_other_goals_are_clipped_like_all_others():
    held = kept(reward_clip="sign")
    held.add(steps(0, 8, ends=[(7, 0)]))
    assert set(held.take(0.0).columns["reward"].ravel().tolist()) == {1.0}


def test_the_share_that_is_asked_for_is_relabelled():
    """Andrychowicz et al. (2017), section 4.5: k = 4 other goals for each true one are a share of 4 / 5."""
    held = kept(relabel=0.8, batch=20000)
    held.add(steps(0, 10))
    columns = held.take(0.0).columns
    changed = columns["obs"][..., 2] != NOBODY
    assert changed.mean() == pytest.approx(0.8, abs=0.01)
    assert (columns["reward"][~changed] == 7).all()
    assert (columns["discount"][~changed] == 0.5).all()


def test_a_termination_for_the_old_goal_is_none_for_the_new_one():
    """TRM-1: step 2 reached its goal and ended; had step 1's state been wanted it would not have."""
    fragment = steps(0, 3)
    fragment.columns["terminated"][2] = True
    held = kept(batch=256)
    held.add(fragment)
    assert drawn(held) == {0: {1, 2, 3}, 1: {2, 3}, 2: {3}}
    plain = kept(relabel=1e-12, batch=256)
    plain.add(fragment)
    columns = plain.take(0.0).columns
    assert set(columns["discount"][columns["obs"][..., 0] == 2]) == {0.0}


def test_an_end_that_had_nothing_to_do_with_the_goal_stays_one():
    """TRM-1: step 2 fell; the goals of this environment never end an episode."""
    fragment = steps(0, 3)
    fragment.columns["terminated"][2] = True
    never_over = Goal(ACHIEVED, DESIRED, lambda *goals: (judge(*goals)[0], np.zeros(len(goals[0]), bool)))
    held = kept(batch=256, goal=never_over)
    held.add(fragment)
    columns = held.take(0.0).columns
    fell = columns["obs"][..., 0] == 2
    assert set(columns["discount"][fell]) == {0.0}
    assert set(columns["discount"][~fell]) == {0.5}


def test_what_is_in_the_memory_is_left_as_it_was_collected():
    held = kept(batch=256)
    held.add(steps(0, 6))
    drawn(held)
    (frame,) = (frame.arrays for frame in written(held))
    assert (frame["obs"][..., 2] == NOBODY).all()
    assert (frame["reward"] == 7).all()


def test_no_goal_comes_from_across_a_lost_collector():
    held = kept(batch=256)
    held.add(steps(0, 3))
    held.add(steps(3, 3, fresh=True))
    assert drawn(held) == expected(0, 6, [(2, 0)])


def test_by_priority_too():
    held = kept(batch=256, priority_alpha=0.6)
    held.add(steps(0, 6, ends=[(2, 0)]))
    assert drawn(held) == expected(0, 6, [(2, 0)])


def work(held, first, count):
    """So many steps of two rows, each learned from; all that was handed out, as bytes."""
    seen = []
    for t in range(first, first + count):
        held.add(steps(t, 1, 2, ENDS, fresh=t == 13))
        while (chunk := held.take(0.0)) is not None:
            seen += [column.tobytes() for column in chunk.columns.values()]
    return seen


@pytest.mark.parametrize("capacity", [64, 12])
@pytest.mark.parametrize("saves", [(0,), (3,), (1, 6, 9), (4, 13, 14, 20)])
def test_a_memory_from_its_journal_draws_the_same_goals_to_the_bit(capacity, saves):
    """RES-1"""
    held, journal, at = kept(0.7, capacity), FakeJournal(), 0
    for save in saves:
        work(held, at, save - at)
        span = held.write(journal)
        at = save
    other = kept(0.7, capacity, seed=99)
    other.load_state(saved_and_read(held.state()), journal.read(span))
    assert work(other, at, 20) == work(held, at, 20)


@pytest.mark.parametrize(("goal", "settings"), [(None, {}), (GOAL, {"n_step": 3}), (GOAL, {"sequence": 2})])
def test_a_memory_that_cannot_relabel_says_so(goal, settings):
    spec = ReplaySpec(capacity=8, batch_size=4, warmup=1, updates_per_step=1.0, relabel=0.5, **settings)
    with pytest.raises(ValueError, match="relabeling takes the goal"):
        memory.make(spec, np.random.default_rng(0), goal)


def test_with_hindsight_a_table_learns_to_flip_bits_and_without_it_does_not():
    """From random play on 5 bits, few of whose episodes reach the goal that they were given."""
    assert learned_to_flip(relabel=0.8) >= 0.9
    assert learned_to_flip(relabel=0.0) <= 0.5


def learned_to_flip(relabel, n=5, steps=400):
    """Share of the episodes in which the greedy policy of a table reaches the goal in the fewest steps."""
    env = toy_of("bitflip", rows=4, n=n)
    powers = 2.0 ** np.arange(n)

    def index(obs):
        bits, goal = obs[..., env.goal.achieved] @ powers, obs[..., env.goal.desired] @ powers
        return (bits + 2**n * goal).astype(int)

    table = np.full((4**n, n), -10.0)  # what was never tried is not tempting

    class Policy:
        def initial_state(self, rows):
            return None

        def sample_action(self, obs, state, progress, rng, mask=None):
            return Act(rng.integers(0, n, len(obs)))

        def evaluate_action(self, obs, state, rng, mask=None):
            return Act(table[index(obs)].argmax(axis=1))

    spec = ReplaySpec(capacity=10**4, batch_size=64, warmup=64, updates_per_step=0.5, gamma=0.9, relabel=relabel)
    held = memory.make(spec, np.random.default_rng(1), env.goal)
    collector = collector_of(env, Policy())
    for _ in range(steps):
        held.add(collector.collect(1, Progress())[0])
        while (chunk := held.take(0.0)) is not None:
            for k in range(len(chunk.columns["reward"])):
                obs, action, reward, next_obs, discount = (
                    chunk.columns[name][k] for name in ("obs", "action", "reward", "next_obs", "discount")
                )
                table[index(obs), action] = reward + discount * table[index(next_obs)].max(axis=1)
    judged = toy_of("bitflip", rows=10, n=n)
    play = collector_of(judged, Policy(), explore=False)
    episodes = play.play(10, Progress())
    start = judged.reset(everyone(judged), np.array([episode.seed for episode in episodes]))
    best = 1 - np.abs(start[:, judged.goal.achieved] - start[:, judged.goal.desired]).sum(axis=1)
    return float(np.mean([episode.total for episode in episodes] == best))


def moved_to_its_goal(algo, **settings):
    """Mean return of a point in the plane: -3.67 where it takes the shortest way (the last step costs nothing), -20
    where it stays away."""
    env = toy_of("reach", rows=4, n=2)
    warm = {"batch_size": 32, "start_steps": 200, "learning_starts": 200, "updates_per_train": 2}
    rates = {"actor_lr": 5e-3, "critic_lr": 5e-3, "gamma": 0.95}
    agent = agent_of(algo, spec_of(env), **{**small(algo, 16), **warm, **rates, **settings})
    return score(trained(agent, env, 220), env, 40)


BY_HINDSIGHT = [("DDPG_HER", {}), ("SAC_HER", {"alpha_lr": 1e-2, "alpha_init": 0.1})]


@pytest.mark.long
@pytest.mark.parametrize(("algo", "settings"), in_the_suite(BY_HINDSIGHT, BY_HINDSIGHT[0]))
def test_a_point_learns_by_hindsight_to_go_where_it_is_told(algo, settings):
    """Goals are relabeled by the memory, which is the same for both."""
    assert moved_to_its_goal(algo, **settings) > -4


@pytest.mark.skipif(not EVERY, reason="by tests.stress.every_case; a table shows the difference in the suite")
def test_a_point_does_not_learn_it_without_hindsight():
    assert moved_to_its_goal("DDPG", exploration_type="gaussian", expl_noise=0.2, tau=0.05) < -10
