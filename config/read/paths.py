"""Paths of runs: absolute, so that an environment or a program that changes the working directory does not split a run
in two; and shown as they were written."""

from pathlib import Path

_SPELLINGS: dict[str, Path] = {}
"""Absolute path -> the path as it was written, from the working directory of that moment."""


def fixed(path: Path, start: Path | None = None) -> Path:
    """Returns a path as an absolute one. start: working directory that a relative one counts from; None: the current
    one."""
    if path.is_absolute():
        return path
    absolute = (start or Path.cwd()) / path
    _SPELLINGS[str(absolute)] = path
    return absolute


def as_written(path: Path) -> Path:
    """Returns a path, or one below it, as it was written before it was fixed; any other path as it is."""
    for place in (path, *path.parents):
        if (spelling := _SPELLINGS.get(str(place))) is not None:
            return spelling / path.relative_to(place)
    return path
