"""A task directory from a stranger: nothing in it leads out of it, hangs a command, or takes the memory."""

import contextlib
import hashlib
import json
import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import pytest

from config.read.loader import load
from config.read.opening import read_regular
from framework.catalog import ALGOS, ENVS
from framework.dataset.trajectories import PickleFile, TrajectoryWriter
from framework.disk import checkpoints as store
from framework.disk.atomic import write_whole
from framework.disk.checkpoints import CheckpointStore
from framework.disk.task_dir import TaskDir, read_facts
from framework.errors import CheckpointError, TaskDirError
from main import main
from tests.tools.io_faults import ALGORITHMS, COMMON, LIMITS


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    run = tmp_path_factory.mktemp("trained") / "run"
    assert main(["--into", str(run), *COMMON, *ALGORITHMS["QLearning"], LIMITS[0]]) == 0
    return run


@pytest.fixture
def run(trained, tmp_path, monkeypatch):
    """A copy of a finished run with checkpoints 60 and 80, which may be spoilt."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def impatient():
    """Ends a test that hangs."""
    previous = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it hangs"))
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


def resume(run, *words):
    return main(["--resume", str(run), LIMITS[1], *words])


def load_and(run, *words):
    return main([f"general_cfg.load_path={run}", "general_cfg.load_checkpoint=true", *words])


TEST = ("general_cfg.mode=test",)
BRANCH = ("general_cfg.load_model_step=60", LIMITS[1])
WAYS = {
    "resume": resume,
    "test": lambda run: load_and(run, *TEST),
    "branch": lambda run: load_and(run, *BRANCH),
}


# ---------------------------------------------------------------------------------------------------------- links


@pytest.mark.parametrize(
    "name",
    [
        "results/train.csv", "results/eval.csv", "results/trajs.pkl", "logs/log.txt", "run.json", "report.html",
        "tb_logs/interact/events.out.tfevents.0000000001.joystick", "models/80/state.safetensors", "results", "logs",
        "tb_logs/interact", "models/80", "models/journal", ".lock",
    ],
)  # fmt: skip
def test_nothing_is_written_through_a_link(run, name, capsys):
    """A link to a file, and one in place of a folder, both to something of the user's own."""
    path, canary = run / name, run.parent / "canary"
    if path.suffix or name == ".lock":
        canary.write_text("a token without an end of line")
    else:
        canary.mkdir()
    with contextlib.suppress(OSError):
        path.unlink()
    shutil.rmtree(path, ignore_errors=True)
    path.symlink_to(canary)
    assert resume(run) == 2
    assert "is a link" in capsys.readouterr().err
    assert canary.is_dir() or canary.read_text() == "a token without an end of line"
    assert canary.is_file() or not list(canary.iterdir())


def test_every_writer_refuses_a_link_by_itself(tmp_path):
    """Also where nobody has looked at the folder before."""
    from config.config import GeneralConfig
    from framework.disk.csv_log import CsvLog
    from framework.record.console import Console
    from framework.record.tensorboard import EventFile

    canary = tmp_path / "canary"
    canary.write_text("token")
    writers = {
        "a.csv": lambda path: CsvLog(path, ["x"]),
        "trajs.pkl": lambda path: TrajectoryWriter(path.parent).state(),
        "events.out.tfevents.0000000001.joystick": lambda path: EventFile(path.parent),
        "log.txt": lambda path: Console(path, GeneralConfig()),
        "whole.tmp": lambda path: write_whole(path.with_suffix(""), b"new"),
    }
    for name, write in writers.items():
        path = tmp_path / name.replace(".", "_") / name
        path.parent.mkdir()
        path.symlink_to(canary)
        with contextlib.suppress(OSError):
            write(path)
        assert canary.read_text() == "token", name


def test_a_directory_does_not_say_to_which_cluster_a_resume_connects(run):
    config = run / "config.yaml"
    text = config.read_text().replace("ray_address: null", "ray_address: 192.0.2.1:6379")
    config.write_text(text.replace("mp_backend: single", "mp_backend: ray"))
    assert "192.0.2.1" in config.read_text()

    def loaded(*words):
        return load(None, words, find_algo=ALGOS, find_env=ENVS, resume=str(run))

    assert loaded().general.mp_backend == "ray"
    assert loaded().general.ray_address is None
    assert "add general_cfg.ray_address=192.0.2.1:6379" in loaded().notes[0]
    given = loaded("general_cfg.ray_address=192.0.2.2:6379")
    assert (given.general.ray_address, given.notes) == ("192.0.2.2:6379", ())


# ---------------------------------------------------------------------------------------- names in a checkpoint


