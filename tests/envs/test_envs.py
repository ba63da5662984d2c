"""The contract of vector environments: true successors, own seeds, replay, errors with their place."""

import random

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from algos.base import Act
from envs.base import EnvError
from envs.common import rows as gym_rows
from envs.common.sync import SyncVector
from envs.common.vector import GymnasiumVector
from envs.gym import Config
from envs.gym import env as gym_env
from envs.toy import Config as Toy
from envs.toy import env as toy_env
from framework.errors import JoystickError
from framework.runs.policy import TrainedPolicy
from tests.tools.envs import Corridor, assembled, cartpole, corridor_with, everyone, foreign, play, sample


def copying():
    def step(self, action):
        obs, *rest = Corridor.step(self, action)
        return obs.copy(), *rest

    return corridor_with(step=step)


def test_both_kinds_of_end_happen_in_what_is_compared():
    played = [step for row in play(cartpole("sync"), 1000) for step in row]
    assert sum(step.terminated for step in played) > 10
    assert sum(step.truncated for step in played) > 10


@pytest.mark.long
@pytest.mark.parametrize("kind", ["async", "native"])
def test_every_kind_gives_the_same_thousand_transitions_to_the_bit(kind):
    """TRM-5: rows, processes and the native vector environment, with both kinds of end; the seeds are the same."""
    one, other = cartpole("sync"), cartpole(kind)
    assert play(one, 1000) == play(other, 1000)
    other.close()


@pytest.mark.parametrize("mode", ["Disabled", "SameStep", "NextStep"])
@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
def test_foreign_vector_environments_give_the_true_successor(kind, mode):
    """TRM-5: whatever autoreset they have. Their own SAME_STEP needs an environment that does not reuse its arrays:
    it starts anew before the final observation is copied."""
    env = foreign(kind, mode, copying() if mode == "SameStep" else Corridor)
    played = play(env, 150)
    assert played == play(assembled(Corridor, "corridor", 3, "sync"), 150)
    assert {step.terminated for step in played[0]} == {step.truncated for step in played[0]} == {True, False}
    assert env.replayable is (mode == "Disabled")
    env.close()


