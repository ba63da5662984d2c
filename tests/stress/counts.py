"""Counts of what was tried: harnesses record them, and docs/reliability.md is made from the file of all of them."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

VARIABLE = "STRESS_RESULTS"
"""Environment variable with the file that a harness appends to; without it nothing is recorded."""
ABSENT = 2
"""Exit status of a harness that lacks a program or package: nothing was tried."""
RESULTS = Path(__file__).with_name("results.jsonl")
"""A line for each row of each session: row, tried, lost, date, commit, seconds. A line with `mended` says that what the
row had lost is mended, so that it is counted anew from there."""


def record(row: str, tried: int, lost: int, **more: int) -> None:
    """Records counts of a row of the page."""
    if path := os.environ.get(VARIABLE):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"row": row, "tried": tried, "lost": lost, **more}) + "\n")


def entries(path: Path = RESULTS) -> list[dict[str, Any]]:
    """Returns the lines of the file of results."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def sums(key: str, lines: list[dict[str, Any]]) -> tuple[Counter[str], str]:
    """Returns the counts of all rows that begin with a key, since they were mended last, and the date of the last."""
    total: Counter[str] = Counter()
    by_row: dict[str, Counter[str]] = {}
    date = ""
    for line in lines:
        if not (line["row"] == key or line["row"].startswith(f"{key} ")):
            continue
        if "mended" in line:
            by_row.pop(line["row"], None)
            if line["row"] == key:
                by_row.clear()
            continue
        numbers = {"continued": line["tried"]} | {name: n for name, n in line.items() if isinstance(n, int)}
        by_row.setdefault(line["row"], Counter()).update(numbers)
        date = line["date"]
    for counts in by_row.values():
        total.update(counts)
    return total, date