def reseal(run, change):
    """Changes the state of the newest checkpoint, with a right checksum."""
    path = run / "models" / "80" / "manifest.json"
    body = json.loads(path.read_bytes().splitlines()[0])
    change(body["tree"]["$dict"])
    text = json.dumps(body).encode()
    path.write_bytes(text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n")


def test_a_tensorboard_group_is_not_a_path(run):
    victim = run.parent / "victim"
    victim.mkdir()
    curves = victim / "events.out.tfevents.0000000003.joystick"
    curves.write_text("curves of another run")

    def change(tree):
        places = tree["observers"]["$dict"]["RunLog"]["$dict"]["loggers"]["$dict"]
        places["tensorboard"] = {"$dict": {str(victim): [0, 0], "../../made": [0, 0]}}

    reseal(run, change)
    assert resume(run) == 0
    assert curves.read_text() == "curves of another run"
    assert not (run.parent / "made").exists()


@pytest.mark.parametrize("name", ["../../victim", "../60", 1.5, True])
def test_the_best_update_is_not_a_path(run, name, capsys):
    shutil.copytree(run / "models" / "60", run.parent / "victim")
    before = sorted(path.name for path in run.parent.iterdir())
    reseal(run, lambda tree: tree.update(best_update=name))
    assert resume(run) == 2
    assert "best_update" in capsys.readouterr().err
    assert sorted(path.name for path in run.parent.iterdir()) == before


@pytest.mark.parametrize(
    "place", ["elapsed", "reached", "saved", "best", "last_return", "count.step", "iteration.number"]
)
@pytest.mark.parametrize("value", ["text", True, [1]])
def test_a_number_of_another_kind_is_refused_in_a_sentence(run, place, value, capsys):
    def change(tree):
        *above, name = place.split(".")
        for part in above:
            tree = tree[part]["$dict"]
        tree[name] = value

    reseal(run, change)
    assert resume(run) == 2
    assert f"models/80 does not fit this run: {place.rpartition('.')[2]} is " in capsys.readouterr().err


# ------------------------------------------------------------------------------------------- pipes and devices


@pytest.mark.parametrize("name", ["models/80/state.safetensors", "models/80/manifest.json", "run.json"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["pipe", "zeros"])
def test_a_pipe_or_a_device_neither_hangs_a_command_nor_takes_the_memory(run, name, way, kind, impatient, capsys):
    (run / name).unlink()
    if kind == "pipe":
        os.mkfifo(run / name)
    else:
        (run / name).symlink_to("/dev/zero")
    assert WAYS[way](run) == 2
    assert f"{name} is a {'link' if kind == 'zeros' else 'pipe or a device'}" in capsys.readouterr().err


def test_a_read_is_bounded_and_takes_regular_files_only(tmp_path, impatient):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 2**40)  # a sparse file, as an archive may hold it
    for name, problem in (("pipe", "not a regular"), ("zeros", "is a link"), ("large", "larger than 16 MiB")):
        with pytest.raises(OSError, match=problem):
            read_regular(tmp_path / name, 2**24)
    with pytest.raises(OSError, match="not a regular"):
        read_regular(Path("/dev/zero"), 2**24)


@pytest.mark.parametrize("name", ["state.safetensors", "manifest.json"])
def test_a_checkpoint_of_a_size_beyond_the_memory_is_damage(run, name):
    os.truncate(run / "models" / "80" / name, 2**43)
    with pytest.raises(CheckpointError, match="is larger than"):
        CheckpointStore(run / "models").read(80)


def test_a_size_that_memory_cannot_hold_is_damage_and_no_traceback(run, monkeypatch):
    monkeypatch.setattr(store, "load_arrays", lambda data: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(CheckpointError, match="is damaged: MemoryError"):
        CheckpointStore(run / "models").read(80)


def test_a_run_json_that_is_nested_too_deep_is_an_empty_one(run):
    (run / "run.json").write_text("[" * 200_000 + "]" * 200_000)
    assert read_facts(TaskDir(run).run) == {}
    assert resume(run) == 0
    assert read_facts(TaskDir(run).run)["finished"] is True


def test_a_file_with_other_columns_is_refused_in_a_line(run, capsys):
    """RES-6: as a directory of an older version has it. The file is not touched."""
    text = "episode,reward\n1,2.0\n"
    (run / "results" / "train.csv").write_text(text)
    assert resume(run) == 2
    said = capsys.readouterr().err
    assert "has other columns than this run (it has reward, and it has no step, update, return, " in said
    assert "); resume with the settings that it had, move the file away, or begin a branch or a new run (" in said
    assert (run / "results" / "train.csv").read_text() == text


# ------------------------------------------------------------------------------------- what crashes and damage leave


def end_of(run):
    results = run / "results"
    return [(results / name).read_bytes() for name in ("train.csv", "eval.csv", "trajs.pkl")]


def test_a_kill_between_the_cut_and_the_stop_byte_of_trajectories_costs_nothing(run, tmp_path):
    straight = shutil.copytree(run, tmp_path / "straight")
    state = CheckpointStore(run / "models").read(80).tree["observers"]["RunLog"]["records"]["trajectories"]
    os.truncate(run / "results" / "trajs.pkl", state["offset"])
    assert (resume(run), resume(straight)) == (0, 0)
    assert end_of(run) == end_of(straight)


@pytest.mark.parametrize("name", ["train.csv", "eval.csv", "trajs.pkl"])
def test_a_changed_byte_in_what_was_logged_is_said_and_recorded_and_stops_nothing(run, name, capsys):
    path = run / "results" / name
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    path.write_bytes(data)
    assert resume(run) == 0
    assert f"{name} was altered or damaged" in capsys.readouterr().out
    assert read_facts(TaskDir(run).run)["altered_files"] == [f"results/{name}"]
    assert "was altered or damaged" in (run / "report.html").read_text()
    assert path.read_bytes()[: len(data) - 45] == bytes(data)[:-45]


def test_what_is_whole_is_not_said_to_be_altered(run, capsys):
    assert (resume(run), main(["--resume", str(run), "general_cfg.max_total_step=160"])) == (0, 0)
    assert "altered" not in capsys.readouterr().out
    assert "altered_files" not in read_facts(TaskDir(run).run)


def everything_in(folder):
    return {path.relative_to(folder): path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize("way", ["test", "branch"])
@pytest.mark.parametrize("name", ["best", "60"])
def test_a_checkpoint_that_a_crash_left_aside_is_found_and_nothing_is_renamed(run, way, name):
    """Between the two renames of a replacement; the run that owns the directory may still be at work."""
    (run / "models" / name).rename(run / "models" / f".{name}.old")
    before = everything_in(run)
    assert load_and(run, f"general_cfg.load_model_step={name}", *(TEST if way == "test" else (LIMITS[1],))) == 0
    assert everything_in(run) == before
    assert CheckpointStore(run / "models").numbers() == [60, 80]
    assert CheckpointStore(run / "models").has_best()


def sleep_until_told(pipe):
    pipe.recv()


def test_a_forked_process_does_not_keep_the_lock(tmp_path):
    """Processes of an environment may outlive a run that hangs and ends itself."""
    task = TaskDir(tmp_path)
    task.open()
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=sleep_until_told, args=(theirs,))
    child.start()
    with pytest.raises(TaskDirError, match="being written by another run"):
        TaskDir(tmp_path).open()
    task.close()
    again = TaskDir(tmp_path)
    again.open()
    assert child.is_alive()
    again.close()
    ours.send(None)
    child.join()


def test_a_disk_that_is_full_of_trajectories_stops_no_training(run, tmp_path, monkeypatch, capsys):
    """CKP-2: the end names the file and the command, and the resume comes to the end of a run with room."""
    straight = shutil.copytree(run, tmp_path / "straight")
    assert resume(straight) == 0
    write = PickleFile._write

    def full(self, record):
        if record:
            raise OSError(28, "No space left on device", str(self.path))
        write(self, record)

    monkeypatch.setattr(PickleFile, "_write", full)
    capsys.readouterr()
    assert resume(run) == 2
    said = capsys.readouterr()
    assert "trajs.pkl: No space left on device; trajectories wait in memory" in said.out
    assert "trajs.pkl: No space left on device" in said.err
    assert f"main.py resume {run}" in said.out
    assert (run / "results" / "train.csv").read_bytes() == (straight / "results" / "train.csv").read_bytes()
    monkeypatch.undo()
    assert resume(run) == 0
    assert end_of(run) == end_of(straight)


def test_a_file_is_replaced_whole_and_an_error_names_it(tmp_path, monkeypatch):
    path = tmp_path / "run.json"
    write_whole(path, b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*run\.json\.tmp'"):
        write_whole(path, b"new")
    monkeypatch.undo()
    assert (path.read_bytes(), [one.name for one in tmp_path.iterdir()]) == (b"old", ["run.json"])


@pytest.mark.parametrize("facts", ["group.json", "tune.json"])
@pytest.mark.parametrize("link", ["seed_1", "trials"])
def test_a_link_in_a_group_leads_to_no_run_of_the_users_own(run, facts, link, capsys):
    group, outside = run.parent / "group", run.parent / "mine"
    group.mkdir()
    outside.mkdir()
    (group / facts).write_text("{}")
    member = group / link / ("" if link == "seed_1" else "000")
    shutil.move(run, outside / member.name)
    (group / link).symlink_to(outside if link == "trials" else outside / member.name)
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    for command in ("resume", "test", "evaluate"):
        assert main([command, str(member), *([LIMITS[1]] if command == "resume" else [])]) == 2
        assert f"leads through {group / link}, a link in a group of runs; give the full" in capsys.readouterr().err
    assert before == {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
