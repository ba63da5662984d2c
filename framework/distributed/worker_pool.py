"""The workers as the driver sees them: who is at work on what, and who takes the place of one that died."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from algos.base import EnvSpec, Progress, Tree
from config.loader import RunConfig
from config.schema import ReplaySpec
from framework import build
from framework.collector_state import beginning
from framework.distributed import ray_cluster, ray_errors
from framework.distributed.pace import adapted
from framework.distributed.worker import OUTSTANDING, Report, Worker
from framework.errors import JoystickError

MOST_DEATHS = 5
"""Deaths of a worker, without a calm between them, that end the run."""
CALM_SECONDS = 60.0
"""Of work after which earlier deaths are forgotten."""
FIRST_PAUSE = 0.5
"""Seconds before a dead worker is replaced; twice as many after each further death."""
END_SECONDS = 1.0
"""That workers have to close their environments."""
LONGEST_FRAGMENT = 128
"""Steps, of workers that run ahead for a replay memory. They begin with what one process would collect at once."""


class Asked(NamedTuple):
    """A fragment that a worker was asked for."""

    steps: int
    report: Any
    """Reference to its report."""
    fragment: Any
    """Reference to the fragment itself."""


@dataclass
class WorkerHandle:
    """One worker."""

    number: int
    actor: Any = None
    """None while a replacement waits for its time."""
    incarnation: int = 0
    asked: deque[Asked] = field(default_factory=deque)
    accepted: int = 0
    """Fragments of this actor that were accepted."""
    steps: int = 0
    """Steps of this worker's rows that were accepted, over all incarnations."""
    episode: np.ndarray | None = None
    """Number [N] of the running episode of each row."""
    length: int = 1
    """Steps of its next fragment."""
    born: float = 0.0
    heard: float = 0.0
    """When it was last asked or answered."""
    begun: Any = None
    """Reference to its first answer; None once that has come, or was missed."""
    deaths: int = 0
    not_before: float = 0.0


