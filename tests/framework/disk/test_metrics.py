"""The numbers of a run on disk: CSV files and TensorBoard events, which a resume continues as one curve."""

import io
import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framework.disk import csv_table
from framework.disk.csv_log import CsvLog
from framework.disk.csv_table import read_csv, read_table
from framework.errors import TaskDirError
from framework.record.loggers import Loggers
from framework.record.run_log import is_point
from framework.record.tensorboard import TensorBoard, masked_crc32c


def test_a_csv_row_holds_the_shortest_text_of_each_number(tmp_path: Path) -> None:
    log = CsvLog(tmp_path / "train.csv", ["episode", "return", "terminated", "loss"])
    log.append({"episode": np.int64(3), "return": np.float32(0.1), "terminated": True})
    log.append({"episode": 4, "return": 0.1, "terminated": np.bool_(False), "loss": float("nan")})
    log.close()
    text = (tmp_path / "train.csv").read_text()
    assert text == "episode,return,terminated,loss\n3,0.10000000149011612,1,\n4,0.1,0,nan\n"
    rows = read_csv(tmp_path / "train.csv")
    assert rows[0]["episode"] == 3
    assert isinstance(rows[0]["episode"], int)
    assert np.isnan(rows[0]["loss"])
    assert rows[1]["return"] == 0.1


def test_rows_that_are_written_as_one_block_have_the_text_of_single_ones(tmp_path: Path) -> None:
    same, nan = 0.1, float("nan")
    rows: list[dict[str, Any]] = [
        {"episode": 1, "return": 0.0, "terminated": True, "loss": same},
        {"episode": np.int64(2), "return": -0.0, "terminated": False, "loss": same, "kind": nan},
        {"episode": 3, "return": 1, "terminated": np.bool_(True), "loss": same, "kind": nan},
    ]
    columns = ["episode", "return", "terminated", "loss", "kind"]
    single, block = CsvLog(tmp_path / "single.csv", columns), CsvLog(tmp_path / "block.csv", columns)
    for row in rows:
        single.append(row)
    block.extend(rows)
    single.close()
    block.close()
    text = (tmp_path / "block.csv").read_text()
    assert text == "episode,return,terminated,loss,kind\n1,0.0,1,0.1,\n2,-0.0,0,0.1,nan\n3,1,1,0.1,nan\n"
    assert text == (tmp_path / "single.csv").read_text()


