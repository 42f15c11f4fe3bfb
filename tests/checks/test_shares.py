"""Kinds about the table as a whole: what is there, and what is distinct."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from tests.checks.cases import Case, failed, passed, refused, run_cases

ONE = {"a": pa.int64()}
SOME = (ONE, [1, 1, 2, 3, None])
TWO = ({"a": pa.int64(), "b": pa.string()}, [(1, "x"), (1, "x"), (None, "y"), (None, "y"), (2, "x")])
EMPTY = (ONE, [])

CASES = [
    Case("are_complete", "values pass", {"columns": ["b"]}, TWO, passed(detail="b hold no NULL in 5 rows")),
    Case(
        "are_complete",
        "a NULL condemns the table",
        {"columns": ["a", "b"]},
        TWO,
        failed(detail="5 rows hold NULLs where none is allowed: 2 in a", observed={"nulls_a": 2}),
    ),
    Case("are_complete", "the filter's rows alone", {"columns": ["a"], "filter": "b = 'x'"}, TWO, passed(detail="3 rows where b = 'x'")),
    Case("are_complete", "no rows", {"columns": ["a"]}, EMPTY, passed()),
    Case(
        "has_completeness",
        "just enough",
        {"column": "a", "min_ratio": Decimal("0.8")},
        SOME,
        passed(detail="a ratio of 0.8, at or above the smallest allowed of 0.8"),
    ),
    Case(
        "has_completeness",
        "NULL counts against it",
        {"column": "a", "min_ratio": Decimal("0.81")},
        SOME,
        failed(detail="4 of 5 rows hold an a"),
    ),
    Case("has_completeness", "the filter's rows alone", {"column": "a", "min_ratio": 1, "filter": "b = 'x'"}, TWO, passed()),
    Case("has_completeness", "no rows are complete", {"column": "a", "min_ratio": 1}, EMPTY, passed()),
    Case("has_completeness", "a ratio above one", {"column": "a", "min_ratio": Decimal("1.5")}, SOME, refused("RECIPE_DOCUMENT_INVALID")),
    Case(
        "has_distinct_ratio", "of the values alone", {"column": "a", "min_ratio": Decimal("0.75")}, SOME, passed(observed={"ratio": 0.75})
    ),
    Case("has_distinct_ratio", "below", {"column": "a", "min_ratio": 1}, SOME, failed(detail="3 of 4 values of a are distinct")),
    Case("has_distinct_ratio", "the filter's rows alone", {"column": "a", "min_ratio": 1, "filter": "a > 1"}, SOME, passed()),
    Case("has_distinct_ratio", "NULL alone has a ratio of 0", {"column": "a", "min_ratio": Decimal("0.1")}, (ONE, [None]), failed()),
    Case("has_distinct_ratio", "no rows", {"column": "a", "min_ratio": 0}, EMPTY, passed()),
    Case("has_unique_ratio", "of all rows", {"column": "a", "min_ratio": Decimal("0.6")}, SOME, passed(observed={"ratio": 0.6})),
    Case("has_unique_ratio", "NULL counts as a row", {"column": "a", "min_ratio": Decimal("0.75")}, SOME, failed()),
    Case("has_unique_ratio", "the filter's rows alone", {"column": "a", "min_ratio": 1, "filter": "a > 1"}, SOME, passed()),
    Case("has_unique_ratio", "no rows have a ratio of 0", {"column": "a", "min_ratio": Decimal("0.1")}, EMPTY, failed()),
    Case("has_unique_rows", "all columns", {}, (ONE, [1, 2, None]), passed(detail="3 rows differ in all columns")),
    Case(
        "has_unique_rows",
        "NULLs are equal",
        {},
        TWO,
        failed(detail="4 of 5 rows are alike in all columns, in 2 groups", observed={"duplicate_row_groups": 2}),
    ),
    Case("has_unique_rows", "some columns", {"columns": ["b"]}, TWO, failed(observed={"duplicate_row_groups": 2})),
    Case("has_unique_rows", "the filter's rows alone", {"columns": ["a"], "filter": "a > 1"}, TWO, passed()),
    Case("has_unique_rows", "no rows", {}, EMPTY, passed()),
]

test_cases = run_cases(CASES)
