"""Reads the header of an array in numpy's format. What it says is compared with the size of the file before anything is
allocated for it."""

import io
import math
from typing import IO, NamedTuple

import numpy as np
from numpy.lib import format as npy

from framework.errors import DataError

MOST_BYTES = 10_000
"""Length of the longest header. numpy reads as many bytes as a header says that it has, up to 4 GiB."""
_LENGTHS = {(1, 0): 2, (2, 0): 4}
"""Version of the format -> bytes that hold the length of the header."""


class Header(NamedTuple):
    """Kind of an array."""

    shape: tuple[int, ...]
    in_columns: bool
    """True if the array is stored column by column (Fortran order)."""
    dtype: np.dtype


def read_header(file: IO[bytes], name: str, size: int) -> Header:
    """Returns the header of an array, and leaves the file at its first value. size: bytes of the file. DataError if the
    array does not fit them; arrays of objects have no size."""
    version = npy.read_magic(file)
    if version not in _LENGTHS:
        raise DataError(
            "{name} has version {version} of the format of arrays; 1.0 and 2.0 are read", name=name, version=version
        )
    length = file.read(_LENGTHS[version])
    if (longest := int.from_bytes(length, "little")) > MOST_BYTES:
        raise DataError(
            "{name} has a header of {longest:,} bytes; {most:,} are read", name=name, longest=longest, most=MOST_BYTES
        )
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    text = file.read(longest)
    try:
        header = Header(*read(io.BytesIO(length + text)))
    except Exception as error:  # numpy has Python's parser read it, which raises anything
        raise DataError("{name} is damaged: its header cannot be read", name=name) from error
    left = size - npy.MAGIC_LEN - len(length) - len(text)
    if min(header.shape, default=0) < 0 or (
        not header.dtype.hasobject and math.prod(header.shape) * header.dtype.itemsize != left
    ):
        raise DataError(
            "{name} is damaged: an array of shape {shape} does not fit its {size:,} bytes",
            name=name,
            shape=header.shape,
            size=size,
        )
    return header
