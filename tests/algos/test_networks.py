"""Networks from layer lists: shapes, first weights, and what is said where a list does not fit."""

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, Space
from torch import Tensor, nn

from algos.base import EnvSpec, Part
from algos.btr.config import Config as BtrConfig
from algos.common.nets import critics
from algos.common.nets.layers import Dueling, RandomZeros, SpectralConv2d, seed_dropout, value_layer
from algos.common.nets.networks import NetworkError, build
from algos.common.nets.observations import normalizer_for
from algos.common.settings import NetworkConfig
from config import machine
from config.model.layers import Conv2d, Dropout, Embed, Flatten, LayerNorm, Layers, Linear, Lstm, Parts, Pooling, mlp

torch.set_num_threads(1)

CFG = NetworkConfig()
VECTOR = Box(-1, 1, (4,), np.float32)


def spec_of(space: Space, parts: tuple[Part, ...] = ()) -> EnvSpec:
    return EnvSpec("test", space, Discrete(2), 1, parts)


def pixels(*shape: int) -> Box:
    return Box(0, 255, shape, np.uint8)


def observations(space: Space, rows: int = 3) -> torch.Tensor:
    space.seed(0)
    return torch.tensor(np.stack([space.sample() for _ in range(rows)]))


def linear_inputs(network: nn.Module) -> list[int]:
    return [module.in_features for module in network.modules() if isinstance(module, nn.Linear)]


# ------------------------------------------------------------------------------------------------------ layers


def test_an_image_without_convolutions_gets_those_of_nature_dqn() -> None:
    # 84 -> (84-8)/4+1 = 20 -> (20-4)/2+1 = 9 -> 9-3+1 = 7: 64*7*7 = 3136
    network = build(spec_of(pixels(4, 84, 84)), mlp(512), 6, CFG, 0)
    assert [m.out_channels for m in network if isinstance(m, nn.Conv2d)] == [32, 64, 64]
    assert linear_inputs(network) == [3136, 512]


def test_a_small_image_gets_a_small_network_and_a_tiny_one_is_flattened() -> None:
    # 10 -> 8 -> (8-3)//2+1 = 3: 32*3*3 = 288
    assert linear_inputs(build(spec_of(pixels(10, 10, 4)), mlp(8), 2, CFG, 0)) == [288, 8]
    assert linear_inputs(build(spec_of(pixels(4, 4, 3)), mlp(8), 2, CFG, 0)) == [48, 8]
    assert linear_inputs(build(spec_of(pixels(10, 10, 4)), [Flatten(), *mlp(8)], 2, CFG, 0)) == [400, 8]


def test_btr_puts_the_residual_network_of_its_paper_before_the_layers_for_large_images() -> None:
    # 84 -> 42 -> 21 -> 11, each half rounded up; the maximum over windows leaves 6: 64*6*6 = 2304
    network = build(spec_of(pixels(4, 84, 84)), mlp(512), 6, BtrConfig(), 0)
    convolutions = [m for m in network.modules() if isinstance(m, nn.Conv2d)]
    assert [m.out_channels for m in convolutions] == [32] * 5 + [64] * 10
    assert [isinstance(m, SpectralConv2d) for m in convolutions] == [False, True, True, True, True] * 3
    assert linear_inputs(network) == [2304, 512]
    assert linear_inputs(build(spec_of(pixels(10, 10, 4)), mlp(8), 2, BtrConfig(), 0)) == [288, 8]
    eye = spec_of(pixels(4 * 84 * 84), (Part("eye", 0, 4 * 84 * 84, (4, 84, 84)),))
    assert linear_inputs(build(eye, mlp(8), 2, BtrConfig(branches={"eye": mlp(16)}), 0)) == [2304, 16, 8]


def test_pooling_to_a_size_takes_windows_that_divide_the_image_evenly() -> None:
    layers: Layers = [Pooling(output_size=2), Flatten()]
    network = build(spec_of(Box(-99, 99, (1, 3, 4), np.float32)), layers, 1, CFG, 0)[:-1]
    image = torch.arange(12.0).view(1, 1, 3, 4)
    # rows 0..1 and 1..2 of [[0 1 2 3], [4 5 6 7], [8 9 10 11]], columns 0..1 and 2..3
    assert network(image).tolist() == [[5, 7, 9, 11]]
    layers[0] = Pooling(pooling_type="avg2d", output_size=2)
    network = build(spec_of(Box(-99, 99, (1, 3, 4), np.float32)), layers, 1, CFG, 0)[:-1]
    assert network(image).tolist() == [[2.5, 4.5, 6.5, 8.5]]
    with pytest.raises(ValueError, match="output_size chooses the windows"):
        Pooling(output_size=2, stride=3)


