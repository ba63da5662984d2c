"""Optimizers, learning rate schedules, and the function that applies gradients by autograd."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from algos.common.fast import switch, tensors
from algos.common.fast.adam import BETAS, FusedAdam
from algos.common.nets import custom
from algos.common.settings import NetworkConfig

Optimizer = torch.optim.Optimizer | FusedAdam
Reduce = Callable[[Iterable[Tensor]], None]

RMSPROP_DECAY = 0.95  # with the gradient's mean subtracted, as in Nature DQN
RMSPROP_EPSILON = 1e-5
START_LR = "start_lr"
"""Key of a parameter group: the learning rate at the start of the run, which the schedule lowers."""

ADAMW_DECAY = 0.01  # torch's default


def weight_decay(cfg: NetworkConfig) -> float:
    """Returns the weight decay that cfg asks for; null is the default of its optimizer."""
    if cfg.weight_decay is not None:
        return cfg.weight_decay
    return ADAMW_DECAY if cfg.optimizer == "adamw" else 0.0


def make(
    parameters: Iterable[Tensor] | list[dict[str, Any]],
    cfg: NetworkConfig,
    lr: float,
    epsilon: float = 1e-8,
    beta1: float = BETAS[0],
) -> Optimizer:
    """Returns the optimizer that cfg names. Its learning rates follow cfg.lr_schedule.

    parameters may be groups {"params": ..., "lr": ...}. epsilon and beta1 are those of Adam.
    """
    optimizer = _kind(parameters, cfg, lr, epsilon, beta1)
    for group in optimizer.param_groups:
        group[START_LR] = group["lr"]
    return optimizer


def _kind(
    parameters: Iterable[Tensor] | list[dict[str, Any]], cfg: NetworkConfig, lr: float, epsilon: float, beta1: float
) -> Optimizer:
    """Returns the optimizer in torch's fastest implementation for the device of the parameters."""
    params: list[Any] = list(parameters)
    decay = weight_decay(cfg)
    if cfg.optimizer == "sgd":
        return torch.optim.SGD(params, lr, weight_decay=decay, fused=True)
    if cfg.optimizer == "rmsprop":
        return torch.optim.RMSprop(params, lr, RMSPROP_DECAY, RMSPROP_EPSILON, decay, centered=True, foreach=True)
    decoupled = cfg.optimizer == "adamw"
    betas = (beta1, BETAS[1])
    if switch.on("Adam"):
        return FusedAdam(params, lr, epsilon, decay, decoupled, betas)
    return torch.optim.Adam(params, lr, betas, epsilon, decay, fused=True, decoupled_weight_decay=decoupled)


def lr_at(schedule: str, lr: float, fraction: float) -> float:
    """Returns the learning rate after this fraction of the planned run."""
    done = min(max(fraction, 0.0), 1.0)
    match schedule:
        case "linear":
            return lr * (1.0 - done)
        case "cosine":
            return lr * 0.5 * (1.0 + math.cos(math.pi * done))
    return lr


def optimizers_of(owner: object, names: Iterable[str]) -> Iterator[Optimizer]:
    """Yields the optimizers among the owner's attributes with these names, and among those that its parts keep."""
    for part in (getattr(owner, name) for name in names):
        if isinstance(part, Optimizer):
            yield part
        else:
            yield from optimizers_of(part, getattr(part, "KEPT", ()))


def parameters_of(optimizer: Optimizer) -> list[Tensor]:
    """Returns the parameters of an optimizer."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


@torch.no_grad()
def norm_of(grads: list[Tensor]) -> Tensor:
    """Returns the Euclidean norm over all gradients, 0-dimensional."""
    return torch.linalg.vector_norm(torch.stack(tensors.norms(grads)))


def clip_factor(norm: Tensor, max_norm: float) -> Tensor:
    """Returns what scales gradients of this norm down to max_norm; 1 if they are not above it."""
    return (max_norm / (norm + 1e-6)).clamp(max=1.0)


def descend(
    loss: Tensor,
    inputs: Any,
    optimizer: Optimizer,
    parameters: Sequence[Tensor],
    max_norm: float | None,
    reduce: Reduce,
) -> None:
    """Makes a step down the gradient of a loss, to which layers of the user's own have added theirs. inputs: minibatch
    that the loss is of."""
    custom.completed(loss, parameters, inputs).backward()
    apply_gradients(optimizer, parameters, max_norm, reduce)


def apply_gradients(optimizer: Optimizer, parameters: Sequence[Tensor], max_norm: float | None, reduce: Reduce) -> None:
    """After backward: averages gradients over learners, clips them, steps and clears. The optimizer keeps their norm
    before clipping as `grad_norm`, a metric."""
    grads = [p.grad for p in parameters if p.grad is not None]
    reduce(grads)
    optimizer.grad_norm = norm = norm_of(grads)  # type: ignore[union-attr]
    if max_norm is not None:
        tensors.multiply(grads, clip_factor(norm, max_norm))
    optimizer.step()
    for p in parameters:
        p.grad = None  # cleared now, the memory is used again by the next forward pass: 50 us on 256x256


def state_tree(optimizer: Optimizer) -> dict[str, Any]:
    """Returns the state of an optimizer: learning rates, and arrays per parameter."""
    state = optimizer.state_dict()
    moments = {
        str(index): {name: value.detach().cpu().numpy().copy() for name, value in entry.items()}
        for index, entry in state["state"].items()
    }
    return {"lr": [float(group["lr"]) for group in state["param_groups"]], "moments": moments}


def load_state_tree(optimizer: Optimizer, tree: dict[str, Any]) -> None:
    """Restores the state exactly; the optimizer must be of the same kind and over the same parameters."""
    groups = [{**group, "lr": lr} for group, lr in zip(optimizer.state_dict()["param_groups"], tree["lr"], strict=True)]
    # torch.tensor copies into memory that torch aligned itself
    moments = {
        int(index): {name: torch.tensor(array) for name, array in entry.items()}
        for index, entry in tree["moments"].items()
    }
    optimizer.load_state_dict({"state": moments, "param_groups": groups})
