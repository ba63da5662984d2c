"""Runs the three objects: the contract between a Trainer and what collects, stores and learns for it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from algos.base import Array, Progress, TrainableActor, Tree
from envs.base import EnvContext
from framework.collect.fragment import Accepted
from framework.disk.journal import Frame
from framework.errors import JoystickError
from framework.loop.learner import Learned
from framework.memory import Memory
from framework.memory.chunk import Chunk


class Lost(JoystickError):
    """The process of the memory or of a learner died; its state since the latest checkpoint is lost."""

    of_machine = True


class WorkerLost(JoystickError):
    """A worker cannot be replaced; the state of everything else is whole, and can be saved."""

    of_machine = True


Now = Callable[[], Progress]
"""Returns the present progress of the run; called whenever a schedule is evaluated."""


class Processes(Protocol):
    """The part of a backend of several processes that one process has no use for."""

    def pids(self) -> dict[str, Any]:
        """Returns the process ids of the parts, for run.json."""

    def restart(self) -> None:
        """Replaces all processes after Lost. The state is then the initial one, ready for load_state."""

    def look(self) -> None:
        """Raises Lost if what the processes need has ended, which would end this process, too, some seconds later."""

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
