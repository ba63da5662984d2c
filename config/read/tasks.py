"""Finds the task directory that load_path names, and says what is wrong with any other path."""

import json
from pathlib import Path

from config.program import PROGRAM
from config.read import stores
from config.read.opening import may_enter, read_regular
from config.read.paths import as_written, fixed
from config.read.task_config import has_config
from config.read.task_files import GROUP, GROUPS, RUN, TUNING
from config.system.terminal import quoted
from config.tell.language import UserError, tr
from config.tell.names import nearest

MOST_BYTES = 1 << 20
"""Bytes of RUN that are read."""


class TaskError(UserError):
    """load_path does not lead to a task directory; the message says why."""


MOST_LEVELS = 3
"""Folders between a run and the folder of its tuning: trials/5/seed_1."""


def is_group(folder: Path) -> bool:
    """Returns True for the folder of a group or of a tuning."""
    return any((folder / name).is_file() for name in GROUPS)


def group_of(run: Path) -> Path | None:
    """Returns the folder of the group or tuning that a run belongs to; None for a run of its own."""
    return next(filter(is_group, list(run.absolute().parents)[:MOST_LEVELS]), None)


def find(
    load_path: str,
    tasks: Path,
    start: Path | None = None,
    go_on: bool = False,
    model: str | int = "best",
    take_over: bool = False,
) -> Path:
    """Returns the task directory of that name, path or URL; see _folder_of. start: working directory that relative
    paths count from, and the result is an absolute path; None: the current one, and the path as it is written. The
    others are for a URL: see stores.bring."""
    tasks = _counted(tasks, start)
    path = Path(_brought(load_path, tasks, go_on, model, take_over))
    try:
        folder = _folder_of(path, tasks, start)
        link = _link(_with_links(folder, path, start), tasks)
        exists = folder.exists() or _counted(path, start).exists()
        complete = (folder / "models").is_dir() and has_config(folder)
    except (OSError, ValueError) as error:
        raise TaskError("{name!r} cannot be read: {error}", name=load_path, error=error) from None
    if not complete and (instead := _inside(load_path, path, tasks, start)):
        raise TaskError(instead)
    if _counted(path, start).resolve() == tasks.resolve() or path == Path(tasks.name):
        raise TaskError("{name!r} is the folder of all runs{others}", name=load_path, others=_others("", tasks, start))
    if not exists:
        others = _others(path.name, tasks, start)
        raise TaskError("{name!r} does not exist{others}", name=load_path, others=others)
    if link:
        raise TaskError("{name!r} {link}; give the full path of its target", name=load_path, link=link)
    if is_group(folder):
        raise TaskError(_several(load_path, folder))
    if tested := _tested(folder):
        raise TaskError("{name!r} is a test and has no model; it tested {run}", name=load_path, run=tested)
    if not complete:
        raise TaskError("{name!r} is not a task directory: it needs config.yaml and models/", name=load_path)
    return folder


def _brought(load_path: str, tasks: Path, go_on: bool, model: str | int, take_over: bool) -> str:
    """Returns the path of a run that is brought here from a store; any other name or path as it is."""
    if not stores.is_url(load_path):
        return load_path
    try:
        return str(stores.bring(load_path, tasks, go_on, model, take_over))
    except stores.StoreError as error:
        raise TaskError(str(error)) from error


def group_named(load_path: str, tasks: Path) -> Path | None:
    """Returns the absolute path of a group of runs by its name under tasks/, or its path; None for anything else, and
    for one to which a link leads."""
    folder = _folder_of(path := Path(load_path), tasks, None)
    is_plain = (folder / GROUP).is_file() and not _link(_with_links(folder, path, None), tasks)
    return fixed(folder) if is_plain else None


def tuning_named(load_path: str, tasks: Path) -> Path | None:
    """Returns the folder of a tuning by its name under tasks/, or its path; None for anything else."""
    folder = _folder_of(Path(load_path), tasks, None)
    return folder if (folder / TUNING).is_file() else None


def tuning_folder(load_path: str, tasks: Path) -> Path:
    """Returns the folder that is to be continued as a tuning, by its name or path. Raises TaskError without one."""
    path = Path(load_path)
    try:
        if folder := tuning_named(load_path, tasks):
            return folder
        place = next((place for place in (path, tasks / path) if place.exists()), None)
    except (OSError, ValueError) as error:
        raise TaskError("{name!r} cannot be read: {error}", name=load_path, error=error) from None
    if place is None:
        others = _others(path.name, tasks, None)
        raise TaskError("{name!r} does not exist{others}", name=load_path, others=others)
    return place


