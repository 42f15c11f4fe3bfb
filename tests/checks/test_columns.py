"""Kinds about which columns are stored, and of which types."""

from __future__ import annotations

import pyarrow as pa

from tests.checks.cases import Case, failed, passed, refused, run_cases

COLUMNS = {"a": pa.int32(), "t": pa.timestamp("ns", "UTC"), "p": pa.decimal128(10, 2), "l": pa.list_(pa.int64()), "s": pa.large_string()}
ROWS = (COLUMNS, [(1, None, None, [1], "x"), (None, None, None, None, None)])
NONE = (COLUMNS, [])

CASES = [
    Case("has_columns", "stored", {"names": ["a", "s"]}, ROWS, passed(detail="the table holds all 2 columns")),
    Case(
        "has_columns",
        "missing, for a name is exact",
        {"names": ["a", "A", "c"]},
        ROWS,
        failed(detail="the table lacks 'A', 'c' of 3 columns"),
    ),
    Case("has_columns", "NULLs do not matter", {"names": ["t"]}, ROWS, passed()),
    Case("has_columns", "no rows are judged like others", {"names": ["zz"]}, NONE, failed()),
    Case("has_columns", "the filter says which rows are condemned", {"names": ["zz"], "filter": "a = 1"}, ROWS, failed(rows=[0])),
    Case(
        "has_column_types",
        "types in words",
        {"types": {"a": "int", "t": "timestamp with time zone", "p": "decimal(10,2)", "l": "list<int64>", "s": "varchar"}},
        ROWS,
        passed(),
    ),
    Case("has_column_types", "families of types", {"types": {"p": "decimal", "l": "array"}}, ROWS, passed()),
    Case("has_column_types", "one of several", {"types": {"a": ["bigint", "int"]}}, ROWS, passed()),
    Case(
        "has_column_types",
        "another type",
        {"types": {"a": "bigint"}},
        ROWS,
        failed(detail="'a' is of the type integer, where bigint is expected"),
    ),
    Case("has_column_types", "a zone is part of the type", {"types": {"t": "timestamp"}}, ROWS, failed()),
    Case(
        "has_column_types",
        "missing and extra",
        {"types": {"a": "int", "b": "int"}, "extra": "forbid"},
        ROWS,
        failed(detail="the table lacks 'b'; the table also holds 't', 'p', 'l', 's'"),
    ),
    Case("has_column_types", "NULLs do not matter", {"types": {"a": "int"}}, ROWS, passed()),
    Case("has_column_types", "no rows are judged like others", {"types": {"a": "int"}}, NONE, passed()),
    Case(
        "has_column_types", "the filter says which rows are condemned", {"types": {"a": "date"}, "filter": "a = 1"}, ROWS, failed(rows=[0])
    ),
    Case("has_column_types", "an unknown type", {"types": {"a": "integr"}}, ROWS, refused("DECLARED_CHECK_INVALID", "'integr'")),
]

test_cases = run_cases(CASES)
