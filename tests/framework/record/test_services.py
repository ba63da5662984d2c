"""Tracking services: a run that goes on from a checkpoint has each point once, in the service's own files and on a
server that forgets nothing. They are read back with the services' own packages."""

import importlib
import json
import os
import struct
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from framework.record import leveldb_log, mlflow_logger
from framework.record.loggers import HOMES, Loggers
from framework.record.service import Beyond, Service

SERVICES = ["wandb", "mlflow", "swanlab", "trackio"]
Point = tuple[str, int, float]


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WANDB_MODE", "SWANLAB_MODE", "MLFLOW_TRACKING_URI", "TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("TRACKIO_PROJECT", f"test-{tmp_path.name}")
    (tmp_path / "logs").mkdir()


def made(name: str) -> Service:
    pytest.importorskip(name)
    module, _, cls = HOMES[name].partition(":")
    return getattr(importlib.import_module(module), cls)()


# ------------------------------------------------------------------------------------------------ reading back


def whole(path: Path) -> bytes:
    """The content of a file of wandb, whose own process writes for a moment after the end of the session."""
    content = None
    while (before := content) != (content := path.read_bytes()) or before is None:
        time.sleep(1.5)
    return content


def of_wandb(folder: Path, run_id: str) -> Iterator[Point]:
    from wandb.proto.wandb_internal_pb2 import Record

    for path in sorted(folder.glob(f"wandb/offline-run-*-{run_id}/*.wandb")):
        for _, _, data in leveldb_log.records(whole(path)):
            items = Record.FromString(data).history.item
            row = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in items}
            axis = row.get("environment_step", row.get("update"))
            yield from ((name, axis, value) for name, value in row.items() if "/" in name)


def of_mlflow(folder: Path, run_id: str) -> Iterator[Point]:
    import mlflow

    client = mlflow.MlflowClient(tracking_uri=(folder / "mlruns").absolute().as_uri())
    for name in client.get_run(run_id).data.metrics:
        for point in client.get_metric_history(run_id, name):
            yield name, point.step, point.value


def of_swanlab(folder: Path, run_id: str) -> Iterator[Point]:
    from swanlab.proto.swanlab.record.v1.record_pb2 import Record
    from swanlab.sdk.internal.core_python.store import DataStoreReader

    for path in sorted(folder.glob(f"swanlog/run-*-{run_id}/*.swanlab")):
        reader = DataStoreReader()  # checks the checksums, too
        reader.open(path)
        for data in reader:
            point = Record.FromString(data).scalar
            if point.key:
                yield point.key, point.step, point.value.number
        reader.close()


def of_trackio(folder: Path, run_id: str) -> Iterator[Point]:
    from trackio.sqlite_storage import SQLiteStorage

    rows = SQLiteStorage.get_logs(os.environ["TRACKIO_PROJECT"], run_id, max_points=None)
    for row in rows:
        yield from ((name, row["step"], value) for name, value in row.items() if "/" in name)


READ: dict[str, Callable[[Path, str], Iterator[Point]]] = {
    "wandb": of_wandb, "mlflow": of_mlflow, "swanlab": of_swanlab, "trackio": of_trackio,
}  # fmt: skip


def sends(service: Service, steps: range, value: float) -> list[Point]:
    points = []
    for step in steps:
        service.scalars("interact", {"return": value + step, "length": 5.0}, step)
        service.scalars("model", {"loss": value}, 10 * step)
        points += [
            ("interact/return", step, value + step),
            ("interact/length", step, 5.0),
            ("model/loss", 10 * step, value),
        ]
    return points


# --------------------------------------------------------------------------------------------------------- cut


@pytest.mark.parametrize("name", SERVICES)
def test_a_run_that_goes_on_is_cut_back_to_the_checkpoint(name: str, tmp_path: Path) -> None:
    """Three sessions; what each sent after its checkpoint has other values than what comes in its place."""
    first = made(name)
    first.start(tmp_path, {"algo_cfg": {"lr": 0.1}}, {})
    kept = sends(first, range(1, 400), 0)
    state = first.state()
    sends(first, range(400, 420), 1000)
    first.close()
    for session in (2, 3):
        service = made(name)
        service.start(tmp_path, {"algo_cfg": {"lr": 0.1}}, state)
        kept += sends(service, range(400 * session, 400 * session + 9), 0)
        state = service.state()
        sends(service, range(400 * session + 9, 400 * session + 15), 1000)
        service.close()
    last = made(name)
    last.start(tmp_path, {}, state)
    last.close()
    assert last.id == first.id
    assert sorted(READ[name](tmp_path, last.id)) == sorted(kept)


