"""Loggers: one contract for TensorBoard, wandb, mlflow and a class of the user's own."""

import json
import os
import re
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framework.pages import figures
from framework.record import mlflow_logger, wandb_logger
from framework.record.loggers import Logger, Loggers
from main import main
from tests.framework.runs.test_run_end import ONLINE, WORDS, outcome
from tests.framework.runs.test_run_end import Line as Line

OWN = ["--allow-import", "own_loggers"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    monkeypatch.setattr(figures, "learning_curve", lambda *args, **options: None)
    for name in ("WANDB_MODE", "WANDB_ERROR_REPORTING", "MLFLOW_TRACKING_URI", "MLFLOW_ALLOW_FILE_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")


def train(name: str, *words: str, status: int = 0, loggers: str = "csv,tensorboard") -> Path:
    given = [*WORDS, "general_cfg.preset=null", f"general_cfg.loggers=[{loggers}]", *words, "--into", f"tasks/{name}"]
    assert main([*(OWN if "own" in loggers else []), *given]) == status
    return Path("tasks", name)


def lines(task: Path) -> list[Any]:
    return [json.loads(line) for line in (task / "lines.jsonl").read_text().splitlines()]


def points(found: list[Any]) -> list[Any]:
    return [line[1:] for line in found if line[0] == "scalars"]


# ------------------------------------------------------------------------------------------------- one's own


def test_a_logger_of_ones_own_gets_the_points_that_tensorboard_gets_and_changes_no_number() -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    plain = outcome(train("plain", *ONLINE))
    task = train("own", *ONLINE, loggers="csv,tensorboard,own_loggers:Lines")
    assert outcome(task) == plain
    found = lines(task)
    assert found[0] == ["start", "QLearning", 0]
    assert found[-2:] == [["files", ["config.yaml", "report.html"]], ["close"]]
    for group in ("interact", "model"):
        board = EventAccumulator(str(task / "tb_logs" / group))
        board.Reload()
        shown = {(tag, e.step, e.value) for tag in board.Tags()["scalars"] for e in board.Scalars(tag)}
        own = {
            (name, step, float(np.float32(value)))
            for its, values, step in points(found)
            for name, value in values.items()
            if its == group
        }
        assert own == shown
        assert own
    assert not any("per_second" in name for path in task.rglob("*.csv") for name in path.read_text().split("\n")[0])


def test_the_throughput_is_a_curve_and_no_column() -> None:
    """An iteration has 100 steps at least; a step of this run is its own round."""
    task = train("run", "general_cfg.iteration_steps=100", loggers="csv,own_loggers:Lines")
    speeds = [
        (values["train_steps_per_second"], step)
        for _, values, step in points(lines(task))
        if "train_steps_per_second" in values
    ]
    rows = [json.loads(line) for line in (task / "results" / "result.json").read_text().splitlines()]
    assert [step for _, step in speeds] == [100, 200, 300, 330]
    steps = [100, 100, 100, 30]
    assert [speed for speed, _ in speeds] == [n / row["seconds"] for n, row in zip(steps, rows, strict=True)]


def test_the_throughput_of_a_branch_counts_no_step_of_the_run_before_it() -> None:
    task = train("run", "general_cfg.iteration_steps=50", loggers="csv,own_loggers:Lines")
    newest = max(int(path.name) for path in (task / "models").iterdir() if path.name.isdecimal())
    which = ["load_checkpoint=true", "load_path=run", f"load_model_step={newest}", "max_total_step=500"]
    assert main([*OWN, *(f"general_cfg.{word}" for word in which), "--into", "tasks/branch"]) == 0
    branch = Path("tasks", "branch")
    rows = [json.loads(line) for line in (branch / "results" / "result.json").read_text().splitlines()]
    speeds = {
        step: v["train_steps_per_second"] for _, v, step in points(lines(branch)) if "train_steps_per_second" in v
    }
    assert speeds
    assert all(
        speeds.get(row["step"], 50 / row["seconds"]) == pytest.approx(50 / row["seconds"], rel=0.1) for row in rows
    )


def test_a_resume_gives_a_logger_its_state_back() -> None:
    task = train("run", loggers="csv,own_loggers:Lines")
    later = {"train_online_eval_reward", "train_steps_per_second"}  # what comes after the last checkpoint
    before = [values for _, values, _ in points(lines(task)) if not later & set(values)]
    assert main([*OWN, "resume", "run", "general_cfg.max_total_step=400"]) == 0
    starts = [line for line in lines(task) if line[0] == "start"]
    assert starts == [["start", "QLearning", 0], ["start", "QLearning", len(before)]]


@pytest.mark.parametrize("name", ["Fails", "Spoils"])
def test_a_logger_that_fails_is_one_warning_and_the_run_goes_on(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain = outcome(train("plain"))
    capsys.readouterr()
    task = train("run", loggers=f"csv,tensorboard,own_loggers:{name}")
    said = capsys.readouterr().out
    assert said.count(f"logger own_loggers:{name} stopped") == 1
    reason = {
        "Fails": rf"RuntimeError: no server here \(\S*{Path('own_loggers.py')}:\d+\)",
        "Spoils": r"a checkpoint cannot hold what its state\(\) returns: Spoils cannot be saved",
    }
    assert re.search(rf"stopped: {reason[name]}\. Training goes on", " ".join(said.split()))
    assert outcome(task) == plain
    assert lines(task)[-1] == ["close"]
    assert (task / "tb_logs" / "interact").is_dir()


def test_a_logger_that_fails_when_it_is_closed_is_a_whole_warning(capsys: pytest.CaptureFixture[str]) -> None:
    task = train("run", loggers="csv,own_loggers:FailsAtItsEnd")
    sentence = (
        r"logger own_loggers:FailsAtItsEnd failed when it was closed: KeyError: 'queue' \(\S*:\d+\). It may lack points"
    )
    said = capsys.readouterr().out
    assert len(re.findall(rf"^warning: {sentence}; results/ has all numbers$", said, re.MULTILINE)) == 1
    assert re.search(sentence, (task / "logs" / "log.txt").read_text("utf-8"))


@pytest.mark.parametrize(
    ("loggers", "part"),
    [
        ("tensorboard", "csv cannot be left out"),
        ("csv,tensorbord", "did you mean tensorboard?"),
        ("csv,csv", "csv is named twice"),
        ("csv,own_loggers:NoLogger", "inherits from joystick.Logger"),
        ("csv,own_loggers:Misspelled", "Misspelled has scalar, which no run calls; did you mean scalars?"),
        ("csv,own_loggers:Idle", "Idle has none of the methods that receive something: scalars, files, close"),
        ("csv,own_loggers:Short", "Short.scalars is called as scalars(group, values, step): too many positional"),
        ("csv,own_loggers:Linez", "has no 'Linez'"),
    ],
)
def test_loggers_that_cannot_be_end_before_anything_is_created(
    loggers: str, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    train("run", loggers=loggers, status=2)
    assert part in capsys.readouterr().err
    assert not Path("tasks").exists()


def test_a_module_of_a_logger_is_not_imported_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "general_cfg.loggers=[csv,own_loggers:Lines]", "--into", "tasks/run"]) == 2
    assert "--allow-import own_loggers" in capsys.readouterr().err


def test_a_run_without_tensorboard_has_no_event_files_and_a_test_needs_no_logger() -> None:
    task = train("run", loggers="csv,own_loggers:Lines")
    assert list((task / "tb_logs").iterdir()) == []
    assert main(["test", "run"]) == 0


# ------------------------------------------------------------------------------------------- wandb and mlflow


@pytest.mark.parametrize(
    ("name", "package"),
    [("wandb", "wandb"), ("mlflow", "mlflow-skinny"), ("swanlab", "swanlab"), ("trackio", "trackio")],
)
def test_a_missing_package_is_named_in_one_line(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, name, None)  # Python raises ImportError for it
    train("run", loggers=f"csv,{name}", status=2)
    assert f'{name} needs a package that is not installed here: pip install "{package}>=' in capsys.readouterr().err
    assert not Path("tasks").exists()


def records(content: bytes) -> Iterator[bytes]:
    """The records of wandb's files: those of LevelDB's log behind a head of 7 bytes, in blocks of 32 KiB. A record has
    a checksum, its length, and whether it is whole (1), a first (2), a middle (3) or a last part (4)."""
    place, parts = 7, b""
    while place + 7 <= len(content):
        size, kind = struct.unpack_from("<HB", content, place + 4)
        parts += content[place + 7 : place + 7 + size]
        if kind in (1, 4):
            yield parts
            parts = b""
        place += 7 + size
        if 2**15 - place % 2**15 < 7:  # no room for another head
            place += 2**15 - place % 2**15


def of_wandb(folder: Path) -> list[Any]:
    """Returns the records of a session."""
    from wandb.proto.wandb_internal_pb2 import Record

    return [Record.FromString(data) for data in records(next(folder.glob("*.wandb")).read_bytes())]


def wait_for_wandb(folder: Path) -> None:
    """Waits until wandb's own process has written the end of a session, a moment after the session is over."""
    until = time.monotonic() + 30
    while not (written := of_wandb(folder)) or written[-1].WhichOneof("record_type") != "exit":
        assert time.monotonic() < until
        time.sleep(0.05)


def test_wandb_writes_a_run_offline_and_a_resume_goes_on_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it trains, too, there is no link in the task directory: a run that is killed can be resumed."""
    pytest.importorskip("wandb")
    links: list[Path] = []
    scalars = wandb_logger.WandbLogger.scalars

    def looks(self: Any, *given: Any) -> None:
        links.extend(path for path in Path("tasks").rglob("*") if path.is_symlink())
        scalars(self, *given)

    monkeypatch.setattr(wandb_logger.WandbLogger, "scalars", looks)
    task = train("run", loggers="csv,wandb")
    assert main(["resume", "run", "general_cfg.max_total_step=400"]) == 0
    folders = sorted((task / "wandb").glob("offline-run-*"))
    assert len({folder.name.rpartition("-")[2] for folder in folders}) == 1 < len(folders)
    assert not links
    assert not [path for path in task.rglob("*") if path.is_symlink()]
    found: dict[str, list[tuple[int, float]]] = {}
    wait_for_wandb(folders[-1])
    for folder in folders:
        for record in of_wandb(folder):
            row = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
            for name, value in row.items():
                if name.startswith("interact/"):
                    found.setdefault(name, []).append((row["environment_step"], value))
    check_returns(task, found["interact/train_ep_reward"])


@pytest.mark.parametrize("fails", ["init", "finish"])
def test_a_wandb_that_fails_leaves_no_link(fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, said = tmp_path / "run", list[str]()
    (folder / "wandb").mkdir(parents=True)

    class Package:
        Settings = dict
        id = "1"

        @staticmethod
        def init(**given: Any) -> Any:
            return Package.linked("init")

        @staticmethod
        def finish() -> None:
            Package.linked("finish")

        @staticmethod
        def define_metric(*given: Any, **options: Any) -> None:
            pass

        @staticmethod
        def linked(method: str) -> Any:
            (folder / "wandb" / method).symlink_to("/dev/null")
            if method == fails:
                raise RuntimeError("no answer")
            return Package

    monkeypatch.setitem(sys.modules, "wandb", Package)
    logger = wandb_logger.WandbLogger()
    loggers = Loggers({"wandb": logger}, folder, {}, said.append)
    loggers.begin()
    loggers.close()
    assert len(said) == 1
    assert not list((folder / "wandb").iterdir())
    (folder / "wandb" / "late").symlink_to("/dev/null")
    logger.close()
    assert not list((folder / "wandb").iterdir())


def test_a_logger_that_calls_exit_does_not_end_the_run(tmp_path: Path) -> None:
    class Exits(Logger):
        def scalars(self, group: str, values: Mapping[str, float], step: int) -> None:
            sys.exit(3)

        def close(self) -> None:
            sys.exit(4)

    said: list[str] = []
    loggers = Loggers({"exits": Exits()}, tmp_path, {}, said.append)
    loggers.begin()
    loggers.scalars("interact", {}, 1)
    loggers.close()
    assert said == ["logger exits stopped: SystemExit: 3. Training goes on; results/ holds the same numbers"]


def test_mlflow_writes_files_and_a_resume_goes_on_in_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    task = train("run", loggers="csv,mlflow")
    assert main(["resume", "run", "general_cfg.max_total_step=400"]) == 0
    client = mlflow.MlflowClient(tracking_uri=(task / "mlruns").absolute().as_uri())
    [run] = client.search_runs([client.get_experiment_by_name("joystick").experiment_id])
    assert (run.info.status, run.info.run_name) == ("FINISHED", "run")
    assert run.data.params["algo_cfg.lr"] == "0.8"
    history = client.get_metric_history(run.info.run_id, "interact/train_ep_reward")
    check_returns(task, [(each.step, each.value) for each in history])
    assert {each.path for each in client.list_artifacts(run.info.run_id)} == {"config.yaml", "report.html"}


def check_returns(task: Path, found: list[tuple[int, float]]) -> None:
    """All episodes of both sessions, and no value that train.csv does not have."""
    from framework.disk.csv_table import read_csv

    rows = {(int(row["step"]), float(row["return"])) for row in read_csv(task / "results" / "train.csv")}
    assert set(found) == rows
    assert len(rows) > 30


def test_nothing_is_sent_unless_the_user_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their variables; those that are set stay."""

    class Package:
        class Settings(dict[str, Any]):
            pass

        given: Mapping[str, Any] = {}

    monkeypatch.setitem(sys.modules, "wandb", Package)
    wandb_logger.WandbLogger()
    assert (os.environ["WANDB_MODE"], os.environ["WANDB_ERROR_REPORTING"]) == ("offline", "false")
    monkeypatch.setenv("WANDB_MODE", "online")
    wandb_logger.WandbLogger()
    assert os.environ["WANDB_MODE"] == "online"
    assert mlflow_logger.MlflowLogger.VARIABLES["MLFLOW_DISABLE_TELEMETRY"] == "true"
