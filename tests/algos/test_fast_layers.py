"""Layers with faster kernels are the functions of torch, with their gradients of first and second order."""

import pytest
import torch
from torch import Tensor, nn

from algos.common.fast import kernels
from algos.common.fast.layers import NARROW, Linear, Tanh
from config.model.kernels import Kernels

MANY = 1 << 15
"""Least number of outputs for which the kernels compute here."""
ROWS = MANY // 64 + 3
BOTH = ["linear", "tanh"]


def networks(inputs: int) -> tuple[nn.Module, nn.Module]:
    """Returns the same network of torch's layers and of ours."""
    theirs, ours = (nn.Sequential(linear(inputs, 64), tanh(), nn.Linear(64, 2))
                    for linear, tanh in ((nn.Linear, nn.Tanh), (Linear, Tanh)))  # fmt: skip
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def found(network: nn.Module, x: Tensor) -> list[Tensor]:
    """Returns outputs, and the gradients of a loss with a penalty on the gradient of the inputs."""
    x = x.clone().requires_grad_()
    y = network(x)
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    loss = (y**2).mean() + (slope**2).mean()
    return [y, slope, *torch.autograd.grad(loss, [x, *network.parameters()])]


@pytest.fixture(autouse=True)
def _kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "now", Kernels(tanh=MANY, acting_tanh=1 << 11, narrow_gradients=MANY))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the faster kernels that were called."""
    named: list[str] = []
    for name, function in (("linear", kernels._NarrowLinear), ("tanh", kernels._Tanh)):
        apply = function.apply
        monkeypatch.setattr(function, "apply", lambda *x, n=name, a=apply: (named.append(n), a(*x))[1])
    return named


@pytest.mark.parametrize(
    ("inputs", "rows", "fast"),
    [(4, ROWS, BOTH), (1, ROWS, BOTH), (NARROW + 1, ROWS, ["tanh"]), (4, MANY // 64 - 1, [])],
)
def test_values_and_gradients_are_those_of_torch_up_to_rounding(
    inputs: int, rows: int, fast: list[str], calls: list[str]
) -> None:
    torch.manual_seed(0)
    theirs, ours = networks(inputs)
    x = torch.randn(rows, inputs)
    for one, other in zip(found(theirs, x), found(ours, x), strict=True):
        assert other.shape == one.shape
        torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-6)
    assert calls == fast


def test_a_gradient_by_hand() -> None:
    """y = tanh(w x + b) with w = 0, b = 0 and x = 1 in every row: y = 0, dy/dw = 1 for each row."""
    layer, tanh = Linear(1, 1), Tanh()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
    y = tanh(layer(torch.ones(MANY, 1)))
    y.sum().backward()
    assert y.count_nonzero() == 0
    assert layer.weight.grad is not None
    assert (layer.weight.grad.item(), layer.bias.grad.item()) == (MANY, MANY)


def test_other_numbers_are_left_to_torch(calls: list[str]) -> None:
    for x in (torch.ones(MANY, 4, dtype=torch.float64), torch.ones(2, MANY, 4)):
        theirs, ours = (network.to(x.dtype) for network in networks(4))
        torch.testing.assert_close(ours(x), theirs(x))
    with torch.no_grad():
        theirs, ours = networks(4)
        torch.testing.assert_close(ours(torch.ones(ROWS, 4)), theirs(torch.ones(ROWS, 4)))
    assert calls == ["tanh"], "of three dimensions"


def test_a_kernel_without_an_amount_never_computes(calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours = networks(4)
    x = torch.randn(ROWS, 4)
    for name, expected in (("tanh", ["linear"]), ("narrow_gradients", ["tanh"])):
        monkeypatch.setattr(kernels, "now", kernels.FIXED.model_copy(update={name: None}))
        calls.clear()
        ours(x)
        assert calls == expected
    monkeypatch.setattr(kernels, "now", Kernels())
    assert torch.equal(torch.stack(found(ours, x)[:1]), torch.stack(found(theirs, x)[:1]))


def test_tanh_of_a_compiled_step_is_tanh_up_to_rounding() -> None:
    """The bound is that of docs: 4e-7, also where numbers are tiny or saturate."""
    x = torch.cat([torch.linspace(-12, 12, 20_001), torch.logspace(-8, 1, 2_001), -torch.logspace(-8, 1, 2_001)])
    y, expected = kernels.tanh_by_polynomials(x), torch.tanh(x.double())
    assert (y.double() - expected).abs().max() < 4e-7
    assert ((y.double() - expected) / expected).abs()[expected != 0].max() < 4e-7
    assert y.abs().max() <= 1.0
    ends = kernels.tanh_by_polynomials(torch.tensor([0.0, float("inf"), -float("inf"), float("nan")]))
    assert ends[:3].tolist() == [0.0, 1.0, -1.0]
    assert ends[3].isnan()
    x.requires_grad_()
    kernels.tanh_by_polynomials(x).sum().backward()
    assert x.grad is not None
    assert (x.grad.double() - (1 - expected**2)).abs().max() < 1e-6