def test_layers_follow_the_list_and_images_are_flattened_before_a_linear_layer() -> None:
    layers: Layers = [
        Conv2d(out_channel=6, in_channel=3, kernel_size=3, stride=1, padding=1, activation="elu"),
        Pooling(pooling_type="avg2d"),
        Linear(layer_size=[16, 8], activation="tanh"),
        LayerNorm(),
        Dropout(rate=0.5),
    ]
    network = build(spec_of(Box(-1, 1, (3, 8, 8), np.float32)), layers, 2, CFG, 0)
    names = "Conv2d ELU AvgPool2d Flatten Linear Tanh Linear Tanh LayerNorm RandomZeros Linear"
    assert [type(module).__name__ for module in network] == names.split()
    assert linear_inputs(network) == [6 * 4 * 4, 16, 8]


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        ("relu", [0.0, 2.0]),
        ("tanh", [math.tanh(-1), math.tanh(2)]),
        ("sigmoid", [1 / (1 + math.e), 1 / (1 + math.exp(-2))]),
        ("softmax", [1 / (1 + math.exp(3)), 1 / (1 + math.exp(-3))]),
        ("leakyrelu", [-0.01, 2.0]),
        ("gelu", [-0.158655, 1.954500]),
        ("silu", [-1 / (1 + math.e), 2 / (1 + math.exp(-2))]),
        ("elu", [math.exp(-1) - 1, 2.0]),
        ("none", [-1.0, 2.0]),
    ],
)
def test_each_activation_is_what_its_name_says(activation: str, expected: list[float]) -> None:
    space = Box(-9, 9, (2,), np.float32)
    network = build(spec_of(space), mlp(2, activation=activation), 1, CFG, 0)[:-1]
    with torch.no_grad():
        network[0].weight.copy_(torch.eye(2))
        network[0].bias.zero_()
    assert network(torch.tensor([[-1.0, 2.0]])).squeeze(0).tolist() == pytest.approx(expected, abs=1e-5)


def test_an_embedding_has_a_row_for_each_observation() -> None:
    network = build(spec_of(Discrete(5, start=2)), [Embed(embedding_dim=3), *mlp(8)], 2, CFG, 0)
    assert linear_inputs(network) == [3, 8]
    table = network[1].weight
    assert torch.equal(network[:2](torch.tensor([2, 6])), table[[0, 4]])


@pytest.mark.parametrize(
    ("space", "layers", "message"),
    [
        (
            Box(-1, 1, (3, 8, 8), np.float32),
            [Conv2d(out_channel=32), Conv2d(out_channel=32)],
            "(3, 8, 8) -conv2d k4 s4-> (32, 2, 2) -conv2d k4 s4-> does not fit: "
            "the window 4 x 4 is larger than the image 2 x 2",
        ),
        (
            Box(-1, 1, (3, 8, 8), np.float32),
            [Conv2d(out_channel=8, in_channel=1)],
            "(3, 8, 8) -conv2d k4 s4-> does not fit: in_channel is 1, but 3 come in",
        ),
        (
            VECTOR,
            [*mlp(8), Pooling()],
            "(4,) -linear 8-> (8,) -max2d k2 s2-> does not fit: it needs an image (channels, height, width)",
        ),
        (
            VECTOR,
            [Embed(embedding_dim=3)],
            "(4,) -embed-> does not fit: it can only be the first layer, and only for a Discrete observation",
        ),
        (
            Discrete(5),
            [Embed(embedding_dim=3, n_embeddings=4)],
            "Discrete(5) -embed-> does not fit: n_embeddings is 4, but the observation has 5 values",
        ),
    ],
)
def test_a_list_that_does_not_fit_is_answered_with_the_chain_of_shapes(
    space: Space, layers: Layers, message: str
) -> None:
    with pytest.raises(NetworkError) as error:
        build(spec_of(space), layers, 2, CFG, 0)
    assert str(error.value) == message


