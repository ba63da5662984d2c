"""What a person who waits sees: no silence, whatever the program is at."""

import io
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from algos.base import Progress
from config.config import GeneralConfig
from config.program import ROOT
from config.tell.cells import cells
from framework.record.console import Console, pausing_for
from framework.screen import stages, terminal
from framework.screen.stages import each, look, part, stage
from framework.screen.text import cut, wrapped

LONGEST = 1.5
"""Seconds of silence, of which the stages below last twice as long. Nothing of a command line may take five."""
SLOW = """
import sys, time
from framework.screen import stages
from framework.screen.terminal import Screen
print("begins", flush=True)
with stages.shown{hidden}:
    with stages.stage("reading a large file", lambda: "3 of 20 MiB"):
        time.sleep({seconds})
    print("ends", flush=True)
"""


def on_terminal(code: str, width: int = 80) -> tuple[float, str]:
    """Runs a program on a terminal of its own. Returns its longest silence in seconds, and what it wrote."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": str(width), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", code], stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        output, longest, last = b"", 0.0, None
        while process.poll() is None or select.select([ours], [], [], 0)[0]:
            if not select.select([ours], [], [], 0.05)[0]:
                continue
            try:
                output += os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            now = time.monotonic()
            longest = max(longest, now - last) if last is not None else longest  # from its first line on
            last = now
    os.close(ours)
    assert process.returncode == 0, output.decode()
    return longest, output.decode()


def test_a_stage_that_takes_long_is_never_silent_and_leaves_nothing_behind() -> None:
    silence, output = on_terminal(SLOW.format(hidden="()", seconds=2 * LONGEST))
    assert silence < LONGEST
    assert "reading a large file: 3 of 20 MiB, 0:02 so far" in output
    assert output.endswith("\r\x1b[K\rends\r\n")


def test_the_limit_on_silence_tells_a_stage_that_is_not_shown() -> None:
    """The test above fails if nothing looks at the stage: here nothing does."""
    silence, output = on_terminal(SLOW.format(hidden="_on(Screen())", seconds=2 * LONGEST))
    assert silence > LONGEST
    assert "reading" not in output


def test_a_call_that_blocks_in_a_round_is_shown_with_the_steps_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step of an environment that takes minutes: the thread shows what the round is at, and moves the clock."""
    monkeypatch.setenv("TERM", "dumb")
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    console = Console(tmp_path / "log.txt", GeneralConfig(max_episode=100), stream)
    console.start(Progress(), doing=lambda: "collecting: 7 of 64 steps")
    for _ in range(25):
        now[0] += 1
        stages.look()
    console.close()
    lines = stream.getvalue().splitlines()
    trained = "trained episode 0 of 100, step 0 (0/s), update 0 (0/s)"
    assert lines[0] == f"0:10 so far | {trained} | now collecting: 7 of 64 steps, 0:10 so far"
    assert lines[1] == f"0:20 so far | {trained} | now collecting: 7 of 64 steps, 0:20 so far"
    assert len(lines) == 2


def test_in_a_pipe_a_command_tells_its_stage_every_thirty_seconds_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with stages.shown(), stage("reading data", lambda: "2 of 9 files"):
        for _ in range(65):
            now[0] += 1
            stages.look()
    output = capsys.readouterr()
    assert output.err.splitlines() == [f"reading data: 2 of 9 files, {s} so far" for s in ("0:30", "1:00")]
    assert output.out == ""


def test_a_command_tells_no_short_stage_after_a_run_that_has_shown_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time in which another screen was written to is no silence: what is closed at the end is not told."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    with stages.shown_on(terminal.Plain(terminal.Steady(stream), 30.0, announces=False)):
        with stages.shown_on(terminal.Screen()):
            clock[0] = 100.0
        with stage("closing 10 environments"):
            pass
        assert not stream.getvalue()
        with stage("copying"):
            clock[0] = 131.0
            look()
        assert stream.getvalue() == "copying, 0:31 so far\n"


def test_a_stage_after_the_end_of_a_job_is_told_without_its_last_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    screen = terminal.Plain(terminal.Steady(stream), 30.0)
    with stages.shown_on(screen):
        screen.draw(0.5, "2 of 3 runs ended", [("seed 3", "50%")])
        screen.close()
        stream.truncate(0)
        with stage("drawing the learning curves"):
            clock[0] = 31.0
            look()
    assert stream.getvalue().strip("\0") == "drawing the learning curves, 0:31 so far\n"


