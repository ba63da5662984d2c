"""Reads .npz files in pieces. What a file says of itself is compared with its size before anything is allocated."""

import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np
from numpy.lib import format as npy

from config.read.opening import regular
from framework.dataset import flat
from framework.dataset.columns import Block
from framework.disk.array_headers import read_header
from framework.errors import DataError

MOST_DEFLATED = 1032
"""Bytes that a byte of a deflated file can unfold into."""
MOST_IN_COLUMNS = 2**28
"""Bytes of the largest array that is stored column by column, and so cannot be read in pieces."""


def read(path: Path) -> Iterator[Block]:
    """Yields the steps of a file."""
    with ExitStack() as stack:
        file = stack.enter_context(open(path, "rb", opener=regular))
        archive = stack.enter_context(zipfile.ZipFile(file))
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        yield from flat.steps(
            members,
            lambda name: _Array(name, members[name], stack.enter_context(member_of(archive, members[name], file))),
        )


def write(file: BinaryIO, count: int, columns: Mapping[str, tuple[np.ndarray, Iterable[np.ndarray]]]) -> None:
    """Writes `count` steps: for each column, an array with its dtype and its shape [.., parts], and its values in
    parts [K, ...]. Equal data give equal bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, (example, parts) in columns.items():
            with archive.open(f"{flat.NAMES[name]}.npy", "w", force_zip64=True) as member:
                facts = {"descr": npy.dtype_to_descr(example.dtype), "fortran_order": False}
                npy.write_array_header_1_0(member, {**facts, "shape": (count, *example.shape[1:])})
                for part in parts:
                    member.write(content(part))


def content(array: np.ndarray) -> memoryview:
    """Returns the bytes of an array in order of its steps."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def member_of(archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: BinaryIO) -> IO[bytes]:
    """Opens a part of an archive; file: the archive's own. DataError if the part says that it is larger than it is."""
    size = os.fstat(file.fileno()).st_size
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError("{name} is compressed in a way that np.savez_compressed does not use", name=info.filename)
    most = size if info.compress_type == zipfile.ZIP_STORED else MOST_DEFLATED * size
    if info.file_size > most or info.compress_size > size:
        raise DataError(
            "{name} claims {claimed:,} bytes; a file of {size:,} cannot hold them",
            name=info.filename,
            claimed=info.file_size,
            size=size,
        )
    return archive.open(info)


class _Array(flat.Flat):
    """An array of an archive, read from its start to its end."""

    def __init__(self, name: str, info: zipfile.ZipInfo, file: IO[bytes]) -> None:
        self._name, self._file = name, file
        shape, in_columns, dtype = read_header(file, info.filename, info.file_size)
        super().__init__(info.filename, shape, dtype)
        self._whole = self._in_columns(self.count * self.step_bytes, shape) if in_columns and len(shape) > 1 else None

    def _in_columns(self, size: int, shape: tuple[int, ...]) -> np.ndarray:
        """Returns an array that is stored column by column, which is needed whole for its first step."""
        if size > MOST_IN_COLUMNS:
            raise DataError(
                "{name} is stored column by column and larger than {limit:,.0f} MiB; save it with np.ascontiguousarray",
                name=self._name,
                limit=MOST_IN_COLUMNS / 2**20,
            )
        return self._read((shape[0] * self.step_bytes // self.dtype.itemsize,)).reshape(shape, order="F")

    def take(self, first: int, count: int) -> np.ndarray:
        """Returns the next steps; first: number of the first one."""
        whole = self._read((count, *self.shape)) if self._whole is None else self._whole[first : first + count]
        return np.ascontiguousarray(whole, self.dtype.newbyteorder("="))

    def _read(self, shape: tuple[int, ...]) -> np.ndarray:
        array = np.empty(shape, self.dtype)
        left = memoryview(array.reshape(-1).view(np.uint8).data)
        while len(left):
            got = self._file.readinto(left)  # type: ignore[attr-defined]
            if not got:
                raise DataError("{name} ends too early: the file is cut off", name=self._name)
            left = left[got:]
        return array