def test_a_table_has_the_rows_of_a_file_and_its_columns_as_numbers(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(csv_table, "_BLOCK_ROWS", 2)
    path = tmp_path / "a.csv"
    path.write_text("name,step,mean,big\na,1,0.5,7\nb,2,,99999999999999999999\n1,3,2,8\ntoo,few\nc,4,inf,9\nd,5,1.")
    table = read_table(path)
    first = {"name": "a", "step": 1, "mean": 0.5, "big": 7}
    assert len(table) == 4
    assert table[0] == first
    assert type(table[0]["step"]) is int
    assert table[-1] == {"name": "c", "step": 4, "mean": float("inf"), "big": 9}
    assert [row["name"] for row in table] == ["a", "b", 1, "c"]
    assert [row["step"] for row in table[1:3]] == [2, 3]
    assert str(read_csv(path)) == (
        "[{'name': 'a', 'step': 1, 'mean': 0.5, 'big': 7.0}, {'name': 'b', 'step': 2, 'mean': nan, 'big': 1e+20}, "
        "{'name': 1, 'step': 3, 'mean': 2.0, 'big': 8.0}, {'name': 'c', 'step': 4, 'mean': inf, 'big': 9.0}]"
    )
    np.testing.assert_array_equal(table.numbers("mean"), [0.5, np.nan, 2.0, np.inf])
    np.testing.assert_array_equal(table.numbers("name"), [np.nan, np.nan, 1.0, np.nan])
    assert np.isnan(table.numbers("none")).tolist() == [True] * 4
    path.write_text("loss,step\n" + ",1\n" * 3)
    assert read_table(path)._columns["loss"].dtype == float, "a metric before the first update"
    for place in (4, -5):
        with pytest.raises(IndexError):
            table[place]
    assert not len(read_table(tmp_path / "absent.csv"))
    for text, rows in (
        ("", "[]"),
        ("step,mean\n", "[]"),
        ("step,step\n1,2\n", "[{'step': 2}]"),
        ("step,mean\r\n1,2\r\n", "[{'step': 1, 'mean\\r': 2}]"),
        ("step,seconds\n1,0.5\n,\n3,1.5\n", "[{'step': 1, 'seconds': 0.5}, {'step': nan, 'seconds': nan}, "
                                            "{'step': 3, 'seconds': 1.5}]"),
    ):  # fmt: skip
        path.write_text(text, newline="")
        assert str(read_csv(path)) == rows


def test_a_resumed_csv_equals_one_that_was_never_interrupted(tmp_path: Path) -> None:
    """RES-4 and DET-3, file side: one curve, no row twice, none missing, equal bytes."""
    rows = [{"episode": n, "return": n / 3} for n in range(10)]
    straight = CsvLog(tmp_path / "straight.csv", ["episode", "return"])
    for row in rows:
        straight.append(row)
    straight.close()

    killed = CsvLog(tmp_path / "train.csv", ["episode", "return"])
    for row in rows[:4]:
        killed.append(row)
    position = killed.position()
    for row in rows[4:7]:
        killed.append(row)
    killed.flush()
    with open(tmp_path / "train.csv", "ab") as torn:
        torn.write(b"7,2.3")
    assert [row["episode"] for row in read_csv(tmp_path / "train.csv")] == list(range(7))

    resumed = CsvLog(tmp_path / "train.csv", ["episode", "return"])
    resumed.restore(position)
    for row in rows[4:]:
        resumed.append(row)
    resumed.close()
    assert (tmp_path / "train.csv").read_bytes() == (tmp_path / "straight.csv").read_bytes()


def test_a_csv_refuses_a_position_that_is_not_the_end_of_a_row(tmp_path: Path) -> None:
    log = CsvLog(tmp_path / "train.csv", ["episode"])
    log.append({"episode": 12})
    end = log.position()
    for wrong in (end - 1, end + 1, 3, 0):
        with pytest.raises(ValueError, match="cannot end"):
            log.restore(wrong)
    log.restore(end)
    log.close()


def test_a_csv_with_other_columns_or_a_torn_header_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("episode,retu")
    CsvLog(tmp_path / "a.csv", ["episode", "return"]).close()
    assert (tmp_path / "a.csv").read_text() == "episode,return\n"
    with pytest.raises(TaskDirError, match="other columns"):
        CsvLog(tmp_path / "a.csv", ["episode", "reward"])
    with pytest.raises(ValueError, match="no column"):
        CsvLog(tmp_path / "a.csv", ["episode", "return"]).append({"rewrad": 1})


class _FullDisk(io.RawIOBase):
    """A file on a disk with room for so many more bytes."""

    def __init__(self, path: Path, room: int) -> None:
        self.real, self.room = open(path, "ab", buffering=0), room  # noqa: SIM115

    def write(self, data: bytes) -> int:
        if not self.room:
            raise OSError(28, "No space left on device")
        written = self.real.write(data[: self.room])
        self.room -= written
        return written

    def truncate(self, size: int | None = None) -> int:
        return self.real.truncate(size)


def test_a_full_disk_is_loud_and_the_rows_wait_for_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.csv"
    log = CsvLog(path, ["episode"])
    log.append({"episode": 1})
    log.flush()
    with monkeypatch.context() as patch:
        patch.setattr(log, "_file", _FullDisk(path, room=3))
        for n in (22, 33, 44):
            log.append({"episode": n})
        with pytest.raises(OSError, match="No space"):
            log.flush()
        assert path.read_text() == "episode\n1\n"
    log.close()
    assert path.read_text() == "episode\n1\n22\n33\n44\n"


def _curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder), purge_orphaned_data=False)
    accumulator.Reload()
    return {tag: [(e.step, e.value) for e in accumulator.Scalars(tag)] for tag in accumulator.Tags()["scalars"]}


def test_the_checksum_of_event_records_is_crc_32c() -> None:
    crc = 0xE3069283  # the published check value of CRC-32C for "123456789"
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert masked_crc32c(b"123456789") == masked.to_bytes(4, "little")


def _board(folder: Path, state: Any = None) -> TensorBoard:
    """A logger that has started in a task directory; its files are in tb_logs/."""
    board = TensorBoard()
    board.start(folder, {}, state or {})
    return board


def test_tensorboard_reads_one_curve_after_a_resume(tmp_path: Path) -> None:
    """RES-4: nothing twice, nothing missing, in JoyRL's groups; steps of the two groups have different units."""
    board = _board(tmp_path)
    for step in (1, 2, 300_000):
        board.scalars("interact", {"train_ep_reward": step / 2, "train_ep_step": step}, step)
    early = board.state()
    board.scalars("model", {"train_loss": 1e39}, 7)
    state = board.state()
    board.scalars("interact", {"train_ep_reward": -1.0}, 300_001)
    board.scalars("model", {"train_loss": -1.0}, 8)
    board.close()
    for _ in range(2):  # a second resume from the same place equals the first
        board = _board(tmp_path, state)
        board.scalars("interact", {"train_ep_reward": 4.0}, 300_001)
        board.close()
    assert _curves(tmp_path / "tb_logs" / "interact") == {
        "train_ep_reward": [(1, 0.5), (2, 1.0), (300_000, 150_000.0), (300_001, 4.0)],
        "train_ep_step": [(1, 1.0), (2, 2.0), (300_000, 300_000.0)],
    }
    assert _curves(tmp_path / "tb_logs" / "model") == {"train_loss": [(7, float("inf"))]}
    _board(tmp_path, early).close()  # taken before the second group had a file
    assert _curves(tmp_path / "tb_logs" / "model") == {}


