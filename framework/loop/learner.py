"""The only code that applies gradients: cuts a chunk into minibatches and calls agent.update for each."""

import copy
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch

from algos.base import Agent, Batch, OwnLossError, Progress, Result, on_device
from algos.common.fast.tensors import multiply
from config.model.memory_spec import MemorySpec, RolloutSpec
from framework.errors import JoystickError, NumericsError
from framework.memory.chunk import Chunk


class Learned(NamedTuple):
    """Results of learning from a chunk."""

    metrics: dict[str, list[float]]
    """Metric -> a number for each update that has it."""
    updates: int
    priorities: np.ndarray | None = None
    """New priorities [K, B], for the feedback of the memory."""


class Share(NamedTuple):
    """Share of one learner among several."""

    rank: int
    world: int
    total: Callable[[list[torch.Tensor]], None]
    """Replaces tensors by their sums over all learners, in place (all-reduce)."""


class Learner:
    """Applies the updates of an agent, minibatch by minibatch."""

    def __init__(self, agent: Agent, spec: MemorySpec) -> None:
        self.agent, self.spec = agent, spec
        self._share: Share | None = None
        self._weight = 1.0
        """Share of the samples of this minibatch that belong to this learner."""

    def divide(self, share: Share) -> None:
        """Makes this learner use its share of every minibatch, and average gradients with the others."""
        self._share = share
        self.agent.learners = share.world
        self.agent.reduce, self.agent.share = self._average, self._part

    def _average(self, tensors: Iterable[torch.Tensor]) -> None:
        """Averages tensors over all samples of the minibatch, across the learners."""
        assert self._share is not None
        tensors = list(tensors)
        self._weigh(tensors)
        self._share.total(tensors)

    def _weigh(self, tensors: list[torch.Tensor]) -> None:
        """Multiplies by this learner's share of the samples, in place. The mean of none is NaN, and counts as 0."""
        if self._weight:
            multiply(tensors, self._weight)
        else:
            for tensor in tensors:
                tensor.zero_()

    def _part(self, batch: Batch) -> Batch:
        """Returns this learner's part of a minibatch as the agent learns from it."""
        return self.agent.single_steps(self._mine(batch))

    def _mine(self, batch: Batch) -> Batch:
        """Returns this learner's part of a minibatch [B, ...] or of sequences [L, B, ...]; weight 0 if it is empty."""
        assert self._share is not None
        along = 1 if "first" in batch else 0
        rank, world, _ = self._share
        total = batch["obs"].shape[along]
        start, stop = total * rank // world, total * (rank + 1) // world
        first, count = min(start, total - 1), max(1, stop - start)
        # a part of a larger array may start at any byte (see docs/design.md)
        mine = {
            name: value.narrow(0 if name == "state" else along, first, count).clone() for name, value in batch.items()
        }
        self._weight = (stop - start) / total
        if self._weight and "valid" in batch:
            self._weight = float(mine["valid"].sum() / batch["valid"].sum().clamp(min=1))
        return mine

    def learn(self, chunk: Chunk, progress: Progress) -> Learned:
        """Makes all updates of a chunk."""
        if chunk.fraction is not None:
            progress = progress._replace(fraction=chunk.fraction)
        # Averages of gradients that stay 0 shrink to subnormal numbers, on which some processors are many times slower.
        torch.set_flush_denormal(True)
        try:
            return self._learn(chunk, progress)
        finally:
            torch.set_flush_denormal(False)

    def _learn(self, chunk: Chunk, progress: Progress) -> Learned:
        device = self.agent.device
        window = {name: on_device(value, device) for name, value in chunk.columns.items()}
        if chunk.arrived is not None:
            self.agent.observe(on_device(chunk.arrived, device))
        for group, rate in self.agent.rates(progress):
            group["lr"] = rate
        window = self.agent.prepare(window, progress)
        results: list[Result] = []
        for batch in self._minibatches(window):
            results.append(self._one_update(batch))
            if results[-1].stop:
                break
        metrics = _numbers(results)
        if results and self.agent.optimizer is not None:
            metrics["lr"] = [self.agent.optimizer.param_groups[0]["lr"]] * len(results)
        _check_finite(metrics, progress.update)
        return Learned(metrics, len(results), _priorities(results))

    def _one_update(self, batch: Batch) -> Result:
        """Makes one update from a minibatch. Raises JoystickError for an unusable loss of the user's own."""
        try:
            return self._measured(self._update(self.agent.standardise(batch)))
        except OwnLossError as error:
            raise JoystickError(str(error)) from error

    def validate(self, chunk: Chunk, progress: Progress) -> dict[str, float]:
        """Returns the metrics of an update from one minibatch, and changes nothing: neither weights nor streams."""
        before = copy.deepcopy(self.agent.state())
        try:
            learned = self.learn(chunk, progress)
        finally:
            self.agent.load_state(before)
        return {name: values[0] for name, values in learned.metrics.items() if name in self.agent.METRICS}

    def _update(self, batch: Batch) -> Result:
        """Updates on this learner's part of a minibatch; averages the metrics of several learners."""
        agent = self.agent
        agent.seed_dropout()
        result = agent.update(batch if agent.CUTS_MINIBATCHES else agent.share(batch))
        if self._share is None:
            return result
        metrics = {name: value.clone() for name, value in result.metrics.items()}
        self._weigh(list(metrics.values()))
        return result._replace(metrics={name: value * self._share.world for name, value in metrics.items()})

    def _measured(self, result: Result) -> Result:
        """Returns the result with the norm of the gradients, which is that of the whole minibatch on every learner."""
        norm = getattr(self.agent.optimizer, "grad_norm", None)
        measured = {} if norm is None else {"grad_norm": norm}
        return result._replace(metrics={**result.metrics, **measured, **self.agent.own_stats()})

    def _minibatches(self, window: Batch) -> Iterator[Batch]:
        if isinstance(self.spec, RolloutSpec):
            yield from self._shuffled(window, self.spec)
        else:
            for k in range(len(window["reward"])):
                # a row of a larger array may start at any byte; an array of its own starts on 16 (see docs/design.md)
                yield {name: value[k].clone() if k else value[0] for name, value in window.items()}

    def _shuffled(self, window: Batch, spec: RolloutSpec) -> Iterator[Batch]:
        """Yields minibatches of single steps or sequences of a window [T, N, ...], in a new order each epoch. The last
        one of an epoch is smaller if the window does not divide evenly."""
        length = spec.sequence or len(window["obs"])
        samples = _single_steps(window) if spec.sequence == 1 else _sequences(window, length)
        if spec.sequence > 1 and spec.minibatch:
            samples = _without_empty(samples)
        axis = {name: 0 if spec.sequence == 1 or name == "state" else 1 for name in samples}
        total = min(value.shape[axis[name]] for name, value in samples.items())
        if not total:
            return
        size = min(spec.minibatch or total, total)
        for _ in range(spec.epochs):
            if size == total:
                yield samples
                continue
            order = on_device(self.agent.streams.learn.permutation(total), self.agent.device)
            for chosen in order.split(size):
                yield {name: value.index_select(axis[name], chosen) for name, value in samples.items()}


