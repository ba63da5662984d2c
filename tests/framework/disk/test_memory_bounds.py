"""What a save, a resume, a chunk and a crafted file may take of the machine's memory."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from algos.base import EnvSpec
from config import machine
from framework.assemble import build, resources
from framework.disk.journal import FRAME_BYTES
from framework.errors import JoystickError
from framework.memory import Replay
from framework.policies.policy_plan import plan
from tests.tools.config_fixtures import loaded
from tests.tools.core import FakeJournal, ramp, replay, saved_and_read, written

ROOT = Path(__file__).parents[3]
FRAME = 8 * 2**20
"""Size of a frame here: a quarter of what it is, so that a quarter of the memory has as many of them."""
ROWS, STEPS, WIDTH = 2, 1200, 2500
"""A memory of 2 x 1,200 transitions with observations and successors of 2,500 float32: 46 MiB, six frames."""
CONSTANT = FRAME
"""Before the journal had frames, a save took 3 times the buffer more, and a resume once."""
PART = """
import os, sys
from pathlib import Path
import numpy as np
from config.model.memory_spec import ReplaySpec
from framework.disk import journal
from framework.disk.checkpoints import CheckpointStore
from framework.collect.fragment import Fragment, Origin
from framework.memory import Replay

folder, (rows, steps, width, journal.FRAME_BYTES) = sys.argv[1], map(int, sys.argv[2:])

