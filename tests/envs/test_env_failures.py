"""What happens when an environment or its process fails: where it is said to have happened, and what goes on."""

import os
import signal
import sys
import time
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import SyncVectorEnv

from envs.base import EnvError
from envs.common.probe import probe
from envs.common.sync import Row
from envs.toy import Config as Toy
from envs.toy import env as toy_env
from tests.tools.envs import Corridor, assembled, cartpole, corridor_with, everyone, foreign


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_crash_says_where_it_happened_and_what_came_before(kind):
    """ENV-4: id, row, step, action, seed, and the line of the environment's code."""
    env = toy_env.make(Toy(id="crash", at="step", step=2, vectorization=kind), 2)
    env.reset(everyone(env), np.array([40, 41]))
    env.step(np.array([0, 1]))
    message = r"toy crash failed in step 2 of row \d: ZeroDivisionError: the toy crashes.* at faults.py:\d+ "
    with pytest.raises(EnvError, match=message + r"\(seed of the episode 4\d; action [01]\)") as caught:
        env.step(np.array([0, 1]))
    assert kind == "async" or isinstance(caught.value.__cause__, ZeroDivisionError)
    env.close()


@pytest.mark.parametrize(
    ("at", "place"), [("make", "could not be made"), ("reset", "failed in its first reset"), ("step", "first step")]
)
def test_a_crash_before_training_is_found_at_the_start(at, place):
    """ENV-4"""
    with pytest.raises(EnvError, match=rf"toy crash .*{place}.*ZeroDivisionError.* at faults.py:\d+"):
        toy_env.make(Toy(id="crash", at=at, step=1), 2)


@pytest.mark.parametrize("at", ["render", "close"])
def test_a_crash_while_rendering_or_closing_names_the_environment(at):
    """ENV-4"""
    env = toy_env.make(Toy(id="crash", at=at), 1)
    env.reset(everyone(env), np.array([3]))
    with pytest.raises(EnvError, match=f"toy crash failed in {at} of row 0: ZeroDivisionError"):
        getattr(env, at)()


class Unwritten(gymnasium.Env):
    """An environment whose methods are those of gymnasium, which raise NotImplementedError."""

    observation_space, action_space = Box(-1, 1, (1,)), Discrete(2)


@pytest.mark.parametrize("methods", [{"step"}, {"reset"}, {"reset", "step"}])
def test_methods_that_a_class_lacks_are_named(methods):
    written = {
        "reset": lambda self, seed=None, options=None: (np.zeros(1, np.float32), {}),
        "step": lambda self, action: (np.zeros(1, np.float32), 0.0, False, False, {}),
    }
    lacks = type("Lacks", (Unwritten,), {name: call for name, call in written.items() if name not in methods})
    with pytest.raises(EnvError) as info:
        probe(lacks(), "Lacks")
    named = {line.split(":")[0].strip() for line in str(info.value).splitlines()[1:]}
    assert named == methods
    assert "a method of the class, got none. Write def " in str(info.value)


def test_a_method_that_is_not_written_is_named_where_it_is_called():
    row = Row(Unwritten(), "Lacks", 0)
    with pytest.raises(
        EnvError, match="failed in render of row 0: NotImplementedError: the class has no method render"
    ):
        row.render()


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize(("field", "word"), [("reward", "reward is"), ("obs", "observation is not finite")])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_values_that_are_not_finite_stop_the_run_in_their_step(field, word, value, kind):
    """NUM-1: the first bad value, before it reaches a memory."""
    env = toy_env.make(Toy(id="bad", field=field, value=value, step=2, vectorization=kind), 1)
    env.reset(everyone(env), np.array([3]))
    env.step(np.array([0]))
    with pytest.raises(EnvError, match=rf"step 2 of row 0: ValueError: the {word}.*{value}"):
        env.step(np.array([0]))
    env.close()


FIVE = "step has to return five values, obs, reward, terminated, truncated and info"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda out: (None, *out[1:]), "ValueError: the observation is no array: None"),
        (lambda out: (list(out[0]), *out[1:]), r"ValueError: the observation is no array: \[.*\]"),
        (lambda out: (out[0], float("nan"), *out[2:]), "ValueError: the reward is nan"),
        (lambda out: (out[0], None, *out[2:]), r"the reward is no number \(must be real number, not NoneType\)"),
        (lambda out: (out[0], 10**400, *out[2:]), r"the reward is no number \(int too large to convert to float\)"),
        (lambda out: out[:4], rf"{FIVE} \(not enough values to unpack \(expected 5, got 4\)\)"),
        (lambda out: None, rf"{FIVE} \(cannot unpack non-iterable NoneType object\)"),
    ],
)
def test_a_fault_that_a_row_finds_names_no_line_of_ours(fault, words):
    def step(self, action):
        result = Corridor.step(self, action)
        return fault(result) if self._time == 2 else result

    env = Row(corridor_with(step=step)(), "corridor", 0)
    env.reset(seed=8)
    env.step(1)
    with pytest.raises(EnvError, match=rf"failed in step 2 of row 0: {words} \(seed of the episode 8; action 1\)"):
        env.step(1)


def test_an_error_within_a_package_names_the_line_of_the_environment_that_led_to_it():
    def step(self, action):
        return np.linalg.inv(np.zeros((2, 2)))

    with pytest.raises(EnvError, match=rf"LinAlgError.* at test_env_failures.py:{step.__code__.co_firstlineno + 1} "):
        after_reset(corridor_with(step=step)()).step(1)


def after_reset(env):
    row = Row(env, "corridor", 0)
    row.reset(seed=8)
    return row


