"""Trajectories on disk: JoyRL's format, appended episode by episode, and read without running code."""

import collections
import errno
import os
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from algos.base import Progress
from framework.dataset import store
from framework.dataset.safe_pickle import UnsafePickle
from framework.dataset.trajectories import KEYS, PickleFile, TrajectoryWriter, plain, read
from framework.log import LOGGER
from framework.record.recorders import TrajectoryRecorder
from tests.tools.core import PolicyOfNothing, collector_of
from tests.tools.envs import assembled, counting_from


def episode(length: int, start: float = 0.0, infos: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    states = start + np.arange(length + 1, dtype=np.float32)[:, None] * np.ones(4, np.float32)
    ends = np.arange(length) == length - 1
    return {
        "state": states[:-1],
        "action": np.arange(length) % 2,
        "reward": np.ones(length, np.float32),
        "next_state": states[1:],
        "terminated": ends,
        "truncated": np.zeros(length, bool),
        "info": infos or [{} for _ in range(length)],
    }


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("trajs*")}


def test_a_plain_pickle_load_gives_parallel_lists_with_an_entry_per_episode(tmp_path: Path) -> None:
    writer = TrajectoryWriter(tmp_path)
    for n in range(3):
        writer.add(episode(5 + n, start=n))
        with open(tmp_path / "trajs.pkl", "rb") as file:  # complete after every episode, while the writer is open
            content = pickle.load(file)
        assert tuple(content) == KEYS
        assert [len(content[key]) for key in KEYS] == [n + 1] * len(KEYS)
    writer.close()
    assert content["state"][2].shape == (7, 4)
    assert content["state"][2].dtype == np.float32
    assert content["next_state"][2][0, 0] == 3.0
    assert content["info"][1] == [{}] * 6
    assert content["terminated"][0].tolist() == [False] * 4 + [True]


def test_1000_episodes_are_one_file_and_1001_are_two(tmp_path: Path) -> None:
    """TRJ-1: names as JoyRL says; the sum of lengths equals the steps."""
    writer = TrajectoryWriter(tmp_path)
    lengths = [1 + n % 3 for n in range(1001)]
    for length in lengths[:1000]:
        writer.add(episode(length))
    assert [path.name for path in tmp_path.iterdir()] == ["trajs.pkl"]
    writer.add(episode(lengths[1000]))
    writer.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trajs_0.pkl", "trajs_1.pkl"]
    first, second = read(tmp_path / "trajs_0.pkl"), read(tmp_path / "trajs_1.pkl")
    assert (len(first["reward"]), len(second["reward"])) == (1000, 1)
    assert sum(len(reward) for reward in first["reward"] + second["reward"]) == sum(lengths)


@pytest.mark.parametrize("cut_after", [0, 1, 3, 4, 7])
@pytest.mark.parametrize("killed_after", [0, 1, 4, 6])
def test_a_resumed_run_writes_the_bytes_of_one_that_never_stopped(
    tmp_path: Path, cut_after: int, killed_after: int
) -> None:
    """RES-4: also where files were begun or renamed since the checkpoint."""
    straight = TrajectoryWriter(tmp_path / "straight", limit=3)
    for n in range(10):
        straight.add(episode(2 + n))
    straight.close()
    writer = TrajectoryWriter(tmp_path / "killed", limit=3)
    for n in range(cut_after):
        writer.add(episode(2 + n))
    state = writer.state()
    for n in range(killed_after):
        writer.add(episode(90 + n))
    resumed = TrajectoryWriter(tmp_path / "killed", limit=3)
    resumed.restore(state)
    for n in range(cut_after, 10):
        resumed.add(episode(2 + n))
    resumed.close()
    assert written(tmp_path / "killed") == written(tmp_path / "straight")


def test_a_resume_before_the_second_file_gives_the_first_its_single_name_back(tmp_path: Path) -> None:
    writer = TrajectoryWriter(tmp_path, limit=3)
    writer.add(episode(2))
    state = writer.state()
    for _ in range(6):
        writer.add(episode(2))
    writer.restore(state)
    assert list(written(tmp_path)) == ["trajs.pkl"]
    writer.close()
    assert len(read(tmp_path / "trajs.pkl")["reward"]) == 1


