"""Where the three objects live: the contract between a Trainer and what collects, keeps and learns for it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from algos.base import Agent, Progress, Tree
from framework.checkpoint.journal import Frame
from framework.collector import Collector
from framework.errors import JoystickError
from framework.fragment import Episode, Fragment
from framework.learner import Learned, Learner
from framework.memory import Memory
from framework.output.recorders import TrajectoryRecorder
from framework.output.trajectories import TrajectoryWriter
from framework.runs.signals import Watched


class Lost(JoystickError):
    """A process that kept the memory or learned has died: what it knew is in the latest checkpoint."""


class Accepted(NamedTuple):
    """A fragment has become part of the memory. Steps and episodes count here, and nowhere else."""

    steps: int
    """Transitions, without dummy steps."""
    rows: int
    first_step: int
    """Steps that its collector had made before it."""
    episodes: list[Episode]
    """That ended in it."""
    progress: Progress
    """With which it was collected."""


Now = Callable[[], Progress]


class Backend(Protocol):
    """One round after the other, and between two of them a state that can be saved."""

    agent: Agent
    """Knows, when at rest, what has been learned; plays the evaluations."""
    memory: Memory

    def round(self, now: Now) -> Iterator[Accepted | Learned]:
        """Collect, add, learn; says what has happened as it happens."""

    def rest(self, now: Now) -> Iterator[Accepted | Learned]:
        """Come to rest: after this `agent` is up to date, and `state` may be called."""

    def state(self) -> Tree:
        """agent, collectors (one tree each) and memory."""

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> list[str]:
        """Restores `state` and the memory's journal. Returns the rows whose running episodes could not be repeated."""

    def record(self, writer: TrajectoryWriter) -> None:
        """Every episode of training goes to this writer."""

    def attend(self, say: Callable[[str], None]) -> None:
        """From now on warn through `say`."""

    def processes(self) -> dict[str, Any]:
        """Process ids of the parts that have a process of their own."""

    def restart(self) -> None:
        """After Lost: stand as at the beginning, ready for load_state."""

    def watched(self) -> list[Watched]:
        """Collectors in this process, in which an environment may hang."""

    def says(self, whole: bool = False) -> tuple[str, str]:
        """How busy its parts are, lately or in the whole run, and which of them limits the speed; nothing where there
        is only one."""


def accepted(fragment: Fragment, episodes: list[Episode], progress: Progress) -> Accepted:
    """What this fragment counts for."""
    valid = fragment.columns.get("valid")
    steps = fragment.steps * fragment.rows if valid is None else int(valid.sum())
    return Accepted(steps, fragment.rows, fragment.origin.first_step, episodes, progress)


class SingleProcess:
    """All in this process, one after the other."""

    def __init__(self, collector: Collector, memory: Memory, learner: Learner) -> None:
        self.collector, self.memory, self.learner = collector, memory, learner
        self.agent = learner.agent
        self._others: list[Tree] = []
        """Where collectors stood that the run had before, and does not have now."""

    def round(self, now: Now) -> Iterator[Accepted | Learned]:
        """Collect one fragment, add it, learn all that is owed."""
        progress = now()
        fragment, episodes = self.collector.collect(self.learner.spec.fragment, progress)
        self.memory.add(fragment)
        yield accepted(fragment, episodes, progress)
        while (chunk := self.memory.take((progress := now()).fraction)) is not None:
            learned = self.learner.learn(chunk, progress)
            if learned.priorities is not None and chunk.keys is not None:
                self.memory.feedback(chunk.keys, learned.priorities)
            yield learned
        self.collector.settle()

    def rest(self, now: Now) -> Iterator[Accepted | Learned]:
        """Between rounds everything rests."""
        yield from ()

    def record(self, writer: TrajectoryWriter) -> None:
        self.collector.recorders = (TrajectoryRecorder(writer, self.collector.env.rows),)

    def attend(self, say: Callable[[str], None]) -> None:
        """A round is short, and says nothing."""

    def processes(self) -> dict[str, Any]:
        return {}

    def restart(self) -> None:
        """Nothing is ever lost in one process."""

    def watched(self) -> list[Watched]:
        return [self.collector]

    def says(self, whole: bool = False) -> tuple[str, str]:
        return "", ""

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
        return [str(row) for row in self.collector.load_state(mine)]
