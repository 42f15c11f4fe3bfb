"""Kinds that compare the values of a column with a value, a limit, a range."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as D

import pyarrow as pa

from tests.checks.cases import Case, failed, passed, refused, run_cases, tolerated

NAN, INF = float("nan"), float("inf")
INT = {"i": pa.int64()}
INTS = (INT, [10, 11, 9, 0, -10, None])
FLOAT = {"x": pa.float64()}
FLOATS = (FLOAT, [NAN, INF, -INF, 0.0, -0.0, 1.5, None])
TEXT = {"s": pa.string()}
COLORS = (TEXT, ["red", "RED", " red", "blue", "", None])
PRICES = ({"p": pa.decimal128(5, 2)}, [D("1.10"), D("1.11"), D("1.12"), None])
PAIR = {"a": pa.int64(), "b": pa.int64()}
PAIRS = (PAIR, [(1, 2), (2, 1), (None, 1), (1, None), (1, 1)])
BOUNDED = (
    {"i": pa.int64(), "lo": pa.int64(), "hi": pa.int64()},
    [(5, 1, 9), (5, 6, 9), (5, None, 9), (5, None, 4), (5, 6, None), (None, 1, 9)],
)
NUMBERS_AS_TEXT = [
    "1", "1.", "1.25", "1.250", "1.255", ".5", "-1.25", "+1.25", "1.5e3", "1.25e-1", "1.0E-4", "abc", "", " 1.25", None, "NaN", "1e400",
    "0.000", "100e-4", ".", "1\n", "0e-9", "-", "1_0.123",
]  # fmt: skip

EQUALITY = [
    Case("is_equal_to", "what is not", {"column": "i", "value": 10}, INTS,
         failed(rows=[1, 2, 3, 4], detail="4 of 6 rows have i not equal to 10")),
    Case("is_equal_to", "all are", {"column": "i", "value": 10}, (INT, [10, None]), passed(detail="none of 2 rows have i not equal to 10")),
    Case("is_equal_to", "NULLs not allowed", {"column": "i", "value": 10, "allow_nulls": False}, (INT, [10, None]),
         failed(rows=[1], detail="1 of 2 rows have i not equal to 10, or no i")),
    Case("is_equal_to", "NaN and zeros", {"column": "x", "value": 0}, FLOATS, failed(rows=[0, 1, 2, 5])),
    Case("is_equal_to", "NaN equals NaN", {"column": "x", "value": {"expression": "'nan'::double"}}, FLOATS, failed(rows=[1, 2, 3, 4, 5])),
    Case("is_equal_to", "another column, NULL on either side", {"column": "a", "value": {"column": "b"}}, PAIRS, failed(rows=[0, 1])),
    Case("is_equal_to", "an expression", {"column": "a", "value": {"expression": "b + 1"}}, PAIRS, failed(rows=[0, 4])),
    Case("is_equal_to", "text is exact", {"column": "s", "value": "red"}, COLORS, failed(rows=[1, 2, 3, 4])),
    Case("is_equal_to", "a word is no column", {"column": "a", "value": "b"}, PAIRS, refused("DECLARED_CHECK_INVALID", "the text 'b'")),
    Case("is_equal_to", "an absolute tolerance is inclusive, NaN is near everything",
         {"column": "x", "value": 100, "abs_tolerance": D("0.5")},
         (FLOAT, [100, 100.5, 99.5, 100.51, 99.49, NAN, None]), failed(rows=[3, 4], detail="x not equal to 100 (within 0.5)")),
    Case("is_equal_to", "a relative tolerance is of the larger", {"column": "x", "value": 100, "rel_tolerance": D("0.01")},
         (FLOAT, [101, 101.01, 101.02, 99, 98.99, 100, None]), failed(rows=[2, 4])),
    Case("is_equal_to", "either tolerance suffices", {"column": "x", "value": 100, "abs_tolerance": D("0.1"), "rel_tolerance": D("0.01")},
         (FLOAT, [101, 100.1, 102, 98.9, None]), failed(rows=[2, 3], detail="(within 0.1 or within a share of 0.01)")),
    Case("is_equal_to", "a tolerance of decimals", {"column": "p", "value": D("1.10"), "abs_tolerance": D("0.01")}, PRICES,
         failed(rows=[2])),
    Case("is_equal_to", "a tolerance of large integers", {"column": "i", "value": 2**60, "abs_tolerance": 1},
         (INT, [2**60 + 1, 2**60 + 2, 2**60 - 2]), failed(rows=[1, 2])),
    Case("is_equal_to", "a share of integers", {"column": "i", "value": 10, "rel_tolerance": D("0.1")}, INTS, failed(rows=[3, 4])),
    Case("is_equal_to", "a tolerance of wide decimals", {"column": "w", "value": 1, "abs_tolerance": D("0.01")},
         ({"w": pa.decimal256(60, 3)}, [D("1.01"), D("1.011"), D("0.99")]), failed(rows=[1])),
    Case("is_equal_to", "a share of wide decimals", {"column": "w", "value": 1, "rel_tolerance": D("0.01")},
         ({"w": pa.decimal256(60, 3)}, []), refused("DECLARED_CHECK_INVALID", "state abs_tolerance alone")),
    Case("is_equal_to", "a tolerance between columns", {"column": "a", "value": {"column": "b"}, "abs_tolerance": 1}, PAIRS, passed()),
    Case("is_equal_to", "a tolerance of text", {"column": "s", "value": 1, "abs_tolerance": 1}, (TEXT, ["1.5", "2.5", "x"]),
         failed(rows=[1])),
    Case("is_equal_to", "a tolerance of nothing", {"column": "i", "value": 10, "abs_tolerance": 0}, INTS, failed(rows=[1, 2, 3, 4])),
    Case("is_equal_to", "a tolerance beside text", {"column": "s", "value": "a", "abs_tolerance": 1}, (TEXT, []),
         refused("DECLARED_CHECK_INVALID", "check THE_CHECK states a tolerance beside a value that is no number; take the tolerance out")),
    Case("is_equal_to", "a tolerance of days", {"column": "d", "value": {"column": "d"}, "abs_tolerance": 1}, ({"d": pa.date32()}, []),
         refused("DECLARED_CHECK_INVALID", "measures how far values of the type date32[day] are from a number")),
    Case("is_equal_to", "a tolerance below 0", {"column": "i", "value": 1, "abs_tolerance": -1}, INTS, refused("RECIPE_DOCUMENT_INVALID")),
    Case("is_equal_to", "no value", {"column": "i"}, INTS, refused("DECLARED_CHECK_INVALID", "states no value")),
    Case("is_equal_to", "the filter's rows alone", {"column": "i", "value": 10, "filter": "i > 9"}, INTS, failed(rows=[1])),
    Case("is_equal_to", "tolerated rows", {"column": "i", "value": 10, "max_failed_rows": 4}, INTS, tolerated(rows=[1, 2, 3, 4])),
    Case("is_equal_to", "no rows", {"column": "i", "value": 10}, (INT, []), passed()),
    Case("is_not_equal_to", "what is", {"column": "i", "value": 10}, INTS, failed(rows=[0], detail="1 of 6 rows have i equal to 10")),
    Case("is_not_equal_to", "none is", {"column": "i", "value": 12}, INTS, passed()),
    Case("is_not_equal_to", "NULLs not allowed", {"column": "i", "value": 12, "allow_nulls": False}, INTS, failed(rows=[5])),
    Case("is_not_equal_to", "zeros are one", {"column": "x", "value": 0}, FLOATS, failed(rows=[3, 4])),
    Case("is_not_equal_to", "near is equal", {"column": "i", "value": 10, "abs_tolerance": 1}, INTS, failed(rows=[0, 1, 2])),
    Case("is_not_equal_to", "another column", {"column": "a", "value": {"column": "b"}}, PAIRS, failed(rows=[4])),
    Case("is_not_equal_to", "no rows", {"column": "i", "value": 10}, (INT, []), passed()),
    Case("is_not_equal_to", "the filter's rows alone", {"column": "i", "value": 10, "filter": "i > 10"}, INTS, passed(detail="none of 1 rows where i > 10")),
]  # fmt: skip

LIMITS = [
    Case("is_not_less_than", "what is", {"column": "i", "limit": 10}, INTS, failed(rows=[2, 3, 4], detail="3 of 6 rows have i below 10")),
    Case("is_not_less_than", "on the limit", {"column": "i", "limit": -10}, INTS, passed()),
    Case("is_not_less_than", "NaN is above", {"column": "x", "limit": 0}, FLOATS, failed(rows=[2])),
    Case("is_not_less_than", "another column", {"column": "a", "limit": {"column": "b"}}, PAIRS,
         failed(rows=[0], detail="a below column b")),
    Case("is_not_less_than", "NULLs not allowed", {"column": "a", "limit": {"column": "b"}, "allow_nulls": False}, PAIRS,
         failed(rows=[0, 2])),
    Case("is_not_less_than", "a date", {"column": "t", "limit": dt.date(2024, 2, 29)},
         ({"t": pa.timestamp("us")}, [dt.datetime(2024, 2, 28, 23, 59), dt.datetime(2024, 2, 29), None]), failed(rows=[0])),
    Case("is_not_less_than", "text is read as a number", {"column": "s", "limit": 5}, (TEXT, ["6", "4", "abc", None]), failed(rows=[1])),
    Case("is_not_less_than", "no rows", {"column": "i", "limit": 10}, (INT, []), passed()),
    Case("is_not_less_than", "an unknown column", {"column": "i", "limit": {"column": "nope"}}, INTS,
         refused("DECLARED_CHECK_COLUMN_UNKNOWN")),
    Case("is_not_less_than", "the filter's rows alone", {"column": "i", "limit": 10, "filter": "i <> 0"}, INTS, failed(rows=[2, 4])),
    Case("is_not_greater_than", "what is", {"column": "i", "limit": 10}, INTS, failed(rows=[1], detail="1 of 6 rows have i above 10")),
    Case("is_not_greater_than", "on the limit", {"column": "i", "limit": 11}, INTS, passed()),
    Case("is_not_greater_than", "NaN is above", {"column": "x", "limit": 1.5}, FLOATS, failed(rows=[0, 1])),
    Case("is_not_greater_than", "a limit by expression", {"column": "a", "limit": {"expression": "b * 1.5"}}, PAIRS, failed(rows=[1])),
    Case("is_not_greater_than", "NULLs not allowed", {"column": "i", "limit": 11, "allow_nulls": False}, INTS, failed(rows=[5])),
    Case("is_not_greater_than", "no rows", {"column": "i", "limit": 10}, (INT, []), passed()),
    Case("is_not_greater_than", "the filter's rows alone", {"column": "i", "limit": 9, "filter": "i <> 10"}, INTS, failed(rows=[1])),
    Case("is_in_range", "both ends are allowed", {"column": "i", "min_limit": 0, "max_limit": 10}, INTS,
         failed(rows=[1, 4], detail="2 of 6 rows have i outside 0 .. 10")),
    Case("is_in_range", "inside", {"column": "i", "min_limit": -10, "max_limit": 11}, INTS, passed()),
    Case("is_in_range", "NaN is above", {"column": "x", "min_limit": 0, "max_limit": 2}, FLOATS, failed(rows=[0, 1, 2])),
    Case("is_in_range", "reversed ends hold nothing", {"column": "i", "min_limit": 10, "max_limit": 0}, INTS, failed(rows=[0, 1, 2, 3, 4])),
    Case("is_in_range", "one bound of two", {"column": "i", "min_limit": {"column": "lo"}, "max_limit": {"column": "hi"}}, BOUNDED,
         failed(rows=[1, 3, 4])),
    Case("is_in_range", "NULLs not allowed", {"column": "i", "min_limit": -10, "max_limit": 11, "allow_nulls": False}, INTS,
         failed(rows=[5])),
    Case("is_in_range", "one end only", {"column": "i", "min_limit": 0}, INTS, refused("DECLARED_CHECK_INVALID", "states no max_limit")),
    Case("is_in_range", "no rows", {"column": "i", "min_limit": 0, "max_limit": 10}, (INT, []), passed()),
    Case("is_in_range", "the filter's rows alone", {"column": "i", "min_limit": 0, "max_limit": 10, "filter": "i > 0"}, INTS,
         failed(rows=[1])),
    Case("is_not_in_range", "the ends are inside", {"column": "i", "min_limit": 0, "max_limit": 10}, INTS,
         failed(rows=[0, 2, 3], detail="3 of 6 rows have i inside 0 .. 10")),
    Case("is_not_in_range", "NaN is above", {"column": "x", "min_limit": 0, "max_limit": 2}, FLOATS, failed(rows=[3, 4, 5])),
    Case("is_not_in_range", "reversed ends hold nothing", {"column": "i", "min_limit": 10, "max_limit": 0}, INTS, passed()),
    Case("is_not_in_range", "an unknown bound", {"column": "i", "min_limit": {"column": "lo"}, "max_limit": {"column": "hi"}}, BOUNDED,
         failed(rows=[0])),
    Case("is_not_in_range", "NULLs not allowed", {"column": "i", "min_limit": 50, "max_limit": 60, "allow_nulls": False}, INTS,
         failed(rows=[5])),
    Case("is_not_in_range", "no rows", {"column": "i", "min_limit": 0, "max_limit": 10}, (INT, []), passed()),
    Case("is_not_in_range", "the filter's rows alone", {"column": "i", "min_limit": 0, "max_limit": 10, "filter": "i > 0"}, INTS, failed(rows=[0, 2])),
    Case("has_num_decimal_places", "text", {"column": "s", "limit": 2}, (TEXT, NUMBERS_AS_TEXT),
         failed(rows=[4, 9, 10, 11, 12, 13, 15, 19, 20, 22, 23], detail="have s with more than 2 decimal places")),
    Case("has_num_decimal_places", "decimals",
         {"column": "p", "limit": 2}, ({"p": pa.decimal128(10, 4)}, [D("1.2500"), D("1.2510"), D(0), None]),
         failed(rows=[1])),
    Case("has_num_decimal_places", "wide decimals", {"column": "p", "limit": 2},
         ({"p": pa.decimal256(60, 4)}, [D("1.2500"), D("-1.2510"), D(0), D(-100), None]), failed(rows=[1])),
    Case("has_num_decimal_places", "doubles, as they are written", {"column": "x", "limit": 3},
         (FLOAT, [0.1, 1e-3, 1e-4, 1.5e-7, 1e22, NAN, INF, -0.0, None]), failed(rows=[2, 3, 5, 6])),
    Case("has_num_decimal_places", "floats, as they are written", {"column": "x", "limit": 1}, ({"x": pa.float32()}, [0.1, 0.25]),
         failed(rows=[1])),
    Case("has_num_decimal_places", "integers have none", {"column": "i", "limit": 0}, INTS, passed()),
    Case("has_num_decimal_places", "an unknown limit breaks it", {"column": "a", "limit": {"column": "b"}}, PAIRS, failed(rows=[3])),
    Case("has_num_decimal_places", "NULLs not allowed", {"column": "i", "limit": 0, "allow_nulls": False}, INTS, failed(rows=[5])),
    Case("has_num_decimal_places", "no number", {"column": "b", "limit": 0}, ({"b": pa.bool_()}, [True, None]), failed(rows=[0])),
    Case("has_num_decimal_places", "no rows", {"column": "s", "limit": 2}, (TEXT, []), passed()),
    Case("has_num_decimal_places", "the filter's rows alone", {"column": "s", "limit": 0, "filter": "s <> 'x'"}, (TEXT, ["x", "1"]),
         passed()),
]  # fmt: skip

test_equality = run_cases(EQUALITY)
test_limits = run_cases(LIMITS)
