"""Layers of the user's own: how they are built, measured and called, their losses and their statistics."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from inspect import Parameter, Signature
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from config.machine import NO_MEMORY
from config.own import objects as own
from config.tell.language import UserError, tr

Shape = tuple[int, ...]
ROWS = 2
"""Rows of the zeros that measure a layer: one would hide that it drops the axis of the rows."""


def learns(layer: nn.Module) -> bool:
    """Returns True while a layer learns, which then does something else than while it acts: where gradients are
    recorded, and always in a target network, which never acts (algos.common.maths.targets)."""
    return bool(layer.of_target) or torch.is_grad_enabled()


class Custom(nn.Module):
    """A module of the user's own. It is in training mode only while it learns, as our own dropout is, so that acting
    draws nothing."""

    of_target = draws = False

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        return _passed(self.module, _in_mode(self.module, learns(self)), x)


class CustomCell(nn.Module):
    """A recurrent module of the user's own: steps [T, B, D] from state [B, S] -> outputs [T, B, ...], state after the
    last step."""

    of_target = draws = False

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self.state_size: int = _state_size(module)

    def run(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        out, after = _passed(self.module, _in_mode(self.module, learns(self)).run, x, state)
        return out, after


def is_own(layer: nn.Module) -> bool:
    """Returns True for a layer of the user's own."""
    return isinstance(layer, Custom | CustomCell)


def _passed(module: nn.Module, call: Callable[..., Any], *inputs: Tensor) -> Any:
    """Returns what a call of a layer gives. Raises OwnLossError if it fails, other than for a lack of memory."""
    try:
        return call(*inputs)
    except (MemoryError, torch.cuda.OutOfMemoryError):
        raise
    except Exception as error:  # it may raise anything
        if NO_MEMORY.search(str(error)):  # a RuntimeError of torch: the layer is not to blame
            raise
        raise OwnLossError(
            "{name}, a custom layer, failed: {error}", name=type(module).__name__, error=own.described(error)
        ) from error


def _in_mode(module: Any, learning: bool) -> Any:
    if module.training is not learning:
        module.train(learning)
    return module


def layer_for(kind: type[nn.Module], shape: Shape, options: dict[str, Any]) -> tuple[Custom | CustomCell, Shape]:
    """Returns a layer for inputs [B, *shape], and the shape of its output without B, which zeros have found. Raises
    ValueError with the reason if it is unusable. Random numbers that zeros draw are the caller's to put back."""
    try:
        module = kind(shape, **options)
    except Exception as error:  # it may raise anything
        raise ValueError(_text(tr("it could not be made"), error)) from error
    layer = CustomCell(module) if callable(getattr(kind, "run", None)) else Custom(module)
    rng, places = torch.get_rng_state(), _places()
    try:
        with torch.no_grad():
            out = _shape_of(layer, shape)
        layer.draws = _places() != places
        mark(layer)
        return layer, out
    finally:
        torch.set_rng_state(rng)


def _places() -> tuple[bytes, ...]:
    """Returns where the generators are that all of a program draws from."""
    numpy = np.random.get_state()
    return torch.get_rng_state().numpy().tobytes(), repr(numpy).encode(), repr(random.getstate()).encode()


def _state_size(module: nn.Module) -> int:
    size = getattr(module, "state_size", None)
    if not isinstance(size, int) or size < 1:
        raise ValueError(
            tr("it has run, and state_size is {size}; expected the numbers that it carries, a whole number", size=size)
        )
    return size


def _shape_of(layer: Custom | CustomCell, shape: Shape) -> Shape:
    """Returns the shape of the output for zeros, without the axes of steps and rows."""
    batch = (ROWS,) if isinstance(layer, Custom) else (1, ROWS)
    x = torch.zeros(*batch, *shape)
    try:
        out, state = (layer(x), None) if isinstance(layer, Custom) else layer.run(x, _state(layer))
    except OwnLossError as error:
        reason = error.__cause__ or error
        raise ValueError(_text(tr("zeros {shape} cannot pass", shape=tuple(x.shape)), reason)) from reason
    except Exception as error:  # a cell may give no two values
        raise ValueError(_text(tr("zeros {shape} cannot pass", shape=tuple(x.shape)), error)) from error
    if isinstance(layer, CustomCell) and getattr(state, "shape", None) != _state(layer).shape:
        size = tuple(getattr(state, "shape", ()))
        raise ValueError(
            tr("run gives a state of shape {shape}; expected {other}", shape=size, other=tuple(_state(layer).shape))
        )
    return _checked(out, batch)


def _state(cell: CustomCell) -> Tensor:
    return torch.zeros(ROWS, cell.state_size)


