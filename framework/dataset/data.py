"""Opens data files as one data set, and hands out its transitions in pieces."""

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from config.read.opening import regular
from config.read.paths import as_written
from config.tell.language import tr
from framework.dataset import archives, hdf5_files, lines, minari_sets, parquet_files, pickles, sources, traces
from framework.dataset.columns import Block, Columns
from framework.dataset.steps import Changes, pieces, transitions
from framework.dataset.summary import Gathering, Summary
from framework.errors import DataError
from framework.screen.formatting import counted
from framework.screen.stages import each

READERS: dict[str, Callable[[Path], Iterator[Block]]] = {
    ".pkl": pickles.read,
    ".npz": archives.read,
    ".hdf5": hdf5_files.read,
    ".h5": hdf5_files.read,
    ".parquet": parquet_files.read,
    ".jsonl": lines.read,
    ".jsonl.gz": lines.read,
    ".jsonl.zst": lines.read,
    traces.SUFFIX: traces.read,
    "": minari_sets.read,
}
"""Ending of a file, empty for a folder -> what yields its steps."""
_BLOCK = 2**20


class Dataset:
    """The transitions of some files, in order. Whatever the format, next_obs and truncated are there."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = list(files)
        self._first: dict[str, Kind] = {}
        self.notes: list[str] = []
        """Sentences on what was added or left out."""
        self.passed = 0
        """Number of transitions that the latest `pieces` has yielded."""
        self.summary = self._summary()

    def pieces(self) -> Iterator[Columns]:
        """Yields arrays [K, ...] of a few MiB in order of time: obs, action, reward, next_obs, terminated, truncated,
        and action_mask and next_action_mask if the data have them. A piece may end within an episode; a file may
        not."""
        self.passed = 0
        for path in self.files:
            for piece in self._pieces(path, Changes()):
                yield piece
                self.passed += len(piece["reward"])

    @cached_property
    def sha256(self) -> str:
        """SHA-256 over the contents of the files, in order, as hexadecimal digits."""
        digest = hashlib.sha256()
        for path in each(tr("checksum of the data"), self.files, tr("files")):
            for part in minari_sets.contents(path) if path.is_dir() else [path]:
                with _naming(path), open(part, "rb", opener=regular) as file:
                    while block := file.read(_BLOCK):
                        digest.update(block)
        return digest.hexdigest()

    def _summary(self) -> Summary:
        """Returns what the files contain, and keeps notes. Reads all of them, so everything is checked."""
        gathering, all_changes = Gathering(), []

        def how_far() -> str:
            return counted(gathering.transitions, "transition")

        for path in each(tr("reading data"), self.files, tr("files"), how_far):
            changes, empty = Changes(), True
            for piece in self._pieces(path, changes):
                gathering.add(piece, path)
                empty = False
            if empty:
                why = tr("; its episodes are single steps, cut off and without next_obs") if changes.dropped else ""
                raise DataError("{path}: it holds no transition{why}", path=as_written(path), why=why)
            self.notes += [f"{as_written(path)}: {note}" for note in changes.notes()]
            all_changes.append(changes)
        derived = any(changes.derived for changes in all_changes)
        truncated, reward = (
            not any(getattr(changes, name) for changes in all_changes) for name in ("no_truncated", "no_reward")
        )
        return gathering.result(not derived, truncated, reward)

    def _pieces(self, path: Path, changes: Changes) -> Iterator[Columns]:
        """Yields the transitions of a file with the dtypes of the first one."""
        with _naming(path):
            blocks = READERS["" if path.is_dir() else sources.suffix_of(path)](path)
            yield from pieces(self._alike(part, path) for part in transitions(blocks, changes))

    def _alike(self, part: Columns, path: Path) -> Columns:
        """Returns transitions with the dtypes of the first ones, or raises DataError."""
        if not self._first:
            self._first = {name: Kind(column.shape[1:], column.dtype, path) for name, column in part.items()}
        if part.keys() != self._first.keys():
            path = as_written(self._first["obs"].path)
            raise DataError(
                tr(
                    "an episode has action_mask, and the first steps of {path} have none; either all of the data "
                    "have masks, or none",
                    path=path,
                )
                if "action_mask" in part
                else tr(
                    "an episode has no action_mask, and the first steps of {path} have; either all of the data "
                    "have masks, or none",
                    path=path,
                )
            )
        return {name: self._first[name].apply(name, column) for name, column in part.items()}


class Kind(NamedTuple):
    """Shape and dtype of a column in the first transitions, and the file that they are from."""

    shape: tuple[int, ...]
    dtype: np.dtype
    path: Path

    def apply(self, name: str, column: np.ndarray) -> np.ndarray:
        """Returns a column with this dtype, or raises DataError if it differs in more than precision."""
        if column.shape[1:] == self.shape:
            if column.dtype == self.dtype:
                return column
            kinds = {column.dtype.kind, self.dtype.kind}
            with np.errstate(over="ignore"):
                changed = column.astype(self.dtype)
            if kinds == {"f"} or (kinds <= {"i", "u"} and (changed == column).all()):
                return changed
        raise DataError(
            "{name} is {dtype} of shape {shape}, but {first_dtype} of shape {first_shape} in the first steps "
            "of {path}; data of one environment and of one kind of agent are needed",
            name=name,
            dtype=column.dtype,
            shape=column.shape[1:],
            first_dtype=self.dtype,
            first_shape=self.shape,
            path=as_written(self.path),
        )


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turns whatever a file makes go wrong into a DataError with its name."""
    try:
        yield
    except Exception as error:  # each format has errors of its own
        text = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        text = next(iter(text.splitlines()), "")
        if re.match(rf"{re.escape(str(path))}[ :：]", text):  # Chinese has a colon of its own
            raise DataError(f"{as_written(path)}{text.removeprefix(str(path))}{sources.renaming(path)}") from error
        if not isinstance(error, OSError | DataError):
            text = tr("it is damaged: {reason}", reason=text or type(error).__name__)
        raise DataError(f"{as_written(path)}: {text}{sources.renaming(path)}") from error


def open_data(data: str | Path | Sequence[str | Path]) -> Dataset:
    """Returns the data of files, patterns or task directories. Raises DataError, with the file and the reason, for
    anything that is not data of one kind."""
    return Dataset(sources.files(data))
