"""Kinds about missing and empty values."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
from pydantic import StrictBool
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.fields import ColumnRef
from dq_dagster.checks.shapes import RowCheck
from dq_dagster.checks.table import CheckedTable, Value
from dq_dagster.errors import DoesNotFit
from dq_dagster.rendering import with_article


class IsNotNull(RowCheck):
    """Every value of the column is present.

    NULL breaks it; NaN, an empty text and a struct of NULLs are values. An empty table passes. Answered from the
    footers where they count NULLs and no filter is stated.

    Example:
        {check_id: station_present, kind: is_not_null, enforcement: required, column: station}
    """

    kind: Literal["is_not_null"] = "is_not_null"
    column: ColumnRef

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.is_null(table.value(self.column).expression)

    def failed_by_footers(self, table: CheckedTable) -> int | None:
        return table.null_count(table.value(self.column))

    def fault(self, table: CheckedTable) -> str:
        return f"no {self.column.label}"


class IsNull(RowCheck):
    """The column holds no value.

    NULL is what it wants; NaN, an empty text and a struct of NULLs are values and break it. An empty table passes.

    Example:
        {check_id: cancelled_unset, kind: is_null, enforcement: advisory, column: cancelled_at}
    """

    kind: Literal["is_null"] = "is_null"
    column: ColumnRef

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.not_(sql.is_null(table.value(self.column).expression))

    def failed_by_footers(self, table: CheckedTable) -> int | None:
        nulls = table.null_count(table.value(self.column))
        return None if nulls is None else table.rows - nulls

    def fault(self, table: CheckedTable) -> str:
        return f"a value in {self.column.label}"


class EmptinessCheck(RowCheck):
    """What kinds about empty values share: text of no character is empty, and so are zero bytes; nothing else is.

    With `trim_strings` the spaces around it do not count; tabs, line breaks and other blanks do.
    """

    column: ColumnRef
    trim_strings: StrictBool = False

    def is_empty(self, table: CheckedTable) -> exp.Expr:
        """Whether the value is empty; NULL for NULL."""
        value = table.value(self.column)
        if value.is_text:
            content = value.expression
        elif pa.types.is_binary(value.type) or pa.types.is_fixed_size_binary(value.type):
            content = sql.cast(value.expression, "VARCHAR")
        else:
            return exp.and_(sql.is_null(value.expression), exp.Null())
        return exp.EQ(this=sql.without_spaces(content) if self.trim_strings else content.copy(), expression=sql.text(""))


class IsNotEmpty(EmptinessCheck):
    """No value of the column is an empty text.

    Zero bytes are empty too; numbers and lists never are. `trim_strings` takes away the spaces around text first. NULL
    is not empty. An empty table passes.

    Example:
        {check_id: name_filled, kind: is_not_empty, enforcement: required, column: name, trim_strings: true}
    """

    kind: Literal["is_not_empty"] = "is_not_empty"

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return self.is_empty(table)

    def fault(self, table: CheckedTable) -> str:
        return f"an empty {self.column.label}"


class IsEmpty(EmptinessCheck):
    """Every value of the column is an empty text, where there is one.

    Zero bytes are empty too; numbers and lists never are, so each breaks it. `trim_strings` takes away the spaces around
    text first. NULL is not judged. An empty table passes.

    Example:
        {check_id: note_unused, kind: is_empty, enforcement: advisory, column: note}
    """

    kind: Literal["is_empty"] = "is_empty"

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.not_(self.is_empty(table))

    def fault(self, table: CheckedTable) -> str:
        return f"{with_article(self.column.label)} that is not empty"


class IsNullOrEmpty(EmptinessCheck):
    """Every value of the column is NULL or an empty text: `is_empty` under the name that says what NULL does.

    Zero bytes are empty too; numbers and lists never are. `trim_strings` takes away the spaces around text first. An
    empty table passes.

    Example:
        {check_id: note_unused, kind: is_null_or_empty, enforcement: advisory, column: note, trim_strings: true}
    """

    kind: Literal["is_null_or_empty"] = "is_null_or_empty"

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.not_(self.is_empty(table))

    def fault(self, table: CheckedTable) -> str:
        return f"{with_article(self.column.label)} that is neither NULL nor empty"


class IsNotNullAndNotEmpty(EmptinessCheck):
    """Every value of the column is present and no empty text.

    NULL breaks it, and so do zero bytes; NaN and an empty list are values. `trim_strings` takes away the spaces around
    text first. An empty table passes.

    Example:
        {check_id: name_filled, kind: is_not_null_and_not_empty, enforcement: required, column: name}
    """

    kind: Literal["is_not_null_and_not_empty"] = "is_not_null_and_not_empty"

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.any_of([sql.is_null(table.value(self.column).expression), self.is_empty(table)])

    def fault(self, table: CheckedTable) -> str:
        return f"no {self.column.label}, or an empty one"


class IsNotNullAndNotEmptyArray(RowCheck):
    """Every list of the column is present and holds something, be it NULL. Maps are judged like lists.

    NULL breaks it. An empty table passes. A column of another type is refused.

    Example:
        {check_id: tags_filled, kind: is_not_null_and_not_empty_array, enforcement: required, column: tags}
    """

    kind: Literal["is_not_null_and_not_empty_array"] = "is_not_null_and_not_empty_array"
    column: ColumnRef

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        value = table.value(self.column)
        return sql.any_of([sql.is_null(value.expression), exp.EQ(this=_size(value), expression=sql.integer(0))])

    def fault(self, table: CheckedTable) -> str:
        return f"no {self.column.label}, or one without an entry"


def _size(value: Value) -> exp.Expr:
    """How many entries a list or a map has."""
    if pa.types.is_map(value.type):
        return sql.call("cardinality", value.expression)
    if not pa.types.is_nested(value.type) or pa.types.is_struct(value.type):
        raise DoesNotFit(
            f"counts entries of {value.label}, which is of the type {value.type}; name a column of lists or maps", pointer="/column"
        )
    return sql.call("len", value.expression)
