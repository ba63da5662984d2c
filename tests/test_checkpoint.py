"""Checkpoints: whole and verified or not there, cheap, and safe to read."""

import errno
import hashlib
import json
import multiprocessing
import os
import pickle
import shutil
import signal
import struct
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers_core import ramp, replay, saved_and_read
from safetensors.numpy import save as save_arrays

from config.schema import RolloutSpec
from framework import checkpoint, durable, journal
from framework.checkpoint import CheckpointStore, flatten, unflatten
from framework.errors import CheckpointError, NumericsError, TaskDirError
from framework.memory import Rollout
from framework.task_dir import TaskDir

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
        run.memory.journalled()
        return run

    def load(self, saved):
        self.step = saved.tree["step"]
        assert (saved.tree["weights"] == self.step).all()
        self.memory.load_state(saved.tree["memory"], saved.journal)

    def content(self):
        """The whole state, as bytes: what was learned from the same steps in one go has the same."""
        other = replay(**MEMORY, seed=9)
        frames = self.store.read(self.store.numbers()[-1]).journal
        other.load_state(self.memory.state(), frames)
        frame = other.journal()
        return {name: value.tobytes() for name, value in frame.items()}, self.tree()["memory"]


def same_content(one, other):
    (frame, state), (expected, expected_state) = one.content(), other.content()
    assert frame == expected
    assert state == expected_state


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "models"


# -------------------------------------------------------------------------------------------- trees and round trips


def test_a_tree_comes_back_as_it_was():
    tree = {
        "none": None, "bool": True, "int": 2**100, "float": 0.1, "inf": float("inf"), "text": "ä\n$array",
        "list": [1, [], {}, ()], "tuple": (1, (2, "x")), "empty": {}, "$array": {"$dict": 3},
        "arrays": [np.arange(6).reshape(2, 3)[:, ::2], np.zeros((0, 4), np.float32), np.array(3.5), np.array([True])],
        "bytes": np.arange(5, dtype=np.uint8), "tensor": torch.arange(3), "number": np.float32(0.5),
    }  # fmt: skip
    back = saved_and_read(tree)
    np.testing.assert_equal(back, {**tree, "tensor": np.arange(3), "number": 0.5})
    assert isinstance(back["tuple"], tuple)
    assert [array.dtype for array in back["arrays"]] == [array.dtype for array in tree["arrays"]]
    assert back["arrays"][0].flags.owndata


def test_arrays_that_come_back_own_their_memory_and_may_be_written(folder):
    run = Run(folder).work().save()
    weights = run.store.read(5).tree["weights"]
    assert weights.flags.owndata
    weights += 1
    assert weights.ctypes.data % 16 == 0


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array([object()]), np.array(["text"]), 1j, b"bytes", Path("x")])
def test_what_a_checkpoint_cannot_hold_is_refused_when_it_is_saved(value):
    with pytest.raises(TypeError, match="cannot be saved"):
        flatten({"a": [value]}, {})


def test_a_run_goes_on_from_its_checkpoint_to_the_bit_any_number_of_times(tmp_path):
    """RES-8: three resumes, each from a process of its own, equal one run in one go."""
    straight = Run(tmp_path / "one")
    for _ in range(8):
        straight.work().save()
    run = Run(tmp_path / "two").work().save()
    for _ in range(3):
        run.work(3)  # lost: the process ends before it is saved
        run = Run.resumed(tmp_path / "two").work().save()
        run.work().save()
    run = Run.resumed(tmp_path / "two").work().save()
    assert run.step == straight.step == 40
    same_content(run, straight)
    assert run.store.numbers() == straight.store.numbers()


def test_frames_as_small_as_a_step_lose_nothing(folder):
    """A wrapped ring, each step in a frame of its own: what falls out of the ring falls out of the span, no more."""
    run = Run(folder)
    for _ in range(30):
        run.work(1).save()
    assert len(run.store.read(30).journal) == 20
    same_content(Run.resumed(folder), Run(folder.with_name("again")).work(30).save())


def test_a_rollout_needs_no_journal(folder):
    store = CheckpointStore(folder)
    store.save(1, {"a": 1}, Rollout(RolloutSpec(length=3)), {})
    assert store.read(1).journal == []
    assert not (folder / "journal").exists()
    store.continue_from(store.read(1))


