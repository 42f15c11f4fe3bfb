"""Kinds about dates and points in time: whether text is one, how old, how fresh. Naive timestamps are in UTC."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Literal

import pyarrow as pa
from pydantic import Field, StrictBool, StrictInt, field_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Numbers, Verdict
from dq_dagster.checks.fields import ColumnRef
from dq_dagster.checks.instants import MICROSECONDS, Moment, days_of, days_of_bound, text_as_microseconds, ticks_of, ticks_of_bound
from dq_dagster.checks.shapes import RowCheck, TableCheck
from dq_dagster.checks.table import CheckedTable
from dq_dagster.checks.time_formats import time_format
from dq_dagster.rendering import timestamp_text

_HIGHEST = 10**12
Whole = Annotated[StrictInt, Field(ge=-_HIGHEST, le=_HIGHEST)]
Period = Literal["year", "month", "week", "day", "hour", "minute", "second"]
_SECONDS: Mapping[str, int] = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_MONTHS: Mapping[str, int] = {"year": 12, "month": 1}


class TimeTextCheck(RowCheck):
    """What is_valid_date and is_valid_timestamp share: they ask the same of a value."""

    column: ColumnRef

    def written_format(self) -> str | None:
        """The format that text must have; None where any of Spark's own will do."""
        raise NotImplementedError

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        value, written = table.value(self.column), self.written_format()
        kind = value.type
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_null(kind):
            return exp.false()
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if is_number and written is None:
            return exp.false()
        text = value.expression if value.is_text else sql.cast(value.expression, "VARCHAR")
        if written is not None:
            return sql.not_(time_format(written).fits(text))
        return sql.all_of([sql.not_(sql.is_null(text)), sql.is_null(text_as_microseconds(text, table.now))])

    def _fault(self, what: str) -> str:
        written = self.written_format()
        return f"{self.column.label} that is no {what}" + ("" if written is None else f" in the format {written}")


class IsValidDate(TimeTextCheck):
    """Every text is a date, or a point in time.

    Without `date_format` it is read as Spark casts text: `2024`, `2024-02`, `2024-2-9`, with a time of day and a zone
    or without, a time of day alone, blanks around it. With one, all of the text must be in it: letters as in Java
    (`yyyy-MM-dd`, where `MM` asks for two digits, `M` for one or two, and `mm` is minutes), a real calendar, names of
    months in any case. Dates and timestamps are valid, numbers without a format too. NULL is not judged. An empty
    table passes.

    Example:
        {check_id: born_on_a_day, kind: is_valid_date, enforcement: required, column: born, date_format: yyyy-MM-dd}
    """

    kind: Literal["is_valid_date"] = "is_valid_date"
    date_format: str | None = None

    @field_validator("date_format")
    @classmethod
    def _can_be_read(cls, value: str | None) -> str | None:
        return value if value is None else (time_format(value), value)[1]

    def written_format(self) -> str | None:
        return self.date_format

    def fault(self, table: CheckedTable) -> str:
        return self._fault("date")


class IsValidTimestamp(TimeTextCheck):
    """Every text is a point in time, or a date; what is_valid_date accepts, with its format in `timestamp_format`.

    NULL is not judged. An empty table passes.

    Example:
        {check_id: sent_at_a_time, kind: is_valid_timestamp, enforcement: required,
         column: sent, timestamp_format: 'yyyy-MM-dd HH:mm:ss'}
    """

    kind: Literal["is_valid_timestamp"] = "is_valid_timestamp"
    timestamp_format: str | None = None

    @field_validator("timestamp_format")
    @classmethod
    def _can_be_read(cls, value: str | None) -> str | None:
        return value if value is None else (time_format(value), value)[1]

    def written_format(self) -> str | None:
        return self.timestamp_format

    def fault(self, table: CheckedTable) -> str:
        return self._fault("timestamp")