def peak():
    # not ru_maxrss, which a new program inherits from the process that started it
    (line,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024

def fragment(step):
    obs = np.full((1, rows, width), step, np.float32)
    flags = np.zeros((1, rows), bool)
    columns = {"obs": obs, "next_obs": obs + 1, "action": np.zeros((1, rows), np.int64),
               "reward": np.ones((1, rows), np.float32), "terminated": flags, "truncated": flags}
    return Fragment(columns, {"first": np.full(rows, step == 0)}, Origin(first_step=step))

def empty(steps):
    return Replay(ReplaySpec(rows * steps, 4, 1, 0.0, priority_alpha=0.6), np.random.default_rng(0))

def save(folder, steps, filled):
    memory = empty(steps)
    for step in range(steps):
        memory.add(fragment(step))
    filled()
    CheckpointStore(Path(folder)).save(1, {"memory": memory.state()}, memory, {})

def load(folder, steps):
    memory, saved = empty(steps), CheckpointStore(Path(folder)).read(1)
    memory.load_state(saved.tree["memory"], saved.journal)
    obs = memory._rings.flat["obs"]
    assert (obs[:, 0] == np.repeat(np.arange(steps), rows)).all()

for part in ("save", "load"):
    if child := os.fork():  # each has all that is imported, and no memory of the other one
        assert os.waitpid(child, 0)[1] == 0
        continue
    save(folder + part, 3, lambda: None)
    load(folder + part, 3)  # the code that is run is in memory now: pages of it count, too
    before, filled = peak(), []
    if part == "save":
        save(folder, steps, lambda: filled.append(peak()))
    else:
        load(folder, steps)
        filled.append(before + rows * steps * 2 * 4 * width)
    print(peak() - before, *filled, before)
    break
"""


def test_a_save_and_a_resume_take_little_more_memory_than_the_buffer(tmp_path):
    """CKP-8, MEM-2"""
    words = [str(tmp_path / "models"), *map(str, (ROWS, STEPS, WIDTH, FRAME))]
    done = subprocess.run([sys.executable, "-c", PART, *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for part, line in zip(("save", "load"), done.stdout.splitlines(), strict=True):
        taken, filled, before = map(int, line.split())
        buffer = filled - before
        assert buffer > 43 * 2**20, part
        assert taken < 1.2 * buffer + CONSTANT, part


def test_frames_are_appended_until_the_disk_is_full_and_the_next_save_goes_on_behind_them():
    """Frames that were written are not written again, though the save as a whole failed."""
    memory, journal = replay(capacity=64, priority_alpha=0.6), FullAfter(2)
    memory.add(ramp(0, 5))
    memory.write(FakeJournal())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("framework.disk.journal.FRAME_BYTES", 1)
        with pytest.raises(OSError, match="full"):
            memory.write(journal)
        memory.add(ramp(5, 1))
        journal.room = 1000
        span = memory.write(journal)
    assert [frame["after"][0] - frame["first"][0] for frame in journal.frames] == [1] * 6 + [0] * 6
    other = replay(capacity=64, priority_alpha=0.6, seed=5)
    other.load_state(saved_and_read(memory.state()), journal.read(span))
    (one,), (two,) = written(memory), written(other)
    assert {name: value.tobytes() for name, value in one.arrays.items()} == {
        name: value.tobytes() for name, value in two.arrays.items()
    }


class FullAfter(FakeJournal):
    """A disk with room for so many frames."""

    def __init__(self, room):
        super().__init__()
        self.room = room

    def append(self, arrays):
        if len(self.frames) == self.room:
            raise OSError("full")
        return super().append(arrays)


# ----------------------------------------------------------------------------------------------------- crafted files


@pytest.mark.parametrize(
    "crafted",
    [
        {"after": [10**12]}, {"after": [10**9]}, {"first": [-(10**12)]}, {"first": [4], "after": [3]},
        {"first": [2**63 - 1], "after": [-(2**63)]}, {"first": [-(2**63)], "after": [2**63 - 1]},
        {"after": [3, 3]}, {"first": [[0]], "after": [[3]]}, {"first": [0.0], "after": [np.nan]},
        {"leaf": [10**12, 0, 0]}, {"leaf": [-1, 0, 0]}, {"reward": np.ones((4, 1), np.float32)},
        {"priority": [1.0, 2.0]}, {"obs": np.ones((0, 1, 1), np.float32)},
    ],
)  # fmt: skip
def test_a_crafted_frame_is_refused_before_anything_is_allocated_for_it(crafted):
    """SEC-4: numbers in a frame are compared with its size first."""
    memory = replay(capacity=64, priority_alpha=0.6)
    memory.add(ramp(0, 3))
    (frame,) = written(memory)
    frame = frame._replace(arrays={**frame.arrays, **{name: np.array(value) for name, value in crafted.items()}})
    other = replay(capacity=64, priority_alpha=0.6)
    tracemalloc.start()
    with pytest.raises((ValueError, IndexError)):
        other.load_state(memory.state(), [frame])
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_a_frame_that_holds_what_it_names_is_restored():
    """The crafted ones above differ from this one in a single array."""
    memory, other = (replay(capacity=64, priority_alpha=0.6) for _ in range(2))
    memory.add(ramp(0, 3))
    other.load_state(memory.state(), written(memory))
    assert other.size == 3


# ------------------------------------------------------------------------------------------------------------ chunks


def policy_of(config, spec):
    return plan(config, spec).policies[0]


def spec_of(obs, actions=4, rows=1):
    return EnvSpec("x", obs, Discrete(actions), rows)


IMAGE, VECTOR = Box(0, 255, (4, 84, 84), np.uint8), Box(-1, 1, (4,), np.float32)


def test_a_chunk_of_images_has_fewer_minibatches():
    """256 transitions of 2 x 28,224 bytes, 8 of the action, 10 and 2 masks of 4: 14,457,344 bytes, 4 of which fit into
    64 MiB; a chunk of vectors has 64 as ever."""
    config = loaded(None, "general_cfg.algo_name=DQN", "algo_cfg.batch_size=256", "algo_cfg.buffer_size=1000")
    assert resources.step_bytes(config, policy_of(config, spec_of(IMAGE))) == 2 * 28_224 + 8 + 10 + 8
    assert resources.minibatches_at_once(config, policy_of(config, spec_of(IMAGE))) == 4
    assert resources.minibatches_at_once(config, policy_of(config, spec_of(VECTOR))) == 64
    assert resources.minibatches_at_once(config, policy_of(config, spec_of(Box(0, 255, (2**20,), np.uint8)))) == 1


@pytest.mark.parametrize(
    ("most", "asked", "sizes"), [(64, 64, [64, 6]), (4, 64, [4] * 17 + [2]), (64, 30, [30, 30, 10])]
)
def test_a_memory_hands_out_no_more_minibatches_at_once_than_it_may(most, asked, sizes):
    memory = Replay(replay(capacity=100).spec, np.random.default_rng(0), most=most)
    memory.add(ramp(0, 70))
    found = []
    while (chunk := memory.take(0.0, asked)) is not None:
        found.append(len(chunk.columns["reward"]))
    assert found == sizes


def test_uniform_samples_do_not_depend_on_how_many_come_in_a_chunk():
    drawn = []
    for most in (64, 7, 1):
        memory = Replay(replay(capacity=100, n_step=3).spec, np.random.default_rng(0), most=most)
        memory.add(ramp(0, 70))
        chunks = iter(lambda memory=memory: memory.take(0.0), None)
        drawn.append(np.concatenate([chunk.columns["obs"] for chunk in chunks]).tobytes())
    assert drawn[0] == drawn[1] == drawn[2]


# ------------------------------------------------------------------------------------------------------- the estimate


def test_a_state_of_ten_million_is_refused_before_its_networks_are_built(monkeypatch):
    """64 rows of 10 million zeros and ones of 5 bytes, and 256 x 10 million weights of 16."""
    config = loaded(None, "general_cfg.algo_name=DQN", "algo_cfg.batch_size=64")
    needed = 10**7 * (64 * 5 + 256 * 16)
    monkeypatch.setattr(machine, "available_bytes", lambda: needed - 1)
    with pytest.raises(JoystickError, match=r"10,000,000 zeros and ones .* Begin value_layers with .*embed"):
        build.make_agent(config, spec_of(Discrete(10**7)), 1, torch.device("cpu"))
    monkeypatch.setattr(machine, "available_bytes", lambda: needed)
    resources.inputs_that_fit(plan(config, spec_of(Discrete(10**7))))
    table = "algo_cfg.value_layers=[{layer_type: embed, embedding_dim: 16}]"
    monkeypatch.setattr(machine, "available_bytes", lambda: 10**9)
    resources.inputs_that_fit(plan(loaded(None, table), spec_of(Discrete(10**7))))


def test_the_estimate_counts_what_a_save_and_a_chunk_copy(monkeypatch):
    """MEM-2: 100,000 transitions of 42 + 8 bytes are 5 MB, two frames of it 10 MB, and two chunks of 64 x 64."""
    config = loaded(None, "general_cfg.algo_name=DQN", "algo_cfg.batch_size=64", "algo_cfg.buffer_size=100000")
    step = 2 * 16 + 8 + 10 + 2 * 4
    assert resources.step_bytes(config, policy_of(config, spec_of(VECTOR))) == step
    needed = 3 * 100_000 * step + 2 * 64 * 64 * step
    monkeypatch.setattr(machine, "available_bytes", lambda: needed)
    assert resources.memories_that_fit(config, plan(config, spec_of(VECTOR))) == 1
    monkeypatch.setattr(machine, "available_bytes", lambda: needed - 1)
    with pytest.raises(JoystickError, match=r"choose a smaller algo_cfg.buffer_size"):
        build.make_memory(config, spec_of(VECTOR), 1)


def test_a_large_memory_is_not_copied_as_a_whole():
    config = loaded(None, "general_cfg.algo_name=DQN", "algo_cfg.batch_size=32", "algo_cfg.buffer_size=1000000")
    frame = 28_224 + 8  # each image once, one more in a hundred steps, and two numbers of 4 bytes
    ring = resources.memory_bytes(config, plan(config, spec_of(IMAGE)))
    assert ring == 1_000_000 * (frame + frame // 100 + 8 + 8 + 10 + 8)
    assert resources._copied_bytes(config, plan(config, spec_of(IMAGE))) <= 2 * FRAME_BYTES + 2 * resources.CHUNK_BYTES


def test_windows_count_the_drawn_action_and_its_log_probability():
    """Of a step: 2 x 16 bytes, the action twice, its log probability, and 10; Discrete actions have masks."""
    config = loaded(None, "general_cfg.algo_name=PPO")
    assert resources.step_bytes(config, policy_of(config, spec_of(VECTOR))) == 32 + 8 + 10 + 8 + 8 + 4
    box = EnvSpec("x", VECTOR, Box(-1, 1, (3,), np.float32), 1)
    assert resources.step_bytes(config, policy_of(config, box)) == 32 + 12 + 10 + 12 + 4


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        ([], 1000 + 5 * 500 * 2),
        (["general_cfg.keep_checkpoints=2"], 1000 + 2 * 500 * 2),
        (["general_cfg.model_save_unit=step"], 1000 + 5 * 500),
        (["general_cfg.max_total_step=700"], 700),
        (["general_cfg.max_episode=20", "general_cfg.max_step=30"], 600),
    ],
)
def test_the_disk_that_a_journal_can_take(words, steps):
    """The newest 5 checkpoints, or as many as are kept, 500 updates apart, each after 2 transitions."""
    words = ["general_cfg.model_save_fre=500", "algo_cfg.buffer_size=1000", "algo_cfg.train_fre=2", *words]
    config = loaded(
        None, "general_cfg.algo_name=DQN", "general_cfg.preset=null", "general_cfg.max_total_step=-1", *words
    )
    assert resources.journal_bytes(config, plan(config, spec_of(VECTOR))) == 2 * steps * 58
    assert (
        resources.journal_bytes(
            loaded(None, "general_cfg.algo_name=PPO"), plan(loaded(None, "general_cfg.algo_name=PPO"), spec_of(VECTOR))
        )
        == 0
    )


# --------------------------------------------------------------------------------------------------------- containers

MEMINFO = "MemTotal: 900 kB\nMemAvailable:     600 kB\n"
KB = 1024


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Files of /proc and /sys/fs/cgroup, by their names."""
    monkeypatch.setattr(machine, "PROC", tmp_path / "proc")
    monkeypatch.setattr(machine, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(16)), raising=False)

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