def test_the_newest_is_the_largest_number_and_what_is_missing_is_said(folder):
    store = CheckpointStore(folder)
    with pytest.raises(CheckpointError, match=r"no checkpoint in"):
        store.newest(print)
    with pytest.raises(CheckpointError, match=r"no checkpoint 7 in .*; there are none"):
        store.read(7)
    run = Run(folder).work()
    for number in (9, 10, 100):
        run.save(number)
    run.store.mark_best(9)
    assert run.store.numbers() == [9, 10, 100]
    assert run.store.newest(print).path.name == "100"
    with pytest.raises(CheckpointError, match=r"no checkpoint 7 in .*; there are 9, 10, 100, best"):
        run.store.read(7)


def test_reading_another_checkpoint_does_not_move_the_journal(folder):
    run = Run(folder).work().save().work().save()
    run.store.read(5)
    run.work().save()
    assert Run.resumed(folder).step == 15
    assert [len(frame["reward"]) for frame in run.store.read(15).journal] == [5, 5, 5]


def test_going_on_from_an_earlier_checkpoint_puts_the_later_ones_aside(folder):
    run = Run(folder).work().save().work().save()
    run.store.continue_from(run.store.read(5))
    assert run.store.numbers() == [5]
    assert (folder / "10.damaged").is_dir()


# ----------------------------------------------------------------------------------------------------- sudden ends


def save_for_ever(folder):
    """Go on from the newest checkpoint, and save again and again; sometimes under the same number."""
    journal.SEGMENT_BYTES = 20_000
    run = Run.resumed(folder) if CheckpointStore(folder).numbers() else Run(folder)
    while True:
        run.work(2).save()
        run.store.mark_best(run.step)
        run.save()
        run.store.prune(3)


def test_a_kill_at_any_moment_leaves_the_newest_listed_checkpoint_whole(folder):
    """CKP-1: before and after the tidying, and the content is that of a run that never stopped."""
    rng = np.random.default_rng(0)
    context = multiprocessing.get_context("fork")
    reached = []
    for _ in range(30):
        child = context.Process(target=save_for_ever, args=(folder,))
        child.start()
        time.sleep(0.02 + rng.random() * 0.05)
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        store = CheckpointStore(folder)
        if store.numbers():
            store.read(store.numbers()[-1])
        store.recover()
        for number in store.numbers():
            store.read(number)
        if store.has_best():
            store.read("best", with_journal=False)
        reached.append((store.numbers() or [0])[-1])
    assert reached == sorted(reached)
    assert reached[-1] > 20
    assert not [*folder.glob("*.tmp"), *folder.glob("*.old")]
    run = Run.resumed(folder).work(2).save()
    straight = Run(folder.with_name("straight")).work(run.step)
    straight.save()
    same_content(run, straight)


def calls_to_the_disk(monkeypatch):
    """Names of what is made durable or renamed, in order."""
    calls = []
    fsync, rename = os.fsync, os.rename

    def name(path):
        return Path(path).name

    def fake_fsync(descriptor):
        calls.append(("fsync", name(os.readlink(f"/proc/self/fd/{descriptor}"))))
        fsync(descriptor)

    def fake_rename(old, new):
        calls.append(("rename", name(old), name(new)))
        rename(old, new)

    monkeypatch.setattr(os, "fsync", fake_fsync)
    monkeypatch.setattr(os, "rename", fake_rename)
    return calls


def test_everything_is_on_the_disk_before_the_checkpoint_gets_its_name(folder, monkeypatch):
    """CKP-5"""
    run = Run(folder).work()
    calls = calls_to_the_disk(monkeypatch)
    run.save()
    contents = [("fsync", "state.safetensors"), ("fsync", "manifest.json"), ("fsync", "5.tmp")]
    named = [("rename", "5.tmp", "5"), ("fsync", "models")]
    assert calls == [("fsync", "00000.log"), ("fsync", "journal"), *contents, *named]
    calls.clear()
    run.save()
    aside = [("rename", "5", "5.old")]
    assert calls == [("fsync", "00000.log"), *contents, *aside, *named]
    calls.clear()
    run.store.mark_best(5)
    assert calls == [("fsync", "best.tmp"), ("rename", "best.tmp", "best"), ("fsync", "models")]


