"""Trains with many processes: the driver passes references on between workers, data server and learners."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch.distributed

from algos.base import Array, EnvSpec, Progress, TrainableActor, Tree
from config.model.memory_spec import MOST_AT_ONCE
from config.read.loader import RunConfig
from config.tell.language import tr
from envs.base import EnvContext
from framework.assemble import resources
from framework.collect.fragment import Accepted
from framework.disk.journal import Frame
from framework.distributed import ray_cluster, ray_errors
from framework.distributed.data_server import DataServer
from framework.distributed.learner_actor import LearnerActor, LearnerReport
from framework.distributed.remote_memory import RemoteMemory
from framework.distributed.throttle import Throttle
from framework.distributed.utilization import Utilization
from framework.distributed.worker import OUTSTANDING, Report
from framework.distributed.worker_pool import WorkerHandle, WorkerPool
from framework.errors import JoystickError
from framework.log import LOGGER, repeat
from framework.loop.backend import Lost, Now
from framework.loop.learner import Learned
from framework.memory.chunk import Chunk
from framework.policies.policy_plan import plan
from framework.screen.formatting import counted

ROUNDING = 1e-6
"""Backlog that is attributed to rounding errors."""


class PendingChunk(NamedTuple):
    """A chunk that the learners are working on, or that is queued at them."""

    size: int
    """Number of minibatches, or of windows of fresh steps."""
    reports: list[Any]
    """References to the report of each learner."""
    weights: Any
    """Reference to the weights after the chunk."""


class PendingFragments(NamedTuple):
    """Fragments that the data server is adding."""

    number: int
    """Running number of the call."""
    taken: int
    """Value of `_taken` when they were sent."""
    work: float
    """Work that they allow."""


class RayBackend:
    """Runs workers, a data server and learners. run_ahead 0 is the order of one process, with the same numbers."""

    def __init__(
        self,
        ray: Any,
        config: RunConfig,
        spec: EnvSpec,
        agent: TrainableActor,
        stopping: Callable[[], bool] = lambda: False,
        renew: Callable[[], None] = lambda: None,
    ) -> None:
        """stopping: True if the run was asked to stop. renew: starts Ray again if it has ended."""
        self.ray, self.config, self.spec, self.agent = ray, config, spec, agent
        self.ahead = config.run_ahead
        self.processes = self
        self.say: Callable[[str], None] = LOGGER.warning
        self.stopping, self.renew = stopping, renew
        self.pool: WorkerPool
        self._others: list[Tree] = []
        """States of workers that the run had before, and does not have now."""
        self._start()

    def _start(self) -> None:
        """Starts all processes."""
        ray, config, spec, cfg = self.ray, self.config, self.spec, self.config.general
        apart = self.ahead > 0
        self.pool = WorkerPool(ray, config, spec, apart, lambda text: self.say(text), lambda: self.stopping())
        shipped = ray.put(config)
        here = self._here()
        cpus = ray_cluster.CPUS_PER_LEARNER if cfg.ray_address else 0
        gpus = cfg.gpus
        learner = ray.remote(**ray_cluster.options(cpus, gpus, None if gpus else here))(LearnerActor)
        self.learners = [learner.remote(shipped, spec, rank, cfg.n_learners) for rank in range(cfg.n_learners)]
        beside = self._begun(self.learners[0].node.remote()) if cfg.ray_address else here
        server = ray.remote(**ray_cluster.options(0, 0, beside))(DataServer)
        self.server = server.remote(shipped, spec, cfg.n_workers, apart)
        its = plan(config, spec)
        self.throttle = Throttle(config, its, self.ahead, resources.most_at_once(config, its))
        self.owed = self._taken = self._updates = 0
        """Work that waits in the memory, work that was taken from it, and number of updates made."""
        self._adds = self._answered = 0
        """Number of calls that add fragments, and the latest of them that was answered."""
        self.learning: deque[PendingChunk] = deque()
        self.adding: dict[Any, PendingFragments] = {}
        """By the reference to the answer of the data server."""
        self._arrived: dict[int, tuple[WorkerHandle, Report, Any]] = {}
        """Fragments that wait for the fragments of the other workers, in lockstep."""
        self.version, self.weights = 0, None
        self.utilization = Utilization(cfg.n_workers, cfg.n_learners, lockstep=not self.ahead)
        self._check()

    def _here(self) -> str | None:
        """Returns the node of this process in a cluster; None on a Ray of our own, which has only one."""
        return str(self.ray.get_runtime_context().get_node_id()) if self.config.general.ray_address else None

    def _check(self) -> None:
        """Waits until all processes answer, and connects the learners."""
        self.pool.check()
        self._begun([part.pid.remote() for part in (self.server, *self.learners)])
        if len(self.learners) > 1:
            host, port = self._begun(self.learners[0].address.remote())
            self._begun([learner.join.remote(host, port) for learner in self.learners])
        self.weights = self.learners[0].weights.remote()
        self._offline = self._begun(self.server.offline.remote())
        """True while updates from given data alone are owed: nothing has to be collected for them."""
        here = self._here()
        apart = here is not None and self._begun(self.server.node.remote()) != here
        self.memory: Any = RemoteMemory(self.ray, self.server, self._get, here if apart else None)

    def _begun(self, refs: Any) -> Any:
        return ray_errors.begun(self.ray, refs, tr("the data server or a learner"), self.stopping)

    # a round ----------------------------------------------------------------------------------------------

    def doing(self) -> str:
        fragments = sum(len(worker.requests) for worker in self.pool.workers)
        collected, learned = counted(fragments, "fragment"), counted(len(self.learning), "chunk")
        if fragments and self.learning:
            return tr("waiting for {fragments} and {chunks} at the learner", fragments=collected, chunks=learned)
        if self.learning:
            return tr("waiting for {chunks} at the learner", chunks=learned)
        return tr("waiting for {fragments}", fragments=collected) if fragments else ""

    def round(self, now: Now) -> Iterator[Accepted | Learned]:
        """Collects, adds and learns until anything has happened; with run_ahead 0, until nothing is left to learn, even
        if the run was asked to stop: iterations and save points are where those of one process are. Only for workers
        that are missing a stop does not wait."""
        with self.utilization.rounds:
            if self._offline:
                yield from self._learn_offline(now)
                return
            while True:
                self._learn(now)
                self._collect(now)
                yield from self._receive()
                busy = self.adding or self.learning or self.owed or self._arrived or self.pool.awaited()
                if self.ahead or not busy or (self.stopping() and not self.pool.complete()):
                    return

    def _learn_offline(self, now: Now) -> Iterator[Learned]:
        """Learns from one chunk of given data: evaluations and checkpoints may be due before the next one."""
        progress = now()
        yield from self._learn_alone(self.server.take.remote(progress.fraction, MOST_AT_ONCE), progress)
        self._offline = self._get(self.server.offline.remote())

    def _learn_alone(self, chunk: Any, progress: Progress) -> Iterator[Learned]:
        """Learns from a chunk that no collected step has allowed, and waits for the learners."""
        self._hand_out(chunk, 0, progress)
        while self.learning:
            yield from (event for event in self._receive(workers=False) if isinstance(event, Learned))

    def rest(self, now: Now) -> Iterator[Accepted | Learned]:
        """Learns all that is owed; after a stop signal only what was begun: the state holds the rest. Workers finish
        their fragments meanwhile; those are accepted later."""
        while True:
            if not self.stopping():
                self._learn(now)
            if not (self.adding or self.learning):
                break
            yield from self._receive(workers=False)
        self.agent.load_weights(self._get(self.weights))
        if len(self.learners) > 1 and len(set(self._get([learner.digest.remote() for learner in self.learners]))) > 1:
            raise JoystickError("the learners no longer have the same weights; this is a defect of the algorithm")

    def _learn(self, now: Now) -> None:
        """Hands what is owed to the learners; with run_ahead, one chunk is queued at them while they learn."""
        self.throttle.resize(now())
        while self.owed > 0 and len(self.learning) < (2 if self.ahead else 1):
            progress = now()
            if self.ahead and 0 < self.config.general.max_update <= progress.update:
                return
            size = self.throttle.taken(self.owed)  # the server may owe more by then
            chunk = self.server.take.remote(
                progress.fraction, size if self.throttle.counts_minibatches else self.throttle.most
            )
            self._hand_out(chunk, size, progress)
            self.owed -= size
            self._taken += size

    def _hand_out(self, chunk: Any, size: int, progress: Progress) -> None:
        """Hands a reference to a chunk to the learners."""
        calls = [learner.learn.options(num_returns=2).remote(chunk, progress) for learner in self.learners]
        self.learning.append(PendingChunk(size, [report for report, _ in calls], calls[0][1]))

    def learn_from(self, chunk: Chunk, now: Now) -> Iterator[Learned]:
        yield from self._learn_alone(self.ray.put(chunk), now())

    def backlog(self) -> float:
        """Returns the work between the workers and the learners (see Throttle)."""
        collecting = self.throttle.per_step * sum(
            request.steps for worker in self.pool.workers for request in worker.requests
        )
        adding = sum(fragments.work for fragments in self.adding.values())
        queued = sum(chunk.size for chunk in self.learning) - (self.learning[0].size if self.learning else 0)
        return collecting + adding + self.owed + queued

    def _collect(self, now: Now) -> None:
        """Asks workers for fragments: with run_ahead, as many as the backlog has room for."""
        if not self.ahead and (self.owed or self.learning or self.adding):
            return
        progress, backlog, limit, per_step = now(), self.backlog(), self.throttle.limit(), self.throttle.per_step
        share = int(limit / per_step / len(self.pool.workers) / OUTSTANDING)
        while free := [worker for worker in self.pool.idle() if worker.number not in self._arrived]:
            for worker in free:
                steps = max(self.pool.shortest, min(worker.length, share))
                backlog += steps * per_step
                if self.ahead and backlog > limit + ROUNDING:
                    return
                self.pool.send(worker, steps, progress, self.version, self.weights)

    # what comes back --------------------------------------------------------------------------------------

    def _receive(self, workers: bool = True) -> Iterator[Accepted | Learned]:
        """Waits for any answer, for POLL_SECONDS at most, and handles all that have come."""
        self.look()
        reports = self.pool.awaited() if workers else {}
        first = self.learning[0] if self.learning else None
        refs = [*reports, *self.adding, *(first.reports if first else [])]
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
        if first and all(report in done for report in first.reports):
            yield from self._learned(self.learning.popleft())
        elif first and any(report in done for report in first.reports):
            self._get([report for report in first.reports if report in done])  # raises if one of them died

    def _collected(self, worker: WorkerHandle) -> Iterator[Accepted]:
        received = self.pool.receive(worker)
        if received is None:
            return
        self._arrived[worker.number] = (worker, *received)
        if self.ahead == 0 and len(self._arrived) < len(self.pool.workers):
            return
        arrived = [self._arrived[number] for number in sorted(self._arrived)]
        self._arrived.clear()
        work = sum(report.accepted.steps for _, report, _ in arrived) / self.config.env.n_envs * self.throttle.per_step
        self._adds += 1
        ref = self.server.add.remote(*[fragment for *_, fragment in arrived])
        self.adding[ref] = PendingFragments(self._adds, self._taken, work)
        for worker, report, _ in arrived:
            self.pool.accept(worker, report)
            self.utilization.collected(worker.number, report.busy, self.version - report.version)
            repeat(f"worker {worker.number}", report.log)
            yield report.accepted

    def _added(self, ref: Any) -> None:
        number, taken, _ = self.adding.pop(ref)
        owed = self._get(ref) - (self._taken - taken)
        if number > self._answered:  # answers may come in any order, and a later one includes the earlier
            self.owed, self._answered = owed, number

    def _learned(self, chunk: PendingChunk) -> Iterator[Learned]:
        reports: list[LearnerReport] = self._get(chunk.reports)
        for rank, report in enumerate(reports):
            repeat(f"learner {rank}", report.log)
        learned = _joined([report.learned for report in reports])
        self._updates += learned.updates
        self.throttle.learned(max(report.seconds for report in reports))
        self.utilization.learned([report.busy for report in reports], self.owed / self.throttle.chunk)
        if not learned.updates:
            return
        self.version, self.weights = self.version + 1, chunk.weights
        if learned.priorities is not None and reports[0].keys is not None:
            self.server.feedback.remote(reports[0].keys, learned.priorities)
        yield learned

    def _get(self, refs: Any) -> Any:
        """Returns the answers of processes. Raises Lost if the data server, a learner or our own Ray died."""
        try:
            return ray_errors.answers(self.ray, refs)
        except self.ray.exceptions.RayError as error:
            cause = ray_errors.raised(self.ray.exceptions, error)
            if len(self.learners) > 1 and _of_meeting(cause):
                raise Lost("the learners have lost one another ({reason})", reason=ray_errors.reason(error)) from None
            if isinstance(cause, JoystickError):
                raise cause from None
            raise JoystickError(ray_errors.reason(error)) from error

    # the agents -------------------------------------------------------------------------------------------

    def validate(self, now: Now) -> dict[str, float]:
        if not self.config.algo.held_out():
            return {}
        chunk = self.server.held_out.remote()
        results: list[dict[str, float]] = self._get(
            [learner.validate.remote(chunk, now()) for learner in self.learners]
        )
        return {name: float(np.mean([metrics[name] for metrics in results])) for name in results[0]}

    def set_weights(self, weights: dict[str, Array]) -> None:
        self._get([learner.load_weights.remote(weights) for learner in self.learners])
        self.agent.load_weights(weights)
        self.version, self.weights = self.version + 1, self.learners[0].weights.remote()

    def each_worker(self, function: Callable[[TrainableActor, int], Any]) -> list[Any]:
        return self.pool.each(lambda worker: worker.call.remote(function, self.version, self.weights))

    def each_env(self, function: Callable[[Any, EnvContext], Any]) -> list[Any]:
        results_of_workers = self.pool.each(lambda worker: worker.visit.remote(function))
        return [result for results in results_of_workers for result in results]

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
        self._offline = self._get(self.server.offline.remote())
        self.owed *= not self._offline  # what is owed from data alone is learned in rounds of its own
        self.pool.phase = state.get("phase")
        count = len(self.pool.workers)
        self._others = state["collectors"][count:]
        return self.pool.load_state(state["collectors"][:count])

    def pids(self) -> dict[str, Any]:
        """Returns the node of the driver and the process ids of the parts."""
        server, *learners = self._get([part.pid.remote() for part in (self.server, *self.learners)])
        return {"node": self._here(), "workers": self.pool.pids(), "data_server": server, "learners": learners}

    def restart(self) -> None:
        """Replaces all processes, and Ray itself if it has ended."""
        self.end()
        self.renew()
        self._start()

    def end(self) -> None:
        """Kills all processes."""
        self.pool.end()
        for part in (self.server, *self.learners):
            self.ray.kill(part)

    def look(self) -> None:
        ray_errors.must_run()

    def load(self, whole: bool = False) -> tuple[str, str]:
        text, limit = self.utilization.text()
        shortfall = self.throttle.shortfall(self._updates, self._taken + self.owed) if whole else ""
        return "; ".join(filter(None, [text, shortfall])), limit


def _of_meeting(cause: Any) -> bool:
    """Returns whether an error comes of the connection between learners; gloo has no error class of its own."""
    return isinstance(cause, torch.distributed.DistError) or (
        isinstance(cause, RuntimeError) and any(word in str(cause).lower() for word in ("gloo", "nccl", "connection"))
    )


def _joined(parts: list[Learned]) -> Learned:
    """Combines the results of several learners for their parts of the same minibatches."""
    if len(parts) == 1:
        return parts[0]
    metrics = {name: np.mean([part.metrics[name] for part in parts], axis=0).tolist() for name in parts[0].metrics}
    priorities = [part.priorities for part in parts if part.priorities is not None]
    return Learned(metrics, parts[0].updates, np.concatenate(priorities, axis=1) if priorities else None)