def test_a_layer_that_this_machine_cannot_hold_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each of ten million states would take minutes to make, and then the process would be killed."""
    monkeypatch.setattr(machine, "available_bytes", lambda: 2**30)
    with pytest.raises(NetworkError, match=r"linear 256-> does not fit: its 512,000,000 weights need 7\.6 GiB"):
        build(spec_of(Discrete(2_000_000)), mlp(256), 2, CFG, 0)


def test_simba_is_a_projection_and_a_block_per_size_and_a_last_norm() -> None:
    cfg = NetworkConfig(architecture="simba")
    network = build(spec_of(VECTOR), mlp(64, 32), 2, cfg, 0)
    assert [type(m).__name__ for m in network] == ["Linear", "Residual", "Residual", "LayerNorm", "Linear"]
    assert linear_inputs(network) == [4, 32, 128, 32, 128, 32]
    block, x = network[1], torch.randn(3, 32)
    torch.testing.assert_close(block(x), x + block.body(x))
    image = build(spec_of(pixels(10, 10, 4)), [Conv2d(out_channel=8), *mlp(16)], 2, cfg, 0)
    assert image(observations(pixels(10, 10, 4))).shape == (3, 2)


@pytest.mark.parametrize("layers", [[*mlp(8), LayerNorm(), *mlp(8)], [Lstm(layer_size=[8])]])
def test_simba_says_what_its_list_may_hold(layers: Layers) -> None:
    with pytest.raises(NetworkError, match="simba-> does not fit: its list must end with linear layers"):
        build(spec_of(VECTOR), layers, 2, NetworkConfig(architecture="simba"), 0)


def test_simba_has_no_blocks_with_noise() -> None:
    with pytest.raises(NetworkError, match=r"^\(4,\) -simba-> does not fit: its blocks have no noise"):
        build(spec_of(VECTOR), mlp(8, 8), 2, NetworkConfig(architecture="simba"), 0, noise=0.5)


def test_simba_without_an_activation_is_refused_in_a_sentence() -> None:
    with pytest.raises(NetworkError, match="simba-> does not fit: its blocks need an activation such as relu"):
        build(spec_of(VECTOR), mlp(8, activation="none"), 2, NetworkConfig(architecture="simba"), 0)


class Some(nn.Module):
    """Some of the features, as they are."""

    def __init__(self, start: int, stop: int) -> None:
        super().__init__()
        self.part = slice(start, stop)

    def forward(self, x: Tensor) -> Tensor:
        return x[..., self.part]


def test_a_dueling_head_adds_the_value_to_the_advantages_less_their_mean() -> None:
    """Wang et al. (2016), equation 9."""
    # value 10, advantages 1, 2, 6 with mean 3
    head = Dueling(Some(0, 1), Some(1, 4), atoms=1)
    assert head(torch.tensor([[10.0, 1.0, 2.0, 6.0]])).tolist() == [[8.0, 9.0, 13.0]]
    # with two atoms, each is done by itself: 10 + (1, 3) - 2 and 20 + (5, 7) - 6
    outputs = torch.tensor([[10.0, 20.0, 1.0, 5.0, 3.0, 7.0]])
    assert Dueling(Some(0, 2), Some(2, 6), atoms=2)(outputs).tolist() == [[[9.0, 19.0], [11.0, 21.0]]]


def dueling(layers: Layers, architecture: str = "mlp", init: str = "default") -> nn.Module:
    cfg = NetworkConfig(architecture=architecture, init=init)  # type: ignore[arg-type]
    return build(
        spec_of(VECTOR), layers, lambda features: value_layer(features, 3, dueling=True), cfg, 0, split=True
    )  # fmt: skip


def test_each_stream_of_a_dueling_network_has_the_last_hidden_layer_for_itself() -> None:
    """The value depends on features that the advantages do not see, and the other way round: no linear layer on shared
    features can do that."""
    network = dueling([*mlp(8, 5), LayerNorm()])
    (head,) = (part for part in network.modules() if isinstance(part, Dueling))
    assert [tuple(p.shape) for p in head.value.parameters()] == [(5, 8), (5,), (5,), (5,), (1, 5), (1,)]
    assert [tuple(p.shape) for p in head.advantage.parameters()] == [(5, 8), (5,), (5,), (5,), (3, 5), (3,)]
    assert sum(p.numel() for part in list(network)[:-1] for p in part.parameters()) == 4 * 8 + 8
    torch.manual_seed(0)
    x = torch.randn(4, 4)
    before = network(x).detach()
    with torch.no_grad():
        for parameter in head.value.parameters():
            parameter.add_(torch.randn_like(parameter))
    # what the value stream learns moves all actions alike: the advantages stay
    moved = network(x).detach() - before
    torch.testing.assert_close(moved, moved[:, :1].expand(-1, 3))
    assert moved.abs().min() > 1e-3


@pytest.mark.parametrize("layers", [[], [Linear(layer_size=[8]), Lstm(layer_size=[4])]])
def test_a_dueling_network_without_a_last_hidden_layer_has_linear_streams(layers: Layers) -> None:
    (head,) = (part for part in dueling(layers).modules() if isinstance(part, Dueling))
    assert [len(list(stream)) for stream in (head.value, head.advantage)] == [1, 1]


def test_hidden_layers_of_the_streams_begin_like_other_hidden_layers() -> None:
    """Orthogonal rows have length sqrt(2) in hidden layers and 1 in output layers."""
    network = dueling(mlp(8, 5), init="orthogonal")
    (head,) = (part for part in network.modules() if isinstance(part, Dueling))
    hidden, _, output = head.advantage
    torch.testing.assert_close(hidden.weight.norm(dim=1), torch.full((5,), 2**0.5))
    torch.testing.assert_close(output.weight.norm(dim=1), torch.ones(3))


# ----------------------------------------------------------------------------------------------- first weights


def test_first_weights_depend_on_the_seed_alone_and_leave_the_global_stream() -> None:
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    one = build(spec_of(VECTOR), mlp(8), 2, CFG, 5)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(2)
    same, other = build(spec_of(VECTOR), mlp(8), 2, CFG, 5), build(spec_of(VECTOR), mlp(8), 2, CFG, 6)
    assert torch.equal(one[0].weight, same[0].weight)
    assert not torch.equal(one[0].weight, other[0].weight)


def test_orthogonal_weights_have_their_gains_and_no_bias() -> None:
    network = build(spec_of(VECTOR), mlp(4), 2, CFG, 0, init="orthogonal", gain=0.01)
    hidden, output = network[0], network[-1]
    torch.testing.assert_close(hidden.weight @ hidden.weight.T, 2 * torch.eye(4))
    torch.testing.assert_close(output.weight @ output.weight.T, 1e-4 * torch.eye(2))
    assert not hidden.bias.any()
    assert not output.bias.any()


def test_the_configured_initialisation_wins_over_the_choice_of_the_algorithm() -> None:
    # kaiming: deviation sqrt(2 / 400); xavier: uniform within sqrt(6 / (400 + 300))
    wide = Box(-1, 1, (400,), np.float32)
    kaiming = build(spec_of(wide), mlp(300), 2, NetworkConfig(init="kaiming"), 0, init="orthogonal")
    assert kaiming[0].weight.std().item() == pytest.approx(math.sqrt(2 / 400), rel=0.02)
    xavier = build(spec_of(wide), mlp(300), 2, NetworkConfig(init="xavier"), 0, init="orthogonal")
    assert xavier[0].weight.abs().max().item() == pytest.approx(math.sqrt(6 / 700), rel=0.01)


# ------------------------------------------------------------------------------- dropout, normaliser, branches


def test_dropout_is_active_only_where_gradients_are_recorded_and_repeats_with_its_stream() -> None:
    network = build(spec_of(VECTOR), [*mlp(64), Dropout(rate=0.5)], 2, CFG, 0)
    obs = observations(VECTOR)
    results = []
    for _ in range(2):
        seed_dropout(network, np.random.default_rng(3))
        results.append(network(obs))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], network(obs))
    with torch.inference_mode():
        assert torch.equal(network(obs), network(obs))
    assert not RandomZeros(0.5)(torch.ones(100)).all()


def test_a_network_without_dropout_draws_nothing() -> None:
    rng = np.random.default_rng(3)
    seed_dropout(build(spec_of(VECTOR), mlp(8), 2, CFG, 0), rng)
    assert rng.random() == np.random.default_rng(3).random()


def test_networks_share_one_normaliser_and_carry_its_statistics() -> None:
    normalizer = normalizer_for(VECTOR)
    networks = [build(spec_of(VECTOR), mlp(8), 2, CFG, seed, normalizer=normalizer) for seed in (0, 1)]
    assert networks[0][0] is networks[1][0] is normalizer
    normalizer.update(observations(VECTOR, 50))
    assert networks[1].state_dict()["0.moments.count"] == 50


IMAGE = Part("camera", 2, 2 + 48, (4, 4, 3))
PARTS = (Part("speed", 0, 2, (2,)), IMAGE)
LOW, HIGH = np.zeros(50, np.float32), np.array([1.0] * 2 + [255.0] * 48, np.float32)
FLAT = Box(LOW, HIGH, dtype=np.float32)


def test_a_named_part_goes_through_its_branch_and_the_others_pass() -> None:
    layers: Layers = [Conv2d(out_channel=5, kernel_size=2, stride=2)]
    network = build(spec_of(FLAT, PARTS), mlp(8), 2, NetworkConfig(branches={"camera": layers}), 0)
    # 4 x 4 -> 2 x 2 with 5 filters: 20 features beside the 2 of speed
    assert linear_inputs(network) == [22, 8]
    obs = observations(FLAT)
    features = network[0](obs)
    assert torch.equal(features[:, :2], obs[:, :2])
    convolution = next(m for m in network.modules() if isinstance(m, nn.Conv2d))
    image = obs[:, 2:].reshape(3, 4, 4, 3).permute(0, 3, 1, 2) / 255
    torch.testing.assert_close(features[:, 2:], torch.relu(convolution(image)).flatten(1))


def test_pixels_in_a_flattened_observation_are_scaled_without_branches_too() -> None:
    obs = observations(FLAT)
    features = build(spec_of(FLAT, PARTS), mlp(8), 2, CFG, 0)[0](obs)
    torch.testing.assert_close(features, torch.cat([obs[:, :2], obs[:, 2:] / 255], 1))


def test_branches_work_behind_a_normaliser() -> None:
    cfg = NetworkConfig(branches={"camera": mlp(4), "speed": mlp(3)})
    network = build(spec_of(FLAT, PARTS), mlp(8), 2, cfg, 0, normalizer=normalizer_for(FLAT))
    assert network(observations(FLAT)).shape == (3, 2)


def test_a_network_sees_the_parts_that_its_first_layer_names_and_no_others() -> None:
    def seen(*names: str, **options: object) -> nn.Module:
        return build(spec_of(FLAT, PARTS), [Parts(names=[*names]), *mlp(8)], 2, NetworkConfig(**options), 0)

    obs = observations(FLAT)
    other = obs.clone()
    other[:, 2:] += 1
    assert torch.equal(seen("speed")(obs), seen("speed")(other))
    assert not torch.equal(seen("camera")(obs), seen("camera")(other))
    assert linear_inputs(seen("speed", branches={"camera": mlp(4), "speed": mlp(3)})) == [2, 3, 8]
    with pytest.raises(NetworkError, match=r"parts: sped is not a part of the observation; its parts are: speed"):
        seen("sped")
    with pytest.raises(NetworkError, match=r"-parts-> does not fit: it can only be the first layer"):
        build(spec_of(FLAT, PARTS), [*mlp(8), Parts(names=["speed"])], 2, CFG, 0)


def test_critics_see_the_parts_that_their_first_layer_names() -> None:
    critic = critics.build(spec_of(FLAT, PARTS), [Parts(names=["speed"]), *mlp(8)], CFG, 0, members=2, actions=1)
    obs, action = observations(FLAT), torch.zeros(3, 1)
    other = obs.clone()
    other[:, 2:] += 1
    assert torch.equal(critic(obs, action), critic(other, action))


def test_an_error_in_a_branch_names_it_and_an_unknown_branch_is_answered_with_the_parts() -> None:
    broken = NetworkConfig(branches={"camera": [Conv2d(out_channel=5, kernel_size=5)]})
    with pytest.raises(NetworkError, match=r"^algo_cfg\.branches\.camera: \(3, 4, 4\) -conv2d k5 s4-> does not fit"):
        build(spec_of(FLAT, PARTS), mlp(8), 2, broken, 0)
    with pytest.raises(NetworkError, match=r"^algo_cfg\.branches: kamera is not a part .* are: speed, camera"):
        build(spec_of(FLAT, PARTS), mlp(8), 2, NetworkConfig(branches={"kamera": mlp(4)}), 0)
    with pytest.raises(NetworkError, match="none, it is not a Dict or Tuple"):
        build(spec_of(VECTOR), mlp(8), 2, NetworkConfig(branches={"camera": mlp(4)}), 0)
