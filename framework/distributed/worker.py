"""Runs a Collector in a process of its own."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from algos.base import Array, EnvSpec, Progress, TrainableActor, Tree
from config.read.loader import RunConfig
from envs.base import EnvContext
from framework.assemble import build
from framework.assemble.kernels import use_kernels
from framework.collect.env_calls import Watch
from framework.collect.fragment import Accepted, Fragment, accepted
from framework.distributed.utilization import BusyShare
from framework.log import Line, Lines
from framework.runs.signals import Watchdog, leave

OUTSTANDING = 2
"""Largest number of fragments that a worker is asked for at once."""
HUNG = 75
"""Exit status of a worker whose environment hangs. Ray does not pass it on; the driver goes by the time."""


class Report(NamedTuple):
    """Report to the driver about a fragment; the fragment itself goes to the data server."""

    accepted: Accepted
    fragments: int
    """Number of fragments that this worker has collected so far."""
    version: int
    """Version of the weights that it was collected with."""
    seconds: float
    """Duration of its collection."""
    steps: int
    """Number of steps that each row has made so far."""
    episode: Array
    """Number [N] of the running episode in each row."""
    busy: float
    """Share of its recent time that this worker has worked."""
    log: list[Line]
    """Lines that were logged in this process since the last report."""


class Worker:
    """Collects a fragment at each call."""

    def __init__(
        self,
        config: RunConfig,
        spec: EnvSpec,
        number: int,
        incarnation: int = 0,
        episode: Array | None = None,
        phase: float | None = None,
    ) -> None:
        cfg = config.general
        use_kernels(config)
        torch.set_num_threads(cfg.torch_threads or 1)  # acting on a few rows is fastest with one
        self.log, watch = Lines(cfg.log_level), Watch()
        with self.log.captured():
            self.env = build.make_env(config, config.env.n_envs, worker=number + 1, recreated=incarnation > 0)
            self.agent = build.make_agent(config, spec, cfg.seed, build.CPU)
            recorders = build.make_recorders(config, self.env, build.make_callbacks(config), number)
            self.collector = build.make_collector(
                config, self.env, self.agent, cfg.seed, number, recorders, incarnation, episode, 1 + OUTSTANDING, watch,
                phase,
            )  # fmt: skip
        self.fragments, self.version, self.busy = 0, -1, BusyShare()
        Watchdog(cfg.env_timeout, watch, lambda: leave(HUNG))

    def load_state(self, state: Tree) -> list[int]:
        """Restores the state of a collector. Returns the rows that could not be replayed and start a new episode."""
        with self.log.captured():
            return self.collector.load_state(state)

    def continue_at(self, steps: int) -> None:
        """Continues the step count of a worker that died."""
        self.collector.steps = steps
        self.collector.settle()

    def collect(self, steps: int, progress: Progress, version: int, weights: dict | None) -> tuple[Report, Fragment]:
        """Collects a fragment, with new weights if their version differs from the present one."""
        with self.busy, self.log.captured():
            self._update(version, weights)
            fragment, episodes = self.collector.collect(steps, progress)
            self.collector.settle()
            self.fragments += 1
        report = Report(
            accepted(fragment, episodes, progress, self.collector.records),
            self.fragments,
            version,
            self.busy.seconds,
            self.collector.steps,
            self.collector.running(),
            self.busy.share,
            self.log.take(),
        )
        return report, fragment

    def _update(self, version: int, weights: dict | None) -> None:
        if weights is not None and version != self.version:
            self.agent.load_weights({name: np.array(value) for name, value in weights.items()})
            self.version = version

    def call(self, function: Callable[[TrainableActor, int], Any], version: int, weights: dict | None) -> Any:
        """Returns function(agent, index) with these weights; index is 1 for the first worker."""
        self._update(version, weights)
        return function(self.agent, self.collector.worker + 1)

    def visit(self, function: Callable[[Any, EnvContext], Any]) -> list[Any]:
        """Returns function(environment, context) for each row."""
        return self.env.visit(function)

    def state(self, fragments: int) -> Tree:
        """Returns the state after this number of fragments: the last one, or one of the OUTSTANDING before it."""
        return self.collector.state(back=self.fragments - fragments)

    def close(self) -> None:
        """Closes the environment."""
        self.env.close()

    def pid(self) -> int:
        """Returns its process id."""
        return os.getpid()
