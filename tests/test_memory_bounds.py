"""What a save, a resume, a chunk and a crafted file may take of the machine's memory."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers_core import FakeJournal, ramp, replay, written

from config.schema import ReplaySpec
from framework.checkpoint.journal import Frame, Position
from framework.memory import Replay

ROOT = Path(__file__).parent.parent
ROWS, STEPS, WIDTH = 2, 2000, 10_000
"""A memory of 2 x 2,000 transitions with observations and successors of 10,000 float32: 305 MiB."""
CONSTANT = 150 * 2**20
"""A frame of 64 MiB as it is read from the file, and its arrays, and what numpy takes."""
PART = """
import resource, sys
import numpy as np
from config.schema import ReplaySpec
from framework.checkpoint.store import CheckpointStore
from framework.fragment import Fragment, Origin
from framework.memory import Replay

part, folder, rows, steps, width = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def fragment(step):
    obs = np.full((1, rows, width), step, np.float32)
    flags = np.zeros((1, rows), bool)
    columns = {"obs": obs, "next_obs": obs + 1, "action": np.zeros((1, rows), np.int64),
               "reward": np.ones((1, rows), np.float32), "terminated": flags, "truncated": flags}
    return Fragment(columns, {"first": np.full(rows, step == 0)}, Origin(first_step=step))

memory = Replay(ReplaySpec(rows * steps, 4, 1, 0.0, priority_alpha=0.6), np.random.default_rng(0))
store, before = CheckpointStore(__import__("pathlib").Path(folder)), peak()
if part == "save":
    for step in range(steps):
        memory.add(fragment(step))
    filled = peak()
    store.save(1, {"memory": memory.state()}, memory, {})
else:
    saved = store.read(1)
    memory.load_state(saved.tree["memory"], saved.journal)
    filled = before + rows * steps * 2 * 4 * width
    obs = memory._rings.flat["obs"]
    assert (obs[:, 0] == np.repeat(np.arange(steps), rows)).all()
print(peak() - before, filled - before)
"""


@pytest.mark.parametrize("part", ["save", "load"])
def test_a_save_and_a_resume_take_little_more_memory_than_the_buffer(tmp_path, part):
    """CKP-8, MEM-2"""
    for each in ("save", "load") if part == "load" else ("save",):
        words = [each, str(tmp_path / "models"), *map(str, (ROWS, STEPS, WIDTH))]
        done = subprocess.run([sys.executable, "-c", PART, *words], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    taken, buffer = map(int, done.stdout.split())
    assert buffer > 290 * 2**20
    assert taken < 1.2 * buffer + CONSTANT
