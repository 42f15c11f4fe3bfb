"""Kinds about which columns are stored, and of which types. No row is read for them."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
from pydantic import Field, field_validator

from dq_dagster.arrow_types import arrow_type, words_for
from dq_dagster.checks.base import Verdict
from dq_dagster.checks.shapes import SchemaCheck
from dq_dagster.checks.table import CheckedTable
from dq_dagster.errors import some_of

_FAMILIES = {
    "array": pa.types.is_list,
    "list": pa.types.is_list,
    "map": pa.types.is_map,
    "struct": pa.types.is_struct,
    "decimal": pa.types.is_decimal,
}


class HasColumns(SchemaCheck):
    """Every named column is stored. Names are compared code point by code point.

    Other columns may stand beside them. Rows, and so NULLs, are not looked at: an empty table is judged like any other.

    Example:
        {check_id: keys_stored, kind: has_columns, enforcement: required, names: [station, observed_at]}
    """

    kind: Literal["has_columns"] = "has_columns"
    names: tuple[str, ...] = Field(min_length=1)

    def verdict_on_schema(self, table: CheckedTable) -> Verdict:
        missing = [f"'{name}'" for name in self.names if table.stored.column(name) is None]
        observed = {"missing_columns": len(missing)}
        if missing:
            return Verdict(False, f"the table lacks {some_of(missing)} of {len(self.names)} columns", None, observed)
        return Verdict(True, f"the table holds all {len(self.names)} columns", None, observed)


class HasColumnTypes(SchemaCheck):
    """Every named column is stored with its type, or with one of its types; their order does not matter.

    A type is written in words, such as `bigint`, `varchar`, `decimal(10, 2)`, or just `decimal`, `array`, `map` or
    `struct` for any of those. How fine a timestamp counts is compared only where the words say it. `extra` says whether
    other columns may stand beside them. Rows, and so NULLs, are not looked at: an empty table is judged like any other.

    Example:
        {check_id: types_kept, kind: has_column_types, enforcement: required,
         types: {station: varchar, air_temp_c: [double, float]}, extra: allow}
    """

    kind: Literal["has_column_types"] = "has_column_types"
    types: dict[str, str | tuple[str, ...]] = Field(min_length=1)
    extra: Literal["allow", "forbid"] = "allow"

    @field_validator("types")
    @classmethod
    def _are_known(cls, types: dict[str, str | tuple[str, ...]]) -> dict[str, str | tuple[str, ...]]:
        for name, words in types.items():
            if not words:
                raise ValueError(f"gives no type for '{name}'; give at least one")
            for word in _each(words):
                if word.strip().lower() not in _FAMILIES:
                    arrow_type(word)
        return types

    def verdict_on_schema(self, table: CheckedTable) -> Verdict:
        stored = {column.name: column.type for column in table.stored.columns}
        missing = [f"'{name}'" for name in self.types if name not in stored]
        wrong = [
            f"'{name}' is of the type {words_for(stored[name])}, where {' or '.join(_each(words))} is expected"
            for name, words in self.types.items()
            if name in stored and not any(_is_of(stored[name], word) for word in _each(words))
        ]
        extra = [f"'{name}'" for name in stored if name not in self.types] if self.extra == "forbid" else []
        faults = [
            *([f"the table lacks {some_of(missing)}"] if missing else []),
            *([some_of(wrong)] if wrong else []),
            *([f"the table also holds {some_of(extra)}"] if extra else []),
        ]
        observed = {"missing_columns": len(missing), "wrong_types": len(wrong), "unexpected_columns": len(extra)}
        if faults:
            return Verdict(False, "; ".join(faults), None, observed)
        return Verdict(True, f"the table holds all {len(self.types)} columns with their types", None, observed)


def _each(words: str | tuple[str, ...]) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else words


def _is_of(stored: pa.DataType, word: str) -> bool:
    """Whether the stored type is the one in words, or of the family."""
    family = _FAMILIES.get(word.strip().lower())
    if family is not None:
        return bool(family(stored))
    wanted = arrow_type(word)
    says_unit = any(
        f"_{unit}" in word.lower() or f"[{unit}" in word.lower() for unit in ("s", "ms", "us", "ns")
    ) and not word.lower().endswith("_ntz")
    if says_unit:
        return stored == wanted
    return _without_unit(stored) == _without_unit(wanted)


def _without_unit(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if pa.types.is_list(kind):
        return pa.list_(_without_unit(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_without_unit(kind.key_type), _without_unit(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(kind.field(place).name, _without_unit(kind.field(place).type)) for place in range(kind.num_fields)])
    return kind
