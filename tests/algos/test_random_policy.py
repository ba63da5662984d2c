"""The algorithm Random: uniform over legal actions, from the given stream alone."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from algos.base import EnvSpec, Progress, UnfitError
from framework.seeding import stream
from tests.tools.core import agent_of

SPACES = [
    Discrete(3),
    Discrete(3, start=-1),
    MultiDiscrete([2, 4], start=[0, 5]),
    MultiDiscrete([[2, 3], [4, 5]]),
    MultiBinary(4),
    Box(np.array([-1, 0, -np.inf, -np.inf], np.float32), np.array([3, np.inf, 2, np.inf], np.float32)),
    Box(-2.0, 2.0, (2, 2)),
    Box(-3e38, 3e38, (1,)),
]


def agent(space):
    return agent_of("Random", EnvSpec("x", Box(-1, 1, (2,)), space, 1))


def drawn(space, rows, *name, mask=None):
    return agent(space).sample_action(np.zeros((rows, 2)), None, Progress(), stream(1, "x", *name), mask).action


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_actions_are_in_the_space_and_come_from_the_given_stream(space):
    one, obs = agent(space), np.zeros((64, 2))
    before = np.random.get_state()[1].copy()
    acts = [
        drawn(space, 64),
        one.evaluate_action(obs, None, stream(1, "x")).action,
        one.predict_action(obs, None).action,
    ]
    for action in acts:
        assert action.shape == (64, *space.shape)
        assert all(space.contains(row.astype(space.dtype)) for row in action)
    np.testing.assert_array_equal(acts[0], acts[1])
    assert (acts[2] == acts[2][0]).all(), "the best action is the same every time"
    assert (drawn(space, 64) != drawn(space, 64, 2)).any()
    assert (acts[0] != acts[0][0]).any()
    assert (np.random.get_state()[1] == before).all()


def test_every_action_is_as_likely_as_another():
    """Within 5 standard deviations of 30,000 draws; a fixed seed gives the same ones every time."""
    rows = 30_000
    for space, chances in ((Discrete(3), 3), (MultiBinary(2), 2), (MultiDiscrete([3, 3]), 3)):
        action = drawn(space, rows).reshape(rows, -1)
        for column in action.T:
            share = np.bincount(column, minlength=chances) / rows
            assert np.abs(share - 1 / chances).max() < 5 * np.sqrt(0.25 / rows)
    box = drawn(Box(-1, 3, (1,)), rows)[:, 0]
    assert np.abs(np.histogram(box, bins=4, range=(-1, 3))[0] / rows - 0.25).max() < 5 * np.sqrt(0.25 / rows)


def test_an_illegal_action_is_never_taken():
    mask = np.array([[False, True, True], [False, False, True], [True, False, False]] * 2000)
    action = drawn(Discrete(3), len(mask), mask=mask)
    assert mask[np.arange(len(mask)), action].all()
    assert 900 < (action[::3] == 1).sum() < 1100
    best = agent(Discrete(3)).predict_action(np.zeros((3, 2)), None, mask[:3]).action
    assert best.tolist() == [1, 2, 0]
    nobody_acts = np.zeros((4, 3), bool)
    assert drawn(Discrete(3), 4, mask=nobody_acts).tolist() == [0, 0, 0, 0]


def test_the_best_action_is_the_first_or_the_middle():
    obs = np.zeros((1, 2))
    best = [agent(space).predict_action(obs, None).action[0].tolist() for space in SPACES]
    assert best == [0, -1, [0, 5], [[0, 0], [0, 0]], [0, 0, 0, 0], [1, 0, 0, 0], [[0, 0], [0, 0]], [0]]


def test_it_has_no_weights_and_refuses_what_it_cannot_draw():
    one = agent(Discrete(3))
    assert (one.weights(), one.state(), one.parameter_count(), one.metric_names()) == ({}, {}, 0, ())
    one.load_weights({})
    one.load_state({})
    assert one.update({}).metrics == {}
    with pytest.raises(UnfitError, match=r"Random draws from .* not from Box"):
        drawn(Box(0, 5, (2,), np.int64), 2)