def _checked(out: Any, batch: Shape) -> Shape:
    """Returns the shape of an output without its first axes, which must be these."""
    axes = len(batch)
    if not isinstance(out, Tensor) or out.dtype != torch.float32:
        kind = out.dtype if isinstance(out, Tensor) else type(out).__name__  # an array has a dtype, too
        raise ValueError(tr("it gives {kind}; expected a tensor of float32", kind=kind))
    if tuple(out.shape[:axes]) != batch or out.dim() <= axes:
        expected = ", ".join([*map(str, batch), "width"])
        raise ValueError(
            tr(
                "it gives shape {shape} for {rows} rows; expected ({other})",
                shape=tuple(out.shape),
                rows=ROWS,
                other=expected,
            )
        )
    return tuple(out.shape[axes:])


def _text(subject: str, error: BaseException) -> str:
    return f"{subject}: {type(error).__name__}: {' '.join(str(error).split())}"


_OWNER = "joystick_owner"
"""Attribute of a parameter: the layer of the user's own that it belongs to, if that has a loss."""


_marked: set[type] = set()
"""Classes of the marked layers of this process; without any, no parameter is looked at in an update."""


class OwnLossError(UserError, ValueError):
    """A layer of the user's own fails, or its loss or a statistic is unusable; the message says why."""


def mark(layer: nn.Module) -> None:
    """Makes the loss of a layer known by its parameters. Raises ValueError if the layer has a loss that could never be
    asked for, or statistics that are unusable."""
    module: Any = layer.module
    if has_loss(layer):
        if not (parameters := list(module.parameters())):
            raise ValueError(tr("it has custom_loss and no parameters; a loss is added where its parameters learn"))
        parameters_of = own.parameters_of(module.custom_loss)
        if parameters_of is not None and not _takes_two(parameters_of):
            raise ValueError(tr("custom_loss must take two arguments, policy_loss and loss_inputs"))
        for parameter in parameters:
            setattr(parameter, _OWNER, module)
        _marked.add(type(module))
    try:
        _stats(module)
    except OwnLossError as error:
        raise ValueError(str(error)) from error


def _takes_two(parameters: Sequence[Parameter]) -> bool:
    """Returns True if a function with these parameters can be called with two arguments."""
    try:
        Signature(parameters).bind(None, None)
    except TypeError:
        return False
    return True


def has_loss(layer: nn.Module) -> bool:
    """Returns True if a custom layer has a loss of its own."""
    return callable(getattr(layer.module, "custom_loss", None))


def refuse(network: nn.Module, why: str) -> None:
    """Raises OwnLossError if a layer of a network has a loss. why: it could not be asked for."""
    for module in layers_of([network]):
        if callable(getattr(module, "custom_loss", None)):
            raise OwnLossError(
                "custom_loss of {name} would not be asked: {reason}", name=type(module).__name__, reason=why
            )


def completed(loss: Tensor, parameters: Iterable[Tensor], inputs: Any) -> Tensor:
    """Returns the loss that these parameters lower, after the layers among them have added theirs. inputs: minibatch
    by column, or observations alone."""
    if not (owners := owners_of(parameters)):
        return loss
    columns = inputs if isinstance(inputs, Mapping) else {"obs": inputs}
    columns = {name: steps for name, column in columns.items() if (steps := _single_steps(column)) is not None}
    for owner in owners:
        loss = _of(owner, loss, columns)
    return loss


def owners_of(parameters: Iterable[Tensor]) -> list[Any]:
    """Returns the layers with a loss of their own among those that these parameters belong to."""
    if not _marked:
        return []
    owners = {id(owner): owner for parameter in parameters if (owner := getattr(parameter, _OWNER, None)) is not None}
    return list(owners.values())


def _single_steps(column: Any) -> Any:
    """Returns the column as a tensor [M, ...]; the observations of recurrent networks are views of sequences."""
    return column if isinstance(column, Tensor) else column.single_steps()


def _of(module: Any, loss: Tensor, inputs: Mapping[str, Any]) -> Tensor:
    """Returns what custom_loss of a layer makes of a loss."""
    name = tr("custom_loss of {name}", name=type(module).__name__)
    try:
        changed = module.custom_loss(loss, dict(inputs))
    except Exception as error:  # it may raise anything
        if isinstance(error, MemoryError) or NO_MEMORY.search(str(error)):
            raise
        raise OwnLossError("{name} failed: {error}", name=name, error=own.described(error)) from error
    if not isinstance(changed, Tensor) or changed.dim() or not changed.is_floating_point():
        got = repr(changed)
        if isinstance(changed, Tensor):
            got = tr("a tensor of {kind} with shape {shape}", kind=changed.dtype, shape=tuple(changed.shape))
        raise OwnLossError(
            "{name} returned {value}; expected policy_loss plus terms, a tensor with one number",
            name=name,
            value=got[:120],
        )
    if not changed.requires_grad:
        raise OwnLossError(
            "{name} returned a number without gradient, from which nothing is learned; use no detach or item", name=name
        )
    if not torch.isfinite(changed):
        raise OwnLossError("{name} returned {value}; expected a finite number", name=name, value=changed.item())
    return changed