class WorkerPool:
    """All workers of a run."""

    def __init__(
        self,
        ray: Any,
        config: RunConfig,
        spec: EnvSpec,
        ahead: bool,
        say: Callable[[str], None] = lambda text: None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.ray, self.config, self.spec, self.ahead, self.say, self.stopping = ray, config, spec, ahead, say, stopping
        self.most_asked = OUTSTANDING if ahead else 1
        wanted = config.algo.memory(spec.rows)
        self.shortest = wanted.fragment
        self.adapts = ahead and isinstance(wanted, ReplaySpec)
        """True if the length of fragments follows the time that they take."""
        self.workers = [WorkerHandle(number, length=self.shortest) for number in range(config.general.n_workers)]
        cfg = config.general
        self._kind = ray.remote(**ray_cluster.options(cfg.num_cpus_per_worker if cfg.ray_address else 0))(Worker)
        self._config = ray.put(config)
        for worker in self.workers:
            self._start(worker)

    def _start(self, worker: WorkerHandle) -> None:
        worker.actor = self._kind.remote(self._config, self.spec, worker.number, worker.incarnation, worker.episode)
        worker.accepted, worker.born, worker.begun = 0, time.monotonic(), worker.actor.pid.remote()
        if worker.incarnation:
            worker.actor.continue_at.remote(worker.steps)

    def check(self) -> None:
        """All stand."""
        ray_errors.begun(self.ray, [worker.begun for worker in self.workers], "a worker", self.stopping)

    # work -------------------------------------------------------------------------------------------------

    def send(self, worker: WorkerHandle, steps: int, progress: Progress, version: int, weights: Any) -> None:
        """Asks for a fragment of so many steps."""
        report, fragment = worker.actor.collect.options(num_returns=2).remote(steps, progress, version, weights)
        if not worker.asked:
            worker.heard = time.monotonic()
        worker.asked.append(Asked(steps, report, fragment))

    def idle(self) -> list[WorkerHandle]:
        """Who may be asked for more. A worker whose time has come to be replaced is."""
        for worker in self.workers:
            if worker.actor is None and time.monotonic() >= worker.not_before:
                self._start(worker)
            self._look_for(worker)
        free = [worker for worker in self.workers if worker.actor is not None and len(worker.asked) < self.most_asked]
        return sorted(free, key=lambda worker: (len(worker.asked), worker.steps))

    def _look_for(self, worker: WorkerHandle) -> None:
        """In a cluster, a successor may have to wait until there is room for it."""
        if worker.begun is None or worker.actor is None:
            return
        if self.ray.wait([worker.begun], timeout=0)[0]:
            worker.begun = None
        elif time.monotonic() - worker.born > ray_errors.START_SECONDS:
            worker.begun = None
            text = f"worker {worker.number} has not begun after {ray_errors.START_SECONDS:g} s: is there room for it?"
            if not self.ahead or len(self.workers) == 1:
                raise JoystickError(text)
            self.say(f"{text} The others go on")

    def awaited(self) -> dict[Any, WorkerHandle]:
        """The next report of each worker."""
        return {worker.asked[0].report: worker for worker in self.workers if worker.asked}

    def receive(self, worker: WorkerHandle) -> tuple[Report, Any] | None:
        """A report that has come, and the fragment's reference; None where the worker has died."""
        try:
            report: Report = self.ray.get(worker.asked[0].report)
        except Exception as error:
            self._failed(worker, error)
            return None
        worker.heard = time.monotonic()
        asked = worker.asked.popleft()
        if self.adapts:
            longest = max(self.shortest, LONGEST_FRAGMENT)
            worker.length = adapted(asked.steps, report.seconds, self.shortest, longest)
        return report, asked.fragment

    def accept(self, worker: WorkerHandle, report: Report) -> None:
        """Counts a fragment."""
        worker.accepted, worker.episode, worker.steps = report.fragments, report.episode, report.steps
        if worker.heard - worker.born > CALM_SECONDS:
            worker.deaths = 0

    # deaths -----------------------------------------------------------------------------------------------

    def _failed(self, worker: WorkerHandle, error: Exception) -> None:
        """An error of the environment ends the run, as in one process; a death is mended."""
        kinds = self.ray.exceptions
        if isinstance(error, kinds.RayTaskError) or not isinstance(error, kinds.RayActorError):
            # Ray's error of a task is also of the kind of its cause, such as the death of whose weights it was given
            cause = ray_errors.raised(kinds, error)
            if isinstance(cause, Exception) and type(cause).__module__.split(".")[0] in ("framework", "envs"):
                cause.add_note(f"In worker {worker.number}:\n{error}")  # for the log: only Ray has its traceback
                raise cause from None
            raise JoystickError(f"worker {worker.number}: {ray_errors.reason(error)}") from error
        worker.deaths += 1
        why, silent = ray_errors.reason(error), time.monotonic() - worker.heard
        if worker.asked and 0 < self.config.general.env_timeout <= silent:
            why = f"its environment has not answered for {silent:.0f} s"
        if worker.deaths > MOST_DEATHS:
            raise JoystickError(f"worker {worker.number} died {worker.deaths} times, the last time because {why}")
        pause = FIRST_PAUSE * 2 ** (worker.deaths - 1)
        self.say(f"worker {worker.number} died ({why}); another takes its place in {pause:g} s")
        worker.actor, worker.not_before = None, time.monotonic() + pause
        worker.asked.clear()
        worker.incarnation += 1
        # running episodes are lost; their successors have seeds of their own
        worker.episode = np.ones(self.config.env.n_envs, np.int64) if worker.episode is None else worker.episode + 1

    # stopping and going on --------------------------------------------------------------------------------

    def state(self) -> list[Tree]:
        """Where each collector stood after the last fragment that was accepted of it. One that is not there stands
        where its successor begins."""
        return [self._state(worker) for worker in self.workers]

    def _state(self, worker: WorkerHandle) -> Tree:
        self._look_for(worker)
        if worker.actor is not None and worker.begun is None:
            try:
                state: Tree = self.ray.get(worker.actor.state.remote(worker.accepted))
                return state
            except Exception as error:
                self._failed(worker, error)
        rng = build.acting_stream(self.config.general.seed, worker.number, worker.incarnation)
        episode = np.zeros(self.config.env.n_envs, np.int64) if worker.episode is None else worker.episode
        return beginning(episode, worker.steps, worker.incarnation, rng)

    def load_state(self, states: list[Tree]) -> list[str]:
        """Each worker stands where one stood before; those without a state begin anew. Returns the rows that could
        not be repeated, in words."""
        different = []
        calls = [worker.actor.load_state.remote(state) for worker, state in zip(self.workers, states, strict=False)]
        for worker, state, call in zip(self.workers, states, calls, strict=False):
            worker.steps, worker.incarnation = int(state["steps"]), int(state["incarnation"])
            worker.episode = state["rows"]["episode"].copy()
            try:
                rows = self.ray.get(call)
            except Exception as error:
                self._failed(worker, error)
                rows = range(len(worker.episode))
            different += [f"{row} of worker {worker.number}" for row in rows]
        return different

    def pids(self) -> list[int]:
        """Their processes."""
        asked = [worker.actor.pid.remote() for worker in self.workers if worker.actor is not None]
        return [pid for pid in map(self._answer, asked) if pid is not None]

    def _answer(self, ref: Any) -> Any:
        """None of one that has died; who asks it for work hears of that."""
        try:
            return self.ray.get(ref)
        except self.ray.exceptions.RayActorError:
            return None

    def end(self) -> None:
        """Close their environments, and kill them all."""
        actors = [worker.actor for worker in self.workers if worker.actor is not None]
        if asked := [actor.close.remote() for actor in actors]:
            self.ray.wait(asked, num_returns=len(asked), timeout=END_SECONDS)
        for actor in actors:
            self.ray.kill(actor)
