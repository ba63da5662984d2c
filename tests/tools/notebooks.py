"""Writes the notebooks in docs/notebooks from their sources: python -m tests.tools.notebooks"""

from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCES = tuple(sorted((ROOT / "docs" / "notebooks").glob("*.py")))
"""Notebooks as programs, whose cells begin with # %%."""
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook(source: Path) -> Any:
    """Returns a notebook without outputs."""
    import jupytext

    book = jupytext.reads(source.read_text(encoding="utf-8"), fmt="py:percent")
    for number, cell in enumerate(book.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
    book.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    book.nbformat, book.nbformat_minor = 4, 5
    return book


def text(source: Path) -> str:
    """Returns the file of a notebook."""
    import nbformat

    return str(nbformat.writes(notebook(source)))


def main() -> None:
    for source in SOURCES:
        source.with_suffix(".ipynb").write_text(text(source) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
