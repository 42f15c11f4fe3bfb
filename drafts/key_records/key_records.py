"""What a writer saw of a key while the rows passed: that they rose strictly, from which key to which. Kept in the file.

The record is the file's key-value entry `dq_dagster.keys`. Tools carry such entries over to files of other rows
(`pyarrow.parquet.read_table` and `write_table` do), so a seal makes it this file's own: 32 bytes between the last row
group and the footer, which no tool copies with the entry. A record without its seal right before the footer is ignored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dq_dagster.arrow_types import plain
from dq_dagster.footers import SEAL_BYTES, Footer
from dq_dagster.tables import Part, StoredTable

ENTRY = b"dq_dagster.keys"
_VERSION = 1
_MARK = b"dqkeys1\n"
_LONGEST_TEXT = 1_024
Key = tuple[Any, ...]


class KeyRecorder:
    """Looks at the batches of one file as they are written, and records the keys whose rows rise strictly."""

    def __init__(self, keys: Sequence[Sequence[str]], schema: pa.Schema) -> None:
        self._rows = 0
        self._open = [
            _Rising(columns, order, [schema.field(name).type for name in columns])
            for columns in dict.fromkeys(tuple(key) for key in keys)
            if columns and all(schema.names.count(name) == 1 and _family(schema.field(name).type) for name in columns)
            for order in _orders(columns)
        ]

    def add(self, table: pa.Table) -> None:
        """The next rows of the file."""
        self._rows += table.num_rows
        for batch in table.to_batches() if self._open else ():
            self._open = [one for one in self._open if one.add(batch)]

    def seal(self, writer: pq.ParquetWriter, stream: IO[bytes]) -> None:
        """Adds the record to a file whose row groups are all written; the writer is closed next."""
        found: dict[tuple[str, ...], dict[str, Any]] = {}
        for one in self._open:
            told = one.told()
            if told is not None:
                found.setdefault(one.columns, told)
        if not found:
            return
        text = json.dumps({"version": _VERSION, "rows": self._rows, "keys": list(found.values())}).encode()
        writer.add_key_value_metadata({ENTRY: text})
        stream.write(_seal_of(text))


def without_record(schema: pa.Schema) -> pa.Schema:
    """The schema without the record of the file that it was once read from."""
    if ENTRY not in (schema.metadata or {}):
        return schema
    return schema.with_metadata({name: value for name, value in schema.metadata.items() if name != ENTRY})


def is_distinct(table: StoredTable, columns: Sequence[str]) -> bool:
    """Whether the records of the table's files prove that no key repeats: each rises, and none overlaps the next."""
    if any(name in table.conflicts or table.column(name) is None for name in columns):
        return False
    ranges: list[tuple[list[str], list[Any], Key, Key]] = []
    for part in table.parts:
        if not part.rows:
            continue
        told = _range_of(part, columns)
        if told is None:
            return False
        ranges.append(told)
    if not ranges or any(one[:2] != ranges[0][:2] for one in ranges):
        return False
    ends = sorted((first, last) for _, _, first, last in ranges)
    return all(before[1] < after[0] for before, after in zip(ends, ends[1:], strict=False))


class _Rising:
    """One key, in one order of its columns, for as long as every row is above the one before it."""

    def __init__(self, columns: tuple[str, ...], order: tuple[str, ...], types: Sequence[pa.DataType]) -> None:
        self.columns = columns
        self._order = order
        self._types = dict(zip(columns, types, strict=True))
        self._first: Key | None = None
        self._last: Key | None = None

    def add(self, batch: pa.RecordBatch) -> bool:
        if not batch.num_rows:
            return True
        arrays: list[pa.Array] = []
        for name in self._order:
            values = batch.column(batch.schema.get_field_index(name))
            if isinstance(values, pa.DictionaryArray):
                values = values.cast(values.type.value_type)
            if values.null_count or not _is_valid(values):
                return False
            arrays.append(values)
        first, last = (tuple(_exact(values[at]) for values in arrays) for at in (0, batch.num_rows - 1))
        if (self._last is not None and not self._last < first) or not _rises(arrays):
            return False
        self._first, self._last = first if self._first is None else self._first, last
        return True

    def told(self) -> dict[str, Any] | None:
        if self._first is None or self._last is None:
            return None
        if any(isinstance(value, str) and len(value) > _LONGEST_TEXT for value in (*self._first, *self._last)):
            return None
        types = [str(plain(self._types[name])) for name in self._order]
        ends = {"first": [_stated(value) for value in self._first], "last": [_stated(value) for value in self._last]}
        return {"columns": list(self.columns), "order": list(self._order), "types": types, **ends}


