"""Saves and restores the data server's memory: the data server reads and writes the journal itself."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from algos.base import Tree
from framework.disk.journal import Frame, Journal, JournalPart, Position, Span
from framework.distributed import ray_cluster


class RemoteMemory:
    """The data server's memory, for the process that saves checkpoints."""

    offline = False
    held_out = None

    def __init__(self, ray: Any, server: Any, get: Callable[[Any], Any], node: str | None) -> None:
        """node: the driver's node, if the data server is on another one and cannot reach its files."""
        self.ray, self.server, self._get, self.node = ray, server, get, node

    def state(self) -> Tree:
        state: Tree = self._get(self.server.state.remote())
        return state

    def write(self, journal: Journal) -> Span | None:
        journal.end, answer = self._get(self.server.write.remote(self._within_reach(journal, ())))
        if isinstance(answer, OSError):
            raise answer
        span: Span | None = answer
        return span

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> int:
        """Restores the memory. Returns the number of updates that are owed."""
        if isinstance(frames, JournalPart) and self.node:
            frames = self._within_reach(frames.journal, frames)
        owed: int = self._get(self.server.load_state.remote(state, frames))
        return owed

    def _within_reach(self, journal: Journal, frames: Iterable[Frame]) -> Any:
        """Returns the journal itself, or one that moves every frame by way of the driver's node."""
        if self.node is None:
            return journal
        kind = self.ray.remote(**ray_cluster.options(0, 0, self.node))(JournalKeeper)
        return FarJournal(kind.remote(journal, frames), journal.end)


class JournalKeeper:
    """An actor beside the files of a journal, for a data server on another node."""

    def __init__(self, journal: Journal, frames: Iterable[Frame]) -> None:
        self.journal, self.frames = journal, frames
        self._left = iter(frames)

    def append(self, arrays: dict) -> tuple[Position, Position] | OSError:
        """Writes a frame. Returns where it begins and ends, or the error of the disk."""
        try:
            return self.journal.append(arrays), self.journal.end
        except OSError as error:
            return error

    def read(self) -> Frame | None:
        """Returns the next frame, or None after the last one; then it begins again."""
        frame = next(self._left, None)
        if frame is None:
            self._left = iter(self.frames)
        return frame


class FarJournal:
    """A journal of another node, as the data server uses it. One frame at a time is on its way."""

    def __init__(self, keeper: Any, end: Position) -> None:
        self.keeper, self.end = keeper, end

    def append(self, arrays: dict) -> Position:
        """Writes a frame there, as Journal.append does here."""
        import ray

        answer = ray.get(self.keeper.append.remote(arrays))
        if isinstance(answer, OSError):
            raise answer
        start, self.end = answer
        return start

    def __iter__(self) -> Iterator[Frame]:
        import ray

        while (frame := ray.get(self.keeper.read.remote())) is not None:
            yield frame
