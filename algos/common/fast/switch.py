"""The parts of this room that are on. Each has a counterpart among torch's public functions, whose numbers it gives
up to rounding, and which takes its place where it is off: in a torch that lacks what the part needs, or answers
otherwise; and with JOYSTICK_PLAIN=1 in the environment, which turns off all of them."""

import math
import os
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import torch
from torch import Tensor

from config.tell.language import english

VARIABLE = "JOYSTICK_PLAIN"
PLAIN = os.environ.get(VARIABLE, "") not in ("", "0")
"""True if torch's public functions alone compute."""


# trials: on one or two numbers, as this room calls torch, with answers computed by hand ---------------------

Trial = Callable[[], None]
"""A function that raises whatever is raised where torch lacks what a part needs, and ValueError for other numbers."""


def _equal(what: str, tensors: list[Tensor], *expected: float) -> None:
    """Raises ValueError if the first numbers of the tensors are others."""
    numbers = [float(tensor.flatten()[0]) for tensor in tensors]
    if any(abs(number - right) > 1e-5 for number, right in zip(numbers, expected, strict=True)):
        raise ValueError(f"{what} gives {numbers} for {list(expected)}")


def try_adam() -> None:
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


def try_lists() -> None:
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


def try_products() -> None:
    """Tries a product of matrices by oneDNN, and whether a backward pass knows the gradients that it is to compute."""
    if not torch.backends.mkldnn.is_available():
        raise ValueError("this torch was built without oneDNN")
    x, weight, bias = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), torch.ones(1)
    for added, expected in ((bias, 12.0), (None, 11.0)):
        _equal("_linear_pointwise", [torch.ops.mkldnn._linear_pointwise(x, weight, added, "none", [], "")], expected)
    with torch.enable_grad():
        one, other = (2 * torch.ones(1, requires_grad=True) for _ in range(2))
        _equal("_Asks", list(torch.autograd.grad(_Asks.apply(one, other), [one])), 2.0)


def try_layers() -> None:
    """Tries the derivative of tanh by its value."""
    _equal("tanh_backward", [torch.ops.aten.tanh_backward(torch.full((1,), 2.0), torch.full((1,), 0.5))], 1.5)


def try_cells() -> None:
    """Tries a step of an LSTM and of a GRU whose weights are zero: every gate is half open, and nothing comes in."""
    x, state = torch.ones(1, 1), torch.full((1, 1), 0.8)
    four, three = torch.zeros(4, 1), torch.zeros(3, 1)
    hidden, cell = torch.lstm_cell(x, (state, state), four, four, four[:, 0], four[:, 0])
    _equal("lstm_cell", [hidden, cell], 0.5 * math.tanh(0.4), 0.4)
    _equal("gru_cell", [torch.gru_cell(x, state, three, three, three[:, 0], three[:, 0])], 0.4)


# parts ------------------------------------------------------------------------------------------------------


class Needs(NamedTuple):
    """Undocumented functions of torch that a part calls; another version may lack them, or have others."""

    names: tuple[str, ...] = ()
    trial: Trial | None = None
    """A function that calls them as the part does; None for parts that are tried elsewhere, or need nothing."""


PARTS = {
    "Adam": Needs(("_fused_adam_", "_fused_adamw_"), try_adam),
    "lists": Needs(("_foreach_norm", "_foreach_mul_", "_foreach_copy_", "_foreach_lerp_"), try_lists),
    "products": Needs(("ops.mkldnn._linear_pointwise", "_C._will_engine_execute_node"), try_products),
    "layers": Needs(("ops.aten.tanh_backward",), try_layers),
    "cells": Needs(("lstm_cell", "gru_cell"), try_cells),
    "few rows": Needs(),
    "compile": Needs(("_C._aoti.AOTIModelContainerRunnerCpu",)),
}
"""Part -> what it needs. The compiler takes seconds: a run that compiles finds out whether it works."""


def first_line(error: Exception) -> str:
    """Returns the first line of what an error says; torch adds the places where it was raised."""
    return (str(error).strip().splitlines() or [""])[0]


def _why_off(needs: Needs) -> str | None:
    """Returns why a part is off, in English, one of REASONS; None if it is on."""
    if PLAIN:
        return f"{VARIABLE} is set"
    for name in needs.names:
        try:
            attrgetter(name)(torch)
        except (AttributeError, RuntimeError):
            return f"torch has no {name}"
    try:
        if needs.trial:
            needs.trial()
    except Exception as error:  # another signature raises anything
        reason = first_line(error).rstrip(" .,;:")
        return f"a trial call fails: {type(error).__name__}: {reason}"
    return None


STATES = (english("off: all parts because {name} is set"), english("off: {parts}"), english("on"))
REASONS = (
    english("{name} is set"),
    english("torch has no {name}"),
    english("a trial call fails: {kind}: {reason}"),
)
OFF = {part: why for part, needs in PARTS.items() if (why := _why_off(needs))}
"""Part -> why it is off, in English, one of REASONS."""


def on(part: str) -> bool:
    """Returns True if a part can be used and is to be."""
    return part not in OFF


def state() -> str:
    """Returns what is off and why: a fact of checkpoints, in English, one of STATES."""
    if PLAIN:
        return f"off: all parts because {VARIABLE} is set"
    return f"off: {', '.join(f'{part} because {why}' for part, why in OFF.items())}" if OFF else "on"
