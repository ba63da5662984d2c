"""What an environment is told before training: its contract and its spaces."""

import logging
import multiprocessing
import os
import sys
from types import SimpleNamespace
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from gymnasium.spaces.utils import flatten

from envs.base import EnvError
from envs.common.rows import assemble
from envs.common.spaces import Actions, Observations
from envs.gym import env
from tests.tools.envs import Corridor, assembled, corridor_with, everyone


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
        assembled(factory, "mine", 1, "sync")
    return str(caught.value)


@pytest.mark.parametrize(
    ("obs", "message"),
    [
        ([0.0], "obs of step: expected an array of float32 with shape (1,), got list [0.0]. Return np.asarray(obs"),
        (np.zeros(2, np.float32), "obs of step: expected an array of float32 with shape (1,), got shape (2,)"),
        (np.array([np.nan], np.float32), "obs of step: expected finite values, got nan at index (0,)"),
        (np.array([1e300]), "obs of step: expected values that float32 holds, up to 3.4e38, got 1e+300 at index (0,)"),
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
    env = assembled(returns(np.ones(1)), "mine", 1, "sync")
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
    message = said(factory(reset=lambda self, seed=None, options=None: None))
    assert "reset: expected (obs, info), got None. End it with return obs, {}." in message
    assert "OldGym" not in message, "it needs an observation, too"
    message = said(factory(step=lambda self, action: (np.zeros(1, np.float32), 0.0, False, {})))
    assert "step: expected 5 values (obs, reward, terminated, truncated, info), got a tuple of 4" in message
    assert "the old gym step with done" in message


class TimeStep(NamedTuple):
    """What reset and step of dm_env return."""

    step_type: int
    reward: float | None
    discount: float | None
    observation: np.ndarray


def test_a_time_step_is_not_taken_for_the_old_gym_interface():
    step = TimeStep(1, 0.0, 1.0, np.zeros(1, np.float32))
    assert "OldGym" not in said(corridor_with(reset=lambda self: step, step=lambda self, action: step))
    message = said(corridor_with(reset=lambda self, seed=None, options=None: step, step=lambda self, action: step))
    assert "reset: expected (obs, info), got a TimeStep of dm_env. Return time_step.observation, {}." in message
    assert "step: expected 5 values (obs, reward, terminated, truncated, info), got a TimeStep of dm_env." in message
    assert "its last() is a termination with a discount of 0, and a truncation with another one." in message
    assert "OldGym" not in message, "it would take step_type for the observation"


def test_every_fault_of_a_reset_and_a_step_is_listed_once():
    """ENV-1: with a list for an array, values out of bounds, an array for a reward, and wrong flags."""
    factory = corridor_with(
        reset=lambda self, seed=None, options=None: ([50.0], {}),
        step=lambda self, action: ([60.0], np.ones(1), None, False, []),
    )
    first, *lines = said(factory).splitlines()
    assert first == "mine does not follow the Gymnasium API:"
    starts = (
        "obs of reset: expected an array",
        "obs of reset: expected values from",
        "reward:",
        "terminated:",
        "info of step:",
    )
    assert [next((start for start in starts if line.startswith(f"  {start}")), line) for line in lines] == list(starts)
    old = corridor_with(reset=lambda self: np.zeros(1), step=lambda self, action: (np.zeros(1), 0.0, False, {}))
    assert [line.split(":")[0] for line in said(old).splitlines()[1:]] == ["  reset", "  reset", "  step"]


def test_a_step_that_fails_behind_a_wrong_reset_hides_nothing():
    def step(self, action):
        raise ValueError("no state")

    message = said(corridor_with(reset=lambda self, seed=None, options=None: ([0.0], {}), step=step))
    assert message.splitlines()[1].startswith("  obs of reset: expected an array")
    assert "failed in its first step" in said(corridor_with(step=step))


@pytest.mark.parametrize("reward", [1, 1.5, True, np.float64(2), np.int32(2), np.float32(1), np.array(3.0)])
def test_any_finite_number_is_a_reward(reward):
    """ENV-3: Python's and numpy's numbers, and arrays without dimensions."""
    env = assembled(corridor_with(step=lambda self, a: (self._obs, reward, False, False, {})), "mine", 1, "sync")
    env.reset(everyone(env), np.array([1]))
    assert env.step(np.array([0])).reward.tolist() == [float(reward)]


@pytest.mark.parametrize("reward", [None, np.ones(1), [1.0], "1", float("inf"), float("nan")])
def test_anything_else_is_not_a_reward_at_the_start_or_later(reward):
    """ENV-3"""
    assert "reward: expected a" in said(corridor_with(step=lambda self, a: (self._obs, reward, False, False, {})))

    def later(self, action):
        obs, _, *rest = Corridor.step(self, action)
        return obs, reward if self._time == 2 else 0.0, *rest

    env = assembled(corridor_with(step=later), "mine", 1, "sync")
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
        ({"observation_space": None}, "observation_space: expected a space of gymnasium.spaces, got nothing"),
        ({"observation_space": Text(3)}, "mine: the observation is a Text space"),
        ({"observation_space": Dict({"a": Text(3)})}, "the part 'a' of the observation is a Text space"),
        ({"action_space": Dict({"a": Text(3)})}, "actions of the part 'a' of Dict('a': Text(1, 3"),
        (
            {"action_space": Tuple([Discrete(2), Box(0, 3, (1,), np.int64)])},
            "actions of the part '1' of Tuple(Discrete",
        ),
        ({"action_space": Tuple([])}, "the action space Tuple() is empty: there is nothing to choose"),
        ({"action_space": Box(-1, 1, (0,))}, "the action space Box([], [], (0,), float32) is empty"),
        ({"observation_space": Box(-1, 1, (0,))}, "the observation space Box([], [], (0,), float32) is empty"),
        ({"observation_space": Dict({})}, "the observation space Dict() is empty: there is nothing to learn from"),
        (
            {"action_space": Box(0, 3, (1,), np.int64)},
            "such as gymnasium.wrappers.TransformAction. Whole numbers from low to high are MultiDiscrete(high - low",
        ),
        ({"action_space": Text(3)}, "such as gymnasium.wrappers.TransformAction."),
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

    env = assembled(corridor_with(step=step, reset=reset, observation_space=Box(-9, 9, (3,))), "mine", 1, "sync")
    env.reset(everyone(env), np.array([1]))
    env.step(np.array([0]))
    with pytest.raises(EnvError, match=r"observation has shape \(1,\), and its space has \(3,\)"):
        env.step(np.array([0]))


@pytest.mark.parametrize(
    ("space", "start", "obs", "words"),
    [
        (Discrete(5), 0, 5, r"the observation 5 is none of Discrete\(5\)"),
        (Discrete(5), 0, -1, r"the observation -1 is none of"),
        (Discrete(5), 0, 1.7, r"the observation 1\.7 is none of"),
        (Discrete(5, start=3), 3, 2, r"the observation 2 is none of Discrete\(5, start=3\)"),
        (
            MultiDiscrete([2, 3]),
            np.zeros(2, int),
            np.array([1, 3]),
            r"the observation \[1 3\] is none of MultiDiscrete",
        ),
        (
            MultiBinary(2),
            np.zeros(2, np.int8),
            np.array([1, 2]),
            r"the observation \[1 2\] is none of MultiBinary\(2\)",
        ),
        (
            Box(0, 255, (2,), np.uint8),
            np.zeros(2, np.uint8),
            np.array([0.5, 1]),
            r"the observation \[0\.5 1\. \] is none",
        ),
        (
            Box(0, 255, (2,), np.uint8),
            np.zeros(2, np.uint8),
            np.array([300, 1]),
            r"the observation \[300   1\] is none",
        ),
        (Box(0, 255, (2,), np.uint8), np.zeros(2, np.uint8), np.zeros(3, int), r"has shape \(3,\), and its space has"),
        (
            Dict(a=Discrete(2), b=Discrete(3)),
            {"a": 0, "b": 0},
            {"a": 1, "b": 3},
            r"the observation \[1 3\] is none of Dict",
        ),
        (
            Dict(a=Discrete(2), b=Box(0, 1)),
            {"a": 0, "b": np.zeros(1, np.float32)},
            {"a": 2, "b": np.zeros(1, np.float32)},
            "the part .a. of the observation is 2; expected a whole number from 0 to 1",
        ),
    ],
)
def test_a_number_that_is_no_observation_later_in_an_episode_is_not_learned_from(space, start, obs, words):
    def step(self, action):
        _, *rest = Corridor.step(self, action)
        return (obs if self._time == 2 else start), *rest

    def reset(self, *, seed=None, options=None):
        Corridor.reset(self)
        return start, {}

    env = assembled(corridor_with(step=step, reset=reset, observation_space=space), "mine", 1, "sync")
    env.reset(everyone(env), np.array([1]))
    env.step(np.array([0]))
    with pytest.raises(EnvError, match=words):
        env.step(np.array([0]))


def test_discrete_spaces_begin_at_zero_for_the_agent_and_where_they_like_for_the_environment():
    """ENV-6"""
    taken = []

    def step(self, action):
        taken.append(action)
        return 7, 0.0, False, False, {}

    env = assembled(
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_environment_gets_actions_of_its_own_type_that_it_may_change(dtype):
    """ENV-6: asymmetric and infinite bounds stay as they are."""

    def step(self, action):
        assert action.dtype == dtype
        action[:] = 99
        return self._obs, 0.0, False, False, {}

    space = Box(np.array([-2, -np.inf], dtype), np.array([5, np.inf], dtype), dtype=dtype)
    env = assembled(corridor_with(step=step, action_space=space), "mine", 1, "sync")
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


def test_choices_alone_stay_whole_numbers_so_that_a_table_can_count_them():
    codec = Observations(Tuple([Discrete(32), Dict({"b": Discrete(2), "a": Discrete(11, start=4)})]))
    assert codec.space == MultiDiscrete([32, 11, 2])
    assert codec.parts == ()
    assert codec.encode((30, {"a": 14, "b": 1})).tolist() == [30, 10, 1]
    many = np.array([30, 2]), {"a": np.array([14, 4]), "b": np.array([1, 0])}
    assert codec.encode(many).tolist() == [[30, 10, 1], [2, 0, 0]]
    env = assembled(lambda: gymnasium.make("Blackjack-v1"), "Blackjack-v1", 2, "sync")
    assert env.observation_space.contains(env.reset(np.ones(2, bool), np.arange(2))[0])


def test_an_environment_needs_no_spec_no_frame_rate_and_no_end():
    """ENV-7"""

    def step(self, action):
        return self._obs, 0.0, False, False, {}

    factory = corridor_with(step=step)
    assert factory().spec is None
    env = assembled(factory, "mine", 1, "sync")
    assert env.render_fps == 30
    assert env.render() is None
    env.reset(everyone(env), np.array([1]))
    assert not any(env.step(np.array([0])).truncated[0] for _ in range(300))


def test_mujoco_says_a_thing_once_and_nothing_about_models_that_are_not_the_users(monkeypatch):
    told, said = SimpleNamespace(set_mju_user_warning=lambda say: setattr(told, "say", say)), []
    monkeypatch.setitem(sys.modules, "mujoco", told)
    monkeypatch.setattr(logging.getLogger("joystick"), "warning", lambda form, *words: said.append(form % words))
    env._listen_to_mujoco()
    for text in ("compiler attribute 'x' is deprecated", "huge value in QACC", "huge value in QACC"):
        told.say(text)
    assert said == ["MuJoCo: huge value in QACC"]


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize(
    ("name", "spaces"),
    [
        ("observation_space", {"observation_space": Box(-9, 9, (3,), np.float32)}),
        ("observation_space", {"observation_space": Discrete(4, start=4)}),
        ("action_space", {"action_space": Discrete(9)}),
    ],
)
def test_rows_with_other_spaces_than_the_first_are_refused(name, spaces, kind):
    """Their states would have been taken for others, or their actions never chosen."""
    makers = [corridor_with(), corridor_with(**spaces)]
    message = f"mine: the {name} of row 1 is .*, and the run is made for .*: all rows need the same one"
    with pytest.raises(EnvError, match=message):
        assemble(lambda row: makers[row](), "mine", 2, kind)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda: 1 / 0, "mine could not be made: ZeroDivisionError: division by zero"),
        (lambda: os._exit(1), "mine could not be made: the process of a row ended"),
    ],
)
def test_a_process_that_cannot_make_its_environment_is_said_and_none_is_left(fault, message):
    """Those that were left ignored the signals that would have ended them, and the program never ended."""
    with pytest.raises(EnvError, match=message):
        assemble(lambda row: fault() if row else Corridor(), "mine", 3, "async")
    assert not multiprocessing.active_children()


