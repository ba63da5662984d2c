"""The recurrent layer that looks back over a window of steps: what it sees by hand, and what its state holds."""

import math

import pytest
import torch

from algos.common.nets.recurrent import Attention, Recurrent
from config.model import layers as settings
from config.model.layers import state_size

STEPS = torch.tensor([[2.0, 0.0], [0.0, 4.0], [6.0, 0.0], [0.0, 8.0]]).unsqueeze(1)
"""Steps [4, 1, 2], which layer normalization makes (1, -1), (-1, 1), (1, -1), (-1, 1)."""


def plain(window: int = 3) -> Attention:
    """Returns a layer whose output is the input plus the weighted mean of the normalized steps that it sees."""
    layer = Attention(2, 2, window, 1)
    one = torch.eye(2)
    with torch.no_grad():
        for part, weight in ((layer.embed, one), (layer.value, one), (layer.joined, one), (layer.query, 0 * one)):
            part.weight.copy_(weight)
        for part in (layer.embed, layer.joined, layer.after[3]):
            part.bias.zero_()
        layer.after[3].weight.zero_()
    return layer


def added(layer: Attention) -> list[list[float]]:
    """Returns what the layer adds to each of STEPS, without its second number, which is the first one's negative."""
    with torch.no_grad():
        out, _ = layer.run(STEPS, torch.zeros(1, layer.state_size))
    more = (out - STEPS).squeeze(1)
    torch.testing.assert_close(more[:, 0], -more[:, 1])
    return more[:, 0].tolist()


def test_without_scores_a_step_sees_the_mean_of_its_window() -> None:
    # 1; (1 - 1) / 2; (1 - 1 + 1) / 3; the first step is out of the window: (-1 + 1 - 1) / 3
    assert added(plain()) == pytest.approx([1, 0, 1 / 3, -1 / 3], abs=1e-5)


def test_the_distance_is_a_score() -> None:
    layer = plain()
    with torch.no_grad():
        layer.distance.copy_(torch.tensor([[0.0, 0.0, math.log(3)]]))
    # the step itself has three times the weight: 1; (1 - 3) / 4; (1 - 1 + 3) / 5; (-1 + 1 - 3) / 5
    assert added(layer) == pytest.approx([1, -1 / 2, 3 / 5, -3 / 5], abs=1e-5)


def test_scores_are_products_of_query_and_key_over_the_root_of_their_length() -> None:
    layer = plain()
    with torch.no_grad():
        layer.key.weight.copy_(torch.eye(2))
        layer.query.weight.copy_(math.log(2) / math.sqrt(2) * torch.eye(2))
    # like steps have a product of 2 and a score of ln 2, unlike ones of -ln 2: weights 2 and 1/2
    # 1; (1/2 - 2) / (5/2); (2 - 1/2 + 2) / (9/2); (-2 + 1/2 - 2) / (9/2)
    assert added(layer) == pytest.approx([1, -3 / 5, 7 / 9, -7 / 9], abs=1e-4)


def test_a_window_is_the_same_in_one_pass_and_step_by_step_and_ends_with_the_episode() -> None:
    torch.manual_seed(1)
    network = Recurrent([Attention(3, 8, 4, 2), torch.nn.Linear(8, 2)])
    obs, first = torch.randn(9, 2, 3), torch.zeros(9, 2, dtype=torch.bool)
    first[5, 0] = first[7, 1] = True
    before = torch.zeros(2, network.state_size)
    with torch.no_grad():
        out, state = network.unroll(obs, before, first), before
        for t in range(9):
            state = torch.where(first[t].unsqueeze(1), 0.0, state)
            one, state = network.step(obs[t], state)
            torch.testing.assert_close(out[t], one)
        torch.testing.assert_close(network.state_after(obs, before, first), state)
        # row 0 sees steps 5 to 8, which are its episode, and nothing before
        obs[:5, 0] += 1
        torch.testing.assert_close(network.unroll(obs, before, first)[5:, 0], out[5:, 0])


def test_what_is_older_than_the_window_has_no_effect_and_what_is_in_it_has() -> None:
    torch.manual_seed(1)
    network = Recurrent([Attention(3, 8, 4, 2)])
    obs, first = torch.randn(6, 1, 3, requires_grad=True), torch.zeros(6, 1, dtype=torch.bool)
    network.unroll(obs, torch.zeros(1, network.state_size), first)[5].sum().backward()
    assert obs.grad is not None
    assert [bool(step.any()) for step in obs.grad] == [False, False, True, True, True, True]


def test_the_settings_know_the_size_of_the_state() -> None:
    layer = settings.Attention(layer_size=[8, 4], window=5, heads=2)
    assert state_size(layer) == sum(Attention(3, size, 5, 2).state_size for size in (8, 4)) == 4 * 9 + 4 * 5
    with pytest.raises(ValueError, match="heads is 3, which does not divide layer_size"):
        settings.Attention(layer_size=[8], heads=3)
