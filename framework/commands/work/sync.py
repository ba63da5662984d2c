"""Command sync: copies runs to a store, each with its lock, so that nobody writes them meanwhile."""

import contextlib
import sys
from argparse import Namespace
from pathlib import Path

from config.read import stores, tasks
from config.read.paths import as_written, fixed
from config.read.yaml_reader import DocumentError
from config.tell.language import tr
from framework.archive.groups import named_runs
from framework.archive.run import RecordedRun, is_run
from framework.disk.task_dir import ROOT, held_lock
from framework.errors import MISTAKE, TaskDirError
from framework.storage.mirror import Mirror, url_of


def run(request: Namespace) -> int:
    """Copies what the store lacks. Returns the exit status: 2 if something is left."""
    if stores.is_url(request.run):
        raise TaskDirError("sync copies a folder of this machine to a store: sync NAME {url}", url=request.run)
    folder = _folder(request.run)
    storage = _url(request.url)
    places = [run for _, run in named_runs(folder) if is_run(run)]
    places += [folder] if folder not in places else []
    behind = [place for place in places if not _copied(place, storage, request)]
    return MISTAKE if behind else 0


def _folder(name: str) -> Path:
    """Returns the folder of a run or a group."""
    place = next((path for path in (ROOT / name, Path(name)) if tasks.is_group(path)), None)
    return fixed(tasks.group_named(name, ROOT) or place or tasks.find(name, ROOT))


def _url(url: str | None) -> str | None:
    """Returns the URL of the copy in its usual form; None: where it was copied to before."""
    if url is None:
        return None
    try:
        return "/".join(stores.of_run(url))
    except ValueError as error:
        raise TaskDirError("{url!r} is not {what}", url=url, what=error) from None


def _setting(folder: Path) -> str | None:
    """Returns general_cfg.storage of a run, or of the first run of a group."""
    for _, place in named_runs(folder):
        with contextlib.suppress(DocumentError):
            value = RecordedRun(place).general.get("storage")
            if isinstance(value, str):
                return value
    return None


def _copied(place: Path, url: str | None, request: Namespace) -> bool:
    """Copies one folder. Returns True if the store has everything."""
    group = tasks.group_of(place)
    if url is not None:
        target: str | None = url if group is None else f"{url}/{place.relative_to(group).as_posix()}"
    else:
        target = url_of(place, _setting(place), explicit=False)
    if target is None:
        raise TaskDirError(
            "{folder} is copied nowhere; say where: sync {folder} s3://BUCKET/PREFIX/NAME", folder=as_written(place)
        )
    lock = held_lock(place, if_any=True)
    if lock is None:
        raise TaskDirError(
            "{path} is being written by another run; it copies what it writes itself", path=as_written(place)
        )

    def say(text: str, is_warning: bool) -> None:
        print(tr("warning: {text}", text=text) if is_warning else text, file=sys.stderr if is_warning else sys.stdout)

    with contextlib.closing(lock):
        mirror = Mirror(place, target, request.take_over, say)
        mirror.take()
        mirror.start()
        mirror.close()
        return not mirror.is_behind
