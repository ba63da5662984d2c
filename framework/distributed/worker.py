"""A Collector in a process of its own."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from algos.base import Array, EnvSpec, Progress, Tree
from config.loader import RunConfig
from framework import build
from framework.backend import Accepted, accepted
from framework.distributed.meter import Meter, Times
from framework.fragment import Fragment
from framework.output.recorders import TrajectoryRecorder
from framework.output.trajectories import plain
from framework.runs.signals import Watchdog, leave
from framework.watch import Watch

OUTSTANDING = 2
"""Fragments that a worker may have been asked for at once."""
HUNG = 75
"""Exit status of a worker whose environment does not come back. Ray does not pass it on: the driver has a clock."""


class Report(NamedTuple):
    """What the driver learns of a fragment; the fragment itself goes to the data server."""

    accepted: Accepted
    fragments: int
    """That this worker has collected so far."""
    version: int
    """Of the weights that it was collected with."""
    seconds: float
    """That it took."""
    steps: int
    """That its rows have made so far."""
    episode: Array
    """Number [N] of the running episode in each row."""
    trajectories: list[dict[str, Any]]
    times: Times


class Worker:
    """Collects a fragment each time that it is asked to."""

    def __init__(
        self, config: RunConfig, spec: EnvSpec, number: int, incarnation: int = 0, episode: Array | None = None
    ) -> None:
        cfg = config.general
        build.choose_threads(config, spec, cfg.n_workers)
        self.env = build.make_env(config, config.env.n_envs)
        self.agent = build.make_agent(config, spec, cfg.seed, build.CPU)
        self.shelf, watch = _Shelf(), Watch()
        recorders = (TrajectoryRecorder(self.shelf, self.env.rows),) if cfg.collect_traj else ()
        self.collector = build.make_collector(
            config, self.env, self.agent, cfg.seed, number, recorders, incarnation, episode, 1 + OUTSTANDING, watch
        )
        self.fragments, self.version, self.meter = 0, -1, Meter()
        Watchdog(cfg.env_timeout, watch, lambda: leave(HUNG))

    def load_state(self, state: Tree) -> list[int]:
        """Stand where another collector stood. Returns the rows that begin a new episode."""
        return self.collector.load_state(state)

    def continue_at(self, steps: int) -> None:
        """Go on counting where a lost worker was."""
        self.collector.steps = steps
        self.collector.settle()

    def collect(self, steps: int, progress: Progress, version: int, weights: dict | None) -> tuple[Report, Fragment]:
        """A fragment with these weights (those before, where they are the same version)."""
        with self.meter:
            if weights is not None and version != self.version:
                self.agent.load_weights({name: np.array(value) for name, value in weights.items()})
                self.version = version
            fragment, episodes = self.collector.collect(steps, progress)
            self.collector.settle()
            self.fragments += 1
        report = Report(
            accepted(fragment, episodes, progress),
            self.fragments,
            version,
            self.meter.last,
            self.collector.steps,
            self.collector.running(),
            self.shelf.take(),
            self.meter.read(),
        )
        return report, fragment

    def state(self, fragments: int) -> Tree:
        """Where it stood after so many fragments."""
        return self.collector.state(back=self.fragments - fragments)

    def close(self) -> None:
        """No fragment is wanted any more."""
        self.env.close()

    def pid(self) -> int:
        """Its process."""
        return os.getpid()


class _Shelf:
    """Takes the place of a TrajectoryWriter: episodes travel with the fragment that they ended in."""

    def __init__(self) -> None:
        self.episodes: list[dict[str, Any]] = []

    def add(self, episode: Mapping[str, Any]) -> None:
        self.episodes.append({**episode, "info": [plain(step) for step in episode["info"]]})

    def take(self) -> list[dict[str, Any]]:
        """What has come since the last time."""
        taken, self.episodes = self.episodes, []
        return taken
