"""Optimizers, learning rate schedules, and steps down the gradient of a loss: by autograd, or as one compiled graph
(general_cfg.compile)."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from algos.common.fast import compiled_steps, switch, tensors
from algos.common.fast.compiled_steps import CompileError
from algos.common.fast.optimizers import BETAS, FusedAdam, Momentum, RectifiedAdam
from algos.common.nets import custom
from algos.common.settings import NetworkConfig
from config.model.course import Schedule
from config.tell.language import tr

Optimizer = torch.optim.Optimizer | FusedAdam
Reduce = Callable[[Iterable[Tensor]], None]
Loss = Callable[..., tuple[Tensor, Any]]
"""Function of tensors, or of dicts of them, to a loss and whatever else the update needs, without gradients."""

LOGGER = logging.getLogger("joystick")

RMSPROP_DECAY = 0.95  # with the gradient's mean subtracted, as in Nature DQN
RMSPROP_EPSILON = 1e-5
SCHEDULE = "schedule"
"""Key of a parameter group: its learning rate over the run."""

ADAMW_DECAY = 0.01  # torch's default


def weight_decay(cfg: NetworkConfig) -> float:
    """Returns the weight decay that cfg asks for; null is the default of its optimizer."""
    if cfg.weight_decay is not None:
        return cfg.weight_decay
    return ADAMW_DECAY if cfg.optimizer == "adamw" else 0.0


def make(
    parameters: Iterable[Tensor] | list[dict[str, Any]],
    cfg: NetworkConfig,
    lr: float | Schedule,
    epsilon: float = 1e-8,
    beta1: float = BETAS[0],
) -> Optimizer:
    """Returns the optimizer that cfg names. Its learning rates follow their schedules, or cfg.lr_schedule.

    parameters may be groups {"params": ..., "lr": ...}. epsilon and beta1 are those of Adam, unless cfg has others.
    """
    entries: list[Any] = list({id(entry): entry for entry in parameters}.values())  # once what several networks share
    groups: list[dict[str, Any]] = entries if entries and isinstance(entries[0], dict) else [{"params": entries}]
    schedules = [_schedule(group.get("lr", lr), cfg) for group in groups]
    starts = [{**group, "lr": schedule.at(0.0)} for group, schedule in zip(groups, schedules, strict=True)]
    optimizer = _kind(starts, cfg, epsilon, beta1)
    for group, schedule in zip(optimizer.param_groups, schedules, strict=True):
        group[SCHEDULE] = schedule
    return optimizer


def _kind(params: list[dict[str, Any]], cfg: NetworkConfig, epsilon: float, beta1: float) -> Optimizer:
    """Returns the optimizer in torch's fastest implementation for the device of the parameters."""
    lr, decay, momentum = params[0]["lr"], weight_decay(cfg), cfg.momentum
    epsilon = epsilon if cfg.adam_epsilon is None else cfg.adam_epsilon
    betas = (beta1, BETAS[1]) if cfg.adam_betas is None else (cfg.adam_betas[0], cfg.adam_betas[1])
    ours, decoupled = switch.on("Adam"), cfg.optimizer == "adamw"
    match cfg.optimizer:
        case "sgd" if ours:
            return Momentum(params, lr, decay, momentum)
        case "sgd":
            return torch.optim.SGD(params, lr, momentum, weight_decay=decay, foreach=True)
        case "rmsprop":
            decays = RMSPROP_DECAY, RMSPROP_EPSILON, decay, momentum
            return torch.optim.RMSprop(params, lr, *decays, centered=True, foreach=True)
        case "radam" if ours:
            return RectifiedAdam(params, lr, epsilon, decay, decoupled, betas)
        case "radam":
            return torch.optim.RAdam(params, lr, betas, epsilon, decay, foreach=True)
    if ours:
        return FusedAdam(params, lr, epsilon, decay, decoupled, betas)
    return torch.optim.Adam(params, lr, betas, epsilon, decay, fused=True, decoupled_weight_decay=decoupled)


def _schedule(lr: float | Schedule, cfg: NetworkConfig) -> Schedule:
    """Returns the schedule of a learning rate; that of a number is cfg.lr_schedule."""
    if isinstance(lr, Schedule):
        return lr
    course = cfg.schedules().get("lr_schedule")
    return Schedule({course: [lr, 0.0]} if course else {"constant": lr})


def optimizers_of(owner: object, names: Iterable[str]) -> Iterator[Optimizer]:
    """Yields the optimizers among the owner's attributes with these names, and among those that its parts keep."""
    for part in (getattr(owner, name) for name in names):
        if isinstance(part, Optimizer):
            yield part
        elif isinstance(part, dict):
            yield from (value for value in part.values() if isinstance(value, Optimizer))
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
    """Averages gradients over learners, after backward, clips them, steps and clears. The optimizer keeps their norm
    before clipping as `grad_norm`, a metric."""
    grads = [p.grad for p in parameters if p.grad is not None]
    reduce(grads)
    optimizer.grad_norm = norm = norm_of(grads)  # type: ignore[union-attr]
    if max_norm is not None:
        tensors.multiply(grads, clip_factor(norm, max_norm))
    optimizer.step()
    for p in parameters:
        p.grad = None  # cleared now, the memory is used again by the next forward pass: 50 us on 256x256


class Outcome(NamedTuple):
    """Second value of a loss function, without gradients."""

    metrics: dict[str, Tensor]
    per_sample: Tensor | None = None
    """Number of each sample [M] that the update needs, such as its priority."""


NOT_COMPILED = frozenset({"lstm", "gru", "attention", "custom"})
"""Layers that loop over steps, or are the user's own."""


