"""Kinds that look for what lies far outside the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import BeforeValidator, Field, model_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Numbers, Verdict
from dq_dagster.checks.bounds import is_number
from dq_dagster.checks.fields import ColumnRef, exact
from dq_dagster.checks.metrics import AggregateCheck
from dq_dagster.checks.shapes import RowCheck
from dq_dagster.checks.table import CheckedTable
from dq_dagster.errors import DoesNotFit
from dq_dagster.rendering import is_wide_decimal, shortest_text, with_article

_WIDTH = 3.5


def _ends(median: exp.Expr, mad: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """The least and the greatest value that is no outlier."""
    width = exp.Mul(this=sql.double(_WIDTH), expression=mad)
    return exp.Sub(this=median, expression=width), exp.Add(this=median.copy(), expression=width.copy())


def _is_outside(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    return exp.or_(exp.LT(this=value, expression=low), exp.GT(this=value.copy(), expression=high))


class HasNoOutliers(RowCheck):
    """Every value lies within 3.5 times the median absolute deviation of the median.

    Both medians are values that occur: of an even number the lower of the two in the middle. A value on the limit
    passes; where most values are the same, every other is an outlier. NULLs are not judged, NaN and infinity are
    outliers, an empty table passes. With a filter both the medians and the rows judged are those it selects.

    Example:
        {check_id: fares_usual, kind: has_no_outliers, enforcement: advisory, column: fare}
    """

    kind: Literal["has_no_outliers"] = "has_no_outliers"
    column: ColumnRef

    def _value(self, table: CheckedTable) -> exp.Expr:
        value = table.value(self.column)
        if not (is_number(value.type) or pa.types.is_null(value.type)) or is_wide_decimal(value.type):
            raise DoesNotFit(
                f"looks for outliers in {value.label}, which is of the type {value.type}; name a column of numbers", pointer="/column"
            )
        return sql.cast(value.expression, "DOUBLE")

    def _rows(self, table: CheckedTable) -> exp.Select:
        """The rows by their value `x`, and whether they are `judged`."""
        return sql.select_from(table.relation, {"x": self._value(table), "judged": self.selected(table) or exp.true()})

    def _middle(self, table: CheckedTable) -> exp.Select:
        """One row: the `median` of the judged rows, and `mad`, their median distance from it.

        A median holds a number a row, so the second is taken when the first is known, and neither is taken twice.
        """
        rows, x, median = self._rows(table), sql.column("x"), sql.column("median", "m")
        medians = sql.select_from(rows, {"median": sql.where(sql.quantile_disc(x, 0.5), sql.column("judged"))})
        distance = sql.where(sql.quantile_disc(sql.call("abs", exp.Sub(this=x, expression=median)), 0.5), sql.column("judged"))
        both = sql.select_from(rows, {"median": sql.call("max", median), "mad": distance})
        return both.join(medians.subquery("m"), join_type="cross")

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        low, high = (
            sql.select_from(self._middle(table), {"end": end}).subquery() for end in _ends(sql.column("median"), sql.column("mad"))
        )
        return _is_outside(self._value(table), low, high)

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        middle = {name: sql.column(name, "m") for name in ("median", "mad")}
        is_bad = sql.all_of([sql.column("judged"), exp.paren(_is_outside(sql.column("x"), *_ends(**middle)))])
        seen = sql.select_from(self._rows(table), {"bad": is_bad, "judged": sql.column("judged"), **middle})
        numbers = {
            "failed": sql.count_where(sql.column("bad")),
            "judged": sql.count_where(sql.column("judged")),
            **{name: sql.call("max", sql.column(name)) for name in middle},
        }
        return (Ask(numbers, self.reads(table), over=seen.join(self._middle(table).subquery("m"), join_type="cross")),)

    def example_ask(self, numbers: Numbers, table: CheckedTable) -> Ask | None:
        known = _ends(sql.double(numbers["median"]), sql.double(numbers["mad"]))
        is_bad = sql.call("coalesce", _is_outside(self._value(table), *known), exp.false())
        return self.ask_for_examples(sql.all_of([is_bad, self.selected(table) or exp.true()]), table)

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        verdict = super().judge(numbers, table)
        median, deviation = numbers["median"], numbers["mad"]
        if median is None or table.value(self.column).is_sensitive:
            return verdict
        low, high = (shortest_text(median + side * _WIDTH * deviation) for side in (-1, 1))
        figures = {name: found for name, found in (("median", median), ("mad", deviation)) if abs(found) < float("inf")}
        detail = f"{verdict.detail}, which is {low} .. {high}"
        return Verdict(verdict.passed, detail, verdict.failed_rows, {**verdict.observed, **figures})

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} further than 3.5 median deviations from the median"


class HasNoAggrOutliers(AggregateCheck):
    """The newest interval's aggregate lies within `sigma` standard deviations of the mean of those before it.

    `time_column` sorts rows into intervals (minute, hour, day, week, month; in UTC, weeks from Monday); of the intervals
    that have rows the newest is compared with up to `lookback_num_intervals` before it. Nothing is judged where fewer than
    `warmup_num_intervals` stand before it, where these are all alike, or where the newest has no aggregate. NULL times
    are an interval of their own, before all others. With `group_by` each group is judged by itself, and the rows of a bad
    group are bad; without it the table is judged whole. Aggregates are those of `is_aggr_not_greater_than`. An empty table
    passes.

    Example:
        {check_id: revenue_steady, kind: has_no_aggr_outliers, enforcement: advisory,
         column: amount, time_column: sold_at, aggr_type: sum, sigma: 4}
    """

    kind: Literal["has_no_aggr_outliers"] = "has_no_aggr_outliers"
    time_column: ColumnRef
    aggr_type: str = "avg"
    sigma: Annotated[Decimal, BeforeValidator(exact), Field(gt=0)] = Decimal(3)
    lookback_num_intervals: int = Field(default=14, ge=2)
    warmup_num_intervals: int = Field(default=7, ge=1)
    time_interval: Literal["minute", "hour", "day", "week", "month"] = "day"

    @model_validator(mode="after")
    def _warms_up(self) -> HasNoAggrOutliers:
        if self.warmup_num_intervals > self.lookback_num_intervals:
            told = f"states warmup_num_intervals {self.warmup_num_intervals} above lookback_num_intervals {self.lookback_num_intervals}"
            raise ValueError(f"{told}; so many are never looked at")
        return self

    def _interval(self, table: CheckedTable) -> exp.Expr:
        value = table.value(self.time_column)
        if not (pa.types.is_timestamp(value.type) or pa.types.is_date(value.type) or pa.types.is_null(value.type)):
            told = f"sorts rows by the time in {value.label}, which is of the type {value.type}; name a column of dates or timestamps"
            raise DoesNotFit(told, pointer="/time_column")
        return exp.Anonymous(this="date_trunc", expressions=[sql.text(self.time_interval), value.expression.copy()])

    def groups(self, table: CheckedTable) -> exp.Select:
        keys = sql.numbered(self.keys(table))
        metric = self.metric(table)
        if not is_number(metric.type) or is_wide_decimal(metric.type):
            told = f"compares the {metric.label}, which is of the type {metric.type}, with a mean; take an aggregate that is a number"
            raise DoesNotFit(told, pointer="/aggr_type")
        interval = self._interval(table)
        buckets = sql.select_from(
            table.relation, {**keys, "t": interval, "found": sql.cast(metric.expression, "DOUBLE"), "n": sql.count_rows()}
        )
        if (selected := self.selected(table)) is not None:
            buckets = buckets.where(selected)
        buckets = buckets.group_by(*(part.copy() for part in [*keys.values(), interval]))
        named = {name: sql.column(name) for name in keys}
        newest_first = exp.Order(expressions=[exp.Ordered(this=sql.column("t"), desc=True, nulls_first=False)])
        place = exp.Window(this=exp.RowNumber(), partition_by=list(named.values()), order=newest_first)
        placed = sql.select_from(buckets, {**named, "n": sql.column("n"), "found": sql.column("found"), "place": place})
        return self._judged(placed, named)

    def _judged(self, placed: exp.Select, named: Mapping[str, exp.Expr]) -> exp.Select:
        """The newest interval of each group beside the mean and the spread of those before it."""
        place, found = sql.column("place"), sql.column("found")
        is_newest = exp.EQ(this=place, expression=sql.integer(1))
        is_history = exp.Between(this=place.copy(), low=sql.integer(2), high=sql.integer(self.lookback_num_intervals + 1))
        figures = {
            "n": sql.call("sum", sql.column("n")),
            "newest": sql.where(sql.call("max", found), is_newest),
            "history": sql.where(sql.call("count", found), is_history),
            "mean": sql.where(sql.call("avg", found), is_history),
            "spread": sql.where(sql.call("stddev_pop", found), is_history),
        }
        summed = sql.select_from(placed, {**named, **figures}).group_by(*(part.copy() for part in named.values()))
        apart = sql.call("abs", exp.Sub(this=sql.column("newest"), expression=sql.column("mean")))
        band = exp.Mul(this=sql.double(float(self.sigma)), expression=sql.column("spread"))
        conditions = [
            exp.GTE(this=sql.column("history"), expression=sql.integer(self.warmup_num_intervals)),
            exp.GT(this=sql.column("spread"), expression=sql.integer(0)),
            exp.GT(this=apart, expression=band),
        ]
        return sql.select_from(summed, {**named, **{name: sql.column(name) for name in figures}, "bad": sql.all_of(conditions)})

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        if self.group_by:
            return super().asks(table)
        numbers = {name: sql.call("max", sql.column(name)) for name in ("newest", "history", "mean", "spread")}
        return (Ask({**numbers, "wrong": sql.count_where(sql.column("bad"))}, self.reads(table), over=self.groups(table)),)

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        if self.group_by:
            return super().judge(numbers, table)
        newest, history, mean, spread = (numbers[name] for name in ("newest", "history", "mean", "spread"))
        if newest is None:
            return Verdict(True, f"the {self.label}{self.of_rows} has no newest {self.time_interval} to judge")
        if (history or 0) < self.warmup_num_intervals:
            before = f"{history or 0} {self.time_interval}s stand before the newest"
            told = f"{before}, fewer than the {self.warmup_num_intervals} it takes to judge"
            return Verdict(True, told, None, {"intervals": history or 0})
        is_wrong = bool(numbers["wrong"])
        hidden = self.metric(table)
        shown = [table.marked(hidden, shortest_text(figure)) for figure in (newest, spread, mean)]
        told = f"the {self.label}{self.of_rows} in the newest {self.time_interval} is {shown[0]}"
        how_far = f"{'more than' if is_wrong else 'not more than'} {self.sigma} standard deviations of {shown[1]}"
        detail = f"{told}, {how_far} from {shown[2]}, the mean of the {history} before it"
        figures: dict[str, Any] = {} if hidden.is_sensitive else {"newest": newest, "mean": mean, "spread": spread}
        finite = {name: figure for name, figure in figures.items() if abs(figure) < float("inf")}
        return Verdict(not is_wrong, detail, None, {**finite, "intervals": history})

    def fault(self, table: CheckedTable) -> str:
        outside = f"more than {self.sigma} standard deviations from the mean before it"
        return f"{with_article(self.label)}{self.per_group} in the newest {self.time_interval} that is {outside}"
