"""Runs that are copied to a store, and what commands make of a URL, with the stores of fsspec that need no package."""

import errno
import fcntl
import json
import threading
import time
from pathlib import Path
from typing import Any

import fsspec
import pytest

import joystick
from config.read import stores
from config.read.loader import ConfigError
from framework.commands.work import keep_alive
from framework.storage import claim, copies, mirror
from framework.storage.errors import StorageError
from framework.storage.store import Store
from main import main
from tests.tools.process import fork_runs, forked_program

ROOT = Path(__file__).resolve().parents[3]
SETTINGS = {
    "general_cfg": {"max_total_step": 120, "model_save_fre": 20, "save_fig": False, "online_eval": True,
                    "online_eval_episode": 2, "collect_traj": True},
    "algo_cfg": {"buffer_size": 40, "batch_size": 4, "learning_starts": 8},
}  # fmt: skip
COMPARED = ("results/train.csv", "results/eval.csv", "results/trajs.pkl")


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with an empty folder and an empty cache, and an empty store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JOYSTICK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(mirror.SECONDS_VARIABLE, "0.1")
    monkeypatch.setattr(claim, "LOOK_SECONDS", 0.1)
    memory: Any = fsspec.filesystem("memory")
    memory.store.clear()
    claim._silent.clear()


def run(into: str, **settings: Any) -> joystick.Run:
    general = {**SETTINGS["general_cfg"], **settings}
    env = {"env_name": "toy", "env_cfg": {"id": "match"}}
    return joystick.Run("DQN", seed=3, into=into, general_cfg=general, algo_cfg=SETTINGS["algo_cfg"], **env)


def files(folder: Path) -> dict[str, bytes]:
    weights = [path.relative_to(folder).as_posix() for path in sorted((folder / "models").glob("*/*.safetensors"))]
    return {name: (folder / name).read_bytes() for name in (*COMPARED, *weights)}


def finished(a_run: joystick.Run) -> Path:
    with a_run:
        while not a_run.train(40)["done"]:
            pass
    return a_run.task


def test_a_killed_run_goes_on_from_the_store_to_the_same_bytes(tmp_path, monkeypatch):
    straight = files(finished(run("tasks/straight")))
    killed = run("memory://bucket/p/NAME")
    killed.train(80)
    copy = killed._experiment.mirror
    assert copy is not None
    until = time.monotonic() + 60
    while not copy.record or not copy.record.index.checkpoints:
        assert time.monotonic() < until
        time.sleep(0.01)
    asleep = threading.Event()
    copy.upload = lambda last=False: asleep.set()  # as far as the store can tell
    assert asleep.wait(60)  # the pass before this one is over
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    with pytest.raises(ConfigError, match="is being written by"):
        joystick.Run.resume("memory://bucket/p/NAME")
    resumed = joystick.Run.resume("memory://bucket/p/NAME", take_over=True)
    assert resumed.task == tmp_path / "other/tasks/NAME"
    assert files(finished(resumed)) == straight
    del copy.upload
    killed.close()
    assert copy.lost, "the first writer was not told"
    assert files(copies.cached("memory://bucket/p/NAME", copies.everything)) == straight


def test_with_keep_alive_another_machine_goes_on_from_the_store(tmp_path, monkeypatch, capsys):
    """The machine of the first process, with its folder, is lost; the same words are given to another one."""
    began: list[list[str]] = []

    class Supervisor:
        def __init__(self, words: list[str], again: object) -> None:
            began.append([*words])

        def run(self) -> int:
            return 0

    monkeypatch.setattr(keep_alive.supervisor, "Supervisor", Supervisor)
    url = f"file://{tmp_path}/bucket/p/NAME"
    general = {**SETTINGS["general_cfg"], "algo_name": "DQN", "env_name": "toy", "seed": 3}
    settings = [f"general_cfg.{key}={json.dumps(value)}" for key, value in general.items()]
    settings += [f"algo_cfg.{key}={value}" for key, value in SETTINGS["algo_cfg"].items()]
    words = [*settings, "env_cfg.id=match", "general_cfg.preset=null", "--into", url]
    assert main([*words, "--keep-alive"]) == 0
    assert began.pop() == [*words, "--take-over"], "there is nothing to go on with"
    with run(url) as first:
        first.train(80)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert main([*words, "--keep-alive"]) == 0
    assert began.pop() == ["resume", url, "--take-over"]
    with joystick.Run.resume(url) as rest:
        finished(rest)
    monkeypatch.chdir(tmp_path)
    assert main([*words, "--keep-alive"]) == 0
    assert not began
    assert "has finished: nothing is left to train" in capsys.readouterr().out


