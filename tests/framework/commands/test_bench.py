"""python main.py bench: what is measured, what is printed, and what is left behind (nothing)."""

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from config.read.loader import load
from framework.catalog import ALGOS, ENVS
from framework.collect.env_calls import Watch
from framework.commands.work import bench
from framework.commands.work.bench import Choice, Speed, table
from framework.errors import JoystickError, Stopped
from framework.record.run_log import Count
from main import main

TOY = ["general_cfg.env_name=toy", "env_cfg.id=shifted", "general_cfg.algo_name=QLearning"]


@pytest.fixture(autouse=True)
def _empty_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Neither the working directory nor the folder for temporary files keeps anything."""
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    yield
    assert not list((tmp_path / "here").iterdir())
    assert not list((tmp_path / "temporary").iterdir())


def run(*words: str) -> int:
    """The exit status, also where argparse ends the program."""
    try:
        return main(["bench", *words])
    except SystemExit as end:
        return int(end.code or 0)


def rows(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """The words of each line of the table, and of the advice."""
    lines = capsys.readouterr().out.splitlines()
    head = next(number for number, line in enumerate(lines) if "steps/s" in line)
    return [line.split() for line in lines[head:]]


def test_the_table_marks_the_most_steps_and_ends_with_the_settings_to_write() -> None:
    results = {
        Choice(0, 1): Speed(1000.4, 500.2),
        Choice(0, 4): Speed(20_000, 250),
        Choice(2, 4): Speed(19_999, 9_999),
        Choice(2, 8): "batch_size must be divisible by n_envs",
    }
    assert [line.split() for line in table(results)] == [
        ["workers", "n_envs", "steps/s", "updates/s"],
        ["0", "1", "1000", "500.2"],
        ["0", "4", "20,000", "250", "fastest"],
        ["2", "4", "19,999", "9999"],
        ["2", "8", *results[Choice(2, 8)].split()],
        ["write:", "general_cfg.mp_backend=single", "env_cfg.n_envs=4"],
    ]
    del results[Choice(0, 4)]
    assert table(results)[-1] == "write: general_cfg.mp_backend=ray general_cfg.n_workers=2 env_cfg.n_envs=4"
    assert table({})[1:] == ["nothing was measured"]


class FakeRun:
    """A run whose rounds take half a second: three of 1,000 random steps each, then 10 steps and 5 updates each."""

    def __init__(self, clock: list[float]) -> None:
        self.watch, self.trainer, self.clock = Watch(), self, clock
        self.count = Count()

    def __enter__(self) -> "FakeRun":
        return self

    def __exit__(self, *_: object) -> None:
        """Closes nothing."""

    def round(self) -> None:
        self.clock[0] += 0.5
        warming = self.count.step < 3000
        self.count = Count(self.count.step + (1000 if warming else 10), 0, self.count.update + (0 if warming else 5))


@pytest.mark.parametrize(("most", "speed"), [(60.0, Speed(20, 10)), (1.0, Speed((1000 + 3 * 10) / 2, 15 / 2))])
def test_the_steps_before_the_first_update_are_not_counted_unless_they_take_too_long(
    monkeypatch: pytest.MonkeyPatch, most: float, speed: Speed
) -> None:
    """With most = 1 s the measurement begins after two rounds: it sees 1,000 random steps and three rounds of 10."""
    clock = [0.0]
    monkeypatch.setattr(bench, "Experiment", lambda *_, **__: FakeRun(clock))
    monkeypatch.setattr(bench, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(bench, "MOST_WARM_UP", most)
    config = load(None, [*TOY, "general_cfg.env_timeout=0"], find_algo=ALGOS, find_env=ENVS)
    assert bench.measure(config, 2.0, lambda: False) == speed


def test_a_combination_is_really_trained_and_nothing_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "WARM_UP", 0.0)
    assert run("--workers", "0", "--envs", "2", "--seconds", "0.1", *TOY) == 0
    _, row, advice = rows(capsys)
    assert row[:2] == ["0", "2"]
    assert row[-1] == "fastest"
    assert float(row[2].replace(",", "")) > 100
    assert advice == ["write:", "general_cfg.mp_backend=single", "env_cfg.n_envs=2"]


def test_ctrl_c_ends_with_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(config, seconds, stopping):
        if config.env.n_envs == 1:
            return Speed(7, 3)
        signal.raise_signal(signal.SIGINT)
        assert stopping()
        raise Stopped("stopped")

    monkeypatch.setattr(bench, "measure", measure)
    assert run("--workers", "0", "--envs", "1,2,3", *TOY) == 130
    assert rows(capsys)[1:] == [
        ["0", "1", "7", "3", "fastest"],
        ["write:", "general_cfg.mp_backend=single", "env_cfg.n_envs=1"],
    ]


def test_a_pipe_gets_a_line_for_each_combination_before_it_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = []

    def measure(config, seconds, stopping):
        shown.append(capsys.readouterr().out)
        return Speed(1, 1)

    monkeypatch.setattr(bench, "measure", measure)
    assert run("--workers", "0", "--envs", "1,2,3,4,5,6,7,8,9,10,11,12", *TOY) == 0
    assert len(shown) == 12
    for number, text in enumerate(shown, start=1):
        said = f"measuring general_cfg.mp_backend=single env_cfg.n_envs={number} ({number} of 12)\n"
        assert text == said


def test_a_combination_that_is_refused_is_a_row_and_all_of_them_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(config, seconds, stopping):
        if config.env.n_envs == 2:
            raise JoystickError("two rows\ndo not fit")
        return Speed(7, 3)

    monkeypatch.setattr(bench, "measure", measure)
    assert run("--workers", "0", "--envs", "2,3", *TOY) == 0
    assert rows(capsys)[1] == ["0", "2", "two", "rows", "do", "not", "fit"]
    assert run("--workers", "0", "--envs", "2", *TOY) == 2
    assert rows(capsys)[-1] == ["nothing", "was", "measured"]


def test_every_combination_has_the_same_seed_and_the_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(bench, "measure", lambda config, *_: seen.append(config) or Speed(1, 1))
    assert run("--workers", "0,2", "--envs", "1,4", *TOY, "algo_cfg.lr=0.25", "general_cfg.collect_traj=true") == 0
    assert [(each.general.mp_backend, each.env.n_envs) for each in seen] == [
        ("single", 1), ("single", 4), ("ray", 1), ("ray", 4),
    ]  # fmt: skip
    assert [each.general.n_workers for each in seen[2:]] == [2, 2]
    assert {(each.general.seed, each.algo.lr, each.general.collect_traj) for each in seen} == {(1, 0.25, False)}
    assert len({each.into for each in seen}) == 4


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--workers", "0,x"], "--workers: invalid list '0,x': use numbers from 0 to 64, such as 1,2,4"),
        (["--workers", ""], "invalid list ''"),
        (["--envs", "0"], "--envs: invalid list '0': use numbers from 1 to 64"),
        (["--seconds", "nan"], "invalid number of seconds 'nan': use more than 0"),
        (["--worker", "1"], "unknown flag --worker; did you mean --workers?"),
        (["--seeds", "1..2"], "bench trains for a few seconds and keeps nothing; leave out --seeds"),
        (["--dry-run"], "leave out --dry-run"),
        (["env_cfg.n_envs=3"], "bench varies env_cfg.n_envs: leave it out, and list the values in --envs"),
        (["general_cfg.mp_backend=ray"], "list the values in --workers (0 is one process)"),
        (["algo_cfg.lr=fast"], "algo_cfg.lr"),
    ],
)
def test_wrong_words_are_answered_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], answer: str
) -> None:
    monkeypatch.setattr(bench, "measure", lambda *_: pytest.fail("measured"))
    assert run(*words) == 2
    assert answer in capsys.readouterr().err
