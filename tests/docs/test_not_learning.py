"""The page on runs that do not learn says what was measured."""

import re
from pathlib import Path

import pytest

from framework.catalog import ALGOS
from tests.tools.pages import ROOT

PAGES = [ROOT / "docs" / "tutorials" / "not_learning.md", ROOT / "docs" / "zh" / "tutorials" / "not_learning.md"]
LEARNING = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_the_scores_of_the_page_are_those_of_the_measured_rows(page: Path) -> None:
    rows = re.findall(r"^\| (\S.*?) \| (\w+) \| ([\d,]+) \| (-?[\d.]+) \|$", page.read_text(encoding="utf-8"), re.M)
    assert len(rows) == 12
    for task, algorithm, steps, score in rows:
        line = f"| {task} | {algorithm} | {steps} | 1, 2, 3 | **{score}** |"
        assert line in LEARNING, f"docs/learning.md has another score than {page.name}: {line}"


def test_the_algorithms_that_the_page_names_exist() -> None:
    table = PAGES[0].read_text(encoding="utf-8").partition("| your task has |")[2]
    names = set(re.findall(r"\b[A-Z][\w]*[A-Z]\w*\b", table)) - {"NAME"}
    assert len(names) > 25
    assert not {name for name in names if name not in ALGOS.available()}