def test_a_url_is_a_run_for_every_command(tmp_path, monkeypatch, capsys):
    finished(run(f"file://{tmp_path}/bucket/p/NAME"))
    url = f"file://{tmp_path}/bucket/p"
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert main(["runs", url, "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["name"], listed["algorithm"], listed["state"]) == ("NAME", "DQN", "finished")
    assert listed["size"] > 10_000, "the size of what was brought, not of the run"
    assert main(["evaluate", f"{url}/NAME", "--episodes", "2"]) == 0
    assert f"{url}/NAME/models/best" in capsys.readouterr().out
    assert main(["export", f"{url}/NAME", "--to", "safetensors", "--out", "x.safetensors"]) == 0
    policy = joystick.load(f"{url}/NAME")
    assert policy.algorithm == "DQN" if hasattr(policy, "algorithm") else policy is not None
    capsys.readouterr()
    assert main(["evaluate", f"{url}/NAMES"]) == 2
    assert "there is no run" in capsys.readouterr().err


def test_a_comparison_says_which_runs_of_a_store_it_lacks(tmp_path, capsys):
    finished(run(f"file://{tmp_path}/bucket/p/NAME", max_total_step=40))
    for name in ("group/seed_1", "group/seed_2"):
        mirror.Mirror(tmp_path / "tasks/NAME", f"file://{tmp_path}/bucket/p/{name}").upload(last=True)
    group = tmp_path / "group"
    group.mkdir()
    (group / "group.json").write_text("{}")
    mirror.Mirror(group, f"file://{tmp_path}/bucket/p/group").upload(last=True)
    (tmp_path / "bucket/p/group/seed_2/joystick.json").write_text("cut off")
    capsys.readouterr()
    assert main(["compare", f"file://{tmp_path}/bucket/p/group", "NAME"]) == 0
    assert capsys.readouterr().err == (
        f"left out: file://{tmp_path}/bucket/p/group/seed_2/joystick.json is damaged: "
        "it does not match its own checksum\n"
    )
    (tmp_path / "bare").mkdir()
    mirror.Mirror(tmp_path / "bare", f"file://{tmp_path}/bucket/p/bare").upload(last=True)
    assert main(["compare", f"file://{tmp_path}/bucket/p/bare", "NAME"]) == 2
    assert "bucket/p/bare' is neither a run nor a group of runs" in capsys.readouterr().err
    assert main(["runs", f"file://{tmp_path}/bucket/p", "--json"]) == 0
    printed = capsys.readouterr()
    assert sorted(listed["name"] for listed in json.loads(printed.out)) == ["NAME", "group/seed_1"]
    assert [line.partition("bucket/p/")[2].partition(" ")[0] for line in printed.err.splitlines()] == [
        "bare", "group/seed_2/joystick.json"
    ]  # fmt: skip


def test_sync_copies_a_run_that_is_here(tmp_path, capsys):
    finished(run("tasks/here"))
    assert main(["sync", "here"]) == 2
    assert "is copied nowhere" in capsys.readouterr().err
    assert main(["sync", "here", "memory://bucket/q/THERE"]) == 0
    assert "copied to memory://bucket/q/THERE" in capsys.readouterr().out
    there = copies.cached("memory://bucket/q/THERE", copies.everything)
    assert files(there) == files(tmp_path / "tasks/here")
    assert main(["sync", "here"]) == 0


def test_sync_copies_from_and_to_file_systems_without_locks(tmp_path, monkeypatch, capsys):
    """Such as Lustre without `flock`: another run was said to write there."""

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    finished(run("tasks/here", max_total_step=40))
    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert main(["sync", "here", f"file://{tmp_path}/store/here"]) == 0
    assert "copied to file://" in capsys.readouterr().out


@pytest.mark.parametrize("copied_before", [False, True])
def test_a_copy_that_is_refused_does_not_change_where_a_run_is_copied_to(copied_before, capsys):
    finished(run("tasks/other", max_total_step=40))
    finished(run("tasks/first", max_total_step=40))
    assert main(["sync", "other", "memory://bucket/q/other"]) == 0
    if copied_before:
        assert main(["sync", "first", "memory://bucket/q/first"]) == 0
    assert main(["sync", "first", "memory://bucket/q/other"]) == 2
    assert main(["resume", "first", "general_cfg.storage=memory://bucket/q", "general_cfg.max_total_step=60"]) == 0
    capsys.readouterr()
    assert main(["sync", "first"]) == 0
    assert "copied to memory://bucket/q/first" in capsys.readouterr().out


def test_a_run_that_began_without_an_answer_of_the_store_is_copied_there_later(tmp_path, monkeypatch, capsys):
    def lost(self: Store, key: str, data: bytes, **options: Any) -> None:
        raise OSError("connection lost")

    monkeypatch.setattr(mirror, "PATIENCE", 0.2)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "_put", lost)
        a_run = run("memory://bucket/p/NAME", max_total_step=40)
        copy = a_run._experiment.mirror
        finished(a_run)
        assert copy is not None
        assert copy._thread is not None
        copy._thread.join()  # a process of its own would have ended
    assert main(["sync", "NAME"]) == 0
    assert "copied to memory://bucket/p/NAME" in capsys.readouterr().out


def test_a_group_whose_own_files_are_left_ends_as_a_run_does(tmp_path, monkeypatch, capsys):
    real = Store.replace

    def lost(self: Store, key: str, data: bytes, before: Any) -> None:
        if self.url.endswith("/GROUP"):
            raise StorageError("connection lost")
        real(self, key, data, before)

    fork_runs(monkeypatch)
    monkeypatch.setattr(mirror, "PATIENCE", 0.5)
    monkeypatch.setattr(Store, "replace", lost)
    words = ["general_cfg.algo_name=QLearning", "general_cfg.env_name=toy", "env_cfg.id=walk",
             "general_cfg.preset=null", "general_cfg.max_total_step=40", "general_cfg.save_fig=false",
             "--seeds", "1,2"]  # fmt: skip
    assert main([*words, "--into", f"file://{tmp_path}/bucket/GROUP"]) == 2
    assert "lacks" in capsys.readouterr().out


def test_a_run_that_cannot_be_copied_begins_nothing(tmp_path):
    finished(run("memory://bucket/p/NAME", max_total_step=40))
    (tmp_path / "tasks/NAME").rename(tmp_path / "aside")
    with pytest.raises(joystick.JoystickError, match="exists already"):
        run("memory://bucket/p/NAME")
    assert not (tmp_path / "tasks/NAME").exists()


def test_a_run_whose_name_no_url_has_begins_nothing(tmp_path):
    with pytest.raises(joystick.JoystickError, match="a plain URL"):
        run("tasks/run#1", storage="memory://bucket/q")
    assert not (tmp_path / "tasks/run#1").exists()


def test_without_a_store_nothing_of_it_is_imported():
    program = """
import sys
import framework.commands.work.train, framework.commands.work.compare, framework.commands.runs, framework.jobs.many_runs
names = ("framework.storage.mirror", "framework.storage.copies", "framework.storage.store", "s3fs", "aiobotocore")
assert not set(names) & set(sys.modules)
"""
    done = forked_program(program, "framework", "fsspec", "s3fs", "aiobotocore")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("s3:/bucket/x", "a URL of a folder"),
        ("s3://", "a URL of a folder"),
        ("https://bucket.s3.amazonaws.com/x", "a web address cannot be written to"),
        ("hf://user/repo", "hf:// is Hugging Face, for push and pull"),
        ("ms://user/repo", "ms:// is ModelScope, for push and pull"),
        ("s3://key:secret@bucket/x", "without a name and a password"),
        ("s3://bucket/../x", "without empty folders"),
        ("s3://bucket//x", "without empty folders"),
        ("simplecache::s3://bucket/x", "a URL of a folder"),
        ("s3://bucket/x?version=1", "a plain URL"),
    ],
)
def test_what_is_no_url_of_a_store_is_said(text, what):
    assert stores.is_url(text) or "::" in text
    with pytest.raises(ValueError, match=what):
        stores.url(text)


