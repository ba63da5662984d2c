"""Command push: uploads a run, or a group of seeds, with a card."""

from argparse import Namespace
from pathlib import Path

from config.read import tasks
from config.read.paths import as_written
from config.read.task_files import GROUP, STORY_OF_A_GROUP, TUNING
from config.tell.language import tr
from framework.archive.groups import runs_in
from framework.archive.run import RecordedRun
from framework.disk.task_dir import ROOT, TaskDir, is_locked
from framework.errors import JoystickError, TaskDirError
from framework.screen.formatting import byte_size, counted
from framework.screen.stages import stage
from framework.screen.terminal import fitted
from framework.sharing import address, bundle, card, hub
from framework.sharing.card import Shared
from framework.sharing.hub import Upload


def run(request: Namespace) -> int:
    """Uploads it, and prints where it can be seen. Returns the exit status."""
    target = address.parse(request.to)
    service = hub.hub_of(target)
    folder = tasks.group_named(request.name, ROOT) or tasks.find(request.name, ROOT)
    with stage(tr("reading the run")):
        shared = _shared(folder, request.model or "best")
        files, left_out = _files(folder, shared, request.replay)
        sums = bundle.checksums(files)
        content = {**files, bundle.CHECKSUMS: sums, bundle.CARD: card.text(target, shared, left_out)}
    with stage(tr("asking {address}", address=target)):
        there = service.listing(target, request.revision) or {}
    old = [path for path in there if bundle.is_known(path)]
    if old and not request.overwrite:
        raise JoystickError(
            "{address} has {count} already, such as {path}; --overwrite replaces them, and its history keeps them",
            address=target,
            count=counted(len(old), "file"),
            path=bundle.CARD if bundle.CARD in old else min(old),
        )
    size = byte_size(sum(map(bundle.size_of, files.values())))
    deleted = [path for path in old if path not in content]
    change = Upload(content, deleted, folder.name, request.private or None, request.revision)
    with stage(tr("uploading {count}, {size}", count=counted(len(content), "file"), size=size)):
        place = service.upload(target, change)
    if left_out:
        print(
            fitted(tr("the replay buffer was left out because of its size; --replay uploads it, and a resume needs it"))
        )
    print(tr("{count}, {size}: {place}", count=counted(len(content), "file"), size=size, place=place))
    return 0


def _shared(folder: Path, model: str | int) -> list[Shared]:
    """Returns the runs of a folder with the model of each. Raises JoystickError for one that trains, or has none."""
    TaskDir(folder).check()
    runs = runs_in(folder)
    if not runs or (folder / TUNING).is_file():
        raise TaskDirError("{path} has no runs to upload", path=as_written(folder))
    in_group = (folder / GROUP).is_file()
    for path in runs:
        if is_locked(path):
            raise TaskDirError("{path} is being written by a run; wait for it, or stop it first", path=as_written(path))
    models = [bundle.chosen(path, model) for path in runs]
    return [
        Shared(RecordedRun(path, model=saved.path), saved, f"{path.name}/" if in_group else "")
        for path, saved in zip(runs, models, strict=True)
    ]


def _files(folder: Path, shared: list[Shared], replay: bool) -> tuple[dict[str, bundle.Content], bool]:
    """Returns the files by their paths in the repository, and whether a replay buffer was left out."""
    files: dict[str, bundle.Content] = {}
    left_out = False
    for each in shared:
        mine = bundle.files_of(each.run, each.saved, replay)
        left_out |= bundle.lacks_replay(each.run.folder, mine)
        files |= {each.prefix + path: file for path, file in mine.items()}
    if shared[0].prefix:
        files |= {name: folder / name for name in STORY_OF_A_GROUP if (folder / name).is_file()}
    unknown = [path for path in files if not bundle.is_known(path)]
    if unknown:
        raise TaskDirError("{path}: a run of a group needs a name of letters and digits", path=unknown[0])
    return files, left_out
