"""What training does not depend on may be lost without stopping a resume, and is said to be; what it needs stops it."""

import csv
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from framework.disk.csv_log import CsvLog, JsonLog
from framework.disk.journal import Journal, Position
from framework.disk.task_dir import TaskDir, read_facts
from framework.record.tensorboard import EventFile
from framework.storage.store import Store
from main import main
from tests.tools.disk import Calls, Disk, read_record
from tests.tools.io_faults import ALGORITHMS, BASE, EVALUATION, LIMITS, OUTPUTS, played
from tests.tools.process import forked
from tests.tools.tuning import forking, run, written

assert forking
WORDS = (*BASE, *ALGORITHMS["QLearning"])
RESULT = "results/result.json"
POINTS = "tb_logs/interact/events.out.tfevents.0000000001.joystick"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "run"
    words = [*WORDS, *OUTPUTS["board"], *EVALUATION, "general_cfg.iteration_steps=20", LIMITS[0]]
    assert main(["--into", str(folder), *words]) == 0
    return folder


@pytest.fixture
def task(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def edit(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("harm", [Path.unlink, cut, edit], ids=["missing", "shorter", "edited"])
def test_a_log_of_times_is_no_reason_to_stop_a_resume(task, harm, capsys):
    whole = shutil.copytree(task, task.with_name("whole"))
    harm(task / RESULT)
    assert main(["--resume", str(task), LIMITS[1]]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"{RESULT} has lost rows that it had at the checkpoint; the run continues, the file is kept" in out
    assert read_facts(TaskDir(task).run)["altered_files"] == [RESULT]
    assert main(["--resume", str(whole), LIMITS[1]]) == 0
    for name in ("train.csv", "progress.csv"):
        assert (task / "results" / name).read_bytes() == (whole / "results" / name).read_bytes()
    iterations = [json.loads(line)["iteration"] for line in (task / RESULT).read_text().splitlines()]
    kept = {Path.unlink: 0, cut: 3, edit: 3}[harm]
    assert iterations == [*range(1, kept + 1), *range(5, 8)]


def halve(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("harm", [Path.unlink, halve], ids=["missing", "shorter"])
def test_lost_points_of_tensorboard_are_said_and_stop_nothing(task, harm, capsys):
    harm(task / POINTS)
    assert main(["--resume", str(task), LIMITS[1]]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "tb_logs/interact has lost points that it had at the checkpoint; the run continues" in out
    assert "tb_logs/model" not in out


def test_a_folder_of_points_that_is_gone_is_said_as_it_was_written(task, capsys, monkeypatch):
    shutil.rmtree(task / "tb_logs")
    monkeypatch.chdir(task.parent)
    assert main(["--resume", f"./{task.name}", LIMITS[1]]) == 0
    assert f"warning: {task.name}/tb_logs/interact has lost points" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", ["train.csv", "eval.csv", "progress.csv"])
def test_rows_that_a_checkpoint_is_judged_by_stop_a_resume_that_lacks_them(task, name, capsys):
    """The settings stay what the run was trained with, and no command is advised that fails in the same way."""
    path = task / "results" / name
    settings = (task / "config.yaml").read_bytes()
    for harm, said in ((halve, "is shorter than at the checkpoint"), (Path.unlink, "is missing"), (str, "is missing")):
        harm(path)
        assert main(["--resume", str(task), LIMITS[1]]) == 2
        err = " ".join(capsys.readouterr().err.split())
        assert f"{name} {said}" in err
        assert "to resume" not in err
    assert (task / "config.yaml").read_bytes() == settings


def test_only_the_log_says_whether_it_is_needed(tmp_path):
    for needed in (True, False):
        log = JsonLog(tmp_path / f"{needed}.json", needed=needed)
        log.extend([{"n": 1}, {"n": 2}])
        end = log.position()
        log.path.write_text('{"n": 1}\n{"n"')
        if needed:
            with pytest.raises(ValueError, match="shorter than at the checkpoint"):
                log.restore(end, log.crc)
        else:
            assert not log.restore(end, log.crc)
            assert log.path.read_text() == '{"n": 1}\n'
        log.close()


def test_no_trial_is_left_out_for_a_lost_log_of_times(forking):
    text = """\
general_cfg: {algo_name: QLearning, env_name: toy, seed: 3, save_fig: false, model_save_fre: 30, iteration_steps: 20,
  max_total_step: 80, online_eval_episode: 2}
env_cfg: {id: shifted}
algo_cfg: {lr: {grid: [0.01, 0.3]}}
tune_cfg: {scheduler: halving, eta: 2, rungs: 40, score: return_mean}
"""
    written(text)
    assert run("tune", "--yaml", "tune.yaml", "--into", "whole", "--jobs", "1") == 0
    best = json.loads(Path("whole/tune.json").read_text())["best"]
    shutil.copytree("whole", "hurt")
    for trial in Path("hurt/trials").glob("0*/"):
        facts = json.loads((trial / "run.json").read_text())
        (trial / "run.json").write_text(json.dumps({**facts, "finished": False}))  # the last leg is to be made again
        (trial / RESULT).unlink()
    assert run("tune", "--resume", "hurt", "--jobs", "1") == 0
    assert json.loads(Path("hurt/tune.json").read_text())["best"] == best
    with open("hurt/trials.csv") as table:
        assert {row["status"] for row in csv.DictReader(table)} == {"0"}


# ----------------------------------------------------------------------------------------------- what is durable when


def recorded(work, folder):
    """The calls of a piece of work in a forked process, and the disk before them."""
    folder.mkdir()
    record, disk = folder.with_suffix(".record"), Disk(folder)
    if not (child := os.fork()):
        Calls(folder, record).install()
        work(folder)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    return disk, read_record(record)


@pytest.mark.parametrize("make", [lambda path: JsonLog(path), lambda path: CsvLog(path, ["a"])], ids=["json", "csv"])
def test_the_name_of_a_new_log_is_durable(make, tmp_path):
    disk, calls = recorded(lambda folder: make(folder / "log").position(), tmp_path / "disk")
    for call in calls:
        disk.apply(call)
    assert "log" in disk.tree("synced")


def test_the_name_of_a_log_whose_process_was_killed_at_once_is_durable_after_the_next_one(tmp_path):
    def twice(folder):
        with open(folder / "log", "wb"):
            pass  # killed before it could sync the folder
        JsonLog(folder / "log").position()

    disk, calls = recorded(twice, tmp_path / "disk")
    for call in calls:
        disk.apply(call)
    assert "log" in disk.tree("synced")


def test_an_object_of_a_store_in_a_folder_is_durable_before_the_index_that_lists_it(tmp_path):
    disk, calls = recorded(lambda folder: Store(f"file://{folder}/copy").put("logs/log.txt", b"x"), tmp_path / "disk")
    for call in calls:
        disk.apply(call)
    assert disk.tree("synced")["copy/logs/log.txt"] == b"x"


@pytest.mark.parametrize("outputs", list(OUTPUTS))
def test_all_that_a_checkpoint_refers_to_is_on_the_disk_before_it(outputs, tmp_path):
    """At the moment at which a checkpoint gets its name, with what was fsynced alone."""
    base, record = tmp_path / "base", tmp_path / "record"
    base.mkdir()
    disk = Disk(base)
    words = ["--into", str(base / "run"), *WORDS, *OUTPUTS[outputs], LIMITS[0]]
    assert played([words], tmp_path, Calls(base, record))[0] == 0
    seen = 0
    for call in read_record(record):
        disk.apply(call)
        if call[0] == "rename" and call[2] in ("run/models/30", "run/models/60"):
            seen += 1
            now, durable = disk.tree("kill"), disk.tree("synced")
            needed = [name for name in now if name.startswith(("run/results", "run/tb_logs", "run/models/journal"))]
            assert needed
            assert {name: now[name] for name in needed} == {name: durable.get(name) for name in needed}
    assert seen == 2


def test_what_a_synchronized_folder_puts_beside_files_is_left_alone(tmp_path):
    """The copy of a file that two machines have changed has the file's name and some words more."""
    journal, points = tmp_path / "00000 (conflicted copy).log", tmp_path / "events.out.tfevents.01 (copy).joystick"
    for path in (journal, points):
        path.write_text("of another machine")
    Journal(tmp_path).continue_from(Position(0, 0))
    Journal(tmp_path).drop_before(3)
    file = EventFile(tmp_path)
    file.close()
    assert file.number == 1
    assert journal.read_text() == points.read_text() == "of another machine"


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
def test_a_folder_whose_name_is_no_utf_8_holds_a_run(tmp_path, monkeypatch):
    """A name in GBK, as an archive of another system may have it. In a process of its own: what pytest records of a
    test has to be UTF-8."""
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"tasks/\xb2\xe2\xca\xd4")
    for words in (["--into", name, *WORDS, LIMITS[0]], ["resume", name, LIMITS[1]], ["runs"]):
        done = forked(*words)
        assert done.returncode == 0, ascii(done.stderr)
    assert "finished" in done.stdout
