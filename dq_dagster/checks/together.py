"""Kinds that judge several columns of a row together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, field_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import refs_in
from dq_dagster.checks.comparing import operands
from dq_dagster.checks.fields import Bound, ColumnRef
from dq_dagster.checks.shapes import RowCheck
from dq_dagster.checks.table import CheckedTable


def _listed(columns: tuple[ColumnRef, ...]) -> str:
    return ", ".join(ref.label for ref in columns)


class AreNotNull(RowCheck):
    """Every one of the columns has a value in every row.

    A NULL in any of them breaks it; NaN and an empty text are values. An empty table passes.

    Example:
        {check_id: reading_whole, kind: are_not_null, enforcement: required, columns: [station, observed_at]}
    """

    kind: Literal["are_not_null"] = "are_not_null"
    columns: tuple[ColumnRef, ...] = Field(min_length=1)

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.any_of([sql.is_null(table.value(ref).expression) for ref in self.columns])

    def fault(self, table: CheckedTable) -> str:
        return f"no value in one of {_listed(self.columns)}" if len(self.columns) > 1 else f"no {_listed(self.columns)}"


class AreNull(RowCheck):
    """None of the columns has a value in any row: they stay empty.

    A value in any of them breaks it, NULL does not. An empty table passes.

    Example:
        {check_id: retired_columns_empty, kind: are_null, enforcement: advisory, columns: [old_code, old_name]}
    """

    kind: Literal["are_null"] = "are_null"
    columns: tuple[ColumnRef, ...] = Field(min_length=1)

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.any_of([sql.not_(sql.is_null(table.value(ref).expression)) for ref in self.columns])

    def fault(self, table: CheckedTable) -> str:
        return f"a value in {_listed(self.columns)}, where none is expected"


class ExactlyOneNotNull(RowCheck):
    """Exactly one of the columns has a value in every row.

    A row with none or with several breaks it; NULL is no value. An empty table passes.

    Example:
        {check_id: one_contact, kind: exactly_one_not_null, enforcement: required, columns: [email, phone]}
    """

    kind: Literal["exactly_one_not_null"] = "exactly_one_not_null"
    columns: tuple[ColumnRef, ...] = Field(min_length=1)

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        zero, one = sql.integer(0), sql.integer(1)
        given = [exp.If(this=sql.is_null(table.value(ref).expression), true=zero.copy(), false=one.copy()) for ref in self.columns]
        total: exp.Expr = given[0]
        for other in given[1:]:
            total = exp.Add(this=total, expression=other)
        return exp.NEQ(this=exp.paren(total), expression=one.copy())

    def fault(self, table: CheckedTable) -> str:
        return f"not exactly one value in {_listed(self.columns)}"


class _ComparesTwo(RowCheck):
    column: ColumnRef
    limit: Bound
    inclusive: bool = False

    def _breaks(self, table: CheckedTable, comparison: type[exp.Binary]) -> exp.Expr:
        value, limit = operands(table.value(self.column), self.limit, table)
        holds = comparison(this=value, expression=limit)
        return sql.not_(sql.call("coalesce", exp.paren(holds), exp.false()))


class IsLessThan(_ComparesTwo):
    """The column is below `limit`, which may be another column; with `inclusive`, equal will do.

    NULL on either side breaks it: what cannot be compared is not known to be less. NaN is above every number. An empty
    table passes.

    Example:
        {check_id: starts_before_end, kind: is_less_than, enforcement: required,
         column: started_at, limit: {column: ended_at}}
    """

    kind: Literal["is_less_than"] = "is_less_than"

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return self._breaks(table, exp.LTE if self.inclusive else exp.LT)

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} {'above' if self.inclusive else 'not below'} {self.limit.label}, or one of the two missing"


class IsGreaterThan(_ComparesTwo):
    """The column is above `limit`, which may be another column; with `inclusive`, equal will do.

    NULL on either side breaks it: what cannot be compared is not known to be greater. NaN is above every number. An
    empty table passes.

    Example:
        {check_id: ends_after_start, kind: is_greater_than, enforcement: required,
         column: ended_at, limit: {column: started_at}, inclusive: true}
    """

    kind: Literal["is_greater_than"] = "is_greater_than"

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return self._breaks(table, exp.GTE if self.inclusive else exp.GT)

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} {'below' if self.inclusive else 'not above'} {self.limit.label}, or one of the two missing"


class _ComparesLists(RowCheck):
    values: dict[str, tuple[Bound, ...]] = Field(min_length=1)

    @field_validator("values")
    @classmethod
    def _each_has_one(cls, values: dict[str, tuple[Bound, ...]]) -> dict[str, tuple[Bound, ...]]:
        for name, listed in values.items():
            if not listed:
                raise ValueError(f"lists no value for '{name}'; list at least one")
        return values

    def column_refs(self) -> Iterator[tuple[str, ColumnRef]]:
        yield from super().column_refs()
        for name, listed in self.values.items():
            yield f"/values/{name.replace('~', '~0').replace('/', '~1')}", ColumnRef(name)
            yield from refs_in(listed, f"/values/{name.replace('~', '~0').replace('/', '~1')}")

    def named_columns(self) -> tuple[ColumnRef, ...]:
        return tuple(ColumnRef(name) for name in self.values)

    def _among(self, table: CheckedTable) -> list[exp.Expr]:
        """Of each column, whether its value is one of those listed for it."""
        found: list[exp.Expr] = []
        for name, listed in self.values.items():
            sides = [operands(table.value(name), bound, table) for bound in listed]
            found.append(exp.paren(sql.any_of([exp.EQ(this=value, expression=other) for value, other in sides])))
        return found

    def _names(self) -> str:
        return ", ".join(self.values)


class AnyIsInList(_ComparesLists):
    """At least one of the columns holds one of the values that are listed for it.

    NULL is unknown: a row breaks it only when every column holds a value outside its list. An empty table passes.

    Example:
        {check_id: some_channel_known, kind: any_is_in_list, enforcement: required,
         values: {channel: [web, shop], fallback_channel: [phone]}}
    """

    kind: Literal["any_is_in_list"] = "any_is_in_list"

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.all_of([sql.not_(found) for found in self._among(table)])

    def fault(self, table: CheckedTable) -> str:
        return f"{self._names()} outside the listed values"


class AnyIsNotInList(_ComparesLists):
    """At least one of the columns holds none of the values that are listed for it.

    NULL is unknown: a row breaks it only when every column holds a listed value. An empty table passes.

    Example:
        {check_id: not_all_placeholders, kind: any_is_not_in_list, enforcement: required,
         values: {name: ["n/a", unknown], city: ["n/a"]}}
    """

    kind: Literal["any_is_not_in_list"] = "any_is_not_in_list"

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.all_of(self._among(table))

    def fault(self, table: CheckedTable) -> str:
        return f"forbidden values in {self._names()}"