def test_a_torn_tail_costs_only_the_episode_that_was_being_written(tmp_path: Path) -> None:
    """TRJ-2: cut at any byte, the file goes on after its last whole episode."""
    writer, sizes, path = TrajectoryWriter(tmp_path), [], tmp_path / "trajs.pkl"
    for n in range(3):
        writer.add(episode(2, start=n))
        sizes.append(path.stat().st_size)
    writer.close()
    whole = path.read_bytes()
    for size in [*range(0, len(whole), 41), len(whole)]:
        path.write_bytes(whole[:size])
        again = TrajectoryWriter(tmp_path)
        again.add(episode(4, start=50))
        again.close()
        survivors = sum(end - 1 <= size for end in sizes)
        assert [len(reward) for reward in read(path)["reward"]] == [2] * survivors + [4]


def test_a_state_that_the_file_no_longer_covers_is_refused(tmp_path: Path) -> None:
    writer = TrajectoryWriter(tmp_path)
    writer.add(episode(3))
    state = writer.state()
    writer.close()
    os.truncate(tmp_path / "trajs.pkl", state["offset"] - 1)
    with pytest.raises(ValueError, match="shorter than at the checkpoint"):
        TrajectoryWriter(tmp_path).restore(state)


def test_a_kill_between_the_cut_and_the_stop_byte_costs_nothing(tmp_path: Path) -> None:
    writer = TrajectoryWriter(tmp_path)
    writer.add(episode(3))
    state = writer.state()
    writer.close()
    whole = written(tmp_path)
    os.truncate(tmp_path / "trajs.pkl", state["offset"])
    again = TrajectoryWriter(tmp_path)
    assert again.restore(state)
    assert written(tmp_path) == whole
    again.close()


def test_what_was_changed_before_the_checkpoint_is_found_at_a_resume(tmp_path: Path) -> None:
    writer = TrajectoryWriter(tmp_path, limit=2)
    for n in range(3):
        writer.add(episode(3 + n))
    state = writer.state()
    writer.add(episode(9))
    writer.close()
    again = TrajectoryWriter(tmp_path, limit=2)
    assert again.restore(state)
    again.add(episode(9))
    again.close()
    data = bytearray((tmp_path / "trajs_1.pkl").read_bytes())
    data[200] ^= 4
    (tmp_path / "trajs_1.pkl").write_bytes(data)
    again = TrajectoryWriter(tmp_path, limit=2)
    assert not again.restore(state)
    again.close()


def test_a_file_that_is_full_is_on_the_disk_before_the_next_one_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CKP-5: a checkpoint refers to all files, and makes only the newest one durable."""
    durable: dict[str, int] = {}
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        durable[path.name] = path.stat().st_size
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    writer = TrajectoryWriter(tmp_path, limit=2)
    writer.add(episode(2))
    writer.state()
    writer.add(episode(3))
    size = (tmp_path / "trajs.pkl").stat().st_size
    writer.add(episode(4))
    assert durable["trajs.pkl"] == size
    writer.close()


def test_episodes_that_find_no_room_wait_and_are_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CKP-2: also where a new file would begin. No checkpoint is saved without them."""

    def full(self: PickleFile, record: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(self.path))

    warnings: list[tuple[Any, ...]] = []
    monkeypatch.setattr(LOGGER, "warning", lambda *words: warnings.append(words))
    straight, writer = TrajectoryWriter(tmp_path / "straight", limit=2), TrajectoryWriter(tmp_path / "full", limit=2)
    for n in range(7):
        with monkeypatch.context() as patch:
            if n in (1, 2, 4, 5):
                patch.setattr(PickleFile, "_write", full)
                with pytest.raises(OSError, match=r"trajs.*\.pkl"):
                    writer.add(episode(2 + n)) or writer.state()
            else:
                writer.add(episode(2 + n))
        straight.add(episode(2 + n))
    assert writer.state() == straight.state()
    assert written(tmp_path / "full") == written(tmp_path / "straight")
    assert len(warnings) == 1
    with monkeypatch.context() as patch:
        patch.setattr(PickleFile, "_write", full)
        patch.setattr(store, "MOST_WAITING", 1000)
        with pytest.raises(OSError, match=r"trajs.*\.pkl"):
            writer.add(episode(99))
    straight.close()


def test_values_are_those_of_the_environment_and_not_of_the_agent(tmp_path: Path) -> None:
    """ENV-6: what is stored may be fed back; the agent's actions and observations begin at 0."""

    for kind in ("sync", "async"):
        env = assembled(counting_from(10, 5), "counted", 2, kind)
        writer = TrajectoryWriter(tmp_path / kind)
        recorder = TrajectoryRecorder(writer, 2)
        collector = collector_of(env, PolicyOfNothing(4), recorders=(recorder,))
        for _ in range(5):
            collector.step(Progress())
        writer.close()
        env.close()
        content = read(tmp_path / kind / "trajs.pkl")
        for n in range(2):
            assert content["action"][n].tolist() == [info["action"] for info in content["info"][n]]
            assert content["state"][n].tolist() == [10, 11, 12, 10, 11]
            assert content["next_state"][n].tolist() == [11, 12, 10, 11, 12]