@pytest.mark.parametrize(
    ("files", "available"),
    [
        ({}, None),
        ({"proc/meminfo": MEMINFO}, 600 * KB),
        ({"proc/meminfo": "nothing"}, None),
        # version 2, inside a container: the top is its own
        ({"proc/self/cgroup": "0::/\n", "cgroup/memory.max": "204800\n", "cgroup/memory.current": "102400\n"}, 102_400),
        ({"proc/self/cgroup": "0::/\n", "cgroup/memory.max": "max\n", "cgroup/memory.current": "5\n"}, 600 * KB),
        # a limit that lies above the process's own group; files of the page cache can be given up
        (
            {"proc/self/cgroup": "0::/job/step\n", "cgroup/job/memory.max": "1000\n",
             "cgroup/job/memory.current": "900\n",
             "cgroup/job/memory.stat": "anon 1\ninactive_file 300\n", "cgroup/job/step/memory.max": "max\n"}, 400,
        ),
        # less than nothing is nothing
        ({"proc/self/cgroup": "0::/\n", "cgroup/memory.max": "10\n", "cgroup/memory.current": "20\n"}, 0),
        # version 1, by its own path or, inside a container, at the top
        (
            {"proc/self/cgroup": "4:memory:/docker/x\n1:cpu,cpuacct:/y\n",
             "cgroup/memory/docker/x/memory.limit_in_bytes": "5000\n",
             "cgroup/memory/docker/x/memory.usage_in_bytes": "4000\n",
             "cgroup/memory/docker/x/memory.stat": "inactive_file 1\ntotal_inactive_file 500\n"}, 1500,
        ),
        (
            {"proc/self/cgroup": "4:memory:/docker/x\n", "cgroup/memory/memory.limit_in_bytes": "5000\n",
             "cgroup/memory/memory.usage_in_bytes": "4000\n"}, 1000,
        ),
        (
            {"proc/self/cgroup": "4:memory:/\n", "cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
             "cgroup/memory/memory.usage_in_bytes": "4000\n"}, 600 * KB,
        ),
    ],
)  # fmt: skip
def test_the_limit_of_a_container_is_the_memory_that_there_is(system, files, available):
    system(files if available is None else {"proc/meminfo": MEMINFO, **files})
    assert machine.available_bytes() == available


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 16),
        ({"proc/self/cgroup": "0::/\n", "cgroup/cpu.max": "max 100000\n"}, 16),
        ({"proc/self/cgroup": "0::/\n", "cgroup/cpu.max": "250000 100000\n"}, 3),
        ({"proc/self/cgroup": "0::/\n", "cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/a/b\n", "cgroup/a/cpu.max": "400000 100000\n", "cgroup/a/b/cpu.max": "max 1\n"}, 4),
        ({"proc/self/cgroup": "0::/\n", "cgroup/cpu.max": "9900000 100000\n"}, 16),
        (
            {"proc/self/cgroup": "4:cpu,cpuacct:/x\n", "cgroup/cpu/x/cpu.cfs_quota_us": "200000\n",
             "cgroup/cpu/x/cpu.cfs_period_us": "100000\n"}, 2,
        ),
        (
            {"proc/self/cgroup": "4:cpu:/\n", "cgroup/cpu/cpu.cfs_quota_us": "-1\n",
             "cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 16,
        ),
    ],
)  # fmt: skip
def test_the_quota_of_a_container_is_the_number_of_cores(system, files, cores):
    system(files)
    assert machine.cores() == cores