def test_processes_that_the_system_refuses_are_counted_and_none_is_left(monkeypatch):
    start = multiprocessing.Process.start

    def limited(process):
        if process.name.endswith("-1"):
            raise BlockingIOError(11, "Resource temporarily unavailable")
        start(process)

    monkeypatch.setattr(multiprocessing.process.BaseProcess, "start", limited)
    said = r"the processes of 3 rows could not be started: Resource temporarily unavailable; choose a smaller env_cfg"
    with pytest.raises(EnvError, match=said):
        assemble(lambda row: Corridor(), "mine", 3, "async")
    assert not multiprocessing.active_children()


def test_an_empty_part_of_the_actions_is_named():
    message = said(corridor_with(action_space=Dict({"e": Box(-1, 1, (0,)), "m": Discrete(3)})))
    assert "the part 'e' of the action space" in message


@pytest.mark.parametrize("metadata", [None, {"render_fps": "fast"}, {"render_fps": None}])
def test_metadata_without_a_frame_rate_are_no_fault(metadata):
    env = assembled(corridor_with(metadata=metadata), "mine", 1, "sync")
    assert env.render_fps == 30.0


def test_a_reward_that_float64_cannot_hold_is_said():
    message = said(corridor_with(step=lambda self, a: (self._obs, 10**400, False, False, {})))
    assert "reward: expected a finite number" in message