def test_an_episode_costs_the_same_however_many_came_before(tmp_path: Path) -> None:
    def cost(writer: TrajectoryWriter) -> float:
        times = []
        for _ in range(30):
            start = time.perf_counter()
            writer.add(episode(50))
            times.append(time.perf_counter() - start)
        return float(np.median(times))

    writer = TrajectoryWriter(tmp_path, limit=10**9)
    early = cost(writer)
    for _ in range(2000):
        writer.add(episode(50))
    assert cost(writer) < 3 * early + 1e-3
    writer.close()


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1, 1, (3,), np.float64),
        spaces.Box(0, 255, (4, 4, 2), np.uint8),
        spaces.Discrete(5, start=-2),
        spaces.MultiDiscrete([3, 4]),
        spaces.MultiBinary(3),
    ],
    ids=str,
)
def test_every_kind_of_space_comes_back_as_it_went(tmp_path: Path, space: spaces.Space) -> None:
    """TRJ-3, round trip: the same through our reader and through plain pickle."""
    values = np.stack([np.asarray(space.sample()) for _ in range(6)])
    values = np.asfortranarray(values) if values.ndim == 2 else values
    writer = TrajectoryWriter(tmp_path)
    writer.add(episode(6) | {"state": values, "action": values})
    writer.close()
    with open(tmp_path / "trajs.pkl", "rb") as file:
        theirs = pickle.load(file)
    ours = read(tmp_path / "trajs.pkl")
    for content in (ours, theirs):
        np.testing.assert_array_equal(content["action"][0], values)
        assert content["action"][0].dtype == values.dtype
    ours["state"][0][...] = 0  # an array of its own, which may be written


def test_an_empty_info_and_a_strange_one_are_both_plain_in_the_file(tmp_path: Path) -> None:
    class Strange:
        def __str__(self) -> str:
            return "strange"

        __repr__ = __str__

    point = collections.namedtuple("point", "x y")
    loop: list[Any] = []
    loop.append(loop)
    info = {
        "lives": np.int64(3),
        "score": np.float32(0.5),
        "array": np.arange(3),
        "objects": np.array([Strange(), 1], dtype=object),
        "strange": Strange(),
        "nested": {1: [point(1, np.bool_(True))]},
        "when": np.datetime64("2026-01-31"),
        "none": None,
    }
    writer = TrajectoryWriter(tmp_path)
    writer.add(episode(1, infos=[info | {"loop": loop}]))
    writer.close()
    got = read(tmp_path / "trajs.pkl")["info"][0][0]
    assert np.array_equal(got.pop("array"), np.arange(3))
    assert "[[...]]" in str(got.pop("loop"))
    assert got.pop("objects") == "[strange 1]"
    assert got == {
        "lives": 3,
        "score": 0.5,
        "strange": "strange",
        "nested": {"1": [(1, True)]},
        "when": "2026-01-31",
        "none": None,
    }
    assert type(plain(np.int64(3))) is int


def test_an_array_of_objects_is_never_written(tmp_path: Path) -> None:
    writer = TrajectoryWriter(tmp_path)
    writer.add(episode(2))
    before = written(tmp_path)
    with pytest.raises(TypeError, match="action is an array of object"):
        writer.add(episode(2) | {"action": np.array([object(), object()])})
    assert written(tmp_path) == before
    writer.close()


def test_files_of_joyrl_itself_can_be_read(tmp_path: Path) -> None:
    """Lists per step, numpy scalars, states shared between two lists, the protocols of Python 3."""
    states = [np.full(4, n, np.float32) for n in range(4)]
    content = {
        "state": [states[:3]],
        "action": [[np.int64(1), np.int64(0), 1]],
        "reward": [[1.0, np.float64(2.0), 3.0]],
        "next_state": [states[1:]],
        "terminated": [[False, False, True]],
        "info": [[{}, {"TimeLimit.truncated": False}, {"big": 2**70, "text": "é", "raw": b"\x00\xff"}]],
    }
    for protocol in (2, 3, 4):
        (tmp_path / "trajs_0.pkl").write_bytes(pickle.dumps(content, protocol))
        got = read(tmp_path / "trajs_0.pkl")
        np.testing.assert_array_equal(got["next_state"][0][0], states[1])
        assert got["next_state"][0][0] is got["state"][0][1]
        assert got["action"] == content["action"]
        assert got["reward"] == content["reward"]
        assert got["info"] == content["info"]