class Thermometer(gymnasium.Env):
    """Observations are numbers, not arrays. `broken` is the step after which one is NaN."""

    observation_space = gymnasium.spaces.Box(-1, 9, (), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    broken = -1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return np.float32(0), {}

    def step(self, action):
        self.time += 1
        obs = float("nan") if self.time == self.broken else self.time
        return np.float32(obs), 0.0, self.time == 5, False, {}


@pytest.mark.parametrize("kind", ["sync", "async", "Disabled", "SameStep", "NextStep"])
def test_an_observation_that_is_a_number_is_an_array_of_one(kind):
    env = (
        assembled(Thermometer, "mine", 3, kind) if kind.islower() else foreign(SyncVectorEnv, kind, Thermometer, rows=3)
    )
    assert env.observation_space.shape == (1,)
    assert env.reset(everyone(env), np.arange(3)).tolist() == [[0], [0], [0]]
    assert [env.step(np.zeros(3, int)).obs.tolist() for _ in range(5)] == [[[n]] * 3 for n in range(1, 6)]
    assert TrainedPolicy(Sign(), env).act(np.float32(2)) == TrainedPolicy(Sign(), env).act(2.0) == 1
    assert TrainedPolicy(Sign(), env).act(-1) == 0
    with pytest.raises(JoystickError, match="the observation has shape"):
        TrainedPolicy(Sign(), env).act([1.0, 2.0])
    assert TrainedPolicy(Sign(), env).act([1.0]) == 1, "as an exported program gets it"
    env.close()


class Sign:
    """Chooses 1 for an observation above 0."""

    def initial_state(self, rows):
        return None

    def predict_action(self, obs, state, mask=None):
        assert obs.shape == (1, 1)
        return Act((obs[:, 0] > 0).astype(int))


class Heater(Thermometer):
    """Actions are numbers, too, and the rewards."""

    action_space = gymnasium.spaces.Box(-1, 9, (), np.float64)

    def step(self, action):
        assert np.shape(action) == (), "of another shape than the space"
        return super().step(action)[0], float(action), False, False, {}


@pytest.mark.parametrize("kind", ["sync", "async", "Disabled"])
def test_an_environment_whose_action_is_a_number_gets_a_number(kind):
    env = assembled(Heater, "mine", 3, kind) if kind.islower() else foreign(SyncVectorEnv, kind, Heater, rows=3)
    assert env.action_space.shape == (1,)
    env.reset(everyone(env), np.arange(3))
    assert env.step(np.float32([[0.5], [2], [-1]])).reward.tolist() == [0.5, 2, -1]
    env.close()


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_part_of_another_size_than_its_space_is_refused(kind):
    class Shrinking(Thermometer):
        observation_space = gymnasium.spaces.Dict({"past": gymnasium.spaces.Box(-1, 9, (3,))})

        def reset(self, *, seed=None, options=None):
            self.shrinks = seed == 1  # of two processes that fail at once, either may be the first
            return {"past": np.zeros(3, np.float32)}, super().reset(seed=seed)[1]

        def step(self, action):
            obs, *rest = super().step(action)
            return {"past": np.full(1 if self.shrinks and self.time == 3 else 3, obs)}, *rest

    env = assembled(Shrinking, "mine", 2, kind)
    env.reset(everyone(env), np.arange(2))
    for _ in range(2):
        env.step(np.zeros(2, int))
    with pytest.raises(EnvError, match=r"mine failed in step 3 of row 1: ValueError: .* shape \(1,\); expected \(3,\)"):
        env.step(np.zeros(2, int))


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_number_that_is_not_finite_is_refused_as_in_arrays(kind):
    env = assembled(type("Broken", (Thermometer,), {"broken": 3}), "mine", 2, kind)
    env.reset(everyone(env), np.arange(2))
    for _ in range(2):
        env.step(np.zeros(2, int))
    with pytest.raises(EnvError, match="the observation is not finite"):
        env.step(np.zeros(2, int))


def test_only_next_step_autoreset_has_dummy_steps():
    env = foreign(SyncVectorEnv, "NextStep", rows=2)
    env.reset(everyone(env), np.arange(2))
    for _ in range(3):
        out = env.step(np.array([1, 0]))
        assert env.valid.tolist() == [True, True]
    assert out.terminated.tolist() == [True, False]
    np.testing.assert_array_equal(env.reset(out.terminated, np.arange(2)), [[3.0], [-3.0]])
    out = env.step(np.array([1, 0]))
    assert env.valid.tolist() == [False, True]
    np.testing.assert_array_equal(out.obs, [[0.0], [-4.0]])
    assert foreign(SyncVectorEnv, "SameStep").valid is None


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_a_foreign_vector_environment_cannot_restart_a_row_in_mid_episode(mode):
    env = foreign(SyncVectorEnv, mode)
    env.reset(everyone(env), np.arange(3))
    env.step(np.ones(3, int))
    with pytest.raises(EnvError, match=r"row 1 has not ended.*max_step: -1"):
        env.reset(np.array([False, True, False]), np.arange(3))


class Narrow(SyncVectorEnv):
    """Gives one row of a value, in place of all."""

    narrow = 0
    """Place of this value among those of a step."""

    def step(self, actions):
        values = [*super().step(actions)]
        values[self.narrow] = values[self.narrow][:1]
        return tuple(values)


@pytest.mark.parametrize("value", ["observation", "reward", "terminated", "truncated"])
def test_a_value_of_one_row_of_a_foreign_vector_environment_is_not_that_of_all(value):
    env = foreign(Narrow, "NextStep")
    env._mode.env.narrow = ["observation", "reward", "terminated", "truncated"].index(value)
    env.reset(everyone(env), np.arange(3))
    with pytest.raises(EnvError, match=rf"the {value} has shape \(1,.*; expected \(3,"):
        env.step(np.zeros(3, int))


def test_a_start_of_one_row_of_a_foreign_vector_environment_is_named():
    env = foreign(SyncVectorEnv, "NextStep")
    whole = env._mode.env.reset
    env._mode.env.reset = lambda **asked: (whole(**asked)[0][:1], {})
    with pytest.raises(
        EnvError, match=r"failed in reset: ValueError: the observation has shape \(1, 1\); expected \(3, 1"
    ):
        env.reset(everyone(env), np.arange(3))


class Silent(SyncVectorEnv):
    """Does not say how it resets."""

    def __init__(self, factories, autoreset_mode):
        super().__init__(factories, autoreset_mode=autoreset_mode)
        self.metadata = {}


def test_a_vector_environment_that_says_no_mode_is_one_of_next_step_or_refused():
    env = foreign(Silent, "NextStep")
    assert play(env, 60) == play(foreign(SyncVectorEnv, "NextStep"), 60)
    env = foreign(Silent, "SameStep", rows=2)
    env.reset(everyone(env), np.arange(2))
    for _ in range(3):
        out = env.step(np.array([1, 0]))
    env.reset(out.terminated, np.arange(2))
    with pytest.raises(
        EnvError, match=r"row 0 has a reward or an end in the step after the end .*AutoresetMode\.SAME_STEP"
    ):
        env.step(np.array([1, 0]))


def test_a_same_step_environment_flattens_final_observations_of_a_dict():
    def step(self, action):
        obs, reward, terminated, truncated, info = Corridor.step(self, action)
        return {"at": obs.copy()}, reward, terminated, truncated, info

    def reset(self, *, seed=None, options=None):
        return {"at": Corridor.reset(self, seed=seed)[0].copy()}, {}

    space = gymnasium.spaces.Dict({"at": Corridor.observation_space})
    factory = corridor_with(step=step, reset=reset, observation_space=space)
    env = foreign(SyncVectorEnv, "SameStep", factory)
    assert play(env, 60) == play(assembled(Corridor, "corridor", 3, "sync"), 60)


@pytest.mark.parametrize("kind", ["sync", "async", "native"])
def test_a_step_after_the_end_is_refused(kind):
    """TRM-2: an environment that only truncates ends its episode, and nobody steps it further."""
    if kind == "native":
        env = gym_env.make(Config(vectorization="native", max_episode_steps=3), 2)
    else:
        env = toy_env.make(Toy(id="time_limit", steps=3, vectorization=kind), 2)
    with pytest.raises(RuntimeError, match="row 0 has ended: reset it"):
        env.step(np.zeros(2, int))
    env.reset(everyone(env), np.arange(2))
    flags = [env.step(np.zeros(2, int)).truncated.tolist() for _ in range(3)]
    assert flags == [[False, False], [False, False], [True, True]]
    with pytest.raises(RuntimeError, match="row 0 has ended"):
        env.step(np.zeros(2, int))
    env.reset(np.array([True, False]), np.arange(2))
    with pytest.raises(RuntimeError, match="row 1 has ended"):
        env.step(np.zeros(2, int))
    env.close()


@pytest.mark.parametrize("kind", ["sync", "async", "native"])
def test_a_reset_returns_its_own_array_and_leaves_the_last_step_alone(kind):
    env = cartpole(kind)
    start = env.reset(everyone(env), np.array([1, 2, 3]))
    kept = start.copy()
    out = env.step(np.array([0, 1, 0]))
    successor = out.obs.copy()
    fresh = env.reset(np.array([False, True, False]), np.array([0, 2, 0]))
    np.testing.assert_array_equal(out.obs, successor)
    np.testing.assert_array_equal(start, kept)
    np.testing.assert_array_equal(fresh, [successor[0], kept[1], successor[2]])
    fresh[:] = 9
    np.testing.assert_array_equal(env.reset(np.array([True, False, False]), np.array([1, 0, 0]))[1], kept[1])
    assert out.obs.dtype == out.reward.dtype == np.float32
    assert out.obs.flags.c_contiguous
    env.close()


def test_the_atari_vector_environment_restarts_single_rows_from_their_seeds():
    env = gym_env.make(Config(id="ALE/Pong-v5", vectorization="native", repeat_action_probability=0.0), 2)
    start = env.reset(everyone(env), np.array([5, 6]))
    frames = [env.info(row)["frame_number"] for row in (0, 1)]
    assert frames[0] != frames[1]
    for action in (0, 2, 3, 2):
        out = env.step(np.array([action, 3]))
    again = env.reset(np.array([True, False]), np.array([5, 0]))
    np.testing.assert_array_equal(again, [start[0], out.obs[1]])
    assert env.info(0)["frame_number"] == frames[0]
    assert (out.obs.dtype, out.reward.dtype, env.render()) == (np.uint8, np.float32, None)
    env.close()


@pytest.mark.parametrize(
    "name", ["CartPole-v1", "Acrobot-v1", "Pendulum-v1", "FrozenLake-v1", "LunarLander-v3", "BipedalWalker-v3"]
)
def test_an_episode_is_a_function_of_its_seed_and_its_actions(name):
    """The replay contract of a resume: the past of the row plays no part."""
    env = gym_env.make(Config(id=name, vectorization="sync"), 1)
    assert env.replayable
    actions = sample(env.action_space, 1)

    def episode(seed, tape=None):
        seen, taken = [env.reset(everyone(env), np.array([seed]))], []
        for action in tape or actions:
            out = env.step(action)
            taken.append(action)
            seen.append(out.obs.copy())
            if out.terminated[0] or out.truncated[0] or len(taken) == 60:
                return np.concatenate(seen), taken
        return np.concatenate(seen), taken

    played = [episode(seed) for seed in (11, 12, 13, 14, 15)]
    for (seen, tape), seed in list(zip(played, (11, 12, 13, 14, 15), strict=True))[::-1]:
        np.testing.assert_array_equal(episode(seed, tape)[0], seen)
    assert not np.array_equal(played[0][0][:5], played[1][0][:5]) or name == "FrozenLake-v1"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_environment_and_its_randomness_leave_ours_alone_and_ours_theirs(kind):
    """ENV-8: the global generators are neither read nor written."""

    def step(self, action):
        np.random.seed(0)
        random.seed(0)
        return Corridor.step(self, action)

    expected = play(assembled(Corridor, "corridor", 2, kind), 40)
    rng = np.random.default_rng(3)
    assert play(assembled(corridor_with(step=step), "corridor", 2, kind), 40) == expected
    assert rng.random() == np.random.default_rng(3).random()
    before = np.random.get_state()[1].copy(), random.getstate()
    np.testing.assert_equal(play(cartpole(kind, 2), 40), play(cartpole(kind, 2), 40))
    assert (np.random.get_state()[1] == before[0]).all()
    assert random.getstate() == before[1]


def test_auto_takes_what_gives_the_same_numbers(monkeypatch):
    """The native class only where it is the same environment, processes only where a step is slow."""
    assert isinstance(gym_env.make(Config(), 1), SyncVector)
    native = gym_env.make(Config(), 4)
    assert isinstance(native, GymnasiumVector)
    assert isinstance(gym_env.make(Config(wrappers="FrameStack"), 4), SyncVector)
    assert isinstance(gym_env.make(Config(id="ALE/Pong-v5"), 1), SyncVector)
    monkeypatch.setattr(gym_rows.machine, "cores", lambda: 2)
    monkeypatch.setattr(gym_rows, "ASYNC_PAYS", 1e-3)
    assert isinstance(toy_env.make(Toy(id="counter", vectorization="auto"), 2), SyncVector)
    slow = toy_env.make(Toy(id="sleep", seconds=0.003, vectorization="auto"), 2)
    assert isinstance(slow, GymnasiumVector)
    slow.close()
    monkeypatch.setattr(gym_rows.machine, "cores", lambda: 1)
    assert isinstance(toy_env.make(Toy(id="sleep", seconds=0.003, vectorization="auto"), 2), SyncVector)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_info_is_that_of_the_last_step_of_the_row(kind):
    env = assembled(Corridor, "corridor", 2, kind)
    env.reset(everyone(env), np.arange(2))
    env.step(np.array([0, 0]))
    env.reset(np.array([True, False]), np.arange(2))
    env.step(np.array([0, 0]))
    assert (env.info(0), env.info(1)) == ({"time": 1}, {"time": 2})
    env.close()


def test_the_info_of_an_end_survives_a_same_step_autoreset():
    env = foreign(SyncVectorEnv, "SameStep", rows=2)
    env.reset(everyone(env), np.arange(2))
    for _ in range(3):
        env.step(np.array([1, 0]))
    assert (env.info(0), env.info(1)) == ({"time": 3}, {"time": 3})


@pytest.mark.parametrize("name", ["CartPole-v1", "LunarLander-v3", "FrozenLake-v1", "Pendulum-v1"])
def test_pictures_need_no_display_and_are_not_black(name):
    """VID-1"""
    env = gym_env.make(Config(id=name, render_mode="rgb_array"), 1)
    env.reset(everyone(env), np.array([1]))
    picture = env.render()
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    assert picture.std() > 1
    assert env.render_fps == gymnasium.make(name).metadata["render_fps"]
    env.close()


def test_human_rendering_is_for_one_row():
    with pytest.raises(EnvError, match="human shows one environment"):
        gym_env.make(Config(render_mode="human"), 2)
