"""The rows of a stored table as Arrow, as they were written: every value and type kept, in the order of the files."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from dq_dagster.streaming import parquet_stream
from dq_dagster.tables import Part, StoredTable

BATCH_ROWS = 65_536


def schema_of(table: StoredTable) -> pa.Schema:
    """The schema that holds every row: as written where all parts agree, else with the types that hold all of them."""
    if table.memory is not None:
        return table.memory.schema
    first = table.parts[0].schema
    stored = [column for column in table.columns if not column.from_path]
    if all(part.schema.equals(first) for part in table.parts):
        fields = list(first)
    else:
        fields = [pa.field(column.name, column.type) for column in stored]
    return pa.schema([*fields, *(pa.field(column.name, column.type) for column in table.columns if column.from_path)], first.metadata)


def row_numbers(counted: Iterable[int]) -> pa.Array:
    """Row numbers as Arrow. pa.array imports pandas where that is installed, which costs more than many a query."""
    held = array("q", counted)
    return pa.Array.from_buffers(pa.int64(), len(held), [None, pa.py_buffer(held)])


def batches_of(
    table: StoredTable,
    schema: pa.Schema | None = None,
    *,
    names: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    use_threads: bool = True,
) -> Iterator[pa.RecordBatch]:
    """The rows, batch by batch, in `schema` (default: the whole table's); `names` picks columns of it.

    Text that the schema wants as a dictionary is read as one.
    """
    whole = schema_of(table) if schema is None else schema
    schema = whole if names is None else pa.schema([whole.field(name) for name in names], whole.metadata)
    if table.memory is not None:
        held = table.memory if names is None else table.memory.select(list(names))
        yield from held.to_batches(max_chunksize=batch_rows)
        return
    for part in table.parts:
        for batch in _of_part(table, part, schema, batch_rows, use_threads=use_threads):
            yield _shaped(batch, schema, part.keys)


def _of_part(table: StoredTable, part: Part, schema: pa.Schema, batch_rows: int, *, use_threads: bool) -> Iterator[pa.RecordBatch]:
    held = [name for name in part.schema.names if name in schema.names]
    is_coded = pa.types.is_dictionary
    coded = [name for name in held if is_coded(schema.field(name).type) and not is_coded(part.schema.field(name).type)]
    with table.filesystem.open(part.path, "rb") if table.filesystem else pa.OSFile(part.path) as source:
        file = parquet_stream(source, is_local=table.filesystem is None, read_dictionary=coded)
        yield from file.iter_batches(batch_size=batch_rows, columns=held, row_groups=part.row_groups, use_threads=use_threads)


def _shaped(batch: pa.RecordBatch, schema: pa.Schema, keys: Mapping[str, Any]) -> pa.RecordBatch:
    if batch.schema.equals(schema):
        return batch
    arrays: list[pa.Array] = []
    for field in schema:
        place = batch.schema.get_field_index(field.name)
        if place >= 0:
            values = batch.column(place)
            arrays.append(values if values.type.equals(field.type) else _widened(values, field.type))
        elif field.name in keys:
            arrays.append(pa.array([keys[field.name]] * batch.num_rows, pa.string()).cast(field.type))
        else:
            arrays.append(pa.nulls(batch.num_rows, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _widened(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    return values.cast(kind)