def test_the_name_of_a_run_is_the_end_of_its_url():
    assert stores.of_run("s3://bucket/p/NAME/") == ("s3://bucket/p", "NAME")
    assert stores.of_run("file:///mnt/p/NAME") == ("file:///mnt/p", "NAME")
    with pytest.raises(ValueError, match="ends in the name of the run"):
        stores.of_run("s3://bucket")
    assert not stores.is_url("C:/runs/x")
    assert not stores.is_url("tasks/x")


@pytest.mark.parametrize(
    ("name", "instead"),
    [("models/5", "models/5/NAME"), ("models/best", "models/best/NAME"), ("models/latest/", "models/latest/NAME"),
     ("run[1]", "run-1"), ("Train_*", "Train_"), (".run", "run"), ("..[", None)],
)  # fmt: skip
def test_a_destination_that_later_commands_read_as_something_else_is_refused(name, instead, tmp_path, capsys):
    """A setting and the name of a folder here may make such a URL, too."""
    url, words = f"file://{tmp_path}/bucket/{name}", ["--algo", "QLearning", "--env", "FrozenLake-v1"]
    assert main([*words, "--into", url]) == 2
    said = capsys.readouterr().err
    assert f"--into {url!r} is not the URL of a run" in said
    assert f"; write file://{tmp_path}/bucket/{instead or 'NAME'}\n" in said
    parent, _, last = url.rstrip("/").rpartition("/")
    with pytest.raises(joystick.JoystickError, match="is not the URL of a run"):
        run(f"tasks/{last}", storage=parent)
    assert not [*tmp_path.glob("bucket"), *tmp_path.glob("tasks/*")]


