"""Writes data in another format: python main.py convert IN OUT."""

import contextlib
import gzip
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from config.program import PROGRAM
from config.read.opening import regular
from config.tell.language import tr
from framework.dataset import archives, hdf5_files, lines, minari_sets, parquet_files, sources, traces, trajectories
from framework.dataset.columns import MASKS
from framework.dataset.data import Dataset, open_data
from framework.dataset.episodes import episodes
from framework.dataset.summary import Range
from framework.disk.atomic import discard, finish, finish_folder, naming, unfinished, unfinished_folder
from framework.errors import DataError
from framework.screen.stages import part, stage

FOLDER = ".minari"
"""Ending of a folder that is to become a data set of Minari."""
PICKLED = {"obs": "state", "next_obs": "next_state"}
"""Column -> its key in trajs.pkl, if that is another word."""


def is_data(path: str) -> bool:
    """Returns True if the ending of a path is that of data."""
    return path.startswith(sources.MINARI) or path.endswith(FOLDER) or bool(sources.suffix_of(Path(path)))


def convert(data: str | Sequence[str], target: str) -> Dataset:
    """Writes data to a new file, or to the folder of a new Minari data set. Returns what was read."""
    if isinstance(data, str) and data.lower().endswith((".yaml", ".yml")):
        raise DataError(
            "a converted JoyRL file goes to the standard output: {program} convert {data} > {target}",
            program=PROGRAM,
            data=data,
            target=target,
        )
    if not is_data(target) or sources.suffix_of(Path(target)) == traces.SUFFIX:
        raise DataError(
            "{target} is not a data file; its ending tells the format: {endings}",
            target=target,
            endings=", ".join([*WRITERS, FOLDER]),
        )
    minari = target.startswith(sources.MINARI) or target.endswith(FOLDER)
    own_place = target.startswith(sources.MINARI)
    path = minari_sets.new_folder_of(target.removeprefix(sources.MINARI)) if own_place else Path(target).expanduser()
    if path.exists() or path.is_symlink():
        raise DataError("{path} exists; give a new name", path=path)
    if not minari and not path.parent.is_dir():
        raise DataError("the folder {path} does not exist", path=path.parent)
    content = open_data(data)
    with (
        stage(
            tr("writing {file}", file=path.name),
            lambda: part(content.passed, content.summary.transitions, tr("transitions")),
        ),
        naming(path),
    ):
        if minari:
            identity = target.removeprefix(sources.MINARI) if own_place else f"joystick/{path.name}-v0"
            _write_set(path, identity, content)
        else:
            _write_file(path, content)
    return content


def _write_set(path: Path, identity: str, data: Dataset) -> None:
    """Writes a folder whole or not at all."""
    new = unfinished_folder(path)
    discard(new)  # of a conversion that was killed
    try:
        minari_sets.write(new, identity, episodes(data.pieces()), _observed(data), data.summary.action)
        finish_folder(new, path)
    except BaseException:
        discard(new)
        raise


def _observed(data: Dataset) -> Range:
    """Returns the range of all observations, those that end an episode included."""
    seen = Range(next(data.pieces())["obs"])
    for piece in data.pieces():
        seen.add(piece["obs"], 0)
        seen.add(piece["next_obs"], 0)
    return seen


def _write_file(path: Path, data: Dataset) -> None:
    """Writes a file whole or not at all."""
    try:
        file = open(unfinished(path), "w+b", opener=regular)  # noqa: SIM115  # closed by `finish`
        with contextlib.ExitStack() as stack:
            stack.callback(file.close)
            WRITERS[sources.suffix_of(path)](file, data)
            stack.pop_all()
        finish(file, path)
    except BaseException:
        unfinished(path).unlink(missing_ok=True)
        raise


def _pickle(file: BinaryIO, data: Dataset) -> None:
    file.write(trajectories.header_of((*trajectories.KEYS, *(MASKS if data.summary.mask else ()))))
    for episode in episodes(data.pieces()):
        columns: dict[str, Any] = {PICKLED.get(name, name): column for name, column in episode.items()}
        parts = trajectories.parts_of({**columns, "info": [{}] * len(episode["reward"])})
        file.write(b"".join(parts.values()))
    file.write(trajectories.STOP)


def _columns(write: Callable[..., None], file: BinaryIO, data: Dataset) -> None:
    """Writes column after column; each one is a pass over the data, so that they need not fit into memory."""
    first = next(data.pieces())

    def parts(name: str) -> Iterator[np.ndarray]:
        return (piece[name] for piece in data.pieces())

    write(file, data.summary.transitions, {name: (first[name], parts(name)) for name in first})


def _parquet(file: BinaryIO, data: Dataset) -> None:
    parquet_files.write(file, data.pieces())


def _lines(file: Any, data: Dataset) -> None:
    for episode in episodes(data.pieces()):
        file.write(lines.line_of(episode).encode() + b"\n")


def _gzipped(file: BinaryIO, data: Dataset) -> None:
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        _lines(packed, data)


def _zstandard(file: BinaryIO, data: Dataset) -> None:
    with lines.zstandard().ZstdCompressor().stream_writer(file, closefd=False) as packed:
        _lines(packed, data)


WRITERS: dict[str, Callable[[BinaryIO, Dataset], None]] = {
    ".pkl": _pickle,
    ".npz": partial(_columns, archives.write),
    ".hdf5": partial(_columns, hdf5_files.write),
    ".h5": partial(_columns, hdf5_files.write),
    ".parquet": _parquet,
    ".jsonl": _lines,
    ".jsonl.gz": _gzipped,
    ".jsonl.zst": _zstandard,
}
"""Ending of a file -> what writes data to it."""