def uncompiled(cfg: NetworkConfig) -> str | None:
    """Returns why steps of networks with these settings cannot be compiled; None if they can."""
    if cfg.optimizer == "rmsprop":
        return tr("steps of optimizer {name} cannot be compiled, those of the others can", name=cfg.optimizer)
    kinds = sorted(NOT_COMPILED & {layer.layer_type for _, layer in cfg.all_layers()})
    return tr("{kinds} layers cannot be compiled", kinds=tr(" and ").join(kinds)) if kinds else None


def _count(batch: Any) -> int:
    """Returns the number of samples of a batch, or of observations."""
    obs = batch["obs"] if isinstance(batch, dict) else batch
    return len(obs) if isinstance(obs, Tensor) else 0


class GradientStep:
    """A step of an optimizer that lowers a loss: by autograd, or as one graph that has been compiled."""

    def __init__(self, loss: Loss, optimizer: Optimizer, max_norm: float | None) -> None:
        """optimizer: over all parameters that learn from this loss. max_norm: of the gradients; None for any."""
        self._loss, self.optimizer, self._max_norm = loss, optimizer, max_norm
        self._parameters = parameters_of(optimizer)
        self._own_losses = bool(custom.owners_of(self._parameters))
        """True if layers of the user's own add to the loss."""
        self._samples: int | None = None
        self._compiled: compiled_steps.CompiledStep | None = None
        self.after: Callable[[], None] | None = None
        """Called after each step: what the weights must keep, such as their norms."""
        self.seconds = 0.0
        """Seconds that compiling, or loading what was compiled, took."""
        self.compiles = False
        """True while it is compiled."""
        self.tell: Callable[[str], None] = LOGGER.info
        """Hears what one waits for."""
        self.give_up: Callable[[str], None] = LOGGER.warning
        """Hears that the step cannot be compiled, and why."""

    def __call__(self, *inputs: Any, reduce: Reduce) -> Any:
        """Takes one gradient step on loss(*inputs); returns the second value of the loss function. reduce:
        averages gradients over the learners that share a batch, of which a graph has only one."""
        extra = self._one(inputs, reduce)
        if self.after is not None:
            self.after()
        return extra

    def _one(self, inputs: tuple[Any, ...], reduce: Reduce) -> Any:
        if self._compiled is None and _count(inputs[0]) == self._samples:
            self.make_compiled(*inputs)
        if self._compiled is not None and self._compiled.fits(inputs):
            return self.by_compiled(*inputs)
        loss, extra = self._loss(*inputs)
        if self._own_losses:
            loss = custom.completed(loss, self._parameters, inputs[0])
        loss.backward(inputs=[p for p in self._parameters if p.requires_grad])  # the others are frozen
        apply_gradients(self.optimizer, self._parameters, self._max_norm, reduce)
        return extra

    def compile(self, samples: int | None) -> None:
        """Compiles the whole step with the next call for this number of samples, if the optimizer can be. A minibatch
        of another size, such as the last one of an epoch, or with tensors of another type is learned by autograd: each
        would be compiled anew. None: no call from now on is compiled."""
        self._samples = samples if isinstance(self.optimizer, FusedAdam) else None
        if samples is None:
            self._compiled = None

    @property
    def package(self) -> str | None:
        """Name of the package that makes the step, if there is one."""
        return None if self._compiled is None else self._compiled.package

    def make_compiled(self, *inputs: Any) -> None:
        """Compiles the step, or loads what an earlier run has compiled."""
        assert isinstance(self.optimizer, FusedAdam)
        began, self.compiles = time.perf_counter(), True
        rates = torch.ones(len(self.optimizer.param_groups), 3, device=self._parameters[0].device)
        try:
            self._compiled = compiled_steps.CompiledStep(self._step, rates, inputs, self.tell)
        except CompileError as error:
            self.compile(None)
            self.give_up(str(error))
        self.seconds, self.compiles = time.perf_counter() - began, False

    def by_compiled(self, *inputs: Any) -> Any:
        """Makes the step by the compiled one; returns what __call__ returns."""
        assert isinstance(self.optimizer, FusedAdam)
        assert self._compiled is not None
        self.optimizer.grad_norm, extra = self._compiled(rates := self.optimizer.rates(), *inputs)
        if rates.is_cuda:
            torch.autograd.graph.increment_version(self._parameters)  # for the copy that acts on the CPU
        return extra

    def _step(self, rates: Tensor, *inputs: Any) -> tuple[Tensor, Any]:
        """Makes the step; returns the gradients' norm before clipping, and the second value of the loss function."""
        assert isinstance(self.optimizer, FusedAdam)
        loss, extra = self._loss(*inputs)
        learning = [p for p in self._parameters if p.requires_grad]
        by_parameter = dict(zip(learning, torch.autograd.grad(loss, learning, allow_unused=True), strict=True))
        gradients: Sequence[Tensor | None] = [by_parameter.get(p) for p in self._parameters]
        if rates.is_cuda:  # few kernels; a compiler for the CPU unites single operations instead
            norm = norm_of(some := [gradient for gradient in gradients if gradient is not None])
            if self._max_norm is not None:
                tensors.multiply(some, clip_factor(norm, self._max_norm))
        else:
            norm = torch.stack([gradient.square().sum() for gradient in gradients if gradient is not None]).sum().sqrt()
            if self._max_norm is not None:
                scale = clip_factor(norm, self._max_norm)
                gradients = [None if gradient is None else gradient * scale for gradient in gradients]
        self.optimizer.move(gradients, rates)
        return norm, extra
