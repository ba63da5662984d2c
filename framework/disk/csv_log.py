"""Files of one line per row, CSV or JSON, that continue without a seam after a resume."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from framework.disk.appended import LineLog


class CsvLog(LineLog):
    """Writes a CSV file. Two equal runs write equal bytes, so no column may hold a time of day."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        super().__init__(path, ",".join(self.columns) + "\n")

    def _lines(self, rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
        """Returns rows; columns that one does not name stay empty."""
        if unknown := set().union(*rows).difference(self.columns):
            raise ValueError(f"{self.path.name} has no column {sorted(unknown)}")
        columns = [_texts([row.get(name) for row in rows]) for name in self.columns]
        return map(",".join, zip(*columns, strict=True))


class JsonLog(LineLog):
    """Writes a JSON object per line. It is full from a number of bytes on."""

    take = LineLog.append_line

    def __init__(self, path: Path, needed: bool = True, most_bytes: float = math.inf) -> None:
        super().__init__(path, needed=needed)
        self._most_bytes = most_bytes

    def _lines(self, rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
        return map(json.dumps, rows)

    @property
    def full(self) -> bool:
        """True if the next line belongs to another file."""
        return self.size >= self._most_bytes

    def end(self) -> dict[str, int]:
        """Returns where the file ends, which is on the disk now."""
        return {"position": self.position(), "crc": self.crc}


def _texts(values: Sequence[Any]) -> list[str]:
    """Returns the cells of a column."""
    if len(set(map(id, values))) == 1:  # the metrics are one object in all rows between two updates
        return [_text(values[0])] * len(values)
    plain = set(map(type, values)) in ({int}, {float})
    return list(map(repr if plain else _text, values))


def _text(value: Any) -> str:
    """Returns a cell: floats as the shortest text that gives the same float back."""
    if value is None:
        return ""
    if isinstance(value, bool | int | np.bool_ | np.integer):
        return str(int(value))
    return repr(float(value))
