"""Products by oneDNN are those of torch, with their gradients of first and second order."""

import functools
import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.common.fast import kernels
from algos.common.fast import layers as fast
from algos.common.fast.layers import Linear
from algos.common.fast.optimizers import FusedAdam
from algos.common.nets import critics
from algos.common.parts.optim import GradientStep
from config.model.kernels import Kernels
from framework.runs import exactness
from tests.tools.compiler import can_compile, compiler_cache, compiles, programs
from tests.tools.config_fixtures import loaded
from tests.tools.core import agent_of, spec_of, toy_of, trained
from tests.tools.paths import in_the_suite

__all__ = ["can_compile", "compiler_cache", "compiles", "programs"]
pytestmark = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch was built without oneDNN")


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """All products are oneDNN's, on any processor."""
    monkeypatch.setattr(kernels, "now", Kernels(products=1, compiled_products=1))


def found(multiply: Any, bias: Tensor, x: Tensor, weight: Tensor) -> list[Tensor]:
    """Returns the product, and the gradients of a loss with a penalty on the gradient of the inputs."""
    given = [each.clone(memory_format=torch.preserve_format).requires_grad_() for each in (bias, x, weight)]
    y = multiply(*given)
    (slope,) = torch.autograd.grad((y**2).sum(), given[1], create_graph=True)
    return [y, slope, *torch.autograd.grad((y**3).mean() + (slope**2).mean(), given)]


@pytest.mark.parametrize(("inputs", "outputs"), [(3, 7), (7, 3), (5, 5), (1, 4), (4, 1)])
@pytest.mark.parametrize("transposed", [False, True])
def test_values_and_gradients_are_those_of_torch_up_to_rounding(inputs: int, outputs: int, transposed: bool) -> None:
    torch.manual_seed(0)
    weight = torch.randn(outputs, inputs).t() if transposed else torch.randn(inputs, outputs)
    given = torch.randn(outputs), torch.randn(6, inputs), weight
    for one, other in zip(found(torch.addmm, *given), found(kernels.addmm, *given), strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5)
        assert other.stride() == one.stride(), "the optimizer needs gradients in the layout of the parameters"


def test_a_product_by_hand() -> None:
    bias, x, weight = torch.tensor([10.0]), torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]])
    assert kernels.addmm(bias, x, weight).tolist() == [[21.0]]
    assert kernels.addmm(None, x, weight).tolist() == [[11.0]]


def test_the_gradients_that_nobody_asks_for_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An actor's loss goes through critics whose weights it does not move."""
    calls: list[Any] = []
    kernel = kernels._onednn
    monkeypatch.setattr(kernels, "_onednn", lambda *given: (calls.append(given), kernel(*given))[1])
    bias, x, weight = (torch.ones(size, requires_grad=True) for size in ((2,), (4, 3), (2, 3)))
    kernels.addmm(bias, x, weight.t()).sum().backward(inputs=[x])
    assert len(calls) == 2, "one forward, and one for the inputs"
    assert x.grad is not None
    assert bias.grad is weight.grad is None
    with torch.no_grad():
        assert not kernels.addmm(bias, x, weight.t()).requires_grad


def test_which_products_are_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "now", Kernels(products=2_000_000))
    large, weight = torch.zeros(200, 100), torch.zeros(100, 100)
    assert fast.pays(large, weight)
    assert fast.pays(torch.zeros(2, 200, 100), torch.zeros(2, 100, 100)), "the members count by themselves"
    assert not fast.pays(large[:199], weight)
    assert not fast.pays(large.double(), weight)
    assert not fast.pays(large.to("meta"), weight.to("meta"))
    monkeypatch.setattr(kernels, "recording", True)
    assert not fast.pays(large, weight), "compiled products are another choice"
    monkeypatch.setattr(kernels, "now", Kernels(compiled_products=2_000_000))
    assert fast.pays(large, weight)
    monkeypatch.setattr(kernels, "recording", False)
    assert not fast.pays(large, weight)


