"""Actions of several parts: the flat array, the sums over its parts, masks, and SAC's sums over its choices."""

import copy
import math
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple
from torch import nn

from algos.base import UnfitError
from algos.bc.mixture import Mixture
from algos.common.maths.distributions import distribution_for
from algos.common.maths.gaussian import HALF_LOG_TAU
from algos.random.agent import drawn, fixed
from algos.sac.choices import MOST_OUTCOMES, Choosing
from config.model.composite import Composite, amended, obeys, sample
from envs.base import EnvError
from envs.common import masks
from envs.common.spaces import Actions
from tests.tools.core import agent_of, spec_of, toy_of

NESTED = Dict(
    {
        "mode": Discrete(3, start=5),
        "more": Tuple([Box(-1, 2, (2,)), MultiBinary(2), Box(0, 1, ()), MultiDiscrete([2, 3], start=[1, 0])]),
    }
)
"""Flat: mode, two numbers, two bits, a number, two digits."""
SIMPLE = Tuple([Discrete(2), Box(-1, 1, (1,))])


def outputs(distribution: Any, *raw: float) -> torch.Tensor:
    return nn.Sequential(*distribution.tail(0.0))(torch.tensor([raw])).detach()


# ---------------------------------------------------------------------------------------------- one flat array


def test_the_flat_array_has_the_parts_in_the_order_of_gymnasium_and_counts_from_0() -> None:
    space = Composite(NESTED)
    action = {
        "mode": np.int64(6),
        "more": (np.float32([0.5, -0.5]), np.int8([0, 1]), np.array(0.25, np.float32), [2, 1]),
    }
    flat = space.encode(action)
    assert flat.tolist() == [1, 0.5, -0.5, 0, 1, 0.25, 1, 1]
    assert flat.dtype == np.float32
    assert space.first.tolist() == [5, 0, 0, 0, 0, 0, 1, 0]
    assert [part.name for part in space.parts] == ["mode", "more.0", "more.1", "more.2", "more.3"]
    assert space.own().encode(action).tolist() == [6, 0.5, -0.5, 0, 1, 0.25, 2, 1]


def test_what_is_decoded_is_what_the_environment_has_of_the_types_that_it_has() -> None:
    space = Composite(NESTED)
    for _ in range(20):
        action = NESTED.sample()
        [again] = space.decode(space.encode(action)[None])
        assert NESTED.contains(again)
        assert again["mode"] == action["mode"]
        assert type(again["mode"]) is np.int64
        for one, other in zip(again["more"], action["more"], strict=True):
            np.testing.assert_array_equal(one, other)
            assert np.asarray(one).dtype == np.asarray(other).dtype
    batch = space.decode_batch(np.stack([space.encode(NESTED.sample()) for _ in range(3)]))
    assert batch["mode"].shape == (3,)
    assert [part.shape for part in batch["more"]] == [(3, 2), (3, 2), (3,), (3, 2)]


def test_spaces_are_equal_by_what_they_are_made_of_and_survive_processes() -> None:
    space = Composite(NESTED)
    assert pickle.loads(pickle.dumps(space)) == space == copy.deepcopy(space)
    assert space != Composite(SIMPLE)
    assert space != space.own()
    assert str(space) == str(NESTED)
    space.seed(3)
    first = space.sample()
    space.seed(3)
    np.testing.assert_array_equal(space.sample(), first)
    assert space.contains(first)
    assert not space.contains(first + 0.5)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Tuple([Discrete(2), Box(0, 3, (1,), np.int64)]), "the part '1' of Tuple.*cannot be chosen.*TransformAction"),
        (Dict({"a": Dict({"b": Discrete(2**25)})}), "more than 16,777,216 values"),
        (Tuple([]), "is empty: there is nothing to choose"),
    ],
)
def test_what_cannot_be_a_part_is_refused(space: Space, message: str) -> None:
    with pytest.raises(EnvError, match=message):
        Actions(space)


# ----------------------------------------------------------------------------------------- sums over the parts


def test_log_probability_and_entropy_are_the_sums_of_the_parts() -> None:
    """Logits ln 1 and ln 3: probabilities 1/4 and 3/4. A normal variable of mean 0.5 and deviation 1."""
    distribution = distribution_for(Composite(SIMPLE))
    out = outputs(distribution, 0.0, math.log(3), 0.5)
    assert out.tolist() == [[0.0, pytest.approx(math.log(3)), 0.5, 0.0]]
    log_prob = distribution.log_prob(out, torch.tensor([[1.0, 1.5]]))
    assert log_prob.tolist() == [pytest.approx(math.log(0.75) - 0.5 - HALF_LOG_TAU)]
    entropy = -0.25 * math.log(0.25) - 0.75 * math.log(0.75) + 0.5 + HALF_LOG_TAU
    assert distribution.entropy(out).tolist() == [pytest.approx(entropy)]
    # KL of (1/4, 3/4) from (1/2, 1/2), and of N(0.5, 1) from N(0, 1): half the squared distance
    other = outputs(distribution, 0.0, 0.0, 0.0)
    kl = 0.25 * math.log(0.5) + 0.75 * math.log(1.5) + 0.125
    assert distribution.kl(out, other).tolist() == [pytest.approx(kl)]
    assert distribution.mode(out.numpy()).tolist() == distribution.best(out).tolist() == [[1.0, 0.5]]


