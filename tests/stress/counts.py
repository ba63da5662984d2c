"""Counts of what was tried, which harnesses append to a file that docs/reliability.md is made from."""

import json
import os
from pathlib import Path

VARIABLE = "STRESS_RESULTS"
"""Environment variable with the file; without it nothing is recorded."""


def record(row: str, tried: int, lost: int, **more: int | str) -> None:
    """Appends counts of a row of the page."""
    if path := os.environ.get(VARIABLE):
        with open(Path(path), "a", encoding="utf-8") as file:
            file.write(json.dumps({"row": row, "tried": tried, "lost": lost, **more}) + "\n")
