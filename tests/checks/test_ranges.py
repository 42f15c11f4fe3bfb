"""Kinds about ranges: of the values of several columns, and of the length of text."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa

from tests.checks.cases import Case, failed, passed, refused, run_cases

NUMBERS = ({"a": pa.int64()}, [1, 3, 7, 10, None])
TWO = ({"a": pa.int64(), "b": pa.int64()}, [(1, 5), (None, 5), (None, None), (7, None), (10, 10), (3, 3)])
FLOATS = ({"x": pa.float64()}, [float("nan"), float("inf"), 0.5, None, 5.0])
TEXTS = ({"s": pa.string()}, ["2024-06-01", "2023-06-01", "nope", None])
INSTANTS = (
    {"t": pa.timestamp("us", "UTC")},
    [dt.datetime(2024, 2, 29, 11, 59, 59), dt.datetime(2024, 2, 29, 12), dt.datetime(2024, 3, 1), None],
)
DECIMALS = ({"p": pa.decimal128(5, 2)}, [Decimal("0.10"), Decimal("0.11")])
WORDS = ({"s": pa.string()}, ["ab", "abc", "abcd", "", None, "äöü", "😀😀"])

CASES = [
    Case("are_between", "both ends lie inside", {"columns": ["a"], "min_value": 1, "max_value": 10}, NUMBERS, passed()),
    Case(
        "are_between",
        "one below and one above",
        {"columns": ["a"], "min_value": 3, "max_value": 7},
        NUMBERS,
        failed(rows=[0, 3], detail="2 of 5 rows have a outside 3 .. 7"),
    ),
    Case(
        "are_between",
        "neither end lies inside",
        {"columns": ["a"], "min_value": 3, "max_value": 10, "min_inclusive": False, "max_inclusive": False},
        NUMBERS,
        failed(rows=[0, 1, 3], detail="a outside 3 (excluded) .. 10 (excluded)"),
    ),
    Case("are_between", "a lower bound alone", {"columns": ["a", "b"], "min_value": 4}, TWO, failed(rows=[0, 5])),
    Case("are_between", "an upper bound alone", {"columns": ["a", "b"], "max_value": 9}, TWO, failed(rows=[4])),
    Case("are_between", "NaN is above every number", {"columns": ["x"], "min_value": 0, "max_value": 1}, FLOATS, failed(rows=[0, 1, 4])),
    Case("are_between", "NaN is below no number", {"columns": ["x"], "min_value": 0}, FLOATS, passed()),
    Case("are_between", "a decimal on its bound", {"columns": ["p"], "max_value": Decimal("0.1")}, DECIMALS, failed(rows=[1])),
    Case("are_between", "another column", {"columns": ["a"], "max_value": {"column": "b"}}, TWO, passed()),
    Case(
        "are_between",
        "text as days, and what is none",
        {"columns": ["s"], "min_value": dt.date(2024, 1, 1), "read_as": "date"},
        TEXTS,
        failed(rows=[1, 2]),
    ),
    Case(
        "are_between",
        "instants as days",
        {"columns": ["t"], "max_value": dt.date(2024, 2, 29), "read_as": "date"},
        INSTANTS,
        failed(rows=[2]),
    ),
    Case(
        "are_between",
        "text as instants",
        {"columns": ["s"], "max_value": dt.datetime(2024, 1, 1), "read_as": "timestamp"},
        TEXTS,
        failed(rows=[0, 2]),
    ),
    Case(
        "are_between",
        "instants",
        {"columns": ["t"], "min_value": dt.datetime(2024, 2, 29, 12), "min_inclusive": False},
        INSTANTS,
        failed(rows=[0, 1]),
    ),
    Case("are_between", "the filter's rows alone", {"columns": ["a"], "min_value": 5, "filter": "b = 3"}, TWO, failed(rows=[5])),
    Case("are_between", "no rows", {"columns": ["a"], "min_value": 5}, ({"a": pa.int64()}, []), passed()),
    Case(
        "are_between", "no bound", {"columns": ["a"]}, NUMBERS, refused("DECLARED_CHECK_INVALID", "states neither min_value nor max_value")
    ),
    Case(
        "has_length",
        "code points are counted",
        {"column": "s", "min_length": 2},
        WORDS,
        failed(rows=[3], detail="s shorter than 2 characters"),
    ),
    Case("has_length", "at most", {"column": "s", "max_length": 3}, WORDS, failed(rows=[2], detail="s longer than 3 characters")),
    Case("has_length", "between", {"column": "s", "min_length": 3, "max_length": 3}, WORDS, failed(rows=[0, 2, 3, 6])),
    Case("has_length", "a number is judged as it is written", {"column": "a", "max_length": 1}, NUMBERS, failed(rows=[3])),
    Case("has_length", "the filter's rows alone", {"column": "s", "max_length": 1, "filter": "s = 'ab'"}, WORDS, failed(rows=[0])),
    Case("has_length", "NULL passes", {"column": "s", "min_length": 1}, ({"s": pa.string()}, [None]), passed()),
    Case("has_length", "no rows", {"column": "s", "min_length": 1}, ({"s": pa.string()}, []), passed()),
    Case("has_length", "no bound", {"column": "s"}, WORDS, refused("DECLARED_CHECK_INVALID", "states neither min_length nor max_length")),
    Case(
        "has_length",
        "reversed",
        {"column": "s", "min_length": 5, "max_length": 2},
        WORDS,
        refused("DECLARED_CHECK_INVALID", "no text has such a length"),
    ),
]

test_cases = run_cases(CASES)
