"""Kinds that assert what their user writes in SQL."""

from __future__ import annotations

import pyarrow as pa

from tests.checks.cases import Case, failed, passed, refused, run_cases, tolerated

PAIR = {"a": pa.int64(), "b": pa.int64()}
PAIRS = (PAIR, [(1, 2), (2, 1), (None, 1), (1, None), (1, 1)])
TEXT = ({"s": pa.string()}, ["abc", "abd", None, ""])

CASES = [
    Case("sql_expression", "false breaks it, unknown does not", {"expression": "a < b"}, PAIRS,
         failed(rows=[1, 4], detail="have 'a < b' false")),
    Case("sql_expression", "true in every row", {"expression": "a = a"}, PAIRS, passed()),
    Case("sql_expression", "negated", {"expression": "a < b", "negate": True}, PAIRS, failed(rows=[0], detail="have 'a < b' true")),
    Case("sql_expression", "a test of NULL has two values", {"expression": "a is not null and b is not null"}, PAIRS, failed(rows=[2, 3])),
    Case("sql_expression", "a disjunction is negated whole", {"expression": "a > 1 or b > 1"}, PAIRS, failed(rows=[4])),
    Case("sql_expression", "a pattern", {"expression": "regexp_matches(s, '^[a-c]+$')"}, TEXT, failed(rows=[1, 3])),
    Case("sql_expression", "the filter's rows alone", {"expression": "a < b", "filter": "a > 1"}, PAIRS, failed(rows=[1])),
    Case("sql_expression", "tolerated", {"expression": "a < b", "max_failed_ppm": 400_000}, PAIRS, tolerated(rows=[1, 4])),
    Case("sql_expression", "columns are what is shown", {"expression": "a < b", "columns": ["b"]}, PAIRS, failed(rows=[1, 4])),
    Case("sql_expression", "no rows", {"expression": "a < b"}, (PAIR, []), passed()),
    Case("sql_expression", "NULL", {"expression": "null"}, PAIRS, passed()),
    Case("sql_expression", "now is the evaluation's", {"expression": "current_date = date '2026-03-01'"}, PAIRS, passed()),
    Case("sql_expression", "no condition", {"expression": "a"}, PAIRS,
         refused("DECLARED_CHECK_INVALID",
                 "check THE_CHECK states the condition 'a', which is of the type int64; state one that is true or false")),
    Case("sql_expression", "an unknown column", {"expression": "nope > 1"}, PAIRS, refused("DECLARED_CHECK_COLUMN_UNKNOWN")),
    Case("sql_expression", "an unknown column to show", {"expression": "a > 1", "columns": ["nope"]}, PAIRS,
         refused("DECLARED_CHECK_COLUMN_UNKNOWN")),
    Case("sql_expression", "text that is no expression", {"expression": "a +"}, PAIRS, refused("DECLARED_CHECK_INVALID")),
    Case("sql_expression", "a file", {"expression": "a = (select count(*) from 'x.parquet')"}, PAIRS, refused("DECLARED_CHECK_INVALID")),
    Case("sql_expression", "types that do not fit", {"expression": "a + s > 1"}, ({"a": pa.list_(pa.int64()), "s": pa.string()}, []),
         refused("DECLARED_CHECK_INVALID", "does not fit the types")),
]  # fmt: skip

test_cases = run_cases(CASES)
