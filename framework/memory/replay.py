"""A replay memory: stores transitions and draws minibatches from them."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import torch

from algos.base import Tree
from config.model.memory_spec import MOST_AT_ONCE, ReplaySpec
from config.tell.language import tr
from envs.base import Goal
from framework.collect.fragment import Columns, Fragment
from framework.disk import journal as journals
from framework.disk.journal import Frame, Journal, Span
from framework.memory.arrivals import Arrivals
from framework.memory.base import Memory
from framework.memory.chunk import Chunk, Keys
from framework.memory.hindsight import Hindsight
from framework.memory.n_step import walk
from framework.memory.replay_journal import ReplayJournal
from framework.memory.return_scale import ReturnScale
from framework.memory.ring import Rings, clipped
from framework.memory.sum_tree import SumTree

_NOT_LEARNED_FROM = ("end", "valid")
_OF_THE_SUCCESSOR = ("next_obs", "next_action_mask", "next_global_state")


class Replay(Memory):
    """Uniform or prioritized replay memory of one or several collectors. n-step returns are computed when samples are
    drawn, by index arithmetic on the rings."""

    def __init__(
        self,
        spec: ReplaySpec,
        rng: np.random.Generator,
        goal: Goal | None = None,
        collectors: int = 1,
        most: int = MOST_AT_ONCE,
        depth: int = 0,
        mirror: torch.device | None = None,
    ) -> None:
        """most: largest number of minibatches in a chunk. depth: number of frames of an observation, each of which is
        stored once; 0: observations are stored whole. mirror: device that learns, and has the frames too."""
        if spec.relabel and (goal is None or spec.n_step > 1 or spec.sequence > 1):
            raise ValueError(tr("relabeling takes the goal of the environment, and samples of a single step"))
        self.spec, self.rng, self._goal, self._most = spec, rng, goal, most
        self._rings = Rings(spec.capacity, collectors, depth, spec.compress, mirror)
        self._arrivals = Arrivals(self._rings, ("end", "next_obs") if spec.final_statistics else None)
        self._least = spec.least
        """Number of steps of a row among which there is a whole sample."""
        self._credit = 0.0
        """Number of updates owed."""
        self._journal = ReplayJournal(self._rings)
        self.scale = None if spec.return_limit is None else ReturnScale(spec.gamma, spec.return_limit)
        self._tree: SumTree | None = None
        self._hindsight: list[Hindsight] = []
        """One per ring, if the memory relabels."""
        self._earlier = 0
        """Number of steps added before these rings were made, to a memory of another number of collectors."""
        self._skipped = (*_NOT_LEARNED_FROM, *(("state",) if spec.sequence > 1 else ()))
        """Columns that samples do not have for every step."""

    # adding -----------------------------------------------------------------------------------------------

    def add(self, fragment: Fragment) -> None:
        columns, rings, ring = self._kept(fragment.columns), self._rings, fragment.origin.worker
        if not rings.flat:
            self._allocate(columns)
        if rings.added[ring]:
            self._cut(ring, fragment.start["first"])
        first = rings.added[ring]
        rings.write(ring, columns)
        self._index(ring, first, columns)
        if self.scale is not None:
            self.scale.add(ring, columns["reward"], columns["end"], columns.get("valid"))
        if self._count() * rings.rows >= self.spec.warmup:
            fresh = columns["reward"].size if "valid" not in columns else np.count_nonzero(columns["valid"])
            self._credit += fresh * self.spec.updates_per_step

    def add_slots(self, columns: Columns, ring: np.ndarray, lost: np.ndarray) -> None:
        """Stores transitions [K, ...], each in the ring [K] of its agent, which has one row. lost: rings whose
        trajectory has broken off before them."""
        rings = self._rings
        for slot in lost[rings.added[lost] > 0].tolist():
            self._cut(slot, np.ones(1, bool))
        if not len(ring):
            return
        batch = self._kept(columns)
        if not rings.flat:
            self._allocate({name: value[:1, None] for name, value in batch.items()})
        before = rings.added.copy()
        if self.scale is not None:
            for at, slot in enumerate(ring.tolist()):
                self.scale.add(slot, batch["reward"][at : at + 1, None], batch["end"][at : at + 1, None])
        places = rings.scatter(ring, batch)
        if self.spec.sequence > 1:
            for slot in np.unique(ring).tolist():
                self._begin_sequences(slot, int(before[slot]))
        elif self._tree is not None:
            self._tree.set(places, np.full(len(places), self._tree.highest))
        if self._count() * rings.rows >= self.spec.warmup:
            self._credit += len(ring) * self.spec.updates_per_step

    def _count(self) -> int:
        """Returns the number of steps added so far."""
        return self._earlier + sum(self._rings.added.tolist())

    def _kept(self, columns: Columns) -> Columns:
        """Returns the columns to store: the two flags become a discount and the end of a trajectory."""
        flags = ("truncated",) if self.spec.terminated else ("terminated", "truncated")
        batch = {name: value for name, value in columns.items() if name not in flags}
        batch["discount"] = np.float32(self.spec.gamma) * ~columns["terminated"]
        batch["end"] = columns["terminated"] | columns["truncated"]
        batch["reward"] = clipped(columns["reward"], self.spec.reward_clip)
        return batch

    def _allocate(self, columns: Columns) -> None:
        self._rings.allocate(columns)
        if self.spec.priority_alpha:
            self._tree = self._journal.tree = SumTree(len(self._rings.flat["reward"]))
        self._look_back()

    def _cut(self, ring: int, first: np.ndarray) -> None:
        """Ends the trajectories of rows that begin an episode now although the last one did not end (a collector was
        lost): no n-step return or sequence may reach across this point."""
        if self.scale is not None:
            self.scale.cut(ring, first)
        if not np.count_nonzero(first):
            return
        newest = self._rings.places(ring, self._rings.added[[ring]] - 1)[0]
        lost = newest[first & ~self._rings.flat["end"][newest]]
        if lost.size:
            self._rings.flat["end"][lost] = True
            self._look_back()
            self._journal.changed(ring, int(self._rings.added[ring]) - 1)

    def _look_back(self) -> None:
        """Rebuilds hindsight's index from the rings."""
        if self._goal is None or not self.spec.relabel:
            return
        rings, self._hindsight = self._rings, []
        for ring in range(rings.count):
            self._hindsight.append(Hindsight(self.spec, self._goal, rings.of_ring("next_obs", ring)))
            oldest = int(rings.oldest[ring])
            steps = np.arange(oldest, rings.added[ring])
            self._hindsight[ring].added(oldest, rings.of_ring("end", ring)[steps % rings.length])

    def _index(self, ring: int, first: int, columns: Columns) -> None:
        """Updates priorities and hindsight's index for newly written steps."""
        if self._hindsight:
            self._hindsight[ring].added(first, columns["end"])
        if self.spec.sequence > 1:
            self._begin_sequences(ring, first)
        elif self._tree is not None:
            places = self._rings.places(ring, np.arange(first, self._rings.added[ring]))
            self._tree.set(places, self._tree.highest * columns.get("valid", np.ones(places.shape)))

    def _begin_sequences(self, ring: int, first: int) -> None:
        """Gives the highest priority to the beginnings of sequences that a ring's steps from `first` on complete, and
        none to these steps, which are at the places of others that have been overwritten."""
        if self._tree is None:
            return
        rings, added = self._rings, int(self._rings.added[ring])
        written = rings.places(ring, np.arange(max(first, int(rings.oldest[ring])), added))
        self._tree.set(written, np.zeros(written.shape))
        earliest = max(first - self.spec.sequence + 1, int(rings.oldest[ring]))
        begins = np.arange(
            -(-earliest // self.spec.stride) * self.spec.stride, added - self.spec.sequence + 1, self.spec.stride
        )
        complete = rings.places(ring, begins)
        self._tree.set(complete, np.full(complete.shape, self._tree.highest))

    # sampling ---------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of stored transitions."""
        return self._rings.size

    def owed(self) -> int:
        return int(self._credit) if self._credit >= 1 and self._rings.pieces(self._least) else 0

    def take(self, fraction: float, most: int = MOST_AT_ONCE, granted: int = 0) -> Chunk | None:
        """granted: number of updates that are allowed in addition to those that collected steps have earned."""
        self._credit += granted
        batches = min(self.owed(), most, self._most)
        if batches == 0:
            return None
        self._credit -= batches
        shape = (batches, self.spec.batch_size)
        weights = None
        if self._tree is not None:
            place = self._tree.draw(shape, self.rng)
            weights = self._tree.weights(place, self.spec.priority_beta.at(fraction))
        if self.spec.sequence > 1:
            begin = self._rings.choose(self.rng, shape, self.spec.sequence) if weights is None else place
            return self._take_sequences(begin, weights)
        if weights is None:
            place = self._draw(shape)
        columns = self._gather(place)
        step = self._rings.serial(place)
        if self._hindsight:
            self._relabel(columns, place, step)
        if weights is not None:
            columns["weight"] = weights
        self.scaled(columns)
        return Chunk(columns, Keys(place, step), arrived=self._arrivals.take() if self.spec.statistics else None)

    def _draw(self, shape: tuple[int, int]) -> np.ndarray:
        place = self._rings.choose(self.rng, shape)
        if "valid" in self._rings.flat:
            while not (valid := self._rings.flat["valid"][place]).all():
                place[~valid] = self._rings.choose(self.rng, (int((~valid).sum()),))
        return place

    def _relabel(self, columns: Columns, place: np.ndarray, step: np.ndarray) -> None:
        ring = self._rings.ring(place)
        chosen = self.rng.random(place.shape) < self.spec.relabel
        for number, hindsight in enumerate(self._hindsight):
            here = chosen & (ring == number)
            if here.any():
                local = place - number * self._rings.length * self._rings.rows
                hindsight.relabel(columns, here, local, step, int(self._rings.added[number]) - 1, self.rng)

    def _take_sequences(self, begin: np.ndarray, weights: np.ndarray | None) -> Chunk:
        """Returns pieces of the history of single rows, [K, L, B, ...], that begin at these places [K, B]. Each step
        has the weight [K, B] of its piece."""
        rings, length = self._rings, self.spec.sequence
        places = rings.ahead(begin[:, None], np.arange(length)[:, None])
        columns = self._gather(places)
        ends = rings.flat["end"][places]
        if "valid" in rings.flat:  # the state is reset after a step that belongs to no episode, too
            ends = ends | ~rings.flat["valid"][places]
        columns["first"] = np.concatenate([np.zeros_like(ends[:, :1]), ends[:, :-1]], axis=1)
        if "state" in rings.flat:
            columns["state"] = rings.flat["state"][begin]
        if "valid" in rings.flat:
            columns["valid"] = rings.flat["valid"][places]
        if weights is not None:
            columns["weight"] = np.repeat(weights[:, None], length, axis=1)
        self.scaled(columns)
        arrived = self._arrivals.take() if self.spec.statistics else None
        return Chunk(columns, Keys(begin, rings.serial(begin)), arrived=arrived)

    def scaled(self, columns: Columns) -> None:
        """Scales the rewards of samples by the returns so far."""
        if self.scale is not None:
            columns["reward"] = columns["reward"] / self.scale.divisor()

    def _gather(self, place: np.ndarray) -> Columns:
        if self.spec.n_step > 1:
            return self._gather_n_step(place)
        columns = {name: self._rings.take(name, place) for name in self._rings.flat if name not in self._skipped}
        return columns | self._following(place)

    def _following(self, last: np.ndarray) -> Columns:
        """Returns the actions in the states after these steps, if the algorithm needs them."""
        if not self.spec.next_action:
            return {}
        rings = self._rings
        there = ~(rings.flat["end"].take(last) | rings.is_newest(last))
        return {"next_action": rings.take("action", rings.ahead(last)), "has_next": there.astype(np.float32)}

    def _gather_n_step(self, place: np.ndarray) -> Columns:
        """Returns samples with n-step returns: the sum of up to n discounted rewards and the state after them. Fewer
        than n where the episode ends or the newest step is reached."""
        rings, flat = self._rings, self._rings.flat
        columns = {
            name: rings.take(name, place)
            for name in flat
            if name not in (*self._skipped, *_OF_THE_SUCCESSOR, "discount", "reward")
        }
        reward, factor, last = walk(rings, place, self.spec.n_step, self.spec.gamma)
        columns["reward"] = reward
        for name in _OF_THE_SUCCESSOR:
            if name in flat:
                columns[name] = rings.take(name, last)
        # the last step's own discount is gamma, or 0 after a terminal state
        columns["discount"] = np.where(flat["discount"].take(last) > 0, factor, np.float32(0))
        return columns | self._following(last)

    def add_to_go(self) -> None:
        """Adds the column `to_go` of a memory of one ring and one row, which is complete."""
        flat, total = self._rings.flat, 0.0
        rewards, ends = flat["reward"].astype(np.float64).tolist(), flat["end"].tolist()
        for at in reversed(range(len(rewards))):
            rewards[at] = total = rewards[at] + (0.0 if ends[at] else self.spec.gamma * total)
        self._rings.add_column("to_go", (), np.dtype(np.float32))
        self._rings.flat["to_go"][:] = rewards

    def feedback(self, keys: Keys, priorities: np.ndarray) -> None:
        if self._tree is None:
            return
        present = self._rings.serial(keys.place) == keys.serial
        raised = (np.abs(priorities) + self.spec.priority_epsilon) ** self.spec.priority_alpha
        self._tree.set(keys.place[present], raised[present])

    # stopping and going on --------------------------------------------------------------------------------

    def state(self) -> Tree:
        return {
            "added": self._rings.added.tolist(),
            "position": self._earlier,
            "credit": self._credit,
            "taken": self._arrivals.taken.tolist(),
            "rng": self.rng.bit_generator.state,
            "highest": None if self._tree is None else self._tree.highest,
            **({} if self.scale is None else {"scale": self.scale.state()}),
        }

    def load_counters(self, state: Tree) -> None:
        """Restores what `state` says of a memory whose transitions are there already."""
        self._credit = state["credit"]
        self._arrivals.taken = np.array(state["taken"])
        self.rng.bit_generator.state = state["rng"]
        self._load_scale(state)

    def _load_scale(self, state: Tree) -> None:
        if self.scale is not None:
            self.scale.load_state(state["scale"])

    def write(self, journal: Journal) -> Span:
        return self._journal.write(journal)

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> None:
        added = np.array(state["added"])
        self._load_scale(state)
        if len(added) != self._rings.count:
            return self._load_other_rings(state, frames)
        self._earlier = state["position"]
        self._journal.restore(frames, added, self._allocate)
        self._credit = state["credit"]
        self._arrivals.taken = np.array(state.get("taken", added))
        self.rng.bit_generator.state = state["rng"]
        if self._rings.flat:
            self._look_back()
        if self._tree is not None:
            self._tree.highest = state["highest"]
        return None

    def _load_other_rings(self, state: Tree, frames: Iterable[Frame]) -> None:
        """Restores a memory of another number of collectors: moves its steps to these rings, while there is room.
        Holds both memories for that time. The next write() begins the journal again."""
        spec, depth = replace(self.spec, relabel=0.0, return_limit=None), self._rings.depth
        other = Replay(spec, self.rng, collectors=len(state["added"]), depth=depth)
        other.load_state(state, frames)
        self._earlier, self._credit = other._count(), state["credit"]
        parts = -(-self._rings.count // other._rings.count)
        for ring in range(other._rings.count if other._rings.flat else 0):
            for part, columns in other._rings.history(ring, journals.FRAME_BYTES, parts):
                here = (ring * parts + part) % self._rings.count
                if not self._rings.flat:
                    self._allocate(columns)
                if self._tree is not None:
                    self._tree.highest = state["highest"]  # transitions that move get the priority of new ones
                first = int(self._rings.added[here])
                self._rings.write(here, columns)
                self._index(here, first, columns)
        self._earlier -= int(self._rings.added.sum())
        if other._arrivals.taken.any():
            self._arrivals.taken = self._rings.added.copy()
