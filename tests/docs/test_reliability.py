"""docs/reliability.md is made from what was tried, and its commands exist."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.stress import counts, page
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
