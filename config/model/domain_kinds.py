"""Spellings of leaves with several values to try, such as {log: [1e-4, 1e-2]}."""

from collections.abc import Mapping
from typing import Any

SECTION = "tune_cfg"
"""Section that says how they are tried."""
KINDS = {
    "grid": "grid", "grid_search": "grid", "choice": "choice", "uniform": "uniform", "log": "log",
    "loguniform": "log", "int": "int",
}  # fmt: skip
"""Spelling -> kind of domain."""


def written_kind(value: Any) -> str | None:
    """Returns the kind of domain that a value of a file is; None for any other value."""
    if isinstance(value, Mapping) and len(value) == 1:
        return KINDS.get(str(next(iter(value))))
    return None
