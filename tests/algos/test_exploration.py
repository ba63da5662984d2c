"""How actions are drawn, and the probabilities of that, with numbers by hand."""

import math

import numpy as np
import pytest

from algos.common.maths.exploration import (
    best_policy,
    draw,
    epsilon_greedy,
    epsilon_greedy_policy,
    greedy,
    softmax,
    softmax_policy,
    ucb_policy,
)

MANY = 40_000
VALUES = np.array([[1.0, 9.0, 3.0, 3.0]])
MASK = np.array([[True, False, True, True]])
COUNTS = np.array([[4, 5, 1, 6]])


def with_the_first(values, mask):
    """The probabilities of epsilon_greedy, which takes the first of the best and not any of them."""
    legal = np.ones(values.shape) if mask is None else mask.astype(float)
    first = np.eye(values.shape[1])[greedy(values, mask)] * legal
    return 0.4 * legal / np.maximum(legal.sum(1, keepdims=True), 1) + 0.6 * first


WAYS = {
    "epsilon_greedy": (
        lambda v, n, rng, mask: epsilon_greedy(v, 0.4, rng, mask),
        lambda v, n, mask: with_the_first(v, mask),
    ),
    "softmax": (lambda v, n, rng, mask: softmax(v, 2.0, rng, mask), lambda v, n, mask: softmax_policy(v, 2.0, mask)),
    **{
        name: (lambda v, n, rng, mask, policy=policy: draw(policy(v, n, mask), rng), policy)
        for name, policy in {
            "epsilon_greedy of a table": lambda v, n, mask: epsilon_greedy_policy(v, 0.4, mask),
            "ucb": lambda v, n, mask: ucb_policy(v, n, 2.0, mask),
            "best": lambda v, n, mask: best_policy(v, mask),
        }.items()
    },
}
every_way = pytest.mark.parametrize(("act", "policy"), WAYS.values(), ids=WAYS)


@every_way
@pytest.mark.parametrize("mask", [None, MASK])
def test_actions_are_as_frequent_as_their_probabilities(act, policy, mask):
    many = None if mask is None else mask.repeat(MANY, 0)
    drawn = act(VALUES.repeat(MANY, 0), COUNTS.repeat(MANY, 0), np.random.default_rng(0), many)
    probability = policy(VALUES, COUNTS, mask)[0]
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / MANY, probability, atol=0.01)
    assert probability.sum() == pytest.approx(1)


@every_way
def test_what_is_illegal_is_never_drawn_and_has_no_share(act, policy):
    """Also where it is by far the best, and where one action alone is legal."""
    rng, values = np.random.default_rng(0), np.array([[0.0, 1e6, -5.0]])
    for legal in ([True, False, True], [False, False, True]):
        mask = np.array([legal])
        counts = np.array([[3, 0, 0]])
        drawn = act(values.repeat(2000, 0), counts.repeat(2000, 0), rng, mask.repeat(2000, 0))
        assert set(drawn) <= set(np.flatnonzero(legal))
        probability = policy(values, counts, mask)
        assert probability[~mask].sum() == 0
        assert probability.sum() == pytest.approx(1)


@every_way
@pytest.mark.filterwarnings("error")
def test_a_state_where_nothing_is_legal_has_no_probabilities_and_no_warning(act, policy):
    """A terminal state may say so; it is only ever a successor."""
    nothing = np.zeros((1, 4), bool)
    assert policy(VALUES, COUNTS, nothing).tolist() == [[0, 0, 0, 0]]


@every_way
def test_everything_legal_is_the_same_as_no_mask(act, policy):
    values, counts = np.random.default_rng(1).integers(0, 3, (2, 50, 4))
    everything = np.ones((50, 4), bool)
    one, other = (act(values.astype(float), counts, np.random.default_rng(2), mask) for mask in (None, everything))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(
        policy(values.astype(float), counts, None), policy(values.astype(float), counts, everything)
    )


@every_way
def test_the_same_amount_of_randomness_is_drawn_whatever_the_values_are(act, policy):
    after = set()
    for values in (VALUES, np.zeros((1, 4))):
        for mask in (None, MASK):
            rng = np.random.default_rng(0)
            act(values, COUNTS, rng, mask)
            after.add(rng.random())
    assert len(after) == 1


def test_probabilities_by_hand():
    # of actions 0, 2 and 3 the best are 2 and 3; epsilon 0.4 is spread over the three, 0.6 over the two
    assert greedy(VALUES, MASK).tolist() == [2]
    assert best_policy(VALUES, MASK).tolist() == [[0, 0, 0.5, 0.5]]
    share = 0.4 / 3
    assert epsilon_greedy_policy(VALUES, 0.4, MASK)[0].tolist() == pytest.approx([share, 0, 0.3 + share, 0.3 + share])
    assert epsilon_greedy_policy(VALUES, 0.4)[0].tolist() == pytest.approx([0.1, 0.7, 0.1, 0.1])
    # exp((1 - 3) / 2) = 1 / e against 1 and 1
    total = 2 + 1 / math.e
    assert softmax_policy(VALUES, 2.0, MASK)[0].tolist() == pytest.approx([1 / math.e / total, 0, 1 / total, 1 / total])


def test_the_upper_bound_by_hand():
    """Sutton and Barto (2018), equation 2.10: Q + c sqrt(ln t / n)."""
    # t = 16; with c = 2: 1 + 2 sqrt(ln 16 / 4) = 2.67, 3 + 2 sqrt(ln 16) = 6.33, 3 + 2 sqrt(ln 16 / 6) = 4.36
    assert ucb_policy(VALUES, COUNTS, 2.0, MASK).tolist() == [[0, 0, 1, 0]]
    # of values 1 and 2 with 1 and 3 visits: 1 + c sqrt(ln 4) passes 2 + c sqrt(ln 4 / 3) where c > 1 / 0.4976 = 2.01
    values, counts = np.array([[1.0, 2.0]]), np.array([[1, 3]])
    assert ucb_policy(values, counts, 2.0).tolist() == [[0, 1]]
    assert ucb_policy(values, counts, 2.02).tolist() == [[1, 0]]


def test_what_was_never_tried_comes_first_and_chance_decides_among_it():
    values, counts = np.array([[5.0, 0.0, 0.0]]), np.array([[7, 0, 0]])
    assert ucb_policy(values, counts, 0.1).tolist() == [[0, 0.5, 0.5]]
    assert ucb_policy(values, np.zeros((1, 3), int), 0.1)[0].tolist() == pytest.approx([1 / 3] * 3)


def test_the_smallest_random_number_draws_no_action_of_probability_zero():
    class Smallest:
        def random(self, shape):
            return np.zeros(shape)

    assert draw(np.array([[0.0, 0.25, 0.75]]), Smallest()).tolist() == [1]


@pytest.mark.filterwarnings("error")
def test_huge_and_tiny_values_are_drawn_without_overflow():
    values = np.array([[1e300, -1e300, 0.0]])
    assert softmax_policy(values, 1e-3).tolist() == [[1, 0, 0]]
    assert softmax_policy(values, 1e-3, np.array([[False, True, True]])).tolist() == [[0, 0, 1]]