def test_each_box_is_scaled_to_its_own_bounds_and_choices_stay_as_they_are() -> None:
    distribution = distribution_for(Composite(Tuple([Box(0, 4, (1,)), Discrete(3), Box(-2, 2, (1,))])))
    action = np.float32([[0.5, 2, 3]])
    assert distribution.to_env(action).tolist() == [[3.0, 2.0, 2.0]]  # 2 + 2 * 0.5; clipped to 2
    assert distribution.from_env(torch.tensor([[3.0, 2.0, 1.0]])).tolist() == [[0.5, 2.0, 1.0]]


def test_a_mask_forbids_values_of_each_choice_and_leaves_numbers_alone() -> None:
    space = Composite(NESTED)
    distribution = distribution_for(space)
    rng = np.random.default_rng(0)
    raw = torch.tensor(rng.standard_normal((200, distribution.outputs)), dtype=torch.float32)
    out = nn.Sequential(*distribution.tail(0.0))(raw).detach()
    # entries: 3 of mode, 2 of each bit, 2 and 3 of the digits
    mask = np.array([1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 1], bool)
    many = np.tile(mask, (200, 1))
    legal = distribution.masked(out.numpy(), many)
    assert torch.equal(distribution.masked(out, torch.tensor(many)), torch.tensor(legal))
    action, log_prob = distribution.sample(legal, rng)
    assert obeys(action, many, space).all()
    assert set(action[:, 0]) == {0.0, 2.0}
    assert (action[:, 3] == 1).all()
    assert (action[:, 4] == 0).all()
    assert (action[:, 7] == 2).all()
    assert obeys(distribution.mode(legal), many, space).all()
    again = distribution.log_prob(torch.tensor(legal), torch.tensor(action))
    np.testing.assert_allclose(again.numpy(), log_prob, rtol=1e-4, atol=1e-4)
    entropy = distribution.entropy(torch.tensor(legal))
    assert torch.isfinite(entropy).all()
    assert torch.isfinite(distribution.kl(torch.tensor(legal), torch.tensor(legal))).all()


def test_a_mixture_takes_the_place_of_the_normal_variables_of_each_box() -> None:
    distribution = distribution_for(Composite(SIMPLE), lambda box: Mixture(box, 2))
    assert distribution.outputs == 2 + 2 * (1 + 1)
    # equal weights of N(-1, 1) and N(1, 1): at 0 the density is that of N(1, 1) there
    out = outputs(distribution, 0.0, 0.0, 0.0, 0.0, -1.0, 1.0)
    log_prob = distribution.log_prob(out, torch.tensor([[0.0, 0.0]]))
    assert log_prob.tolist() == [pytest.approx(math.log(0.5) - 0.5 - HALF_LOG_TAU)]


# ------------------------------------------------------------------------------------------------------- masks


@pytest.mark.parametrize(
    ("mask", "space", "flat"),
    [
        ({"mode": np.int8([1, 0, 1])}, NESTED, [1, 0, 1, *[1] * 9]),
        ({"more": (None, np.int8([0, 2]), None, None)}, NESTED, [1, 1, 1, 1, 0, 1, 1, *[1] * 5]),
        ({"more": (None, None, None, (np.int8([0, 1]), np.int8([1, 1, 0])))}, NESTED, [*[1] * 7, 0, 1, 1, 1, 0]),
        ((np.int8([0, 1]), None), SIMPLE, [0, 1]),
        (np.int8([0, 1]), SIMPLE, [0, 1]),
        ((np.int8([0, 1]), np.int8([1, 0, 0])), MultiDiscrete([2, 3]), [0, 1, 1, 0, 0]),
        (np.int8([1, 0, 2]), MultiBinary(3), [0, 1, 1, 0, 1, 1]),
    ],
)
def test_a_mask_has_the_form_that_gymnasium_samples_with_or_is_flat(mask: Any, space: Space, flat: list[int]) -> None:
    assert masks.legal(mask, space).tolist() == [bool(entry) for entry in flat]
    if not isinstance(mask, np.ndarray) or isinstance(space, MultiBinary):
        own = Composite(space) if isinstance(space, Dict | Tuple) else space
        assert masks.legal(masks.legal(mask, space), own).tolist() == [bool(entry) for entry in flat]


