"""Values as points in time: whole numbers since 1970 in UTC, which never overflow, whatever year they lie in.

A day is its midnight, a timestamp without a zone is in UTC, and text is read as Spark casts it. What cannot be read is NULL.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa
from pydantic import AfterValidator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.comparing import instant_of
from dq_dagster.checks.fields import Bound
from dq_dagster.checks.table import CheckedTable, Value
from dq_dagster.checks.text_times import LAST_TICK, MICROSECONDS, SECONDS_A_DAY, days_since_1970, text_as_days, text_as_microseconds
from dq_dagster.errors import DoesNotFit

_NANOSECONDS = 1_000_000_000
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def _of_time(bound: Bound) -> Bound:
    literal = bound.root
    if (
        bound.as_column() is None
        and not isinstance(literal, dt.date)
        and not (isinstance(literal, str) and instant_of(literal) is not None)
    ):
        raise ValueError("is no point in time; state a date, a timestamp, {column: …} or {expression: …}")
    return bound


Moment = Annotated[Bound, AfterValidator(_of_time)]
"""A bound that is a point in time: a date, a timestamp, ISO 8601 text, a column or an expression."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """A point in time as a count since 1970: a plain number where it is the same in all rows."""

    count: exp.Expr | int
    per_second: int = MICROSECONDS

    def plus(self, seconds: int) -> Ticks:
        """Later by that many seconds; earlier where they are negative."""
        if isinstance(self.count, int):
            return Ticks(self.count + seconds * self.per_second, self.per_second)
        return Ticks(sql.cast(self.count, "HUGEINT") + sql.integer(seconds * self.per_second), self.per_second)

    def whole_seconds(self) -> Ticks:
        """Without the fraction of its second."""
        if isinstance(self.count, int):
            return Ticks(self.count // self.per_second * self.per_second, self.per_second)
        unit = sql.integer(self.per_second)
        return Ticks(sql.cast(self.count, "HUGEINT") - ((self.count % unit + unit.copy()) % unit.copy()), self.per_second)

    def is_before(self, other: Ticks) -> exp.Expr:
        """Whether it is earlier; NULL where one is unknown."""
        finer = max(self.per_second, other.per_second)
        return self._in(finer) < other._in(finer)

    def _in(self, per_second: int) -> exp.Expr:
        factor = per_second // self.per_second
        if isinstance(self.count, int):
            return sql.integer(self.count * factor)
        return self.count.copy() if factor == 1 else sql.cast(self.count, "HUGEINT") * sql.integer(factor)


def ticks_of(value: Value, table: CheckedTable, *, pointer: str = "/column") -> Ticks:
    """When the value is. Raises DoesNotFit for a type that holds no points in time."""
    kind = value.type
    if pa.types.is_timestamp(kind):
        return (
            Ticks(_count(value.expression, "epoch_ns"), _NANOSECONDS) if kind.unit == "ns" else Ticks(_count(value.expression, "epoch_us"))
        )
    if pa.types.is_date(kind):
        return Ticks(sql.cast(days_since_1970(value.expression), "HUGEINT") * sql.integer(SECONDS_A_DAY * MICROSECONDS))
    if pa.types.is_string(kind):
        return Ticks(text_as_microseconds(value.expression, table.now))
    if pa.types.is_null(kind):
        return Ticks(sql.cast(exp.Null(), "BIGINT"))
    raise _no_time(value, pointer)


def ticks_of_bound(bound: Bound | None, table: CheckedTable, *, pointer: str) -> Ticks:
    """When the bound is; now, where there is none."""
    if bound is None:
        return Ticks(_microseconds(table.now))
    ref = bound.as_column()
    return Ticks(_microseconds(_literal(bound))) if ref is None else ticks_of(table.value(ref), table, pointer=pointer)


def days_of(value: Value, *, pointer: str = "/column") -> exp.Expr:
    """The value's day in UTC, counted from 1970. Raises DoesNotFit for a type that holds no points in time."""
    kind = value.type
    if pa.types.is_date(kind):
        return days_since_1970(value.expression)
    if pa.types.is_timestamp(kind):
        return days_since_1970(sql.cast(value.expression, "DATE"))
    if pa.types.is_string(kind):
        return text_as_days(value.expression)
    if pa.types.is_null(kind):
        return sql.cast(exp.Null(), "BIGINT")
    raise _no_time(value, pointer)


def days_of_bound(bound: Bound | None, table: CheckedTable, *, pointer: str) -> exp.Expr:
    """The bound's day in UTC, counted from 1970; today, where there is none."""
    if bound is not None and (ref := bound.as_column()) is not None:
        return days_of(table.value(ref), pointer=pointer)
    moment = table.now if bound is None else _literal(bound)
    return sql.integer(_microseconds(moment) // (SECONDS_A_DAY * MICROSECONDS))


def _count(value: exp.Expr, function: str) -> exp.Expr:
    """The count of a timestamp; DuckDB takes the two ends of the type for infinite and counts them as NULL."""
    epoch = sql.cast(sql.text("1970-01-01"), "TIMESTAMP")
    ends = exp.Case(
        ifs=[
            exp.If(this=sql.cast(value, "TIMESTAMP") > epoch, true=sql.integer(LAST_TICK)),
            exp.If(this=sql.cast(value, "TIMESTAMP") < epoch, true=sql.integer(-LAST_TICK)),
        ]
    )
    return sql.call("coalesce", sql.call(function, value), ends)


def _literal(bound: Bound) -> dt.datetime | dt.date:
    literal = bound.root
    read = instant_of(literal) if isinstance(literal, str) else literal
    assert isinstance(read, dt.date)  # Moment lets nothing else through
    return read


def _microseconds(moment: dt.datetime | dt.date) -> int:
    """Microseconds since 1970, exactly; without a zone it is in UTC."""
    whole = moment if isinstance(moment, dt.datetime) else dt.datetime(moment.year, moment.month, moment.day)
    zoned = whole if whole.tzinfo is not None else whole.replace(tzinfo=dt.timezone.utc)
    return (zoned - _EPOCH) // dt.timedelta(microseconds=1)


def _no_time(value: Value, pointer: str) -> DoesNotFit:
    return DoesNotFit(
        f"reads points in time from {value.label}, which is of the type {value.type}; name dates, timestamps or text", pointer=pointer
    )
