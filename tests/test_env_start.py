"""What an environment is told before training: its contract, its spaces, its section of the config."""

import os

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from gymnasium.spaces.utils import flatten
from helpers_envs import Corridor, corridor_with, everyone, sample

from envs.base import EnvError
from envs.gym import Config, check
from envs.gym import env as gym_env
from envs.gym.rows import assemble
from envs.gym.spaces import Actions, Observations
from envs.gym.wrappers import OURS, FrameStack, GrayScale, MaxAndSkip, Resize, SkipFrame, find


def returns(obs, space=None):
    """A corridor that shows this in every step, after a proper reset."""
    start = np.zeros(1, np.float32) if space is None else obs

    def reset(self, *, seed=None, options=None):
        return start, {}

    def step(self, action):
        return obs, 0.0, False, False, {}

    return corridor_with(reset=reset, step=step, observation_space=space or Corridor.observation_space)


def said(factory):
    with pytest.raises(EnvError) as caught:
        assemble(factory, "mine", 1, "sync")
    return str(caught.value)


@pytest.mark.parametrize(
    ("obs", "message"),
    [
        ([0.0], "obs of step: expected an array of float32 with shape (1,), got list [0.0]. Return np.asarray(obs"),
        (np.zeros(2, np.float32), "obs of step: expected an array of float32 with shape (1,), got shape (2,)"),
        (np.array([np.nan], np.float32), "obs of step: expected finite values, got nan at index (0,)"),
        (np.array([11], np.float32), "obs of step: expected values from -10.0 to 10.0, got 11.0 at index (0,). Clip"),
        (np.array(["a"]), "obs of step: expected an array of float32 with shape (1,), got <U1"),
        (None, "obs of step: expected an array of float32 with shape (1,), got NoneType None"),
    ],
)
def test_a_wrong_observation_is_named_with_what_was_expected_and_what_came(obs, message):
    """ENV-1"""
    assert message in said(returns(obs))


def test_a_float_where_whole_numbers_are_declared_is_refused_and_float64_for_float32_is_not():
    """ENV-1, ENV-6"""
    image = Box(0, 255, (2,), np.uint8)
    assert "got float64. Return obs.astype(np.uint8)" in said(returns(np.zeros(2), image))
    assert "expected a whole number 0 to 2, got int 3" in said(returns(3, Discrete(3)))
    env = assemble(returns(np.ones(1)), "mine", 1, "sync")
    assert env.reset(everyone(env), np.array([1])).dtype == np.float32


def test_a_fault_inside_a_dict_is_named_by_its_key():
    """ENV-1"""
    space = Dict({"at": Box(0, 1, (1,)), "flag": Discrete(2)})
    assert "obs of reset['at']: expected values from 0.0 to 1.0, got 2.0" in said(
        returns({"at": np.full(1, 2, np.float32), "flag": 0}, space)
    )
    assert "expected a dict with the keys ['at', 'flag'], got a dict with the keys ['at']" in said(
        returns({"at": np.zeros(1, np.float32)}, space)
    )


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_old_gym_interface_is_recognised_and_the_way_on_is_shown(wrapped):
    """ENV-2: also through a wrapper, which would only fail to unpack."""

    def factory(**changes):
        plain = corridor_with(**changes)
        return (lambda: gymnasium.wrappers.TimeLimit(plain(), 5)) if wrapped else plain

    message = said(factory(reset=lambda self: np.zeros(1, np.float32)))
    assert "reset: expected the arguments seed and options, got no seed and no options. Since gym 0.26" in message
    message = said(factory(reset=lambda self, seed=None, options=None: np.zeros(1, np.float32)))
    assert "reset: expected (obs, info), got an array of float32 with shape (1,)" in message
    message = said(factory(step=lambda self, action: (np.zeros(1, np.float32), 0.0, False, {})))
    assert "step: expected 5 values (obs, reward, terminated, truncated, info), got a tuple of 4" in message
    assert "the old gym step with done" in message


@pytest.mark.parametrize("reward", [1, 1.5, True, np.float64(2), np.int32(2), np.float32(1), np.array(3.0)])
def test_any_finite_number_is_a_reward(reward):
    """ENV-3: Python's and numpy's numbers, and arrays without dimensions."""
    env = assemble(corridor_with(step=lambda self, a: (self._obs, reward, False, False, {})), "mine", 1, "sync")
    env.reset(everyone(env), np.array([1]))
    assert env.step(np.array([0])).reward.tolist() == [float(reward)]