@pytest.mark.parametrize("call", ["__init__", "reset", "step"])
@pytest.mark.parametrize("leave", [exit, sys.exit])
def test_an_environment_that_leaves_the_program_at_once_is_told_with_its_line(call, leave):
    def left(self, *_, seed=None, options=None):
        leave(3)

    line = left.__code__.co_firstlineno + 1
    with pytest.raises(EnvError, match=rf"called sys.exit\(3\) at test_env_failures.py:{line}"):
        assembled(corridor_with(**{call: left}), "mine", 1, "sync")


def test_a_later_reset_of_one_value_is_told_what_to_return():
    env = Row(corridor_with(reset=lambda self, **_: np.zeros(1))(), "corridor", 0)
    with pytest.raises(EnvError, match=r"in reset of row 0: reset has to return two values, obs and info \(not enough"):
        env.reset(seed=8)


def test_a_part_that_an_observation_lacks_is_named_without_a_line_of_ours():
    class Parts(Corridor):
        observation_space = Dict({"a": Box(-1, 1, (2,)), "b": Discrete(3)})

        def reset(self, *, seed=None, options=None):
            return {"a": np.zeros(2, np.float32)}, {}

    with pytest.raises(
        EnvError, match=r"in reset of row 0: the observation has no part 'b' \(seed of the episode 8\)$"
    ):
        Row(Parts(), "parts", 0).reset(seed=8)


def test_a_row_that_never_began_has_no_seed_in_its_message():
    env = toy_env.make(Toy(id="crash", at="close"), 1)
    with pytest.raises(EnvError, match=r"failed in close of row 0: ZeroDivisionError.*at faults.py:\d+$"):
        env.close()


def test_a_percent_sign_in_an_error_reaches_the_user_from_a_process():
    """It is in the lines of code of many a traceback, too."""

    def step(self, action):
        result = Corridor.step(self, action)
        if self._time == 2:
            raise ValueError("%s of %d" % ("half", 7))  # noqa: UP031 - the line is a part of the traceback
        return result

    env = assembled(corridor_with(step=step), "corridor", 2, "async")
    env.reset(everyone(env), np.array([8, 9]))
    env.step(np.array([0, 1]))
    with pytest.raises(EnvError, match=r"step 2 of row .*ValueError: half of 7"):
        env.step(np.array([0, 1]))
    env.close()


def test_a_number_beyond_float32_is_told_by_the_run_alone():
    """numpy's words name a line of ours; what is infinite then is refused with its name and its step."""

    def step(self, action):
        obs, _, *rest = Corridor.step(self, action)
        return obs, 1e300, *rest

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        env = assembled(corridor_with(step=step), "corridor", 1, "sync")
        env.reset(everyone(env), np.array([8]))
        assert np.isinf(env.step(np.array([0])).reward).all()
    assert not told


def test_values_of_a_foreign_environment_are_looked_at_too():
    def step(self, action):
        obs, reward, *rest = Corridor.step(self, action)
        return obs, float("nan") if reward == 1 else reward, *rest

    env = foreign(SyncVectorEnv, "Disabled", corridor_with(step=step), rows=2)
    env.reset(everyone(env), np.array([8, 9]))
    env.step(np.array([0, 1]))
    with pytest.raises(EnvError, match=r"row 1: the reward is not finite: nan \(seed of the episode 9\)"):
        env.step(np.array([0, 1]))


def test_a_process_that_is_killed_is_reported_and_close_ends_the_others():
    env = cartpole("async")
    processes = env._mode.env.processes
    env.reset(everyone(env), np.arange(3))
    os.kill(processes[1].pid, signal.SIGKILL)
    processes[1].join()
    with pytest.raises(EnvError, match=r"failed in step: the process of row 1 ended with status -9 \("):
        env.step(np.zeros(3, int))
    env.close()
    assert not any(process.is_alive() for process in processes)


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize(("call", "place"), [("reset", "reset"), ("step", "step 1")])
def test_sys_exit_in_a_row_is_an_error_with_its_place(kind, call, place):
    def leave(*_, **__):
        sys.exit("the license is over")

    env = assembled(corridor_with(), "corridor", 2, kind)
    env.each(lambda one, row: setattr(one, call, leave), everyone(env))
    said = rf"failed in {place} of row \d: the environment called sys.exit\(the license is over\) at .*seed of"
    if call == "step":
        env.reset(everyone(env), np.array([8, 9]))
    with pytest.raises(EnvError, match=said):
        env.step(np.array([0, 1])) if call == "step" else env.reset(everyone(env), np.array([8, 9]))
    env.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_a_process_of_an_environment_leaves_signals_to_its_parent(number):
    """OSX-1: a Ctrl-C, the end of a terminal and that of a batch job reach every process, and the round must still be
    finished and saved."""
    env = cartpole("async", rows=2)
    env.reset(everyone(env), np.arange(2))
    for process in env._mode.env.processes:
        os.kill(process.pid, number)
    time.sleep(0.05)
    assert np.isfinite(env.step(np.zeros(2, int)).obs).all()
    env.close()


def test_a_process_of_an_environment_can_be_ended_whatever_its_parent_does_on_a_signal():
    """OSX-1: a child that inherited "save first" for SIGTERM would never end."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        env = cartpole("async", rows=2)
        env.reset(everyone(env), np.arange(2))
        for process in env._mode.env.processes:
            process.terminate()
            process.join(5)
            assert process.exitcode == -signal.SIGKILL
        env.close()
    finally:
        signal.signal(signal.SIGTERM, before)
