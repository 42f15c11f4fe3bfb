"""Kinds that compare the values of a column with a value, a limit, a range."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

import pyarrow as pa
from pydantic import Field, StrictBool, model_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.bounds import is_number
from dq_dagster.checks.comparing import as_double, bound_value, operands, sides, with_literal
from dq_dagster.checks.fields import Bound, ColumnRef
from dq_dagster.checks.shapes import RowCheck
from dq_dagster.checks.table import CheckedTable, Value
from dq_dagster.errors import DoesNotFit
from dq_dagster.rendering import is_wide_decimal, plain_number

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


class LimitCheck(RowCheck):
    """What kinds share that compare a value with one or two others. NULL is not judged, unless `allow_nulls` is false."""

    column: ColumnRef
    allow_nulls: StrictBool = True

    def is_broken(self, value: Value, table: CheckedTable) -> exp.Expr:
        """Whether the value breaks it; for NULL, whatever comes of the comparison."""
        raise NotImplementedError

    def what_is_wrong(self) -> str:
        """What is wrong with a value: `price below 10`."""
        raise NotImplementedError

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        value = table.value(self.column)
        broken = self.is_broken(value, table)
        return broken if self.allow_nulls else sql.any_of([sql.is_null(value.expression), broken])

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} {self.what_is_wrong()}" + ("" if self.allow_nulls else f", or no {self.column.label}")


class EqualityCheck(LimitCheck):
    """What is_equal_to and is_not_equal_to share: the value, and how far from it still counts as equal."""

    value: Bound
    abs_tolerance: Decimal | None = Field(None, ge=0)
    rel_tolerance: Decimal | None = Field(None, ge=0)

    @property
    def tolerances(self) -> tuple[Decimal, Decimal] | None:
        """The absolute and the relative tolerance; None where there is none."""
        given = (self.abs_tolerance or Decimal(0), self.rel_tolerance or Decimal(0))
        return given if any(given) else None

    @model_validator(mode="after")
    def _tolerates_numbers_only(self) -> EqualityCheck:
        is_number_or_read = isinstance(self.value.root, (int, Decimal)) and not isinstance(self.value.root, bool)
        if self.tolerances and not is_number_or_read and self.value.as_column() is None:
            raise ValueError("states a tolerance beside a value that is no number; take the tolerance out, or state a number")
        return self

    def is_equal(self, value: Value, table: CheckedTable) -> exp.Expr:
        """Whether the value is equal, or near enough. NULL where one of the two is."""
        if self.tolerances is not None:
            return _is_near(value, self.value, *self.tolerances, table)
        left, right = operands(value, self.value, table)
        return exp.EQ(this=left, expression=right)

    def near(self) -> str:
        """The value and its tolerance, in words."""
        allowed = [
            f"{words} {plain_number(number)}"
            for words, number in (("within", self.abs_tolerance), ("within a share of", self.rel_tolerance))
            if number
        ]
        return f"{self.value.label} ({' or '.join(allowed)})" if allowed else self.value.label


class IsEqualTo(EqualityCheck):
    """Every value of the column equals `value`.

    `value` is a number, text, a date, a timestamp, `{column: other}` or `{expression: …}`. With `abs_tolerance` a number
    may differ by as much, with `rel_tolerance` by that share of the larger of the two; either suffices, the limit is
    allowed, and NaN and infinity are then equal to everything. NaN equals NaN. NULL, on either side, is not judged;
    `allow_nulls: false` makes a NULL in the column break it. An empty table passes.

    Example:
        {check_id: unit_is_metre, kind: is_equal_to, enforcement: required, column: unit, value: m}
    """

    kind: Literal["is_equal_to"] = "is_equal_to"

    def is_broken(self, value: Value, table: CheckedTable) -> exp.Expr:
        return sql.not_(exp.paren(self.is_equal(value, table)))

    def what_is_wrong(self) -> str:
        return f"not equal to {self.near()}"


class IsNotEqualTo(EqualityCheck):
    """No value of the column equals `value`.

    `value` is a number, text, a date, a timestamp, `{column: other}` or `{expression: …}`. With `abs_tolerance` a number
    counts as equal that differs by no more, with `rel_tolerance` by no more than that share of the larger of the two.
    NaN equals NaN. NULL, on either side, is not judged; `allow_nulls: false` makes a NULL in the column break it. An
    empty table passes.

    Example:
        {check_id: not_the_placeholder, kind: is_not_equal_to, enforcement: advisory, column: temp, value: -9999}
    """

    kind: Literal["is_not_equal_to"] = "is_not_equal_to"

    def is_broken(self, value: Value, table: CheckedTable) -> exp.Expr:
        return self.is_equal(value, table)

    def what_is_wrong(self) -> str:
        return f"equal to {self.near()}"


class IsNotLessThan(LimitCheck):
    """Every value of the column is at or above `limit`.

    `limit` is a number, text, a date, a timestamp, `{column: other}` or `{expression: …}`. NaN is above every number.
    NULL, on either side, is not judged; `allow_nulls: false` makes a NULL in the column break it. An empty table passes.

    Example:
        {check_id: price_not_negative, kind: is_not_less_than, enforcement: required, column: price, limit: 0}
    """

    kind: Literal["is_not_less_than"] = "is_not_less_than"
    limit: Bound

    def is_broken(self, value: Value, table: CheckedTable) -> exp.Expr:
        left, right = operands(value, self.limit, table)
        return exp.LT(this=left, expression=right)

    def what_is_wrong(self) -> str:
        return f"below {self.limit.label}"


class IsNotGreaterThan(LimitCheck):
    """Every value of the column is at or below `limit`.

    `limit` is a number, text, a date, a timestamp, `{column: other}` or `{expression: …}`. NaN is above every number.
    NULL, on either side, is not judged; `allow_nulls: false` makes a NULL in the column break it. An empty table passes.

    Example:
        {check_id: humid_at_most_100, kind: is_not_greater_than, enforcement: required, column: humid, limit: 100}
    """

    kind: Literal["is_not_greater_than"] = "is_not_greater_than"
    limit: Bound

    def is_broken(self, value: Value, table: CheckedTable) -> exp.Expr:
        left, right = operands(value, self.limit, table)
        return exp.GT(this=left, expression=right)

    def what_is_wrong(self) -> str:
        return f"above {self.limit.label}"


class RangeCheck(LimitCheck):
    """What is_in_range and is_not_in_range share: the two ends, each a number, text, a date, a timestamp or a column."""

    min_limit: Bound
    max_limit: Bound


class IsInRange(RangeCheck):
    """Every value of the column lies from `min_limit` to `max_limit`, both ends allowed.

    A limit is a number, text, a date, a timestamp, `{column: other}` or `{expression: …}`; where one is NULL, the other
    still counts. NaN is above every range. NULL is not judged; `allow_nulls: false` makes it break the check. An empty
    table passes.

    Example:
        {check_id: humid_range, kind: is_in_range, enforcement: required, column: humid, min_limit: 0, max_limit: 100}
    """

    kind: Literal["is_in_range"] = "is_in_range"

    def is_broken(self, value: Value, table: CheckedTable) -> exp.Expr:
        low, high = operands(value, self.min_limit, table), operands(value, self.max_limit, table)
        return sql.any_of([exp.LT(this=low[0], expression=low[1]), exp.GT(this=high[0], expression=high[1])])

    def what_is_wrong(self) -> str:
        return f"outside {self.min_limit.label} .. {self.max_limit.label}"


class IsNotInRange(RangeCheck):
    """No value of the column lies from `min_limit` to `max_limit`; the ends are part of the range.

    A limit is a number, text, a date, a timestamp, `{column: other}` or `{expression: …}`. NaN is above every range.
    NULL is not judged; `allow_nulls: false` makes it break the check. An empty table passes.

    Example:
        {check_id: no_teapots, kind: is_not_in_range, enforcement: advisory, column: status, min_limit: 418, max_limit: 418}
    """

    kind: Literal["is_not_in_range"] = "is_not_in_range"

    def is_broken(self, value: Value, table: CheckedTable) -> exp.Expr:
        low, high = operands(value, self.min_limit, table), operands(value, self.max_limit, table)
        return sql.all_of([exp.GTE(this=low[0], expression=low[1]), exp.LTE(this=high[0], expression=high[1])])

    def what_is_wrong(self) -> str:
        return f"inside {self.min_limit.label} .. {self.max_limit.label}"


class HasNumDecimalPlaces(LimitCheck):
    """No number of the column has more than `limit` decimal places, as it is written.

    Zeros at the end do not count, an exponent does: `1.0E-4` has four places. What is not written as a number, such as
    NaN, breaks it, and so does a `limit` that is NULL. NULL is not judged; `allow_nulls: false` makes it break the check.
    An empty table passes.

    Example:
        {check_id: price_in_cents, kind: has_num_decimal_places, enforcement: required, column: price, limit: 2}
    """

    kind: Literal["has_num_decimal_places"] = "has_num_decimal_places"
    limit: Bound

    def is_broken(self, value: Value, table: CheckedTable) -> exp.Expr:
        is_known = sql.not_(sql.is_null(value.expression))
        places, limit = sides(_decimal_places(value), pa.int64(), self.limit, table)
        has_more = sql.call("coalesce", exp.GT(this=places, expression=limit), exp.true())
        if pa.types.is_integer(value.type) or pa.types.is_decimal(value.type):
            return exp.and_(is_known, has_more)
        is_no_number = sql.not_(sql.matches(sql.cast(value.expression, "VARCHAR"), _NUMBER))
        return exp.and_(is_known, exp.or_(is_no_number, has_more))

    def what_is_wrong(self) -> str:
        return f"with more than {self.limit.label} decimal places"


def _is_near(value: Value, bound: Bound, absolute: Decimal, relative: Decimal, table: CheckedTable) -> exp.Expr:
    """Whether two numbers differ by no more than a tolerance. Between floats, what is not finite is near everything."""
    literal = bound.root
    if isinstance(literal, (int, Decimal)) and is_number(value.type) and not pa.types.is_floating(value.type):
        low, high = (with_literal(value.expression, value.type, Decimal(literal) + offset) for offset in (-absolute, absolute))
        within = sql.all_of([exp.GTE(this=low[0], expression=low[1]), exp.LTE(this=high[0], expression=high[1])])
        if not relative:
            return within
        return exp.or_(within, _is_near_as_double(value, bound, Decimal(0), relative, table))
    return _is_near_as_double(value, bound, absolute, relative, table)


def _is_near_as_double(value: Value, bound: Bound, absolute: Decimal, relative: Decimal, table: CheckedTable) -> exp.Expr:
    if is_wide_decimal(value.type):
        raise DoesNotFit(f"allows {value.label}, of the type {value.type}, a share of difference; state abs_tolerance alone")
    ref = bound.as_column()
    left = as_double(value.expression, value.type)
    if ref is None:
        right = bound_value(bound, pa.float64(), table)
    else:
        other = table.value(ref)
        right = as_double(other.expression, other.type)
    gap = sql.call("abs", exp.paren(exp.Sub(this=left, expression=right)))
    larger = sql.call("greatest", sql.call("abs", left), sql.call("abs", right))
    within = exp.LTE(this=gap, expression=sql.double(float(absolute)))
    return exp.or_(within, exp.LTE(this=gap.copy(), expression=exp.Mul(this=sql.double(float(relative)), expression=larger)))


def _decimal_places(value: Value) -> exp.Expr:
    """How many decimal places the number has, as it is written, without the zeros at its end."""
    if is_wide_decimal(value.type):
        return _places(value.expression, sql.integer(value.type.scale))
    if pa.types.is_integer(value.type):
        return exp.If(this=sql.not_(sql.is_null(value.expression)), true=sql.integer(0))
    written = sql.cast(value.expression, "VARCHAR")
    whole, fraction, exponent = (
        sql.call("regexp_extract", written, sql.text(pattern), sql.integer(1))
        for pattern in (r"^[+-]?([0-9]*)", r"\.([0-9]*)", r"[eE]([+-]?[0-9]+)$")
    )
    power = sql.call("coalesce", sql.try_cast(exponent, "DOUBLE"), sql.integer(0))
    return _places(sql.call("concat", whole, fraction), exp.Sub(this=sql.call("length", fraction), expression=power))


def _places(digits: exp.Expr, scale: exp.Expr) -> exp.Expr:
    """How many of the digits are needed behind the point, where `scale` of them stand there."""
    needed = sql.call("rtrim", digits, sql.text("0"))
    zeros = exp.paren(exp.Sub(this=sql.call("length", digits), expression=sql.call("length", needed)))
    places = sql.call("greatest", exp.Sub(this=scale.copy(), expression=zeros), sql.integer(0))
    return exp.If(this=exp.EQ(this=needed.copy(), expression=sql.text("")), true=sql.integer(0), false=places)
