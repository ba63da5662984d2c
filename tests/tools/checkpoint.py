"""The least that a checkpoint is made of, for tests that save and go on."""

import numpy as np

from framework.disk.checkpoints import CheckpointStore
from tests.tools.core import ramp, replay, written

MEMORY = {"capacity": 40, "priority_alpha": 0.6, "n_step": 3}


class Run:
    """The least that a checkpoint is made of: weights, and a memory that learns. Every number follows from `step`."""

    def __init__(self, folder, **settings):
        self.store, self.memory, self.step = CheckpointStore(folder), replay(**{**MEMORY, **settings}), 0

    def work(self, steps=5):
        for _ in range(steps):
            self.memory.add(ramp(self.step, 1, 2))
            while (chunk := self.memory.take(0.0)) is not None:
                self.memory.feedback(chunk.keys, chunk.columns["reward"] % 5)
            self.step += 1
        return self

    def tree(self):
        return {"weights": np.full((50, 7), self.step, np.float32), "step": self.step, "memory": self.memory.state()}

    def save(self, number=None):
        self.store.save(self.step if number is None else number, self.tree(), self.memory, {"algo": "X"})
        return self

    @classmethod
    def resumed(cls, folder, say=print):
        run = cls(folder)
        run.store.recover()
        saved = run.store.newest(say)
        run.load(saved)
        run.store.continue_from(saved)
        return run

    def load(self, saved):
        self.step = saved.tree["step"]
        assert (saved.tree["weights"] == self.step).all()
        self.memory.load_state(saved.tree["memory"], saved.journal or ())

    def content(self):
        """The whole state, as bytes: what was learned from the same steps in one go has the same."""
        other = replay(**MEMORY, seed=9)
        frames = self.store.read(self.store.numbers()[-1]).journal
        other.load_state(self.memory.state(), frames)
        (frame,) = written(other)
        return {name: value.tobytes() for name, value in frame.arrays.items()}, self.tree()["memory"]


def same_content(one, other):
    (frame, state), (expected, expected_state) = one.content(), other.content()
    assert frame == expected
    assert state == expected_state
