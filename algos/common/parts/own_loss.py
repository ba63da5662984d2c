"""Losses and statistics of layers of the user's own: custom_loss(policy_loss, loss_inputs) and custom_stats()."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from config.own import objects as own

_OWNER = "joystick_owner"
"""Attribute of a parameter: the layer of the user's own that it belongs to, if that has a loss."""


_marked: set[type] = set()
"""Classes of the marked layers of this process; without any, no parameter is looked at in an update."""


class OwnLossError(ValueError):
    """A loss or a statistic of a layer of the user's own is unusable; the message says why."""


def mark(layer: nn.Module) -> None:
    """Makes the loss of a layer known by its parameters. Raises ValueError if the layer has a loss that could never be
    asked for, or statistics that are unusable."""
    module: Any = layer.module
    if has_loss(layer):
        if not (parameters := list(module.parameters())):
            raise ValueError("it has custom_loss and no parameters; a loss is added where its parameters learn")
        parameters_of = own.parameters_of(module.custom_loss)
        if parameters_of is not None and not _takes_two(parameters_of):
            raise ValueError("custom_loss must take two arguments, policy_loss and loss_inputs")
        for parameter in parameters:
            setattr(parameter, _OWNER, module)
        _marked.add(type(module))
    try:
        _stats(module)
    except OwnLossError as error:
        raise ValueError(str(error)) from error


def _takes_two(parameters: Sequence[Any]) -> bool:
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    needed = [each for each in parameters if each.default is each.empty and each.kind is not each.VAR_POSITIONAL]
    needed = [each for each in needed if each.kind is not each.VAR_KEYWORD]
    return len(needed) <= 2 and (len(places) >= 2 or any(each.kind is each.VAR_POSITIONAL for each in parameters))


def has_loss(layer: nn.Module) -> bool:
    """Returns True if a custom layer has a loss of its own."""
    return callable(getattr(layer.module, "custom_loss", None))


def refuse(network: nn.Module, why: str) -> None:
    """Raises OwnLossError if a layer of a network has a loss. why: it could not be asked for."""
    for module in layers_of([network]):
        if callable(getattr(module, "custom_loss", None)):
            raise OwnLossError(f"custom_loss of {type(module).__name__} would not be asked: {why}")


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
    owners = {id(owner): owner for each in parameters if (owner := getattr(each, _OWNER, None)) is not None}
    return list(owners.values())


def _single_steps(column: Any) -> Any:
    """Returns the column as a tensor [M, ...]; the observations of recurrent networks are views of sequences."""
    return column if isinstance(column, Tensor) else column.single_steps()


def _of(module: Any, loss: Tensor, inputs: Mapping[str, Any]) -> Tensor:
    """Returns what custom_loss of a layer makes of a loss."""
    name = f"custom_loss of {type(module).__name__}"
    try:
        changed = module.custom_loss(loss, dict(inputs))
    except Exception as error:  # it may raise anything
        raise OwnLossError(f"{name} failed: {own.described(error)}") from error
    if not isinstance(changed, Tensor) or changed.dim() or not changed.is_floating_point():
        got = (
            f"a tensor of {changed.dtype} with shape {tuple(changed.shape)}"
            if isinstance(changed, Tensor)
            else repr(changed)
        )
        raise OwnLossError(f"{name} returned {got[:120]}; expected policy_loss plus terms, a tensor with one number")
    if not changed.requires_grad:
        raise OwnLossError(
            f"{name} returned a number without gradient, from which nothing is learned; use no detach or item"
        )
    if not torch.isfinite(changed):
        raise OwnLossError(f"{name} returned {changed.item()}; expected a finite number")
    return changed


# ---------------------------------------------------------------------------------------------------- statistics


def layers_of(holders: Iterable[Any]) -> list[nn.Module]:
    """Returns the custom layers that learn, in the networks among these values, each once."""
    networks = (value for value in holders if isinstance(value, nn.Module))
    layers: dict[int, Any] = {
        id(part.module): part.module for network in networks for part in network.modules() if _learns(part)
    }
    return list(layers.values())


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
        raise OwnLossError(f"custom layers give a metric {taken[0]!r}, and there is one of this name; rename it")
    return names


def compare(stats: Mapping[str, Tensor], names: Sequence[str]) -> None:
    """Raises OwnLossError if statistics have other names than at first, which are columns of files."""
    if tuple(stats) != tuple(names):
        now, first = ", ".join(stats) or "none", ", ".join(names) or "none"
        raise OwnLossError(
            f"the statistics of custom layers are {now} now, and were {first} at first; always return the same"
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
    name = f"{call.__name__} of {type(module).__name__}"
    try:
        with torch.no_grad():
            values = call()
    except Exception as error:  # it may raise anything
        raise OwnLossError(f"{name} failed: {own.described(error)}") from error
    if not isinstance(values, Mapping):
        raise OwnLossError(f"{name} returned {values!r:.120}; expected numbers by name, such as {{'norm': 0.5}}")
    return {_column(key, name): _number(key, value, name) for key, value in values.items()}


def _stats_function(module: Any) -> Callable[[], Any] | None:
    """Returns custom_stats or metrics of a layer, if it can be called without arguments."""
    for name in ("custom_stats", "metrics"):
        function = getattr(module, name, None)
        needed = (
            [each for each in own.parameters_of(function) or () if each.default is each.empty]
            if callable(function)
            else [0]
        )
        if not needed or (name == "custom_stats" and callable(function)):
            return function
    return None


def _column(key: Any, name: str) -> str:
    if not isinstance(key, str) or not key.replace("/", "_").replace(".", "_").isidentifier():
        raise OwnLossError(f"{name}: {key!r} is not a valid name of a column")
    return key


def _number(key: str, value: Any, name: str) -> Tensor:
    with suppress(TypeError, ValueError, RuntimeError):
        number = torch.as_tensor(value).detach().clone()
        if number.numel() == 1 and not number.is_complex():
            return number.reshape(()).float()
    raise OwnLossError(f"{name}: {key} is {value!r:.120}; expected a number")
