"""Manages the workers of a run from the driver: requests, deaths and replacements."""

import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from algos.base import EnvSpec, Progress, Tree
from config.read.loader import RunConfig
from config.tell.language import tr
from framework.assemble import build
from framework.collect.training import beginning
from framework.distributed import ray_cluster, ray_errors
from framework.distributed.throttle import adapted
from framework.distributed.worker import OUTSTANDING, Report, Worker
from framework.errors import JoystickError
from framework.log import LOGGER
from framework.loop.backend import WorkerLost
from framework.policies.policy_plan import plan

MOST_DEATHS = 5
"""Deaths of a worker in a row after which a further one ends the run."""
CALM_SECONDS = 60.0
"""Seconds of work after which earlier deaths of a worker no longer count."""
FIRST_PAUSE = 0.5
"""Seconds before a dead worker is replaced; doubled after each further death."""
END_SECONDS = 1.0
"""Seconds workers get to close their environments."""
LONGEST_FRAGMENT = 128
"""Largest number of steps of a fragment of workers that run ahead for a replay memory."""

_COLORS = re.compile(r"\x1b\[\d*m")
"""Escape sequences with which Ray colors the first lines of its tracebacks."""


class Request(NamedTuple):
    """A fragment that a worker was asked for."""

    steps: int
    report: Any
    """Reference to its report."""
    fragment: Any
    """Reference to the fragment itself."""


@dataclass
class WorkerHandle:
    """The driver's record of one worker."""

    number: int
    actor: Any = None
    """None while a replacement is delayed."""
    incarnation: int = 0
    requests: deque[Request] = field(default_factory=deque)
    accepted: int = 0
    """Number of fragments of this actor that were accepted."""
    steps: int = 0
    """Number of steps of each row that were accepted, over all incarnations."""
    episode: np.ndarray | None = None
    """Number [N] of the running episode of each row."""
    length: int = 1
    """Number of steps for which it needs between SHORT_SECONDS and LONG_SECONDS."""
    born: float = 0.0
    heard: float = 0.0
    """Time of its last answer, or of the request that it is working on."""
    begun: Any = None
    """Reference to its first answer; None once that has come."""
    overdue: bool = False
    """True once its first answer is overdue, and that was told."""
    deaths: int = 0
    not_before: float = 0.0


