"""Kinds about ranges: of the values of several columns, with either end open, and of the length of text."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
from pydantic import Field, StrictInt, model_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.comparing import aligned, with_literal
from dq_dagster.checks.fields import Bound, ColumnRef
from dq_dagster.checks.shapes import RowCheck
from dq_dagster.checks.table import CheckedTable, Value

_INSTANT = pa.timestamp("us", "UTC")


class AreBetween(RowCheck):
    """Every value of the columns lies between `min_value` and `max_value`; either may be left out.

    `min_inclusive` and `max_inclusive` (both true) say whether the bounds themselves lie inside. `read_as` compares days
    (`date`) or instants (`timestamp`), whatever the columns' type; a text that is none of them breaks it. NULL passes,
    NaN is above every number. An empty table passes.

    Example:
        {check_id: tides_possible, kind: are_between, enforcement: required,
         columns: [low_tide_m, high_tide_m], min_value: -3, max_value: 17, max_inclusive: false}
    """

    kind: Literal["are_between"] = "are_between"
    columns: tuple[ColumnRef, ...] = Field(min_length=1)
    min_value: Bound | None = None
    max_value: Bound | None = None
    min_inclusive: bool = True
    max_inclusive: bool = True
    read_as: Literal["date", "timestamp"] | None = None

    @model_validator(mode="after")
    def _is_bounded(self) -> AreBetween:
        if self.min_value is None and self.max_value is None:
            raise ValueError("states neither min_value nor max_value; state at least one of the two")
        return self

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.any_of([exp.paren(self._is_outside(table.value(ref), table)) for ref in self.columns])

    def _is_outside(self, value: Value, table: CheckedTable) -> exp.Expr:
        read, kind = self._read(value)
        outside: list[exp.Expr] = []
        if self.min_value is not None:
            left, right = _sides(read, kind, self.min_value, table)
            outside.append((exp.LT if self.min_inclusive else exp.LTE)(this=left, expression=right))
        if self.max_value is not None:
            left, right = _sides(read, kind, self.max_value, table)
            outside.append((exp.GT if self.max_inclusive else exp.GTE)(this=left, expression=right))
        if pa.types.is_string(value.type) and self.read_as is not None:
            outside.append(sql.all_of([sql.not_(sql.is_null(value.expression)), sql.is_null(read)]))
        return sql.any_of(outside)

    def _read(self, value: Value) -> tuple[exp.Expr, pa.DataType]:
        """The value as what it is compared as."""
        is_text, is_instant = pa.types.is_string(value.type), pa.types.is_timestamp(value.type)
        if self.read_as == "date" and (is_text or is_instant):
            instant = sql.try_cast(value.expression, "TIMESTAMP") if is_text else value.expression
            return sql.try_cast(instant, "DATE"), pa.date32()
        if self.read_as == "timestamp" and is_text:
            return sql.try_cast(value.expression, "TIMESTAMPTZ"), _INSTANT
        return value.expression, value.type

    def fault(self, table: CheckedTable) -> str:
        names = ", ".join(ref.label for ref in self.columns)
        if self.max_value is None:
            return f"{names} {'below' if self.min_inclusive else 'not above'} {_label(self.min_value)}"
        if self.min_value is None:
            return f"{names} {'above' if self.max_inclusive else 'not below'} {_label(self.max_value)}"
        lower = f"{self.min_value.label}{'' if self.min_inclusive else ' (excluded)'}"
        return f"{names} outside {lower} .. {self.max_value.label}{'' if self.max_inclusive else ' (excluded)'}"


def _label(bound: Bound | None) -> str:
    return "" if bound is None else bound.label


def _sides(value: exp.Expr, kind: pa.DataType, bound: Bound, table: CheckedTable) -> tuple[exp.Expr, exp.Expr]:
    ref = bound.as_column()
    if ref is None:
        return with_literal(value, kind, bound.root)
    other = table.value(ref)
    return aligned(value, kind, other.expression, other.type)


class HasLength(RowCheck):
    """Every text of the column has at least `min_length` and at most `max_length` characters.

    Characters are Unicode code points; what is not text is judged as it is written. NULL passes. An empty table passes.

    Example:
        {check_id: code_length, kind: has_length, enforcement: required, column: code, min_length: 3, max_length: 8}
    """

    kind: Literal["has_length"] = "has_length"
    column: ColumnRef
    min_length: StrictInt | None = Field(default=None, ge=0)
    max_length: StrictInt | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _is_bounded(self) -> HasLength:
        if self.min_length is None and self.max_length is None:
            raise ValueError("states neither min_length nor max_length; state at least one of the two")
        if self.min_length is not None and self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(
                f"states a min_length of {self.min_length}, above its max_length of {self.max_length}; no text has such a length"
            )
        return self

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        value = table.value(self.column)
        length = sql.call("length", value.expression if value.is_text else sql.cast(value.expression, "VARCHAR"))
        outside: list[exp.Expr] = []
        if self.min_length is not None:
            outside.append(exp.LT(this=length, expression=sql.integer(self.min_length)))
        if self.max_length is not None:
            outside.append(exp.GT(this=length.copy(), expression=sql.integer(self.max_length)))
        return sql.any_of(outside)

    def fault(self, table: CheckedTable) -> str:
        if self.max_length is None:
            return f"{self.column.label} shorter than {self.min_length} characters"
        if self.min_length is None:
            return f"{self.column.label} longer than {self.max_length} characters"
        return f"{self.column.label} not of {self.min_length} .. {self.max_length} characters"
