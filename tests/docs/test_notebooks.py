"""The notebooks of the documentation run from their first cell to their last, in both languages."""

import ast
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.tools.notebooks import ROOT, SOURCES, notebook, text
from tests.tools.paths import EVERY, in_the_suite

ENGLISH, CHINESE = (ROOT / "docs" / "notebooks" / f"first_run{end}.py" for end in ("", ".zh"))


def test_there_is_a_notebook_in_each_language() -> None:
    assert SOURCES == (ENGLISH, CHINESE)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_notebook_is_made_from_its_source_and_has_no_outputs(source: Path) -> None:
    pytest.importorskip("jupytext")
    file = source.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert file == text(source) + "\n", "python -m tests.tools.notebooks writes it"
    cells = json.loads(file)["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


def program(source: Path) -> str:
    """Returns the program of a notebook without its words for readers."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            del node.body[0]  # its docstring
    return ast.dump(tree)


def test_both_languages_have_the_same_program() -> None:
    assert program(ENGLISH) == program(CHINESE)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_links_of_a_notebook_lead_to_pages(source: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)\)", source.read_text(encoding="utf-8"))
    assert links
    assert all((source.parent / link).is_file() for link in links)


SHORTER = {
    "12_000": "4_000",
    "seeds=3": "seeds=1",
    '"online_eval_episode": 20': '"online_eval_episode": 20, "save_fig": False',
}
"""What shortens the two groups of a notebook, whose six processes take longer than all else; `python -m
tests.stress.every_case` trains them as they are printed."""


def shortened(source: str) -> str:
    """Returns the code of a cell with shorter groups."""
    for long, short in SHORTER.items():
        source = source.replace(long, short)
    return source


def outputs_of(cells: list[Any], words: str) -> dict[str, str]:
    """Returns the data of the outputs of the first cell with these words, by their kind."""
    cell = next(cell for cell in cells if words in cell.source and cell.cell_type == "code")
    kinds: dict[str, str] = {}
    for output in cell.outputs:
        kinds |= output.get("data", {}) if "data" in output else {output.get("name", output.output_type): output.text}
    return kinds


@pytest.mark.run
@pytest.mark.parametrize("source", in_the_suite(SOURCES, ENGLISH), ids=lambda source: source.stem)
def test_a_notebook_runs_and_shows_what_it_says(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("jupytext")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    book, seeds = notebook(source), 3 if EVERY else 1
    for cell in () if EVERY else book.cells:
        cell.source = shortened(cell.source)
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    cells = book.cells
    trained = outputs_of(cells, "run.train(5000)")["text/html"]
    assert "PPO on Catch" in trained
    assert "image/svg+xml" in trained
    assert "image/png" in outputs_of(cells, "run.plot()")
    assert "data:image/gif" in outputs_of(cells, "run.film(")["text/html"]
    stopped = outputs_of(cells, "interrupt_main")["stdout"]
    assert "the next train() goes on from there" in stopped
    assert "goes on from step" in outputs_of(cells, "run.train(3000)")["text/html"]
    assert outputs_of(cells, "fast = ")["text/html"].count("<td>finished</td>") == seeds
    compared = outputs_of(cells, "joystick.compare")
    assert "P(&gt; PPO lr=0.002)" in compared["text/html"]
    assert "final IQM" in compared["text/plain"]
    assert "data:image/gif" in outputs_of(cells, "fast.film(")["text/html"]
    assert float(outputs_of(cells, "policy.act")["text/plain"]) > 0.5
    assert len(os.listdir(tmp_path / "tasks")) == 3
