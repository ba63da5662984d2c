"""The toys give the numbers that are known of them."""

from importlib.util import find_spec

import numpy as np
import pytest

from envs.base import EnvError
from envs.toy import Config, check
from envs.toy.env import TIMED, make, names
from tests.tools.envs import everyone, sample


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
        if env.action_mask is not None:
            action = env.action_mask.argmax(axis=1)
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


def finished(env, policy, rows):
    """Return and length of each row's first episode, from the seeds 0, 1, ..."""
    obs = env.reset(everyone(env), np.arange(rows))
    total, length, running = np.zeros(rows), np.zeros(rows, int), np.ones(rows, bool)
    while running.any():
        out = env.step(np.asarray(policy(obs)))
        total, length = total + running * out.reward, length + running
        ended = out.terminated | out.truncated
        running &= ~ended
        obs = env.reset(ended, np.arange(rows)) if ended.any() else out.obs.copy()
    return total, length


@pytest.mark.parametrize("mask", ["info", "obs"])
def test_the_best_legal_action_of_masked_is_the_one_after_what_is_shown(mask):
    """It gives 1 a step; the shown one is illegal and raises, and what comes after is worth one less each."""
    env = make(Config(id="masked", steps=3, mask=mask), 16)
    total, length = finished(env, lambda obs: (obs + 1) % 4, 16)
    assert (set(total), set(length)) == ({3.0}, {3})
    env = make(Config(id="masked", mask=mask), 32)
    obs = env.reset(everyone(env), np.arange(32))
    assert not env.action_mask[np.arange(32), obs % 4].any()
    assert env.action_mask[np.arange(32), (obs + 1) % 4].all()
    third = env.action_mask[np.arange(32), (obs + 3) % 4]
    assert third.any()
    assert not third.all()
    out = env.step((obs + np.where(third, 3, 1)) % 4)
    assert out.reward.tolist() == np.where(third, -1.0, 1.0).tolist()
    assert set(out.obs // 4) == {1}, "the second number of a step is in the second half"
    with pytest.raises(EnvError, match=r"step 2 .*action \d is illegal; legal are \["):
        env.step(out.obs % 4)


def test_recall_pays_for_the_cue_that_was_shown_so_many_steps_before():
    obs, outs = first_steps(lambda obs: np.ones(8, int), count=5, rows=8, id="recall")
    cue = obs[0][:, 0]
    assert set(cue) == {-1.0, 1.0}
    assert not any(seen[:, 0].any() for seen in obs[1:])
    assert [seen[0, 1] for seen in obs] == [0, 0, 0, 0, 1, 0]
    assert [bool(ended.all()) for _, ended, _ in outs] == [False, False, False, False, True]
    assert not any(reward.any() for reward, _, _ in outs[:-1])
    np.testing.assert_array_equal(outs[-1][0], cue)
    _, outs = first_steps(lambda obs: np.zeros(8, int), count=5, rows=8, id="recall")
    np.testing.assert_array_equal(outs[-1][0], -cue)
    _, outs = first_steps(lambda obs: np.full((8, 1), 0.25, np.float32), count=5, rows=8, id="recall", continuous=True)
    np.testing.assert_array_equal(outs[-1][0], 0.25 * cue)


def flips(n):
    """The first bit that differs, of the flat parts achieved, desired and observation."""
    return lambda obs: (obs[:, :n] != obs[:, n : 2 * n]).argmax(axis=1)


def test_bits_are_flipped_in_as_many_steps_as_differ_or_cut_off_after_n():
    env = make(Config(id="bitflip"), 16)
    obs = env.reset(everyone(env), np.arange(16))
    differ = (obs[:, :6] != obs[:, 6:12]).sum(axis=1)
    assert differ.min() >= 1
    total, length = finished(env, flips(6), 16)
    np.testing.assert_array_equal(total, 1 - differ)
    np.testing.assert_array_equal(length, differ)
    total, length = finished(env, lambda obs: np.zeros(16, int), 16)
    lost = total == -6
    assert lost.any()
    assert set(length[lost]) == {6}
    continuous = make(Config(id="bitflip", continuous=True), 16)
    total, _ = finished(continuous, lambda obs: np.eye(6, dtype=np.float32)[flips(6)(obs)], 16)
    np.testing.assert_array_equal(total, 1 - differ)


def test_reach_is_over_within_a_tenth_and_its_best_return_is_known():
    """The flat vector is achieved, desired, observation; each step brings it 0.2 nearer."""
    env = make(Config(id="reach"), 32)
    obs = env.reset(everyone(env), np.arange(32))
    distance = np.abs(obs[:, 0] - obs[:, 1]).astype(np.float64)
    total, _ = finished(env, lambda obs: np.clip(5 * (obs[:, 1:2] - obs[:, :1]), -1, 1), 32)
    np.testing.assert_array_equal(total, np.minimum(0, 1 - np.ceil((distance - 0.1) / 0.2)))
    total, length = finished(env, lambda obs: -np.sign(obs[:, 1:2] - obs[:, :1]), 32)
    assert total.min() == -20
    assert length.max() == 20


def values(name, gamma, policy, **settings):
    """[S], by going over the rules until nothing changes. policy: chance of each action."""
    probability, to, reward, terminated = make(Config(id=name, **settings), 1).model
    value = np.zeros(len(to))
    for _ in range(2000):
        value = ((probability * (reward + gamma * ~terminated * value[to])).sum(axis=2) * policy).sum(axis=1)
    return value


def test_the_values_of_walk_are_those_of_the_books():
    """i / (length + 1) by chance (Sutton and Barto, example 6.2), the gambler's ruin to the right, gamma^(5 - i)."""
    place = np.arange(1, 6)
    by_chance = values("walk", 1.0, [0.5, 0.5])
    np.testing.assert_allclose(by_chance[1:-1], place / 6, atol=1e-9)
    to_the_right = values("walk", 1.0, [0, 1])  # r = 0.25 / 0.75 = 1/3
    np.testing.assert_allclose(to_the_right[1:-1], (1 - 3.0**-place) / (1 - 3.0**-6), atol=1e-9)
    assert to_the_right[3] == pytest.approx(27 / 28)
    without_slip = values("walk", 0.9, [0, 1], slip=0.0)
    np.testing.assert_allclose(without_slip[1:-1], 0.9 ** (5 - place))
    assert by_chance[0] == by_chance[6] == 0.0


def test_walk_does_what_its_rules_say_and_is_cut_off_at_its_limit():
    total, _ = finished(make(Config(id="walk"), 400), lambda obs: np.ones(400, int), 400)
    assert total.mean() == pytest.approx(27 / 28, abs=0.03)
    total, length = finished(make(Config(id="walk", slip=0.0), 2), lambda obs: np.ones(2, int), 2)
    assert (total.tolist(), length.tolist()) == ([1.0, 1.0], [3, 3])
    env = make(Config(id="walk", slip=0.0, limit=4), 1)
    env.reset(everyone(env), np.array([1]))
    outs = [env.step(np.array([t % 2])) for t in range(4)]
    assert (outs[-1].terminated[0], outs[-1].truncated[0]) == (False, True)


@pytest.mark.parametrize(
    "settings",
    [
        {"id": "masked", "actions": 1},
        {"id": "masked", "steps": 0},
        {"id": "masked", "mask": "both"},
        {"id": "walk", "slip": 1.0},
        {"id": "walk", "length": 0},
        {"id": "bitflip", "n": 63},
        {"id": "reach", "n": 0},
        {"id": "recall", "delay": 0},
    ],
)
def test_settings_without_sense_are_refused(settings):
    assert check(Config(**settings)) == []
    with pytest.raises(EnvError, match="could not be made: ValueError: "):
        make(Config(**settings), 1)


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
        if name == "pettingzoo" and find_spec("pettingzoo") is None:
            continue  # its environments are not there
        must_be_given = ["id"] if name == "python" else []
        assert [problem.key for problem in package.check(package.Config())] == must_be_given
