"""Stages of a tuning as tasks of a Ray cluster: the same trials as with processes, and a lost machine costs a stage."""

import contextlib
import io
import signal
import tarfile
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from framework.archive.run import RecordedRun
from framework.distributed import stage_tasks
from framework.distributed.stage_tasks import MOST_LOSSES, StageActor, StageTasks, packed, unpack
from framework.jobs import job, stages
from framework.jobs.stages import Stage
from tests.tools.fake_ray import Call, FakeRay
from tests.tools.process import PATIENCE
from tests.tools.tuning import GENERAL, cluster, forking, run, table, written

__all__ = ["forking"]
pytestmark = pytest.mark.usefixtures("forking")

ROOT = Path(__file__).parents[3]
PBT = f"""\
general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 120}}
env_cfg: {{id: shifted}}
algo_cfg:
  lr: {{log: [1.0e-3, 0.5]}}
tune_cfg: {{samples: 2, scheduler: pbt, rungs: 60, score: return_mean}}
"""
"""Two trials, of which one copies the other at step 60."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(stage_tasks, "POLL_SECONDS", 0.01)


def dies_in_its_second_stage(call: Call) -> str | None:
    return "after" if (call.method, call.number) == ("run", 1) else None


def test_a_cluster_gives_the_same_trials_as_processes_also_if_a_task_dies(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(PBT)
    assert run("tune", "--yaml", "tune.yaml", "--into", "here") == 0
    ray = cluster(monkeypatch, dies_in_its_second_stage)
    words = ("--into", "there", "tune_cfg.ray_address=10.0.0.1:6379", "general_cfg.mp_backend=ray")
    assert run("tune", "--yaml", "tune.yaml", *words) == 0
    assert table("there") == table("here")
    for name in (f"{row['folder']}/results/{file}.csv" for row in table("here") for file in ("train", "progress")):
        assert Path("there", name).read_bytes() == Path("here", name).read_bytes()
    assert [row["name"] for row in table("here")] in (["000", "001", "000_2"], ["000", "001", "001_2"])
    assert len(ray.actors) == 6, "2 stages, 1 of them again, the copy, and 2 stages to the end"
    assert "trial 001: killed after run; it goes on from where it was" in capsys.readouterr().out
    assert "mp_backend: single" in Path("there/best.yaml").read_text()
    assert "10.0.0.1" not in Path("there/config.yaml").read_text(), "a stranger's folder names no machine to connect to"


def test_a_trial_whose_tasks_die_again_and_again_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(f"general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 60}}\nenv_cfg: {{id: shifted}}\n"
            "algo_cfg: {lr: {grid: [0.1, 0.5]}}\ntune_cfg: {jobs: 1}\n")  # fmt: skip
    ray = cluster(monkeypatch, lambda call: "before" if call.method == "run" and call.number != 1 else None)
    assert run("tune", "--yaml", "tune.yaml", "--into", "x", "tune_cfg.ray_address=auto") == 0
    assert [(row["state"], row["status"]) for row in table("x")] == [("failed", "1"), ("finished", "0")]
    assert len(ray.actors) == MOST_LOSSES + 1
    assert f"lost {MOST_LOSSES} times in the cluster; at last killed before run" in capsys.readouterr().out


def test_an_error_of_a_trial_comes_back_from_the_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(f"general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 60}}\nenv_cfg: {{id: shifted}}\n"
            "algo_cfg: {lr: {grid: [0.1, 0.5]}}\n")  # fmt: skip
    cluster(monkeypatch)
    command = Stage.command
    monkeypatch.setattr(
        stages.Stage, "command", lambda stage: [*command(stage), *(["bad.word=1"] * (stage.trial == "000"))]
    )
    assert run("tune", "--yaml", "tune.yaml", "--into", "x", "tune_cfg.ray_address=auto") == 0
    assert [(row["state"], row["status"]) for row in table("x")] == [("failed", "2"), ("finished", "0")]
    assert "trial 000 failed with status 2 and is left out: " in capsys.readouterr().out
    assert "word: not inside a section" in Path("x/trials/000.errors.txt").read_text()


def test_a_crash_while_a_directory_is_replaced_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    written(f"general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 60}}\nenv_cfg: {{id: shifted}}\n"
            "algo_cfg: {lr: {grid: [0.1, 0.5]}}\ntune_cfg: {ray_address: auto}\n")  # fmt: skip
    cluster(monkeypatch)
    assert run("tune", "--yaml", "tune.yaml", "--into", "x") == 0
    before = table("x")
    Path("x/trials/000").rename("x/trials/.000.old")
    Path("x/trials/.001.tmp").mkdir()
    ray = cluster(monkeypatch)
    assert run("tune", "--resume", "x", "tune_cfg.ray_address=10.0.0.2:6379") == 0
    assert table("x") == before
    assert not ray.actors, "nothing ran again"
    assert not Path("x/trials/.001.tmp").exists()


def test_an_address_at_which_nothing_answers_is_named_and_nothing_is_created(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("ray")
    written(PBT)
    assert run("tune", "--yaml", "tune.yaml", "--into", "x", "tune_cfg.ray_address=127.0.0.1:1") == 2
    error = capsys.readouterr().err
    assert "tune_cfg.ray_address: nothing answers at 127.0.0.1:1" in error
    assert "without tune_cfg.ray_address, this machine trains the trials" in error
    assert not Path("x").exists()


# ------------------------------------------------------------------------------------------------------- stopping


def stage_of(steps: int, until: int | None = None) -> Stage:
    file = written(f"general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: {steps}}}\n"
                   "env_cfg: {id: shifted}\n", "000.yaml")  # fmt: skip
    return Stage("000", "000", file, Path("trials/000"), until)


def test_a_stage_that_is_stopped_comes_back_saved_and_goes_on_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(Path("temporary").absolute()))
    stage, actor, found = stage_of(10_000_000), StageActor(), []
    thread = threading.Thread(target=lambda: found.append(actor.run(stage, stage.file.read_bytes(), b"", b"")))
    thread.start()
    until = time.monotonic() + PATIENCE
    while not any(path.stat().st_size > 300 for path in Path("temporary").glob("*/task/results/train.csv")):
        assert time.monotonic() < until
        time.sleep(0.05)
    actor.stop(signal.SIGTERM)
    thread.join(PATIENCE)
    [result] = found
    assert (result.end.status, result.end.stopped, result.end.complaint) == (128 + signal.SIGTERM, True, "")
    unpack(result.task, stage.task)
    step = RecordedRun(stage.task).facts.step or 0
    assert step > 0
    further = StageActor().run(stage_of(10_000_000, step + 500), stage.file.read_bytes(), result.task, b"")
    unpack(further.task, Path("further"))
    assert further.end.status == 0
    assert RecordedRun(Path("further")).paused(step + 500) is not None


def test_stages_that_wait_for_room_are_given_up_when_tuning_stops() -> None:
    ray: Any = FakeRay()
    tasks = StageTasks(ray, 2, 0.0, print)
    tasks.start(stage_of(100))
    tasks.stop(signal.SIGINT)
    assert [(ended.status, ended.stopped) for ended in tasks.poll()] == [(None, False)]
    assert (tasks.running, tasks.free) == ([], 2)


# --------------------------------------------------------------------------------------------------- the way there


@pytest.fixture(params=["filters of tarfile", "without"])
def _filters(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11.3 and earlier have none."""
    if request.param == "without":
        monkeypatch.delattr(tarfile, "data_filter", raising=False)


