"""The memory of several policies: splits joint fragments, and keeps one memory for each policy that learns."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from algos.base import Tree
from config.model.memory_spec import MOST_AT_ONCE, ReplaySpec
from envs.several.joint import JointLayout
from framework.collect.fragment import Fragment
from framework.disk.journal import Frame, Journal, Position, Span
from framework.memory.base import Memory
from framework.memory.chunk import Chunk, Keys
from framework.memory.replay import Replay
from framework.policies.policy_plan import JointPlan, PolicyPlan
from framework.policies.rollout import SlotRollout
from framework.policies.splitter import Splitter
from framework.seeding import stream


class MultiPolicyMemory(Memory):
    """Memories of the policies that learn. Hands out chunks of one policy at a time, in the order of the config."""

    def __init__(self, plan: JointPlan, seed: int, workers: int, apart: bool, most: int = MOST_AT_ONCE) -> None:
        """apart: True if fragments of several workers come in any order; each then has its own splitter and windows."""
        sources = workers if apart else 1
        self._parts = {
            policy.name: _Part(policy, plan.layout, stream(seed, f"memory/{policy.name}"), sources)
            for policy in plan.learning
        }
        self._apart, self._most = apart, most
        self._end: Position | None = None
        """End of the journal after the last call of write or load_state."""

    def add(self, fragment: Fragment) -> None:
        for part in self._parts.values():
            part.add(fragment, fragment.origin.worker if self._apart else 0)

    def owed(self) -> int:
        """Returns the number of chunks that take() can return."""
        return sum(part.chunks(self._most) for part in self._parts.values())

    def take(self, fraction: float, most: int = MOST_AT_ONCE) -> Chunk | None:
        for name, part in self._parts.items():
            if (chunk := part.take(fraction, min(most, self._most))) is not None:
                keys = None if chunk.keys is None else chunk.keys._replace(policy=name)
                return chunk._replace(policy=name, keys=keys)
        return None

    def feedback(self, keys: Keys, priorities: np.ndarray) -> None:
        if (replay := self._parts[keys.policy].replay) is not None:
            replay.feedback(keys, priorities)

    # stopping and going on --------------------------------------------------------------------------------

    def state(self) -> Tree:
        return {name: part.state() for name, part in self._parts.items()}

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> None:
        for name, part in self._parts.items():
            part.load_state(state[name], part.view.only_mine(frames))
        self._end = max((part.view.end for part in self._parts.values()), default=None)

    def write(self, journal: Journal) -> Span | None:
        """Appends the frames of all replay memories to one journal, whose columns name the policy."""
        go_on = self._end is not None and journal.end == self._end
        spans = [span for part in self._parts.values() if (span := part.write(journal, go_on)) is not None]
        self._end = journal.end
        return Span(min((span.start for span in spans), default=journal.end), journal.end)


class _Part:
    """The memory of one policy, and the splitters that fill it. Windows of fresh steps are kept for each source."""

    def __init__(self, policy: PolicyPlan, layout: JointLayout, rng: np.random.Generator, sources: int) -> None:
        slots = policy.slots
        assert slots is not None
        name, spec = policy.name, policy.memory
        self._splitters = [Splitter(name, slots, layout, policy.spec.global_state > 0) for _ in range(sources)]
        self._rows = policy.window_rows
        self.replay: Replay | None = None
        self._rollouts: list[SlotRollout] = []
        if isinstance(spec, ReplaySpec):
            self.replay = Replay(spec, rng, None, sources * self._rows)
        else:
            self._rollouts = [SlotRollout(spec, self._rows) for _ in range(sources)]
        self._full: deque[Chunk] = deque()
        """Windows in the order in which they became full."""
        self.view = _View(name)

    def add(self, fragment: Fragment, source: int) -> None:
        transitions = self._splitters[source].split(fragment)
        if self.replay is not None:
            self.replay.add_slots(transitions.columns, transitions.slot + source * self._rows, transitions.lost)
            return
        rollout = self._rollouts[source]
        rollout.add(transitions, fragment.origin.fraction)
        while (chunk := rollout.take()) is not None:
            self._full.append(chunk)

    def chunks(self, most: int) -> int:
        """Returns the number of chunks that `take` can return, of at most this many minibatches each."""
        return len(self._full) if self.replay is None else -(-self.replay.owed() // most)

    def take(self, fraction: float, most: int) -> Chunk | None:
        if self.replay is not None:
            return self.replay.take(fraction, most)
        return self._full.popleft() if self._full else None

    def write(self, journal: Journal, go_on: bool) -> Span | None:
        """Appends what is new, if this is a replay memory. Returns the span that it needs; None for none."""
        if self.replay is None:
            return None
        span = self.replay.write(self.view.of(journal, go_on))
        return span if span.start < span.end else None

    def state(self) -> Tree:
        return {
            "splitters": [splitter.state() for splitter in self._splitters],
            "replay": None if self.replay is None else self.replay.state(),
            "rollouts": [rollout.state() for rollout in self._rollouts],
            "full": [dict(sorted(chunk.columns.items())) for chunk in self._full],
            "fractions": [chunk.fraction for chunk in self._full],
        }

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> None:
        """Restores `state`. Incomplete transitions and windows of another number of sources are dropped."""
        if len(state["splitters"]) == len(self._splitters):
            for splitter, part in zip(self._splitters, state["splitters"], strict=True):
                splitter.load_state(part)
            for rollout, part in zip(self._rollouts, state["rollouts"], strict=True):
                rollout.load_state(part)
        if self.replay is not None:
            self.replay.load_state(state["replay"], frames)
        self._full = deque(
            Chunk(window, fraction=at) for window, at in zip(state["full"], state["fractions"], strict=True)
        )


class _View:
    """The journal of the run as the memory of one policy uses it: its frames are those that name this policy."""

    def __init__(self, name: str) -> None:
        self._prefix = f"{name}/"
        self._journal: Journal | None = None
        self.end = Position(0, 0)
        """End of the last frame of this policy; another place if the journal is not the one that it was written to."""

    def of(self, journal: Journal, go_on: bool) -> Any:
        """Returns this view of a journal. go_on: True if it ends where the memory of all policies left it."""
        self._journal = journal
        if not go_on:
            self.end = Position(-1, 0)  # nothing of this policy is in it
        return self

    def append(self, arrays: dict[str, np.ndarray]) -> Position:
        assert self._journal is not None
        start = self._journal.append({f"{self._prefix}{name}": array for name, array in arrays.items()})
        self.end = self._journal.end
        return start

    def only_mine(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        """Yields the frames of this policy."""
        for frame in frames:
            mine = {
                name.removeprefix(self._prefix): array
                for name, array in frame.arrays.items()
                if name.startswith(self._prefix)
            }
            if mine:
                self.end = frame.end
                yield frame._replace(arrays=mine)
            del frame, mine  # before the next one is read
