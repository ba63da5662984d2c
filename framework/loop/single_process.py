"""The training loop of every algorithm: collect, remember and learn, all in this process."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from algos.base import Array, Progress, TrainableActor, Tree
from config.tell.language import tr
from envs.base import EnvContext
from framework.collect.fragment import Accepted, accepted
from framework.collect.training import TrainingCollector
from framework.disk.journal import Frame
from framework.loop.backend import Now
from framework.loop.learner import Learned, Learner
from framework.memory import Memory
from framework.memory.chunk import Chunk
from framework.screen.stages import part


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
