"""Kinds about the stored columns as a Spark schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field, field_validator, model_validator

from dq_dagster.checks.base import Verdict
from dq_dagster.checks.fields import ColumnRef
from dq_dagster.checks.shapes import SchemaCheck
from dq_dagster.checks.spark_types import SparkMember, SparkType, read_schema, spark_type
from dq_dagster.checks.table import CheckedTable
from dq_dagster.errors import some_of

_FAMILIES: Mapping[str, str] = {
    **dict.fromkeys(["tinyint", "smallint", "int", "bigint", "float", "double", "decimal"], "number"),
    **dict.fromkeys(["string", "char", "varchar"], "text"),
    **dict.fromkeys(["date", "timestamp", "timestamp_ntz"], "time"),
}


class HasValidSchema(SchemaCheck):
    """The stored columns have the names and types of `expected_schema`, or of the reference's columns.

    `expected_schema` is a Spark schema, such as `id INT, name STRING`. Columns are compared by name, exactly; types need
    only be akin: any number for a number, any text for a text, a date for a timestamp, and so inside arrays, maps and
    structs, whose members stand in the same order. Other columns may stand beside them. With `strict` the columns are the
    same, in the same order, of the same types; what is read from Parquet may always be NULL, so NOT NULL never holds.
    `columns` are the only stored columns looked at, and `exclude_columns` are not. No row is read: NULLs do not matter,
    and an empty table is judged like any other. A filter limits which rows a failure condemns.

    Example:
        {check_id: shape_kept, kind: has_valid_schema, enforcement: required,
         expected_schema: "station STRING, observed_at TIMESTAMP, air_temp_c DOUBLE"}
    """

    kind: Literal["has_valid_schema"] = "has_valid_schema"
    expected_schema: str | None = Field(default=None, min_length=1)
    reference: str | None = None
    columns: tuple[ColumnRef, ...] = ()
    strict: bool = False
    exclude_columns: tuple[str, ...] = ()

    @field_validator("expected_schema")
    @classmethod
    def _is_readable(cls, schema: str | None) -> str | None:
        if schema is not None:
            read_schema(schema)
        return schema

    @model_validator(mode="after")
    def _expects_one(self) -> HasValidSchema:
        if (self.expected_schema is None) == (self.reference is None):
            told = "neither expected_schema nor reference" if self.reference is None else "both expected_schema and reference"
            raise ValueError(f"states {told}; state exactly one of the two")
        return self

    def references_used(self) -> tuple[str, ...]:
        return () if self.reference is None else (self.reference,)

    def _expected(self, table: CheckedTable) -> list[SparkMember]:
        if self.expected_schema is not None:
            return list(read_schema(self.expected_schema).members)
        assert self.reference is not None
        return _stored(table.references[self.reference])

    def verdict_on_schema(self, table: CheckedTable) -> Verdict:
        looked_at = {ref.label for ref in self.columns} or {column.name for column in table.stored.columns}
        stored = [member for member in _stored(table) if member.name in looked_at and member.name not in self.exclude_columns]
        expected = self._expected(table)
        if not self.strict:
            named = {ref.label for ref in self.columns}
            expected = [one for one in expected if (not named or one.name in named) and one.name not in self.exclude_columns]
        wrong = list(_strict_differences(stored, expected) if self.strict else _differences(stored, expected))
        of_reference = f" of the reference {self.reference}" if self.reference else ""
        if wrong:
            return Verdict(
                False,
                f"the stored columns differ from the expected schema{of_reference}: {some_of(wrong)}",
                None,
                {"differences": len(wrong)},
            )
        how = "are exactly those" if self.strict else "include those"
        return Verdict(True, f"the {len(stored)} stored columns {how} of the expected schema{of_reference}", None, {"differences": 0})


def _stored(table: CheckedTable) -> list[SparkMember]:
    return [SparkMember(column.name, spark_type(column.type)) for column in table.stored.columns]


def _differences(stored: Sequence[SparkMember], expected: Sequence[SparkMember]) -> Iterator[str]:
    """What of the expected columns is missing, or of a type that is not akin."""
    types = {member.name: member.type for member in stored}
    for member in expected:
        if member.name not in types:
            yield f"'{member.name}' is missing"
        elif not _is_akin(types[member.name], member.type):
            yield f"'{member.name}' is {types[member.name]} where {member.type} is expected"


def _strict_differences(stored: Sequence[SparkMember], expected: Sequence[SparkMember]) -> Iterator[str]:
    """Where the columns are not the same ones, in the same order, of the same types."""
    types = {member.name: member for member in stored}
    for member in expected:
        if member.name not in types:
            yield f"'{member.name}' is missing"
        elif types[member.name] != member:
            yield f"'{member.name}' is {types[member.name]} where {member} is expected"
    names, wanted = [member.name for member in stored], [member.name for member in expected]
    yield from (f"'{name}' is not expected" for name in names if name not in wanted)
    common = [name for name in names if name in wanted], [name for name in wanted if name in names]
    if common[0] != common[1]:
        yield f"the order is {', '.join(common[0])} where {', '.join(common[1])} is expected"


def _is_akin(stored: SparkType, expected: SparkType) -> bool:
    """Whether values of the one type can stand for values of the other."""
    if stored.name == "struct" and expected.name == "struct":
        pairs = list(zip(stored.members, expected.members, strict=False))
        same_size = len(stored.members) == len(expected.members)
        return same_size and all(one.name == other.name and _is_akin(one.type, other.type) for one, other in pairs)
    if stored.name == expected.name and stored.inner is not None and expected.inner is not None:
        keys_akin = stored.key is None or expected.key is None or _is_akin(stored.key, expected.key)
        return keys_akin and _is_akin(stored.inner, expected.inner)
    return _FAMILIES.get(stored.name, stored.name) == _FAMILIES.get(expected.name, expected.name)
