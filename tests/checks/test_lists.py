"""Kinds that compare the values of a column with a list, or with a distribution."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as D

import pyarrow as pa

from tests.checks.cases import Case, failed, passed, refused, run_cases

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
LISTS = ({"a": pa.list_(pa.int64())}, [([1, 2],), ([2, 1],), (None,), ([],), ([1, None],)])
WORDS = ({"a": pa.list_(pa.string())}, [(["A", "b"],), (["a"],), (None,)])
LETTERS = (TEXT, ["a", "a", "a", "b", None])

MEMBERSHIP = [
    Case("is_in_list", "exactly", {"column": "s", "allowed": ["red", "green"]}, COLORS,
         failed(rows=[1, 2, 3, 4], detail="4 of 6 rows have s not among red, green")),
    Case("is_in_list", "all are", {"column": "s", "allowed": ["red"]}, (TEXT, ["red", None]), passed()),
    Case("is_in_list", "in any case", {"column": "s", "allowed": ["Red"], "case_sensitive": False}, COLORS, failed(rows=[2, 3, 4])),
    Case("is_in_list", "numbers are exact", {"column": "p", "allowed": [1.1, D("1.110"), 5]}, PRICES, failed(rows=[2])),
    Case("is_in_list", "integers and fractions", {"column": "i", "allowed": [10, D("9.5"), "11", -10, 0]}, INTS, failed(rows=[2])),
    Case("is_in_list", "NaN", {"column": "x", "allowed": ["NaN", 0]}, FLOATS, failed(rows=[1, 2, 5])),
    Case("is_in_list", "text as numbers", {"column": "s", "allowed": [1, 2]}, (TEXT, ["1", "01", "4", "x", None]), failed(rows=[2, 3])),
    Case("is_in_list", "a NULL entry", {"column": "s", "allowed": ["red", None]}, COLORS, passed()),
    Case("is_in_list", "a NULL expression",
         {"column": "d", "allowed": [{"expression": "null"}]}, ({"d": pa.date32()}, [dt.date(2024, 1, 1)]),
         passed()),
    Case("is_in_list", "another column", {"column": "a", "allowed": [{"column": "b"}]}, PAIRS, failed(rows=[0, 1])),
    Case("is_in_list", "dates and timestamps", {"column": "t", "allowed": [dt.date(2024, 1, 1), "2024-01-02T12:00:00"]},
         ({"t": pa.timestamp("us")}, [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2, 12), dt.datetime(2024, 1, 3)]), failed(rows=[2])),
    Case("is_in_list", "true", {"column": "b", "allowed": [True]}, ({"b": pa.bool_()}, [True, False, None]), failed(rows=[1])),
    Case("is_in_list", "lists", {"column": "a", "allowed": [[1, 2], []]}, LISTS, failed(rows=[1, 4], detail="a not among [1, 2], []")),
    Case("is_in_list", "a list that holds NULL", {"column": "a", "allowed": [[1, None]]}, LISTS, failed(rows=[0, 1, 3])),
    Case("is_in_list", "lists in any case", {"column": "a", "allowed": [["a", "B"]], "case_sensitive": False}, WORDS, failed(rows=[1])),
    Case("is_in_list", "a list beside values", {"column": "i", "allowed": [[1]]}, INTS, refused("DECLARED_CHECK_INVALID", "lists a list")),
    Case("is_in_list", "no entry", {"column": "s", "allowed": []}, COLORS, refused("RECIPE_DOCUMENT_INVALID")),
    Case("is_in_list", "no list", {"column": "s", "allowed": "red"}, COLORS, refused("RECIPE_DOCUMENT_INVALID")),
    Case("is_in_list", "many entries", {"column": "i", "allowed": list(range(5000))}, INTS,
         failed(rows=[4], detail="among 0, 1, 2, 3, 4 and 4995 more")),
    Case("is_in_list", "the filter's rows alone", {"column": "i", "allowed": [10], "filter": "i > 9"}, INTS, failed(rows=[1])),
    Case("is_in_list", "no rows", {"column": "s", "allowed": ["red"]}, (TEXT, []), passed()),
    Case("is_not_null_and_is_in_list", "NULL breaks it", {"column": "s", "allowed": ["red"]}, COLORS,
         failed(rows=[1, 2, 3, 4, 5], detail="have no s, or one not among red")),
    Case("is_not_null_and_is_in_list", "all are", {"column": "s", "allowed": ["red"]}, (TEXT, ["red"]), passed()),
    Case("is_not_null_and_is_in_list", "a NULL entry", {"column": "s", "allowed": ["red", None]}, COLORS, failed(rows=[5])),
    Case("is_not_null_and_is_in_list", "in any case", {"column": "s", "allowed": ["red"], "case_sensitive": False}, COLORS,
         failed(rows=[2, 3, 4, 5])),
    Case("is_not_null_and_is_in_list", "no rows", {"column": "s", "allowed": ["red"]}, (TEXT, []), passed()),
    Case("is_not_null_and_is_in_list", "the filter's rows alone", {"column": "s", "allowed": ["red"], "filter": "s IS NULL OR s = 'red'"}, COLORS,
         failed(rows=[5])),
    Case("is_not_in_list", "exactly", {"column": "s", "forbidden": ["red", "green"]}, COLORS,
         failed(rows=[0], detail="have s among red, green")),
    Case("is_not_in_list", "in any case", {"column": "s", "forbidden": ["red"], "case_sensitive": False}, COLORS, failed(rows=[0, 1])),
    Case("is_not_in_list", "a NULL entry", {"column": "s", "forbidden": ["red", None]}, COLORS, failed(rows=[0])),
    Case("is_not_in_list", "NULL is not judged", {"column": "s", "forbidden": ["x"]}, COLORS, passed()),
    Case("is_not_in_list", "lists", {"column": "a", "forbidden": [[1, 2]]}, LISTS, failed(rows=[0])),
    Case("is_not_in_list", "no entry", {"column": "s", "forbidden": []}, COLORS, refused("RECIPE_DOCUMENT_INVALID")),
    Case("is_not_in_list", "no rows", {"column": "s", "forbidden": ["red"]}, (TEXT, []), passed()),
    Case("is_not_in_list", "the filter's rows alone", {"column": "s", "forbidden": ["red", "blue"], "filter": "s <> 'blue'"}, COLORS, failed(rows=[0])),
]  # fmt: skip

DISTRIBUTION = [
    Case("is_in_distribution", "on the limit",
         {"column": "s", "distribution": {"a": D("0.5"), "b": D("0.5")}, "distance": D("0.25")}, LETTERS,
         passed(detail="column s is 0.25 away from its declared distribution over 4 values, at or below the 0.25 that is allowed",
                observed={"distance": 0.25, "values": 4})),
    Case("is_in_distribution", "too far", {"column": "s", "distribution": {"a": D("0.5"), "b": D("0.5")}, "distance": D("0.2")}, LETTERS,
         failed(detail="above the 0.2 that is allowed; 'a' has a share of 0.75 where 0.5 is declared")),
    Case("is_in_distribution", "the rest", {"column": "s", "distribution": {"a": D("0.5")}, "distance": D("0.25")}, LETTERS, passed()),
    Case("is_in_distribution", "values that are not declared", {"column": "s", "distribution": {"a": 1}, "distance": D("0.2")}, LETTERS,
         failed()),
    Case("is_in_distribution", "in any case",
         {"column": "s", "distribution": {"A": D("0.75"), "b": D("0.25")}, "distance": 0, "case_sensitive": False},
         LETTERS, passed()),
    Case("is_in_distribution", "in their own case",
         {"column": "s", "distribution": {"A": D("0.75"), "b": D("0.25")}, "distance": 0}, LETTERS,
         failed()),
    Case("is_in_distribution", "integers", {"column": "i", "distribution": {"10": D("0.2"), "11": D("0.2")}, "distance": 0}, INTS,
         passed()),
    Case("is_in_distribution", "NULLs alone", {"column": "s", "distribution": {"a": 1}, "distance": 0}, (TEXT, [None]),
         passed(detail="column s holds no value in 1 rows", observed={"values": 0})),
    Case("is_in_distribution", "no rows", {"column": "s", "distribution": {"a": 1}, "distance": 0}, (TEXT, []), passed()),
    Case("is_in_distribution", "the filter's rows alone",
         {"column": "s", "distribution": {"a": 1}, "distance": 0, "filter": "s = 'a'"}, LETTERS,
         passed()),
    Case("is_in_distribution", "condemns what it judged",
         {"column": "s", "distribution": {"a": 1}, "distance": 0, "filter": "s = 'b'"}, LETTERS,
         failed(rows=[3])),
    Case("is_in_distribution", "floats", {"column": "x", "distribution": {"0": 1}, "distance": 0}, FLOATS,
         refused("DECLARED_CHECK_INVALID", "counts the values of x, which are floats; round them in an expression")),
    Case("is_in_distribution", "shares above 1", {"column": "s", "distribution": {"a": 1, "b": D("0.5")}, "distance": 0}, LETTERS,
         refused("DECLARED_CHECK_INVALID", "sums up to 1.5; state shares that sum up to 1 or less")),
    Case("is_in_distribution", "a share below 0", {"column": "s", "distribution": {"a": -1}, "distance": 0}, LETTERS,
         refused("DECLARED_CHECK_INVALID")),
    Case("is_in_distribution", "no share", {"column": "s", "distribution": {}, "distance": 0}, LETTERS, refused("RECIPE_DOCUMENT_INVALID")),
    Case("is_in_distribution", "a distance above 1", {"column": "s", "distribution": {"a": 1}, "distance": 2}, LETTERS,
         refused("RECIPE_DOCUMENT_INVALID")),
    Case("is_in_distribution", "a value twice",
         {"column": "s", "distribution": {"a": D("0.5"), "A": D("0.5")}, "distance": 0, "case_sensitive": False},
         LETTERS, refused("DECLARED_CHECK_INVALID", "states a value twice")),
]  # fmt: skip

test_lists = run_cases(MEMBERSHIP)
test_distributions = run_cases(DISTRIBUTION)
