"""general_cfg.log_level: what logs/log.txt contains, and which notes the terminal shows."""

import contextlib
import logging
import re
from pathlib import Path

import own_parts
import pytest

from framework.log import LOGGER, Lines, repeat
from main import main
from tests.framework.record.test_traces import DQN, train
from tests.tools.distributed import Rays, fake_rays

PLAIN = [*DQN, "algo_cfg.learning_starts=32", "general_cfg.traces=null"]


@pytest.fixture
def rays(monkeypatch: pytest.MonkeyPatch) -> Rays:
    return fake_rays(monkeypatch)


def levels(task: Path) -> set[str]:
    return set(re.findall(r"^\S+ \S+ (DEBUG|INFO|WARNING|ERROR) ", (task / "logs/log.txt").read_text(), re.MULTILINE))


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("debug", {"DEBUG", "INFO", "WARNING"}),
        ("info", {"INFO", "WARNING"}),
        ("warning", {"WARNING"}),
        ("error", set()),
    ],
)
def test_the_level_decides_what_is_written_and_warnings_are_always_shown(
    level: str, written: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    step = own_parts.Line.step

    def talking(self: own_parts.Line, action: object) -> object:
        LOGGER.warning("a warning of mine")
        return step(self, action)

    monkeypatch.setattr(own_parts.Line, "step", talking)
    task = train(tmp_path / "run", PLAIN, 200, f"general_cfg.log_level={level}")
    said = capsys.readouterr().out
    assert levels(task) == written
    assert "warning: a warning of mine" in said
    assert ("task directory:" in said) == (level in ("debug", "info"))
    assert ("first fragment" in said) == (level == "debug")
    assert "finished" in said, "the summary is no note"


def test_debug_tells_shapes_once_and_each_checkpoint(tmp_path: Path) -> None:
    task = train(tmp_path / "run", PLAIN, 300, "general_cfg.log_level=debug")
    lines = [line for line in (task / "logs/log.txt").read_text().splitlines() if " DEBUG " in line]
    (fragment,) = (line for line in lines if "first fragment" in line)
    assert re.search(r"obs float32 \[\d+, 2, 1\], action int64 \[\d+, 2\]", fragment)
    (chunk,) = (line for line in lines if "first chunk" in line)
    assert re.search(r"obs float32 \[\d+, 16, 1\]", chunk)
    saved = [re.search(r"checkpoint (\d+): (\d+) bytes in [\d.]+ s", line) for line in lines]
    sizes = {int(found[1]): int(found[2]) for found in saved if found}
    on_disk = {
        int(path.name): sum(file.stat().st_size for file in path.iterdir()) for path in (task / "models").glob("[0-9]*")
    }
    assert sizes == on_disk
    assert len(sizes) >= 3


def test_lines_of_workers_and_learners_travel_with_their_reports(
    rays: Rays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = own_parts.Line.step

    def talking(self: own_parts.Line, action: object) -> object:
        LOGGER.info("a step to the %s", "right")
        return step(self, action)

    monkeypatch.setattr(own_parts.Line, "step", talking)
    words = ["general_cfg.mp_backend=ray", "general_cfg.n_workers=2", "general_cfg.log_level=debug"]
    task = train(tmp_path / "run", PLAIN, 100, *words)
    text = (task / "logs/log.txt").read_text()
    for worker in (0, 1):
        assert f"INFO worker {worker}: a step to the right" in text
        assert text.count(f"DEBUG worker {worker}: first fragment: ") == 1
    assert text.count("DEBUG learner 0: first chunk: ") == 1
    assert text.count(": a step to the right") >= 100
    quiet = train(tmp_path / "quiet", PLAIN, 100, *words[:2], "general_cfg.log_level=warning")
    assert "a step" not in (quiet / "logs/log.txt").read_text()


def test_captured_lines_go_nowhere_else_and_the_logger_is_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []

    class Seen(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record.getMessage())

    handler, lines = Seen(), Lines("info")
    LOGGER.addHandler(handler)
    before = LOGGER.level, list(LOGGER.handlers), LOGGER.propagate
    try:
        with contextlib.suppress(ZeroDivisionError), lines.captured():
            LOGGER.info("one %d", 1)
            LOGGER.debug("two")
            raise ZeroDivisionError
        assert (LOGGER.level, LOGGER.handlers, LOGGER.propagate) == before
        assert seen == []
        taken = lines.take()
        assert taken == [(logging.INFO, "one 1")]
        assert lines.take() == []
        LOGGER.setLevel(logging.INFO)
        repeat("worker 3", taken)
        assert seen == ["worker 3: one 1"]
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(before[0])


def test_a_level_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PLAIN, "general_cfg.log_level=loud"]) == 2
    assert "general_cfg.log_level" in capsys.readouterr().err