def test_an_interrupted_replacement_is_mended_and_nothing_unfinished_stays(folder):
    """CKP-5: a crash between the two renames, and one after them."""
    run = Run(folder).work().save().work().save()
    os.rename(folder / "5", folder / "5.old")
    shutil.copytree(folder / "10", folder / "10.old")
    (folder / "15.tmp").mkdir()
    (folder / "15.tmp" / "state.safetensors").write_bytes(b"half")
    run.store.recover()
    assert sorted(path.name for path in folder.iterdir()) == ["10", "5", "journal"]
    shutil.copytree(folder / "10", folder / "10.old")  # one that could not be removed stands in nobody's way
    run.save()
    assert sorted(path.name for path in folder.iterdir()) == ["10", "5", "journal"]
    assert run.store.read(5).tree["step"] == 5


@pytest.mark.parametrize("resumed", [False, True])
def test_what_a_broken_off_write_left_in_the_journal_is_cut_away(folder, monkeypatch, resumed):
    """Also where the next frame begins a new file, or is shorter than what was left."""
    run = Run(folder).work().save()
    with open(folder / "journal" / "00000.log", "ab") as file:
        file.write(b"half a frame" * 10_000)
    if resumed:
        run = Run.resumed(folder)
    else:
        run.work().save()
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    run.work().save()
    same_content(Run.resumed(folder), Run(folder.with_name("again")).work(run.step).save())


@pytest.mark.parametrize("failing", ["00000.log", "state.safetensors", "manifest.json", "10.tmp", "models"])
def test_a_full_disk_costs_one_checkpoint_and_nothing_else(folder, monkeypatch, failing):
    """CKP-2: whichever write fails, the earlier ones stand, and the next save holds everything."""
    run, fsync = Run(folder).work().save(), os.fsync

    def full(descriptor):
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(failing):
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    run.work()
    with pytest.raises(OSError, match="No space left"):
        run.save()
    monkeypatch.undo()
    assert not list(folder.glob("*.tmp"))
    for earlier in CheckpointStore(folder).numbers():
        CheckpointStore(folder).read(earlier)
    run.work().save()
    same_content(Run.resumed(folder), Run(folder.with_name("again")).work(15).save())


def test_a_rename_that_fails_leaves_the_old_folder_under_its_name(folder, monkeypatch):
    run = Run(folder).work().save()
    before = (folder / "5" / "manifest.json").read_bytes()
    rename = os.rename

    def failing(old, new):
        if Path(old).suffix == ".tmp":
            raise OSError(errno.EIO, "Input/output error")
        rename(old, new)

    monkeypatch.setattr(os, "rename", failing)
    run.work()
    with pytest.raises(OSError, match="Input/output"):
        run.save(5)
    assert (folder / "5" / "manifest.json").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["5", "journal"]


def test_a_place_that_cannot_be_written_is_an_error_and_not_silence(tmp_path):
    """CKP-3: root may write everywhere, so that a file stands in the way instead of a read-only folder."""
    (tmp_path / "models").write_text("a file")
    with pytest.raises(OSError, match="models"):
        Run(tmp_path / "models").work().save()
    with pytest.raises(TaskDirError, match="cannot make the task directory"):
        TaskDir.create("train", "X", "Y", root=tmp_path / "models")


def test_a_model_that_has_become_nan_does_not_take_the_place_of_a_good_one(folder):
    """NUM-1"""
    run = Run(folder).work().save()
    with pytest.raises(NumericsError, match="NaN"):
        run.store.save(5, {"weights": np.array([1.0, np.nan])}, run.memory, {})
    assert run.store.read(5).tree["step"] == 5


# --------------------------------------------------------------------------------------------------------- damage


