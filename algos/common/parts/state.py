"""State of the parts of an agent for checkpoints: weights, numbers, arrays and dicts of them, restored to the bit."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from algos.common.parts import optim
from config.model.arrays import Array
from config.tell.language import tr


@runtime_checkable
class _Stateful(Protocol):
    """A part with state() and load_state() of its own."""

    def state(self) -> Any: ...

    def load_state(self, state: Any) -> None: ...


def state_of(owner: object, names: Iterable[str]) -> dict[str, Any]:
    """Returns the states of the owner's attributes with these names."""
    return {name: _saved(name, getattr(owner, name)) for name in names}


def load_state_of(owner: object, names: Iterable[str], state: dict[str, Any]) -> None:
    """Restores state_of(): in place where possible; numbers are set."""
    for name in names:
        part = getattr(owner, name)
        if name in state:
            setattr(owner, name, _restored(name, part, state[name]))
        elif part is not None:  # what is switched off may be missing in the state of an earlier version
            raise ValueError(_unnamed(name, state))


def _saved(name: str, part: Any) -> Any:
    match part:
        case None | bool() | int() | float() | str():
            return part
        case _Stateful():
            return part.state()
        case nn.Module():
            return weights_of(part)
        case optim.FusedAdam() | torch.optim.Optimizer() if not isinstance(part, torch.optim.LBFGS):  # it has lists
            return state_tree(part)
        case np.random.Generator() | torch.Generator():
            return _state_of_generator(part)
        case Tensor() | np.ndarray() if _is_numbers(part):
            return _copy_of(part)
        case dict():
            return _saved_dict(name, part)
    raise TypeError(
        tr(
            "{name} is a {kind}, which cannot be kept by its name; can be: a module, an optimizer, a "
            "generator, a number, a tensor or array of numbers, a text, a dict of these, None, or an object with "
            "state() and load_state()",
            name=name,
            kind=type(part).__name__,
        )
    )


def _state_of_generator(rng: np.random.Generator | torch.Generator) -> Any:
    return rng.get_state().numpy() if isinstance(rng, torch.Generator) else rng.bit_generator.state


def _is_numbers(part: Tensor | Array) -> bool:
    return isinstance(part, Tensor) or part.dtype.kind in "biuf"


def _copy_of(part: Tensor | Array) -> Any:
    """Returns a copy of the numbers; a tensor with one number and no axis is a number."""
    if not isinstance(part, Tensor):
        return part.copy()
    return part.item() if part.ndim == 0 else part.detach().cpu().numpy().copy()


def _saved_dict(name: str, part: dict[Any, Any]) -> dict[str, Any]:
    if others := [key for key in part if not isinstance(key, str)]:
        raise TypeError(
            tr("{name} has the key {key!r}; a dict that is kept has texts as keys", name=name, key=others[0])
        )
    return {key: _saved(f"{name}[{key!r}]", value) for key, value in part.items()}


def _restored(name: str, part: Any, saved: Any) -> Any:
    """Returns the part, restored in place, or its replacement."""
    match part:
        case None:  # a number that came later, or what is switched off now
            return saved if isinstance(saved, bool | int | float | str) else None
        case _Stateful():
            part.load_state(saved)
        case nn.Module():
            load_weights(part, saved)
        case optim.FusedAdam() | torch.optim.Optimizer():
            load_state_tree(part, saved)
        case np.random.Generator():
            part.bit_generator.state = saved
        case torch.Generator():
            part.set_state(torch.tensor(saved, dtype=torch.uint8))
        case Tensor():
            return _restored_tensor(name, part, saved)
        case np.ndarray():
            return np.array(saved, part.dtype)
        case dict():
            return _restored_dict(name, part, saved)
        case _:
            return saved
    return part


def _restored_dict(name: str, part: dict[str, Any], saved: dict[str, Any]) -> dict[str, Any]:
    """Returns a dict with the keys that were saved: those of counts, for instance, come and go."""
    for key, value in part.items():
        if key not in saved and isinstance(value, nn.Module | optim.FusedAdam | torch.optim.Optimizer):
            raise ValueError(_unnamed(f"{name}[{key!r}]", saved))
    return {
        key: _restored(f"{name}[{key!r}]", part[key], value) if key in part else value for key, value in saved.items()
    }


@torch.no_grad()
def _restored_tensor(name: str, part: Tensor, saved: Any) -> Tensor:
    """Returns a tensor: in place for one that learns, which an optimizer has, too. Others are new, since several names
    may stand for one tensor until each gets its own, as those of metrics do."""
    value = torch.tensor(saved, dtype=part.dtype, device=part.device)
    if not part.requires_grad:
        return value
    if part.shape != value.shape:
        raise ValueError(_unfit(name, tuple(part.shape), tuple(value.shape)))
    return part.copy_(value)


def _unnamed(name: str, state: Mapping[str, Any]) -> str:
    return tr("it has no {name!r}, which KEPT names; it has {names}", name=name, names=", ".join(state))


def _unfit(name: str, here: Any, there: Any) -> str:
    return tr(
        "the saved weights do not fit this network: {name} is {here} here and {there} there",
        name=name,
        here=here,
        there=there,
    )


def weights_of(module: nn.Module) -> dict[str, Array]:
    """Returns a copy of every parameter and statistic of the module by name."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in module.state_dict().items()}


@torch.no_grad()
def load_weights(module: nn.Module, weights: Mapping[str, Array]) -> None:
    """Copies weights_of() into a module of the same layers, in place."""
    tensors = module.state_dict()
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    saved = {name: np.shape(array) for name, array in weights.items()}
    for name in sorted(shapes.keys() | saved.keys()):
        if shapes.get(name) != saved.get(name):
            here, there = shapes.get(name, "missing"), saved.get(name, "missing")
            raise ValueError(_unfit(name, here, there))
    for name, tensor in tensors.items():
        tensor.copy_(torch.tensor(weights[name]))


def state_tree(optimizer: optim.Optimizer) -> dict[str, Any]:
    """Returns the state of an optimizer: learning rates, and arrays per parameter."""
    state = optimizer.state_dict()
    moments = {
        str(index): {name: value.detach().cpu().numpy().copy() for name, value in entry.items()}
        for index, entry in state["state"].items()
    }
    return {"lr": [float(group["lr"]) for group in state["param_groups"]], "moments": moments}


def load_state_tree(optimizer: optim.Optimizer, tree: dict[str, Any]) -> None:
    """Restores the state exactly; the optimizer must be of the same kind and over the same parameters. Gradient descent
    may be torch's then and ours now, or the other way around."""
    groups = [{**group, "lr": lr} for group, lr in zip(optimizer.state_dict()["param_groups"], tree["lr"], strict=True)]
    # torch.tensor copies into memory that torch aligned itself
    moments = {
        int(index): _of_descent(optimizer, {name: torch.tensor(array) for name, array in entry.items()})
        for index, entry in tree["moments"].items()
    }
    optimizer.load_state_dict({"state": moments, "param_groups": groups})


def _of_descent(optimizer: optim.Optimizer, entry: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns the entry of a parameter; its velocity has the name that this implementation of gradient descent gives
    it."""
    if isinstance(optimizer, optim.Momentum) and "momentum_buffer" in entry:
        return {"exp_avg": entry["momentum_buffer"], "exp_avg_sq": torch.zeros(0), "step": torch.zeros(())}
    if isinstance(optimizer, torch.optim.SGD) and "exp_avg" in entry:
        return {"momentum_buffer": entry["exp_avg"]}
    return entry
