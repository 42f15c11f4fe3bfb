"""Seeing by which keys rows rise while they are written, and stating it in the file: what key_records.py reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute

from dq_dagster import key_records
from dq_dagster.arrow_types import plain
from dq_dagster.key_records import Key, KeyRange
from dq_dagster.streaming import parquet_stream

pc: Any = pyarrow.compute
_LONGEST = 1000  # characters of a text in a key; what is longer is stated nowhere
_END = 8  # the footer's length and the magic, behind it
_EXACT = Context(prec=100)
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@dataclass(frozen=True, slots=True)
class _Column:
    """A column's values as Arrow compares them, none of them NULL; `unit` turns one into the integer that is stated."""

    values: pa.Array
    unit: int

    def at(self, place: int) -> int | str:
        """The value of a row, as it is stated."""
        value = self.values[place].as_py()
        if isinstance(value, Decimal):
            return int(value.scaleb(self.values.type.scale, _EXACT))
        return value if isinstance(value, str) else value * self.unit


class KeyRecorder:
    """Watches a file's rows, in the order in which they are written, for the keys by which they rise strictly.

    Each key is tried in two orders: its columns as they are named, and the first of them last.
    """

    def __init__(self, keys: Iterable[Sequence[str]]) -> None:
        orders = [tuple(key[place] for place in order) for key in keys for order in key_records.orders_of(key)]
        self._ranges = {order: KeyRange(order, None, None) for order in orders}

    def observe(self, rows: pa.Table) -> None:
        """The next rows of the file."""
        if not rows.num_rows:
            return
        known: dict[str, _Column | None] = {}
        for order, before in list(self._ranges.items()):
            for name in order:
                if name not in known:
                    known[name] = _column(rows, name)
            columns = [column for name in order if (column := known[name]) is not None]
            first, last = (_key_at(columns, place) for place in (0, -1))
            del self._ranges[order]
            if len(columns) < len(order) or first is None or last is None or (before.last is not None and not before.last < first):
                continue
            if pc.all(rises([column.values for column in columns]), min_count=0).as_py():
                self._ranges[order] = KeyRange(order, before.first or first, last)

    @property
    def ranges(self) -> list[KeyRange]:
        """The keys by which all rows rise."""
        return list(self._ranges.values())


class HeldEnd:
    """An open file whose last bytes, from `hold` on, are kept back until `finish`, for something to be written before them."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._held: bytearray | None = None
        self.closed = False

    def write(self, content: Any) -> int:
        """Writes, or keeps."""
        if self._held is None:
            return self._stream.write(content)
        self._held += content
        return len(content)

    def tell(self) -> int:
        """The position after what was written and kept."""
        return self._stream.tell() + len(self._held or b"")

    def writable(self) -> bool:
        """True."""
        return True

    def flush(self) -> None:
        """Nothing: whoever opened the file sees to it."""

    def close(self) -> None:
        """Nothing but the mark: whoever opened the file closes it."""
        self.closed = True

    def hold(self) -> None:
        """Keeps back what comes from here on: a Parquet file's footer, once its row groups are written."""
        self._held = bytearray()

    def finish(self, ranges: Sequence[KeyRange]) -> None:
        """Writes what is stated of the rows, and after it what was kept back."""
        footer = bytes(self._held or b"")
        if len(footer) == _END + int.from_bytes(footer[-_END:-4], "little"):  # the footer and nothing else, no offset hangs on its place
            self._stream.write(key_records.spelled(ranges, footer))
        self._stream.write(footer)
        self._held = None


def record_keys(path: str | os.PathLike[str], keys: Sequence[Sequence[str]]) -> None:
    """States in a local Parquet file, or in each file of a folder, by which keys its rows rise. Nobody may read them yet.

    The columns of the keys are read. Spark's own checksum beside a file is taken away, for it is no longer of this file.
    """
    parts = [file.path for file in os.scandir(path) if not file.name.startswith((".", "_"))] if os.path.isdir(path) else [os.fspath(path)]
    for part in parts if keys else ():
        _record(part, keys)
        Path(part).with_name(f".{Path(part).name}.crc").unlink(missing_ok=True)


def _record(path: str, keys: Sequence[Sequence[str]]) -> None:
    recorder = KeyRecorder(keys)
    with open(path, "r+b") as stream:
        file = parquet_stream(stream, is_local=True)
        wanted = {name for key in keys for name in key}
        for batch in file.iter_batches(columns=[name for name in file.schema_arrow.names if name in wanted]):
            recorder.observe(pa.Table.from_batches([batch]))
        stream.seek(-_END, os.SEEK_END)
        length = _END + int.from_bytes(stream.read(4), "little")
        stream.seek(-length, os.SEEK_END)
        footer = stream.read()
        stream.seek(-length, os.SEEK_END)
        stream.write(key_records.spelled(recorder.ranges, footer) + footer)
        stream.flush()
        os.fsync(stream.fileno())


def _key_at(columns: Sequence[_Column], place: int) -> Key | None:
    """The key of a row; None where a text in it is too long to be stated."""
    key = tuple(column.at(place) for column in columns)
    return None if any(isinstance(member, str) and len(member) > _LONGEST for member in key) else key


def _column(rows: pa.Table, name: str) -> _Column | None:
    """A column in the order that key_records.py means; None where it has no such order, holds NULL or is not there once."""
    if rows.schema.names.count(name) != 1:
        return None
    values = rows.column(name).combine_chunks()
    type, types = values.type.value_type if pa.types.is_dictionary(values.type) else values.type, pa.types
    if types.is_timestamp(type):
        return _without_null(values.cast(type).cast(pa.int64()), _NANOSECONDS[type.unit])
    if types.is_date32(type):
        return _without_null(values.cast(type).cast(pa.int32()))
    if types.is_boolean(type):
        return _without_null(values.cast(type).cast(pa.int8()))
    if types.is_integer(type) or types.is_decimal(type):
        return _without_null(values.cast(type))
    if not types.is_string(plain(type)) or isinstance(type, pa.BaseExtensionType):
        return None
    values = values.cast(pa.large_string())
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:  # not UTF-8: whoever checks the table is to find it
        return None
    return _without_null(values)


def _without_null(values: pa.Array, unit: int = 1) -> _Column | None:
    return None if values.null_count else _Column(values, unit)


def rises(columns: Sequence[pa.Array]) -> pa.BooleanArray:
    """Of each row but the first, whether it is above the one before it, compared member by member; NULL where one holds NULL."""
    found: Any = None
    for column in reversed(columns):
        before, after = column.slice(0, len(column) - 1), column.slice(1)
        above = pc.less(before, after)
        found = above if found is None else pc.or_(above, pc.and_(pc.equal(before, after), found))
    return found
