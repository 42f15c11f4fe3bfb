"""Kinds about keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.fields import ColumnRef
from dq_dagster.checks.shapes import GroupCheck
from dq_dagster.checks.table import CheckedTable


class IsUnique(GroupCheck):
    """No combination of the columns' values stands in more than one row.

    With `nulls_distinct` (the default) a row with a NULL in its key is never a repeat; without it NULLs are equal.
    NaNs are equal, and a struct of NULLs is no NULL. Every row of a repeated key is bad. `trim_strings` takes the spaces
    around text away first. With a filter only the judged rows can repeat one another. An empty table passes.

    Example:
        {check_id: reading_unique, kind: is_unique, enforcement: required, columns: [reading_id]}
    """

    kind: Literal["is_unique"] = "is_unique"
    columns: tuple[ColumnRef, ...] = Field(min_length=1)
    nulls_distinct: bool = True
    trim_strings: bool = False

    def keys(self, table: CheckedTable) -> Sequence[exp.Expr]:
        values = [table.value(ref) for ref in self.columns]
        return [sql.without_spaces(value.expression) if self.trim_strings and value.is_text else value.expression for value in values]

    def bad_group(self, table: CheckedTable) -> exp.Expr:
        repeats = sql.count_rows() > 1
        if not self.nulls_distinct:
            return repeats
        return sql.all_of([repeats, *(sql.not_(sql.is_null(key)) for key in self.keys(table))])

    def fault(self, table: CheckedTable) -> str:
        return f"a key ({', '.join(ref.label for ref in self.columns)}) that another row has too"
