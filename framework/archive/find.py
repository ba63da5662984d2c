"""Finds the training runs that words name: runs, groups of --seeds or of experiments, tunings, and patterns."""

import glob
from collections.abc import Iterable, Sequence
from pathlib import Path

from config.program import PROGRAM
from config.read.paths import as_written
from config.read.stores import is_url
from config.read.task_config import has_config
from config.read.tasks import is_group
from config.system.terminal import quoted
from config.tell.language import tr
from config.tell.names import did_you_mean
from framework.archive import task_list
from framework.archive.groups import folders_in, runs_in
from framework.archive.run import RecordedRun
from framework.disk.task_dir import TaskDir
from framework.errors import TaskDirError

MOST_TESTS = 200
"""Number of the newest tests that are looked at."""


def find(words: Iterable[str], root: Path) -> dict[Path, str]:
    """Returns the folders of the runs in the order of the words, none twice, and the word of those that one joins:
    A+B, empty for others. TaskDirError for a run that is to be in two series. root: folder of the names."""
    folders: dict[Path, tuple[Path, str]] = {}
    for word in words:
        parts = _parts(word, root)
        joined = word if len(parts) > 1 else ""
        for folder in (folder for part in parts for folder in _named(part, root)):
            _, before = folders.setdefault(folder.resolve(), (folder, joined))
            if before != joined:
                raise TaskDirError(
                    "{folder} is named twice, and {word} joins it to other runs: a run is in one series",
                    folder=as_written(folder),
                    word=joined or before,
                )
    return dict(folders.values())


def _parts(word: str, root: Path) -> list[str]:
    """Returns the names that a word joins by plus signs; one if it is a name itself."""
    parts = word.split("+")
    return [word] if not all(parts) or is_url(word) or _place(word, root) else parts


def _place(word: str, root: Path) -> Path | None:
    """Returns the file or folder of a name, or of a path; None if there is none."""
    try:
        return next((path for path in map(Path, _paths(word, root)) if path.exists()), None)
    except (OSError, ValueError) as error:
        raise TaskDirError("{word!r} cannot be read: {error}", word=word, error=error) from None


def _paths(word: str, root: Path) -> list[str]:
    """Returns the paths that a word may mean: a name in the folder of the names, and a path from where the user is.
    With `..` it is the latter alone: ../tasks/mine would be tasks/../tasks/mine, a run of the same name here."""
    return [word] if ".." in Path(word).parts else [str(root / word), word]


def _named(word: str, root: Path) -> list[Path]:
    if is_url(word):
        from framework.storage import copies  # only who names a URL needs it

        if runs := [run for folder in copies.find(word) for run in _runs(folder)]:
            return runs
        raise _none(word)
    place = _place(word, root)
    if place is not None:
        if runs := _runs(place):
            return runs
        raise _none(str(place))
    if not glob.has_magic(word):
        raise TaskDirError("there is no run {word!r}{hint}", word=word, hint=others(word, root))
    places = sorted(map(Path, {match for path in _paths(word, root) for match in glob.glob(path)}))
    # a pattern may match the tests of its runs too, which are no runs to compare
    runs = [run for place in places for run in _runs(place) if not RecordedRun(run).is_test]
    if not runs:
        raise TaskDirError(
            "{word!r} matches no training run, neither in {root}/ nor in {folder}",
            word=word,
            root=root,
            folder=Path.cwd(),
        )
    return runs


def _none(place: str) -> TaskDirError:
    """Returns the error of a folder in which there is no run."""
    if is_group(Path(place)):
        command = f"{PROGRAM} resume {quoted(place)}"
        return TaskDirError(
            "{place!r} is a group of which no run has begun; {command} begins them", place=place, command=command
        )
    return TaskDirError("{place!r} is neither a run nor a group of runs: there is no config.yaml of a run", place=place)


def tests_of(run: RecordedRun) -> list[RecordedRun]:
    """Returns the tests of a run in the folder where it is, or its group, the newest first."""
    root = (run.group or run.folder).absolute().parent
    names = sorted((folder for folder in folders_in(root) if folder.name.startswith("Test_")), reverse=True)
    return [test for test in map(RecordedRun, names[:MOST_TESTS]) if _tests(test, run.folder)]


def _tests(test: RecordedRun, folder: Path) -> bool:
    """Returns True for a test of the run in a folder."""
    try:
        return test.tested_run is not None and test.tested_run.resolve() == folder.resolve()
    except (OSError, ValueError, RuntimeError):  # a path that is none; RuntimeError: a link to itself
        return False


def _runs(folder: Path) -> list[Path]:
    """Returns the runs of a folder, after a look at everything that is in it."""
    if is_group(folder) or has_config(folder):
        TaskDir(folder).check()
    return runs_in(folder)


def others(name: str, root: Path) -> str:
    """Returns the end of a sentence: the nearest name, or where names come from."""
    names: Sequence[str] = [run.name for run in task_list.find_runs(root=root)]
    groups = {name.partition("/")[0] for name in names}
    return did_you_mean(name, [*names, *groups]) or tr("; {program} runs lists the runs", program=PROGRAM)
