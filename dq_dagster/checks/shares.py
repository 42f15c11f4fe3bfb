"""Kinds about the table as a whole: how much of a column is there, and how much of it is distinct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Numbers, Verdict
from dq_dagster.checks.fields import ColumnRef
from dq_dagster.checks.shapes import TableCheck
from dq_dagster.checks.table import CheckedTable
from dq_dagster.rendering import plain_number, with_article

Ratio = Annotated[Decimal, Field(ge=0, le=1)]


class AreComplete(TableCheck):
    """None of the columns holds a NULL, in the table as a whole.

    One NULL condemns the whole table; `are_not_null` says which rows hold it. An empty table passes.

    Example:
        {check_id: keys_complete, kind: are_complete, enforcement: required, columns: [station, observed_at]}
    """

    kind: Literal["are_complete"] = "are_complete"
    columns: tuple[ColumnRef, ...] = Field(min_length=1)

    def metrics(self, table: CheckedTable) -> Mapping[str, exp.Expr]:
        nulls = [exp.If(this=sql.is_null(table.value(ref).expression), true=sql.integer(1), false=sql.integer(0)) for ref in self.columns]
        return {"rows": sql.count_rows(), **{f"nulls_{place}": sql.call("sum", null) for place, null in enumerate(nulls)}}

    def verdict(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        found = {ref.label: int(numbers[f"nulls_{place}"] or 0) for place, ref in enumerate(self.columns)}
        holed = {name: count for name, count in found.items() if count}
        among = self.among(int(numbers["rows"]))
        observed = {f"nulls_{name}": count for name, count in found.items()}
        if not holed:
            return Verdict(True, f"{', '.join(found)} hold no NULL in {among}", None, observed)
        told = ", ".join(f"{count} in {name}" for name, count in holed.items())
        return Verdict(False, f"{among} hold NULLs where none is allowed: {told}", None, observed)


class _Ratio(TableCheck):
    """What share of some rows is at least the smallest allowed."""

    column: ColumnRef
    min_ratio: Ratio

    def _verdict(self, part: int, whole: int, *, when_empty: int, words: str, among: str) -> Verdict:
        ratio = Fraction(part, whole) if whole else Fraction(when_empty)
        passed = ratio >= Fraction(self.min_ratio)
        compared = "at or above" if passed else "below"
        detail = (
            f"{part} of {among} {words}, a ratio of {_ratio_text(ratio)}, {compared} the smallest allowed of {plain_number(self.min_ratio)}"
        )
        return Verdict(passed, detail, None, {"ratio": float(ratio), "part": part, "whole": whole})


def _ratio_text(ratio: Fraction) -> str:
    """The ratio to six places, cut, so that one below a limit never reads like the limit."""
    return plain_number(Decimal(ratio.numerator * 10**6 // ratio.denominator).scaleb(-6))


class HasCompleteness(_Ratio):
    """At least `min_ratio` of the column's rows hold a value.

    NULL counts against it. An empty table is wholly complete.

    Example:
        {check_id: mostly_measured, kind: has_completeness, enforcement: advisory, column: air_temp_c, min_ratio: 0.98}
    """

    kind: Literal["has_completeness"] = "has_completeness"

    def metrics(self, table: CheckedTable) -> Mapping[str, exp.Expr]:
        return {"rows": sql.count_rows(), "values": exp.Count(this=table.value(self.column).expression.copy())}

    def verdict(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        rows = int(numbers["rows"])
        return self._verdict(
            int(numbers["values"]), rows, when_empty=1, words=f"hold {with_article(self.column.label)}", among=self.among(rows)
        )


class HasDistinctRatio(_Ratio):
    """Of the column's values, at least `min_ratio` are distinct: how many different ones, by how many there are.

    NULL counts for nothing. Where there is no value at all the ratio is 0.

    Example:
        {check_id: names_vary, kind: has_distinct_ratio, enforcement: advisory, column: name, min_ratio: 0.5}
    """

    kind: Literal["has_distinct_ratio"] = "has_distinct_ratio"

    def metrics(self, table: CheckedTable) -> Mapping[str, exp.Expr]:
        value = table.value(self.column).expression
        return {"values": exp.Count(this=value.copy()), "distinct": sql.count_distinct(value)}

    def verdict(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        values = int(numbers["values"])
        among = f"{values} values of {self.column.label}" + ("" if self.filter is None else f" where {self.filter.root}")
        return self._verdict(int(numbers["distinct"]), values, when_empty=0, words="are distinct", among=among)


class HasUniqueRatio(_Ratio):
    """Of all rows, at least `min_ratio` bring a value of the column that differs: how many different ones, by all rows.

    NULL is no value, and its rows count all the same. An empty table has a ratio of 0.

    Example:
        {check_id: mostly_unique, kind: has_unique_ratio, enforcement: advisory, column: reading_id, min_ratio: 0.99}
    """

    kind: Literal["has_unique_ratio"] = "has_unique_ratio"

    def metrics(self, table: CheckedTable) -> Mapping[str, exp.Expr]:
        return {"rows": sql.count_rows(), "distinct": sql.count_distinct(table.value(self.column).expression)}

    def verdict(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        rows = int(numbers["rows"])
        words = f"bring a {self.column.label} of their own"
        return self._verdict(int(numbers["distinct"]), rows, when_empty=0, words=words, among=self.among(rows))


class HasUniqueRows(TableCheck):
    """No two rows are alike in the columns, or in all columns where none is named.

    NULLs are equal, NaNs too. One repeat condemns the whole table; `is_unique` says which rows repeat. An empty table
    passes.

    Example:
        {check_id: no_repeats, kind: has_unique_rows, enforcement: required, columns: [station, observed_at]}
    """

    kind: Literal["has_unique_rows"] = "has_unique_rows"
    columns: tuple[ColumnRef, ...] = ()

    def reads(self, table: CheckedTable) -> frozenset[str]:
        every = frozenset[str]() if self.columns else frozenset(column.name for column in table.stored.columns)
        return super().reads(table) | every

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        refs = self.columns or tuple(ColumnRef(column.name) for column in table.stored.columns)
        keys = [table.value(ref).expression for ref in refs]
        groups = sql.select_from(table.relation, {"n": sql.count_rows()})
        if (selected := self.selected(table)) is not None:
            groups = groups.where(selected)
        if keys:
            groups = groups.group_by(*(key.copy() for key in keys))
        n = sql.column("n")
        repeated = exp.GT(this=n.copy(), expression=sql.integer(1))
        numbers = {
            "rows": sql.call("coalesce", sql.call("sum", n), sql.integer(0)),
            "groups": sql.count_where(repeated),
            "alike": sql.call("coalesce", sql.where(sql.call("sum", n), repeated), sql.integer(0)),
        }
        return (Ask(numbers, self.reads(table), over=groups),)

    def verdict(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        rows, groups, alike = int(numbers["rows"]), int(numbers["groups"]), int(numbers["alike"])
        what = f"({', '.join(ref.label for ref in self.columns)})" if self.columns else "all columns"
        observed = {"duplicate_row_groups": groups, "alike_rows": alike}
        if not groups:
            return Verdict(True, f"{self.among(rows)} differ in {what}", None, observed)
        return Verdict(
            False,
            f"{alike} of {self.among(rows)} are alike in {what}, in {groups} {'group' if groups == 1 else 'groups'}, where none may be",
            None,
            observed,
        )
