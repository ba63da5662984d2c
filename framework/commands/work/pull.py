"""Command pull: downloads a run, or a group of seeds, and verifies it before it gets its name."""

import shutil
from argparse import Namespace
from pathlib import Path

from config.read.opening import fault_below
from config.read.paths import as_written, fixed
from config.read.stores import is_url
from config.tell.language import tr
from config.tell.names import printable
from framework.archive.groups import named_runs, runs_in
from framework.disk.atomic import discard, ensure_folder, finish_folder, naming
from framework.disk.checkpoints import CheckpointStore
from framework.disk.task_dir import ROOT
from framework.errors import JoystickError, TaskDirError
from framework.screen.formatting import byte_size, counted, video_command
from framework.screen.stages import each, stage
from framework.sharing import address, bundle, hub


def run(request: Namespace) -> int:
    """Downloads it, and prints what to do with it. Returns the exit status."""
    source = address.parse(request.address)
    if request.into and is_url(request.into):
        raise TaskDirError("--into {url}: pull writes to a folder of this machine; name one", url=request.into)
    place = fixed(Path(request.into) if request.into else ROOT / source.name)
    _check_free(place)
    service = hub.hub_of(source)
    with stage(tr("asking {address}", address=source)):
        listing = service.listing(source, request.revision)
    if listing is None:
        raise hub.missing(source, request.revision)
    paths = bundle.wanted(listing, source)
    _check_room(bundle.total(listing, paths), place)
    ensure_folder(place.parent)
    new = place.with_name(f".{place.name}.tmp")  # hidden, and no name of a run
    discard(new)  # of a download that was killed
    try:
        for path in each(tr("downloading {address}", address=source), paths, tr("files")):
            with naming(new / path):
                service.download(source, path, new, request.revision)
        _keep_only(new, paths)
        if fault := fault_below(new):
            raise JoystickError(fault)
        with stage(tr("verifying the files")):
            bundle.verify(new, source)
            _read_models(new, source)
        finish_folder(new, place)
    except BaseException:
        discard(new)
        raise
    size = byte_size(bundle.total(listing, paths))
    print(
        tr(
            "{folder}: {count}, {size}, verified",
            folder=as_written(place),
            count=counted(len(paths), "file"),
            size=size,
        )
    )
    if others := [path for path in listing if not bundle.is_known(path) and path != ".gitattributes"]:
        example = printable(min(others)[:80])
        print(tr("left out: {count}, such as {path}", count=counted(len(others), "file"), path=example))
    first = min(run for _, run in named_runs(place))
    print(tr("to watch it  {command}", command=video_command(first)))
    return 0


def _check_free(place: Path) -> None:
    if place.exists() or place.is_symlink():
        raise TaskDirError("{path} exists; --into FOLDER names another place", path=as_written(place))


def _check_room(size: int, place: Path) -> None:
    """Raises JoystickError if the files do not fit onto the disk."""
    parent = next(folder for folder in place.parents if folder.is_dir())
    free = shutil.disk_usage(parent).free
    if size > free:
        raise JoystickError(
            "it has {size}, and {free} are free on the disk", size=byte_size(size), free=byte_size(free)
        )


def _keep_only(folder: Path, paths: list[str]) -> None:
    """Deletes what a client keeps beside the files that it was asked for."""
    for entry in list(folder.iterdir()):
        if entry.name not in {path.partition("/")[0] for path in paths}:
            discard(entry)


def _read_models(folder: Path, source: address.Address) -> None:
    """Raises JoystickError unless the model of each run can be read as that of a stranger's folder."""
    runs = runs_in(folder)
    if not runs:
        raise JoystickError("{where}: it holds no run", where=source)
    for path in runs:
        CheckpointStore(path / "models").read("best", with_journal=False)
