"""The recording of the READMEs: what the script draws is what a terminal shows."""

from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

from config.program import ROOT
from tests.tools.site_scripts import script

IMAGES = ROOT / "docs" / "images"


@pytest.fixture(scope="module")
def recording() -> ModuleType:
    """The script."""
    return script("recording")


def rows(terminal: object) -> list[str]:
    return ["".join(cell.character for cell in line).rstrip() for line in terminal.screen()]  # type: ignore[attr-defined]


def test_lines_that_are_rewritten_and_erased_leave_what_a_terminal_leaves(recording: ModuleType) -> None:
    terminal = recording.Terminal()
    terminal.feed("one\r\n\x1b[36m50%\x1b[0m of it\r\x1b[2K\x1b[1A\x1b[2Ktwo\r\nloading\x1b[K\r")
    terminal.feed("\r\x1b[Kdone 中文\r\n")
    assert rows(terminal) == ["two", "done 中文"]
    terminal.feed("\x1b[1mbold\x1b[0m" + "x" * recording.COLUMNS)
    last = terminal.screen()[-2]
    assert len(last) == recording.COLUMNS, "what is too long goes on in the next line"
    assert [last[3].codes, last[4].codes] == [(1,), ()]


def test_a_letter_or_a_sequence_that_is_cut_waits_for_its_rest(recording: ModuleType) -> None:
    assert recording._decoded("中".encode()[:2]) == ("", "中".encode()[:2])
    assert recording._decoded(b"a\x1b[3") == ("a", b"\x1b[3")


def test_a_long_run_is_shown_faster_and_its_end_stays(recording: ModuleType) -> None:
    shown = recording.screens([(float(second), f"{second}\r") for second in range(0, 161, 4)])
    assert sum(seconds for _, seconds in shown) == pytest.approx(
        recording.FIRST + recording.SECONDS + recording.LAST, abs=2 * recording.STEP
    )
    assert shown[-1][1] == recording.LAST


@pytest.mark.parametrize("name", ["terminal.gif", "terminal_dark.gif"])
def test_the_pictures_are_small_legible_and_those_that_the_readmes_show(name: str, recording: ModuleType) -> None:
    path = Path(IMAGES / name)
    assert path.stat().st_size <= 400_000
    with Image.open(path) as image:
        assert image.size[0] >= 800
        assert image.n_frames > 10
        assert image.convert("RGB").getpixel((1, 1)) == tuple(bytes.fromhex(recording.THEMES[name].paper[1:]))
    for readme in ("README.md", "README.zh.md"):
        assert f"docs/images/{name}" in (ROOT / readme).read_text(encoding="utf-8")
