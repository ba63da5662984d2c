"""Layers of torch whose kernels are slow on some processors, with other ones: the same functions, up to rounding.

torch multiplies matrices with MKL or another library; oneDNN, which it has for convolutions, is faster on some
processors. From what amount of work on one of these kernels computes is a choice (choices.py). What all of this gains
is in docs/speed.md. For fewer numbers, on other devices and in an export the layers are torch's own.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.common.fast import choices, switch
from algos.common.fast.program import is_recording
from algos.common.nets.custom import Custom, CustomCell

# matrix products --------------------------------------------------------------------------------------------


def pays(x: Tensor, weight: Tensor) -> bool:
    """Returns True if `addmm` is faster than torch for this weight [K, N], or one of a group [n, K, N], and inputs
    [M, K] or [n, M, K]."""
    least = choices.now.compiled_products if is_recording() else choices.now.products
    if least is None or x.device.type != "cpu" or x.dtype != torch.float32 or torch.compiler.is_compiling():
        return False
    return x.shape[-2] * weight.shape[-2] * weight.shape[-1] >= least


def addmm(bias: Tensor | None, x: Tensor, weight: Tensor) -> Tensor:
    """Returns bias [N] plus x [M, K] times weight [K, N], by oneDNN; with gradients of any order."""
    if not torch.is_grad_enabled():
        return _onednn(bias, x, weight)
    product: Tensor = _Product.apply(bias, x, weight)
    return product


def _onednn(bias: Tensor | None, x: Tensor, weight: Tensor) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight.t(), bias, "none", [], "")
    return product


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, bias: Tensor | None, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _onednn(bias, x, weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        for_bias, for_x, for_weight = ctx.needs_input_grad
        nodes = ctx.next_functions
        for_bias = for_bias and all(map(_is_asked_for, nodes[:1]))
        for_weight = for_weight and all(map(_is_asked_for, nodes[-1:]))
        return (
            grad.sum(0) if for_bias else None,
            addmm(None, grad, weight.t()) if for_x else None,
            _gradient_of_weight(x, grad, weight) if for_weight else None,
        )


def _is_asked_for(function: tuple[Any, int]) -> bool:
    """Returns False if the running backward pass does not need this gradient (critic weights in an actor loss).
    `needs_input_grad` does not know; leaves cannot be queried and count as needed."""
    node = function[0]
    return "AccumulateGrad" in node.name() or torch._C._will_engine_execute_node(node)


def _gradient_of_weight(x: Tensor, grad: Tensor, weight: Tensor) -> Tensor:
    """Returns x^T grad [K, N] in the layout of the weight, which the optimizer needs."""
    if weight.is_contiguous():
        return addmm(None, x.t(), grad)
    if 2 * weight.shape[0] > weight.shape[1]:
        return addmm(None, grad.t(), x).t()
    return addmm(None, x.t(), grad).t().contiguous().t()  # few inputs: up to twice as fast, although it is copied


# layers -----------------------------------------------------------------------------------------------------

NARROW = 12
"""Number of inputs of a linear layer up to which its gradient is computed as (x^T g)^T."""
ON, CELLS_ON = switch.on("layers"), switch.on("cells")


class Network(nn.Sequential):
    """nn.Sequential without hooks, whose look-up before each module takes as long as a small layer."""

    def forward(self, x: Tensor) -> Tensor:
        for module in self:
            x = module.forward(x)
        return x


def _suits(x: Tensor, outputs: float, least: int | None) -> bool:
    """Returns True for enough outputs of a kind that the faster kernels can take. outputs: for each number
    of x."""
    if least is None:
        return False
    if torch.compiler.is_compiling() or x.device.type != "cpu" or x.dtype != torch.float32:
        return False
    return x.numel() * outputs >= least


class Linear(nn.Linear):
    """nn.Linear. The gradient of few inputs' weights, g^T x, takes torch up to twelve times as long as (x^T g)^T."""

    def forward(self, x: Tensor) -> Tensor:
        narrow = self.in_features <= NARROW and x.dim() == 2 and torch.is_grad_enabled()
        if (
            narrow
            and self.bias is not None
            and not pays(x, self.weight)
            and _suits(x, self.out_features / self.in_features, choices.now.narrow_gradients)
        ):
            return narrow_linear(x, self.weight, self.bias)
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Returns F.linear of them, by the faster library."""
    if x.dim() < 2 or not pays(rows := x.flatten(0, -2), weight):
        return F.linear(x, weight, bias)
    return addmm(bias, rows, weight.t()).unflatten(0, x.shape[:-1])


def ensemble(bias: Tensor | None, x: Tensor, weight: Tensor) -> Tensor:
    """Returns inputs [n, M, K] times weights [n, K, N], plus biases [n, 1, N] if there are any."""
    if bias is not None:
        return baddbmm(bias, x, weight)
    if pays(x, weight):
        return torch.stack([addmm(None, *member) for member in zip(x.unbind(), weight.unbind(), strict=True)])
    return torch.bmm(x, weight)


def baddbmm(bias: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """Returns torch.baddbmm of biases [n, 1, N], inputs [n, M, K] and weights [n, K, N], by a product of each member
    where that is faster."""
    if pays(x, weight):
        return by_member(bias, x, weight, addmm)
    return by_member(bias, x, weight) if _are_single(x, weight) else torch.baddbmm(bias, x, weight)


def by_member(bias: Tensor, x: Tensor, weight: Tensor, multiply: Callable[..., Tensor] = torch.addmm) -> Tensor:
    """Returns torch.baddbmm of biases [n, 1, N], inputs [n, M, K] and weights [n, K, N] by a product of each member."""
    members = zip(bias.squeeze(1).unbind(), x.unbind(), weight.unbind(), strict=True)
    return torch.stack([multiply(*member) for member in members])


def _are_single(x: Tensor, weight: Tensor) -> bool:
    """Returns True for members with one output each, which take torch up to seven times as long if they are one
    product."""
    least = choices.now.single_outputs
    if least is None or weight.shape[2] != 1 or x.device.type != "cpu":
        return False
    return x.shape[1] * weight.shape[1] >= least


class _NarrowLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.addmm(bias, x, weight.t())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        inputs = grad.mm(weight) if ctx.needs_input_grad[0] else None
        return inputs, x.t().mm(grad).t().contiguous(), grad.sum(0)


def narrow_linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Returns F.linear of inputs [M, K], whose gradient of the weights is (x^T g)^T."""
    y: Tensor = _NarrowLinear.apply(x, weight, bias)
    return y


