"""Rows handed to an engine by Arrow: tables in memory, and columns whose type no engine reads from Parquet exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from dq_dagster.arrow_types import plain
from dq_dagster.rendering import is_wide_decimal, wide_decimal_text
from dq_dagster.stored_rows import batches_of, row_numbers
from dq_dagster.tables import StoredColumn, StoredTable

ROW_NUMBER = "row_number"


def holds_wide_decimal(kind: pa.DataType) -> bool:
    """Whether a decimal of more than 38 digits stands in the type, however deep."""
    if pa.types.is_nested(kind):
        return any(holds_wide_decimal(kind.field(place).type) for place in range(kind.num_fields))
    return is_wide_decimal(kind)


def needs_arrow(columns: Sequence[StoredColumn]) -> bool:
    """Whether some column must be converted on its way to an engine."""
    return any(holds_wide_decimal(column.type) for column in columns)


class ArrowRows:
    """A stream of the columns' rows that can be read any number of times, through the Arrow C stream protocol.

    The columns are named `p0`, `p1`, … in their order, and the number of each row follows. Decimals wider than 38
    digits become text that sorts as they do.
    """

    def __init__(self, table: StoredTable, columns: Sequence[StoredColumn]) -> None:
        self._table = table
        self._columns = tuple(columns)
        presented = [pa.field(f"p{place}", _presented(column.type)) for place, column in enumerate(columns)]
        self.schema = pa.schema([*presented, pa.field(ROW_NUMBER, pa.int64())])

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.RecordBatchReader.from_batches(self.schema, self._batches()).__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        first = 0
        for batch in batches_of(self._table, names=[column.name for column in self._columns]):
            columns = zip(self._columns, batch.columns, self.schema.types, strict=False)
            arrays = [_present(values, column.type, presented) for column, values, presented in columns]
            numbers = row_numbers(range(first, first + batch.num_rows))
            yield pa.RecordBatch.from_arrays([*arrays, numbers], schema=self.schema)
            first += batch.num_rows


def _presented(kind: pa.DataType) -> pa.DataType:
    if holds_wide_decimal(kind):
        return pa.string()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale)
    return kind


def _present(values: pa.Array, kind: pa.DataType, presented: pa.DataType) -> pa.Array:
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_run_end_encoded(values.type):
        from pyarrow import compute  # slow to import, and rarely needed

        values = compute.call_function("run_end_decode", [values])
    if pa.types.is_dictionary(values.type):
        values = values.cast(plain(values.type))
    if is_wide_decimal(kind):
        cells = values.cast(kind).to_pylist()
        return pa.array([None if cell is None else wide_decimal_text(cell, kind.scale) for cell in cells], pa.string())
    if holds_wide_decimal(kind):
        return pa.array([None if cell is None else repr(cell) for cell in values.to_pylist()], pa.string())
    return values.cast(presented)
