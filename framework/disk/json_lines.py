"""Reads lines of JSON that a run has written, and that a crash may have cut or a stranger have made."""

import json
from collections.abc import Iterable, Iterator
from typing import Any


def objects(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yields the JSON objects in lines; other lines are skipped."""
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
