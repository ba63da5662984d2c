"""Copies of runs in a store: what is listed is whole, one session writes, and no fault of a store reaches the run."""

import contextlib
import hashlib
import json
import logging
import shutil
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from config.read.opening import fault_below
from framework.disk.atomic import remove_folder, replace_folder
from framework.disk.notes import Notes
from framework.disk.task_dir import held_lock
from framework.storage import claim, copies, index, mirror
from framework.storage.copy_record import Record, files_of, pending, set_destination
from framework.storage.errors import Claimed, MissingObject, StorageError
from framework.storage.index import KEY, Index, Owner, Part
from framework.storage.mirror import Mirror, url_of
from framework.storage.store import Store, patiently

FILES = {
    "config.yaml": b"general_cfg: {}\n",
    "models/10/manifest.json": b"manifest 10",
    "models/10/state.safetensors": b"state 10",
    "models/journal/00000.log": b"frames",
    "results/train.csv": b"a,b\n1,2\n",
    "run.json": b"{}",
}


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder of the store in the memory of this process, and an empty cache."""
    monkeypatch.setenv("JOYSTICK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(copies.time, "sleep", lambda seconds: None)
    memory: Any = fsspec.filesystem("memory")
    memory.store.clear()
    claim._silent.clear()
    return "memory://bucket/run"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "run", FILES)


def written(folder: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def down(self: Store, key: str, data: bytes, **options: Any) -> None:
    """Stands for the `_put` of a store that does not answer."""
    raise OSError("connection lost")


def quiet(folder: Path, url: str, take_over: bool = False) -> Mirror:
    return Mirror(folder, url, take_over, lambda text, is_warning: None)


def stored(url: str) -> Index:
    return Index.from_bytes(Store(url).get(KEY), url)


def content(folder: Path) -> dict[str, bytes]:
    return {path: Path(entry.path).read_bytes() for path, entry in files_of(folder)}


def brought(url: str) -> dict[str, bytes]:
    return content(copies.cached(url, copies.everything))


def test_a_copy_has_the_bytes_of_the_folder(folder, url):
    quiet(folder, url).upload()
    assert brought(url) == FILES


def test_a_pass_puts_only_what_has_changed(folder, url, monkeypatch):
    copy = quiet(folder, url)
    copy.upload()
    keys = set(Store(url).keys())
    put: list[str] = []
    monkeypatch.setattr(Store, "put", lambda self, key, data: put.append(key))
    with open(folder / "results/train.csv", "ab") as file:
        file.write(b"3,4\n")
    copy._files()
    assert [key.partition(".")[0] for key in put] == ["results/train"]
    assert not keys & set(put), "an object that is listed was written again"


def test_a_file_that_grows_costs_its_last_part(folder, url, monkeypatch):
    monkeypatch.setattr(mirror, "PART_BYTES", 4)
    (folder / "results/train.csv").write_bytes(b"aaaabbbbcc")
    copy = quiet(folder, url)
    copy.upload()
    (folder / "results/train.csv").write_bytes(b"aaaabbbbccccd")
    before = stored(url).files["results/train.csv"]
    copy.upload()
    after = stored(url).files["results/train.csv"]
    assert [part.size for part in after] == [4, 4, 4, 1]
    assert after[:2] == before[:2]
    assert brought(url)["results/train.csv"] == b"aaaabbbbccccd"


@pytest.mark.parametrize("failing", range(9))
def test_after_a_fault_at_any_put_the_store_has_the_state_before(failing, folder, url, monkeypatch):
    quiet(folder, url).upload(last=True)
    new = {"models/20/manifest.json": b"manifest 20", "models/20/state.safetensors": b"state 20",
           "results/train.csv": b"a,b\n1,2\n3,4\n"}  # fmt: skip
    written(folder, new)
    calls, real = [0], Store._put

    def fail(self: Store, key: str, data: bytes, **options: Any) -> None:
        calls[0] += 1
        if calls[0] == failing + 1:
            raise OSError("connection lost")
        real(self, key, data, **options)

    monkeypatch.setattr(Store, "_put", fail)
    copy = quiet(folder, url)
    with contextlib.suppress(StorageError):
        copy.upload()
    whole = {**FILES, **new}
    assert brought(url) in ([whole] if calls[0] <= failing else [FILES, whole])
    monkeypatch.setattr(Store, "_put", real)
    copy.upload()
    assert brought(url) == whole


def test_a_checkpoint_is_listed_with_all_of_its_files_while_it_is_replaced(folder, url):
    """A thread replaces checkpoints as a run does; every index that is ever written has whole ones."""
    done, faults = threading.Event(), []

    def train() -> None:
        for number in range(11, 60):
            new = written(
                folder / "models" / f"{number}.tmp",
                {"manifest.json": b"%d" % number, "state.safetensors": b"%d" % number},
            )
            replace_folder(new, folder / "models" / str(number))
            remove_folder(folder / "models" / str(number - 2))
            best = written(
                folder / "models" / "best.tmp", {"manifest.json": b"%d" % number, "state.safetensors": b"%d" % number}
            )
            replace_folder(best, folder / "models" / "best")
        done.set()

    thread = threading.Thread(target=train)
    thread.start()
    copy, passes = quiet(folder, url), 0
    while not done.is_set() or passes < 3:
        with contextlib.suppress(StorageError):  # the files change too fast: the next pass tries again
            copy.upload()
            passes += 1
            files = stored(url).files
            for name in {path.split("/")[1] for path in files if path.startswith("models/")} - {"journal", "10"}:
                parts = [files.get(f"models/{name}/{file}") for file in ("manifest.json", "state.safetensors")]
                if None in parts or parts[0][0].sha256 != parts[1][0].sha256:  # type: ignore[index]
                    faults.append((name, parts))
    thread.join()
    assert passes >= 3
    assert not faults


def test_a_checkpoint_that_is_replaced_while_it_is_looked_at_is_looked_at_again(folder, url, monkeypatch):
    best = {"models/best/manifest.json": b"old", "models/best/state.safetensors": b"old"}
    written(folder, best)
    real, done = Mirror._linked, []

    def replaced(self: Mirror, path: str, place: Path) -> Path:
        link = real(self, path, place)
        if path == "models/best/manifest.json" and not done:
            done.append(path)
            new = written(folder / "models/new.tmp", {"manifest.json": b"new", "state.safetensors": b"new"})
            replace_folder(new, folder / "models/best")
        return link

    monkeypatch.setattr(Mirror, "_linked", replaced)
    quiet(folder, url).upload()
    assert done
    assert {path: data for path, data in brought(url).items() if "best" in path} == dict.fromkeys(best, b"new")


def test_a_file_that_is_renamed_while_the_folder_is_looked_at_is_not_lost(folder, url, monkeypatch):
    """As trajs.pkl, which becomes trajs_0.pkl with the second file."""
    written(folder, {"results/trajs.pkl": b"episodes"})
    real, done = Mirror._linked, []

    def renamed(self: Mirror, path: str, place: Path) -> Path:
        link = real(self, path, place)
        if path == "results/train.csv" and not done:
            done.append(path)
            (folder / "results/trajs.pkl").rename(folder / "results/a_trajs_0.pkl")
        return link

    monkeypatch.setattr(Mirror, "_linked", renamed)
    quiet(folder, url).upload()
    assert done
    assert brought(url)["results/a_trajs_0.pkl"] == b"episodes"


def test_what_is_pruned_here_is_pruned_there_after_the_index(folder, url, monkeypatch):
    copy = quiet(folder, url)
    copy.upload()
    keys = {part.key for path, parts in stored(url).files.items() if path.startswith("models/10/") for part in parts}
    written(folder, {"models/20/manifest.json": b"manifest 20", "models/20/state.safetensors": b"state 20"})
    for file in (folder / "models/10").iterdir():
        file.unlink()
    (folder / "models/10").rmdir()
    copy.upload()
    assert stored(url).checkpoints == [20]
    assert keys <= set(Store(url).keys()), "a reader of the last index may be at them"
    (folder / "run.json").write_bytes(b"{ }")
    copy.upload()
    assert not keys & set(Store(url).keys())


def test_a_second_writer_is_refused(folder, url, tmp_path, monkeypatch):
    first = quiet(folder, url)
    first.upload()
    monkeypatch.setattr(Owner, "is_dead", lambda self: False)
    with pytest.raises(StorageError, match="exists already"):
        quiet(written(tmp_path / "other", FILES), url).take()
    with pytest.raises(StorageError, match="is being written by"):
        copies.working_copy(url, tmp_path / "tasks", take_over=False)


def test_who_was_taken_over_is_told_and_changes_nothing(folder, url, tmp_path, monkeypatch):
    first = quiet(folder, url)
    first.upload()
    monkeypatch.setattr(Owner, "is_dead", lambda self: False)
    monkeypatch.setattr(claim, "LOOK_SECONDS", 50.0)
    waited: list[float] = []
    monkeypatch.setattr(claim.time, "sleep", waited.append)
    monkeypatch.setattr(claim.wait_until_free, "__defaults__", (waited.append,))
    there = copies.working_copy(url, tmp_path / "tasks", take_over=True)
    assert sum(waited) >= claim.SILENCE * stored(url).every
    second = quiet(there, url, take_over=True)
    (there / "results/train.csv").write_bytes(b"second")
    second.upload()
    index = stored(url)
    (folder / "results/train.csv").write_bytes(b"first")
    with pytest.raises(Claimed, match="was taken over by"):
        first.upload()
    assert stored(url) == index
    assert brought(url)["results/train.csv"] == b"second"


def test_a_writer_that_only_slept_and_went_on_is_not_cut_back_to_what_was_brought(folder, url, tmp_path, monkeypatch):
    """The same session, once more: what it has written since is brought, or the claim is refused."""
    first = quiet(folder, url)
    first.upload()
    monkeypatch.setattr(Owner, "is_dead", lambda self: True)
    there = copies.working_copy(url, tmp_path / "tasks", take_over=True)
    written(folder, {"models/20/manifest.json": b"manifest 20", "models/20/state.safetensors": b"state 20"})
    first.upload(last=True)
    with pytest.raises(Claimed, match="has gone on elsewhere"):
        quiet(there, url).take()
    assert copies.working_copy(url, tmp_path / "tasks", take_over=False) == there
    assert content(there) == content(folder)
    quiet(there, url).upload(last=True)
    assert stored(url).checkpoints == [10, 20]


def beats_while_waited_for(writer, monkeypatch):
    """Lets a writer give a sign of life in each pause of whoever waits for it."""

    def alive(seconds: float) -> None:
        writer._mine._next_beat = 0.0
        writer._mine.beat()

    monkeypatch.setattr(claim.wait_until_free, "__defaults__", (alive,))


def test_a_writer_that_is_alive_is_not_taken_over(folder, url, tmp_path, monkeypatch):
    first = quiet(folder, url)
    first.upload()
    monkeypatch.setattr(Owner, "is_dead", lambda self: False)
    beats_while_waited_for(first, monkeypatch)
    with pytest.raises(StorageError, match="has given a sign of life; stop that run first"):
        copies.working_copy(url, tmp_path / "tasks", take_over=True)


def test_a_killed_run_goes_on_elsewhere_only_if_that_is_said(folder, url, tmp_path, monkeypatch):
    quiet(folder, url).upload()
    monkeypatch.setattr(Owner, "is_dead", lambda self: True)
    with pytest.raises(StorageError, match="was killed; add --take-over"):
        copies.working_copy(url, tmp_path / "tasks", take_over=False)
    there = copies.working_copy(url, tmp_path / "tasks", take_over=True)
    assert content(there) == FILES
    assert fault_below(there) == ""


def test_a_killed_run_goes_on_in_its_own_folder(folder, url):
    quiet(folder, url).upload()
    quiet(folder, url).take()
    assert not stored(url).closed


@pytest.mark.parametrize("space", ["a", "b", ""])
def test_only_where_numbers_mean_the_same_processes_does_a_missing_one_mean_death(space, folder, url, monkeypatch):
    """Containers and machines may share the name of their host; an index of an earlier version tells no space."""
    monkeypatch.setattr(index, "_space", lambda: "a")
    ended = Owner.here()._replace(process="4194305 1 ", space=space)
    assert ended.is_dead() is (space == "a")
    value = Index("run", ended).to_json()
    assert Index.from_json(value).owner == ended
    if not space:
        del value["owner"]["space"]
        assert Index.from_json(value).owner == ended


def test_a_live_process_in_another_space_is_waited_for(folder, url, tmp_path, monkeypatch):
    first = quiet(folder, url)
    first.upload()
    monkeypatch.setattr(index, "_space", lambda: "of another container")
    monkeypatch.setattr(index, "_process", lambda number: "")
    beats_while_waited_for(first, monkeypatch)
    with pytest.raises(StorageError, match="has given a sign of life; stop that run first"):
        copies.working_copy(url, tmp_path / "tasks", take_over=True)


def test_the_answer_to_the_claim_may_be_lost(folder, url, monkeypatch):
    real = Store._put

    def lost(self: Store, key: str, data: bytes, **options: Any) -> None:
        real(self, key, data, **options)
        monkeypatch.setattr(Store, "_put", real)
        raise OSError("connection lost")

    copy = quiet(folder, url)
    monkeypatch.setattr(Store, "_put", lost)
    with pytest.raises(StorageError, match="does not answer"):
        copy.upload()
    copy.upload()
    assert brought(url) == FILES


def test_a_damaged_object_is_not_taken_for_a_file(folder, url):
    quiet(folder, url).upload(last=True)
    part = stored(url).files["models/10/state.safetensors"][0]
    Store(url).put(part.key, b"state 11")
    with pytest.raises(StorageError, match="does not match its checksum"):
        copies.cached(url, copies.everything)


def test_a_reader_of_an_index_that_is_gone_reads_the_next_one(folder, url, monkeypatch):
    copy = quiet(folder, url)
    copy.upload()
    stale, real, reads = Store(url).get(KEY), Store.get, [0]
    (folder / "run.json").write_bytes(b"{ }")
    copy.upload()
    (folder / "run.json").write_bytes(b"{  }")
    copy.upload()

    def get(self: Store, key: str, *most: int) -> bytes:
        reads[0] += key == KEY
        return stale if key == KEY and reads[0] == 1 else real(self, key, *most)

    monkeypatch.setattr(Store, "get", get)
    assert brought(url)["run.json"] == b"{  }"


def test_a_copy_that_was_read_is_brought_up_to_date(folder, url):
    copy = quiet(folder, url)
    copy.upload()
    brought(url)
    written(folder, {"results/train.csv": b"new"})
    (folder / "models/10/manifest.json").unlink()
    (folder / "models/10/state.safetensors").unlink()
    (folder / "models/10").rmdir()
    copy.upload()
    there = copies.cached(url, copies.everything)
    assert content(there) == content(folder)
    assert not (there / "models/10").exists()


def test_a_folder_here_that_is_ahead_is_kept(folder, url, tmp_path):
    tasks = tmp_path / "tasks"
    quiet(folder, url).upload(last=True)
    there = copies.working_copy(url, tasks, take_over=False)
    copy = quiet(there, url)
    copy.upload()
    written(there, {"results/train.csv": b"ahead"})
    assert copies.working_copy(url, tasks, take_over=False) == there
    assert content(there)["results/train.csv"] == b"ahead"


def test_notes_that_are_written_in_a_copy_stay_there(folder, url):
    """As on the page of watch, which is brought up to date again and again."""
    copy = quiet(folder, url)
    copy.upload()
    there = copies.cached(url, copies.results)
    Notes(tags=["keeper"], note="of this machine").write(there)
    written(folder, {"results/train.csv": b"more"})
    copy.upload()
    assert copies.cached(url, copies.results) == there
    assert Notes.read(there).tags == ["keeper"]
    Notes(tags=["theirs"], note="").write(folder)
    copy.upload()
    copies.cached(url, copies.results)
    assert Notes.read(there).tags == ["keeper"]
    Notes().write(there)
    copies.cached(url, copies.results)
    assert Notes.read(there).tags == ["theirs"]
    Notes().write(folder)
    copy.upload()
    copies.cached(url, copies.results)
    assert Notes.read(there) == Notes(), "notes of the writer that are gone"


def test_a_report_that_was_drawn_anew_and_notes_are_no_training(folder, url, tmp_path):
    written(folder, {"report.html": b"report"})
    quiet(folder, url).upload(last=True)
    there = copies.working_copy(url, tmp_path / "tasks", take_over=False)
    written(there, {"results/train.csv": b"further", "report.html": b"further"})
    quiet(there, url).upload(last=True)
    (tmp_path / "here").mkdir()
    here = folder.rename(tmp_path / "here" / "run")
    written(here, {"report.html": b"with a test"})
    Notes(tags=["keeper"], note="").write(here)
    assert copies.working_copy(url, tmp_path / "here", take_over=False) == here
    assert content(here) == {**content(there), "notes.json": (here / "notes.json").read_bytes()}
    quiet(here, url).upload(last=True)
    assert "notes.json" in stored(url).files


def test_two_folders_that_have_gone_on_are_not_mixed(folder, url, tmp_path):
    quiet(folder, url).upload(last=True)
    one = copies.working_copy(url, tmp_path / "one", take_over=False)
    two = copies.working_copy(url, tmp_path / "two", take_over=False)
    written(one, {"results/train.csv": b"one"})
    quiet(one, url).upload(last=True)
    assert copies.working_copy(url, tmp_path / "two", take_over=False) == two
    assert content(two)["results/train.csv"] == b"one"
    written(one, {"results/train.csv": b"one again"})
    quiet(one, url).upload(last=True)
    written(two, {"results/train.csv": b"two"})
    with pytest.raises(StorageError, match="have both gone on"):
        copies.working_copy(url, tmp_path / "two", take_over=False)
    with pytest.raises(StorageError, match="has gone on elsewhere"):
        quiet(two, url).take()


def test_a_run_without_a_checkpoint_may_begin_anew(folder, url, tmp_path, monkeypatch):
    quiet(written(tmp_path / "early", {"run.json": b"early"}), url).upload()
    monkeypatch.setattr(Owner, "is_dead", lambda self: True)
    with pytest.raises(StorageError, match="has no checkpoint yet"):
        copies.working_copy(url, tmp_path / "tasks", take_over=True)
    quiet(folder, url, take_over=True).upload(last=True)
    assert brought(url) == FILES


def test_objects_of_a_killed_session_are_deleted(folder, url):
    quiet(folder, url).upload(last=True)
    Store(url).put("results/train.0123abcd-7.csv", b"left by a kill")
    Store(url).put("notes of mine.txt", b"not ours")
    copy = quiet(folder, url)
    (folder / "run.json").write_bytes(b"{ }")
    copy.upload(last=True)
    keys = Store(url).keys()
    assert "results/train.0123abcd-7.csv" not in keys
    assert "notes of mine.txt" in keys


def test_the_objects_of_the_runs_of_a_group_are_not_its_own(folder, url, tmp_path):
    group = written(tmp_path / "group", {"group.json": b"{}", "seeds.csv": b"seed\n1\n"})
    quiet(written(group / "seed_1", FILES), f"{url}/seed_1").upload(last=True)
    quiet(group, url).upload(last=True)
    (group / "seeds.csv").write_bytes(b"seed\n1\n2\n")
    quiet(group, url).upload(last=True)
    assert brought(f"{url}/seed_1") == FILES
    assert brought(url) == {"group.json": b"{}", "seeds.csv": b"seed\n1\n2\n"}


def test_a_group_that_is_here_gets_what_has_gone_on_elsewhere(folder, url, tmp_path):
    group = written(tmp_path / "group", {"group.json": b"{}", "seeds.csv": b"seed\n1\n"})
    quiet(written(group / "seed_1", FILES), f"{url}/seed_1").upload(last=True)
    quiet(group, url).upload(last=True)
    one, two = (copies.working_copy(url, tmp_path / name, take_over=False) for name in ("one", "two"))
    written(one, {"seed_1/results/train.csv": b"further", "seeds.csv": b"seed\n1\n2\n"})
    for name in ("seed_1", "seed_2"):
        quiet(written(one / name, {} if name == "seed_1" else FILES), f"{url}/{name}").upload(last=True)
    quiet(one, url).upload(last=True)
    assert copies.working_copy(url, tmp_path / "two", take_over=False) == two
    for name in ("", "seed_1", "seed_2"):
        assert content(two / name) == content(one / name)
        quiet(two / name, f"{url}/{name}".rstrip("/")).upload(last=True)
    written(one, {"seed_1/results/train.csv": b"one"})
    quiet(one / "seed_1", f"{url}/seed_1").take()
    written(two, {"seed_1/results/train.csv": b"two"})
    with pytest.raises(StorageError, match="is being written by"):
        copies.working_copy(url, tmp_path / "two", take_over=False)


def test_a_store_that_does_not_answer_costs_a_warning_and_is_made_up_for(folder, url, monkeypatch):
    said: list[tuple[str, bool]] = []
    copy = Mirror(folder, url, False, lambda text, is_warning: said.append((text, is_warning)))
    monkeypatch.setattr(copy, "every", 0.01)
    copy.begin()
    real = Store._put

    monkeypatch.setattr(Store, "_put", down)
    copy.start()
    until = time.monotonic() + 20
    while not any(warning for _, warning in said) and time.monotonic() < until:
        threading.Event().wait(0.01)
    monkeypatch.setattr(Store, "_put", real)
    copy.close()
    assert [warning for _, warning in said] == [False, True, False, False]
    assert "connection lost; the training goes on" in said[1][0]
    assert not copy.is_behind
    assert brought(url) == FILES


def test_the_end_names_what_is_left_and_the_command(folder, url, monkeypatch):
    said: list[str] = []
    copy = Mirror(folder, url, False, lambda text, is_warning: said.append(text))
    copy.begin()
    monkeypatch.setattr(mirror, "PATIENCE", 0.2)

    monkeypatch.setattr(Store, "_put", down)
    copy.start()
    copy.close()
    assert copy.is_behind
    assert "6 files" in said[-1]
    assert "main.py sync" in said[-1]


def test_a_run_that_was_asked_to_stop_waits_less_for_a_store_that_had_not_answered_before(folder, url, monkeypatch):
    said: list[str] = []
    copy = Mirror(folder, url, False, lambda text, is_warning: said.append(text))
    copy.begin()
    monkeypatch.setattr(mirror, "STOPPED_PATIENCE", 0.2)

    monkeypatch.setattr(Store, "_put", down)
    copy.start()
    until = time.monotonic() + 20
    while copy.fault is None and time.monotonic() < until:
        threading.Event().wait(0.01)
    began = time.monotonic()
    copy.close(stopped=True)
    assert time.monotonic() - began < mirror.PATIENCE / 2
    assert copy.is_behind
    assert "main.py sync" in said[-1]


def test_paths_that_lead_out_of_the_folder_are_refused(folder, url):
    quiet(folder, url).upload(last=True)
    for path in ("../evil", "/etc/evil", "a/../../evil", ".lock", "a\\b", "", "a//b", "a/", "a\nb", "\x9b2J", "\ud800"):
        value = stored(url).to_json()
        value["files"][path] = [Part("run.json", 2, "0" * 64)]
        with pytest.raises(ValueError, match="is not the path of a file"):
            Index.from_json(value)


def replaced(url: str, change: Any) -> None:
    """Writes another index: a value, the text of one, or what a function makes of the index that is there."""
    value = change(stored(url).to_json()) if callable(change) else change
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    Store(url).put(KEY, text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n")


def lists(*paths: str) -> Any:
    return lambda value: {**value, "files": {**value["files"], **{path: value["files"]["run.json"] for path in paths}}}


def has_part(*part: Any) -> Any:
    return lambda value: {**value, "files": {**value["files"], "x": [part]}}


HUGE = "9" * 5000
HOSTILE: dict[str, tuple[Any, str]] = {
    "a name of 256 bytes": (lists("é" * 128), "is too long"),
    "a path of 5,000 bytes": (lists("/".join(["a" * 99] * 50)), "is too long"),
    "an object with a long name": (has_part("k" * 256, 1, "0" * 64), "is too long"),
    "a file and a folder": (lists("run.json/x"), "'run.json' is a file and a folder at once"),
    "a folder of each run": (lists("models"), "'models' is a file and a folder at once"),
    "a checkpoint of 5,000 digits": (lists(f"models/{HUGE}/manifest.json"), "is too long"),
    "a beat of 5,000 digits": (HUGE.encode(), "it is no JSON that can be read"),
    "a beat of 4,000 digits": (lambda value: {**value, "beat": int(HUGE[:4000])}, "is not a number from 0"),
    "a beat that is a text": (lambda value: {**value, "beat": HUGE}, "is not a number from 0"),
    "an object of 400 digits": (has_part("k", 10**400, "0" * 64), "is not the size and the checksum"),
    "a checksum that is a list": (has_part("k", 1, ["0"] * 64), "it is not the list of the files of a run"),
    "an owner of 5,000 characters": (lambda value: {**value, "owner": {**value["owner"], "process": HUGE}}, "255 char"),
    "a format with a line break": (lambda value: {**value, "format": "2\n"}, r"format '2\\n'"),
    "nested lists": (b"[" * 10**5, "it is no JSON that can be read"),
    "no files": (lambda value: {**value, "files": None}, "it is not the list of the files of a run"),
    "a list": ([], "it is not the list of the files of a run"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("read", ["cached", "working_copy", "find", "listed"])
def test_what_is_wrong_with_an_index_is_one_line_and_leaves_nothing(read, name, folder, url, tmp_path):
    change, sentence = HOSTILE[name]
    quiet(folder, url).upload(last=True)
    replaced(url, change)
    readers: dict[str, Any] = {
        "cached": lambda: copies.cached(url, copies.model("latest", with_journal=True)),
        "working_copy": lambda: copies.working_copy(url, tmp_path / "tasks", take_over=False),
        "find": lambda: copies.find(url),
        "listed": lambda: copies.listed(url),
    }
    with pytest.raises(StorageError, match=sentence) as fault:
        readers[read]()
    assert str(fault.value).startswith(f"{url}/{KEY} is damaged: ")
    assert "\n" not in str(fault.value)
    assert len(str(fault.value)) < 300
    assert not [*(tmp_path / "cache").rglob("*"), *tmp_path.glob("tasks/*")]


def test_a_list_says_which_runs_are_left_out_and_why(folder, url, tmp_path, capsys):
    for name in ("run", "damaged", "hostile", "seen"):
        quiet(folder, f"memory://bucket/{name}").upload(last=True)
    copies.cached("memory://bucket/seen", copies.facts)
    replaced("memory://bucket/seen", lists("models"))
    replaced("memory://bucket/hostile", lists("a" * 256))
    Store("memory://bucket/damaged").put(stored("memory://bucket/damaged").files["run.json"][0].key, b"[]")
    quiet(written(tmp_path / "bare", {"results/train.csv": b"a"}), "memory://bucket/bare").upload(last=True)
    Store("memory://bucket").put(f"a::b\x9b/{KEY}", b"")
    there = copies.listed("memory://bucket")
    assert sorted(path.name for path in there.iterdir() if content(path)) == ["run", "seen"]
    printed = capsys.readouterr()
    assert not printed.out
    lines = printed.err.splitlines()
    assert [line.partition("bucket/")[2] for line in lines] == [
        r"a::b\x9b' is not a plain URL, such as s3://bucket/prefix, without ::, ? and #",
        "bare has neither config.yaml nor run.json",
        f"damaged/{stored('memory://bucket/damaged').files['run.json'][0].key} does not match its checksum",
        f"hostile/{KEY} is damaged: '{'a' * 79}... is too long: "
        "a path has up to 1024 bytes, and each name in it up to 255",
        f"seen/{KEY} is damaged: 'models' is a file and a folder at once",
    ]
    assert [line.partition(": ")[0] for line in lines] == [*["left out"] * 4, "shown as it was before"]


def test_a_run_that_clashes_with_what_is_here_hides_no_other_one(folder, url, tmp_path, capsys):
    """A group may list a file where one of its runs lies."""
    group = written(tmp_path / "group", {"group.json": b"{}", "a.csv": b"a file"})
    quiet(group, "memory://bucket/group").upload(last=True)
    quiet(folder, "memory://bucket/group/a.csv").upload(last=True)
    quiet(folder, "memory://bucket/group/b").upload(last=True)
    quiet(folder, url).upload(last=True)
    there = copies.listed("memory://bucket")
    assert content(there / "run").keys() == content(there / "group" / "b").keys() == {"config.yaml", "run.json"}
    assert capsys.readouterr().err == "left out: memory://bucket/group/a.csv cannot be brought here: File exists\n"


def test_a_page_of_a_store_says_once_what_is_left_out(folder, url, monkeypatch, capsys):
    from framework.commands import watch

    class Enough(Exception):
        """The page was brought up to date often enough."""

    looks: list[float] = []
    begun: list[Any] = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) > 2:
            raise Enough

    def thread(target: Any, **_: Any) -> Any:
        begun.append(target)
        return SimpleNamespace(start=lambda: None)

    monkeypatch.setattr(watch, "time", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(watch, "threading", SimpleNamespace(Thread=thread))
    quiet(folder, url).upload(last=True)
    replaced(url, [])
    watch._root("memory://bucket", Path("tasks"))
    with pytest.raises(Enough):
        begun[0]()
    assert capsys.readouterr().err.count("left out: memory://bucket/run/joystick.json is damaged") == 1


def test_an_owner_is_shown_in_one_line(folder, url):
    owner = Owner("0" * 8, "a\nb\x1b[2J", f"{'9' * 200} 1", "today", index._space())
    assert str(owner) == f"a\\nb\\x1b[2J, process {'9' * 200}, since today"
    assert owner._replace(host=Owner.here().host).is_dead(), "no process has such a number"


def test_what_cannot_be_brought_as_a_whole_leaves_the_copy_as_it_was(folder, url, tmp_path):
    quiet(folder, url).upload(last=True)
    there, other = copies.cached(url, copies.everything), written(tmp_path / "other", FILES)
    quiet(other, "memory://bucket/other").upload(last=True)
    for path, place in ((folder, url), (other, "memory://bucket/other")):
        written(path, {"config.yaml": b"new", "run.json": b"[]"})
        quiet(path, place).upload(last=True)
        Store(place).put(stored(place).files["run.json"][0].key, b"{}")
        with pytest.raises(StorageError, match="does not match its checksum"):
            copies.cached(place, copies.everything)
    assert content(there) == FILES
    assert sorted(path.name for path in there.iterdir() if path.name.endswith(".tmp")) == []
    assert not copies.place_of("memory://bucket/other").exists()


def test_what_a_killed_command_has_left_of_a_run_is_deleted_by_the_next_one(folder, url, tmp_path):
    written(folder, {"models/10/manifest.json": b""})  # an empty file is an empty object
    quiet(folder, url).upload(last=True)
    there, tasks = copies.cached(url, copies.everything), tmp_path / "tasks"
    for place in (there, tasks):
        for name in (".killed.tmp", ".alive.tmp"):
            written(place / name, {"models/10/state.safetensors": b"half", ".lock": b""})
    with contextlib.closing(held_lock(there / ".alive.tmp")), contextlib.closing(held_lock(tasks / ".alive.tmp")):
        copies.cached(url, copies.everything)
        assert {path.name for path in there.glob(".*.tmp")} == {".alive.tmp"}
        assert content(copies.bring(url, tasks, True, None, False)) == content(folder)
        assert {path.name for path in tasks.iterdir()} == {"run", ".alive.tmp"}


def test_of_an_object_that_is_longer_than_its_index_says_no_more_than_that_is_read(folder, url, monkeypatch):
    quiet(folder, url).upload(last=True)
    Store(url).put(stored(url).files["run.json"][0].key, bytes(2**20))
    longest, read = [0], MemoryFileSystem.cat_file

    def cat_file(self, path: str, **limits: int) -> bytes:
        data = read(self, path, **limits)
        longest[0] = max(longest[0], len(data))
        return data

    monkeypatch.setattr(MemoryFileSystem, "cat_file", cat_file)
    with pytest.raises(StorageError, match="does not match its checksum"):
        copies.cached(url, copies.everything)
    assert longest[0] < 2**14


def test_a_folder_that_has_become_a_file_is_one(folder, url, tmp_path):
    written(folder, {"a/b/c": b"1"})
    quiet(folder, url).upload(last=True)
    brought(url)
    shutil.rmtree(folder / "a")
    written(folder, {"a": b"2"})
    quiet(folder, url).upload(last=True)
    assert brought(url) == {**FILES, "a": b"2"}


def test_an_index_that_is_cut_off_is_refused(folder, url):
    quiet(folder, url).upload(last=True)
    data = Store(url).get(KEY)
    Store(url).put(KEY, data[: len(data) // 2])
    with pytest.raises(StorageError, match="is damaged"):
        copies.cached(url, copies.everything)


@pytest.mark.parametrize(
    ("key", "value"),
    [("written", float("nan")), ("written", 1e300), ("written", -1.0), ("every", float("inf")), ("every", 1e9),
     ("beat", float("inf"))],
)  # fmt: skip
def test_a_number_out_of_range_is_damage_and_hides_no_other_run(key, value, folder, url, capsys):
    quiet(folder, url).upload(last=True)
    text = json.dumps({**stored(url).to_json(), key: value}).encode()
    Store("memory://bucket/bad").put(KEY, text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n")
    with pytest.raises(StorageError, match="is damaged"):
        copies.cached("memory://bucket/bad", copies.facts)
    assert [path.name for path in copies.listed("memory://bucket").iterdir()] == ["run"]
    assert "left out: memory://bucket/bad/joystick.json is damaged" in capsys.readouterr().err


def test_a_store_that_is_opened_again_costs_nothing_for_good():
    Store("memory://bucket/run")
    before = len(logging.getLogger("botocore").handlers)
    Store("memory://bucket/run")
    assert len(logging.getLogger("botocore").handlers) == before


def test_a_file_that_no_index_can_list_is_left_out_and_named_once(folder, url):
    said: list[tuple[str, bool]] = []
    written(folder, {"a\\b.txt": b"backslash", "é" * 120: b"no room for the name of its object"})
    copy = Mirror(folder, url, False, lambda text, is_warning: said.append((text, is_warning)))
    copy.upload()
    copy.upload(last=True)
    assert brought(url) == FILES
    assert sorted(text.partition(" is not copied")[0] for text, _ in said) == [r"'a\\b.txt'", f"'{'é' * 120}'"]
    assert all(is_warning for _, is_warning in said)
    assert not pending(folder, copy.record)


@pytest.mark.parametrize("name", ["run#1", "run?", "a::b"])
def test_a_name_that_a_command_would_not_take_is_refused(name, folder):
    with pytest.raises(StorageError, match="a plain URL") as fault:
        quiet(folder, f"memory://bucket/{name}").begin()
    assert fault.value.lasting


@pytest.mark.parametrize("name", ["models", "results", "logs", "tb_logs", "videos"])
def test_a_run_may_have_the_name_of_a_folder_in_a_run(name, folder, url):
    quiet(folder, f"memory://bucket/{name}").upload(last=True)
    assert [path.name for path in copies.listed("memory://bucket").iterdir()] == [name]
    assert [path.name for path in copies.find("memory://bucket/*")] == [name]


def test_only_what_is_needed_is_brought(folder, url):
    written(folder, {"models/20/manifest.json": b"m", "models/20/state.safetensors": b"s",
                     "models/best/manifest.json": b"m", "models/best/state.safetensors": b"s"})  # fmt: skip
    quiet(folder, url).upload(last=True)
    there = copies.cached(url, copies.facts)
    assert sorted(content(there)) == ["config.yaml", "run.json"]
    copies.cached(url, copies.model("best", with_journal=False))
    assert (there / "models/best/state.safetensors").exists()
    assert not (there / "models/10/state.safetensors").exists()
    assert not (there / "models/journal").exists()
    copies.cached(url, copies.model("latest", with_journal=True))
    assert (there / "models/20/state.safetensors").exists()
    assert (there / "models/journal/00000.log").exists()


def test_best_is_the_same_objects_as_its_checkpoint(folder, url):
    same = {name.replace("/10/", "/best/"): data for name, data in FILES.items() if "/10/" in name}
    written(folder, same)
    quiet(folder, url).upload()
    files = stored(url).files
    assert files["models/best/state.safetensors"] == files["models/10/state.safetensors"]


def test_where_a_folder_is_copied_to(tmp_path):
    assert url_of(tmp_path / "NAME", "s3://b/p", explicit=True) == "s3://b/p/NAME"
    assert url_of(tmp_path / "NAME", None, explicit=False) is None
    group = written(tmp_path / "group", {"group.json": b"{}"})
    assert url_of(group / "seed_1", "s3://b/p", explicit=False) is None
    set_destination(group, "s3://b/p/group")
    assert url_of(group / "seed_1", "s3://b/p", explicit=False) == "s3://b/p/group/seed_1"
    run = written(tmp_path / "run", FILES)
    set_destination(run, "s3://b/other/RUN")
    assert url_of(run, "s3://b/p", explicit=False) == "s3://b/other/RUN"
    assert url_of(run, "s3://b/p", explicit=True) == "s3://b/p/run"
    assert url_of(run, None, explicit=True) is None


def test_a_folder_of_a_stranger_is_copied_nowhere_until_the_user_says_so(folder, url, tmp_path):
    """Its files may name a store of the stranger: the settings, the record, and where it was copied to."""
    quiet(folder, url).upload()
    set_destination(folder, url)
    unpacked = Path(shutil.copytree(folder, tmp_path / "tasks" / "run"))
    said: list[str] = []
    say = lambda text, is_warning: said.append(text)  # noqa: E731
    assert mirror.mirror_of(unpacked, "memory://bucket", False, False, say) is None
    assert "general_cfg.storage=memory://bucket copies it there" in said[0]
    wanted = mirror.mirror_of(unpacked, "memory://bucket", True, False, say)
    assert wanted.url == url
    wanted.begin()
    moved = unpacked.rename(tmp_path / "tasks" / "moved")
    assert url_of(moved, "memory://bucket", False) == url, "the user's own folder under another name"


def test_a_record_says_what_is_pending(folder, url):
    copy = quiet(folder, url)
    copy.upload()
    assert not pending(folder, Record.read(folder))
    written(folder, {"results/train.csv": b"more"})
    (folder / "run.json").unlink()
    assert set(pending(folder, Record.read(folder))) == {"results/train.csv", "run.json"}


def test_a_mounted_folder_is_a_store(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("JOYSTICK_CACHE", str(tmp_path / "cache"))
    url = f"file://{tmp_path}/bucket/run"
    quiet(folder, url).upload(last=True)
    assert brought(url) == FILES
    assert copies.find(f"file://{tmp_path}/bucket/r*") == [copies.place_of(url)]


def test_faults_are_sentences(tmp_path):
    store = Store("memory://bucket/run")
    for error, sentence, lasting in (
        (FileNotFoundError("The specified bucket does not exist"), "there is no such bucket", True),
        (PermissionError("Access Denied"), "no permission", True),
        (OSError(28, "No space left on device"), "is full", False),
        (OSError(5, "SlowDown"), "does not answer", False),
        (ImportError("no s3fs", name="s3fs"), "needs the package", True),
        (ValueError("Protocol not known: x"), "no store is called", True),
        (TypeError("FileSystem() missing 1 argument"), "cannot be a store: FileSystem() missing 1 argument", True),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "cut off"), "does not answer", False),
    ):
        fault = store.error(error, None)
        assert sentence in str(fault)
        assert "\n" not in str(fault)
        assert fault.lasting is lasting
    assert isinstance(store.error(FileNotFoundError("x"), "key"), MissingObject)


def test_a_reader_asks_no_more_once_a_minute_is_over(monkeypatch):
    clock = iter(range(0, 1000, 25))
    monkeypatch.setattr("framework.storage.store.time.monotonic", lambda: next(clock))
    asked: list[int] = []

    def fails() -> None:
        asked.append(1)
        raise StorageError("does not answer")

    with pytest.raises(StorageError):
        patiently(fails, 6, lambda seconds: None)
    assert len(asked) == 3, "at 25, 50 and 75 seconds"


def test_the_index_is_json_that_a_person_can_read(folder, url):
    quiet(folder, url).upload(last=True)
    text = Store(url).get(KEY).splitlines()[0]
    assert json.loads(text)["files"]["results/train.csv"][0][0].startswith("results/train.")


def test_a_copy_that_was_deleted_meanwhile_is_told_with_the_command_that_makes_it_again(folder, url):
    said: list[str] = []
    copy = Mirror(folder, url, False, lambda text, is_warning: said.append(text))
    copy.upload()
    fsspec.filesystem("memory").store.clear()
    copy.start()
    copy.close()
    assert copy.lost
    assert copy.is_behind
    assert f"{url} lacks 6 files" in said[-1]
    assert said[-1].endswith(f"sync {folder}")
    again = quiet(folder, url)
    again.upload(last=True)
    assert brought(url) == FILES
