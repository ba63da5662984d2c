"""The toys give the numbers that are known of them."""

import numpy as np
import pytest
from helpers_envs import everyone, sample

from envs.base import EnvError
from envs.toy import Config, check
from envs.toy.env import TIMED, make, names


def first_steps(action, count=1, rows=1, **settings):
    env = make(Config(**settings), rows)
    obs = [env.reset(everyone(env), np.arange(rows))]
    outs = []
    for _ in range(count):
        out = env.step(np.asarray(action(obs[-1])))
        outs.append((out.reward.copy(), out.terminated.copy(), out.truncated.copy()))
        obs.append(out.obs.copy())
    return obs, outs


@pytest.mark.parametrize("name", [name for name in names() if name not in ("crash", "bad", "hang")])
def test_every_toy_runs_and_its_observations_are_in_its_space(name):
    env = make(Config(id=name), 2)
    obs = env.reset(everyone(env), np.array([1, 2]))
    for action, _ in zip(sample(env.action_space, 2), range(12), strict=False):
        assert all(env.observation_space.contains(row) for row in obs)
        out = env.step(action)
        assert all(env.observation_space.contains(row) for row in out.obs)
        ended = out.terminated | out.truncated
        obs = env.reset(ended, np.array([3, 4])) if ended.any() else out.obs
    assert check(Config(id=name)) == []


@pytest.mark.parametrize(
    ("name", "best", "reward", "other"),
    [
        ("constant", lambda obs: [0] * 8, 1, 1),
        ("choice", lambda obs: [1] * 8, 1, -1),
        ("match", lambda obs: (obs[:, 0] > 0).astype(int), 1, -1),
        ("shifted", lambda obs: obs, 1, 0),
        ("target", lambda obs: obs, 0, -1),
        ("digits", lambda obs: obs, 1, 0),
        ("bits", lambda obs: obs, 1, 0),
        ("image", lambda obs: (obs[:, 0, 0, -1] > 0).astype(int), 1, -1),
        ("parts", lambda obs: ((obs[:, 0] > 0) & (obs[:, 3] > 0)).astype(int), 1, 0),
    ],
)
def test_the_best_action_of_a_task_has_its_known_worth_and_another_the_other(name, best, reward, other):
    """The flat vector of parts is cell (one-hot, 0 to 2), place (3 and 4). target: 1 beside it costs 1."""
    _, outs = first_steps(best, rows=8, id=name)
    assert outs[0][0].tolist() == [reward] * 8
    assert outs[0][1].all()
    _, outs = first_steps(lambda obs: 1 - np.asarray(best(obs)) if name != "target" else obs + 1, rows=8, id=name)
    if name in ("shifted", "digits"):  # with three numbers, 1 - best is wrong where it is not itself
        assert outs[0][0].min() == other
    else:
        np.testing.assert_allclose(outs[0][0], other, atol=1e-6)


def test_sign_pays_what_it_shows():
    obs, outs = first_steps(lambda obs: [0] * 8, rows=8, id="sign")
    np.testing.assert_array_equal(outs[0][0], obs[0][:, 0])
    assert set(obs[0][:, 0]) == {-1.0, 1.0}


def test_two_step_pays_at_its_end():
    obs, outs = first_steps(lambda obs: [0], count=2, id="two_step")
    assert [o[0, 0] for o in obs] == [0, 1, 2]
    assert [(float(r[0]), bool(t[0])) for r, t, _ in outs] == [(0.0, False), (1.0, True)]


def test_the_time_limit_only_truncates_and_raises_beyond_its_end():
    """TRM-2"""
    env = make(Config(id="time_limit", steps=4, reward=0.5), 1)
    env.reset(everyone(env), np.array([1]))
    outs = [env.step(np.array([0])) for _ in range(4)]
    assert not outs[-1].terminated[0]
    assert outs[-1].truncated[0]
    toy = TIMED["time_limit"](steps=1)
    toy.reset()
    assert toy.step(0)[1:4] == (1.0, False, True)
    with pytest.raises(RuntimeError, match="after the end"):
        toy.step(0)


@pytest.mark.parametrize(
    ("end", "flags"),
    [("terminated", (True, False)), ("truncated", (False, True)), ("both", (True, True)), ("never", (False, False))],
)
def test_the_counter_ramps_in_one_array_and_ends_as_told(end, flags):
    toy = TIMED["counter"](length=3, end=end)
    obs, _ = toy.reset()
    seen = []
    for _ in range(3):
        again, reward, *ends, info = toy.step(0)
        assert again is obs
        seen.append((float(again[0]), reward, info["count"]))
    assert seen == [(1.0, 1.0, 1), (2.0, 2.0, 2), (3.0, 3.0, 3)]
    assert tuple(ends) == flags
    if end != "never":
        with pytest.raises(RuntimeError, match="after the end"):
            toy.step(0)


def test_the_picture_of_a_counter_is_a_growing_bar():
    env = make(Config(id="counter", length=4, render_mode="rgb_array"), 1)
    env.reset(everyone(env), np.array([1]))
    env.step(np.array([0]))
    assert (env.render()[0, :, 0] == 220).sum() == 16
    assert env.render_fps == 10


def test_wrong_toys_and_settings_are_answered_with_the_nearest():
    assert "did you mean counter?" in check(Config(id="countr"))[0].message
    assert [problem.key for problem in check(Config(id="counter", lenght=3))] == ["lenght"]
    assert check(Config(id="match", steps=3)) == []
    assert check(Config(id="match", render_mode="rgb_array"))[0].key == "render_mode"
    with pytest.raises(EnvError, match="there is no toy"):
        make(Config(id="countr"), 1)


def test_check_stays_a_function_after_the_heavy_parts_are_imported():
    """A submodule of the same name would take its place in the package."""
    from envs import available, get

    for name in available():
        package = get(name)
        assert package.check(package.Config()) == []
        assert package.check(package.Config()) == []