@pytest.mark.parametrize("name", ["wandb", "swanlab"])
def test_what_a_killed_service_had_not_written_is_sent_again(name: str, tmp_path: Path) -> None:
    """As after a kill, the file ends within a record, some points before the checkpoint."""
    first = made(name)
    first.start(tmp_path, {}, {})
    kept = sends(first, range(1, 50), 0)
    state = first.state()
    first.close()
    [path] = [*tmp_path.glob("wandb/offline*/*.wandb"), *tmp_path.glob("swanlog/*/*.swanlab")]
    content = whole(path) if name == "wandb" else path.read_bytes()
    places = [place for place, _, _ in leveldb_log.records(content)]
    path.write_bytes(content[: places[-40] + 9])
    assert len(list(READ[name](tmp_path, first.id))) < len(kept)
    second = made(name)
    second.start(tmp_path, {}, state)
    second.close()
    assert sorted(READ[name](tmp_path, first.id)) == sorted(kept)


def test_a_server_that_forgets_nothing_gets_no_step_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is not in the task directory is taken for a server."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    first = made("mlflow")
    first.start(tmp_path, {}, {})
    kept = sends(first, range(1, 10), 0)
    state = first.state()
    kept += sends(first, range(10, 15), 0)
    first.close()
    second = made("mlflow")
    second.start(tmp_path, {}, state)
    kept += sends(second, range(10, 20), 0)[15:]
    second.close()
    assert sorted(of_mlflow(tmp_path, first.id)) == sorted(kept)
    assert json.loads((tmp_path / "logs" / "mlflow.json").read_text())["steps"] == {"interact": 19, "model": 190}


def test_points_are_written_every_few_seconds_though_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    entities = types.SimpleNamespace(Metric=lambda *values: values)
    monkeypatch.setitem(sys.modules, "mlflow", types.SimpleNamespace(entities=entities))
    monkeypatch.setitem(sys.modules, "mlflow.entities", entities)
    monkeypatch.setattr(mlflow_logger, "MOST_SECONDS", -1.0)
    written: list[Any] = []
    logger = made("mlflow")
    logger._client = types.SimpleNamespace(log_batch=lambda name, metrics: written.extend(metrics))
    logger._send("interact", {"return": 1.0}, 1)
    before = time.time()
    monkeypatch.setattr(time, "time", lambda: before - 7200)
    logger._send("interact", {"return": 2.0}, 2)
    assert [value for _, value, _, _ in written] == [1.0, 2.0]


@pytest.mark.parametrize("name", ["../../x", "a/b", "*", "", 3, None])
def test_the_name_of_a_run_in_a_strangers_checkpoint_leads_nowhere(name: Any, tmp_path: Path) -> None:
    class Local(Service):
        NAME, INSTALL = "json", ""
        cuts = 0

        def _is_local(self) -> bool:
            return True

        def _cut(self, folder: Path, beyond: Beyond) -> None:
            self.cuts += 1

        def _begin(self, folder: Path, config: Any, goes_on: bool) -> None:
            assert not goes_on

        def _send(self, group: str, values: Any, step: int) -> None: ...

    service = Local()
    service.start(tmp_path, {}, {"id": name, "counts": {}})
    service.start(tmp_path, {}, {"id": "whole"})  # a checkpoint that counts no points
    assert service.cuts == 0


def test_a_file_of_records_is_read_across_blocks_and_without_its_torn_end(tmp_path: Path) -> None:
    """By hand: a record of 40,000 bytes fills the first block and goes on in the second."""

    def part(data: bytes, kind: int) -> bytes:
        return struct.pack("<IHB", 0, len(data), kind) + data

    room = 2**15 - 7 - (7 + 3) - 7
    whole, large = b"abc", b"x" * 40_000
    content = b":SWL123" + part(whole, 1) + part(large[:room], 2) + part(large[room:], 4)
    found = list(leveldb_log.records(content))
    assert found == [(7, 17, whole), (17, len(content), large)]
    assert list(leveldb_log.records(content[:-1])) == found[:1]
    assert list(leveldb_log.records(content[:17] + bytes(100))) == found[:1]  # a hole
    padded = b":SWL123" + part(b"y" * (2**15 - 14 - 3), 1) + b"\0\0\0" + part(b"z", 1)
    assert [place for place, _, _ in leveldb_log.records(padded)] == [7, 2**15]


# ------------------------------------------------------------------------------------------------ what goes wrong


SERVERS = {
    "mlflow": {"MLFLOW_TRACKING_URI": "http://127.0.0.1:9", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"},
    "swanlab": {"SWANLAB_MODE": "online", "SWANLAB_API_KEY": "k" * 21, "SWANLAB_API_HOST": "http://127.0.0.1:9"},
    "trackio": {"TRACKIO_SERVER_URL": "not a server"},
}


@pytest.mark.parametrize("name", ["mlflow", "trackio", pytest.param("swanlab", marks=pytest.mark.run)])
def test_a_server_that_does_not_answer_is_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in SERVERS[name].items():
        monkeypatch.setenv(variable, value)
    said: list[str] = []
    loggers = Loggers({name: made(name)}, tmp_path, {}, said.append)
    loggers.begin()
    loggers.scalars("interact", {"return": 1.0}, 1)
    loggers.close()
    assert len(said) == 1
    assert said[0].startswith(f"logger {name} stopped: ")
    assert "\n" not in said[0]