def test_an_experiment_whose_copy_would_be_read_as_a_model_is_refused_before_its_group_begins(tmp_path, capsys):
    experiment = "{run: QLearning, env: FrozenLake-v1, stop: {timesteps_total: 200}}"
    Path("two.yaml").write_text(f"best: {experiment}\nother: {experiment}\n", encoding="utf-8")
    assert main(["--yaml", "two.yaml", "--into", f"file://{tmp_path}/bucket/models"]) == 2
    assert f"best: 'file://{tmp_path}/bucket/models/best' is not the URL of a run" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"two.yaml"}


def test_a_model_whose_number_no_program_reads_is_no_model(capsys):
    assert main(["test", f"NAME/models/{'9' * 5000}"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_run_that_is_copied_to_such_a_place_goes_on_there(tmp_path, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr(stores, "destination", stores.of_run)
        first = run(f"file://{tmp_path}/bucket/models/5")
        first.train(40)
        first.close()
    rest = joystick.Run.resume(first.task)
    finished(rest)
    assert not rest._experiment.mirror.is_behind


def test_a_pull_is_written_to_a_folder_of_this_machine(tmp_path, capsys):
    assert main(["pull", "hf://me/lake", "--into", "s3://bucket/lake"]) == 2
    assert "--into s3://bucket/lake: pull writes to a folder of this machine" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_into_a_url_is_the_setting_and_a_folder_here(tmp_path):
    from config.read.loader import load
    from framework.catalog import ALGOS, ENVS

    options = {"find_algo": ALGOS, "find_env": ENVS}
    config = load(None, [], into="s3://bucket/p/NAME", **options)
    assert config.into == tmp_path / "tasks/NAME"
    assert config.general.storage == "s3://bucket/p"
    with pytest.raises(ConfigError, match="name two places"):
        load(None, ["general_cfg.storage=s3://other"], into="s3://bucket/p/NAME", **options)
    with pytest.raises(ConfigError, match=r"general_cfg\.storage.*a URL of a folder in a store"):
        load(None, ["general_cfg.storage=bucket"], **options)
