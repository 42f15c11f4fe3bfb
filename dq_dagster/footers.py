"""What one Parquet file's footer states: its schema, its row count, and each column's nulls, extremes and bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dq_dagster.arrow_types import plain

_EXACT = Context(prec=100)


@dataclass(frozen=True, slots=True)
class Footer:
    """One file's footer, read once. `leaves` are the stored columns that each column of the schema is made of.

    Statistics are only believed where they are exact for every writer: null counts, and the extremes of integers,
    decimals, dates and timestamps. A float's extremes leave NaN out, and long text is cut.
    """

    metadata: pq.FileMetaData
    schema: pa.Schema
    leaves: Mapping[str, range]
    digest: str

    @property
    def names(self) -> Mapping[str, range]:
        """The names of the stored columns, each once; to be asked with `in`."""
        return self.leaves

    @property
    def rows(self) -> int:
        return self.metadata.num_rows

    def null_count(self, name: str) -> int | None:
        """How many rows are NULL in a column, or None where the footer does not say or the column is nested."""
        leaf = self._flat_leaf(name)
        if leaf is None:
            return None
        if self.metadata.schema.column(leaf).max_definition_level == 0:
            return 0
        if pa.types.is_null(self._type_of(name)):
            return self.rows
        total = 0
        for _, rows, statistics in self._chunks(leaf):
            if statistics is None or not statistics.has_null_count or not 0 <= statistics.null_count <= rows:
                return None
            total += statistics.null_count
        return total

    def extremes(self, name: str) -> tuple[Any, Any] | None:
        """The least and the greatest value of a column, dates and timestamps as counts of their unit.

        None where the footer does not say it exactly, or the column holds no value.
        """
        leaf = self._flat_leaf(name)
        if leaf is None:
            return None
        type = plain(self._type_of(name))
        ends: list[Any] = []
        for _, rows, statistics in self._chunks(leaf):
            if statistics is not None and statistics.has_null_count and statistics.null_count == rows:
                continue
            pair = None if statistics is None or not statistics.has_min_max else _ends(statistics, type)
            if pair is None or pair[0] > pair[1]:
                return None
            ends += pair
        return (min(ends), max(ends)) if ends else None

    def hinted_extremes(self, name: str) -> tuple[Any, Any] | None:
        """The least and the greatest value of a column as the footer states them, exact or not: of floats, NaN is left out."""
        leaf = self._flat_leaf(name)
        if leaf is None or not pa.types.is_floating(plain(self._type_of(name))):
            return self.extremes(name)
        stated = [found for _, _, found in self._chunks(leaf) if found is not None and found.has_min_max]
        return (min(found.min for found in stated), max(found.max for found in stated)) if stated else None

    def least_of_groups(self, name: str) -> dict[int, Any] | None:
        """A value below which no value of a column lies, for each row group with any: text in bytes, else as `extremes` says it.

        None where some group does not say it.
        """
        leaf = self._flat_leaf(name)
        if leaf is None:
            return None
        type = plain(self._type_of(name))
        least: dict[int, Any] = {}
        for at, rows, statistics in self._chunks(leaf):
            if statistics is not None and statistics.has_null_count and statistics.null_count == rows:
                continue
            if statistics is None or not statistics.has_min_max:
                return None
            if pa.types.is_string(type):
                least[at] = statistics.min_raw  # cut short where it is long, and then less still
            elif (pair := _ends(statistics, type)) is not None:
                least[at] = pair[0]
            else:
                return None
        return least

    def needs_care(self, name: str) -> bool:
        """Whether a column that is there is stored so that readers differ: by a logical type, or as INT96, of which Arrow has not all."""
        leaves = self.leaves.get(name, range(0))
        stored = [self.metadata.schema.column(leaf) for leaf in leaves]
        is_extension = name in self.leaves and isinstance(self._type_of(name), pa.BaseExtensionType)
        return is_extension or any(leaf.physical_type == "INT96" for leaf in stored)

    def rows_of_group(self, at: int) -> int:
        """How many rows a row group holds."""
        return self.metadata.row_group(at).num_rows

    def bytes_of(self, name: str) -> int:
        """The compressed bytes of a column, everything nested in it included."""
        groups = [self.metadata.row_group(at) for at in range(self.metadata.num_row_groups)]
        return sum(group.column(leaf).total_compressed_size for group in groups for leaf in self.leaves.get(name, ()))

    def _type_of(self, name: str) -> pa.DataType:
        return self.schema.field(self.schema.get_field_index(name)).type

    def _flat_leaf(self, name: str) -> int | None:
        """The one stored column behind a column that is not nested."""
        leaves = self.leaves.get(name, range(0))
        if len(leaves) != 1:
            return None
        column = self.metadata.schema.column(leaves.start)
        return leaves.start if column.max_repetition_level == 0 and column.max_definition_level <= 1 else None

    def _chunks(self, leaf: int) -> Iterator[tuple[int, int, pq.Statistics | None]]:
        """The number of each row group that holds rows, how many it holds, and what is stated of a stored column in it."""
        for at in range(self.metadata.num_row_groups):
            group = self.metadata.row_group(at)
            if group.num_rows:
                yield at, group.num_rows, group.column(leaf).statistics


def digest_of(footer: bytes) -> str:
    """What tells one footer from another."""
    return hashlib.blake2b(footer, digest_size=16).hexdigest()


def parse_footer(footer: bytes, *, like: Footer | None = None) -> Footer:
    """The footer that these bytes spell, length and magic included. `like` lends its schema where both are equal.

    Raises:
        OSError, ValueError, pa.ArrowException: the bytes are damaged, or state a type that Arrow does not know.
    """
    file = pq.ParquetFile(pa.BufferReader(b"PAR1" + footer))  # a file of nothing but its footer
    metadata, schema = file.metadata, file.schema_arrow
    digest = digest_of(footer)
    if like is not None and like.schema.equals(schema):
        return Footer(metadata, like.schema, like.leaves, digest)
    leaves: dict[str, range] = {}
    start = 0
    for field in schema:
        stop = start + _leaf_count(field.type)
        leaves.setdefault(field.name, range(start, stop))
        start = stop
    if start != metadata.num_columns:  # a type that Arrow stores in a way of its own: say nothing rather than a neighbour's figures
        leaves = dict.fromkeys(leaves, range(0))
    return Footer(metadata, schema, leaves, digest)


def _leaf_count(type: pa.DataType) -> int:
    type = plain(type)
    return sum(_leaf_count(type.field(at).type) for at in range(type.num_fields)) if pa.types.is_nested(type) else 1


def _ends(statistics: pq.Statistics, type: pa.DataType) -> tuple[Any, Any] | None:
    """A chunk's extremes by exact means: what pyarrow converts for us loses nanoseconds and fails beyond year 9999."""
    types = pa.types
    if types.is_integer(type):
        return statistics.min, statistics.max  # the raw ones are signed for every type
    if types.is_date(type) or types.is_timestamp(type):
        return (statistics.min_raw, statistics.max_raw) if statistics.physical_type in {"INT32", "INT64"} else None
    if types.is_decimal(type) and statistics.physical_type != "BYTE_ARRAY":  # whose order writers do not agree on
        return _decimal(statistics.min_raw, type.scale), _decimal(statistics.max_raw, type.scale)
    return None


def _decimal(raw: int | bytes, scale: int) -> Decimal:
    digits = raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)
    return Decimal(digits).scaleb(-scale, _EXACT)
