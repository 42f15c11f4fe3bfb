"""Kinds that compare an aggregate with a limit or with a reference's."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tests.checks.cases import Case, Expected, Rows, failed, not_evaluated, passed, refused, run_cases

NAN, INF = float("nan"), float("inf")
GVX = {"g": pa.string(), "v": pa.int32(), "x": pa.float64()}
FIVE = (GVX, [("a", 1, 1.0), ("a", 3, 2.5), ("b", 10, NAN), ("b", None, 4.0), (None, 7, None)])
X = {"x": pa.float64()}
BIG = pa.decimal128(38, 0)
GV = {"g": pa.string(), "v": pa.int64()}
OURS = (GV, [("a", 1), ("a", 5), ("b", 10), (None, 3), ("c", None)])
THEIRS: Mapping[str, Rows] = {
    "r": ({"g": pa.string(), "v": pa.int64(), "w": pa.int64()}, [("a", 1, 1), ("a", 3, 3), ("b", 10, 9), (None, 7, 7), ("z", 1, 1)])
}


def equals(aggr_type: str, limit: object, column: object = "x", **more: object) -> dict[str, object]:
    """The members of a check that the aggregate equals the limit."""
    return {"column": column, "aggr_type": aggr_type, "limit": limit, **more}


def figure(aggr_type: str, value: object, schema: dict[str, pa.DataType], rows: Sequence[object], title: str, **more: object) -> Case:
    """A case in which the aggregate of column x is the value."""
    return Case("is_aggr_equal", f"{aggr_type}: {title}", equals(aggr_type, value, **more), (schema, rows), passed())


FIGURES = [
    figure("count", 2, X, [1.0, None, NAN], "NULLs are left out"),
    figure("count_distinct", 3, X, [1.0, 1.0, NAN, NAN, None, 0.0, -0.0], "NaN once, zero once"),
    figure("approx_count_distinct", 2, X, [1.0, 1.0, 2.0], "of a few"),
    figure("approx_count_distinct", 2, X, [1.0, 1.0, 2.0], "exact where rsd is stated", aggr_params={"rsd": 0.01}),
    figure("count_if", 1, {"x": pa.bool_()}, [True, False, None], "true alone"),
    figure("sum", 0.3, {"x": pa.decimal128(5, 2)}, [Decimal("0.10"), Decimal("0.20")], "decimals exactly"),
    figure("sum", 18446744073709551614, {"x": pa.int64()}, [2**63 - 1, 2**63 - 1], "beyond 64 bits"),
    figure("sum", 18 * 10**37, {"x": BIG}, [Decimal(9 * 10**37)] * 2, "beyond 38 digits"),
    figure("sum", -18 * 10**37, {"x": BIG}, [Decimal(-9 * 10**37)] * 2, "below 38 digits"),
    figure("sum", Decimal("-0.05"), {"x": pa.decimal128(38, 2)}, [Decimal("-0.10"), Decimal("0.05")], "a small one of a wide type"),
    figure("sum", 0, {"x": pa.decimal256(60, 0)}, [Decimal(10**50), Decimal(-(10**50))], "of a decimal that no engine holds"),
    figure("avg", 1.5, {"x": pa.int64()}, [1, 2, None], "a double"),
    figure(
        "avg", Decimal("1.666667"), {"x": pa.decimal128(5, 2)}, [Decimal(1), Decimal(2), Decimal(2)], "four places more than decimals have"
    ),
    figure("mean", 1.5, {"x": pa.float32()}, [1.0, 2.0], "another word for avg"),
    figure("min", "2026-01-01", {"x": pa.date32()}, [dt.date(2026, 1, 1), None, dt.date(2026, 1, 2)], "dates"),
    figure("max", "2026-01-02T00:00:00Z", {"x": pa.timestamp("us", "UTC")}, [dt.datetime(2026, 1, 2)], "instants"),
    figure("max", "b", {"x": pa.string()}, ["a", "b", None, "B"], "text by code point"),
    figure("mode", 2, {"x": pa.int64()}, [3, 2, 2, 3, None], "the smallest of several"),
    figure("median", 5, {"x": pa.int64()}, [1, 3, 7, 10], "between two"),
    figure("percentile", 7.75, {"x": pa.int64()}, [1, 3, 7, 10], "between two", aggr_params={"percentile": 0.75}),
    figure("approx_percentile", 3, {"x": pa.int64()}, [1, 3, 7, 10], "one of them", aggr_params={"percentile": 0.5, "accuracy": 100}),
    figure("stddev", 1, {"x": pa.int64()}, [1, 2, 3], "of a sample"),
    figure("stddev_pop", 2, {"x": pa.int64()}, [8, 12], "of all"),
    figure("variance", 1, {"x": pa.int64()}, [1, 2, 3], "of a sample"),
    figure("var_pop", 4, {"x": pa.int64()}, [8, 12], "of all"),
    figure("skewness", 0, {"x": pa.int64()}, [8, 12], "of two it is none"),
    figure("skewness", 1.1547005, {"x": pa.int64()}, [0, 0, 0, 1], "of all, no sample", abs_tolerance=0.0000001),
    figure("kurtosis", -2, {"x": pa.int64()}, [8, 12], "in excess, of all"),
    figure("kurtosis", 0, X, [1.0, 1.0], "of one value it is NULL"),
    figure("stddev", 0, X, [1.0], "of one row it is NULL"),
    figure("sum_distinct", 3, {"x": pa.int64()}, [1, 1, 2], "each value once"),
    figure("product", 6, {"x": pa.int64()}, [1, 2, 3, None], "NULLs are left out"),
    figure("bit_or", 3, {"x": pa.int64()}, [1, 2], "of whole numbers"),
    figure("bool_and", False, {"x": pa.bool_()}, [True, False, None], "NULLs are left out"),
    figure("some", True, {"x": pa.bool_()}, [True, False, None], "another word for bool_or"),
]


def aggr(kind: str, title: str, check: Mapping[str, object], expected: Expected, rows: Rows = FIVE, **more: Any) -> Case:
    """A case of one of the four kinds."""
    return Case(f"is_aggr_{kind}", title, check, rows, expected, **more)


LIMITS = [
    aggr("not_greater_than", "on the limit", {"column": "*", "limit": 5}, passed(detail="the number of rows is 5, not above 5", observed={"count": 5})),
    aggr("not_greater_than", "above it", {"column": "v", "aggr_type": "sum", "limit": 20},
         failed(detail="the sum of v is 21, above 20", observed={"sum": 21})),
    aggr("not_greater_than", "NaN is above every number", {"column": "x", "aggr_type": "sum", "limit": 100}, failed(detail="the sum of x is NaN, above 100")),
    aggr("not_greater_than", "the rows of a bad group", {"column": "v", "aggr_type": "sum", "limit": 8, "group_by": ["g"]},
         failed(rows=[2, 3], detail="2 of 5 rows have a sum of v per (g) above 8", observed={"bad_groups": 1})),
    aggr("not_greater_than", "NULL is a group", {"column": "*", "limit": 0, "group_by": ["g"], "filter": "g IS NULL"}, failed(rows=[4])),
    aggr("not_greater_than", "a limit in a column", {"column": "v", "limit": {"column": "v"}},
         failed(rows=[0, 1], detail="2 of 5 rows have a number of v above column v")),
    aggr("not_greater_than", "a limit in a column, grouped", {"column": "v", "aggr_type": "sum", "limit": {"column": "v"}, "group_by": ["g"]},
         failed(rows=[0, 1])),
    aggr("not_greater_than", "a limit in a column, filtered", {"column": "v", "aggr_type": "sum", "limit": {"expression": "v * 2"}, "filter": "v < 5"},
         failed(rows=[0])),
    aggr("not_greater_than", "a limit that reads no column", {"column": "v", "limit": {"expression": "1 + 1"}}, failed(detail="above 1 + 1")),
    aggr("not_greater_than", "the filter's rows alone", {"column": "v", "limit": 1, "filter": "g = 'a'"},
         failed(rows=[0, 1], detail="the number of v of the rows where g = 'a' is 2, above 1")),
    aggr("not_greater_than", "an empty table is counted", {"column": "*", "limit": -1}, failed(rows=[], detail="is 0, above -1"), (GVX, [])),
    aggr("not_greater_than", "of nothing it is NULL", {"column": "v", "aggr_type": "max", "limit": 0}, passed(detail="is NULL"), (GVX, [])),
    aggr("not_greater_than", "tolerated groups", {"column": "v", "limit": 1, "group_by": ["g"], "max_failed_rows": 2},
         Expected("passed", (0, 1), "2 where 2 rows are allowed")),
    aggr("not_greater_than", "a tolerance without groups", {"column": "v", "limit": 1, "max_failed_rows": 2},
         refused("DECLARED_CHECK_INVALID", "judges the table as a whole and states max_failed_rows")),
    aggr("not_greater_than", "quarantined groups", {"column": "v", "limit": 1, "group_by": ["g"], "enforcement": "quarantine"}, failed(rows=[0, 1]),
         recipe={"quarantine": {"to": "bad"}}),
    aggr("not_greater_than", "quarantine without groups", {"column": "v", "limit": 1, "enforcement": "quarantine"},
         refused("DECLARED_CHECK_INVALID", "cannot tell which rows to quarantine"), recipe={"quarantine": {"to": "bad"}}),
    aggr("not_less_than", "on the limit", {"column": "v", "limit": 4}, passed(detail="the number of v is 4, not below 4")),
    aggr("not_less_than", "below it", {"column": "*", "limit": 6}, failed(detail="the number of rows is 5, below 6")),
    aggr("not_less_than", "no rows", {"column": "*", "limit": 1}, failed(rows=[], detail="the number of rows is 0, below 1"), (GVX, [])),
    aggr("not_less_than", "NULLs alone", {"column": "v", "aggr_type": "sum", "limit": 0}, passed(detail="is NULL"), (GVX, [("a", None, None)])),
    aggr("not_less_than", "filtered groups", {"column": "*", "limit": 3, "group_by": ["g"], "filter": "ok"}, failed(rows=[0, 1]),
         ({"g": pa.string(), "ok": pa.bool_()}, [("a", True), ("a", True), ("b", False), ("c", None)])),
    aggr("equal", "equal", {"column": "v", "aggr_type": "avg", "limit": 5.25}, passed(detail="the average v is 5.25, equal to 5.25")),
    aggr("equal", "not equal", {"column": "*", "limit": 4}, failed(detail="the number of rows is 5, not equal to 4")),
    aggr("equal", "grouped", {"column": "v", "limit": 2, "group_by": ["g"]}, failed(rows=[2, 3, 4])),
    aggr("equal", "within a tolerance", {"column": "v", "aggr_type": "sum", "limit": 20, "abs_tolerance": 1},
         passed(detail="the sum of v is 21, equal to 20 (within 1)")),
    aggr("equal", "within a share", {"column": "v", "aggr_type": "sum", "limit": 20, "rel_tolerance": 0.05}, passed()),
    aggr("equal", "outside a share", {"column": "v", "aggr_type": "sum", "limit": 20, "rel_tolerance": 0.04}, failed()),
    aggr("equal", "distinct whole rows, without those with a NULL", {"column": "*", "aggr_type": "count_distinct", "limit": 3}, passed()),
    aggr("equal", "the filter's rows alone", {"column": "v", "limit": 1, "filter": "g = 'a'"}, failed(rows=[0, 1])),
    aggr("equal", "NULLs alone", {"column": "v", "aggr_type": "sum", "limit": 0}, passed(), (GVX, [("a", None, None)])),
    aggr("equal", "no rows", {"column": "*", "limit": 0}, passed(), (GVX, [])),
    aggr("equal", "an infinite sum", {"column": "x", "aggr_type": "sum", "limit": 1}, failed(detail="the sum of x is inf"), (X, [INF, 1.0])),
    aggr("equal", "what is not finite has no skewness", {"column": "x", "aggr_type": "skewness", "limit": 1}, failed(detail="is NaN"), (X, [INF, 1.0, 2.0])),
    aggr("equal", "text that is no number", {"column": "g", "aggr_type": "sum", "limit": 1}, not_evaluated("CHECK_UNSUPPORTED_BY_ENGINE")),
    aggr("equal", "a sensitive column", {"column": "v", "aggr_type": "max", "limit": 1}, failed(detail="the largest v is ‹redacted›"),
         table={"sensitive": ["v"]}),
    aggr("equal", "a tolerance below zero", {"column": "v", "limit": 1, "abs_tolerance": -1}, refused("RECIPE_DOCUMENT_INVALID")),
    aggr("equal", "an unknown aggregate", {"column": "v", "aggr_type": "summ", "limit": 1}, refused("DECLARED_CHECK_INVALID", "did you mean sum?")),
    aggr("equal", "the sum of a star", {"column": "*", "aggr_type": "sum", "limit": 1}, refused("DECLARED_CHECK_INVALID", "takes the sum of '*'")),
    aggr("equal", "filtered distinct rows", {"column": "*", "aggr_type": "count_distinct", "limit": 1, "filter": "v > 1"},
         refused("DECLARED_CHECK_INVALID", "beside a filter")),
    aggr("equal", "which percentile", {"column": "v", "aggr_type": "percentile", "limit": 1}, refused("DECLARED_CHECK_INVALID", "does not say which")),
    aggr("equal", "a parameter that nothing reads", {"column": "v", "aggr_type": "sum", "limit": 1, "aggr_params": {"percentile": 0.5}},
         refused("DECLARED_CHECK_INVALID", "which the aggregate sum does not read")),
    aggr("equal", "an aggregate of no number", {"column": "t", "aggr_type": "sum", "limit": 1}, refused("DECLARED_CHECK_INVALID", "name a column of numbers"),
         ({"t": pa.bool_()}, [])),
    aggr("equal", "a limit of another type", {"column": "v", "aggr_type": "sum", "limit": "many"}, refused("DECLARED_CHECK_INVALID", "cannot be read")),
    aggr("not_equal", "equal", {"column": "v", "aggr_type": "median", "limit": 5}, failed(detail="the median of v is 5.0, equal to 5")),
    aggr("not_equal", "not equal", {"column": "v", "aggr_type": "stddev", "limit": 4}, passed()),
    aggr("not_equal", "within a share", {"column": "v", "aggr_type": "sum", "limit": 20, "rel_tolerance": 0.05}, failed()),
    aggr("not_equal", "grouped", {"column": "v", "limit": 2, "group_by": ["g"]}, failed(rows=[0, 1])),
    aggr("not_equal", "the filter's rows alone", {"column": "v", "limit": 2, "filter": "g = 'a'"}, failed(rows=[0, 1])),
    aggr("not_equal", "NULLs alone", {"column": "v", "aggr_type": "sum", "limit": 0}, passed(), (GVX, [("a", None, None)])),
    aggr("not_equal", "no rows", {"column": "*", "limit": 0}, failed(rows=[]), (GVX, [])),
]  # fmt: skip


def matches(title: str, check: Mapping[str, object], expected: Expected, rows: Rows = OURS, theirs: Mapping[str, Rows] = THEIRS) -> Case:
    """A case of aggr_matches_dataset."""
    return Case("aggr_matches_dataset", title, {"reference": "r", **check}, rows, expected, references=theirs)


MATCHES = [
    matches("as many rows", {"column": "*"}, passed(detail="the number of rows is 5, the same as 5 of the reference r", observed={"count": 5, "ref_count": 5})),
    matches("another sum", {"column": "v", "aggr_type": "sum"}, failed(detail="the sum of v is 19, not the same as 22 of the reference r")),
    matches("within a tolerance", {"column": "v", "aggr_type": "sum", "abs_tolerance": 3}, passed()),
    matches("outside a share", {"column": "v", "aggr_type": "sum", "rel_tolerance": 0.1}, failed()),
    matches("another column there", {"column": "v", "ref_column": "w", "aggr_type": "max"}, failed(detail="is 10, not the same as 9")),
    matches("group by group", {"column": "v", "aggr_type": "sum", "group_by": ["g"]},
            failed(rows=[0, 1, 3], detail="3 of 5 rows have a sum of v per (g) that is not the reference r's")),
    matches("a group that the reference lacks", {"column": "v", "aggr_type": "sum", "group_by": ["g"], "ref_group_by": ["h"]}, failed(rows=[2, 3]),
            theirs={"r": ({"h": pa.string(), "v": pa.int64()}, [("a", 6), ("b", 1)])}),
    matches("other rows there", {"column": "*", "ref_row_filter": "v > 1"}, failed(detail="is 5, not the same as 3")),
    matches("the filter's rows alone", {"column": "v", "aggr_type": "sum", "group_by": ["g"], "filter": "v > 1"}, failed(rows=[1, 3])),
    matches("NULL is the same as NULL", {"column": "v", "aggr_type": "sum"}, passed(detail="is NULL, the same as NULL"), (GV, [("a", None)]),
            {"r": ({"v": pa.int64()}, [None])}),
    matches("a number is not the same as NULL", {"column": "v", "aggr_type": "sum"}, failed(detail="is 1, not the same as NULL"), (GV, [("a", 1)]),
            {"r": ({"v": pa.int64()}, [None])}),
    matches("numbers of other types", {"column": "v", "aggr_type": "sum"}, passed(), (GV, [("a", 1)]), {"r": ({"v": pa.decimal128(10, 2)}, [Decimal("1.00")])}),
    matches("no rows", {"column": "*"}, passed(), (GV, []), {"r": (GV, [])}),
    matches("no rows, grouped", {"column": "*", "group_by": ["g"]}, passed(), (GV, [])),
    matches("a column that the reference lacks", {"column": "v", "ref_column": "zz"}, refused("DECLARED_CHECK_COLUMN_UNKNOWN", "the reference 'r'")),
    matches("groups of another number", {"column": "v", "group_by": ["g"], "ref_group_by": ["g", "v"]}, refused("DECLARED_CHECK_INVALID", "name as many")),
    matches("groups there alone", {"column": "v", "ref_group_by": ["g"]}, refused("DECLARED_CHECK_INVALID", "name as many")),
]  # fmt: skip

test_figures = run_cases(FIGURES)
test_limits = run_cases(LIMITS)
test_matches = run_cases(MATCHES)