def _orders(columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The key's columns as they are named, or the first of them last."""
    return [columns] if len(columns) == 1 else [columns, (*columns[1:], columns[0])]


def _rises(arrays: Sequence[pa.Array]) -> bool:
    if len(arrays[0]) < 2:
        return True
    rises: Any = None
    for values in reversed(arrays):
        before, here = values.slice(0, len(values) - 1), values.slice(1)
        above = pc.less(before, here)
        rises = above if rises is None else pc.or_(above, pc.and_(pc.equal(before, here), rises))
    return bool(pc.all(rises).as_py())


def _is_valid(values: pa.Array) -> bool:
    """Whether text is UTF-8; other types hold nothing that could be wrong."""
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return True
    try:
        values.validate(full=True)
    except (pa.ArrowException, ValueError):
        return False
    return True


def _family(type: pa.DataType) -> Any:
    """What may be compared with what, exactly: equal families across files; nothing for types without an exact order."""
    types = pa.types
    if types.is_dictionary(type):
        type = type.value_type
    if isinstance(type, pa.BaseExtensionType):
        return None
    if types.is_integer(type):
        return "integer"
    if types.is_string(type) or types.is_large_string(type):
        return "text"
    if types.is_date32(type):
        return "date"
    if types.is_timestamp(type) and type.unit in ("us", "ns"):
        return f"timestamp {'' if type.tz is None else 'with zone'}"
    return "decimal" if types.is_decimal128(type) else None


def _exact(scalar: pa.Scalar) -> Any:
    """A value as Python compares it in Arrow's order: instants and days as counts."""
    if pa.types.is_timestamp(scalar.type) or pa.types.is_date(scalar.type):
        return scalar.value
    return scalar.as_py()


def _stated(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value


def _seal_of(text: bytes) -> bytes:
    return _MARK + hashlib.blake2b(text, digest_size=SEAL_BYTES - len(_MARK)).digest()


def _range_of(part: Part, columns: Sequence[str]) -> tuple[list[str], list[Any], Key, Key] | None:
    """The order, the families, and the first and last key of a file whose own record proves this key."""
    footer: Footer = part.statistics
    text = (footer.metadata.metadata or {}).get(ENTRY) if footer.before.startswith(_MARK) else None
    if text is None or footer.before != _seal_of(text):
        return None
    record: Mapping[str, Any] = json.loads(text)  # the seal says that it is ours
    if record["version"] != _VERSION or record["rows"] != part.rows or any(name in part.keys for name in columns):
        return None
    for key in record["keys"]:
        if sorted(key["columns"]) != sorted(columns):
            continue
        stored = [plain(part.schema.field(name).type) if part.schema.names.count(name) == 1 else None for name in key["order"]]
        if [str(type) for type in stored] != key["types"]:
            return None
        first, last = ([_read(value, type) for value, type in zip(key[end], stored, strict=True)] for end in ("first", "last"))
        return key["order"], [_family(type) for type in stored], tuple(first), tuple(last)
    return None


def _read(value: Any, type: pa.DataType) -> Any:
    if pa.types.is_decimal(type):
        return Decimal(value)
    return value * 1_000 if pa.types.is_timestamp(type) and type.unit == "us" else value
