"""Paths of runs: absolute, so that an environment or a program that changes the working directory does not split a run
in two; and shown as they were written."""

from pathlib import Path

_SPELLINGS: dict[str, Path] = {}
"""Absolute path -> the path as it was written, from the working directory of that moment."""


class _UrlPath(type(Path())):  # type: ignore[misc]  # the class of paths of this system
    """URL of a copy in a store, which is shown and never opened."""

    def __str__(self) -> str:
        text = super().__str__()
        return text.replace(":/", ":///" if text.startswith(("file:", "local:")) else "://", 1)


def as_url(path: Path) -> Path:
    """Returns a URL that was read as a path, with both of its slashes."""
    return _UrlPath(path)


def spell(path: Path, url: str) -> None:
    """Lets a copy, and what is below it, be shown as its URL."""
    _SPELLINGS[str(path)] = _UrlPath(url)


def fixed(path: Path, start: Path | None = None) -> Path:
    """Returns a path as an absolute one without '..', which a run's own paths may not have. start: working directory
    that a relative one counts from; None: the current one."""
    if path.is_absolute() and ".." not in path.parts:
        return path
    absolute = (start or Path.cwd()) / path
    if ".." in absolute.parts:
        absolute = absolute.resolve()
    _SPELLINGS[str(absolute)] = path
    return absolute


def as_written(path: Path) -> Path:
    """Returns a path, or one below it, as it was written before it was fixed; any other path as it is."""
    for place in (path, *path.parents):
        if (spelling := _SPELLINGS.get(str(place))) is not None:
            return spelling / path.relative_to(place)
    return path