@pytest.mark.parametrize("reward", [None, np.ones(1), [1.0], "1", float("inf"), float("nan")])
def test_anything_else_is_not_a_reward_at_the_start_or_later(reward):
    """ENV-3"""
    step = lambda self, a: (self._obs, reward, False, False, {})  # noqa: E731 - a method in one line
    assert "reward: expected a" in said(corridor_with(step=step))

    def later(self, action):
        obs, _, *rest = Corridor.step(self, action)
        return obs, reward if self._time == 2 else 0.0, *rest

    env = assemble(corridor_with(step=later), "mine", 1, "sync")
    env.reset(everyone(env), np.array([1]))
    env.step(np.array([0]))
    with pytest.raises(EnvError, match="mine failed in step 2 of row 0"):
        env.step(np.array([0]))


def test_flags_and_info_must_be_what_they_are_called():
    message = said(corridor_with(step=lambda self, a: (self._obs, 0.0, None, 1, "x")))
    assert "terminated: expected True or False, got NoneType None" in message
    assert "truncated: expected True or False, got int 1" in message
    assert "info of step: expected a dict, got str 'x'" in message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observation_space": None}, "observation_space: expected a space of gymnasium.spaces, got builtins.NoneType"),
        ({"observation_space": Text(3)}, "mine: the observation is a Text space"),
        ({"observation_space": Dict({"a": Text(3)})}, "the part 'a' of the observation is a Text space"),
        ({"action_space": Dict({"a": Discrete(2)})}, "actions of Dict('a': Discrete(2)) cannot be chosen"),
        ({"action_space": Box(0, 3, (1,), np.int64)}, "Box of a floating type can"),
    ],
)
def test_spaces_that_cannot_be_learned_from_are_refused(changes, message):
    """ENV-1"""
    assert message in said(corridor_with(**changes))


def test_a_wrong_shape_later_in_an_episode_is_not_broadcast():
    def step(self, action):
        _, *rest = Corridor.step(self, action)
        return np.zeros(1 if self._time == 2 else 3, np.float32), *rest

    def reset(self, *, seed=None, options=None):
        Corridor.reset(self)
        return np.zeros(3, np.float32), {}

    env = assemble(corridor_with(step=step, reset=reset, observation_space=Box(-9, 9, (3,))), "mine", 1, "sync")
    env.reset(everyone(env), np.array([1]))
    env.step(np.array([0]))
    with pytest.raises(EnvError, match=r"observation has shape \(1,\), and its space has \(3,\)"):
        env.step(np.array([0]))


def test_discrete_spaces_begin_at_zero_for_the_agent_and_where_they_like_for_the_environment():
    """ENV-6"""
    taken = []

    def step(self, action):
        taken.append(action)
        return 7, 0.0, False, False, {}

    env = assemble(
        corridor_with(
            reset=lambda self, seed=None, options=None: (5, {}),
            step=step,
            observation_space=Discrete(3, start=5),
            action_space=Discrete(4, start=-2),
        ),
        "mine",
        2,
        "sync",
    )
    assert (env.observation_space, env.action_space) == (Discrete(3), Discrete(4))
    np.testing.assert_array_equal(env.reset(everyone(env), np.arange(2)), [0, 0])
    out = env.step(np.array([0, 3]))
    assert (out.obs.tolist(), out.obs.dtype, taken[-2:]) == ([2, 2], np.int64, [-2, 1])
    digits = MultiDiscrete([3, 4], start=[1, 2])
    assert Observations(digits).encode(np.array([[3, 2]])).tolist() == [[2, 0]]
    assert Actions(digits).decode(np.array([[2, 0]])).tolist() == [[3, 2]]


def test_an_environment_gets_actions_of_its_own_type_that_it_may_change():
    """ENV-6: asymmetric and infinite bounds stay as they are."""

    def step(self, action):
        assert action.dtype == np.float64
        action[:] = 99
        return self._obs, 0.0, False, False, {}

    space = Box(np.array([-2, -np.inf]), np.array([5, np.inf]), dtype=np.float64)
    env = assemble(corridor_with(step=step, action_space=space), "mine", 1, "sync")
    assert env.action_space == Box(np.float32([-2, -np.inf]), np.float32([5, np.inf]))
    env.reset(everyone(env), np.array([1]))
    action = np.array([[0.5, 1e9]], np.float32)
    env.step(action)
    assert action.tolist() == [[0.5, 1e9]]


def test_float64_becomes_float32_and_uint8_stays():
    """ENV-6"""
    assert Observations(Box(-np.inf, np.inf, (2,), np.float64)).space == Box(-np.inf, np.inf, (2,), np.float32)
    assert Observations(Box(0, 255, (3, 4, 4), np.uint8)).space == Box(0, 255, (3, 4, 4), np.uint8)
    assert Observations(Box(0, 1, (), np.float32)).space.shape == (1,)
    assert Observations(MultiBinary(3)).space == MultiBinary(3)


