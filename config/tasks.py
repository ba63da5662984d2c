"""Finds the task directory that load_path names, and refuses what only looks like one."""

from pathlib import Path

from config.names import nearest
from config.task_config import has_config


class TaskError(Exception):
    """load_path leads to no task directory; the message says why."""


def find(load_path: str, tasks: Path) -> Path:
    """A folder under tasks/ by its name, or any task directory by its path."""
    path = Path(load_path)
    if ".." in path.parts:
        raise TaskError(f"{load_path!r} climbs with '..'; give a name under {tasks}/ or a full path")
    bare = len(path.parts) == 1
    folder = tasks / path if bare else path
    try:
        inside = folder.resolve().parent == tasks.resolve()
        exists, complete = folder.exists(), (folder / "models").is_dir() and has_config(folder)
    except (OSError, ValueError) as error:
        raise TaskError(f"{load_path!r} cannot be read: {error}") from None
    if not exists:
        raise TaskError(f"{load_path!r} does not exist{_others(path.name, tasks)}")
    if not inside and folder.parent.resolve() == tasks.resolve():
        raise TaskError(f"{load_path!r} is a link that leads out of {tasks}/; give the full path that is meant")
    if (folder / "seeds.csv").is_file():
        raise TaskError(f"{load_path!r} is a group of runs; name one of them, such as {_member(folder)}")
    if not complete:
        raise TaskError(f"{load_path!r} is not a task directory: it needs config.yaml and models/")
    return folder


def _member(group: Path) -> Path:
    """The first run of a group that --seeds made."""
    return next((path.parent for path in sorted(group.glob("seed_*/config.yaml"))), group / "seed_1")


def _others(name: str, tasks: Path) -> str:
    """The nearest name under tasks/, or else the newest three."""
    folders = [path for path in tasks.iterdir() if (path / "models").is_dir()] if tasks.is_dir() else []
    near = nearest(name, [path.name for path in folders])
    if near:
        return f"; did you mean {near}?"
    newest = sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)[:3]
    return f"; newest under {tasks}/: " + ", ".join(path.name for path in newest) if newest else f"; {tasks}/ is empty"