@pytest.mark.parametrize(
    ("mask", "space", "message"),
    [
        ({"mood": np.int8([1])}, NESTED, "there is no part 'mood'"),
        ({"mode": np.int8([1, 1])}, NESTED, "has shape .2,., and there are 3"),
        (np.ones(3), SIMPLE, "has shape .3,., and there are 2"),
        (np.ones(1), Box(-1, 1, (1,)), "actions that are chosen from a few"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused(mask: Any, space: Space, message: str) -> None:
    with pytest.raises(EnvError, match=message):
        masks.legal(mask, space)


def test_illegal_choices_give_way_to_the_first_legal_ones() -> None:
    space = Composite(SIMPLE)
    actions, mask = np.float32([[0, 0.5], [1, 0.5]]), np.array([[0, 1], [1, 0]], bool)
    assert obeys(actions, mask, space).tolist() == [False, False]
    assert amended(actions, mask, space).tolist() == [[1, 0.5], [0, 0.5]]
    assert amended(np.array([1, 1]), mask, Discrete(2)).tolist() == [1, 0]
    over = np.array([True, False])
    assert masks.stuck(np.zeros((2, 2), bool), over, space).tolist() == [False, True]


@pytest.mark.parametrize("space", [Composite(NESTED), MultiDiscrete([2, 3]), MultiBinary((2, 2))])
def test_random_actions_are_legal_and_all_of_them_occur(space: Space) -> None:
    entries = masks.count(space)
    mask = np.tile(np.arange(entries) % 2 == 1, (400, 1))
    for place in masks.choices(space).first[masks.choices(space).size == 3]:
        mask[:, place : place + 3] = [False, True, True]
    rng = np.random.default_rng(0)
    actions = drawn(space, 400, rng, mask)
    chosen = masks.choices(space).of(actions.reshape(400, -1))
    assert obeys(actions, mask, space).all()
    assert set(np.unique(chosen)) == set(np.flatnonzero(mask[0]))
    assert obeys(fixed(space, 2, mask[:2]), mask[:2], space).all()
    space.seed(0)
    assert all(obeys(sample(space, mask[0])[None], mask[:1], space).all() for _ in range(20))


# --------------------------------------------------------------------------------------------------------- SAC


def choosing(space: Space = SIMPLE, **settings: Any) -> Choosing:
    cfg = {"alpha": 0.5, "alpha_init": 1.0, "target_entropy_scale": 0.5, **settings}
    return Choosing(SimpleNamespace(**cfg), Composite(space), torch.device("cpu"))  # type: ignore[arg-type]


def test_the_soft_value_is_the_sum_over_the_choices() -> None:
    """pi = 1/4, 3/4 and Q = 2, 6: 5 + alpha H(pi), with alpha 1/2."""
    from algos.common.maths.targets import entropy_of, soft_value

    choices = choosing()
    log_pi = choices.log_pi(torch.tensor([[0.0, math.log(3), 9.0, 9.0]]), None)
    assert log_pi.exp().tolist() == [pytest.approx([0.25, 0.75])]
    entropy = -0.25 * math.log(0.25) - 0.75 * math.log(0.75)
    assert entropy_of(log_pi).tolist() == [pytest.approx(entropy)]
    value = soft_value(log_pi, torch.tensor([[2.0, 6.0]]), choices.temperature.alpha())
    assert value.tolist() == [pytest.approx(5 + 0.5 * entropy)]


def test_combinations_of_choices_are_counted_with_the_last_one_fastest() -> None:
    """Discrete(2) and a bit beside a number: 4 combinations (0, 0), (0, 1), (1, 0), (1, 1)."""
    choices = choosing(Tuple([Discrete(2), Box(-1, 1, (1,)), MultiBinary(1)]))
    assert (choices.outcomes, choices.logits) == (4, 4)
    assert choices.table.tolist() == [[0, 2], [0, 3], [1, 2], [1, 3]]
    log_pi = choices.log_pi(torch.log(torch.tensor([[0.25, 0.75, 0.4, 0.6]])), None)
    assert log_pi.exp().tolist() == [pytest.approx([0.1, 0.15, 0.3, 0.45])]
    q = torch.arange(8.0).view(2, 1, 4)
    assert choices.chosen(q, torch.tensor([[1.0, -0.3, 0.0]])).tolist() == [[2.0], [6.0]]
    assert choices.joined(np.array([[1, 0]]), np.float32([[-0.5]])).tolist() == [[1.0, -0.5, 0.0]]


def test_the_target_entropy_of_choices_is_a_share_of_what_is_legal() -> None:
    choices = choosing(Tuple([Discrete(4), Box(-1, 1, (1,)), Discrete(2)]))
    assert choices.target_entropy(None) == pytest.approx(0.5 * math.log(8))
    mask = torch.tensor([[True, False, True, False, True, False], [True] * 6])
    assert choices.target_entropy(mask).tolist() == pytest.approx([0.5 * math.log(2), 0.5 * math.log(8)])  # type: ignore[union-attr]


def test_sac_refuses_more_combinations_than_it_has_outputs_for_and_names_who_does_not() -> None:
    space = Tuple([MultiBinary(11), Box(-1, 1, (1,))])
    with pytest.raises(UnfitError, match=f"2,048 combinations.*at most {MOST_OUTCOMES:,}; PPO"):
        choosing(space)


@pytest.mark.parametrize(("setting", "value"), [("cql_alpha", 1.0), ("critic_bins", 21), ("diversity", 1.0)])
def test_sac_refuses_parts_of_the_loss_that_choices_do_not_have(setting: str, value: float) -> None:
    with pytest.raises(UnfitError, match=f"{setting} is for Box actions"):
        agent_of("SAC", spec_of(toy_of("modes")), **{setting: value})
