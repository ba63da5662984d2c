"""The folder of a tuning from a stranger: nothing in it leads out of it, or keeps a command waiting."""

import json
import os
import shutil
from pathlib import Path

import pytest

import joystick
from config.read.opening import fault_below
from framework.errors import JoystickError, TaskDirError
from framework.jobs import job, processes
from framework.jobs.children import Child
from framework.jobs.stages import Stage
from tests.tools.tuning import GENERAL, forking, run, table, written

__all__ = ["forking"]
pytestmark = pytest.mark.usefixtures("forking", "impatient")

TWO = f"""\
general_cfg: {{{GENERAL}, algo_name: QLearning, max_total_step: 60}}
env_cfg: {{id: shifted}}
algo_cfg: {{lr: {{grid: [0.1, 0.5]}}}}
"""
NAMES = (
    "trials", "trials/001", "trials/001.errors.txt", "trials/001.yaml", "trials/.001.tmp",
    "trials/000/results/train.csv", "tune.json", "trials.csv", "report.html", "config.yaml", ".lock",
)  # fmt: skip
KINDS = ("link to a file", "link to a folder", "link to nothing", "pipe")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "POLL_SECONDS", 0.01)


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tuning whose trial 001 is to be trained again, beside a folder of the user's own."""
    finished = tmp_path_factory.getbasetemp() / "finished"
    if not finished.exists():
        written(TWO)
        assert run("tune", "--yaml", "tune.yaml", "--into", str(finished)) == 0
    shutil.copytree(finished, "tuning")
    shutil.rmtree("tuning/trials/001")
    for name in ("000", "001", ".001.tmp"):
        Path("mine", name).mkdir(parents=True)
        Path("mine", name, "precious.txt").write_text("precious")
    Path("mine/bashrc").write_text("alias ll=ls\n")
    return Path("tuning")


def spoil(path: Path, kind: str) -> None:
    """Puts a link or a pipe in the place of a file or a folder."""
    shutil.rmtree(path, ignore_errors=True)
    path.unlink(missing_ok=True)
    targets = {"link to a file": "mine/bashrc", "link to a folder": "mine", "link to nothing": "mine/nothing"}
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(Path(targets[kind]).absolute())


def outside() -> dict[str, bytes]:
    """The user's own files."""
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in Path("mine").rglob("*")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_a_tuning_with_a_link_or_a_pipe_is_refused_in_a_sentence_and_nothing_is_changed(
    folder: Path, name: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(folder / name, kind)
    before, inside = outside(), sorted(folder.rglob("*"))
    capsys.readouterr()
    assert run("tune", "--resume", "tuning") == 2
    said = capsys.readouterr()
    what = "a pipe or a device" if kind == "pipe" else "a link"
    assert said.err == (
        f"tuning/{name} is {what}; a tuning holds files and folders only\n"
        "Nothing was started. Fix the problem above.\n"
    )  # fmt: skip
    assert (outside(), sorted(folder.rglob("*"))) == (before, inside)
    with pytest.raises(joystick.ConfigError, match=f"{name} is {what}"):
        joystick.tune(resume="tuning")
    with pytest.raises(joystick.ConfigError, match=f"{name} is {what}"):
        joystick.tune(lambda config, report: None, resume="tuning")
    assert (outside(), sorted(folder.rglob("*"))) == (before, inside)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_who_only_looks_at_such_a_tuning_gets_an_answer_and_changes_nothing(
    folder: Path, name: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(folder / name, kind)
    before, inside = outside(), sorted(folder.rglob("*"))
    Path("tasks").mkdir()
    folder.rename("tasks/tuning")
    assert run("runs") == 0
    assert run("compare", "tuning") in (0, 2)
    assert "Traceback" not in capsys.readouterr().err
    Path("tasks/tuning").rename(folder)
    assert (outside(), sorted(folder.rglob("*"))) == (before, inside)


def test_a_whole_tuning_goes_on(folder: Path) -> None:
    """Without a link, trial 001 is trained."""
    assert not fault_below(folder, "a tuning")
    assert run("tune", "--resume", "tuning") == 0
    assert [row["state"] for row in table("tuning")] == ["finished"] * 2


# ----------------------------------------------------------------------- where nobody has looked at the folder before


def stage(folder: Path, seed: str = "") -> Stage:
    return Stage("001", "001", folder / "trials" / "001.yaml", folder / "trials" / "001" / seed)


@pytest.mark.parametrize("kind", KINDS)
def test_the_stderr_of_a_trial_is_not_written_through_a_link(folder: Path, kind: str) -> None:
    its = stage(folder)
    spoil(its.errors, kind)
    before = outside()
    with pytest.raises(OSError, match=r"001\.errors\.txt"):
        Child(its.errors).start(lambda errors, telling: pytest.fail("it has started"))
    if its.errors.exists():
        with pytest.raises(OSError, match=r"001\.errors\.txt"):
            processes.is_locked(its)
    assert outside() == before


@pytest.mark.parametrize("place", ["trials", "trials/001"])
def test_nothing_is_deleted_through_a_link(folder: Path, place: str) -> None:
    """What a killed process left of a trial is deleted before the trial begins again."""
    spoil(folder / place, "link to a folder")
    before = outside()
    for seed in ("", "000"):
        with pytest.raises(TaskDirError, match=f"{place} is a link"):
            stage(folder, seed).command()
    assert outside() == before


# --------------------------------------------------------------------------------------------------------- tune.json


@pytest.mark.parametrize("failed", [["001"], "001", 3, {"001": "text"}, {"001": []}, {"001": {"status": 1}}])
def test_failed_trials_in_another_form_are_refused_in_a_sentence(
    folder: Path, failed: object, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "tune.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "failed": failed}))
    before = file.read_text()
    capsys.readouterr()
    assert run("tune", "--resume", "tuning") == 2
    said = capsys.readouterr().err
    assert said.startswith("error: tuning/tune.json: failed: got ")
    assert said.count("\n") == 1
    assert file.read_text() == before
    with pytest.raises(JoystickError, match=r"tune\.json: failed: got"):
        joystick.tune(resume="tuning")
