"""The backend of many processes: the driver holds every reference, asks, waits, and hands on."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch.distributed

from algos.base import Agent, EnvSpec, Tree
from config.loader import RunConfig
from config.schema import ReplaySpec
from framework import compatibility, resources
from framework.backend import Accepted, Lost, Now
from framework.checkpoint.journal import Frame
from framework.distributed import ray_cluster, ray_errors
from framework.distributed.data_server import DataServer
from framework.distributed.learner_actor import LearnerActor, LearnerReport
from framework.distributed.remote_memory import RemoteMemory
from framework.distributed.utilization import Utilization
from framework.distributed.worker import Report
from framework.distributed.worker_pool import WorkerHandle, WorkerPool, adapted
from framework.errors import JoystickError
from framework.learner import Learned
from framework.output import LOGGER
from framework.output.trajectories import TrajectoryWriter


class PendingChunk(NamedTuple):
    """A chunk that is being learned from."""

    lessons: list[Any]
    """References to what each learner says of it."""
    weights: Any
    """Reference to the weights after it."""


class RayBackend:
    """Workers, a data server and learners. run_ahead 0 is the order of one process, with the same numbers."""

    def __init__(
        self, ray: Any, config: RunConfig, spec: EnvSpec, agent: Agent, stopping: Callable[[], bool] = lambda: False
    ) -> None:
        self.ray, self.config, self.spec, self.agent = ray, config, spec, agent
        self.ahead = compatibility.run_ahead(config)
        self._replays = isinstance(config.algo.memory(1), ReplaySpec)
        self.processes = self
        self.say: Callable[[str], None] = LOGGER.warning
        self.stopping = stopping
        self.keep: Callable[[dict[str, Any]], None] = lambda episode: None
        """What is done with a trajectory."""
        self.pool: WorkerPool
        self._others: list[Tree] = []
        self._start()

    def _start(self) -> None:
        """All processes, anew."""
        ray, config, spec, cfg = self.ray, self.config, self.spec, self.config.general
        apart = self.ahead > 0
        self.pool = WorkerPool(ray, config, spec, apart, lambda text: self.say(text), lambda: self.stopping())
        shipped = ray.put(config)
        here = self._here()
        cpus = ray_cluster.CPUS_PER_LEARNER if cfg.ray_address else 0
        gpus = cfg.num_gpus_per_learner
        learner = ray.remote(**ray_cluster.options(cpus, gpus, None if gpus else here))(LearnerActor)
        self.learners = [learner.remote(shipped, spec, rank, cfg.n_learners) for rank in range(cfg.n_learners)]
        beside = self._begun(self.learners[0].node.remote()) if cfg.ray_address else here
        server = ray.remote(**ray_cluster.options(0, 0, beside))(DataServer)
        self.server = server.remote(shipped, spec, cfg.n_workers, apart)
        self.owed = self._taken = 0
        """What waits to be learned from, and what was taken of it so far: minibatches, or windows of fresh steps."""
        self._most = resources.minibatches_at_once(config, spec)
        self.chunk = self._most if self._replays and not self.ahead else 1
        """What is taken of it at once."""
        self.learning: list[PendingChunk] = []
        self.adding: dict[Any, int] = {}
        """Reference to what the data server says of fragments -> what was taken until then."""
        self._arrived: dict[int, tuple[WorkerHandle, Report, Any]] = {}
        """Fragments that wait for those of the other workers."""
        self.version, self.weights = 0, None
        self.utilization = Utilization(cfg.n_workers, cfg.n_learners, turns=not self.ahead)
        self._check()

    def _here(self) -> str | None:
        """The node of this process; on a Ray of our own there is only one."""
        return str(self.ray.get_runtime_context().get_node_id()) if self.config.general.ray_address else None

    def _check(self) -> None:
        """All processes stand, and the learners have met."""
        self.pool.check()
        self._begun([part.pid.remote() for part in (self.server, *self.learners)])
        if len(self.learners) > 1:
            host, port = self._begun(self.learners[0].address.remote())
            self._begun([learner.join.remote(host, port) for learner in self.learners])
        self.weights = self.learners[0].weights.remote()
        here = self._here()
        apart = here is not None and self._begun(self.server.node.remote()) != here
        self.memory: Any = RemoteMemory(self.ray, self.server, self._get, here if apart else None)

    def _begun(self, refs: Any) -> Any:
        return ray_errors.begun(self.ray, refs, "the data server or a learner", self.stopping)

    # a round ----------------------------------------------------------------------------------------------

    def round(self, now: Now) -> Iterator[Accepted | Learned]:
        """Until something has happened; with run_ahead 0, until all that was collected is learned from."""
        with self.utilization.rounds:
            while True:
                self._learn(now)
                self._collect(now)
                yield from self._receive()
                busy = self.adding or self.learning or self.owed or self._collecting()
                if self.stopping() or self.ahead or not busy:
                    return

    def rest(self, now: Now) -> Iterator[Accepted | Learned]:
        """Let what is being learned come to its end. Workers go on; what they collect is accepted later."""
        while self.adding or self.learning:
            yield from self._receive(workers=False)
        self.agent.load_weights({name: np.array(value) for name, value in self._get(self.weights).items()})
        if len(self.learners) > 1 and len(set(self._get([each.digest.remote() for each in self.learners]))) > 1:
            raise JoystickError("the learners no longer have the same weights; this is a defect of the algorithm")

    def _collecting(self) -> bool:
        return bool(self._arrived) or any(hand.asked for hand in self.pool.hands)

    def _learn(self, now: Now) -> None:
        """Give the learners what is owed: with run_ahead, one chunk waits at their door while they learn."""
        while self.owed > 0 and len(self.learning) < (2 if self.ahead else 1):
            progress = now()
            chunk = self.server.take.remote(progress.fraction, self.chunk)
            calls = [each.learn.options(num_returns=2).remote(chunk, progress) for each in self.learners]
            self.learning.append(PendingChunk([lesson for lesson, _ in calls], calls[0][1]))
            taken = min(self.owed, self.chunk)
            self.owed -= taken
            self._taken += taken

    def _collect(self, now: Now) -> None:
        """Send the workers out, unless too much waits to be learned from, or to be taken in by the data server."""
        if self.ahead:
            waits = self.owed >= self.ahead * self.chunk or len(self.adding) > len(self.pool.hands)
        else:
            waits = bool(self.owed or self.learning or self.adding)
        if waits:
            return
        progress = now()
        while free := [hand for hand in self.pool.idle() if hand.number not in self._arrived]:
            for hand in free:
                self.pool.send(hand, progress, self.version, self.weights)

    # what comes back --------------------------------------------------------------------------------------

    def _receive(self, workers: bool = True) -> Iterator[Accepted | Learned]:
        """Wait for something, for a while, and take in all that is there."""
        reports = self.pool.awaited() if workers else {}
        first = self.learning[:1]
        refs = [*reports, *self.adding, *(first[0].lessons if first else [])]
        if not refs:
            time.sleep(ray_errors.POLL_SECONDS / 4)
            return
        done, left = self.ray.wait(refs, num_returns=1, timeout=ray_errors.POLL_SECONDS, fetch_local=False)
        if left and done:
            done += self.ray.wait(left, num_returns=len(left), timeout=0, fetch_local=False)[0]
        for ref in done:
            if ref in self.adding:
                self._added(ref)
            elif ref in reports:
                yield from self._collected(reports[ref])
        if first and all(lesson in done for lesson in first[0].lessons):
            yield from self._learned(self.learning.pop(0))
        elif first and any(lesson in done for lesson in first[0].lessons):
            self._get([lesson for lesson in first[0].lessons if lesson in done])  # one that died is heard of here

    def _collected(self, hand: WorkerHandle) -> Iterator[Accepted]:
        received = self.pool.receive(hand)
        if received is None:
            return
        self._arrived[hand.number] = (hand, *received)
        if self.ahead == 0 and len(self._arrived) < len(self.pool.hands):
            return
        arrived = [self._arrived[number] for number in sorted(self._arrived)]
        self._arrived.clear()
        self.adding[self.server.add.remote(*[fragment for _, _, fragment in arrived])] = self._taken
        for hand, report, _ in arrived:
            self.pool.accept(hand, report, 2 * self.chunk)
            self.utilization.collected(hand.number, report, self.version - report.version)
            for episode in report.trajectories:
                self.keep(episode)
            yield report.accepted

    def _added(self, ref: Any) -> None:
        taken = self.adding.pop(ref)
        self.owed = self._get(ref) - (self._taken - taken)

    def _learned(self, lessons: PendingChunk) -> Iterator[Learned]:
        heard: list[LearnerReport] = self._get(lessons.lessons)
        learned = _joined([lesson.learned for lesson in heard])
        if self._replays and self.ahead:
            self.chunk = adapted(self.chunk, max(lesson.seconds for lesson in heard), 1, self._most)
        self.utilization.learned([lesson.times for lesson in heard], self.owed / self.chunk)
        if not learned.updates:
            return
        self.version, self.weights = self.version + 1, lessons.weights
        if learned.priorities is not None and heard[0].keys is not None:
            self.server.feedback.remote(heard[0].keys, learned.priorities)
        yield learned

    def _get(self, refs: Any) -> Any:
        """ray.get, where a death of the data server or of a learner is Lost."""
        try:
            return self.ray.get(refs)
        except self.ray.exceptions.RayError as error:
            cause = ray_errors.raised(self.ray.exceptions, error)
            if len(self.learners) > 1 and _of_meeting(cause):
                raise Lost(f"the learners have lost one another ({ray_errors.reason(error)})") from None
            if isinstance(cause, JoystickError):
                raise cause from None
            raise JoystickError(ray_errors.reason(error)) from error

    # stopping and going on --------------------------------------------------------------------------------

    def state(self) -> Tree:
        return {
            "agent": self._get(self.learners[0].state.remote()),
            "collectors": [*self.pool.state(), *self._others],
            "memory": self.memory.state(),
        }

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> list[str]:
        self._get([learner.load_state.remote(state["agent"]) for learner in self.learners])
        self.agent.load_state(state["agent"])
        self.weights = self.learners[0].weights.remote()
        self.owed = self.memory.load_state(state["memory"], frames)
        count = len(self.pool.hands)
        self._others = state["collectors"][count:]
        return self.pool.load_state(state["collectors"][:count])

    def pids(self) -> dict[str, Any]:
        """The node of the driver, and process ids of the parts."""
        server, *learners = self._get([part.pid.remote() for part in (self.server, *self.learners)])
        return {"node": self._here(), "workers": self.pool.pids(), "data_server": server, "learners": learners}

    def restart(self) -> None:
        """New processes in place of all."""
        self.end()
        self._start()

    def end(self) -> None:
        """Kill all processes."""
        self.pool.end()
        for part in (self.server, *self.learners):
            self.ray.kill(part)

    def record(self, writer: TrajectoryWriter) -> None:
        self.keep = writer.add

    def load(self, whole: bool = False) -> tuple[str, str]:
        return self.utilization.text(whole, self.pool.away())


def _of_meeting(cause: Any) -> bool:
    """Whether an error comes of the talk between learners; gloo has no kind of its own for its errors."""
    return isinstance(cause, torch.distributed.DistError) or (
        isinstance(cause, RuntimeError) and any(word in str(cause).lower() for word in ("gloo", "nccl", "connection"))
    )


def _joined(parts: list[Learned]) -> Learned:
    """What several learners say of their parts of the same minibatches."""
    if len(parts) == 1:
        return parts[0]
    metrics = {name: np.mean([part.metrics[name] for part in parts], axis=0).tolist() for name in parts[0].metrics}
    priorities = [part.priorities for part in parts if part.priorities is not None]
    return Learned(metrics, parts[0].updates, np.concatenate(priorities, axis=1) if priorities else None)