class IsOlderThanCol2ForNDays(RowCheck):
    """The day in `column1` lies more than `days` days before the day in `column2`; with `negate`, it does not.

    Exactly that many days is not enough. Timestamps count as their day in UTC. NULL, and text that is no date, is not
    judged. An empty table passes.

    Example:
        {check_id: ordered_first, kind: is_older_than_col2_for_n_days, enforcement: required,
         column1: ordered, column2: delivered, days: 1}
    """

    kind: Literal["is_older_than_col2_for_n_days"] = "is_older_than_col2_for_n_days"
    column1: ColumnRef
    column2: ColumnRef
    days: Whole = 0
    negate: StrictBool = False

    def named_columns(self) -> tuple[ColumnRef, ...]:
        return tuple(dict.fromkeys((self.column1, self.column2)))

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        first = days_of(table.value(self.column1), pointer="/column1")
        second = days_of(table.value(self.column2), pointer="/column2")
        return _not_older(first, second, self.days, negate=self.negate)

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column1.label} {_age(self.days, negate=self.negate)} before {self.column2.label}"


class IsOlderThanNDays(RowCheck):
    """Every day lies more than `days` days before today; with `negate`, none does.

    Exactly that many days is not enough. Timestamps count as their day in UTC. `curr_date` stands for today, which is
    otherwise the day on which the evaluation starts. NULL, and text that is no date, is not judged. An empty table
    passes.

    Example:
        {check_id: closed_long_ago, kind: is_older_than_n_days, enforcement: advisory, column: closed, days: 30}
    """

    kind: Literal["is_older_than_n_days"] = "is_older_than_n_days"
    column: ColumnRef
    days: Whole
    curr_date: Moment | None = None
    negate: StrictBool = False

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        day = days_of(table.value(self.column))
        return _not_older(day, days_of_bound(self.curr_date, table, pointer="/curr_date"), self.days, negate=self.negate)

    def fault(self, table: CheckedTable) -> str:
        today = f"{table.now:%Y-%m-%d}" if self.curr_date is None else self.curr_date.label
        return f"{self.column.label} {_age(self.days, negate=self.negate)} before {today}"


class IsNotInFuture(RowCheck):
    """No point in time is later than now by more than `offset` seconds.

    Now is cut to whole seconds; `curr_timestamp` stands for it where stated. A day is its midnight in UTC. NULL, and
    text that is no time, is not judged. An empty table passes.

    Example:
        {check_id: observed_before_now, kind: is_not_in_future, enforcement: required, column: observed_at, offset: 60}
    """

    kind: Literal["is_not_in_future"] = "is_not_in_future"
    column: ColumnRef
    offset: Whole = 0
    curr_timestamp: Moment | None = None

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        now = ticks_of_bound(self.curr_timestamp, table, pointer="/curr_timestamp").whole_seconds()
        return now.plus(self.offset).is_before(ticks_of(table.value(self.column), table))

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} later than {_now(self.curr_timestamp, table)}" + (f" and {self.offset} seconds" if self.offset else "")


class IsNotInNearFuture(RowCheck):
    """No point in time lies between now and `offset` seconds from now; the two ends themselves are allowed.

    Now is cut to whole seconds; `curr_timestamp` stands for it where stated. A day is its midnight in UTC. NULL, and
    text that is no time, is not judged. An empty table passes, and so does any with the offset 0.

    Example:
        {check_id: nothing_imminent, kind: is_not_in_near_future, enforcement: advisory, column: due_at, offset: 3600}
    """

    kind: Literal["is_not_in_near_future"] = "is_not_in_near_future"
    column: ColumnRef
    offset: Whole = 0
    curr_timestamp: Moment | None = None

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        now = ticks_of_bound(self.curr_timestamp, table, pointer="/curr_timestamp").whole_seconds()
        value = ticks_of(table.value(self.column), table)
        return sql.all_of([now.is_before(value), value.is_before(now.plus(self.offset))])

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} later than {_now(self.curr_timestamp, table)} by less than {self.offset} seconds"


