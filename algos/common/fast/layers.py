"""Layers of torch whose kernels are slow on some processors, with other ones: the same functions, up to rounding.

torch multiplies matrices with MKL or another library; oneDNN, which it has for convolutions, is faster on some
processors. From what amount of work on one of these kernels computes is in kernels.py. What all of this gains
is in docs/speed.md. For fewer numbers, on other devices and in an export the layers are torch's own.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from algos.common.fast import kernels, switch
from algos.common.fast.kernels import addmm, narrow_linear, tanh_by_numpy, tanh_by_polynomials
from algos.common.nets.custom import Custom, CustomCell


def pays(x: Tensor, weight: Tensor) -> bool:
    """Returns True if `addmm` is faster than torch for this weight [K, N], or one of a group [n, K, N], and inputs
    [M, K] or [n, M, K]."""
    least = kernels.now.compiled_products if kernels.recording else kernels.now.products
    if least is None or x.device.type != "cpu" or x.dtype != torch.float32 or torch.compiler.is_compiling():
        return False
    return x.shape[-2] * weight.shape[-2] * weight.shape[-1] >= least


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
            and _suits(x, self.out_features / self.in_features, kernels.now.narrow_gradients)
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
    least = kernels.now.single_outputs
    if least is None or weight.shape[2] != 1 or x.device.type != "cpu":
        return False
    return x.shape[1] * weight.shape[1] >= least


class Tanh(nn.Tanh):
    """nn.Tanh, computed by numpy, which takes a fifth of the time on processors with AVX-512; in a step that is
    compiled, which numpy cannot be a part of, as a quotient of polynomials."""

    def forward(self, x: Tensor) -> Tensor:
        records = x.requires_grad and torch.is_grad_enabled()
        if kernels.recording:
            return tanh_by_polynomials(x) if x.device.type == "cpu" and x.dtype == torch.float32 else super().forward(x)
        faster = _suits(x, 1, kernels.now.tanh if records else kernels.now.acting_tanh)
        return tanh_by_numpy(x) if faster else super().forward(x)


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