def test_dict_and_tuple_are_flattened_as_gymnasium_flattens_them():
    space = Dict(
        {
            "z": Box(-1, 1, (2, 2)),
            "a": Discrete(3, start=2),
            "m": MultiDiscrete([2, 3]),
            "b": MultiBinary(2),
            "t": Tuple([Box(0, 9, (2,), np.float64), Discrete(2)]),
        }
    )
    codec = Observations(space)
    space.seed(1)
    drawn = [space.sample() for _ in range(5)]
    for obs in drawn:
        np.testing.assert_allclose(codec.encode(obs), flatten(space, obs).astype(np.float32))
    batch = gymnasium.vector.utils.batch_space(space, 5)
    joined = gymnasium.vector.utils.concatenate(space, drawn, gymnasium.vector.utils.create_empty_array(space, n=5))
    assert batch.contains(joined)
    np.testing.assert_array_equal(codec.encode(joined), [codec.encode(obs) for obs in drawn])
    assert codec.parts == (
        ("a", 0, 3, (3,)),
        ("b", 3, 5, (2,)),
        ("m", 5, 10, (5,)),
        ("t.0", 10, 12, (2,)),
        ("t.1", 12, 14, (2,)),
        ("z", 14, 18, (2, 2)),
    )
    assert codec.space.dtype == np.float32
    images = Dict({"left": Box(0, 255, (2, 2), np.uint8), "right": Box(0, 255, (1,), np.uint8)})
    assert Observations(images).space == Box(0, 255, (5,), np.uint8)


def test_an_environment_needs_no_spec_no_frame_rate_and_no_end():
    """ENV-7"""

    def step(self, action):
        return self._obs, 0.0, False, False, {}

    factory = corridor_with(step=step)
    assert factory().spec is None
    env = assemble(factory, "mine", 1, "sync")
    assert env.render_fps == 30
    assert env.render() is None
    env.reset(everyone(env), np.array([1]))
    assert not any(env.step(np.array([0])).truncated[0] for _ in range(300))


# ------------------------------------------------------------------------------------------- the config


@pytest.mark.parametrize(
    ("settings", "key", "message"),
    [
        ({"id": "CartPole-v9"}, "id", "the current version is CartPole-v1"),
        ({"id": "LunarLander-v2"}, "id", "the current version is LunarLander-v3"),
        ({"id": "HalfCheetah-v3"}, "id", "the current version is HalfCheetah-v5"),
        ({"id": "CartPol-v1"}, "id", "did you mean CartPole-v1"),
        ({"id": "no_such_module:A-v0"}, "id", "No module named 'no_such_module'"),
        ({"id": "FrozenLake-v1", "is_slipery": False}, "is_slipery", "did you mean is_slippery?"),
        ({"max_episode_step": 3}, "max_episode_step", "did you mean max_episode_steps?"),
        ({"vectorization": "native", "max_episode_step": 3}, "max_episode_step", "did you mean max_episode_steps?"),
        ({"id": "Acrobot-v1", "vectorization": "native"}, "vectorization", "no vector version of its own"),
        ({"wrappers": "FrameStack", "vectorization": "native"}, "vectorization", "native cannot be combined"),
        ({"id": "ALE/Pong-v5", "vectorization": "native", "noop_mx": 1}, "noop_mx", "did you mean noop_max?"),
        ({"wrapper": "FrameStak"}, "wrappers", "did you mean FrameStack"),
        ({"wrappers": [{"wrapper_name": "FrameStack", "stak_size": 2}]}, "wrappers", "did you mean stack_size?"),
        ({"wrappers": ["TimeLimit"]}, "wrappers", "max_episode_steps: is needed"),
        ({"wrappers": ["NormalizeObservation"]}, "wrappers", "algo_cfg.normalize_obs: true"),
    ],
)
def test_a_wrong_setting_is_answered_with_the_nearest_right_one(settings, key, message):
    problems = check(Config(**settings))
    assert [problem.key for problem in problems] == [key]
    assert message in problems[0].message


def test_all_problems_are_reported_at_once():
    cfg = Config(id="FrozenLake-v1", is_slipery=1, desk=2, wrappers=["FrameStak", "GrayScal"])
    assert [problem.key for problem in check(cfg)] == ["wrappers", "wrappers", "is_slipery", "desk"]


def test_a_missing_package_is_answered_with_what_to_install(monkeypatch):
    from envs.gym import registry

    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda name: None)
    for env_id, pip in (
        ("LunarLander-v3", 'pip install "gymnasium[box2d]"'),
        ("Hopper-v5", 'pip install "gymnasium[mujoco]"'),
        ("ALE/Nothing-v5", "pip install ale-py"),
    ):
        assert pip in check(Config(id=env_id))[0].message


def test_a_render_mode_that_is_not_offered_is_answered_with_those_that_are():
    gymnasium.register("Blind-v0", corridor_with(metadata={"render_modes": ["ansi"]}), disable_env_checker=True)
    try:
        assert check(Config(id="Blind-v0", render_mode="rgb_array"))[0].message.endswith("it offers: ansi")
    finally:
        del gymnasium.registry["Blind-v0"]
    assert check(Config(render_mode="human")) == []


