"""Checkpoints through sudden ends, full disks and damaged files."""

import errno
import multiprocessing
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from framework.disk import atomic, journal
from framework.disk import checkpoints as store
from framework.disk.checkpoints import CheckpointStore
from framework.disk.task_dir import TaskDir
from framework.errors import CheckpointError, NumericsError, TaskDirError
from tests.tools.checkpoint import Run, same_content


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "models"


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
    """CKP-1: before and after the tidying, and the content is that of a run that never stopped. Every second child
    may get on before it is killed, whatever the speed of the machine; the others may be caught while they resume."""
    rng = np.random.default_rng(0)
    context = multiprocessing.get_context("fork")
    store, reached = CheckpointStore(folder), [0]
    for life in range(16):
        child = context.Process(target=save_for_ever, args=(folder,))
        child.start()
        while life % 2 == 0 and max(store.numbers(), default=0) <= reached[-1]:
            assert child.is_alive()
            time.sleep(0.001)
        time.sleep(rng.random() * 0.03)
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        if store.numbers():
            store.read(store.numbers()[-1])
        store.recover()
        for number in store.numbers():
            store.read(number)
        if store.has_best():
            store.read("best", with_journal=False)
        reached.append(store.numbers()[-1])
    assert reached == sorted(reached)
    assert reached[-1] >= 2 * 8
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
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
    contents = [("fsync", "state.safetensors"), ("fsync", "manifest.json"), ("fsync", ".5.tmp")]
    named = [("rename", ".5.tmp", "5"), ("fsync", "models")]
    folders = [("fsync", folder.parent.name), ("fsync", "models")]
    frame = [("fsync", "00000.log"), ("fsync", "journal")]
    assert calls == [*folders, *frame, *contents, *named]
    calls.clear()
    run.work(1).save(5)
    aside = [("rename", "5", ".5.old")]
    assert calls == [*frame, *contents, *aside, *named]
    calls.clear()
    run.save(5)
    assert calls == [*contents, *aside, *named], "the journal holds everything already"
    calls.clear()
    run.store.mark_best(5)
    assert calls == [("fsync", ".best.tmp"), ("rename", ".best.tmp", "best"), ("fsync", "models")]


def test_an_interrupted_replacement_is_mended_and_nothing_unfinished_stays(folder):
    """CKP-5: a crash between the two renames, and one after them."""
    run = Run(folder).work().save().work().save()
    os.rename(folder / "5", folder / ".5.old")
    shutil.copytree(folder / "10", folder / ".10.old")
    (folder / ".15.tmp").mkdir()
    (folder / ".15.tmp" / "state.safetensors").write_bytes(b"half")
    run.store.recover()
    assert sorted(path.name for path in folder.iterdir()) == ["10", "5", "journal"]
    shutil.copytree(folder / "10", folder / ".10.old")  # one that could not be removed stands in nobody's way
    run.save()
    assert sorted(path.name for path in folder.iterdir()) == ["10", "5", "journal"]
    assert run.store.read(5).tree["step"] == 5


def test_folders_that_somebody_put_aside_are_left_alone(tmp_path):
    """`mv NAME NAME.old` keeps a run before another one of its name: neither its removal nor a cleaning up, as of a
    group that goes on, may delete it."""
    for name in ("..old", "...old"):
        (tmp_path / name).mkdir()
    for name in ("run", "run.old", "run.tmp", "other.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    (tmp_path / "new").mkdir()
    atomic.recover(tmp_path)
    assert atomic.replaced(tmp_path / ".run.old") == tmp_path / "run"
    atomic.replace_folder(tmp_path / "new", tmp_path / "run")
    atomic.remove_folder(tmp_path / "run")
    assert sorted(path.parent.name for path in tmp_path.glob("*/run.json")) == ["other.old", "run.old", "run.tmp"]


def test_files_with_names_of_folders_are_no_obstacle(folder):
    """Those that no checkpoint needs stay; those in the way of one are replaced."""
    run = Run(folder).work().save().work().save()
    names = ("notes.tmp", "notes.old", ".best.old", ".15.tmp", ".15.old", ".best.tmp")
    for name in names:
        (folder / name).write_text("a file")
    run.store.recover()
    assert {path.name for path in folder.iterdir()} == {*names, "5", "10", "journal"}
    assert not run.store.has_best()
    assert run.store.numbers() == [5, 10]
    for _ in range(2):  # the second time, each replaces an earlier one
        run.work(15 - run.step).save().store.mark_best(15)
    assert (run.store.numbers(), run.store.has_best()) == ([5, 10, 15], True)
    run.store.prune(1)
    assert {path.name for path in folder.iterdir()} == {"notes.tmp", "notes.old", "15", "best", "journal"}


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
        TaskDir.create("train", "X", "Y", start=tmp_path / "models")


def test_a_model_that_has_become_nan_does_not_take_the_place_of_a_good_one(folder):
    """NUM-1"""
    run = Run(folder).work().save()
    with pytest.raises(NumericsError, match="NaN"):
        run.store.save(5, {"weights": np.array([1.0, np.nan])}, run.memory, {})
    assert run.store.read(5).tree["step"] == 5


def test_removing_a_folder_leaves_no_half_of_it_under_its_name(folder, monkeypatch):
    run = Run(folder).work().save()
    seen = []
    rmtree = shutil.rmtree

    def slow(path, **options):
        seen.append(run.store.numbers())
        rmtree(path, **options)

    monkeypatch.setattr(atomic.shutil, "rmtree", slow)
    atomic.remove_folder(folder / "5")
    assert seen[-1] == []


# --------------------------------------------------------------------------------------------------------- damage


def files_of_newest(folder):
    return [folder / "10" / "state.safetensors", folder / "10" / "manifest.json", folder / "journal" / "00000.log"]


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("share", [i / 10 for i in range(10)])
def test_a_file_that_was_cut_off_is_detected_and_the_checkpoint_before_is_taken(folder, which, share):
    """CKP-4: cutting the journal inside what the first checkpoint needs leaves none."""
    Run(folder).work().save().work().save()
    path, said = files_of_newest(folder)[which], []
    first = CheckpointStore(folder).read(5).journal.span.end.offset
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
    end = CheckpointStore(folder).read(10).journal.span.end.offset if which == 2 else len(data)
    for at in [0, 1, 5, 20, 47, 51, 52, 60, *range(100, end - 1, end // 23), end - 2]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(CheckpointError, match=r"damaged|format"):
            CheckpointStore(folder).read(10)
    path.write_bytes(data)
    assert CheckpointStore(folder).read(10).tree["step"] == 10


@pytest.mark.parametrize("name", ["manifest.json", "state.safetensors"])
def test_a_file_that_is_missing_is_named(folder, name):
    Run(folder).work().save()
    store, said = CheckpointStore(folder), []
    store.mark_best(5)
    (folder / "5" / name).unlink()
    with pytest.raises(CheckpointError, match=r"no whole checkpoint in .* but best: load_model_step=best"):
        store.newest(said.append)
    assert said == [f"{folder}/5 is damaged: {folder}/5/{name} is missing"], "there is none before to go back to"
    (folder / "best" / name).unlink()
    with pytest.raises(CheckpointError, match=r"no whole checkpoint in [^ ]*$"):
        store.newest(said.append)


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
    monkeypatch.setattr(store, "FORMAT", 0)
    Run(folder).work().save()
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match=r"has format 0; this version reads format 1"):
        CheckpointStore(folder).read(5)