class _Runs:
    """Pickles as a call of a function."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = (function, args)

    def __reduce__(self) -> Any:
        return self.call


def _hostile(canary: str) -> dict[str, bytes]:
    touch = f"touch {canary}"
    code = f"__import__('os').system({touch!r})"
    objects = np.empty(1, dtype=object)
    objects[0] = _Runs(os.system, touch)
    structured = np.zeros(1, dtype=[("a", object)])
    lists = b"".join(b"]q" + bytes([n + 1]) + b"(" + b"h" + bytes([n]) + b"h" + bytes([n]) + b"e" for n in range(60))
    tuples = b")" + b"".join(b"q" + bytes([n]) + b"h" + bytes([n]) + b"\x86" for n in range(60))
    array = b"cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01"
    dtype = b"cnumpy\ndtype\nX\x02\x00\x00\x00f8\x85R"
    return {
        "os.system": pickle.dumps({"state": [_Runs(os.system, touch)]}),
        "builtins.eval": pickle.dumps({"state": [_Runs(eval, code)]}),
        "builtins.exec, protocol 0": pickle.dumps({"state": [_Runs(exec, code)]}, 0),
        "getattr": b"cbuiltins\ngetattr\n.",
        "numpy's own door to code": b"cnumpy.testing._private.utils\nrunstring\n(X\x01\x00\x00\x001}tR.",
        "inst": b"(X" + len(touch).to_bytes(4, "little") + touch.encode() + b"ios\nsystem\n.",
        "array of objects": pickle.dumps({"state": [objects]}),
        "array of structures": pickle.dumps({"state": [structured]}),
        "nested array of objects": pickle.dumps({"info": [[{"a": [objects]}]]}),
        "stack global": b"\x80\x04\x8c\x05posix\x8c\x06system\x93" + pickle.dumps(touch, 4)[2:-1] + b"\x85R.",
        "encode called with a codec": b"c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00zip\x86R.",
        "declared bytes": b"\x80\x04}X\x05\x00\x00\x00state]\x8e\xff\xff\xff\xff\xff\x00\x00\x00as.",
        "declared 4 GB text": b"\x80\x03X\xff\xff\xff\xff.",
        "declared bytearray": b"\x80\x05\x96\xff\xff\xff\xff\xff\x00\x00\x00.",
        "huge shape": array + b"\x8a\x06\xff\xff\xff\xff\xff\x00\x85" + dtype + b"\x89C\x00tb.",
        "negative shape": array + b"J\xff\xff\xff\xff\x85" + dtype + b"\x89C\x00tb.",
        "lists that double 60 times": b"\x80\x03]q\x00" + lists + b".",
        "a key that takes forever to hash": b"}" + tuples + b"K\x01s.",
        "deep nesting": b"]" * 200_000 + b"a" * 199_999 + b".",
        "a function as a value": b"}X\x05\x00\x00\x00statecnumpy\ndtype\ns.",
        "a list inside itself": b"]q\x00h\x00a.",
        "not a pickle": b"hello",
        "empty": b"",
    }


@pytest.mark.parametrize("name", _hostile(""))
def test_a_hostile_file_is_refused_and_runs_nothing(tmp_path: Path, name: str) -> None:
    """SEC-1, SEC-4, TRJ-3: no code runs, nothing in the file decides how much memory is reserved."""
    canary = tmp_path / "canary"
    path = tmp_path / "trajs.pkl"
    path.write_bytes(_hostile(str(canary))[name])
    with pytest.raises(UnsafePickle, match=r"trajs\.pkl (was not loaded|is damaged)"):
        read(path)
    assert not canary.exists()


def test_a_memo_number_reserves_nothing(tmp_path: Path) -> None:
    """SEC-4: C's unpickler would reserve 32 GB for this one."""
    (tmp_path / "trajs.pkl").write_bytes(b"\x80\x03}r\xff\xff\xff\x7f.")
    assert read(tmp_path / "trajs.pkl") == {}


def test_a_pickle_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trajs.pkl"
    for content in ([1, 2], {"state": 3}, {"state": [1], "action": []}):
        path.write_bytes(pickle.dumps(content))
        with pytest.raises(ValueError, match="holds no trajectories"):
            read(path)
