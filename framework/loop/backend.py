"""Runs the three objects: the contract between a Trainer and what collects, stores and learns for it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from algos.base import Array, Progress, TrainableActor, Tree
from config.tell.language import tr
from envs.base import EnvContext
from framework.collect.fragment import Episode, Fragment, Record
from framework.collect.training import TrainingCollector
from framework.disk.journal import Frame
from framework.errors import JoystickError
from framework.loop.learner import Learned, Learner
from framework.memory import Memory
from framework.memory.chunk import Chunk
from framework.screen.stages import part


class Lost(JoystickError):
    """The process of the memory or of a learner died; its state since the latest checkpoint is lost."""

    of_machine = True


class Accepted(NamedTuple):
    """A fragment was added to the memory. Steps and episodes are counted here and nowhere else."""

    steps: int
    """Number of transitions, without dummy steps."""
    rows: int
    first_step: int
    """Number of steps that its collector had made before it."""
    episodes: list[Episode]
    """Episodes that ended in it."""
    progress: Progress
    """Progress with which it was collected."""
    records: Sequence[Record] = ()
    """Records that its collector's recorders have made of it."""


Now = Callable[[], Progress]
"""Returns the present progress of the run; called whenever a schedule is evaluated."""


class Processes(Protocol):
    """The part of a backend of several processes that one process has no use for."""

    def pids(self) -> dict[str, Any]:
        """Returns the process ids of the parts, for run.json."""

    def restart(self) -> None:
        """Replaces all processes after Lost. The state is then the initial one, ready for load_state."""

    def load(self, whole: bool = False) -> tuple[str, str]:
        """Returns how busy the parts are, recently or over the whole run, and the part that limits the speed."""


class Backend(Protocol):
    """Trains in rounds. Between two rounds its state can be saved."""

    memory: Memory

    @property
    def agent(self) -> TrainableActor:
        """The agent with the latest weights after `rest`; used for evaluation."""

    @property
    def processes(self) -> Processes | None:
        """Processes of this backend; None if everything runs in this process."""

    def round(self, now: Now) -> Iterator[Accepted | Learned]:
        """Collects, adds and learns; yields each event when it happens."""

    def doing(self) -> str:
        """Returns what the running round is at, and how far; empty between rounds. Called from another thread."""

    def rest(self, now: Now) -> Iterator[Accepted | Learned]:
        """Completes pending work: afterwards `agent` is up to date and `state` may be called."""

    def learn_from(self, chunk: Chunk, now: Now) -> Iterator[Learned]:
        """Learns from a window that is not from the memory; called after `rest`."""

    def validate(self, now: Now) -> dict[str, float]:
        """Returns the metrics of an update from given data that are kept from learning, which changes nothing; nothing
        without such data. Called after `rest`."""

    def set_weights(self, weights: dict[str, Array]) -> None:
        """Replaces the weights that acting depends on, at the learners and at all collectors; called after `rest`."""

    def each_worker(self, function: Callable[[TrainableActor, int], Any]) -> list[Any]:
        """Calls function(agent, index) in each worker, with index 1 and up, and returns the results; nothing if there
        are no workers. Called after `rest`."""

    def each_env(self, function: Callable[[Any, EnvContext], Any]) -> list[Any]:
        """Calls function(environment, context) for each training row, with the innermost environment, and returns the
        results in the order of workers and rows. Called after `rest`."""

    def state(self) -> Tree:
        """Returns the state of the agent, of the collectors (one tree each) and of the memory."""

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> list[str]:
        """Restores `state`, given with the rest of the run's, and the memory's journal. Returns the rows whose running
        episodes could not be replayed."""


def accepted(
    fragment: Fragment, episodes: list[Episode], progress: Progress, records: Sequence[Record] = ()
) -> Accepted:
    """Returns the event for a fragment that was added."""
    valid = fragment.columns.get("valid")
    steps = fragment.steps * fragment.rows if valid is None else int(valid.sum())
    return Accepted(steps, fragment.rows, fragment.origin.first_step, episodes, progress, records)


class SingleProcess:
    """Runs everything in this process, one step after the other."""

    processes = None

    def __init__(self, collector: TrainingCollector, memory: Memory, learner: Learner, fragment: int) -> None:
        """fragment: steps of the collector in each round."""
        self.collector, self.memory, self.learner, self.fragment = collector, memory, learner, fragment
        self.agent = learner.agent
        self._others: list[Tree] = []
        """States of collectors of an earlier session with more workers; saved again unchanged."""
        self._part = ""
        """Part of the round, or of `load_state`, that is running."""

    def doing(self) -> str:
        match self._part:
            case "collect":
                steps = part(self.collector.unsettled(), self.fragment, tr("steps"))
                if self.collector.env.rows > 1:
                    return tr("collecting: {steps} of each row", steps=steps)
                return tr("collecting: {steps}", steps=steps)
            case "learn":
                return self.learner.doing()
            case "repeat":
                return tr("repeating the running episodes, {steps}", steps=part(*self.collector.repeated, tr("steps")))
        return ""

    def round(self, now: Now) -> Iterator[Accepted | Learned]:
        """Runs one round. This is the training loop of every algorithm:

        collect one fragment, add it to the memory, and learn from chunks until the memory owes no more updates. The
        generator yields after each step so that the Trainer counts it; `now` already includes what was counted.
        """
        if self.memory.offline:
            self._part = "learn"
            yield from self._learn_offline(now())
            self._part = ""
            return
        progress = now()
        self._part = "collect"
        fragment, episodes = self.collector.collect(self.fragment, progress)
        self._part = "learn"
        self.memory.add(fragment)
        yield accepted(fragment, episodes, progress, self.collector.records)
        while (chunk := self.memory.take((progress := now()).fraction)) is not None:
            learned = self.learner.learn(chunk, progress)
            if learned.priorities is not None and chunk.keys is not None:
                self.memory.feedback(chunk.keys, learned.priorities)
            yield learned
        self.collector.settle()
        self._part = ""

    def _learn_offline(self, progress: Progress) -> Iterator[Learned]:
        """Learns from one chunk of given data: evaluations and checkpoints may be due before the next one."""
        if (chunk := self.memory.take(progress.fraction)) is not None:
            yield self.learner.learn(chunk, progress)

    def rest(self, now: Now) -> Iterator[Accepted | Learned]:
        """Does nothing: no work is pending between rounds."""
        yield from ()

    def learn_from(self, chunk: Chunk, now: Now) -> Iterator[Learned]:
        yield self.learner.learn(chunk, now())

    def validate(self, now: Now) -> dict[str, float]:
        held_out = self.memory.held_out
        return self.learner.validate(held_out, now()) if held_out else {}

    def set_weights(self, weights: dict[str, Array]) -> None:
        self.agent.load_weights(weights)

    def each_worker(self, function: Callable[[TrainableActor, int], Any]) -> list[Any]:
        return []

    def each_env(self, function: Callable[[Any, EnvContext], Any]) -> list[Any]:
        return self.collector.env.visit(function)

    def state(self) -> Tree:
        return {
            "agent": self.agent.state(),
            "collectors": [self.collector.state(), *self._others],
            "memory": self.memory.state(),
        }

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> list[str]:
        self.agent.load_state(state["agent"])
        self.memory.load_state(state["memory"], frames)
        mine, *self._others = state["collectors"]
        self._part = "repeat"
        rows = self.collector.load_state(mine)
        self._part = ""
        return [str(row) for row in rows]