def digest(weights: Mapping[str, np.ndarray]) -> str:
    """Returns a fingerprint of weights, equal only for equal bits."""
    found = hashlib.sha256()
    for name in sorted(weights):
        found.update(name.encode() + np.ascontiguousarray(weights[name]).tobytes())
    return found.hexdigest()


def _single_steps(window: Batch) -> Batch:
    """Flattens columns [T, N, ...] to samples [B, ...], without the dummy steps."""
    flat = {name: value.flatten(0, 1) for name, value in window.items()}
    valid = flat.pop("valid", None)
    return flat if valid is None else {name: value[valid] for name, value in flat.items()}


def _sequences(window: Batch, length: int) -> Batch:
    """Cuts columns [T, N, ...] into pieces [L, B, ...] of single rows, with the stored state [B, S] before each."""
    pieces = {name: value.unflatten(0, (-1, length)).transpose(0, 1).flatten(1, 2) for name, value in window.items()}
    return {name: value[0] if name == "state" else value for name, value in pieces.items()}


def _without_empty(pieces: Batch) -> Batch:
    """Drops pieces [L, B, ...] without a valid step: a minibatch of such pieces would have no mean."""
    if "valid" not in pieces:
        return pieces
    kept = pieces["valid"].any(0)
    return {name: value[kept] if name == "state" else value[:, kept] for name, value in pieces.items()}


def _numbers(results: list[Result]) -> dict[str, list[float]]:
    """Returns the metrics of all updates, each from those that have it. From a GPU they are read in one go."""
    names = dict.fromkeys(name for result in results for name in result.metrics)
    found = {name: [result.metrics[name] for result in results if name in result.metrics] for name in names}
    if not found or next(iter(found.values()))[0].is_cpu:
        return {name: [value.item() for value in values] for name, values in found.items()}
    read = iter(torch.stack([value for values in found.values() for value in values]).tolist())
    return {name: list(islice(read, len(values))) for name, values in found.items()}


def _check_finite(metrics: dict[str, list[float]], first_update: int) -> None:
    for name, values in metrics.items():
        for at, value in enumerate(values, start=first_update + 1):
            if not math.isfinite(value):
                raise NumericsError(
                    f"{name} became {value} at update {at}; a smaller learning rate (algo_cfg.lr), scaled rewards "
                    "or algo_cfg.max_grad_norm may help"
                )


def _priorities(results: list[Result]) -> np.ndarray | None:
    """Returns priorities [K, B], or None if the agent gives none."""
    if not results or results[0].priorities is None:
        return None
    return torch.stack([result.priorities for result in results if result.priorities is not None]).cpu().numpy()
