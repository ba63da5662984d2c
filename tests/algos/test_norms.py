"""Layers that keep activations and weights in a range: batch and root mean square normalization, rows of constant norm,
residual blocks, spectral norms."""

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from torch import nn

from algos.base import EnvSpec, UnfitError
from algos.common.nets import critics, networks
from algos.common.nets.critics import EnsembleLinear
from algos.common.nets.layers import (
    BATCH_EPSILON,
    RMS_EPSILON,
    BatchNorm,
    Residual,
    RmsNorm,
    SpectralConv2d,
    batch_statistics,
    changed_by,
    largest_singular_value,
)
from algos.common.nets.observations import RandomShift
from algos.sac.actor_critic import unit_weights
from algos.sac.config import Config
from config.model import layers as settings
from config.model.layers import Conv2d, Layers, Linear

CFG = Config()
PIXELS = Box(0, 255, (3, 16, 16), np.uint8)


def spec(observation: Box) -> EnvSpec:
    return EnvSpec("x", observation, Box(-1, 1, (2,)), 1)


VECTOR = spec(Box(-1, 1, (4,)))


def build(layers: Layers, of: EnvSpec = VECTOR, out: int = 2) -> nn.Module:
    return networks.build(of, layers, out, CFG, 1)


# batch normalization --------------------------------------------------------------------------------------


def batch_norm(members: int = 1) -> BatchNorm:
    shape = (1, 1) if members == 1 else (members, 1, 1)
    return BatchNorm(shape, settings.BatchNorm(momentum=0.1))


def test_batch_normalization_learns_by_the_batch_and_acts_by_running_statistics() -> None:
    layer, batch = batch_norm(), torch.tensor([[0.0], [2.0]])
    with batch_statistics(layer):
        out = layer(batch)
    # mean 1, variance 1 over B, 2 over B - 1
    size = 1 / math.sqrt(1 + BATCH_EPSILON)
    assert out.flatten().tolist() == pytest.approx([-size, size])
    assert layer.mean.item() == pytest.approx(0.1)
    assert layer.variance.item() == pytest.approx(0.9 + 0.1 * 2)
    acting = layer(torch.tensor([[0.1]]))
    assert acting.item() == pytest.approx(0.0, abs=1e-6)
    assert layer(torch.tensor([[1.1]])).item() == pytest.approx(1 / math.sqrt(1.1 + BATCH_EPSILON))
    assert layer.mean.item() == pytest.approx(0.1), "acting changes nothing"


def test_each_member_of_an_ensemble_has_statistics_of_its_own() -> None:
    layer, batch = batch_norm(2), torch.tensor([[[0.0], [2.0]], [[3.0], [7.0]]])
    with batch_statistics(layer):
        out = layer(batch)
    assert out[1].flatten().tolist() == pytest.approx([-1, 1], abs=1e-5)
    assert layer.mean.flatten().tolist() == pytest.approx([0.1, 0.5])


def test_without_gradients_the_running_statistics_count() -> None:
    """A target action is drawn by a policy that acts."""
    layer = batch_norm()
    with batch_statistics(layer), torch.no_grad():
        assert layer(torch.tensor([[5.0], [7.0]])).flatten().tolist() == pytest.approx([5, 7], rel=1e-4)
    assert layer.mean.item() == 0


def test_the_root_mean_square_becomes_one() -> None:
    out = RmsNorm((2,))(torch.tensor([[3.0, 4.0]]))
    root = math.sqrt(12.5 + RMS_EPSILON)
    assert out.flatten().tolist() == pytest.approx([3 / root, 4 / root])


# weights of constant norm ---------------------------------------------------------------------------------


def test_rows_become_unit_vectors_and_norms_keep_the_root_of_their_width() -> None:
    linear, ensemble, norm, root = nn.Linear(2, 2), EnsembleLinear(2, 2, 1), batch_norm(), RmsNorm((4,))
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
        linear.bias.copy_(torch.tensor([5.0, 6.0]))
        ensemble.weight.copy_(torch.tensor([[[6.0], [8.0]], [[0.0], [1.0]]]))
        norm.weight.fill_(3.0)
        norm.bias.fill_(4.0)
        root.weight.fill_(2.0)
    unit_weights(nn.ModuleList([linear, ensemble, norm, root]))
    assert linear.weight.tolist() == [pytest.approx([0.6, 0.8]), [0.0, 1.0]]
    assert linear.bias.tolist() == [5.0, 6.0]
    assert ensemble.weight.flatten().tolist() == pytest.approx([0.6, 0.8, 0.0, 1.0])
    assert (norm.weight.item(), norm.bias.item()) == pytest.approx((0.6, 0.8))
    assert root.weight.tolist() == pytest.approx([1.0] * 4)


# residual blocks ------------------------------------------------------------------------------------------


def test_a_block_adds_what_its_layers_make_of_the_input() -> None:
    block = settings.Residual(layers=[settings.Function(), Linear(layer_size=[4], activation="none")])
    network = build([block])
    residual = network[0]
    assert isinstance(residual, Residual)
    with torch.no_grad():
        residual.body[1].weight.copy_(2.0 * torch.eye(4))
        residual.body[1].bias.fill_(1.0)
    # x + 2 relu(x) + 1: the function alone leaves x as it is
    assert residual(torch.tensor([[-1.0, 2.0, 0.0, 1.0]])).tolist() == [[0.0, 7.0, 1.0, 4.0]]