def test_an_info_of_none_is_no_old_interface():
    def reset(self, *, seed=None, options=None):
        return Corridor.reset(self)[0], None

    message = said(corridor_with(reset=reset))
    assert "info of reset: expected a dict, got None. Return {}" in message
    assert "OldGym" not in message


def test_the_mask_after_a_truncated_first_step_may_be_0_everywhere():
    def reset(self, *, seed=None, options=None):
        return Corridor.reset(self)[0], {"action_mask": np.ones(2, np.int8)}

    def step(self, action):
        obs, reward, *_ = Corridor.step(self, action)
        return obs, reward, False, True, {"action_mask": np.zeros(2, np.int8)}

    env = assembled(corridor_with(reset=reset, step=step), "mine", 1, "sync")
    env.reset(everyone(env), np.array([1]))
    assert env.step(np.array([0])).truncated.all()


@pytest.mark.parametrize(
    ("parts", "value"),
    [
        ({"a": Box(0, 255, (2,), np.uint8), "b": Box(0, 255, (1,), np.uint8)}, {"a": np.array([300, -1]), "b": [0]}),
        ({"a": Box(-1, 1, (2,)), "b": MultiBinary(2)}, {"a": np.zeros(2), "b": np.array([5, -3])}),
        ({"a": Box(-1, 1, (2, 3)), "b": Discrete(2)}, {"a": np.zeros((3, 2)), "b": 0}),
    ],
)
def test_parts_of_an_observation_are_held_to_their_spaces(parts, value):
    """300 would have been 44, and a matrix of another shape read in another order."""
    observations = Observations(Dict(parts))
    observations.encode({name: space.sample() for name, space in parts.items()})
    with pytest.raises(ValueError, match=r"is none of|has shape \(3, 2\); expected \(2, 3\)"):
        observations.encode(value)