def test_the_innermost_stage_is_shown_and_then_the_one_around_it() -> None:
    shown: list[str] = []

    class Seen(terminal.Screen):
        interval = 0.5

        def _put(self, fraction: float | None, head: str, rows: terminal.Sequence[terminal.Row]) -> None:
            shown.append(head)

    with stages.shown_on(Seen()), stage("outer"):
        numbers = [number for number in each("inner", [10, 20], "numbers") if not stages.look()]
    assert numbers == [10, 20]
    assert list(dict.fromkeys(shown)) == ["outer", "inner: 0 of 2 numbers", "inner: 1 of 2 numbers"]
    assert shown[-1] == "outer"


def test_what_a_stage_counts_may_be_between_two_states() -> None:
    """Another thread reads it while the work changes it: an error there is no error of the work."""
    assert stages.Stage("saving", lambda: str(1 // 0)).text() == "saving"


def test_parts_are_counted_with_and_without_an_end() -> None:
    assert part(3, 20, "episodes") == "3 of 20 episodes"
    assert part(1234, 0, "steps") == "1,234 steps"
    assert part(2, None, "files") == "2 files"


# ------------------------------------------------------------------------------------------------- width


def test_a_line_that_is_rewritten_ends_with_a_whole_word() -> None:
    text = "making 8 environments, 0:12 so far"
    assert cut(text, 80) == text
    assert cut(text, 20) == "making 8 …"
    assert cut("x" * 50, 20) == "x" * 18 + " …"
    assert cells("评估 3") == 6
    assert cells(cut("评估模型，第三次", 9)) <= 9
    assert [cut(text, width) for width in (0, 1, 2)] == [" …"] * 3, "a terminal may have one column"


def test_a_line_that_stays_is_wrapped_between_words_and_a_command_is_not() -> None:
    text = "warning: the disk is nearly full; free some of it, or go on: python main.py resume tasks/a"
    assert wrapped(text, 60) == [
        "warning: the disk is nearly full; free some of it, or go on:",
        "  python main.py resume tasks/a",
    ]
    row = "to resume  python main.py --allow-import mine resume tasks/a_long_name"
    assert wrapped(row, 40) == [row], "a command is copied in one piece"
    assert wrapped("score    a b c d e f g h i j k l m n o", 30) == [
        "score    a b c d e f g h i j k",
        "         l m n o",
    ]


def block(width: int, rows: list[terminal.Row], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the lines of the block that a terminal of this width shows."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))

    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    stream = Terminal()
    screen = terminal.choose(stream)
    screen.draw(0.5, "50%, 0:50 so far, 0:50 left", rows)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue()).replace("\r", "")
    screen.close()
    return [line.rstrip() for line in text.splitlines()]


def test_a_wide_terminal_shows_rows_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        ("trained", "episode 50 of 100, step 1,000 (20/s), update 500 (10/s)"),
        ("return", "49, mean of 20: 39.5, best 49, length 20"),
        ("agent", "loss 0.5, epsilon 0.1"),
    ]
    narrow, wide = block(80, rows, monkeypatch), block(120, rows, monkeypatch)
    assert [line.split()[0] for line in narrow[1:]] == ["trained", "return", "agent"]
    assert len(wide) == 3
    assert max(map(len, narrow)) <= 77
    assert 80 < max(map(len, wide)) <= 117
    assert wide[1].endswith("return  49, mean of 20: 39.5, best 49, length 20")


def test_a_chinese_line_is_wrapped_between_characters_below_its_second_column() -> None:
    text = "得分      " + "这次运行的得分不高于随机策略。" * 4
    lines = wrapped(text, 40)
    assert all(cells(line) <= 40 for line in lines)
    assert "".join(line.strip() for line in lines) == text
    assert {len(line) - len(line.lstrip()) for line in lines[1:]} == {10}
    [*_, command] = wrapped("警告：" + "这次运行没有保存；" * 5 + "用 python main.py resume tasks/a", 40)
    assert command.strip() == "python main.py resume tasks/a"


def test_a_line_of_chinese_that_is_cut_fits() -> None:
    text = cut("正在读取检查点：20 / 400 MiB，已用 0:10", 24)
    assert text == "正在读取检查点：20 / …"
    assert cells(text) <= 24


@pytest.mark.parametrize(
    ("newest", "pausing"),
    [
        ("evaluating the model of update 1,000", True),
        ("正在评估第 1,000 次更新的模型", True),
        ("filming episode 3", True),
        ("正在测量随机策略", True),
        ("evaluation: 3 at update 1,000", False),
        ("回合 3：回报 1，长度 2", False),
    ],
)
def test_what_a_run_pauses_for_is_read_from_a_log_in_any_language(tmp_path: Path, newest: str, pausing: bool) -> None:
    log = tmp_path / "log.txt"
    log.write_text(f"2026-01-31 10:15:00,000 INFO it began\n2026-01-31 10:15:01,000 INFO {newest}\n", encoding="utf-8")
    assert pausing_for(log) == (newest if pausing else "")