def files_of_newest(folder):
    return [folder / "10" / "state.safetensors", folder / "10" / "manifest.json", folder / "journal" / "00000.log"]


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("share", [i / 10 for i in range(10)])
def test_a_file_that_was_cut_off_is_detected_and_the_checkpoint_before_is_taken(folder, which, share):
    """CKP-4: cutting the journal inside what the first checkpoint needs leaves none."""
    Run(folder).work().save().work().save()
    path, said = files_of_newest(folder)[which], []
    first = CheckpointStore(folder).read(5).span.end.offset
    size = int(path.stat().st_size * share)
    os.truncate(path, size)
    store = CheckpointStore(folder)
    with pytest.raises(CheckpointError, match=r"is damaged"):
        store.read(10)
    if which == 2 and size < first:
        with pytest.raises(CheckpointError, match="no whole checkpoint"):
            store.newest(said.append)
    else:
        assert store.newest(said.append).tree["step"] == 5
    assert "going back to the one before" in said[0]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_single_flipped_byte_is_detected_wherever_it_is(folder, which):
    """CKP-4"""
    Run(folder).work().save().work().save()
    path = files_of_newest(folder)[which]
    data = path.read_bytes()
    end = CheckpointStore(folder).read(10).span.end.offset if which == 2 else len(data)
    for at in [0, 1, 5, 20, 47, 51, 52, 60, *range(100, end - 1, end // 23), end - 2]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(CheckpointError, match=r"damaged|format"):
            CheckpointStore(folder).read(10)
    path.write_bytes(data)
    assert CheckpointStore(folder).read(10).tree["step"] == 10


@pytest.mark.parametrize("name", ["manifest.json", "state.safetensors"])
def test_a_file_that_is_missing_is_named(folder, name):
    Run(folder).work().save()
    (folder / "5" / name).unlink()
    with pytest.raises(CheckpointError, match=f"5 is damaged.*{name}"):
        CheckpointStore(folder).read(5)


def test_a_run_that_fell_back_goes_on_and_is_whole_again(folder):
    """RES-6"""
    Run(folder).work().save().work().save()
    (folder / "10" / "manifest.json").write_bytes(b"")
    said = []
    run = Run.resumed(folder, said.append)
    assert run.step == 5
    assert len(said) == 1
    run.work().save()
    same_content(run, Run(folder.with_name("again")).work(10).save())
    assert run.store.numbers() == [5, 10]


def test_a_checkpoint_of_another_format_says_so(folder, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", 0)
    Run(folder).work().save()
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match=r"has format 0; this version reads format 1"):
        CheckpointStore(folder).read(5)


# ------------------------------------------------------------------------------------------------ keeping and pruning


def test_the_newest_are_kept_and_best_always(folder):
    """CKP-6"""
    run = Run(folder)
    for _ in range(6):
        run.work().save()
        if run.step == 10:
            run.store.mark_best(10)
        run.store.prune(2)
    assert run.store.numbers() == [25, 30]
    assert run.store.read("best", with_journal=False).tree["step"] == 10
    run.store.prune(-1)
    assert run.store.numbers() == [25, 30]
    run.store.mark_best(30)
    assert run.store.read("best").tree["step"] == 30


def test_best_is_a_second_name_for_the_same_files(folder):
    run = Run(folder).work().save()
    run.store.mark_best(5)
    for name in ("state.safetensors", "manifest.json"):
        assert os.path.samefile(folder / "5" / name, folder / "best" / name)


def test_best_is_copied_where_files_cannot_have_two_names(folder, monkeypatch):
    run = Run(folder).work().save()

    def refuse(*names):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    run.store.mark_best(5)
    assert run.store.read("best").tree["step"] == 5


def test_best_is_put_back_to_what_the_run_that_goes_on_knows(folder):
    run = Run(folder).work().save().work().save()
    run.store.mark_best(10)
    run.store.realign_best(5)
    assert run.store.read("best").tree["step"] == 5
    run.store.realign_best(4)  # pruned: what is there stays
    assert run.store.read("best").tree["step"] == 5
    run.store.realign_best(None)
    assert not run.store.has_best()


def test_the_journal_drops_what_no_kept_checkpoint_needs(folder, monkeypatch):
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    run = Run(folder)
    for _ in range(12):
        run.work().save()
        run.store.prune(2)
    # a ring of 20 steps: checkpoint 55 needs steps 35 on, which are in the 8th frame
    assert [path.name for path in sorted((folder / "journal").iterdir())] == [f"{i:05d}.log" for i in range(7, 12)]
    same_content(Run.resumed(folder), Run(folder.with_name("again")).work(60).save())


def test_a_model_whose_memory_is_no_longer_kept_can_be_tested_and_says_why_it_cannot_go_on(folder, monkeypatch):
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    run = Run(folder).work().save()
    run.store.mark_best(5)
    for _ in range(12):
        run.work().save()
        run.store.prune(1)
    assert run.store.read("best", with_journal=False).tree["step"] == 5
    with pytest.raises(CheckpointError, match=r"00000.log is gone.*can be tested"):
        run.store.read("best")


def test_pruning_is_not_stopped_by_a_damaged_checkpoint(folder):
    run = Run(folder).work().save().work().save()
    (folder / "5" / "manifest.json").write_bytes(b"broken")
    run.work().save()
    run.store.prune(3)
    run.store.prune(1)
    assert run.store.numbers() == [15]


# ----------------------------------------------------------------------------------------------------------- costs


def test_saving_costs_what_is_new_and_not_what_is_in_the_memory(folder):
    """CKP-8: a memory of 10 MB, 500 new steps: the time of a save is not measured, its memory and its bytes are."""
    memory = replay(capacity=200_000, batch=8, updates_per_step=0.0)
    memory.add(ramp(0, 200_000))
    store = CheckpointStore(folder)
    store.save(1, {"state": memory.state()}, memory, {})
    whole = (folder / "journal" / "00000.log").stat().st_size
    memory.add(ramp(200_000, 500))
    tracemalloc.start()
    store.save(2, {"state": memory.state()}, memory, {})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (folder / "journal" / "00000.log").stat().st_size - whole < 20_000
    assert peak < 400_000 < whole / 10


# --------------------------------------------------------------------------------------------------------- hostile


class Canary:
    """Unpickling it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def written(folder, body=None, text=None, arrays=None, state=None, name="5"):
    """A checkpoint with a right digest over any content."""
    path = folder / name
    path.mkdir(parents=True)
    state = save_arrays(arrays or {"0": np.zeros(3)}) if state is None else state
    whole = {"format": 1, "facts": {}, "journal": None, "tree": None, **(body or {})}
    whole["state_sha256"] = hashlib.sha256(state).hexdigest()
    text = json.dumps(whole).encode() if text is None else text
    (path / "state.safetensors").write_bytes(state)
    (path / "manifest.json").write_bytes(text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n")
    return CheckpointStore(folder)


def test_a_pickle_in_the_place_of_a_model_is_not_opened(folder, tmp_path):
    """SEC-1"""
    canary = tmp_path / "canary"
    payload = pickle.dumps(Canary(canary))
    folder.mkdir()
    (folder / "best").write_bytes(payload)
    with pytest.raises(CheckpointError, match=r"is a single file.*it was not opened"):
        CheckpointStore(folder).read("best")
    torch.save({"a": 1}, folder / "7")
    with pytest.raises(CheckpointError, match="is a single file"):
        CheckpointStore(folder).read(7)
    for name in ("state.safetensors", "manifest.json"):
        shutil.rmtree(folder)
        store = written(folder, {"tree": {"$array": "0"}})
        (folder / "5" / name).write_bytes(payload)
        with pytest.raises(CheckpointError):
            store.read(5)
    shutil.rmtree(folder)
    with pytest.raises(CheckpointError):
        written(folder, state=payload).read(5)
    assert not canary.exists()


HEADER = struct.Struct("<Q")


def tensors(header, data=b""):
    text = json.dumps(header).encode() if isinstance(header, dict) else header
    return HEADER.pack(len(text)) + text + data


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"short",
        HEADER.pack(2**63) + b"{}",
        tensors(b"not json"),
        tensors({"0": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}),
        tensors({"0": {"dtype": "F32", "shape": [2**62, 2**62], "data_offsets": [0, 4]}}, b"1234"),
        tensors({"0": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, b"1234"),
        tensors({"0": {"dtype": "O", "shape": [1], "data_offsets": [0, 4]}}, b"1234"),
        tensors({"0": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, b"1234"),
        tensors({"0": 5}),
    ],
)
def test_a_hostile_file_of_arrays_is_refused_before_anything_is_allocated(folder, state):
    """SEC-4"""
    store = written(folder, {"tree": {"$array": "0"}}, state=state)
    tracemalloc.start()
    with pytest.raises(CheckpointError, match="is damaged"):
        store.read(5)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


@pytest.mark.parametrize(
    "tree",
    [
        {}, {"$array": "1"}, {"$array": 0}, {"$array": ["0"]}, {"$array": {"$array": "0"}}, {"$dict": 5},
        {"$dict": [1]}, {"$tuple": 5}, {"$tuple": None}, {"$object": "os.system"}, {"a": 1, "b": 2},
        [{"$array": "0"}] * 1000,
    ],
)  # fmt: skip
def test_a_tree_of_the_wrong_kind_is_damage(folder, tree):
    """SEC-1, SEC-4: nothing is looked up by name, and no array can be multiplied."""
    with pytest.raises(CheckpointError, match="is damaged"):
        written(folder, {"tree": tree}).read(5)


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000, b'{"a":' * 100_000, b"[]", b"5", b"null", b'"text"', b"", b"{}", b"\xff\xfe", b"9" * 10_000,
        b'{"format": "1"}', b'{"format": 1}', b'{"format": {"$array": "0"}}',
    ],
)  # fmt: skip
def test_a_hostile_manifest_is_damage(folder, text):
    """SEC-4"""
    with pytest.raises(CheckpointError, match=r"damaged|format"):
        written(folder, text=text).read(5)


def test_a_deep_tree_is_damage_and_not_a_crash(folder):
    text = json.dumps({"format": 1, "facts": {}, "journal": None, "tree": "HERE", "state_sha256": "DIGEST"})
    digest = hashlib.sha256(save_arrays({"0": np.zeros(3)})).hexdigest()
    deep = '{"$dict":{"a":' * 3000 + "1" + "}}" * 3000
    with pytest.raises(CheckpointError, match="is damaged"):
        written(folder, text=text.replace('"HERE"', deep).replace("DIGEST", digest).encode()).read(5)


@pytest.mark.parametrize(
    "body",
    [
        {"facts": 5}, {"facts": "text"}, {"facts": None}, {"journal": 5}, {"journal": [0, 0, 0]}, {"journal": "abcd"},
        {"journal": [0, 0, 0, 1]}, {"journal": [0, 0, 0, 2**80]}, {"journal": [0, -5, 0, 10]},
        {"journal": [0, 0, 0, float("inf")]}, {"journal": [0, 0, 2**70, 0]}, {"journal": [-3, 0, 0, 0]},
        {"journal": {}}, {"journal": [[], 0, 0, 0]}, {"state_sha256": 3},
    ],
)  # fmt: skip
def test_wrong_types_in_a_manifest_are_damage(folder, body):
    """SEC-1, SEC-4"""
    store = written(folder, body)
    if "state_sha256" in body:
        body = {"format": 1, "facts": {}, "journal": None, "tree": None, **body}
        shutil.rmtree(folder)
        store = written(folder, text=json.dumps(body).encode())
    with pytest.raises(CheckpointError, match=r"is damaged|is gone"):
        store.read(5)


@pytest.mark.parametrize(
    "frame",
    [
        b"", b"JYJ1", b"\0" * 200, struct.pack("<4sQQ32s", b"JYJ1", 2**60, 5, bytes(32)),
        struct.pack("<4sQQ32s", b"JYJ1", 2**30, 5, bytes(32)) + b"1234",
        struct.pack("<4sQQ32s", b"JYJ1", 0, 5, hashlib.sha256(b"").digest()),
        struct.pack("<4sQQ32s", b"JYJ1", 0, 5, hashlib.sha256((5).to_bytes(8, "little")).digest()),
        struct.pack("<4sQQ32s", b"JYJ1", 4, 5, hashlib.sha256((5).to_bytes(8, "little") + b"1234").digest()) + b"1234",
    ],
)  # fmt: skip
@pytest.mark.parametrize("promised", [None, 2**61])
def test_a_hostile_journal_is_refused_before_anything_is_allocated(folder, frame, promised):
    """SEC-4: neither the manifest nor the frame is believed more than the size of the file."""
    store = written(folder, {"journal": [0, 0, 0, promised or max(len(frame), 1)]})
    (folder / "journal").mkdir()
    (folder / "journal" / "00000.log").write_bytes(frame)
    tracemalloc.start()
    with pytest.raises(CheckpointError, match="is damaged"):
        store.read(5)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_removing_a_folder_leaves_no_half_of_it_under_its_name(folder, monkeypatch):
    run = Run(folder).work().save()
    seen = []
    rmtree = shutil.rmtree

    def slow(path, **options):
        seen.append(run.store.numbers())
        rmtree(path, **options)

    monkeypatch.setattr(durable.shutil, "rmtree", slow)
    durable.remove_folder(folder / "5")
    assert seen[-1] == []


def test_unflatten_is_the_inverse_of_flatten_for_keys_that_look_like_marks():
    arrays = {}
    tree = {"$tuple": {"$dict": ({"$array": 1},)}}
    assert unflatten(flatten(tree, arrays), arrays) == tree
