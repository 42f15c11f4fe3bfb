"""Kinds about keys."""

from __future__ import annotations

import pyarrow as pa

from tests.checks.cases import Case, failed, passed, refused, run_cases, tolerated

PAIR = {"a": pa.int64(), "b": pa.int64()}
TEXT = {"s": pa.string()}
STRUCT = pa.struct([("a", pa.int64())])
PAIRS = (PAIR, [(1, 1), (1, 1), (1, None), (1, None), (None, None), (None, None), (2, 1)])

CASES = [
    Case("is_unique", "distinct keys", {"columns": ["s"]}, (TEXT, ["a", "A", "a ", " a"]), passed(detail="none of 4 rows")),
    Case("is_unique", "every row of a repeated key is bad", {"columns": ["s"]}, (TEXT, ["a", "b", "a", "a"]),
         failed(rows=[0, 2, 3], detail="3 of 4 rows have a key (s) that another row has too", observed={"bad_groups": 1})),
    Case("is_unique", "a NULL part is distinct", {"columns": ["a", "b"]}, PAIRS, failed(rows=[0, 1])),
    Case("is_unique", "NULLs are equal where they are not distinct", {"columns": ["a", "b"], "nulls_distinct": False}, PAIRS,
         failed(rows=[0, 1, 2, 3, 4, 5])),
    Case("is_unique", "NaN repeats, zeros are one", {"columns": ["x"]}, ({"x": pa.float64()}, [float("nan"), float("nan"), 0.0, -0.0, 1.0]),
         failed(rows=[0, 1, 2, 3])),
    Case("is_unique", "a struct of NULLs is no NULL", {"columns": ["st"]},
         ({"st": STRUCT}, [({"a": 1},), ({"a": 1},), ({"a": None},), ({"a": None},), (None,), (None,)]), failed(rows=[0, 1, 2, 3])),
    Case("is_unique", "a list is a key", {"columns": ["l"]}, ({"l": pa.list_(pa.int64())}, [([1, None],), ([None, 1],), ([1],), ([1],)]),
         failed(rows=[2, 3])),
    Case("is_unique", "trimmed of spaces alone", {"columns": ["s"], "trim_strings": True}, (TEXT, ["a", "a ", " a", "a\t"]), failed(rows=[0, 1, 2])),
    Case("is_unique", "only the filter's rows repeat", {"columns": ["a"], "filter": "b > 0"}, (PAIR, [(1, 0), (1, 1), (1, 2), (2, 3)]),
         failed(rows=[1, 2], detail="2 of 3 rows where b > 0")),
    Case("is_unique", "an expression", {"columns": [{"expression": "upper(s)"}]}, (TEXT, ["a", "A", "b"]), failed(rows=[0, 1])),
    Case("is_unique", "columns called like the product's own", {"columns": ["k0"], "filter": "bad > 0"},
         ({"k0": pa.int64(), "bad": pa.int64(), "n": pa.int64()}, [(1, 1, 1), (1, 1, 2), (2, 0, 2)]), failed(rows=[0, 1])),
    Case("is_unique", "tolerated", {"columns": ["s"], "max_failed_rows": 2}, (TEXT, ["a", "a", "b"]), tolerated(rows=[0, 1])),
    Case("is_unique", "no rows", {"columns": ["s"]}, (TEXT, []), passed()),
    Case("is_unique", "no columns", {"columns": []}, (TEXT, []), refused("RECIPE_DOCUMENT_INVALID")),
]  # fmt: skip

test_cases = run_cases(CASES)
