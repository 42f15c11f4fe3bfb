"""Kinds about keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pyarrow as pa
from pydantic import Field
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Attempt, Numbers, Parted, Verdict
from dq_dagster.checks.distinctness import Summary, among_repeats, ways
from dq_dagster.checks.fields import ColumnRef, plain_names
from dq_dagster.checks.part_keys import parted_key
from dq_dagster.checks.shapes import GroupCheck
from dq_dagster.checks.table import CheckedTable, Value


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

    def _values(self, table: CheckedTable) -> list[Value]:
        values = [table.value(ref) for ref in self.columns]
        if not self.trim_strings:
            return values
        return [replace(one, expression=sql.without_spaces(one.expression), stored=None) if one.is_text else one for one in values]

    def keys(self, table: CheckedTable) -> Sequence[exp.Expr]:
        return [value.expression for value in self._values(table)]

    def _can_repeat(self, keys: Sequence[exp.Expr]) -> list[exp.Expr]:
        """What must hold of a key so that it can repeat at all."""
        return [sql.not_(sql.is_null(key)) for key in keys] if self.nulls_distinct else []

    def key(self, grain: Sequence[str]) -> tuple[str, ...] | None:
        return plain_names(self.columns) if self.filter is None and not self.trim_strings else None

    def bad_group(self, table: CheckedTable) -> exp.Expr:
        return sql.all_of([sql.count_rows() > 1, *self._can_repeat(self.keys(table))])

    def groups(self, table: CheckedTable) -> exp.Select:
        groups = super().groups(table)
        return groups if table.survey is None else among_repeats(groups, self.keys(table), table, self.selected(table))

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        if self.filter is None and table.is_key(self._values(table)):
            return ()
        if table.survey is None:
            return super().asks(table)
        selected = self.selected(table)
        judged = () if selected is None else (Ask({"judged": sql.count_where(selected)}, self.reads(table)),)
        return (Ask(self._summary(sql.column("bad")).aggregates, self.reads(table), over=self.groups(table)), *judged)

    def attempts(self, table: CheckedTable) -> Sequence[Attempt]:
        values = self._values(table)
        if self.filter is not None or any(pa.types.is_nested(value.type) for value in values):
            return ()
        parts = [sql.column(f"k{place}") for place in range(len(values))]
        return ways(values, self._summary(sql.all_of(self._can_repeat(parts) or [exp.true()])), table, self.reads(table))

    def parted(self, table: CheckedTable) -> Parted | None:
        if self.filter is not None:
            return None
        repeated = super().groups(table).having(sql.count_rows() > 1)
        return parted_key(self._values(table), self._summary(sql.column("bad")), table.relation, self.reads(table), repeated)

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        return super().judge(numbers or {"failed": 0, "bad_groups": 0}, table)  # none asked for: the files state it

    def _summary(self, is_bad: exp.Expr) -> Summary:
        aggregates = {"failed": sql.where(sql.call("sum", sql.column("n")), is_bad), "bad_groups": sql.count_where(is_bad)}
        return Summary(aggregates, {"failed": 0, "bad_groups": 0})

    def fault(self, table: CheckedTable) -> str:
        return f"a key ({', '.join(ref.label for ref in self.columns)}) that another row has too"