class IsDataFresh(RowCheck):
    """No point in time is more than `max_age_minutes` minutes before now.

    `base_timestamp` stands for now where stated: a point in time, or a column, and a row in which it is NULL is not
    judged. A day is its midnight in UTC. What lies in the future is fresh. NULL, and text that is no time, is not
    judged. An empty table passes.

    Example:
        {check_id: observed_today, kind: is_data_fresh, enforcement: advisory, column: observed_at, max_age_minutes: 1440}
    """

    kind: Literal["is_data_fresh"] = "is_data_fresh"
    column: ColumnRef
    max_age_minutes: Whole
    base_timestamp: Moment | None = None

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        base = ticks_of_bound(self.base_timestamp, table, pointer="/base_timestamp")
        return ticks_of(table.value(self.column), table).is_before(base.plus(-60 * self.max_age_minutes))

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} more than {self.max_age_minutes} minutes before {_now(self.base_timestamp, table)}"


class IsNewestWithin(TableCheck):
    """The newest point in time of the column is no further back than `interval` periods before now.

    A `period` is a year, month, week, day, hour, minute or second; years and months are counted in the calendar. A day
    is its midnight in UTC, and what lies in the future is fresh. NULL, and text that is no time, is left out; where
    nothing is left, and so for an empty table, the check fails.

    Example:
        {check_id: fed_today, kind: is_newest_within, enforcement: required, column: observed_at, interval: 1, period: day}
    """

    kind: Literal["is_newest_within"] = "is_newest_within"
    column: ColumnRef
    interval: Annotated[StrictInt, Field(gt=0, le=_HIGHEST)]
    period: Period = "day"

    def metrics(self, table: CheckedTable) -> Mapping[str, exp.Expr]:
        ticks = ticks_of(table.value(self.column), table)
        assert isinstance(ticks.count, exp.Expr)
        return {"newest": sql.call("max", ticks.count)}

    def verdict(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        value, newest = table.value(self.column), numbers["newest"]
        allowed = f"{self.interval} {self.period}{'' if self.interval == 1 else 's'} before {_now(None, table)}"
        if newest is None:
            return Verdict(False, f"column '{self.column.label}' holds no point in time, where one at most {allowed} was expected")
        per_second = ticks_of(value, table).per_second
        unit = "us" if per_second == MICROSECONDS else "ns"
        limit = _back(table.now, self.interval, self.period)
        passed = limit is None or int(newest) >= limit * per_second // MICROSECONDS
        shown = table.marked(value, timestamp_text(int(newest), unit))
        place = "no further back" if passed else "further back"
        observed = {} if value.is_sensitive else {"newest": shown, "age_seconds": _age_seconds(int(newest), per_second, table.now)}
        return Verdict(passed, f"the newest value of column '{self.column.label}' is {shown}, {place} than {allowed}", None, observed)


def _not_older(first: exp.Expr, second: exp.Expr, days: int, *, negate: bool) -> exp.Expr:
    """Whether the first day is not more than that many days before the second; negated, whether it is."""
    limit = exp.paren(sql.cast(second, "BIGINT") - sql.integer(days))
    return first < limit if negate else first >= limit


def _age(days: int, *, negate: bool) -> str:
    count = f"{days} day{'' if days == 1 else 's'}"
    return f"more than {count}" if negate else f"not more than {count}"


def _now(stated: Moment | None, table: CheckedTable) -> str:
    return f"{table.now:%Y-%m-%dT%H:%M:%SZ}" if stated is None else stated.label


def _back(now: dt.datetime, interval: int, period: Period) -> int | None:
    """The microseconds since 1970 of that long before now; None for longer than the calendar reaches."""
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
    at = (now - epoch) // dt.timedelta(microseconds=1)
    if period in _SECONDS:
        return at - interval * _SECONDS[period] * MICROSECONDS
    year, month = divmod(now.year * 12 + now.month - 1 - interval * _MONTHS[period], 12)
    if year < 1:
        return None
    day = min(now.day, calendar.monthrange(year, month + 1)[1])
    return (now.replace(year=year, month=month + 1, day=day) - epoch) // dt.timedelta(microseconds=1)


def _age_seconds(newest: int, per_second: int, now: dt.datetime) -> int:
    """How long ago that was, in whole seconds; negative in the future."""
    return int(now.timestamp()) - newest // per_second