@pytest.mark.parametrize("members", [0, 2])
def test_a_block_keeps_the_shape_and_has_no_cells(members: int) -> None:
    def of(layers: Layers) -> object:
        if not members:
            return build(layers)
        return critics.build(VECTOR, layers, CFG, 1, members=members, actions=2)

    with pytest.raises(UnfitError, match="a block keeps the shape"):
        of([settings.Residual(layers=[Linear(layer_size=[3])])])
    with pytest.raises(UnfitError, match="cannot have a layer of type gru"):
        of([settings.Residual(layers=[settings.Gru(layer_size=[4])])])


@pytest.mark.long
def test_critics_with_blocks_are_the_single_networks_side_by_side() -> None:
    width = 6
    block = [Linear(layer_size=[8], bias=False), settings.RmsNorm(), Linear(layer_size=[width], bias=False)]
    critic = critics.build(VECTOR, [settings.Residual(layers=block)], CFG, 1, members=3, actions=2)
    obs, action = torch.randn(5, 4), torch.randn(5, 2)
    out = critic(obs, action)
    x = torch.cat([obs, action], 1)
    first, _, norm, second, _ = critic.body[0].body
    last = critic.body[1]
    for i in range(3):
        hidden = (x @ first.weight[i]).relu()
        hidden = hidden / (hidden.square().mean(1, keepdim=True) + RMS_EPSILON).sqrt() * norm.weight[i]
        features = x + (hidden @ second.weight[i]).relu()
        torch.testing.assert_close(out[i], features @ last.weight[i] + last.bias[i])


# images ---------------------------------------------------------------------------------------------------


def test_the_largest_singular_value_and_its_gradient_are_those_of_the_decomposition() -> None:
    for shape in ((3, 5), (5, 3)):
        matrix = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        u, values, v = torch.linalg.svd(matrix.detach())
        value = largest_singular_value(matrix)
        assert value.item() == pytest.approx(values[0].item())
        value.backward()
        torch.testing.assert_close(matrix.grad, torch.outer(u[:, 0], v[0]))


def test_a_spectral_convolution_has_weights_of_norm_one() -> None:
    layer = SpectralConv2d(2, 4, 3)
    with torch.no_grad():
        layer.weight.mul_(7.0)
    image = torch.randn(1, 2, 5, 5)
    weight = layer.weight / torch.linalg.matrix_norm(layer.weight.flatten(1), 2)
    torch.testing.assert_close(layer(image), nn.functional.conv2d(image, weight, layer.bias))


def test_the_network_of_impala_halves_the_image_three_times() -> None:
    network = build([settings.ImpalaCnn(channels=[4, 8, 8], spectral_norm=True), Linear(layer_size=[16])], spec(PIXELS))
    kinds = [type(part).__name__ for part in network]
    assert kinds[1:4] == ["Conv2d", "MaxPool2d", "Residual"]
    assert [type(part).__name__ for part in network[3].body] == ["ReLU", "SpectralConv2d"] * 2
    convolutions = sum(isinstance(part, nn.Conv2d) for part in network.modules())
    assert convolutions == 3 * 5
    assert network[-3].in_features == 8 * 2 * 2
    assert network(torch.zeros(2, 3, 16, 16, dtype=torch.uint8)).shape == (2, 2)


def test_an_image_moves_as_one_and_repeats_its_edge() -> None:
    image = torch.arange(9.0).view(1, 1, 3, 3)

    class Fixed:
        def integers(self, low: int, high: int, size: tuple[int, int]) -> np.ndarray:
            assert (low, high, size) == (-1, 2, (2, 1))
            return np.array([[1], [-1]])

    shift = RandomShift(Box(0, 1, (1, 3, 3)), 1)
    moved = shift(image, Fixed())  # type: ignore[arg-type]
    # row y + 1, column x - 1
    assert moved[0, 0].tolist() == [[3, 3, 4], [6, 6, 7], [6, 6, 7]]
    last = RandomShift(Box(0, 255, (3, 3, 1), np.uint8), 1)
    assert last(image.permute(0, 2, 3, 1), Fixed())[0, :, :, 0].tolist() == moved[0, 0].tolist()  # type: ignore[arg-type]
    sequence = torch.stack([image, image + 10])
    both = shift(sequence, Fixed())  # type: ignore[arg-type]
    assert torch.equal(both[1], both[0] + 10)


def test_shifts_are_for_images() -> None:
    with pytest.raises(UnfitError, match="random_shift: is for images"):
        RandomShift(Box(0, 1, (4,)), 1)


# shared layers that one network does not change ------------------------------------------------------------


def test_a_frozen_layer_gets_no_gradient_and_is_not_in_the_optimizer() -> None:
    of = EnvSpec("x", PIXELS, Box(-1, 1, (2,)), 1)
    eye = Conv2d(out_channel=2, kernel_size=4, stride=4, shared="eye")
    still = eye.model_copy(update={"frozen": True})
    critic = critics.build(of, [eye, Linear(layer_size=[4])], CFG, 1, members=2, actions=2)
    actor = networks.build(of, [still, Linear(layer_size=[4])], 2, CFG, 2)
    assert actor[1] is critic.front[1]
    actor(torch.zeros(1, 3, 16, 16, dtype=torch.uint8)).sum().backward()
    assert actor[1].weight.grad is None
    assert not {id(p) for p in actor[1].parameters()} & {id(p) for p in changed_by(actor)}
    assert len(changed_by(critic)) == len(list(critic.parameters()))


def test_frozen_needs_a_network_that_changes_the_weights() -> None:
    with pytest.raises(ValueError, match="frozen needs shared"):
        Linear(layer_size=[4], frozen=True)
