"""What the env_cfg section of the config may say: ids, keywords, wrappers, and what the wrappers do."""

import os
from contextlib import closing
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import yaml
from gymnasium.spaces import Box, Dict, Text

from config.own.env_packages import of_id
from envs import gym
from envs.base import EnvError
from envs.common import headless
from envs.common.wrappers import (
    OURS,
    FrameStack,
    GrayScale,
    MaxAndSkip,
    NoopReset,
    Resize,
    SkipFrame,
    arguments,
    find,
)  # fmt: skip
from envs.gym import Config, check
from envs.gym import env as gym_env
from tests.tools.envs import Corridor, corridor_with, everyone, sample
from tests.tools.process import forked


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
        (
            {"id": "MountainCarContinuous-v0", "vectorization": "native"},
            "vectorization",
            "no vector version of its own",
        ),
        ({"id": "Pong-v4", "vectorization": "native"}, "vectorization", "use ALE/Pong-v5, which has one, or auto"),
        ({"id": "Pong-ramDeterministic-v4"}, "id", "the current version is ALE/Pong-v5"),
        ({"wrappers": "FrameStack", "vectorization": "native"}, "vectorization", "native cannot be combined"),
        ({"id": "ALE/Pong-v5", "vectorization": "native", "noop_mx": 1}, "noop_mx", "did you mean noop_max?"),
        ({"wrapper": "FrameStak"}, "wrappers", "did you mean FrameStack"),
        ({"wrappers": [{"wrapper_name": "FrameStack", "stak_size": 2}]}, "wrappers", "did you mean stack_size?"),
        ({"wrappers": ["TimeLimit"]}, "wrappers", "max_episode_steps: is required, and not set"),
        ({"wrappers": ["NormalizeObservation"]}, "wrappers", "algo_cfg.normalize_obs: true"),
    ],
)
def test_a_wrong_setting_is_answered_with_the_nearest_right_one(settings, key, message):
    problems = check(Config(**settings))
    assert [problem.key for problem in problems] == [key]
    assert message in problems[0].message


@pytest.mark.parametrize(
    ("name", "key", "value", "message"),
    [
        ("NoopReset", "noop_max", 2.5, "got 2.5; expected a whole number at least 0"),
        ("NoopReset", "noop_max", -3, "got -3; expected a whole number at least 0"),
        ("FrameStack", "stack_size", 0, "got 0; expected a whole number at least 1"),
        ("BaseSkipFrame", "skip", "4", "got '4' (text); expected a whole number at least 1"),
        ("SelectObservation", "indices", 2, "got 2; expected a list, each item a whole number at least 0"),
        ("Resize", "shape", [84], "got [84]; expected a whole number at least 1 or a list of 2, each a whole number a"),
    ],
)
def test_a_value_of_a_wrapper_has_the_type_and_the_bounds_of_its_setting(name, key, value, message):
    [problem] = check(Config(wrappers=[{"wrapper_name": name, key: value}]))
    assert problem.key == "wrappers"
    assert problem.message.startswith(f"{name}: {key}: {message}")


def test_a_whole_number_of_a_wrapper_may_be_written_as_a_float():
    assert check(Config(wrappers=[{"wrapper_name": "FrameStack", "stack_size": 4.0}])) == []
    assert repr(arguments(FrameStack, {"stack_size": 4.0})) == "{'stack_size': 4}"


def test_all_problems_are_reported_at_once():
    cfg = Config(id="FrozenLake-v1", is_slipery=1, desk=2, wrappers=["FrameStak", "GrayScal"])
    assert [problem.key for problem in check(cfg)] == ["wrappers", "wrappers", "is_slipery", "desk"]


def test_a_missing_package_is_answered_with_what_to_install(monkeypatch):
    from envs.common import registry

    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda name: None)
    for env_id, pip in (
        ("LunarLander-v3", 'pip install "gymnasium[box2d]"'),
        ("Hopper-v5", 'pip install "gymnasium[mujoco]"'),
        ("ALE/Nothing-v5", "pip install ale-py"),
        ("NothingNoFrameskip-v4", "pip install ale-py"),
        ("NothingDeterministic-v0", "pip install ale-py"),
        ("Nothing-ram-v4", "pip install ale-py"),
        ("Nothing-v4", "(an Atari game needs the package ale-py, which is not installed: pip install ale-py)"),
    ):
        assert pip in check(Config(id=env_id))[0].message
    for no_game in ("Nothing-v3", "nothing-v4", "CartPole-v4"):
        assert "Atari" not in check(Config(id=no_game))[0].message
    (problem,) = check(Config(id="FrozenLake-v1", render_mode="rgb_array"))
    assert (problem.key, problem.message.endswith('pip install "gymnasium[toy-text]"')) == ("render_mode", True)