# ---------------------------------------------------------------------------------------------------- statistics


def layers_of(holders: Iterable[Any]) -> list[nn.Module]:
    """Returns the custom layers that learn, in the networks among these values, each once."""
    networks = (value for value in holders if isinstance(value, nn.Module))
    layers: dict[int, Any] = {
        id(part.module): part.module for network in networks for part in network.modules() if _learns(part)
    }
    return list(layers.values())


def drawing(holders: Iterable[Any]) -> list[str]:
    """Returns the classes of the custom layers that draw random numbers while they act, in the networks among these
    values."""
    parts = (part for value in holders if isinstance(value, nn.Module) for part in value.modules())
    return sorted({type(part.module).__name__ for part in parts if is_own(part) and part.draws})


def _learns(part: nn.Module) -> bool:
    return hasattr(part, "of_target") and not part.of_target and isinstance(getattr(part, "module", None), nn.Module)


def stats_of(modules: Iterable[nn.Module]) -> dict[str, Tensor]:
    """Returns the statistics of custom layers by name; a name that comes again gets a number."""
    every: dict[str, Tensor] = {}
    for name, value in ((name, value) for module in modules for name, value in _stats(module).items()):
        every[next(free for free in _numbered(name) if free not in every)] = value
    return every


def new_names(stats: Iterable[str], metrics: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of statistics. Raises OwnLossError if a metric of the algorithm has one of them."""
    names = tuple(stats)
    if taken := [name for name in names if name in metrics]:
        raise OwnLossError(
            "custom layers give a metric {name!r}, and there is one of this name; rename it", name=taken[0]
        )
    return names


def compare(stats: Mapping[str, Tensor], names: Sequence[str]) -> None:
    """Raises OwnLossError if statistics have other names than at first, which are columns of files."""
    if tuple(stats) != tuple(names):
        now, first = ", ".join(stats) or "none", ", ".join(names) or "none"
        raise OwnLossError(
            "the statistics of custom layers are {now} now, and were {first} at first; always return the same",
            now=now,
            first=first,
        )


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}_{number}"
        number += 1


def _stats(module: Any) -> dict[str, Tensor]:
    """Returns the statistics of one layer as tensors [] without gradients."""
    call = _stats_function(module)
    if call is None:
        return {}
    name = tr("{key} of {name}", key=call.__name__, name=type(module).__name__)
    try:
        with torch.no_grad():
            values = call()
    except Exception as error:  # it may raise anything
        raise OwnLossError("{name} failed: {error}", name=name, error=own.described(error)) from error
    if not isinstance(values, Mapping):
        raise OwnLossError(
            "{name} returned {value!r:.120}; expected numbers by name, such as {{'norm': 0.5}}", name=name, value=values
        )
    return {_column(key, name): _number(key, value, name) for key, value in values.items()}


def _stats_function(module: Any) -> Callable[[], Any] | None:
    """Returns custom_stats or metrics of a layer, if it can be called without arguments."""
    for name in ("custom_stats", "metrics"):
        function = getattr(module, name, None)
        needed = (
            [parameter for parameter in own.parameters_of(function) or () if parameter.default is parameter.empty]
            if callable(function)
            else [0]
        )
        if not needed or (name == "custom_stats" and callable(function)):
            return function
    return None


def _column(key: Any, name: str) -> str:
    if not isinstance(key, str) or not key.replace("/", "_").replace(".", "_").isidentifier():
        raise OwnLossError("{name}: {key!r} is not a valid name of a column", name=name, key=key)
    return key


def _number(key: str, value: Any, name: str) -> Tensor:
    with suppress(TypeError, ValueError, RuntimeError):
        number = torch.as_tensor(value).detach().clone()
        if number.numel() == 1 and not number.is_complex():
            return number.reshape(()).float()
    if isinstance(value, Tensor):
        value = tr("a tensor of {kind} with shape {shape}", kind=value.dtype, shape=tuple(value.shape))
    else:
        value = " ".join(repr(value)[:120].split())
    raise OwnLossError("{name}: {key} is {value}; expected a number", name=name, key=key, value=value)
