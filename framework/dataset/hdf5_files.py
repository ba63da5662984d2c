"""Reads and writes HDF5 files of flat arrays, as those of D4RL: a data set of the file for each column."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from config.read.opening import regular
from config.tell.language import tr
from framework.dataset import flat
from framework.dataset.archives import MOST_DEFLATED
from framework.dataset.columns import Block
from framework.errors import DataError, optional

MOST_CHUNK = 2**26
"""Bytes of the largest chunk, which is decompressed whole."""
CHUNK_ENTRY = 8
"""Bytes that a file has at least for each chunk of an array: its address."""
CACHE = 2**24
"""Bytes of decompressed chunks that are kept of a column while it is read in pieces."""


def read(path: Path) -> Iterator[Block]:
    """Yields the steps of a file. Groups, such as the infos of D4RL, are left out."""
    h5py = _package()
    with ExitStack() as stack:
        file = stack.enter_context(open(path, "rb", opener=regular))
        try:
            content = stack.enter_context(h5py.File(file, "r", rdcc_nbytes=CACHE))
        except OSError as error:  # which names no file, and has no number
            raise DataError("it is damaged: {reason}", reason=error) from None
        size = path.stat().st_size
        kinds = {name: content.get(name, getclass=True, getlink=True) for name in content}
        names = [name for name, kind in kinds.items() if kind is not h5py.HardLink or _is_array(content, name)]
        if not names and kinds:
            raise DataError(
                "its arrays lie in groups, such as {group}/; a data set for each column at the top is read",
                group=min(kinds),
            )
        yield from flat.steps(names, lambda name: _Stored(content, name, size))


def write(file: BinaryIO, count: int, columns: Mapping[str, tuple[np.ndarray, Iterable[np.ndarray]]]) -> None:
    """Writes `count` steps: for each column, an array with its dtype and its shape [.., parts], and its values in
    parts [K, ...]. Equal data give equal bytes."""
    with _package().File(file, "w") as content:
        for name, (example, parts) in columns.items():
            stored = content.create_dataset(flat.NAMES[name], (count, *example.shape[1:]), example.dtype)
            first = 0
            for part in parts:
                stored[first : first + len(part)] = part
                first += len(part)


def excess(array: Any, size: int) -> int:
    """Returns the bytes that an array of the library claims if a file of this size cannot hold them, otherwise 0: those
    of its values, or of the addresses of its chunks. The library has some KiB for each chunk of what it reads, also for
    chunks of which nothing is in the file."""
    filters = array.id.get_create_plist().get_nfilters()
    if array.nbytes > (MOST_DEFLATED * size if filters else size):
        return int(array.nbytes)
    counts = (-(-length // chunk) for length, chunk in zip(array.shape, array.chunks or (), strict=False))
    addresses = prod(counts) * CHUNK_ENTRY
    return addresses if addresses > size else 0


def _package() -> Any:
    return optional("h5py", tr("an HDF5 file"), DataError)


def _is_array(content: Any, name: str) -> bool:
    return content.get(name, getclass=True) is _package().Dataset


class _Stored(flat.Flat):
    """An array of a file."""

    def __init__(self, content: Any, name: str, size: int) -> None:
        """size: bytes of the file."""
        if not isinstance(content.get(name, getlink=True), _package().HardLink):
            raise DataError("{name} is a link, which is not followed", name=name)
        self._array = array = content[name]
        if array.external or array.is_virtual:
            raise DataError("{name} lies in another file, which is not opened", name=name)
        super().__init__(name, array.shape, array.dtype)
        if claimed := excess(array, size):
            raise DataError(
                "{name} claims {claimed:,} bytes; a file of {size:,} cannot hold them",
                name=name,
                claimed=claimed,
                size=size,
            )
        chunk = int(np.prod(array.chunks or (0,), dtype=object)) * self.dtype.itemsize
        if chunk > MOST_CHUNK:
            raise DataError(
                "{name} is stored in chunks of {size:,.0f} MiB, and at most {limit:,.0f} are read",
                name=name,
                size=chunk / 2**20,
                limit=MOST_CHUNK / 2**20,
            )

    def take(self, first: int, count: int) -> np.ndarray:
        """Returns the next steps; first: number of the first one."""
        return np.ascontiguousarray(self._array[first : first + count], self.dtype.newbyteorder("="))
