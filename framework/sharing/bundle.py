"""Selection of the files of a run, or of a group of seeds, that go to a repository and come from one.

A repository has the layout of a task directory, so that a downloaded one is one: the chosen model as models/best and,
if the run has it, as a numbered checkpoint, which a resume goes on from. checksums.sha256 has the SHA-256 of every
file."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from config.read.opening import entries_below, read_regular, regular
from config.read.paths import as_written
from config.read.task_files import MOST_NAME, REPORT, RUN, STORY_OF_A_RUN, file_and_folder
from config.tell.language import tr
from config.tell.system_errors import reason_of
from framework.archive.run import RecordedRun
from framework.disk.checkpoints import CheckpointStore, Saved
from framework.disk.task_dir import facts_as_bytes
from framework.errors import CheckpointError, JoystickError
from framework.pages import html_report

Content = Path | bytes
"""A file of this machine, or what one in a repository has in it."""
CHECKSUMS = "checksums.sha256"
CARD = "README.md"
MOST_FILES = 2000
"""Number of files of the largest repository that is downloaded."""
MOST_CHECKSUMS = 2**20
"""Bytes of the largest file of checksums."""
MOST_REPLAY = 2**26
"""Bytes of a replay buffer that is uploaded unasked."""
_MODEL = r"models/(best|\d{1,18})/(manifest\.json|state\.safetensors)"
_OF_A_RUN = (
    r"config\.yaml|params\.json|run\.json|report\.html|results/([\w-]+\.(csv|png)|result\.json)|"
    rf"{_MODEL}|models/journal/\d+\.log"
)
_OF_A_GROUP = r"group\.json|\w+s\.csv|learning_curves\.png"
_KNOWN = re.compile(rf"(\w[\w.-]*/)?({_OF_A_RUN})|{_OF_A_GROUP}|{re.escape(CARD)}|{re.escape(CHECKSUMS)}")
"""Files of a repository that are uploaded and downloaded; others are neither."""


def is_known(path: str) -> bool:
    """Returns True for a path of a repository that a run, or a group, may have."""
    known = _KNOWN.fullmatch(path) is not None and ".." not in path
    return known and all(len(name.encode()) <= MOST_NAME for name in path.split("/"))


def chosen(run: Path, model: str | int) -> Saved:
    """Returns the checkpoint to upload, verified; model: best, latest or an update."""
    store = CheckpointStore(run / "models")
    if model == "best" and not store.has_best():
        model = "latest"
    if model == "latest":
        if not (numbers := store.numbers()):
            raise CheckpointError("no checkpoint in {path}", path=as_written(store.folder))
        model = numbers[-1]
    return store.read(model, with_journal=False)


def files_of(run: RecordedRun, saved: Saved, replay: bool) -> dict[str, Content]:
    """Returns what goes to a repository of a run: path there -> file. The run is one of which this model is the best:
    run.json and the report, which may have been written for another one, say so. replay: True to upload the replay
    buffer, however large it is."""
    folder = run.folder
    files: dict[str, Content] = {name: folder / name for name in STORY_OF_A_RUN if (folder / name).is_file()}
    if RUN in files:
        files[RUN] = facts_as_bytes(run.facts_with_best(saved.facts["update"]))
    if REPORT in files:
        files[REPORT] = html_report.content(run)
    names = ("manifest.json", "state.safetensors")
    files |= {f"models/best/{name}": saved.path / name for name in names}
    number = str(saved.facts["update"])
    if (folder / "models" / number).is_dir():
        files |= {f"models/{number}/{name}": folder / "models" / number / name for name in names}
        journal = sorted((folder / "models" / "journal").glob("*.log"))
        if replay or sum(path.stat().st_size for path in journal) <= MOST_REPLAY:
            files |= {f"models/journal/{path.name}": path for path in journal}
    return files


def lacks_replay(run: Path, files: Iterable[str]) -> bool:
    """Returns True if the replay buffer of a run was left out because of its size."""
    return any((run / "models" / "journal").glob("*.log")) and not any("models/journal/" in path for path in files)


def sha256_of(content: Content) -> str:
    """Returns the SHA-256 of a file as hexadecimal digits."""
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with open(content, "rb", opener=regular) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def size_of(content: Content) -> int:
    """Returns the bytes of a file."""
    return len(content) if isinstance(content, bytes) else content.stat().st_size


def checksums(files: Mapping[str, Content]) -> bytes:
    """Returns the file of checksums, in the format of sha256sum."""
    return "".join(f"{sha256_of(files[path])}  {path}\n" for path in sorted(files)).encode()


def wanted(listing: Mapping[str, int], where: object) -> list[str]:
    """Returns which files of a repository are downloaded. Raises JoystickError if none of it is a run. listing: path ->
    bytes."""
    paths = [path for path in listing if is_known(path)]
    if CHECKSUMS not in paths:
        raise JoystickError("{where} has no {name}: it was not uploaded by push", where=where, name=CHECKSUMS)
    if len(paths) > MOST_FILES:
        raise JoystickError(
            "{where} has {count:,} files of runs; {most:,} are downloaded",
            where=where,
            count=len(paths),
            most=MOST_FILES,
        )
    if path := file_and_folder(paths):
        raise JoystickError("{where}: {path} is a file and a folder at once", where=where, path=path)
    return paths


def verify(folder: Path, where: object) -> None:
    """Raises JoystickError unless the files of a folder are those of its checksums."""
    try:
        expected = dict(_lines(read_regular(folder / CHECKSUMS, MOST_CHECKSUMS)))
    except (OSError, ValueError) as error:
        fault = error if isinstance(error, ValueError) else reason_of(error)
        raise JoystickError("{where}: {name} is damaged: {fault}", where=where, name=CHECKSUMS, fault=fault) from None
    there = {Path(entry.path).relative_to(folder).as_posix() for entry in entries_below(folder)} - {CARD, CHECKSUMS}
    for path in sorted(there | expected.keys()):
        if path not in expected:
            fault = tr("{path} has no checksum", path=path)
        elif path not in there:
            fault = tr("{path} is missing", path=path)
        elif sha256_of(folder / path) != expected[path]:
            fault = tr("{path} does not match its checksum", path=path)
        else:
            continue
        raise JoystickError("{where}: {fault}; nothing was kept", where=where, fault=fault)


def _lines(text: bytes) -> Iterable[tuple[str, str]]:
    for number, line in enumerate(text.decode(errors="replace").splitlines(), start=1):
        match = re.fullmatch(r"([0-9a-f]{64})  (.+)", line)
        if match is None or not is_known(match[2]):
            raise ValueError(tr("line {number} is not the checksum of a file of a run", number=number))
        yield match[2], match[1]


def total(listing: Mapping[str, int], paths: Iterable[str]) -> int:
    """Returns the bytes of some of the files of a repository."""
    return sum(max(listing[path], 0) for path in paths)
