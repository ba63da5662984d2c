"""Networks computed by numpy for a few observations give the numbers of torch, with the weights as they are now."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import nn

from algos.base import EnvSpec, Streams
from algos.common.fast import kernels
from algos.common.fast.layers import Linear, Network, Tanh
from algos.common.fast.optimizers import FusedAdam
from algos.common.maths.gaussian import LogStd
from algos.common.nets.layers import RandomZeros
from algos.common.nets.observations import Normalizer, ToFloat
from algos.common.parts.passes import STEPS, FewRows, few_rows
from algos.ppo.agent import Agent
from algos.ppo.config import Config
from config.model.kernels import Kernels

CPU = torch.device("cpu")


def network() -> Network:
    """Returns a network with all the layers that numpy computes."""
    normalizer = Normalizer((2, 3))
    normalizer.update(torch.randn(50, 2, 3) * 4 + 1)
    layers = normalizer, ToFloat(), nn.Flatten(), Linear(6, 16), Tanh(), Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)
    made = Network(*layers, nn.Tanh(), LogStd(3, -0.5))
    assert {type(layer) for layer in made} == set(STEPS)
    return made


def outputs(module: nn.Module, obs: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return module(torch.from_numpy(obs)).numpy()


def few(module: nn.Module) -> FewRows:
    found = few_rows(module, CPU)
    assert found is not None
    return found


def test_the_numbers_are_those_of_torch_and_the_observation_is_left_alone() -> None:
    made = network()
    for dtype in (np.float32, np.float64):
        obs = (100 * np.random.default_rng(1).standard_normal((5, 2, 3))).astype(dtype)
        before = obs.copy()
        found = few(made)(obs)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, outputs(made, obs), atol=1e-6)
        assert np.array_equal(obs, before)


def test_weights_and_statistics_that_change_later_are_seen() -> None:
    made, other = network(), network()
    computed, obs = few(made), np.ones((3, 2, 3), np.float32)
    made.load_state_dict(other.state_dict())
    np.testing.assert_allclose(computed(obs), outputs(other, obs), atol=1e-6)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(0.5)
    made[0].update(torch.randn(9, 2, 3))
    np.testing.assert_allclose(computed(obs), outputs(made, obs), atol=1e-6)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_sees_its_own_weights(copied: Any) -> None:
    first = few(network())
    second = copied(first)
    obs = np.ones((3, 2, 3), np.float32)
    assert np.array_equal(first(obs), second(obs))
    with torch.no_grad():
        second.network[-3].weight.zero_()
    np.testing.assert_allclose(second(obs), outputs(second.network, obs), atol=1e-6)
    assert not np.array_equal(first(obs), second(obs))


def test_other_layers_and_devices_are_left_to_torch() -> None:
    assert few_rows(Network(Linear(4, 4), RandomZeros(0.5)), CPU) is None
    assert few_rows(nn.Linear(4, 4), CPU) is None
    assert few_rows(Network(nn.Linear(4, 4, bias=False)), CPU) is None
    assert few_rows(Network(nn.Flatten(2), nn.Linear(4, 4)), CPU) is None


def test_a_network_on_a_gpu_is_followed_by_a_copy_that_acts() -> None:
    """The original is on the CPU here; a graph of a GPU counts its changes as the kernels of torch do."""
    original = Network(Linear(4, 4), nn.ReLU(), Linear(4, 2))
    acting = few_rows(original, torch.device("cuda"))
    obs = np.ones((1, 4), np.float32)
    assert acting is not None
    assert acting.network is not original
    before = acting(obs)
    np.testing.assert_allclose(before, outputs(original, obs), atol=1e-6)
    optimizer = FusedAdam(list(original.parameters()), 0.1, 1e-8, 0.0, False)
    original(torch.from_numpy(obs)).sum().backward()
    optimizer.step()
    torch.autograd.graph.increment_version(list(original.parameters()))  # as on a GPU
    np.testing.assert_allclose(acting(obs), outputs(original, obs), atol=1e-6)
    assert not np.array_equal(acting(obs), before)
    other = copy.deepcopy(acting)
    with torch.no_grad():
        original[0].weight.zero_()
    np.testing.assert_allclose(acting(obs), outputs(original, obs), atol=1e-6)
    assert not np.array_equal(acting(obs), other(obs))


def test_many_rows_are_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = [{"layer_type": "linear", "layer_size": [64, 64]}]
    spec = EnvSpec("x", Box(-1, 1, (4,)), Discrete(2), 1)
    carried = Agent(Config(actor_layers=layers), spec, Streams(1), CPU).policy.carried
    assert carried.few.rows == 2**18 // (64 * 64) == 64
    obs = np.zeros((65, 4), np.float32)
    carried.few.steps = None  # fails if it is asked
    assert carried.act(obs, None)[0].shape == (65, 2)
    with pytest.raises(TypeError):
        carried.act(obs[:64], None)
    monkeypatch.setattr(kernels, "now", Kernels(few_rows=1))
    assert carried.act(obs[:1], None)[0].shape == (1, 2)
    monkeypatch.setattr(kernels, "now", Kernels())
    assert carried.act(obs[:1], None)[0].shape == (1, 2)
