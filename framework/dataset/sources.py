"""Finds the data files that paths, patterns and folders mean."""

import contextlib
import glob
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from config.read.opening import fault_below, regular
from config.read.paths import as_written, fixed
from config.tell.language import tr
from config.tell.system_errors import reason_of
from framework.dataset import minari_sets, traces
from framework.errors import DataError, JoystickError

SUFFIXES = (".pkl", ".npz", ".hdf5", ".h5", ".parquet", ".jsonl", ".jsonl.gz", ".jsonl.zst", traces.SUFFIX)
"""Endings of data files."""
BEGINNINGS = {b"PK\x03\x04": ".npz", b"\x89HDF": ".hdf5", b"PAR1": ".parquet", b"\x80": ".pkl"}
"""First bytes of a file, and the ending that suits them."""
MINARI = "minari:"
"""Beginning of a word that names a data set of Minari by its id."""
_OTHER_PICKLES = (".pickle",)


def files(words: str | Path | Sequence[str | Path], start: Path | None = None) -> list[Path]:
    """Returns the data files in natural order (2 before 10), each once. Raises DataError for a word that means none.
    start: working directory that relative paths count from; None: the current one."""
    sources = [words] if isinstance(words, str | Path) else list(words)
    if not sources:
        raise DataError("no data are given; name a file, a pattern such as data/*.npz, or a task directory")
    paths = dict.fromkeys(fixed(path, start) for word in sources for path in _meant(str(word), start or Path.cwd()))
    return sorted(paths, key=lambda path: natural(as_written(path)))


class MissingDataError(DataError):
    """There is no folder or file of this name."""


@contextlib.contextmanager
def naming_setting(resumed: bool = False) -> Iterator[None]:
    """Turns what is wrong with the data of a run into an error with the setting that names them. resumed: True if
    another path to the same content may be named."""
    try:
        yield
    except DataError as error:
        advice = ""
        if resumed:
            advice = tr("; a resume takes the same data from another path: algo_cfg.data=PATH")
        elif isinstance(error, MissingDataError):
            advice = tr("; docs/offline.md says how such data is made")
        raise JoystickError(f"algo_cfg.data: {error}{advice}") from error


def natural(path: Path) -> list[tuple[int, str]]:
    """Returns a key by which numbers in names are in order of their values."""
    parts = re.findall(r"\d+|\D+", str(path))
    return [(int(part) if part.isdecimal() else -1, part) for part in parts]


def suffix_of(path: Path) -> str:
    """Returns the ending that tells the format of a file; empty for another one."""
    name = path.name.lower()
    name = next((name.removesuffix(other) + ".pkl" for other in _OTHER_PICKLES if name.endswith(other)), name)
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")


def _meant(word: str, start: Path) -> Iterator[Path]:
    if word.startswith(MINARI):
        path = minari_sets.folder_of(word.removeprefix(MINARI))
        if not minari_sets.is_set(path):
            raise DataError("{word}: there is no such data set in {path}, and none is downloaded", word=word, path=path)
        yield path
        return
    path = fixed(Path(word).expanduser(), start)
    try:
        exists = path.exists() or path.is_symlink()
    except (OSError, ValueError) as error:
        raise DataError("{word!r} cannot be read: {error}", word=word, error=error) from None
    if not exists and (run := fixed(Path("tasks") / word, start)).is_dir():  # a name, as the commands take it
        yield from _in_folder(run)
    elif not exists and glob.has_magic(word):
        names = glob.glob(str(as_written(path)), root_dir=start, recursive=True)
        matches = [fixed(Path(name), start) for name in names]
        if not matches:
            raise DataError("no file matches {word}", word=word)
        for match in matches:
            yield from _files_of(match)
    elif not exists:
        raise MissingDataError("{word} does not exist", word=word)
    else:
        yield from _files_of(path)


def _files_of(path: Path) -> list[Path]:
    return _in_folder(path) if path.is_dir() else [_usable(path)]


def renaming(path: Path) -> str:
    """Returns the end of a sentence about a file that cannot be read: another ending, if its first bytes are those of
    another format; else empty."""
    try:
        with open(path, "rb", opener=regular) as file:
            first = file.read(4)
    except OSError:
        return ""
    suffix = next((suffix for beginning, suffix in BEGINNINGS.items() if first.startswith(beginning)), "")
    if not suffix or suffix_of(path) == suffix or {suffix_of(path), suffix} == {".h5", ".hdf5"}:
        return ""
    return tr("; it begins as {suffix} files do: rename it {name}", suffix=suffix, name=path.stem + suffix)


def _in_folder(folder: Path) -> list[Path]:
    """Returns the trajectories of a task directory, or of its folder of results; if there are none, its traces."""
    try:
        next(folder.iterdir(), None)
    except OSError as error:
        raise DataError("{path} cannot be read: {error}", path=as_written(folder), error=reason_of(error)) from None
    if minari_sets.is_set(folder):
        return [folder]
    for place, paths in _candidates(folder):
        if paths:
            files = [_usable(path) for path in paths]
            if place != folder and (fault := fault_below(folder)):
                raise DataError(fault)
            return files
    if files := [path for path in folder.iterdir() if suffix_of(path) not in ("", traces.SUFFIX)]:
        raise DataError(
            "{folder} is neither a task directory nor a data set of Minari; its data files are named by a pattern: "
            "add {pattern}",
            folder=as_written(folder),
            pattern=f"/*{suffix_of(min(files))}",
        )
    raise DataError(
        "{folder} is a folder without data: no results/trajs*, no traces; "
        "general_cfg.collect_traj=true makes a run write them",
        folder=as_written(folder),
    )


def _candidates(folder: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Yields places where data may lie, and the files there."""
    for place in (folder / "results", folder):
        yield place, [path for path in place.glob("trajs*") if suffix_of(path)]
    for place in (folder / "results" / "traces", folder):
        yield place, traces.files_in(place)


def _usable(path: Path) -> Path:
    if path.is_symlink():
        named = as_written(path)
        raise DataError(
            "{path} is a link, which is not followed; name the file itself: {target}", path=named, target=path.resolve()
        )
    if path.exists() and not path.is_file():
        raise DataError("{path} is not a regular file", path=as_written(path))
    if not suffix_of(path):
        raise DataError(
            "{path} is none of the data files that are read: {suffixes}; docs/data_files.md says how arrays and "
            "tables become one",
            path=as_written(path),
            suffixes=", ".join(SUFFIXES),
        )
    return path
