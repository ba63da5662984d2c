"""The only code that makes updates: cuts a chunk into minibatches and calls agent.update for each."""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from algos.base import Agent, Batch, OwnLossError, Progress, Result, TrainableActor, columns_on_device
from config.model.memory_spec import MemorySpec, RolloutSpec
from config.tell.language import tr
from framework.errors import JoystickError, NumericsError
from framework.log import first_shapes
from framework.loop.share import Share
from framework.loop.windows import shuffled
from framework.memory.chunk import Chunk
from framework.screen.formatting import counted


class Learned(NamedTuple):
    """Results of learning from a chunk."""

    metrics: dict[str, list[float]]
    """Metric -> a number for each update that has it."""
    updates: int
    priorities: np.ndarray | None = None
    """New priorities [K, B], for the feedback of the memory."""


class Learner(ABC):
    """Applies the updates of a run."""

    agent: TrainableActor

    @abstractmethod
    def divide(self, share: Share) -> None:
        """Makes this learner use its share of every minibatch, and average gradients with the others."""

    @abstractmethod
    def learn(self, chunk: Chunk, progress: Progress) -> Learned:
        """Makes all updates of a chunk."""

    @abstractmethod
    def doing(self) -> str:
        """Returns how far `learn` is. Another thread may call it."""

    def validate(self, chunk: Chunk, progress: Progress) -> dict[str, float]:
        """Returns the metrics of an update from one minibatch, and changes nothing: neither weights nor streams."""
        before = copy.deepcopy(self.agent.state())
        try:
            self.agent.load_state({**before, "updates": -1} if "updates" in before else before)  # 0 is an actor's turn
            learned = self.learn(chunk, progress)
        finally:
            self.agent.load_state(before)
        return {name: values[0] for name, values in learned.metrics.items() if name in self.agent.METRICS}


class AgentLearner(Learner):
    """Applies the updates of an agent, minibatch by minibatch."""

    def __init__(self, agent: Agent, spec: MemorySpec) -> None:
        self.agent: Agent = agent
        self.spec = spec
        self._share: Share | None = None
        self._first = True
        """True until it has learned from a chunk."""
        self._results: list[Result] = []
        """Results of the updates of the present chunk."""

    def doing(self) -> str:
        if any(step.compiles for step in self.agent.gradient_steps()):
            return tr("compiling a gradient step")
        return tr("learning: {updates}", updates=counted(len(self._results), "update"))

    def divide(self, share: Share) -> None:
        agent, self._share = self.agent, share
        agent.learners, agent.reduce = share.world, share.average
        agent.share = lambda batch: agent.single_steps(share.part(batch))

    def learn(self, chunk: Chunk, progress: Progress) -> Learned:
        if self._first:
            first_shapes("chunk", chunk.columns)
            self._first = False
        if chunk.fraction is not None:
            progress = progress._replace(fraction=chunk.fraction)
        # Averages of gradients that stay 0 shrink to subnormal numbers, on which some processors are many times slower.
        torch.set_flush_denormal(True)
        try:
            with torch.enable_grad():  # an environment with a network of its own may have switched gradients off
                return self._learn(chunk, progress)
        finally:
            torch.set_flush_denormal(False)

    def _learn(self, chunk: Chunk, progress: Progress) -> Learned:
        agent = self.agent
        window = columns_on_device(chunk.columns, agent.device)
        if chunk.arrived is not None:
            arrived = columns_on_device(chunk.arrived, agent.device)
            agent.observe(arrived["obs"])
            if "global_state" in arrived:
                agent.observe_state(arrived["global_state"])
        agent.follow(progress)
        if agent.PREPARES_WITH_DROPOUT:
            agent.seed_dropout()
        window = agent.prepare(window, progress)
        results = self._results = list[Result]()
        for batch in self._minibatches(window):
            results.append(self._update(batch))
            if results[-1].stop:
                break
        metrics = _numbers(results)
        if results and agent.optimizer is not None:
            metrics["lr"] = [agent.optimizer.param_groups[0]["lr"]] * len(results)
        metrics |= {name: [value] * len(results) for name, value in agent.scheduled(progress).items()}
        _check_finite(metrics, progress.update)
        return Learned(metrics, len(results), _priorities(results))

    def _minibatches(self, window: Batch) -> Iterator[Batch]:
        if isinstance(self.spec, RolloutSpec):
            yield from shuffled(window, self.spec, self.agent.streams.learn, self.agent.device)
        else:
            for k in range(window["reward"].shape[0]):
                # a row of a larger array may start at any byte, an array of its own on 16 (docs/design/runs_on_disk.md)
                yield {name: value[k].clone() if k else value[0] for name, value in window.items()}

    def _update(self, batch: Batch) -> Result:
        """Makes one update from a minibatch, on this learner's part of it. The metrics get the norm of the gradients,
        which is that of the whole minibatch on every learner. Raises JoystickError for an unusable loss of the user's
        own."""
        agent = self.agent
        try:
            batch = agent.shifted(agent.standardize(batch))
            agent.seed_dropout()
            steps = batch if agent.CUTS_MINIBATCHES else agent.share(batch)
            result = agent.by_sample(agent.update(steps), steps)
            metrics = result.metrics if self._share is None else self._share.averaged(result.metrics)
            norm = getattr(agent.optimizer, "grad_norm", None)
            measured = {} if norm is None else {"grad_norm": norm}
            return result._replace(metrics={**metrics, **measured, **agent.own_stats()})
        except OwnLossError as error:
            raise JoystickError(str(error)) from error


def _numbers(results: list[Result]) -> dict[str, list[float]]:
    """Returns the metrics of all updates, each from those that have it. Those on a GPU are read in one go."""
    if len(results) == 1 and all(value.is_cpu for value in results[0].metrics.values()):
        return {name: [value.item()] for name, value in results[0].metrics.items()}
    names = dict.fromkeys(name for result in results for name in result.metrics)
    columns = {name: [result.metrics[name] for result in results if name in result.metrics] for name in names}
    elsewhere = [value for values in columns.values() for value in values if not value.is_cpu]
    read = iter(torch.stack(elsewhere).tolist() if elsewhere else ())
    return {
        name: [value.item() if value.is_cpu else next(read) for value in values] for name, values in columns.items()
    }


def _check_finite(metrics: dict[str, list[float]], first_update: int) -> None:
    for name, values in metrics.items():
        for at, value in enumerate(values, start=first_update + 1):
            if not math.isfinite(value):
                raise NumericsError(
                    "{name} became {value} at update {at}; a smaller learning rate (algo_cfg.lr), "
                    "scaled rewards or algo_cfg.max_grad_norm may help",
                    name=name,
                    value=value,
                    at=at,
                )


def _priorities(results: list[Result]) -> np.ndarray | None:
    """Returns priorities [K, B], or None if the agent gives none."""
    if not results or results[0].priorities is None:
        return None
    return torch.stack([result.priorities for result in results if result.priorities is not None]).cpu().numpy()
