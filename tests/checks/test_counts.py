"""Kinds about how many rows there are."""

from __future__ import annotations

import pyarrow as pa

from tests.checks.cases import Case, failed, passed, refused, run_cases

N = {"n": pa.int64()}

CASES = [
    Case("has_row_count", "between", {"min_count": 1, "max_count": 3}, (N, [1, None, 3]),
         passed(detail="3 rows were counted, at least 1 and at most 3 as expected", observed={"row_count": 3})),
    Case("has_row_count", "too few", {"min_count": 4}, (N, [1, 2, 3]), failed(detail="3 rows were counted, fewer than 4")),
    Case("has_row_count", "too many", {"max_count": 2}, (N, [1, 2, 3]), failed(detail="3 rows were counted, more than 2")),
    Case("has_row_count", "exactly none", {"min_count": 0, "max_count": 0}, (N, []), passed(observed={"row_count": 0})),
    Case("has_row_count", "no rows", {"min_count": 1}, (N, []), failed(rows=[])),
    Case("has_row_count", "the filter's rows alone", {"min_count": 2, "filter": "n > 1"}, (N, [1, 2, None]),
         failed(rows=[1], detail="1 rows where n > 1 were counted, fewer than 2")),
    Case("has_row_count", "no bound", {}, (N, []), refused("DECLARED_CHECK_INVALID", "states neither min_count nor max_count")),
    Case("has_row_count", "crossed bounds", {"min_count": 2, "max_count": 1}, (N, []), refused("DECLARED_CHECK_INVALID", "no row count lies between")),
    Case("has_row_count", "quarantine", {"min_count": 2, "enforcement": "quarantine"}, (N, []),
         refused("DECLARED_CHECK_INVALID", "cannot tell which rows to quarantine"), recipe={"quarantine": {"to": "bad"}}),
]  # fmt: skip

test_cases = run_cases(CASES)
