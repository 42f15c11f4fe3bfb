"""What is wrong with stored pages: asked beforehand by their checksums, or afterwards, when an engine has stumbled over them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from dq_dagster.arrow_types import plain
from dq_dagster.errors import TableUnreadable, some_of
from dq_dagster.files import unreadable
from dq_dagster.streaming import parquet_stream
from dq_dagster.tables import Part, StoredTable


def verify_checksums(table: StoredTable, names: Sequence[str] = ()) -> None:
    """Reads these columns (none: all) and compares each page with the checksum it carries, where it carries one.

    Raises:
        TableUnreadable: a page does not match its checksum, or cannot be read.
    """
    for part in table.parts:
        _read_through(table, part, names or tuple(dict.fromkeys(part.schema.names)), checksums=True)


def find_fault(table: StoredTable, names: Sequence[str] = ()) -> str | None:
    """What is wrong with what is stored in these columns (none: all), in words that quote no cell; None when nothing is.

    For after an engine has stumbled: it reads the columns once more, one by one.

    Raises:
        TableUnreadable: a file cannot be read at all.
    """
    wanted = names or [column.name for column in table.columns]
    if table.memory is not None:
        held = [name for name in wanted if table.memory.schema.names.count(name) == 1]
        faults = (_fault_of(name, chunk) for name in held for chunk in table.memory.column(name).chunks)
        return next((fault for fault in faults if fault), None)
    for part in table.parts:
        for name in wanted:
            fault = _read_through(table, part, [name], checksums=False)
            if fault:
                return fault
    return None


@contextmanager
def _opened(table: StoredTable, part: Part, *, checksums: bool) -> Generator[pq.ParquetFile, None, None]:
    with table.filesystem.open(part.path, "rb") if table.filesystem else pa.OSFile(part.path) as source:
        yield parquet_stream(source, is_local=table.filesystem is None, page_checksum_verification=checksums)


def _read_through(table: StoredTable, part: Part, names: Sequence[str], *, checksums: bool) -> str | None:
    """Reads columns of a part to the end; says what is wrong with what was read, where values are looked at."""
    held = [name for name in names if name in part.statistics.names]
    if not held:
        return None
    try:
        with _opened(table, part, checksums=checksums) as file:
            for batch in file.iter_batches(columns=held):
                if checksums:
                    continue
                for name, values in zip(batch.schema.names, batch.columns, strict=True):
                    fault = _fault_of(name, values) if name in held else None
                    if fault:
                        return fault
    except MemoryError:
        raise
    except Exception as error:  # Arrow, its codecs and foreign file systems raise many kinds, and quote what they read
        if not isinstance(error, OSError | ValueError | pa.ArrowException) or (isinstance(error, OSError) and error.errno):
            raise unreadable(table.place, part.shown, error) from error
        if len(held) > 1:  # once more, one by one, to name the culprit
            for name in held:
                _read_through(table, part, [name], checksums=checksums)
        wrong = "does not match its checksum, or cannot be decoded" if checksums else "cannot be decoded"
        what = f"a page of column {some_of([repr(name) for name in held])} in {part.shown} {wrong}"
        raise TableUnreadable(table.place, f"{what}: the file is damaged; write it again") from error
    return None


def _fault_of(name: str, values: pa.Array) -> str | None:
    try:
        values.validate(full=True)
    except (pa.ArrowException, ValueError):
        text = pa.types.is_string(plain(values.type))
        return f"column '{name}' holds " + ("text that is not valid UTF-8" if text else "values that its type does not allow")
    return None