@pytest.mark.usefixtures("_filters")
@pytest.mark.filterwarnings("ignore:.*filter:DeprecationWarning")
def test_a_folder_comes_back_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a/models/10").mkdir(parents=True)
    (tmp_path / "a/models/10/x.bin").write_bytes(bytes(range(256)))
    unpack(packed(tmp_path / "a"), tmp_path / "b")
    assert (tmp_path / "b/models/10/x.bin").read_bytes() == bytes(range(256))
    assert packed(tmp_path / "none") == b""


@pytest.mark.usefixtures("_filters")
@pytest.mark.filterwarnings("ignore:.*filter:DeprecationWarning")
@pytest.mark.parametrize("name", ["../out", "/tmp/out-of-a-stage", "link/out"])
def test_nothing_is_written_beside_the_folder(tmp_path: Path, name: str) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, ".."
        if name.startswith("link"):
            archive.addfile(link)
        archive.addfile(tarfile.TarInfo(name))
    with contextlib.suppress(getattr(tarfile, "FilterError", ValueError)):
        unpack(file.getvalue(), tmp_path / "in")
    assert not (tmp_path / "out").exists()
    assert not Path("/tmp/out-of-a-stage").exists()


@pytest.mark.parametrize(("folder", "complaint"), [("here", ""), ("other", "given.npz does not exist")])
def test_relative_paths_are_those_of_the_command_where_a_machine_has_its_folder(
    folder: str, complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    ends = np.array([False, True])
    given = {"observations": np.zeros((2, 4), np.float32), "actions": [0, 1], "rewards": [0.0, 1.0], "terminals": ends}
    np.savez(tmp_path / "here/given.npz", **given)
    general = "{algo_name: BC, max_update: 1, save_fig: false, online_eval_episode: 1}"
    settings = f"general_cfg: {general}\nalgo_cfg: {{data: given.npz}}\nenv_cfg: {{id: CartPole-v1}}\n"
    stage = Stage("000", "000", Path("000.yaml"), Path("trials/000"))
    result = StageActor().run(stage, settings.encode(), b"", b"", tmp_path / folder)
    assert complaint in result.end.complaint
    assert bool(result.end.status) == bool(complaint)


def test_the_machine_is_left_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_tasks, "tempfile", SimpleNamespace(mkdtemp=lambda prefix: made(tmp_path / "work")))
    stage = stage_of(60)
    assert StageActor().run(stage, stage.file.read_bytes(), b"", b"").end.status == 0
    assert not (tmp_path / "work").exists()


def made(folder: Path) -> str:
    folder.mkdir()
    return str(folder)
