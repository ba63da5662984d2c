"""Checkpoints: what comes back is what was saved, at the cost of what is new, and what is kept."""

import errno
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

from config.model.memory_spec import RolloutSpec
from framework.disk import journal
from framework.disk.checkpoints import CheckpointStore, flatten, unflatten
from framework.errors import CheckpointError
from framework.memory import Rollout
from tests.tools.checkpoint import Run, same_content
from tests.tools.core import ramp, replay, saved_and_read


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
    assert len(list(run.store.read(30).journal)) == 20
    same_content(Run.resumed(folder), Run(folder.with_name("again")).work(30).save())


def test_a_rollout_needs_no_journal(folder):
    store = CheckpointStore(folder)
    store.save(1, {"a": 1}, Rollout(RolloutSpec(length=3)), {})
    assert store.read(1).journal is None
    assert not (folder / "journal").exists()
    store.continue_from(store.read(1))


def test_the_newest_is_the_largest_number_and_what_is_missing_is_said(folder):
    store = CheckpointStore(folder)
    with pytest.raises(CheckpointError, match=r"no checkpoint in"):
        store.newest(print)
    with pytest.raises(CheckpointError, match=r"no checkpoint 7 in .*; the newest are: none"):
        store.read(7)
    run = Run(folder).work()
    for number in (9, 10, 100):
        run.save(number)
    run.store.mark_best(9)
    assert run.store.numbers() == [9, 10, 100]
    assert run.store.newest(print).path.name == "100"
    with pytest.raises(CheckpointError, match=r"no checkpoint 7 in .*; the newest are: 9, 10, 100, best"):
        run.store.read(7)


def test_reading_another_checkpoint_does_not_move_the_journal(folder):
    run = Run(folder).work().save().work().save()
    run.store.read(5)
    run.work().save()
    assert Run.resumed(folder).step == 15
    assert [len(frame.arrays["reward"]) for frame in run.store.read(15).journal] == [5, 5, 5]


def test_going_on_from_an_earlier_checkpoint_puts_the_later_ones_aside(folder):
    run = Run(folder).work().save().work().save()
    run.store.continue_from(run.store.read(5))
    assert run.store.numbers() == [5]
    assert (folder / "10.damaged").is_dir()


def test_unflatten_is_the_inverse_of_flatten_for_keys_that_look_like_marks():
    arrays = {}
    tree = {"$tuple": {"$dict": ({"$array": 1},)}}
    assert unflatten(flatten(tree, arrays), arrays) == tree


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
    run.store.realign_best(None)  # a best that existed stays until there is another one
    assert run.store.read("best").tree["step"] == 5


def test_the_journal_drops_what_no_kept_checkpoint_needs(folder, monkeypatch):
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    run = Run(folder)
    for _ in range(12):
        run.work().save()
        run.store.prune(2)
    # a ring of 20 steps: checkpoint 55 needs steps 35 on, which are in the 8th frame
    assert [path.name for path in sorted((folder / "journal").iterdir())] == [f"{i:05d}.log" for i in range(7, 12)]
    same_content(Run.resumed(folder), Run(folder.with_name("again")).work(60).save())


def test_without_a_limit_all_checkpoints_stay_and_the_newest_keep_their_memory(folder, monkeypatch):
    """keep_checkpoints -1: what older checkpoints need of the journal goes; they can be tested all the same."""
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    run = Run(folder)
    for _ in range(12):
        run.work().save()
        run.store.prune(-1)
    # a ring of 20 steps: checkpoint 40, the fifth from the end, needs steps 20 on, which are in the 5th frame
    assert [path.name for path in sorted((folder / "journal").iterdir())] == [f"{i:05d}.log" for i in range(4, 12)]
    assert run.store.numbers() == list(range(5, 65, 5))
    for number in run.store.numbers()[-5:]:
        assert run.store.read(number).tree["step"] == number
    assert run.store.read(35, with_journal=False).tree["step"] == 35
    with pytest.raises(CheckpointError, match=r"00003.log is gone.*to train on, choose one of the newest"):
        run.store.read(35)


def test_a_model_whose_memory_is_no_longer_kept_can_be_tested_and_says_why_it_cannot_go_on(folder, monkeypatch):
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    run = Run(folder).work().save()
    run.store.mark_best(5)
    for _ in range(12):
        run.work().save()
        run.store.prune(1)
    assert run.store.read("best", with_journal=False).tree["step"] == 5
    with pytest.raises(CheckpointError, match=r"00000.log is gone.*can be tested.*newest checkpoints"):
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
