"""Kinds that judge several columns of a row together."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from tests.checks.cases import Case, failed, passed, refused, run_cases

TWO = {"a": pa.int64(), "b": pa.int64()}
PAIRS = (TWO, [(1, 5), (None, 5), (None, None), (7, None), (10, 10), (3, 2)])
NAN = ({"x": pa.float64(), "y": pa.float64()}, [(float("nan"), 1.0), (1.0, float("nan"))])
DAYS = (
    {"d": pa.date32(), "t": pa.timestamp("us", "UTC")},
    [(dt.date(2026, 1, 1), dt.datetime(2026, 1, 1, 1)), (dt.date(2026, 1, 2), dt.datetime(2026, 1, 1))],
)
EMPTY = (TWO, [])

CASES = [
    Case("are_not_null", "values pass", {"columns": ["a", "b"]}, (TWO, [(1, 2)]), passed()),
    Case(
        "are_not_null",
        "a NULL in either breaks it",
        {"columns": ["a", "b"]},
        PAIRS,
        failed(rows=[1, 2, 3], detail="3 of 6 rows have no value in one of a, b"),
    ),
    Case("are_not_null", "NaN is a value", {"columns": ["x"]}, NAN, passed()),
    Case("are_not_null", "the filter's rows alone", {"columns": ["a"], "filter": "b = 5"}, PAIRS, failed(rows=[1])),
    Case("are_not_null", "no rows", {"columns": ["a"]}, EMPTY, passed()),
    Case("are_not_null", "no column", {"columns": []}, EMPTY, refused("RECIPE_DOCUMENT_INVALID")),
    Case("are_null", "NULLs pass", {"columns": ["a"]}, (TWO, [(None, 1)]), passed()),
    Case("are_null", "a value in either breaks it", {"columns": ["a", "b"]}, PAIRS, failed(rows=[0, 1, 3, 4, 5])),
    Case("are_null", "the filter's rows alone", {"columns": ["a"], "filter": "b = 5"}, PAIRS, failed(rows=[0])),
    Case("are_null", "no rows", {"columns": ["a"]}, EMPTY, passed()),
    Case("exactly_one_not_null", "one passes", {"columns": ["a", "b"]}, (TWO, [(1, None), (None, 1)]), passed()),
    Case("exactly_one_not_null", "none and two break it", {"columns": ["a", "b"]}, PAIRS, failed(rows=[0, 2, 4, 5])),
    Case("exactly_one_not_null", "of one column, NULL breaks it", {"columns": ["a"]}, PAIRS, failed(rows=[1, 2])),
    Case("exactly_one_not_null", "the filter's rows alone", {"columns": ["a", "b"], "filter": "a = 10"}, PAIRS, failed(rows=[4])),
    Case("exactly_one_not_null", "no rows", {"columns": ["a", "b"]}, EMPTY, passed()),
    Case("is_less_than", "below another column", {"column": "a", "limit": {"column": "b"}}, (TWO, [(1, 2)]), passed()),
    Case(
        "is_less_than",
        "equal, above and NULL break it",
        {"column": "a", "limit": {"column": "b"}},
        PAIRS,
        failed(rows=[1, 2, 3, 4, 5], detail="a not below column b"),
    ),
    Case("is_less_than", "inclusive", {"column": "a", "limit": {"column": "b"}, "inclusive": True}, PAIRS, failed(rows=[1, 2, 3, 5])),
    Case("is_less_than", "an expression", {"column": "a", "limit": {"expression": "b + 1"}}, PAIRS, failed(rows=[1, 2, 3, 5])),
    Case("is_less_than", "NaN is above every number", {"column": "x", "limit": {"column": "y"}}, NAN, failed(rows=[0])),
    Case("is_less_than", "the filter's rows alone", {"column": "a", "limit": 3, "filter": "b = 2"}, PAIRS, failed(rows=[5])),
    Case("is_less_than", "no rows", {"column": "a", "limit": 3}, EMPTY, passed()),
    Case("is_greater_than", "above a number", {"column": "a", "limit": 0}, (TWO, [(1, 2)]), passed()),
    Case(
        "is_greater_than", "equal, below and NULL break it", {"column": "a", "limit": {"column": "b"}}, PAIRS, failed(rows=[0, 1, 2, 3, 4])
    ),
    Case("is_greater_than", "inclusive", {"column": "a", "limit": {"column": "b"}, "inclusive": True}, PAIRS, failed(rows=[0, 1, 2, 3])),
    Case("is_greater_than", "a date is its midnight", {"column": "t", "limit": {"column": "d"}}, DAYS, failed(rows=[1])),
    Case("is_greater_than", "the filter's rows alone", {"column": "a", "limit": 9, "filter": "b = 2"}, PAIRS, failed(rows=[5])),
    Case("is_greater_than", "no rows", {"column": "a", "limit": 3}, EMPTY, passed()),
    Case("any_is_in_list", "one listed value will do", {"values": {"a": [1, 7], "b": [10, 2]}}, PAIRS, passed()),
    Case(
        "any_is_in_list",
        "all outside break it",
        {"values": {"a": [1], "b": [10]}},
        PAIRS,
        failed(rows=[5], detail="a, b outside the listed values"),
    ),
    Case("any_is_in_list", "the filter's rows alone", {"values": {"a": [1]}, "filter": "a > 5"}, PAIRS, failed(rows=[3, 4])),
    Case("any_is_in_list", "no rows", {"values": {"a": [1]}}, EMPTY, passed()),
    Case("any_is_in_list", "a column that is not stored", {"values": {"zz": [1]}}, EMPTY, refused("DECLARED_CHECK_COLUMN_UNKNOWN", "'zz'")),
    Case("any_is_in_list", "a list of nothing", {"values": {"a": []}}, EMPTY, refused("DECLARED_CHECK_INVALID", "lists no value for 'a'")),
    Case("any_is_not_in_list", "one other value will do", {"values": {"a": [1], "b": [10]}}, PAIRS, passed()),
    Case("any_is_not_in_list", "all listed break it", {"values": {"a": [1, 3], "b": [5, 10]}}, PAIRS, failed(rows=[0])),
    Case("any_is_not_in_list", "NULL is unknown", {"values": {"a": [7], "b": [1]}}, PAIRS, passed()),
    Case("any_is_not_in_list", "the filter's rows alone", {"values": {"a": [1, 7]}, "filter": "b IS NULL"}, PAIRS, failed(rows=[3])),
    Case("any_is_not_in_list", "no rows", {"values": {"a": [1]}}, EMPTY, passed()),
]

test_cases = run_cases(CASES)
