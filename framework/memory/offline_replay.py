"""A memory of transitions that were given, and of those that the run collects beside them."""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from algos.base import Tree
from config.model.memory_spec import MOST_AT_ONCE, ReplaySpec
from config.tell.language import tr
from envs.base import Goal
from framework.collect.fragment import Columns, Fragment, Origin
from framework.dataset.columns import MASKS
from framework.disk.journal import Frame, Journal, Span
from framework.errors import JoystickError
from framework.memory.base import Memory
from framework.memory.chunk import Chunk
from framework.memory.offline_data import OfflineData, check_same
from framework.memory.replay import Replay
from framework.screen.formatting import counted
from framework.screen.stages import part, stage
from framework.seeding import stream

ENDLESS = 2**62
"""Number of updates that are owed if the whole run learns from the data alone."""
MOST_HELD_OUT = 1024
"""Number of transitions that are kept from learning of which the losses are measured, at most."""


class OfflineReplay(Memory):
    """First learns from given data alone, and then, if the run goes on, from minibatches of which a share is from the
    data and the rest from a replay memory. The data are in no checkpoint: it keeps their SHA-256 instead."""

    def __init__(
        self,
        spec: ReplaySpec,
        rng: np.random.Generator,
        data_rng: np.random.Generator,
        data: OfflineData,
        goal: Goal | None = None,
        collectors: int = 1,
        most: int = MOST_AT_ONCE,
        seed: int = 0,
        depth: int = 0,
    ) -> None:
        """data_rng: stream of the samples from the data. most: largest number of minibatches in a chunk. seed: of the
        run. depth: see Replay. Raises JoystickError if the data are shorter than a sequence."""
        assert spec.data is not None
        self._imitate = spec.data.imitate
        self.sha256, self.most, count = data.sha256, most, data.transitions
        self.learned = 0
        """Number of minibatches that came from the data alone."""
        self._owe(ENDLESS if spec.data.updates < 0 else spec.data.updates)
        if count < spec.sequence:
            raise JoystickError(
                "algo_cfg.data: has {transitions}, and a sequence {sequence} steps",
                transitions=counted(count, "transition"),
                sequence=spec.sequence,
            )
        size, wanted = spec.batch_size, spec.data.share
        # rounding leaves neither side out
        share = min(max(round(size * wanted), int(wanted > 0)), size - int(wanted < 1))
        self._alone = replace(spec, capacity=count, data=None)
        self._beside = replace(self._alone, batch_size=share)
        self.data = self._filled(data, Replay(self._alone, data_rng, goal, depth=depth))
        self.held_out = None if data.held_out is None else self._drawn(data.held_out, seed)
        fresh = replace(spec, batch_size=size - share, data=None)
        self.fresh = Replay(fresh, rng, goal, collectors, most, depth)
        self.fresh.scale = self.data.scale  # one for all that a minibatch has

    def _filled(self, data: OfflineData, replay: Replay) -> Replay:
        """Fills a replay memory with data, and returns it."""
        with stage(tr("filling the memory"), lambda: part(replay.size, data.transitions, tr("transitions"))):
            for piece in data.pieces():
                rows = {name: column[:, None] for name, column in self._rewarded(piece, 1.0).items()}
                replay.add(Fragment(rows, {"state": None, "first": np.zeros(1, bool)}, Origin()))
        if replay.spec.to_go:
            replay.add_to_go()
        if replay.scale is not None:
            replay.scale.returns.clear()  # what the run collects are other episodes
        return replay

    def _drawn(self, data: OfflineData, seed: int) -> Chunk | None:
        """Returns one minibatch of data that are kept from learning, the same one after a resume."""
        count = data.transitions
        size = max(1, min(MOST_HELD_OUT, count) // self._alone.sequence)
        spec = replace(self._alone, capacity=count, batch_size=size, relabel=0.0, return_limit=None)
        chunk = self._filled(data, Replay(spec, stream(seed, "memory/held out"))).take(0.0, 1, granted=1)
        if chunk is not None:
            self.data.scaled(chunk.columns)
        return chunk

    def _owe(self, left: int) -> None:
        """Sets the number of updates from the data alone that are still to be made. Nothing is collected for them."""
        self.left, self.offline = left, left > 0

    @property
    def size(self) -> int:
        """Number of transitions, given and collected."""
        return self.data.size + self.fresh.size

    def add(self, fragment: Fragment) -> None:
        self.fresh.add(replace(fragment, columns=self._rewarded(fragment.columns, 0.0)))

    def _rewarded(self, columns: Columns, reward: float) -> Columns:
        """Returns the columns, with this reward in place of all if the run imitates the data."""
        return {**columns, "reward": np.full_like(columns["reward"], reward)} if self._imitate else columns

    def owed(self) -> int:
        return self.left or self.fresh.owed()

    def take(self, fraction: float, most: int = MOST_AT_ONCE) -> Chunk | None:
        if self.left:
            count = min(self.left, most, self.most)
            self.learned += count
            self._owe(self.left - count)
            return self._from_data(self._alone, count, fraction)
        fresh = self.fresh.take(fraction, most)
        if fresh is None or not self._beside.batch_size:
            return fresh
        data = self._from_data(self._beside, len(fresh.columns["reward"]), fraction)
        parts = [chunk.arrived for chunk in (fresh, data) if chunk.arrived is not None]
        arrived = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else None
        columns = _joined(fresh.columns, data.columns, self._alone.sequence)
        return Chunk(columns, arrived=arrived)

    def _from_data(self, spec: ReplaySpec, count: int, fraction: float) -> Chunk:
        """Returns this many minibatches from the data."""
        self.data.spec = spec
        chunk = self.data.take(fraction, count, granted=count)
        assert chunk is not None
        return chunk

    # stopping and going on --------------------------------------------------------------------------------

    def state(self) -> Tree:
        left = None if self.left > ENDLESS // 2 else self.left
        parts = {"given": self.data.state(), "fresh": self.fresh.state()}
        return {"sha256": self.sha256, "left": left, "learned": self.learned, **parts}

    def write(self, journal: Journal) -> Span:
        return self.fresh.write(journal)

    def load_state(self, state: Tree, frames: Iterable[Frame]) -> None:
        check_same(state["sha256"], self.sha256)
        self._owe(ENDLESS if state["left"] is None else state["left"])
        self.learned = state.get("learned", 0)
        self.most = math.gcd(self.most, self.learned)  # of another limit, which a chunk would overshoot from here
        self.data.load_counters(state["given"])
        self.fresh.load_state(state["fresh"], frames)


def _joined(fresh: Columns, data: Columns, sequence: int) -> Columns:
    """Returns minibatches [K, B, ...] or sequences [K, L, B, ...] of both sources, with the columns that both have. The
    sequences of the data begin with a recurrent state of zeros. Where an expert was asked what to do, the actions in
    the data are its answers. All actions are legal in data without action masks, and no step of data is a dummy step.
    """
    added = {"expert_action": data["action"], "valid": np.ones(data["reward"].shape, bool)}
    data, axis = {**added, **data}, 2 if sequence > 1 else 1
    for name in MASKS:
        if name in fresh and name not in data:
            data[name] = np.ones((*data["reward"].shape, fresh[name].shape[-1]), bool)
    if "to_go" in data:
        fresh = {**fresh, "to_go": np.full_like(fresh["reward"], -np.inf)}
    if "state" in fresh and sequence > 1:  # single steps are learned from without the state of a noise
        size = fresh["state"].shape[-1]
        data["state"] = np.zeros((*data["first"][:, 0].shape, size), fresh["state"].dtype)
    return {
        name: np.concatenate([column, data[name]], axis=1 if name == "state" else axis)
        for name, column in fresh.items()
        if name in data
    }
