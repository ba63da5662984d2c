"""Reads and writes Parquet files: a row for each step, a column with numbers or lists of numbers for each of ours."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from config.read.opening import regular
from config.system.processes import survives
from config.tell.language import tr
from framework.dataset.archives import MOST_DEFLATED
from framework.dataset.columns import PIECE_BYTES, Block, Columns, check_dtype, check_size, joined, renamed
from framework.dataset.flat import NAMES
from framework.errors import DataError, optional

MOST_GROUP = 2**30
"""Bytes of the largest group of rows that is read: a column of it may be one page, which is decompressed whole."""
MOST_TEXT, MOST_PARTS = 2**24, 2**20
"""Bytes of the longest text, and number of entries of the longest list, in what a file says of itself."""
GROUP_PIECES = 16
"""Number of pieces that are written as a group of rows."""


def read(path: Path) -> Iterator[Block]:
    """Yields the steps of a file."""
    arrow, parquet = _packages()
    with open(path, "rb", opener=regular) as source:
        content = parquet.ParquetFile(
            arrow.PythonFile(source, "r"), buffer_size=PIECE_BYTES, pre_buffer=False,
            thrift_string_size_limit=MOST_TEXT, thrift_container_size_limit=MOST_PARTS,
        )  # fmt: skip
        names = renamed(content.schema_arrow.names)
        for name in names.values():
            _check_type(name, content.schema_arrow.field(name).type)
        facts = content.metadata
        if not survives(lambda: _columns_of(facts)):  # pyarrow does not turn all errors of its library into exceptions
            raise DataError("it is damaged: what it says of its columns cannot be read")
        step = _check_sizes(facts, set(names.values()), path.stat().st_size)
        rows = max(PIECE_BYTES // max(step, 1), 1)
        first, count = 0, facts.num_rows
        for batch in content.iter_batches(rows, columns=list(names.values()), use_threads=False):
            columns = {column: _values(name, batch.column(name)) for column, name in names.items()}
            first += len(batch)
            yield Block(columns, "file" if first == count else "", first=first - len(batch))


def write(file: BinaryIO, pieces: Iterable[Columns]) -> None:
    """Writes transitions, a row for each."""
    arrow, parquet = _packages()
    waiting: list[Columns] = []
    writer = None
    try:
        for piece in pieces:
            waiting.append(piece)
            if len(waiting) == GROUP_PIECES:
                writer = _write_group(writer, file, joined(waiting), arrow, parquet)
                waiting = []
        if waiting:
            writer = _write_group(writer, file, joined(waiting), arrow, parquet)
    finally:
        if writer is not None:
            writer.close()


def _write_group(writer: Any, file: BinaryIO, columns: Columns, arrow: Any, parquet: Any) -> Any:
    """Writes a group of rows. Returns the writer, which the first group makes."""
    table = arrow.table({NAMES[name]: _column(column, arrow) for name, column in columns.items()})
    writer = writer or parquet.ParquetWriter(file, table.schema)
    writer.write_table(table, row_group_size=len(table))
    return writer


def _column(column: np.ndarray, arrow: Any) -> Any:
    """Returns steps [K, ...] as an array of lists of lists."""
    values = arrow.array(column.reshape(-1))
    for side in reversed(column.shape[1:]):
        values = arrow.FixedSizeListArray.from_arrays(values, side)
    return values


def _packages() -> tuple[Any, Any]:
    user = tr("a Parquet file")
    return optional("pyarrow", user, DataError), optional("pyarrow.parquet", user, DataError)


def _check_type(name: str, kind: Any) -> None:
    """Raises DataError for anything but numbers, truth values, and lists of them."""
    types = import_module("pyarrow").types
    inner = kind
    while types.is_list(inner) or types.is_large_list(inner) or types.is_fixed_size_list(inner):
        inner = inner.value_type
    if not (types.is_integer(inner) or types.is_floating(inner) or types.is_boolean(inner)):
        raise DataError("{name} is a column of {kind}; numbers are needed, or lists of numbers", name=name, kind=kind)


def _columns_of(facts: Any) -> list[list[Any]]:
    """Returns what a file says of the columns of each group of its rows."""
    groups = (facts.row_group(number) for number in range(facts.num_row_groups))
    return [[group.column(place) for place in range(group.num_columns)] for group in groups]


def _check_sizes(facts: Any, names: set[str], size: int) -> int:
    """Returns the bytes of a row; raises DataError if a file of this size cannot hold what it claims."""
    if not facts.num_rows:
        raise DataError("it holds no step")
    largest = 0
    for number, columns in enumerate(_columns_of(facts)):
        group, whole = facts.row_group(number), 0
        for column in columns:
            if column.path_in_schema.partition(".")[0] in names:
                whole += max(8 * column.num_values, column.total_uncompressed_size, 0)
        if whole > min(MOST_GROUP, MOST_DEFLATED * size):
            raise DataError(
                "a group of its rows claims {claimed:,} bytes, more than a file of {size:,} can hold, or than "
                "{limit:,.0f} MiB; write it with a smaller row_group_size",
                claimed=whole,
                size=size,
                limit=MOST_GROUP / 2**20,
            )
        largest = max(largest, whole // max(group.num_rows, 1))
    return check_size(largest)


def _values(name: str, values: Any) -> np.ndarray:
    """Returns a column as an array [K, ...]; raises DataError if its lists differ in length, or an entry is missing."""
    shape = [len(values)]
    while True:
        if values.null_count:
            raise DataError("{name} has entries without a value", name=name)
        if not hasattr(values, "flatten") or not hasattr(values.type, "value_type"):
            break
        inner = values.flatten()
        side, left = divmod(len(inner), len(values)) if len(values) else (0, 0)
        lengths = values.value_lengths()
        if left or (len(lengths) and not (lengths.to_numpy(zero_copy_only=False) == side).all()):
            raise DataError("the entries of {name} differ in shape, or are not numbers", name=name)
        shape.append(side)
        values = inner
    array = values.to_numpy(zero_copy_only=False)
    check_dtype(name, array.dtype)
    return array.reshape(shape)