def test_a_checkpoint_cannot_name_folders_and_one_without_a_state_drops_nothing(tmp_path: Path) -> None:
    """SEC-1: a group is not a path; after a failure the position is unknown, and no curve may be lost."""
    board = _board(tmp_path / "run")
    board.scalars("interact", {"x": 1.0}, 1)
    board.close()
    other = _board(tmp_path)
    other.scalars("victim", {"x": 2.0}, 2)
    other.close()
    victim = tmp_path / "tb_logs" / "victim"
    hostile = {"../../tb_logs/victim": [0, 0], str(victim): [0, 0], str(tmp_path / "made"): [0, 0]}
    _board(tmp_path / "run", hostile).close()
    assert _curves(victim) == {"x": [(2, 2.0)]}
    assert not (tmp_path / "made").exists()
    board = _board(tmp_path / "again")
    board.scalars("interact", {"x": 1.0}, 1)
    board.close()
    _board(tmp_path / "again").close()
    assert _curves(tmp_path / "again" / "tb_logs" / "interact") == {"x": [(1, 1.0)]}


def test_tensorboard_shows_the_settings_as_text_and_as_hyperparameters(tmp_path: Path) -> None:
    """Read back by the package's own plugins."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import metadata as hparams
    from tensorboard.plugins.text import metadata as text
    from tensorboard.util import tensor_util

    board = TensorBoard()
    board.start(tmp_path, {"algo_cfg": {"lr": 0.5, "double": True, "layers": [64, "ü"]}, "env_cfg": {"id": "Ä"}}, {})
    board.scalars("interact", {"x": 1.0}, 5)
    board.close()
    found = EventAccumulator(str(tmp_path / "tb_logs" / "interact"))
    found.Reload()
    [event] = found.Tensors("settings/text_summary")
    assert text.parse_plugin_metadata(found.SummaryMetadata("settings/text_summary").plugin_data.content).version == 0
    [written] = tensor_util.make_ndarray(event.tensor_proto)
    assert "\n      lr: 0.5\n" in written.decode()
    assert "id: Ä" in written.decode()
    [(tag, content)] = found.PluginTagToContent("hparams").items()
    assert tag == hparams.SESSION_START_INFO_TAG
    values = hparams.parse_session_start_info_plugin_data(content).hparams
    assert {name: getattr(value, value.WhichOneof("kind")) for name, value in values.items()} == {
        "algo_cfg.lr": 0.5, "algo_cfg.double": True, "algo_cfg.layers": "[64, 'ü']", "env_cfg.id": "Ä",
    }  # fmt: skip
    assert tensor_util.make_ndarray(found.Tensors(tag)[0].tensor_proto).size == 0
    assert [(each.step, each.value) for each in found.Scalars("x")] == [(5, 1.0)]


def test_a_curve_in_tensorboard_is_thinned_as_it_grows() -> None:
    """All points up to 1,000, half of those up to 2,000, a quarter of those up to 4,000."""
    points = [n for n in range(1, 4000) if is_point(n - 1, n, 1)]
    assert points == [*range(1, 1000), *range(1000, 2000, 2), *range(2000, 4000, 4)]
    assert [n for n in range(1, 50) if is_point(n - 1, n, 10)] == [10, 20, 30, 40]
    chunks = [n for n in range(65, 64_065, 64) if is_point(n - 64, n, 1)]  # never a multiple of 64
    assert len(chunks) == 1000, "each chunk passes a multiple of the stride"
    assert {b - a for a, b in itertools.pairwise(chunks)} == {64}


def test_training_outlives_tensorboard(tmp_path: Path) -> None:
    (tmp_path / "tb_logs").write_text("a file where the folder should be")
    warnings: list[str] = []
    loggers = Loggers({"tensorboard": TensorBoard()}, tmp_path, {}, warnings.append)
    loggers.begin()
    for step in range(3):
        loggers.scalars("interact", {"train_ep_reward": 1.0}, step)
    assert loggers.state() == {}
    loggers.close()
    assert len(warnings) == 1
    assert "Training goes on" in warnings[0]


def test_no_file_handle_is_left_behind(tmp_path: Path) -> None:
    """MEM-3: the number of open files does not grow with episodes, evaluations or resumes."""
    log, board = CsvLog(tmp_path / "a.csv", ["x"]), _board(tmp_path)
    board.scalars("interact", {"x": 1.0}, 0)
    before = len(os.listdir("/proc/self/fd"))
    for step in range(50):
        log.append({"x": step})
        board.scalars("interact", {"x": 1.0}, step)
        log.restore(log.position())
        state = board.state()
        board.close()
        board.start(tmp_path, {}, state)
        read_csv(tmp_path / "a.csv")
    assert len(os.listdir("/proc/self/fd")) == before
    log.close()
    board.close()
    assert len(os.listdir("/proc/self/fd")) == before - 2