def _link(folder: Path, tasks: Path) -> str:
    """Returns what is wrong if a link leads to a folder; empty if none does, or one that the user may have made."""
    root = tasks.resolve()
    if folder.parent.resolve() == root and folder.resolve().parent != root:
        return tr("is a link out of {folder}/", folder=as_written(tasks))
    group = group_of(folder)
    inner = [place for place in (folder, *folder.parents) if group and group in place.absolute().parents]
    link = next(filter(Path.is_symlink, inner), None)
    return tr("leads through {path}, a link in a group of runs", path=as_written(link)) if link else ""


def _with_links(folder: Path, path: Path, start: Path | None) -> Path:
    """Returns the folder of a path by the links that the path has: those of one with '..' were followed."""
    return (start or Path.cwd()) / path if ".." in path.parts else folder


def _folder_of(path: Path, tasks: Path, start: Path | None) -> Path:
    """Returns a folder under tasks/ by its name, such as NAME or GROUP/seed_1, or any other by its path. A NAME that is
    not under tasks/ may be a run or a group in the current folder, from which a path with '..' counts, too."""
    if ".." in path.parts:
        return fixed(path, start)
    place = _counted(path, start)
    if len(path.parts) == 1:
        named = (tasks / path).exists() or not ((place / "models").is_dir() or is_group(place))
    else:
        named = not place.exists() and (tasks / path).is_dir()
    return tasks / path if named else place


def _counted(path: Path, start: Path | None) -> Path:
    """Returns a path that counts from this working directory, as an absolute one; None: the path as it is."""
    return path if start is None else fixed(path, start)


def _inside(load_path: str, path: Path, tasks: Path, start: Path | None) -> str:
    """Returns what to write in place of an archive, or of a path such as NAME/models/500; empty for one that is not
    inside a run, which may lie below any folder called models."""
    if path.suffix == ".zip" and _counted(path, start).is_file():
        return tr(
            "{name!r} is a file, and a run is a folder: unpack it; models of Stable-Baselines3 cannot be loaded",
            name=load_path,
        )
    parts = path.parts
    if "models" not in parts[1:]:
        return ""
    cut = len(parts) - 1 - parts[::-1].index("models")
    run = Path(*parts[:cut])
    if not has_config(_folder_of(run, tasks, start)):
        return ""
    name = run.name if run.parent == as_written(tasks) or len(run.parts) == 1 else str(run)
    step = parts[cut + 1] if cut + 1 < len(parts) else "N"
    return tr(
        "{path!r} is inside a task directory; name the run, {name}, and set general_cfg.load_model_step={step}",
        path=load_path,
        name=name,
        step=step,
    )


def _tested(folder: Path) -> str | None:
    """Returns the run that a test directory tested; None for any other directory."""
    run = folder / RUN
    if not folder.name.startswith("Test_") or not run.is_file() or any((folder / "models").glob("*")):
        return None
    try:
        checkpoint = json.loads(read_regular(run, MOST_BYTES)).get("checkpoint")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return Path(checkpoint).parent.parent.name if isinstance(checkpoint, str) else None


def _several(name: str, group: Path) -> str:
    """Returns what the folder of several runs is, and which of them, or what else, to name."""
    runs = [path.parent for pattern in ("*/config.yaml", "trials/**/config.yaml") for path in group.glob(pattern)]
    kind = next(name for name in GROUPS if (group / name).is_file())
    if not runs:
        command = f"{PROGRAM} resume {quoted(str(as_written(group)))}"
        return tr(
            "{name!r} is {kind}, and none has begun; to go on: {command}", name=name, kind=GROUPS[kind], command=command
        )
    return tr(
        "{name!r} is {kind}; name one of them, such as {run}", name=name, kind=GROUPS[kind], run=as_written(min(runs))
    )


def _others(name: str, tasks: Path, start: Path | None) -> str:
    """Returns the end of a sentence: the nearest name under tasks/, or else the newest three."""
    folder = as_written(tasks)
    if not tasks.is_dir():
        return tr("; there is no folder {folder}/ in {parent}", folder=folder, parent=start or Path.cwd())
    entered = filter(may_enter, tasks.iterdir())
    folders = [path for path in entered if any((path / name).exists() for name in ("models", *GROUPS))]
    near = nearest(name, [path.name for path in folders]) if name else None
    if near:
        return tr("; did you mean {near}?", near=near)
    newest = sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)[:3]
    if not newest:
        return tr("; there is no run in {folder}/", folder=folder)
    return tr("; newest under {folder}/: {names}", folder=folder, names=", ".join(path.name for path in newest))