@pytest.mark.parametrize("outputs", [1, 3])
def test_members_of_an_ensemble_are_computed_one_by_one_to_the_same_numbers(
    outputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    layer = critics.EnsembleLinear(2, 4, outputs)
    for x in (torch.randn(5, 4), torch.randn(2, 5, 4)):
        expected = torch.baddbmm(layer.bias, x.expand(2, -1, -1), layer.weight)
        for chosen in (Kernels(products=1), Kernels(single_outputs=1), Kernels(single_outputs=21), Kernels()):
            monkeypatch.setattr(kernels, "now", chosen)
            torch.testing.assert_close(layer(x), expected)


def test_agents_learn_the_same_up_to_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    replay = {"batch_size": 16, "learning_starts": 16, "start_steps": 16}
    windows = {"batch_size": 32, "sgd_batch_size": 16, "k_epochs": 2}
    for algo, settings in (("SAC", replay), ("PPO", windows)):
        weights = []
        for chosen in (Kernels(), Kernels(products=1)):
            monkeypatch.setattr(kernels, "now", chosen)
            env = toy_of("target", 2)
            weights.append(trained(agent_of(algo, spec_of(env), **settings), env, 20).weights())
        for name, expected in weights[0].items():
            np.testing.assert_allclose(weights[1][name], expected, rtol=1e-3, atol=1e-4, err_msg=name)


ACTIVATIONS = nn.LeakyReLU, nn.ReLU, nn.GELU, nn.Tanh, nn.SiLU
"""Activations of which torch.compile makes one call with the product before them."""


def shared_and_split(batch: dict[str, Tensor], layers: nn.ModuleDict) -> tuple[Tensor, None]:
    """A loss with what torch.compile has patterns for beside these products: activations of outputs without gradients,
    and the sum of two products, as the gradient of features that two layers share."""
    with torch.no_grad():
        target = layers["trunk"](batch["obs"] + 1).sum(1)
    features = layers["trunk"](batch["obs"])
    value, advantage = layers["value"](features), layers["advantage"](features)
    members = layers["ensemble"](features).squeeze(2)
    return (value + advantage - members.mean(0).unsqueeze(1) - target.unsqueeze(1)).square().mean(), None


@pytest.mark.parametrize("made", in_the_suite(["programs", "compiles"], "programs"))
def test_a_compiled_step_multiplies_by_onednn_too(made: str, always: None, request: pytest.FixtureRequest) -> None:
    """Inductor's own rules for these products take constant weights only, and must not match ours. torch draws names of
    graphs that it keeps on disk from Python's random module: a seed must not exchange them. The suite computes the
    program itself; a package that multiplies so is that of the run in test_compile.py."""
    request.getfixturevalue(made)
    found = []
    before = random.getstate()
    for compiled in (False, True):
        torch.manual_seed(0)
        hidden = [layer for kind in ACTIVATIONS for layer in (Linear(8, 8), kind())]
        ends = {"value": Linear(8, 1), "advantage": Linear(8, 3), "ensemble": critics.EnsembleLinear(2, 8, 1)}
        layers = nn.ModuleDict({"trunk": nn.Sequential(Linear(3, 8), *hidden), **ends})
        optimizer = FusedAdam(layers.parameters(), 0.1, 1e-8, 0.01, False)
        step = GradientStep(functools.partial(shared_and_split, layers=layers), optimizer, None)
        if compiled:
            step.compile(4)
        batch = {"obs": torch.linspace(-1, 1, 12).reshape(4, 3)}
        norms = []
        random.seed(0)
        seeded = random.getstate()
        for _ in range(3):
            step(batch, reduce=lambda gradients: None)
            norms.append(optimizer.grad_norm.item())
        assert random.getstate() == seeded, "an environment may draw from it"
        found.append(norms)
    random.setstate(before)
    assert found[1] == pytest.approx(found[0], rel=1e-4)


def test_other_kernels_make_a_resume_inexact() -> None:
    now = exactness.facts(loaded(None, "general_cfg.seed=1"), torch.device("cpu"))
    assert exactness.compare(now, now).exact
    other = {**now, "kernels": "tanh 32768"}
    assert exactness.compare(other, now).because == (f"kernels: tanh 32768 -> {now['kernels']}",)


@pytest.mark.parametrize(
    ("library", "before"), [("torch", ""), ("oneDNN", "products 2000000, compiled_products 2000000, ")]
)
def test_runs_that_are_older_than_the_record_had_fixed_kernels(library: str, before: str) -> None:
    now = exactness.facts(loaded(None, "general_cfg.seed=1"), torch.device("cpu"))
    older = {**{name: now[name] for name in now if name != "kernels"}, "matrix_products": library}
    with_record = {**now, "kernels": f"{before}{now['kernels']}"}
    assert exactness.compare(older, with_record).exact
    fixed = kernels.older({"exactness": older})
    assert kernels.state(fixed) == with_record["kernels"]


def test_rows_in_several_dimensions_are_one_product(always: None) -> None:
    """As tokens of sequences, and quantiles of observations."""
    torch.manual_seed(0)
    layer, x = Linear(3, 4), torch.randn(2, 6, 5, 3).transpose(0, 1)
    y = layer(x)
    torch.testing.assert_close(y, F.linear(x, layer.weight, layer.bias))
    (found,) = torch.autograd.grad(y.square().sum(), layer.weight)
    (expected,) = torch.autograd.grad(F.linear(x, layer.weight, layer.bias).square().sum(), layer.weight)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
