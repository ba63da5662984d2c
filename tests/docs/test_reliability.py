"""docs/reliability.md is made from what was tried, and its commands exist."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.stress import counts, page, soak_page
from tests.stress.promises import DEFECTS, ROWS, Row
from tests.tools.pages import ROOT


def test_the_tables_are_made_from_the_results() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.written(text) == text, "write them anew: python -m tests.stress page"


def test_each_row_is_one_command_that_exists() -> None:
    assert len({row.key for row in ROWS}) == len({row.command for row in ROWS}) == len(ROWS)
    for row in ROWS:
        name, *words = row.command.split()
        if name == "pytest":
            assert words
            assert [word for word in words if not (ROOT / word).exists()] == []
        else:
            assert find_spec(f"tests.stress.{name}"), row.command


@pytest.mark.parametrize("row", [row for row in ROWS if row.share], ids=lambda row: row.key)
def test_a_share_is_of_the_command_and_another_one_in_the_next_session(row: Row) -> None:
    assert row.share is not None
    first, second = row.share(1, 60.0), row.share(2, 60.0)
    assert first[0] == row.command.split()[0]
    assert first != second, "it would try the same again"


def test_each_defect_has_a_test() -> None:
    for defect in DEFECTS:
        for name in defect.tests:
            file, _, function = name.partition("::")
            text = (ROOT / "tests" / file).read_text(encoding="utf-8")
            assert not function or re.search(rf"^def {function}\(", text, re.MULTILINE), name


def test_counts_are_of_all_rows_below_a_key_and_begin_anew_when_a_loss_is_mended() -> None:
    def entry(row: str, tried: int, lost: int = 0, date: str = "2026-01-01") -> dict[str, object]:
        return {"row": row, "tried": tried, "lost": lost, "date": date}

    lines = [
        entry("fuzz a", 5, 1),
        entry("fuzz b", 7, date="2026-01-02"),
        entry("fuzzy", 100),
        {"row": "fuzz a", "mended": "x"},
        entry("fuzz a", 2, date="2026-01-03"),
    ]
    total, date = counts.sums("fuzz", lines)
    assert (total["tried"], total["lost"], date) == (9, 0, "2026-01-03")
    assert counts.sums("fuzz a", lines[:1])[0]["lost"] == 1
    assert counts.sums("kills", lines) == ({}, "")


def test_what_is_recorded_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts.record("a", 1, 0)  # without a file nothing is written
    monkeypatch.setenv(counts.VARIABLE, str(tmp_path / "results.jsonl"))
    counts.record("a", 3, 1, runs=2)
    assert counts.entries(tmp_path / "results.jsonl") == [{"row": "a", "tried": 3, "lost": 1, "runs": 2}]


def soaked(change: float, rate: float = 0.0) -> list[soak_page.Block]:
    """Samples of two sessions of an hour, the second 50 MiB higher: memory changes by so many MiB in an hour, and the
    steps per second by so many percent."""
    rows = []
    for session in (1, 2):
        done = 0.0
        for at in range(361):
            hours = at / 360
            wave = ((at * 7919) % 101 - 50) / 50
            memory = 100 + 50 * (session - 1) + change * hours + (40 if at < 20 else wave)
            rows.append({"session": str(session), "part": "train", "seconds": str(10 * at), "memory": str(memory),
                         "descriptors": "20", "threads": "5", "steps": str(done), "disk": "1"})  # fmt: skip
            done += 10 * 50 * (1 + rate / 100 * hours)
    return soak_page.means(rows)


def test_a_soak_finds_the_slope_that_all_sessions_share() -> None:
    """Neither a start that takes 40 MiB more for some minutes nor another level of a session is a slope."""
    its = soak_page.slope(soaked(6.0), "memory")
    assert its is not None
    assert its.change == pytest.approx(6.0, abs=0.2)
    assert abs(its.change - 6.0) < its.error < 0.5
    assert soak_page.slope(soaked(0.0), "memory").change == pytest.approx(0.0, abs=0.2)  # type: ignore[union-attr]


@pytest.mark.parametrize(("change", "rate", "bad"), [(0.0, 0.0, 0), (3.0, -1.0, 0), (6.0, 0.0, 1), (6.0, -5.0, 2)])
def test_a_leak_and_a_run_that_slows_down_are_too_large(change: float, rate: float, bad: int) -> None:
    lines, found = soak_page.summary(soaked(change, rate))
    assert found == bad
    assert lines[0].startswith("| 2.0 hours, 2 sessions |")
    assert [line for line in lines if line.startswith("| train | threads | 5.0 |")]


def test_the_picture_of_a_soak_has_a_line_for_each_part() -> None:
    text = soak_page.picture([*soaked(1.0), *(block._replace(part="ray") for block in soaked(2.0))])
    assert text.count("<polyline") == 9
    assert "2.0 h" in text


def test_published_sessions_add_up_and_one_that_is_published_again_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak_page, "MEANS", tmp_path / "soak.csv")
    monkeypatch.setattr(soak_page, "PICTURE", tmp_path / "soak.svg")
    first, second = ([block for block in soaked(1.0) if block.session == session] for session in ("1", "2"))
    for blocks in (second[:5], first, second):
        soak_page.publish(blocks)
    assert [block.session for block in soak_page.published()] == ["1"] * len(first) + ["2"] * len(second)
    assert soak_page.published()[0].memory == pytest.approx(first[0].memory, abs=0.01)
    assert page.of_soak().startswith("| 2.0 hours, 2 sessions |")
