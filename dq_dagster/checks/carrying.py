"""Kinds that compare the table with the one it was made from: what must carry over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field, StrictInt, model_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Check, Numbers, Verdict
from dq_dagster.checks.fields import ColumnRef
from dq_dagster.checks.table import CheckedTable, Value
from dq_dagster.errors import DoesNotFit
from dq_dagster.rendering import is_wide_decimal, plain_number

MILLION = 1_000_000
Rows = Annotated[StrictInt, Field(ge=0)]
Ppm = Annotated[Decimal, Field(ge=0)]


class RowsCarryOver(Check):
    """The table has about as many rows as the reference it was made from.

    At most `max_lost` rows fewer, or `max_lost_ppm` parts per million of the reference's rows; at most `max_gained` (or
    `max_gained_ppm`) more. What is not stated is not limited. Only metadata is read; NULLs do not matter, and empty
    tables are compared like others.

    Example:
        {check_id: few_dropped, kind: rows_carry_over, enforcement: required,
         reference: raw_readings, max_lost_ppm: 10000, max_gained: 0}
    """

    kind: Literal["rows_carry_over"] = "rows_carry_over"
    reference: str
    max_lost: Rows | None = None
    max_lost_ppm: Ppm | None = None
    max_gained: Rows | None = None
    max_gained_ppm: Ppm | None = None

    @model_validator(mode="after")
    def _is_limited(self) -> RowsCarryOver:
        for way in ("lost", "gained"):
            if getattr(self, f"max_{way}") is not None and getattr(self, f"max_{way}_ppm") is not None:
                raise ValueError(f"states both max_{way} and max_{way}_ppm; state one of the two")
        if all(limit is None for limit in (self.max_lost, self.max_lost_ppm, self.max_gained, self.max_gained_ppm)):
            raise ValueError("states no limit; state max_lost, max_gained, or their share in ppm")
        return self

    def references_used(self) -> tuple[str, ...]:
        return (self.reference,)

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        return ()

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        before, after = table.references[self.reference].rows, table.rows
        changed = {"lost": max(0, before - after), "gained": max(0, after - before)}
        limits = {"lost": (self.max_lost, self.max_lost_ppm), "gained": (self.max_gained, self.max_gained_ppm)}
        over: list[str] = []
        for way, (rows, ppm) in limits.items():
            if rows is not None and changed[way] > rows:
                over.append(f"at most {rows} may be {way}")
            if ppm is not None and changed[way] * MILLION > Fraction(ppm) * before:
                over.append(f"at most {plain_number(ppm)} ppm may be {way}")
        told = f"{after} rows were made from the {before} rows of {self.reference}: {changed['lost']} lost, {changed['gained']} gained"
        observed = {"rows_before": before, "rows_lost": changed["lost"], "rows_gained": changed["gained"]}
        return Verdict(not over, f"{told}, where {' and '.join(over)}" if over else told, None, observed)


class SumCarriesOver(Check):
    """The sum of the column is that of the reference's column, within a tolerance.

    The sums may differ by `tolerance`, or by `tolerance_ppm` parts per million of the reference's sum; whole and decimal
    numbers are summed exactly. NULL and NaN count for nothing; the sum of no row is 0, so empty tables are compared like
    others.

    Example:
        {check_id: amount_kept, kind: sum_carries_over, enforcement: required,
         column: amount, reference: raw_orders, ref_column: gross_amount, tolerance: 0.01}
    """

    kind: Literal["sum_carries_over"] = "sum_carries_over"
    column: ColumnRef
    reference: str
    ref_column: ColumnRef
    tolerance: Annotated[Decimal, Field(ge=0)] | None = None
    tolerance_ppm: Ppm | None = None

    @model_validator(mode="after")
    def _is_one(self) -> SumCarriesOver:
        if self.tolerance is not None and self.tolerance_ppm is not None:
            raise ValueError("states both tolerance and tolerance_ppm; state one of the two")
        return self

    def column_refs(self) -> Iterator[tuple[str, ColumnRef]]:
        yield "/column", self.column

    def reference_refs(self) -> Iterator[tuple[str, str, ColumnRef]]:
        yield "/ref_column", self.reference, self.ref_column

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        other = table.references[self.reference]
        mine, theirs = table.value(self.column), other.value(self.ref_column)
        before = sql.select_from(other.relation, {"sum": _sum(theirs, "/ref_column")})
        now = sql.select_from(table.relation, {"sum": _sum(mine, "/column")})
        numbers = {"after": sql.call("max", sql.column("after")), "before": sql.call("max", sql.column("before"))}
        both = exp.select(exp.alias_(now.subquery(), "after", quoted=True), exp.alias_(before.subquery(), "before", quoted=True))
        return (Ask(numbers, self.reads(table), over=both),)

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        other = table.references[self.reference]
        mine, theirs = table.value(self.column), other.value(self.ref_column)
        after, before = numbers["after"], numbers["before"]
        told = (
            f"the sum of {self.column.label} is {_shown(after, mine, table)}, that of {self.ref_column.label} in {self.reference} "
            f"is {_shown(before, theirs, other)}"
        )
        difference, allowed = _difference(after, before), self._allowed(before)
        passed = difference is not None and difference <= allowed
        is_told = not (mine.is_sensitive or theirs.is_sensitive)
        apart = "apart without measure" if difference is None else f"{_number_text(difference)} apart" if is_told else "apart"
        limit = (
            f"at most {_number_text(allowed)} is allowed"
            if is_told or self.tolerance_ppm is None
            else f"at most {self.tolerance_ppm} ppm is allowed"
        )
        observed = {"sum": float(after), "sum_before": float(before), "difference": float(difference or 0)} if is_told else {}
        return Verdict(passed, told if passed and not difference else f"{told}: {apart}, where {limit}", None, observed)

    def _allowed(self, before: Any) -> Fraction:
        if self.tolerance_ppm is None:
            return Fraction(self.tolerance or 0)
        exact = _exact(before)
        return abs(exact) * Fraction(self.tolerance_ppm) / MILLION if exact is not None else Fraction(0)


def _sum(value: Value, pointer: str) -> exp.Expr:
    """The sum of the numbers there are, exact for whole and decimal ones; 0 where there are none."""
    kind = value.type
    if pa.types.is_floating(kind):
        number = exp.If(this=sql.call("isnan", value.expression), true=exp.Null(), false=sql.cast(value.expression, "DOUBLE"))
    elif pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and not is_wide_decimal(kind)):
        number = sql.cast(value.expression, f"DECIMAL(38, {kind.scale if pa.types.is_decimal(kind) else 0})")
    else:
        raise DoesNotFit(f"sums {value.label}, which is of the type {kind}; name a column of numbers of at most 38 digits", pointer=pointer)
    return sql.call("coalesce", sql.call("sum", number), sql.integer(0))


def _exact(number: Any) -> Fraction | None:
    return Fraction(number) if Decimal(number).is_finite() else None


def _difference(after: Any, before: Any) -> Fraction | None:
    """How far the sums are apart; None where that has no measure."""
    if after == before:
        return Fraction(0)
    left, right = _exact(after), _exact(before)
    return None if left is None or right is None else abs(left - right)


def _shown(found: Any, value: Value, table: CheckedTable) -> str:
    return table.marked(value, str(found) if isinstance(found, float) else plain_number(found))


def _number_text(number: Fraction) -> str:
    return plain_number(Decimal(number.numerator) / Decimal(number.denominator))