def test_a_render_mode_that_is_not_offered_is_answered_with_those_that_are():
    gymnasium.register("Blind-v0", corridor_with(metadata={"render_modes": ["ansi"]}), disable_env_checker=True)
    try:
        assert check(Config(id="Blind-v0", render_mode="rgb_array"))[0].message.endswith("it offers: ansi")
    finally:
        del gymnasium.registry["Blind-v0"]


def test_a_window_is_refused_where_there_is_no_display(monkeypatch):
    """VID-4: said before the training, not after it."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    (problem,) = check(Config(render_mode="human"))
    assert problem.message.startswith("human needs a display")
    monkeypatch.setenv("DISPLAY", ":0")
    assert check(Config(render_mode="human")) == []


def test_a_wrapper_of_a_package_and_one_that_cannot_work_are_told_what_works():
    [problem] = check(Config(wrappers=["ImgObsWrapper"]))
    assert problem.message.endswith("one of a package or of your own has its module before it: my_module:ImgObsWrapper")
    [problem] = check(Config(wrappers=["AddRenderObservation"], render_mode="rgb_array"))
    assert 'AddRenderObservation(gymnasium.make(ID, render_mode="rgb_array"))' in problem.message


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
    with pytest.raises(ValueError, match=r"up to 4 channels last; got Box\(.*\(12, .*FrameStack comes after it"):
        Resize(corridor_with(observation_space=Box(0, 255, (12, 60, 40), np.uint8))())
    with pytest.raises(ValueError, match=r"GrayScale needs uint8 images of shape \(height, width, 3\)"):
        GrayScale(corridor_with(observation_space=Box(0, 1, (4, 4, 3), np.float32))())


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


@pytest.mark.parametrize("kind", [MaxAndSkip, SkipFrame])
def test_an_action_is_taken_for_at_least_one_frame(kind):
    with pytest.raises(ValueError, match=f"{kind.__name__}: skip is 0; an action is taken for at least one frame"):
        kind(pictures(0, 1), skip=0)


def test_no_steps_after_a_reset_are_as_many_as_asked_for():
    env = NoopReset(pictures(3, 1, 2), noop_max=0)
    assert env.reset()[0].max() == 3


def test_velocities_can_be_hidden():
    wrappers = [{"wrapper_name": "SelectObservation", "indices": [2, 0]}]
    whole, part = gym_env.make(Config(), 1), gym_env.make(Config(wrappers=wrappers), 1)
    assert part.observation_space.shape == (2,)
    one, other = (env.reset(everyone(env), np.array([3])) for env in (whole, part))
    np.testing.assert_array_equal(other, one[:, [2, 0]])
    np.testing.assert_array_equal(part.step(np.array([1])).obs, whole.step(np.array([1])).obs[:, [2, 0]])
    with pytest.raises(EnvError, match=r"needs indices of a vector; got \[4\]"):
        gym_env.make(Config(wrappers=[{"wrapper_name": "SelectObservation", "indices": [4]}]), 1)


@pytest.mark.parametrize(
    "name",
    sorted({*OURS} - {"GrayScale", "Resize", "WarpFrame", "FireReset", "SelectObservation", "PartOfObservation"}),
)
def test_an_episode_in_a_wrapper_is_a_function_of_its_seed(name):
    env = gym_env.make(Config(wrappers=[name], vectorization="sync"), 1)
    actions = [next(sample(env.action_space, 1)) for _ in range(3)]

    def episode():
        return [env.reset(everyone(env), np.array([3]))] + [env.step(action).obs.copy() for action in actions]

    np.testing.assert_array_equal(episode(), episode())


def test_no_display_is_needed_and_a_choice_of_the_user_stays(monkeypatch):
    monkeypatch.setattr(headless, "_chosen", {})
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    headless.prepare()
    assert os.environ["SDL_VIDEODRIVER"] == "dummy"
    headless.prepare(of_id("highway-fast-v0"))
    assert os.environ["SDL_VIDEODRIVER"] == "offscreen", "highway-env draws nothing with dummy"
    monkeypatch.setenv("SDL_VIDEODRIVER", "x11")
    headless.prepare()
    assert os.environ["SDL_VIDEODRIVER"] == "x11"


class Sized(gymnasium.Env):
    """Needs an argument, and has no observation space."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, size):
        self.size = size

    def reset(self, *, seed=None, options=None):
        return np.zeros(self.size, np.float32), {}


