"""Kinds that assert what their user writes in SQL."""

from __future__ import annotations

from typing import Literal

from pydantic import StrictBool
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.fields import ColumnRef, Condition
from dq_dagster.checks.shapes import RowCheck
from dq_dagster.checks.table import CheckedTable


class SqlExpression(RowCheck):
    """The condition is true in every row; with `negate`, in none.

    `expression` is one SQL condition over the columns of a row. A row for which it is unknown, as a NULL makes it, is not
    judged. `columns` are what the examples show (default: the columns that the condition reads). An empty table passes.

    Example:
        {check_id: arrives_later, kind: sql_expression, enforcement: required, expression: "arr_time > dep_time"}
    """

    kind: Literal["sql_expression"] = "sql_expression"
    expression: Condition
    negate: StrictBool = False
    columns: tuple[ColumnRef, ...] = ()

    def named_columns(self) -> tuple[ColumnRef, ...]:
        return self.columns or tuple(dict.fromkeys(ColumnRef(path) for path in self.expression.as_column().reads()))

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        condition = table.condition(self.expression, pointer="/expression")
        return condition if self.negate else sql.not_(condition)

    def fault(self, table: CheckedTable) -> str:
        return f"'{self.expression.root}' {'true' if self.negate else 'false'}"