class WorkerPool:
    """Starts, asks, replaces and ends the workers of a run."""

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
        self.most_requests = OUTSTANDING if ahead else 1
        its = plan(config, spec)
        self.shortest = its.fragment
        self.adapts = ahead and not its.fresh
        """True if the length of fragments follows the time that they take."""
        self.workers = [WorkerHandle(number, length=self.shortest) for number in range(config.general.n_workers)]
        cfg = config.general
        resources = (cfg.num_cpus_per_worker, cfg.num_gpus_per_worker) if cfg.ray_address else (0, 0)
        self._kind = ray.remote(**ray_cluster.options(*resources))(Worker)
        self._config = ray.put(config)
        self.phase: float | None = None
        """Phase of the curriculum that a replacement begins in; None: the first one."""
        for worker in self.workers:
            self._start(worker)

    def _start(self, worker: WorkerHandle) -> None:
        worker.actor = self._kind.remote(
            self._config, self.spec, worker.number, worker.incarnation, worker.episode, self.phase
        )
        worker.accepted, worker.born, worker.begun = 0, time.monotonic(), worker.actor.pid.remote()
        worker.overdue = False
        if worker.incarnation:
            worker.actor.continue_at.remote(worker.steps)

    def check(self) -> None:
        """Waits until all workers have started."""
        ray_errors.begun(self.ray, [worker.begun for worker in self.workers], tr("a worker"), self.stopping)

    # work -------------------------------------------------------------------------------------------------

    def send(self, worker: WorkerHandle, steps: int, progress: Progress, version: int, weights: Any) -> None:
        """Asks for a fragment of this many steps."""
        self.phase = progress.phase
        report, fragment = worker.actor.collect.options(num_returns=2).remote(steps, progress, version, weights)
        if not worker.requests:
            worker.heard = time.monotonic()
        worker.requests.append(Request(steps, report, fragment))

    def idle(self) -> list[WorkerHandle]:
        """Returns the workers that can take another request, least loaded first. Restarts dead workers whose delay is
        over."""
        for worker in self.workers:
            if worker.actor is None and time.monotonic() >= worker.not_before:
                self._start(worker)
            self._look_for(worker)
        free = [
            worker for worker in self.workers if worker.actor is not None and len(worker.requests) < self.most_requests
        ]
        return sorted(free, key=lambda worker: (len(worker.requests), worker.steps))

    def _look_for(self, worker: WorkerHandle) -> None:
        """Checks whether a worker has started: in a cluster, a replacement may have to wait for resources."""
        if worker.begun is None or worker.actor is None:
            return
        if self.ray.wait([worker.begun], timeout=0)[0]:
            worker.begun = None
        elif not worker.overdue and time.monotonic() - worker.born > ray_errors.START_SECONDS:
            worker.overdue = True
            text = tr(
                "worker {number} has not started after {seconds:g} s: is there room for it?",
                number=worker.number,
                seconds=ray_errors.START_SECONDS,
            )
            if not self.ahead or len(self.workers) == 1:
                raise WorkerLost(text)
            self.say(tr("{text} The others continue", text=text))

    def awaited(self) -> dict[Any, WorkerHandle]:
        """Returns the workers that are at work, by the reference to their next report."""
        return {worker.requests[0].report: worker for worker in self.workers if worker.requests}

    def receive(self, worker: WorkerHandle) -> tuple[Report, Any] | None:
        """Returns a report that has come and the reference to its fragment; None if the worker has died."""
        try:
            report: Report = ray_errors.answers(self.ray, worker.requests[0].report)
        except Exception as error:
            self._failed(worker, error)
            return None
        worker.heard = time.monotonic()
        request = worker.requests.popleft()
        if self.adapts:
            longest = max(self.shortest, LONGEST_FRAGMENT)
            worker.length = adapted(request.steps, report.seconds, self.shortest, longest)
        return report, request.fragment

    def accept(self, worker: WorkerHandle, report: Report) -> None:
        """Counts a fragment."""
        worker.accepted, worker.episode, worker.steps = report.fragments, report.episode, report.steps
        if worker.heard - worker.born > CALM_SECONDS:
            worker.deaths = 0

    def at_work(self) -> list[WorkerHandle]:
        """Returns the workers that have started; those that are missing are not asked, since they do not answer."""
        for worker in self.workers:
            self._look_for(worker)
        return [worker for worker in self.workers if worker.actor is not None and worker.begun is None]

    def complete(self) -> bool:
        """Returns True if no worker is missing."""
        return len(self.at_work()) == len(self.workers)

    def each(self, ask: Callable[[Any], Any]) -> list[Any]:
        """Returns the answers of all workers at work; one that dies meanwhile is replaced later. ask: calls one, and
        returns the reference to its answer."""
        calls = [(worker, ask(worker.actor)) for worker in self.at_work()]
        answers = []
        for worker, call in calls:
            try:
                answers.append(ray_errors.answers(self.ray, call))
            except self.ray.exceptions.RayTaskError as error:
                raise ray_errors.raised(self.ray.exceptions, error) from None
            except self.ray.exceptions.RayActorError as error:
                self._failed(worker, error)
        return answers

    # deaths -----------------------------------------------------------------------------------------------

    def _failed(self, worker: WorkerHandle, error: Exception) -> None:
        """Raises an error of the environment, as one process would; schedules the replacement of a dead worker."""
        kinds = self.ray.exceptions
        if isinstance(error, kinds.RayTaskError) or not isinstance(error, kinds.RayActorError):
            # Ray's error of a task is also an instance of its cause: the death of a learner whose weights it was given
            cause = ray_errors.raised(kinds, error)
            if isinstance(cause, Exception) and type(cause).__module__.split(".")[0] in ("framework", "envs"):
                said = _COLORS.sub("", str(error))  # the traceback, which only Ray has
                LOGGER.error("%s", tr("In worker {number}:\n{error}", number=worker.number, error=said))
                raise cause from None
            raise JoystickError(
                "worker {number}: {reason}", number=worker.number, reason=ray_errors.reason(error)
            ) from error
        worker.deaths += 1
        why, silent = ray_errors.reason(error), time.monotonic() - worker.heard
        if worker.requests and 0 < self.config.general.env_timeout <= silent:
            why = tr("its environment has not answered for {silent:.0f} s", silent=silent)
        worker.actor = None
        worker.requests.clear()
        worker.incarnation += 1
        # running episodes are lost; the next ones have other numbers and seeds
        worker.episode = np.ones(self.config.env.n_envs, np.int64) if worker.episode is None else worker.episode + 1
        if worker.deaths > MOST_DEATHS:
            raise WorkerLost(
                "worker {number} died {deaths} times, the last time because {why}",
                number=worker.number,
                deaths=worker.deaths,
                why=why,
            )
        pause = FIRST_PAUSE * 2 ** (worker.deaths - 1)
        self.say(
            tr(
                "worker {number} died ({why}); another takes its place in {pause:g} s",
                number=worker.number,
                why=why,
                pause=pause,
            )
        )
        worker.not_before = time.monotonic() + pause

    # stopping and going on --------------------------------------------------------------------------------

    def state(self) -> list[Tree]:
        """Returns the state of each collector after its last accepted fragment; for a worker that is missing, the state
        in which its replacement starts."""
        return [self._state(worker) for worker in self.workers]

    def _state(self, worker: WorkerHandle) -> Tree:
        self._look_for(worker)
        if worker.actor is not None and worker.begun is None:
            try:
                state: Tree = ray_errors.answers(self.ray, worker.actor.state.remote(worker.accepted))
                return state
            except Exception as error:
                self._failed(worker, error)
        rng = build.acting_stream(self.config.general.seed, worker.number, worker.incarnation)
        episode = np.zeros(self.config.env.n_envs, np.int64) if worker.episode is None else worker.episode
        return beginning(episode, worker.steps, worker.incarnation, rng, self.phase)

    def load_state(self, states: list[Tree]) -> list[str]:
        """Restores the states of the collectors; workers without one start afresh. Returns the rows that could not be
        replayed, in words."""
        different = []
        calls = [worker.actor.load_state.remote(state) for worker, state in zip(self.workers, states, strict=False)]
        for worker, state, call in zip(self.workers, states, calls, strict=False):
            worker.steps, worker.incarnation = int(state["steps"]), int(state["incarnation"])
            worker.episode = state["rows"]["episode"].copy()
            try:
                rows = ray_errors.answers(self.ray, call)
            except Exception as error:
                self._failed(worker, error)
                rows = range(len(worker.episode))
            different += [f"{row} of worker {worker.number}" for row in rows]
        return different

    def pids(self) -> list[int]:
        """Returns the process ids of the workers."""
        answers = [worker.actor.pid.remote() for worker in self.at_work()]
        return [pid for pid in map(self._answer, answers) if pid is not None]

    def _answer(self, ref: Any) -> Any:
        """Returns None if the worker died; the death is handled at the next request."""
        try:
            return ray_errors.answers(self.ray, ref)
        except self.ray.exceptions.RayActorError:
            return None

    def end(self) -> None:
        """Closes the environments and kills all workers."""
        actors = [worker.actor for worker in self.workers if worker.actor is not None]
        if answers := [actor.close.remote() for actor in actors]:
            self.ray.wait(answers, num_returns=len(answers), timeout=END_SECONDS)
        for actor in actors:
            self.ray.kill(actor)