class Tanh(nn.Tanh):
    """nn.Tanh, computed by numpy, which takes a fifth of the time on processors with AVX-512; in a step that is
    compiled, which numpy cannot be a part of, as a quotient of polynomials."""

    def forward(self, x: Tensor) -> Tensor:
        records = x.requires_grad and torch.is_grad_enabled()
        if is_recording():
            return tanh_by_polynomials(x) if x.device.type == "cpu" and x.dtype == torch.float32 else super().forward(x)
        faster = _suits(x, 1, choices.now.tanh if records else choices.now.acting_tanh)
        return tanh_by_numpy(x) if faster else super().forward(x)


def tanh_by_polynomials(x: Tensor) -> Tensor:
    """Returns tanh of float32 numbers up to 4e-7, in operations that a compiler unites in one pass over them."""
    y: Tensor = _Quotient.apply(x) if x.requires_grad and torch.is_grad_enabled() else _quotient(x)
    return y


LARGEST = 7.90531110763549805
"""Number from which the float32 next to tanh is 1."""
ODD = (
    -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08, 1.48572235717979e-05,
    6.37261928875436e-04, 4.89352455891786e-03,
)  # fmt: skip
EVEN = 1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03
"""Coefficients of Eigen's and XLA's tanh: of x times powers of x^2, and of powers of x^2, the highest first."""


def _quotient(x: Tensor) -> Tensor:
    x = x.clamp(-LARGEST, LARGEST)
    square = x * x
    above, below = square * ODD[0] + ODD[1], square * EVEN[0] + EVEN[1]
    for coefficient in ODD[2:]:
        above = above * square + coefficient
    for coefficient in EVEN[2:]:
        below = below * square + coefficient
    return x * above / below


def tanh_by_numpy(x: Tensor) -> Tensor:
    """Returns tanh of float32 numbers on the CPU, with gradients if they are asked for."""
    y: Tensor = _Tanh.apply(x) if x.requires_grad and torch.is_grad_enabled() else _tanh(x)
    return y


def _tanh(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    np.tanh(x.detach().numpy(), out=y.numpy())
    return y


class _Tanh(torch.autograd.Function):
    compute = staticmethod(_tanh)

    @classmethod
    def forward(cls, ctx: Any, x: Tensor) -> Tensor:
        y = cls.compute(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(grad, y)


class _Quotient(_Tanh):
    compute = staticmethod(_quotient)


FASTER: dict[type[nn.Module], type[nn.Module]] = {nn.Linear: Linear, nn.Tanh: Tanh} if ON else {}


def accelerate(*networks: nn.Module) -> None:
    """Turns layers of torch within networks into faster ones, which have their names, weights and hooks; layers of the
    user's own stay as they are."""
    for network in networks:
        if type(network) in FASTER:
            network.__class__ = FASTER[type(network)]
        elif not isinstance(network, Custom | CustomCell):
            accelerate(*network.children())


def one_step(cell: nn.RNNBase, x: Tensor, state: Any) -> Any:
    """Returns the state of an LSTM or a GRU after inputs [B, D] of one step, which is also its output; their own
    preparations are slower than that. state [B, H], of an LSTM two of them."""
    kernel: Any = torch.lstm_cell if isinstance(cell, nn.LSTM) else torch.gru_cell
    return kernel(x, state, cell.weight_ih_l0, cell.weight_hh_l0, cell.bias_ih_l0, cell.bias_hh_l0)