def test_an_argument_that_the_constructor_needs_is_named_before_anything_is_made():
    gymnasium.register("Sized-v0", Sized)
    gymnasium.register("SizedAlready-v0", Sized, kwargs={"size": 3})
    try:
        (problem,) = check(Config(id="Sized-v0"))
        assert problem.key == "size"
        assert "is required" in problem.message
        assert not check(Config(id="Sized-v0", size=2))
        assert not check(Config(id="SizedAlready-v0"))
        with pytest.raises(EnvError, match=r"Set self\.observation_space in __init__"):
            gym_env.make(Config(id="Sized-v0", size=2), 1)
    finally:
        del gymnasium.registry["Sized-v0"], gymnasium.registry["SizedAlready-v0"]


@pytest.mark.parametrize("name", ["Qqqzzz-v0", "GridWorld-v0", "minigrid/Empty-v0", "lab/maze"])
def test_an_id_that_nothing_resembles_is_answered_with_how_to_name_ones_own(name):
    (problem,) = check(Config(id=name))
    own = f"an environment of your own is named my_module:{name}, with --allow-import my_module"
    assert problem.message == f"there is no environment {name!r}; {own}"


def test_the_name_of_a_file_without_its_ending_is_answered_with_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("robot.py").touch()
    (problem,) = check(Config(id="robot"))
    assert problem.message == "there is no environment 'robot'; did you mean robot.py?"


def test_a_version_that_a_module_of_ones_own_does_not_have_is_answered_with_the_whole_name(tmp_path, monkeypatch):
    (tmp_path / "own_ids.py").write_text(
        "import gymnasium\ngymnasium.register('OwnCorridor-v2', 'tests.tools.envs:Corridor')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        (problem,) = check(Config(id="own_ids:OwnCorridor-v1"))
        assert problem.message.endswith("the current version is own_ids:OwnCorridor-v2")
        (problem,) = check(Config(id="own_ids:OwnCorider-v2"))
        assert problem.message.endswith("there is no environment 'own_ids:OwnCorider-v2'; did you mean OwnCorridor-v2?")
    finally:
        gymnasium.registry.pop("OwnCorridor-v2", None)


def talking(**parts):
    """A corridor whose observation has a part of text."""
    space = Dict({"text": Text(9), **parts})
    seen = {"text": "go", **{name: part.low for name, part in parts.items()}}
    step = lambda self, action: (seen, 1.0, False, False, {})  # noqa: E731
    return corridor_with(reset=lambda self, **_: (seen, {}), step=step, observation_space=space)


def test_a_part_of_text_is_answered_with_the_wrapper_that_leaves_it_out():
    box = Box(0, 1, (2,), np.float32)
    gymnasium.register("Talking-v0", talking(image=box, position=box), disable_env_checker=True)
    gymnasium.register("OnlyTalking-v0", talking(), disable_env_checker=True)
    try:
        with pytest.raises(EnvError, match=r"the part 'text' of the observation is a Text space") as caught:
            gym_env.make(Config(id="Talking-v0"), 1)
        written = str(caught.value).partition("Leave it out with env_cfg.")[2]
        assert written == "wrappers: [{wrapper_name: FilterObservation, filter_keys: [image, position]}]"
        with closing(gym_env.make(Config(id="Talking-v0", **yaml.safe_load(written)), 1)) as env:
            assert env.observation_space.shape == (4,)
        with pytest.raises(EnvError, match=r"Encode it as a Box, in a program with .*TransformObservation"):
            gym_env.make(Config(id="OnlyTalking-v0"), 1)
    finally:
        del gymnasium.registry["Talking-v0"], gymnasium.registry["OnlyTalking-v0"]


@pytest.mark.parametrize("rows", [1, 3])
def test_an_older_version_is_one_line_of_ours_and_none_of_gymnasium(tmp_path, monkeypatch, rows):
    monkeypatch.chdir(tmp_path)
    words = ["--algo", "DQN", "--env", "CartPole-v0", "general_cfg.max_episode=2", "general_cfg.save_fig=false"]
    words += [f"env_cfg.n_envs={rows}", "--into", str(tmp_path / "run")]
    done = forked(*words)
    assert done.returncode == 0, done.stderr
    both = done.stdout + done.stderr
    assert both.count("CartPole-v0 is an older version; the current one is CartPole-v1") == 1
    assert "DeprecationWarning" not in both
    assert "out of date" not in both
    again = forked("evaluate", "run")
    assert again.returncode == 0
    assert (again.stdout.count("\n"), again.stderr) == (1, "")  # it prints the score alone


def test_only_an_older_version_is_remarked():
    remarks = {env: gym.remark(Config(id=env)) for env in ("CartPole-v1", "MountainCar-v0", "Ant-v4", "own:A-v0")}
    assert {env for env, remark in remarks.items() if remark} == {"Ant-v4"}
