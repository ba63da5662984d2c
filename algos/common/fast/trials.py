"""Trials of the undocumented functions of torch that this room calls: on one or two numbers, as the room does, with
answers computed by hand. A torch whose functions are missing, take other arguments or answer otherwise fails them."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def _equal(what: str, tensors: list[Tensor], *expected: float) -> None:
    """Raises ValueError if the first numbers of the tensors are others."""
    numbers = [float(tensor.flatten()[0]) for tensor in tensors]
    if any(abs(number - right) > 1e-5 for number, right in zip(numbers, expected, strict=True)):
        raise ValueError(f"{what} gives {numbers} for {list(expected)}")


def adam() -> None:
    """Tries the first step from 1 with gradient 2 and learning rate 0.1: Adam moves by the learning rate, and with a
    decay of 0.5, which AdamW takes from the parameter, by a twentieth of it before that."""
    for name, decay, moved in (("_fused_adam_", 0.0, 0.9), ("_fused_adamw_", 0.5, 0.85)):
        p, mean, square, step = torch.ones(1), torch.zeros(1), torch.zeros(1), torch.ones(())
        rest: dict[str, Any] = {"eps": 1e-8, "amsgrad": False, "maximize": False}
        getattr(torch, name)(
            [p], [torch.full((1,), 2.0)], [mean], [square], [], [step],
            lr=0.1, beta1=0.9, beta2=0.999, weight_decay=decay, **rest,
        )  # fmt: skip
        _equal(name, [p, mean, square], moved, 0.2, 0.004)


def lists() -> None:
    """Tries the operations on lists of tensors."""
    targets = [torch.full((1,), 3.0), torch.full((2, 1), -4.0)]
    others = [torch.ones(1), torch.zeros(2, 1)]
    _equal("_foreach_norm", list(torch._foreach_norm(targets)), 3.0, 32**0.5)
    torch._foreach_mul_(targets, torch.tensor(2.0))
    _equal("_foreach_mul_", targets, 6.0, -8.0)
    torch._foreach_mul_(targets, 0.5)
    _equal("_foreach_mul_", targets, 3.0, -4.0)
    torch._foreach_lerp_(targets, others, 0.25)
    _equal("_foreach_lerp_", targets, 2.5, -3.0)
    torch._foreach_copy_(targets, others)
    _equal("_foreach_copy_", targets, 1.0, 0.0)


class _Asks(torch.autograd.Function):
    """Twice the sum of two numbers. Backward asks which of the gradients are needed."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        return 2 * (x + y)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        needed = [torch._C._will_engine_execute_node(node) for node, _ in ctx.next_functions]
        if needed != [True, False]:
            raise ValueError(f"_C._will_engine_execute_node gives {needed} for {[True, False]}")
        return 2 * grad, 2 * grad


def products() -> None:
    """Tries a product of matrices by oneDNN, and whether a backward pass knows the gradients that it is to compute."""
    if not torch.backends.mkldnn.is_available():
        raise ValueError("this torch was built without oneDNN")
    x, weight, bias = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), torch.ones(1)
    for added, expected in ((bias, 12.0), (None, 11.0)):
        _equal("_linear_pointwise", [torch.ops.mkldnn._linear_pointwise(x, weight, added, "none", [], "")], expected)
    with torch.enable_grad():
        one, other = (2 * torch.ones(1, requires_grad=True) for _ in range(2))
        _equal("_Asks", list(torch.autograd.grad(_Asks.apply(one, other), [one])), 2.0)


def layers() -> None:
    """Tries the derivative of tanh by its value."""
    _equal("tanh_backward", [torch.ops.aten.tanh_backward(torch.full((1,), 2.0), torch.full((1,), 0.5))], 1.5)


def cells() -> None:
    """Tries a step of an LSTM and of a GRU whose weights are zero: every gate is half open, and nothing comes in."""
    x, state = torch.ones(1, 1), torch.full((1, 1), 0.8)
    four, three = torch.zeros(4, 1), torch.zeros(3, 1)
    hidden, cell = torch.lstm_cell(x, (state, state), four, four, four[:, 0], four[:, 0])
    _equal("lstm_cell", [hidden, cell], 0.5 * math.tanh(0.4), 0.4)
    _equal("gru_cell", [torch.gru_cell(x, state, three, three, three[:, 0], three[:, 0])], 0.4)


Trial = Callable[[], None]
"""A function that raises whatever is raised where torch lacks what a part needs, and ValueError for other numbers."""
