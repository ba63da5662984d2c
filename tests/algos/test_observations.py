"""From raw observations to float features."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple
from torch import nn

from algos.base import EnvSpec
from algos.common.fast.layers import Linear
from algos.common.nets import observations as module
from algos.common.nets.networks import build
from algos.common.nets.observations import NetworkError, encode, in_parts, is_channel_last
from algos.common.parts.passes import of_window
from algos.common.settings import NetworkConfig
from config.model.composite import Composite
from config.model.layers import mlp

VECTOR = Box(-1, 1, (4,), np.float32)


def pixels(*shape: int) -> Box:
    return Box(0, 255, shape, np.uint8)


def observations(space: Space, rows: int = 3) -> torch.Tensor:
    space.seed(0)
    return torch.tensor(np.stack([space.sample() for _ in range(rows)]))


def features_of(space: Space, raw: object) -> list:
    modules, _ = encode(space)
    return nn.Sequential(*modules)(torch.tensor(np.array(raw, dtype=space.dtype))).tolist()


SPACES = {
    "vector": VECTOR,
    "number": Box(-1, 1, (), np.float32),
    "double": Box(-1, 1, (4,), np.float64),
    "table": Box(-1, 1, (3, 5), np.float32),
    "ram": pixels(128),
    "grey image": pixels(40, 40),
    "channel last": pixels(40, 50, 3),
    "channel first": pixels(4, 84, 84),
    "stack of images": pixels(4, 40, 40, 3),
    "small image": Box(0, 1, (10, 10, 7), bool),
    "tiny image": Box(0, 1, (3, 2, 2), np.float32),
    "discrete": Discrete(5, start=2),
    "multi discrete": MultiDiscrete([2, 3]),
    "square multi discrete": MultiDiscrete([[2, 3], [4, 5]]),
    "multi binary": MultiBinary(3),
    "square multi binary": MultiBinary((2, 2)),
}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())
def test_a_plain_list_of_linear_layers_reads_every_kind_of_observation(space: Space) -> None:
    output = build(EnvSpec("test", space, Discrete(2), 1), mlp(8), 2, NetworkConfig(), 0)(observations(space))
    assert output.shape == (3, 2)
    assert output.dtype == torch.float32
    assert torch.isfinite(output).all()


def test_a_vector_costs_no_module_of_its_own() -> None:
    network = build(EnvSpec("test", VECTOR, Discrete(2), 1), mlp(8, 8), 2, NetworkConfig(), 0)
    assert [type(module) for module in network] == [Linear, nn.ReLU, Linear, nn.ReLU, nn.Linear]


def test_features_are_scaled_or_one_hot() -> None:
    assert features_of(pixels(2), [[0, 51]]) == [[0.0, pytest.approx(0.2)]]
    assert features_of(Discrete(3, start=5), [5, 7]) == [[1, 0, 0], [0, 0, 1]]
    assert features_of(MultiDiscrete([2, 3], start=[0, 1]), [[1, 1], [0, 3]]) == [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]
    assert features_of(MultiBinary(2), [[0, 1]]) == [[0.0, 1.0]]


def test_a_channel_last_image_gives_the_features_of_the_channel_first_one() -> None:
    image = np.random.default_rng(0).integers(0, 256, (2, 8, 9, 3))
    assert features_of(pixels(8, 9, 3), image) == features_of(pixels(3, 8, 9), image.transpose(0, 3, 1, 2))


def test_a_stack_of_colour_images_keeps_frames_and_colours_in_order() -> None:
    stack = np.random.default_rng(0).integers(0, 256, (1, 2, 8, 9, 3))
    expected = stack.transpose(0, 1, 4, 2, 3).reshape(1, 6, 8, 9)
    assert features_of(pixels(2, 8, 9, 3), stack) == features_of(pixels(6, 8, 9), expected)


@pytest.mark.parametrize(
    ("shape", "last"),
    [
        ((84, 84, 4), True),
        ((210, 160, 3), True),
        ((10, 10, 7), True),
        ((4, 4, 3), True),
        ((4, 84, 84), False),
        ((3, 210, 160), False),
        ((7, 10, 10), False),
        ((3, 4, 4), False),
        ((5, 5, 5), False),
    ],
)
def test_where_the_channels_stand_is_seen_from_the_shape(shape: tuple[int, ...], last: bool) -> None:
    assert is_channel_last(shape) is last


def test_a_space_that_no_network_can_read_is_named() -> None:
    with pytest.raises(NetworkError, match="cannot read Dict"):
        encode(Dict({"a": Discrete(2)}))


def test_flat_actions_are_their_numbers_and_their_choices_as_zeros_and_ones() -> None:
    space = Composite(Tuple((Discrete(3, start=5), Box(-9, 9, (2,), np.float32), MultiBinary(1))))
    flat = space.encode((np.int64(6), np.array([0.5, -2.0], np.float32), np.array([1], np.int8)))
    modules, shape = encode(space)
    [seen] = nn.Sequential(*modules)(torch.from_numpy(flat[None])).tolist()
    assert seen == [0.5, -2.0, 0, 1, 0, 0, 1]
    assert shape == (7,)
    only_numbers = Composite(Tuple((Box(-9, 9, (2,), np.float32),)))
    assert nn.Sequential(*encode(only_numbers)[0])(torch.tensor([[3.0, 4.0]])).tolist() == [[3.0, 4.0]]


# ------------------------------------------------------------------------------------------------ parts of a window


@pytest.mark.parametrize(
    ("shape", "rows"),
    [((300, 84, 84, 4), [148, 148, 4]), ((9, 2000, 2000), [1] * 9), ((1000, 4), [1000]), ((5,), [5]), ((0, 4), [0])],
)
def test_observations_are_split_by_what_a_cache_holds(shape: tuple[int, ...], rows: list[int]) -> None:
    assert [len(part) for part in in_parts(torch.zeros(1).expand(shape))] == rows


def test_a_window_in_parts_has_the_outputs_of_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    network = nn.Sequential(nn.Flatten(), nn.Linear(12, 2, bias=False))
    network.register_forward_hook(lambda _, given, __: calls.append(len(given[0])))
    obs, ended = torch.rand(4, 3, 2, 6), torch.zeros(4, 3, dtype=torch.bool)
    ended[1, 2] = True
    window = {"obs": obs, "next_obs": obs + 1, "terminated": ended, "truncated": torch.zeros_like(ended)}
    whole = of_window(network, window)
    assert calls == [12, 3, 1]
    monkeypatch.setattr(module, "CACHED", 60)
    parts = of_window(network, window)
    assert calls[3:] == [5, 5, 2, 3, 1]
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(parts[1][1, 2], network(obs[1, 2:3] + 1)[0])