@pytest.mark.parametrize("name", ["os.system", "gymnasium.wrappers.TimeLimit", "vector", "__doc__", "Wrapper", "wrap"])
def test_only_names_of_wrappers_resolve(name):
    """SEC-3"""
    assert "there is no wrapper" in check(Config(wrappers=[name]))[0].message
    with pytest.raises(ValueError, match="there is no wrapper"):
        find(name)
    with pytest.raises(EnvError, match="there is no wrapper"):
        gym_env.make(Config(wrappers=[name]), 1)


def test_other_keys_go_to_the_constructor_and_ignore_params_is_dropped():
    cfg = Config(id="FrozenLake-v1", is_slippery=False, ignore_params=["wrapper"], wrapper=None)
    assert check(cfg) == []
    assert cfg.constructor == {"is_slippery": False}
    env = gym_env.make(cfg, 1)
    env.reset(everyone(env), np.array([0]))
    assert env.step(np.array([2])).obs.tolist() == [1]


# ------------------------------------------------------------------------------------------- wrappers


def pictures(*frames, channels=3):
    """A corridor that shows these pictures [4, 4, channels] one after the other."""

    def show(self):
        return np.full(self.observation_space.shape, frames[self._time % len(frames)], np.uint8)

    def reset(self, *, seed=None, options=None):
        Corridor.reset(self)
        return show(self), {}

    def step(self, action):
        Corridor.step(self, action)
        return show(self), 1.0, self._time == 6, False, {}

    return corridor_with(reset=reset, step=step, observation_space=Box(0, 255, (4, 4, channels), np.uint8))()


def test_frame_stack_puts_channels_first_and_begins_with_the_first_frame():
    env = FrameStack(pictures(1, 2, 3), stack_size=2)
    assert env.observation_space == Box(0, 255, (6, 4, 4), np.uint8)
    assert env.reset(seed=0)[0][:, 0, 0].tolist() == [1, 1, 1, 1, 1, 1]
    assert env.step(0)[0][:, 0, 0].tolist() == [1, 1, 1, 2, 2, 2]
    assert FrameStack(GrayScale(pictures(1)), 3).observation_space.shape == (3, 4, 4)
    vectors = FrameStack(Corridor(), 3)
    vectors.reset(seed=0)
    assert [vectors.step(1)[0].tolist() for _ in range(2)] == [[0, 0, 1], [0, 1, 2]]


def test_gray_scale_is_the_brightness():
    """0.299 * 10 + 0.587 * 20 + 0.114 * 30 = 18.15"""
    env = GrayScale(pictures(0))
    assert env.observation(np.array([[[10, 20, 30]]], np.uint8)).tolist() == [[18]]


def test_resize_takes_the_mean_of_the_area():
    env = Resize(GrayScale(pictures(0)), 2)
    picture = np.arange(16, dtype=np.uint8).reshape(4, 4) * 4
    assert env.observation(picture).tolist() == [[10, 18], [42, 50]]
    assert Resize(pictures(7), [2, 3]).reset()[0].shape == (2, 3, 3)
    assert Resize(pictures(7, channels=1), 2).reset()[0].shape == (2, 2, 1)


def test_skipped_frames_add_their_rewards_and_stop_at_the_end():
    env = MaxAndSkip(pictures(0, 1, 2, 9, 4), skip=4)
    env.reset()
    obs, reward, terminated, *_ = env.step(0)
    assert (obs.max(), reward, terminated) == (9, 4.0, False)
    assert env.step(0)[1:3] == (2.0, True)
    env = SkipFrame(pictures(0, 1, 2, 9, 4), skip=4)
    env.reset()
    assert env.step(0)[0].max() == 4


@pytest.mark.parametrize("name", sorted({*OURS} - {"GrayScale", "Resize", "WarpFrame", "FireReset"}))
def test_an_episode_in_a_wrapper_is_a_function_of_its_seed(name):
    env = gym_env.make(Config(wrappers=[name], vectorization="sync"), 1)
    actions = [next(sample(env.action_space, 1)) for _ in range(3)]

    def episode():
        return [env.reset(everyone(env), np.array([3]))] + [env.step(action).obs.copy() for action in actions]

    np.testing.assert_array_equal(episode(), episode())


def test_no_display_is_needed_and_a_choice_of_the_user_stays(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    gym_env._prepare_headless()
    assert os.environ["SDL_VIDEODRIVER"] == "dummy"
    monkeypatch.setenv("SDL_VIDEODRIVER", "x11")
    gym_env._prepare_headless()
    assert os.environ["SDL_VIDEODRIVER"] == "x11"
