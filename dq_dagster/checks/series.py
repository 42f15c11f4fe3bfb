"""Kinds about rows that arrive over time. Windows lie on a fixed grid that is counted from 1970 in UTC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pyarrow as pa
from pydantic import Field, model_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.comparing import bound_value
from dq_dagster.checks.fields import Bound, ColumnRef
from dq_dagster.checks.shapes import GroupCheck, RowCheck
from dq_dagster.checks.table import CheckedTable
from dq_dagster.errors import DoesNotFit
from dq_dagster.rendering import with_article

_INSTANT = pa.timestamp("us", "UTC")
_MICROSECONDS_A_MINUTE = 60_000_000


def _microseconds(column: ColumnRef, table: CheckedTable) -> exp.Expr:
    """The instants of a column in microseconds since 1970; nanoseconds are cut. Text that is no instant is NULL."""
    value = table.value(column)
    kind = value.type
    if value.is_text or pa.types.is_null(kind):
        return sql.call("epoch_us", sql.try_cast(value.expression, "TIMESTAMPTZ"))
    if pa.types.is_date(kind):
        return sql.call("epoch_us", sql.try_cast(value.expression, "TIMESTAMP"))
    if not pa.types.is_timestamp(kind):
        told = f"reads the times in {value.label}, which is of the type {kind}; name a column of dates or timestamps"
        raise DoesNotFit(told, pointer="/column")
    if kind.unit == "ns":
        return _floored(sql.call("epoch_ns", value.expression), 1_000)
    return sql.call("epoch_us", value.expression)


def _now(curr_timestamp: Bound | None, table: CheckedTable) -> exp.Expr:
    """The instant from which is judged, in microseconds since 1970."""
    return sql.call("epoch_us", table.instant() if curr_timestamp is None else bound_value(curr_timestamp, _INSTANT, table))


def _floored(value: exp.Expr, step: int) -> exp.Expr:
    """How many whole steps lie below the value, also where it is negative."""
    rest = exp.Mod(this=exp.paren(value.copy()), expression=sql.integer(step))
    above = exp.Mod(this=exp.paren(exp.Add(this=exp.paren(rest), expression=sql.integer(step))), expression=sql.integer(step))
    return exp.IntDiv(this=exp.paren(exp.Sub(this=exp.paren(value.copy()), expression=exp.paren(above))), expression=sql.integer(step))


class IsDataFreshPerTimeWindow(GroupCheck):
    """Every window of `window_minutes` that has a row has at least `min_records_per_window` of them.

    The rows of a window with fewer are bad. Rows after `curr_timestamp` (default: now) are not judged, nor those more than
    `lookback_windows` windows before it, where that is stated. A window without any row is not seen: for that there is
    `has_no_gaps_per_time_window`. NULLs are not judged; an empty table passes.

    Example:
        {check_id: four_an_hour, kind: is_data_fresh_per_time_window, enforcement: advisory,
         column: observed_at, window_minutes: 60, min_records_per_window: 4, lookback_windows: 24}
    """

    kind: Literal["is_data_fresh_per_time_window"] = "is_data_fresh_per_time_window"
    column: ColumnRef
    window_minutes: int = Field(gt=0)
    min_records_per_window: int = Field(gt=0)
    lookback_windows: int | None = Field(default=None, gt=0)
    curr_timestamp: Bound | None = None

    def keys(self, table: CheckedTable) -> Sequence[exp.Expr]:
        """The window of a row; NULL where the row is not judged."""
        at, now = _microseconds(self.column, table), _now(self.curr_timestamp, table)
        width = self.window_minutes * _MICROSECONDS_A_MINUTE
        judged: list[exp.Expr] = [exp.LTE(this=at, expression=now)]
        if self.lookback_windows is not None:
            earliest = exp.Sub(this=now.copy(), expression=sql.integer(self.lookback_windows * width))
            judged.append(exp.GTE(this=at.copy(), expression=exp.paren(earliest)))
        return [exp.Case(ifs=[exp.If(this=sql.all_of(judged), true=_floored(at, width))])]

    def bad_group(self, table: CheckedTable) -> exp.Expr:
        (window,) = self.keys(table)
        return exp.and_(sql.count_rows() < self.min_records_per_window, sql.not_(sql.is_null(window)))

    def fault(self, table: CheckedTable) -> str:
        window = f"a window of {self.window_minutes} minutes with fewer than {self.min_records_per_window} rows"
        return f"{with_article(self.column.label)} in {window}"


class HasNoGapsPerTimeWindow(RowCheck):
    """Between two windows of `window_minutes` that have rows lies none without any.

    A gap has no row of its own: the rows of the last window before it are bad. With `group_by` each group is looked at by
    itself, and NULL is a group. With `trailing_gap` a gap between the last window and that of `curr_timestamp` (default:
    now) counts too. A filter only limits which rows are judged; gaps are looked for among all. NULLs are not judged; an
    empty table passes.

    Example:
        {check_id: no_day_missing, kind: has_no_gaps_per_time_window, enforcement: required,
         column: observed_at, window_minutes: 1440, group_by: [station]}
    """

    kind: Literal["has_no_gaps_per_time_window"] = "has_no_gaps_per_time_window"
    column: ColumnRef
    window_minutes: int = Field(gt=0)
    group_by: tuple[ColumnRef, ...] = ()
    trailing_gap: bool = False
    curr_timestamp: Bound | None = None

    @model_validator(mode="after")
    def _is_read(self) -> HasNoGapsPerTimeWindow:
        if self.curr_timestamp is not None and not self.trailing_gap:
            raise ValueError(
                "states curr_timestamp without trailing_gap, so that nothing reads it; take it out, or state trailing_gap: true"
            )
        if self.curr_timestamp is not None and (ref := self.curr_timestamp.as_column()) is not None and ref.reads():
            raise ValueError("reads a column for curr_timestamp, which is one instant for all rows; state a timestamp")
        return self

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        width = self.window_minutes * _MICROSECONDS_A_MINUTE
        window = _floored(_microseconds(self.column, table), width)
        parts = sql.numbered([*(table.value(ref).expression for ref in self.group_by), window])
        *groups, at = parts
        windows = sql.select_from(table.relation, parts).distinct()
        following: exp.Expr = exp.Window(
            this=exp.Lead(this=sql.column(at)),
            partition_by=[sql.column(name) for name in groups],
            order=exp.Order(expressions=[exp.Ordered(this=sql.column(at), nulls_first=False)]),
        )
        if self.trailing_gap:
            following = sql.call("coalesce", following, _floored(_now(self.curr_timestamp, table), width))
        neighbours = sql.select_from(windows, {**{name: sql.column(name) for name in parts}, "following": following})
        is_apart = exp.GT(this=exp.paren(exp.Sub(this=sql.column("following"), expression=sql.column(at))), expression=sql.integer(1))
        before_gap = sql.select_from(neighbours, {name: sql.column(name) for name in parts}).where(is_apart)
        return sql.is_among(list(parts.values()), before_gap, null_safe=True)

    def fault(self, table: CheckedTable) -> str:
        per_group = f" per ({', '.join(ref.label for ref in self.group_by)})" if self.group_by else ""
        return f"{with_article(self.column.label)} in the last window of {self.window_minutes} minutes before a gap{per_group}"
