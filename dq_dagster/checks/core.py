"""The five core kinds: key uniqueness, null ceiling, value range, continuity and row count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar, Literal

import pyarrow as pa
from pydantic import StrictInt, field_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Attempt, Check, Context, Numbers, Parted, Verdict
from dq_dagster.checks.bounds import above, below, is_inside, is_number
from dq_dagster.checks.distinctness import Summary, among_repeats, ways
from dq_dagster.checks.fields import DECIMAL_TEXT, ColumnRef, plain_names
from dq_dagster.checks.part_gaps import parted_gaps
from dq_dagster.checks.part_keys import parted_key
from dq_dagster.checks.positions import domain_of, gap_of, neighbours, widest
from dq_dagster.checks.table import CheckedTable, Value, transported
from dq_dagster.errors import UnsupportedByEngine
from dq_dagster.outcomes import MAX_EXAMPLES
from dq_dagster.rendering import is_wide_decimal, plain_number, tuple_text

MAX_KEY_COLUMNS = 16
BOUNDS = ("max_null_ppm", "min_value", "max_value", "min_rows", "max_rows", "max_gap_seconds")


class CoreCheck(Check):
    """A check of a core kind. Every kind carries all six bounds; which it reads is settled when the recipe is acquired."""

    columns: tuple[ColumnRef, ...] = ()
    max_null_ppm: StrictInt | None = None
    min_value: StrictInt | str | None = None
    max_value: StrictInt | str | None = None
    min_rows: StrictInt | None = None
    max_rows: StrictInt | None = None
    max_gap_seconds: StrictInt | None = None

    reads_bounds: ClassVar[tuple[str, ...]] = ()

    @field_validator("min_value", "max_value")
    @classmethod
    def _is_decimal_text(cls, value: int | str | None) -> int | str | None:
        if isinstance(value, str) and not DECIMAL_TEXT.match(value):
            raise ValueError("is no decimal number of at most 39 digits and 18 fraction digits, such as '0', '-12' or '104.5'")
        return value

    def refusals(self, context: Context) -> Iterator[tuple[str, str]]:
        stated = [bound for bound in BOUNDS if getattr(self, bound) is not None]
        yield from self._wrong_columns(context)
        for bound in stated:
            if bound not in self.reads_bounds:
                yield (
                    f"/{bound}",
                    f"check {self.reported_id} is a {self.kind} check and states {bound}, which a check of that kind does not read; "
                    "a bound that is never evaluated would be reported as satisfied, so state it on a check whose kind reads it",
                )
        yield from self._wrong_bounds(context)

    def _wrong_columns(self, context: Context) -> Iterator[tuple[str, str]]:
        if len(self.columns) != 1:
            yield "/columns", f"check {self.reported_id} reads exactly one column and names {len(self.columns)}"

    def _wrong_bounds(self, context: Context) -> Iterator[tuple[str, str]]:
        return iter(())

    def _column(self, table: CheckedTable) -> Value:
        return table.value(self.columns[0])


class KeyUniqueness(CoreCheck):
    """The tuple of the named columns is distinct across every stored row.

    NULLs in a key compare equal, and so do NaNs. `columns` names 1 to 16 columns; with none, the table's grain is the
    key. An empty table passes. `failed_rows` counts the rows beyond the first of their key.

    Example:
        {check_id: grain_unique, kind: key_uniqueness, enforcement: required, columns: [station, observed_at]}
    """

    kind: Literal["key_uniqueness"] = "key_uniqueness"

    @property
    def falls_back_to_grain(self) -> bool:
        return not self.columns

    def _key(self, grain: Sequence[str]) -> tuple[ColumnRef, ...]:
        return self.columns or tuple(ColumnRef(name) for name in grain)

    def key(self, grain: Sequence[str]) -> tuple[str, ...] | None:
        return plain_names(self._key(grain))

    def _wrong_columns(self, context: Context) -> Iterator[tuple[str, str]]:
        if len(self.columns) > MAX_KEY_COLUMNS:
            yield (
                "/columns",
                f"check {self.reported_id} reads 1 to {MAX_KEY_COLUMNS} columns and names {len(self.columns)}; a key that wide is no key",
            )
        elif not self.columns and not context.grain:
            yield (
                "/columns",
                f"check {self.reported_id} names no column and the table declares no grain to fall back to; "
                f"name 1 to {MAX_KEY_COLUMNS} columns",
            )
        elif not self.columns and len(context.grain) > MAX_KEY_COLUMNS:
            yield (
                "/columns",
                f"check {self.reported_id} names no column and falls back to a grain of {len(context.grain)} columns, "
                f"where a key has at most {MAX_KEY_COLUMNS}; name 1 to {MAX_KEY_COLUMNS} columns",
            )

    def _values(self, table: CheckedTable) -> list[Value]:
        return [table.value(ref) for ref in self._key(table.grain)]

    def _repeated(self, table: CheckedTable) -> exp.Query:
        """One row a repeated key: its parts `k0`, `k1`, … and how many rows carry it, `n`."""
        parts = sql.numbered([value.expression for value in self._values(table)])
        groups = sql.select_from(table.relation, {**parts, "n": sql.count_rows()})
        return among_repeats(groups.group_by(*(sql.integer(place + 1) for place in range(len(parts)))), list(parts.values()), table)

    def _first_keys(self, table: CheckedTable) -> exp.Expr:
        """The smallest repeated keys, as a list: text by code point, NULL after every value, NaN after every number."""
        shown: dict[str, exp.Expr] = {}
        order: dict[str, exp.Expr] = {}
        for place, value in enumerate(self._values(table)):
            part = sql.column(f"k{place}")
            shown[f"k{place}"] = transported(part, value.type)
            order[f"n{place}"], order[f"k{place}"] = sql.is_null(part), part
        return sql.first_by(sql.struct({**shown, "n": sql.column("n")}), sql.struct(order), MAX_EXAMPLES)

    def _summary(self, table: CheckedTable) -> Summary:
        aggregates = {"keys": sql.count_rows(), "members": sql.call("sum", sql.column("n")), "examples": self._first_keys(table)}
        return Summary(aggregates, {"keys": 0, "members": None, "examples": None})

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        if table.is_key(self._values(table)):
            return ()
        return (Ask(self._summary(table).aggregates, self.reads(table), over=self._repeated(table)),)

    def attempts(self, table: CheckedTable) -> Sequence[Attempt]:
        return ways(self._values(table), self._summary(table), table, self.reads(table))

    def parted(self, table: CheckedTable) -> Parted | None:
        return parted_key(self._values(table), self._summary(table), table.relation, self.reads(table), self._repeated(table))

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        values = self._values(table)
        label = ", ".join(value.label for value in values)
        if not numbers.get("keys"):  # none asked for: the files state it
            return Verdict(True, f"key ({label}) is distinct across all {table.rows} rows, as expected", 0, {"repeats": 0})
        members = int(numbers["members"])
        repeats = members - numbers["keys"]
        first = tuple_text([table.key_part(value, numbers["examples"][0][f"k{place}"]) for place, value in enumerate(values)])
        detail = f"key ({label}) repeats on {repeats} of {table.rows} rows, first at {first}, where 0 repeats were expected"
        return Verdict(False, detail, repeats, {"repeats": repeats, "repeated_keys": numbers["keys"], "rows_in_repeated_keys": members})

    def examples(self, found: Sequence[Mapping[str, Any]], table: CheckedTable) -> tuple[Mapping[str, Any], ...]:
        values = self._values(table)
        return tuple(
            {**{value.label: table.text_of(value, row[f"k{place}"]) for place, value in enumerate(values)}, "rows": row["n"]}
            for row in found
        )


class NullCeiling(CoreCheck):
    """The column's share of NULL rows is at or below `max_null_ppm`, in parts per million of the table's rows.

    NaN is not NULL. An empty table is 0 ppm NULL and passes. Answered from the footers where they state it. A share has
    no bad rows of its own: to quarantine rows with a NULL, use is_not_null.

    Example:
        {check_id: temperature_present, kind: null_ceiling, enforcement: required, columns: [air_temp_c], max_null_ppm: 20000}
    """

    kind: Literal["null_ceiling"] = "null_ceiling"
    reads_bounds: ClassVar[tuple[str, ...]] = ("max_null_ppm",)

    def _wrong_bounds(self, context: Context) -> Iterator[tuple[str, str]]:
        if self.max_null_ppm is None:
            yield "", f"check {self.reported_id} states no max_null_ppm; a ceiling on NULLs needs one, an integer from 0 to 1000000"
        elif not 0 <= self.max_null_ppm <= 1_000_000:
            yield (
                "/max_null_ppm",
                f"check {self.reported_id} states max_null_ppm {self.max_null_ppm}, where parts per million run from 0 to 1000000",
            )

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        column = self._column(table)
        if table.null_count(column) is not None:
            return ()
        return (Ask({"nulls": sql.count_where(sql.is_null(column.expression))}, self.reads(table)),)

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        assert self.max_null_ppm is not None
        column = self._column(table)
        nulls = numbers["nulls"] if "nulls" in numbers else table.null_count(column)
        assert nulls is not None
        ppm = -(-nulls * 1_000_000 // table.rows) if table.rows else 0
        passed = nulls * 1_000_000 <= self.max_null_ppm * table.rows
        side = "at or below" if passed else "above"
        measured = f"is {ppm} ppm null ({nulls} of {table.rows} rows)"
        detail = f"column '{column.label}' {measured}, {side} the declared ceiling of {self.max_null_ppm} ppm"
        return Verdict(passed, detail, None, {"null_ppm": ppm, "nulls": nulls})

    def example_row(self, table: CheckedTable) -> exp.Expr | None:
        return sql.is_null(self._column(table).expression)


class ValueRange(CoreCheck):
    """Every non-NULL value of the column lies in the interval from `min_value` to `max_value`, both ends allowed.

    Compared exactly, whatever the type; a float means its shortest decimal text. NULLs are not judged, NaN is in no
    range, an empty table passes, and a column whose values are no numbers fails.

    Example:
        {check_id: humidity_in_range, kind: value_range, enforcement: required,
         columns: [relative_humidity_pct], min_value: "0", max_value: "100"}
    """

    kind: Literal["value_range"] = "value_range"
    reads_bounds: ClassVar[tuple[str, ...]] = ("min_value", "max_value")

    def _wrong_bounds(self, context: Context) -> Iterator[tuple[str, str]]:
        over = f" of column {self.columns[0].label}" if len(self.columns) == 1 else ""
        missing = [bound for bound in self.reads_bounds if getattr(self, bound) is None]
        for bound in missing:
            yield "", f"check {self.reported_id} bounds the values{over} and states no {bound}; an unstated bound is not an open one"
        if not missing and self._bounds[0] > self._bounds[1]:
            yield (
                "/min_value",
                f"check {self.reported_id} states min_value {self.min_value} above max_value {self.max_value}; no value lies between them",
            )

    @property
    def _bounds(self) -> tuple[Decimal, Decimal]:
        return Decimal(str(self.min_value)), Decimal(str(self.max_value))

    def condemned_row(self, table: CheckedTable) -> exp.Expr | None:
        column = self._column(table)
        if not is_number(column.type):
            return sql.not_(sql.is_null(column.expression))
        low, high = self._bounds
        return sql.any_of([below(column.expression, low, kind=column.type), above(column.expression, high, kind=column.type)])

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        column = self._column(table)
        numbers: dict[str, exp.Expr] = {}
        if table.null_count(column) is None:
            numbers["nulls"] = sql.count_where(sql.is_null(column.expression))
        if is_number(column.type) and not self._footers_lie_inside(column, table):
            numbers.update(self._measures(column))
        return (Ask(numbers, self.reads(table)),) if numbers else ()

    def _measures(self, column: Value) -> dict[str, exp.Expr]:
        value, kind = column.expression, column.type
        low, high = self._bounds
        numbers = {"below": sql.count_where(below(value, low, kind=kind)), "above": sql.count_where(above(value, high, kind=kind))}
        if not pa.types.is_floating(kind):
            return {**numbers, "min": sql.call("min", value), "max": sql.call("max", value)}
        is_nan = sql.call("isnan", value)
        is_value = exp.not_(is_nan.copy())
        return {
            **numbers,
            "min": sql.where(sql.call("min", value), is_value),
            "max": sql.where(sql.call("max", value), is_value.copy()),
            "nans": sql.count_where(is_nan),
        }

    def _footers_lie_inside(self, column: Value, table: CheckedTable) -> bool:
        extremes = table.extremes(column)
        return extremes is not None and self._bounds[0] <= extremes[0] and extremes[1] <= self._bounds[1]

    def attempts(self, table: CheckedTable) -> Sequence[Attempt]:
        column = self._column(table)
        (asked,) = self.asks(table)
        if "below" not in asked.numbers or is_wide_decimal(column.type):
            return ()
        ends = {"min": sql.call("min", column.expression), "max": sql.call("max", column.expression)}
        if table.may_leave(column, *self._bounds):
            if "nans" not in asked.numbers:
                return ()
            at_once = Ask({**asked.numbers, **ends}, asked.reads)
            how = f"the {column.label} outside, counted as if none were NaN"
            return (Attempt(how, at_once, lambda found: None if found["nans"] else found),)
        ends.update((name, aggregate) for name, aggregate in asked.numbers.items() if name == "nulls")

        def settled(found: Numbers) -> Numbers | None:
            """Both ends inside prove the rest; NaN, which is the greatest of all, is an end outside."""
            both = [found["min"], found["max"]]
            if None in both or not all(is_inside(end, *self._bounds, kind=column.type) for end in both):
                return None
            return {**found, "below": 0, "above": 0, "nans": 0}

        return (Attempt(f"the least and the greatest {column.label}", Ask(ends, asked.reads), settled),)

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        column = self._column(table)
        nulls = numbers["nulls"] if "nulls" in numbers else table.null_count(column)
        assert nulls is not None
        values = table.rows - nulls
        span = f"[{self.min_value}, {self.max_value}]"
        if values and not is_number(column.type):
            return Verdict(
                False, f"column '{column.label}' holds values whose type is not orderable against the declared range {span}", values
            )
        low, high = (numbers["min"], numbers["max"]) if "min" in numbers else table.extremes(column) or (None, None)
        below_count, nans = numbers.get("below", 0), numbers.get("nans", 0)
        above_count = numbers.get("above", 0) - nans
        if below_count:
            said = f"holds '{table.text_of(column, low)}', below the declared minimum of {self.min_value}"
        elif above_count:
            said = f"holds '{table.text_of(column, high)}', above the declared maximum of {self.max_value}"
        elif nans:
            said = "holds 'NaN', which no range contains"
        else:
            said = f"lies within {span} across {values} non-null values of {table.rows} rows"
        failed = below_count + above_count + nans
        observed = {name: table.observed(column, found) for name, found in (("min", low), ("max", high)) if found is not None}
        return Verdict(not failed, f"column '{column.label}' {said}", failed, {**observed, **({"nans": nans} if nans else {})})


class Continuity(CoreCheck):
    """No two consecutive distinct values of the column are further apart than `max_gap_seconds`.

    Instants and days are measured in seconds, numbers in the column's own units; text is read as ISO 8601 instants or
    as numbers when every value parses, and fails otherwise. NULLs are skipped, repeats collapse, and a column with
    fewer than two distinct values passes and says so. NaN has no place in an order and fails.

    Example:
        {check_id: hourly, kind: continuity, enforcement: advisory, columns: [observed_at], max_gap_seconds: 7200}
    """

    kind: Literal["continuity"] = "continuity"
    reads_bounds: ClassVar[tuple[str, ...]] = ("max_gap_seconds",)

    def _wrong_bounds(self, context: Context) -> Iterator[tuple[str, str]]:
        if self.max_gap_seconds is None:
            yield "", f"check {self.reported_id} states no max_gap_seconds; a gap without a ceiling is never too wide"
        elif self.max_gap_seconds < 0:
            yield (
                "/max_gap_seconds",
                f"check {self.reported_id} states max_gap_seconds {self.max_gap_seconds}; a gap is never negative, so state 0 or more",
            )

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        column = self._column(table)
        reads = self.reads(table)
        domain = domain_of(column.type)
        if domain == "too wide":
            raise UnsupportedByEngine(engine="continuity", what=f"cannot measure gaps between values of the type {column.type}")
        if domain == "none":
            return ()
        if domain == "unordered":
            nulls = table.null_count(column)
            return () if nulls is not None else (Ask({"nulls": sql.count_where(sql.is_null(column.expression))}, reads),)
        return (Ask(self._measures(domain), reads, over=neighbours(table.relation, column)),)

    def parted(self, table: CheckedTable) -> Parted | None:
        return parted_gaps(self._column(table), table.relation, self.reads(table))

    def _measures(self, domain: str) -> dict[str, exp.Expr]:
        match domain:
            case "text":
                ts, num = sql.column("ts"), sql.column("num")
                counts = {"values": sql.count_rows(), "instants": sql.call("count", ts), "numbers": sql.call("count", num)}
                distinct = {"distinct_instants": sql.count_distinct(ts), "distinct_numbers": sql.count_distinct(num)}
                return {
                    **counts,
                    **distinct,
                    "widest_instants": widest("ts_", MAX_EXAMPLES),
                    "widest_numbers": widest("num_", MAX_EXAMPLES),
                }
            case "floats":
                is_nan = sql.call("isnan", sql.column("x"))
                inexact = sql.count_where(exp.not_(sql.column("is_exact")))
                return {
                    "values": sql.count_rows(),
                    "nans": sql.count_where(is_nan),
                    "inexact": inexact,
                    "widest": widest("", MAX_EXAMPLES),
                    "widest_exact": widest("d_", MAX_EXAMPLES),
                }
            case _:
                return {"values": sql.count_rows(), "widest": widest("", MAX_EXAMPLES)}

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        column = self._column(table)
        unordered = (
            f"column '{column.label}' holds values whose type is not orderable against the declared ceiling of {self.max_gap_seconds}"
        )
        match domain_of(column.type):
            case "unordered":
                nulls = numbers["nulls"] if "nulls" in numbers else table.null_count(column)
                return Verdict(False, unordered) if nulls != table.rows else self._without_pair(column, 0)
            case "text":
                values = numbers["values"]
                if values and numbers["instants"] == values:
                    return self._of_gap(column, table, numbers["distinct_instants"], numbers["widest_instants"], is_text_time=True)
                if values and numbers["numbers"] == values:
                    return self._of_gap(column, table, numbers["distinct_numbers"], numbers["widest_numbers"])
                return Verdict(False, unordered) if values else self._without_pair(column, 0)
            case "floats":
                if numbers["nans"]:
                    return Verdict(
                        False, f"column '{column.label}' holds 'NaN', which has no place in an order", None, {"nans": numbers["nans"]}
                    )
                return self._of_gap(column, table, numbers["values"], numbers["widest"] if numbers["inexact"] else numbers["widest_exact"])
            case _:
                return self._of_gap(column, table, numbers.get("values", 0), numbers.get("widest"))

    def _without_pair(self, column: Value, values: int) -> Verdict:
        held = "holds one distinct value" if values else "holds no non-null value"
        return Verdict(
            True,
            f"column '{column.label}' {held}, so no consecutive pair exists for a gap to sit between",
            None,
            {"distinct_values": values},
        )

    def _of_gap(self, column: Value, table: CheckedTable, values: int, found: Any, *, is_text_time: bool = False) -> Verdict:
        assert self.max_gap_seconds is not None
        if values < 2:
            return self._without_pair(column, values)
        gap = gap_of(found[0], column, is_text_time=is_text_time)
        start, end = (table.marked(column, place) for place in (gap.start, gap.end))
        is_time = is_text_time or domain_of(column.type) in ("instants", "days")
        measured = "seconds between timestamps" if is_time else "the column's own units between numbers"
        width = plain_number(gap.width)
        is_whole = gap.width.is_finite() and gap.width == gap.width.to_integral_value()
        max_gap = int(gap.width) if is_whole else gap.width if gap.width.is_finite() else width
        observed: dict[str, Any] = {"max_gap": max_gap, "distinct_values": values}
        if gap.width <= self.max_gap_seconds:
            said = f"never gaps by more than {width} across {values} distinct values, the widest between '{start}' and '{end}', at or below"
        else:
            said = f"gaps from '{start}' to '{end}' by {width}, above"
        detail = f"column '{column.label}' {said} the declared ceiling of {self.max_gap_seconds}, measured in {measured}"
        return Verdict(gap.width <= self.max_gap_seconds, detail, None, observed)

    def examples_among(self, numbers: Numbers) -> Sequence[Mapping[str, Any]] | None:
        values = numbers.get("values")
        if values is None or numbers.get("nans"):
            return ()
        if "instants" not in numbers:
            return numbers["widest"]
        if numbers["instants"] == values:
            return numbers["widest_instants"]
        return numbers["widest_numbers"] if numbers["numbers"] == values else ()

    def examples(self, found: Sequence[Mapping[str, Any]], table: CheckedTable) -> tuple[Mapping[str, Any], ...]:
        assert self.max_gap_seconds is not None
        column = self._column(table)
        is_text_time = domain_of(column.type) == "text" and all(isinstance(row["from"], int) for row in found)
        gaps = [gap_of(row, column, is_text_time=is_text_time) for row in found]
        return tuple(
            {"from": table.marked(column, gap.start), "to": table.marked(column, gap.end), "gap": plain_number(gap.width)}
            for gap in gaps
            if gap.width > self.max_gap_seconds
        )


class RowExpectation(CoreCheck):
    """The stored row count lies in the declared bounds; either may stand alone. Answered from the metadata alone.

    An empty table has 0 rows. NULLs do not matter: rows are counted, not values.

    Example:
        {check_id: enough_rows, kind: row_expectation, enforcement: required, min_rows: 24, max_rows: 1000000}
    """

    kind: Literal["row_expectation"] = "row_expectation"
    reads_bounds: ClassVar[tuple[str, ...]] = ("min_rows", "max_rows")

    def _wrong_columns(self, context: Context) -> Iterator[tuple[str, str]]:
        if self.columns:
            names = ", ".join(ref.label for ref in self.columns)
            yield "/columns", f"check {self.reported_id} counts rows, reads no column and names {names}; take the column out"

    def _wrong_bounds(self, context: Context) -> Iterator[tuple[str, str]]:
        low, high, ceiling = self.min_rows, self.max_rows, context.limits.max_rows
        if low is None and high is None:
            yield "", f"check {self.reported_id} states neither min_rows nor max_rows; a row expectation needs at least one"
        if low is not None and low < 0:
            yield "/min_rows", f"check {self.reported_id} states min_rows {low}; a row count is never negative, so state 0 or more"
        if high is not None and high < 1:
            yield "/max_rows", f"check {self.reported_id} states max_rows {high}; state 1 or more"
        for name, bound in (("min_rows", low), ("max_rows", high)):
            if bound is not None and bound > ceiling:
                yield (
                    f"/{name}",
                    f"check {self.reported_id} states {name} {bound}, above the {ceiling} rows that one run may write; "
                    "no run could satisfy it",
                )
        if low is not None and high is not None and low > high:
            yield "/min_rows", f"check {self.reported_id} states min_rows {low} above max_rows {high}; no row count lies between them"

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        return ()

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        low, high, rows = self.min_rows, self.max_rows, table.rows
        if low is not None and rows < low:
            said, passed = f"is below the declared minimum of {low}", False
        elif high is not None and rows > high:
            said, passed = f"is above the declared maximum of {high}", False
        elif low is not None and high is not None:
            said, passed = f"satisfies the declared bounds [{low}, {high}]", True
        else:
            said, passed = f"satisfies the declared {f'minimum of {low}' if low is not None else f'maximum of {high}'}", True
        return Verdict(passed, f"row count {rows} {said}", None, {"row_count": rows})
