"""SparkDQ's documents as recipes: every check, severities, refusals with their places, and what they find."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster import RecipeRefused, annotate, load_recipe
from dq_dagster.documents.sparkdq import CHECKS

DAY = {"columns": ["d"], "read_as": "date"}
NATIVE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("null-check", {"columns": ["a"]}, {"kind": "is_not_null", "column": "a"}),
    ("null-check", {"columns": ["a", "b"]}, {"kind": "are_not_null", "columns": ["a", "b"]}),
    ("not-null-check", {"columns": ["a"]}, {"kind": "are_null", "columns": ["a"]}),
    ("exactly-one-not-null-check", {"columns": ["a", "b"]}, {"kind": "exactly_one_not_null", "columns": ["a", "b"]}),
    (
        "numeric-min-check",
        {"columns": ["a"], "min-value": 3},
        {"kind": "are_between", "columns": ["a"], "min_value": 3, "min_inclusive": False},
    ),
    (
        "numeric-max-check",
        {"columns": ["a"], "max_value": Decimal("3.5"), "inclusive": True},
        {"kind": "are_between", "columns": ["a"], "max_value": Decimal("3.5")},
    ),
    (
        "numeric-between-check",
        {"columns": ["a"], "min-value": 1, "max-value": 2, "inclusive": [True, False]},
        {"kind": "are_between", "columns": ["a"], "min_value": 1, "max_value": 2, "max_inclusive": False},
    ),
    (
        "date-min-check",
        {"columns": ["d"], "min-value": "2024-02-29"},
        {"kind": "are_between", "min_value": dt.date(2024, 2, 29), "min_inclusive": False, **DAY},
    ),
    (
        "date-max-check",
        {"columns": ["d"], "max-value": "2024-2-9"},
        {"kind": "are_between", "max_value": dt.date(2024, 2, 9), "max_inclusive": False, **DAY},
    ),
    (
        "date-between-check",
        {"columns": ["d"], "min-value": "2024-01-01", "max-value": "2024-12-31", "inclusive": [True, True]},
        {"kind": "are_between", "min_value": dt.date(2024, 1, 1), "max_value": dt.date(2024, 12, 31), **DAY},
    ),
    (
        "timestamp-min-check",
        {"columns": ["t"], "min-value": "2024-02-29 12:00:00", "inclusive": True},
        {"kind": "are_between", "columns": ["t"], "min_value": dt.datetime(2024, 2, 29, 12), "read_as": "timestamp"},
    ),
    (
        "timestamp-max-check",
        {"columns": ["t"], "max-value": "2024-02-29", "inclusive": True},
        {"kind": "are_between", "columns": ["t"], "max_value": dt.datetime(2024, 2, 29), "read_as": "timestamp"},
    ),
    (
        "timestamp-between-check",
        {"columns": ["t"], "min-value": "2024-01-01T00:00:00Z", "max-value": "2024-01-02", "inclusive": [True, True]},
        {
            "kind": "are_between",
            "columns": ["t"],
            "min_value": dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc),
            "max_value": dt.datetime(2024, 1, 2),
            "read_as": "timestamp",
        },
    ),
    ("string-min-length-check", {"column": "s", "min-length": 3}, {"kind": "has_length", "column": "s", "min_length": 3}),
    (
        "string-max-length-check",
        {"column": "s", "max-length": 3, "inclusive": False},
        {"kind": "has_length", "column": "s", "max_length": 2},
    ),
    (
        "string-length-between-check",
        {"column": "s", "min-length": 2, "max-length": 4, "inclusive": [False, True]},
        {"kind": "has_length", "column": "s", "min_length": 3, "max_length": 4},
    ),
    (
        "string-length-between-check",
        {"column": "s", "min-length": 2, "max-length": 2, "inclusive": [False, True]},
        {"kind": "are_null", "columns": ["s"]},
    ),
    (
        "regex-match-check",
        {"column": "s", "pattern": "abc", "ignore-case": True},
        {"kind": "regex_match", "column": "s", "regex": "abc", "ignore_case": True},
    ),
    (
        "is-contained-in-check",
        {"allowed-values": {"s": ["A", None]}},
        {"kind": "is_in_list", "column": "s", "allowed": ["A"]},
    ),
    (
        "is-contained-in-check",
        {"allowed-values": {"a": [1], "s": ["A"]}},
        {"kind": "any_is_in_list", "values": {"a": [1], "s": ["A"]}},
    ),
    ("is-not-contained-in-check", {"forbidden-values": {"a": [1]}}, {"kind": "is_not_in_list", "column": "a", "forbidden": [1]}),
    ("column-less-than-check", {"column": "a", "limit": "b"}, {"kind": "is_less_than", "column": "a", "limit": {"column": "b"}}),
    (
        "column-greater-than-check",
        {"column": "a", "limit": "b * 2", "inclusive": True},
        {"kind": "is_greater_than", "column": "a", "limit": {"expression": "b * 2"}, "inclusive": True},
    ),
    ("row-count-min-check", {"min-count": 6}, {"kind": "has_row_count", "min_count": 6}),
    ("row-count-max-check", {"max-count": 6}, {"kind": "has_row_count", "max_count": 6}),
    ("row-count-exact-check", {"expected-count": 0}, {"kind": "has_row_count", "min_count": 0, "max_count": 0}),
    ("row-count-between-check", {"min-count": 0, "max-count": 3}, {"kind": "has_row_count", "min_count": 0, "max_count": 3}),
    ("columns-are-complete-check", {"columns": ["a"]}, {"kind": "are_complete", "columns": ["a"]}),
    ("completeness-ratio-check", {"column": "a", "min-ratio": 1}, {"kind": "has_completeness", "column": "a", "min_ratio": 1}),
    (
        "distinct-ratio-check",
        {"column": "a", "min-ratio": Decimal("0.5")},
        {"kind": "has_distinct_ratio", "column": "a", "min_ratio": Decimal("0.5")},
    ),
    ("unique-ratio-check", {"column": "a", "min-ratio": 0}, {"kind": "has_unique_ratio", "column": "a", "min_ratio": 0}),
    ("unique-rows-check", {}, {"kind": "has_unique_rows"}),
    ("unique-rows-check", {"subset-columns": ["a"]}, {"kind": "has_unique_rows", "columns": ["a"]}),
    ("column-presence-check", {"required-columns": ["a", "A"]}, {"kind": "has_columns", "names": ["a", "A"]}),
    (
        "schema-check",
        {"expected-schema": {"a": "int", "t": "timestamp", "p": "decimal(10,2)"}},
        {"kind": "has_column_types", "types": {"a": "integer", "t": "timestamp with time zone", "p": "decimal(10,2)"}, "extra": "forbid"},
    ),
    (
        "foreign-key-check",
        {"column": "a", "reference-dataset": "ref", "reference-column": "k"},
        {"kind": "has_only_known_keys", "columns": ["a"], "reference": "ref", "ref_columns": ["k"]},
    ),
    (
        "freshness-check",
        {"column": "t", "interval": 1, "period": "hour"},
        {"kind": "is_newest_within", "column": "t", "interval": 1, "period": "hour"},
    ),
]


def entry(check: str, **parameters: Any) -> dict[str, Any]:
    return {"check": check, "check-id": "x", **parameters}


def refused(document: Any) -> list[tuple[str, str]]:
    with pytest.raises(RecipeRefused) as refusal:
        load_recipe(document, dialect="sparkdq")
    return [(problem.code, problem.pointer) for problem in refusal.value.problems]


@pytest.mark.parametrize(("check", "parameters", "native"), NATIVE, ids=lambda value: value if isinstance(value, str) else "")
def test_a_check_is_one_of_ours(check: str, parameters: dict[str, Any], native: dict[str, Any]) -> None:
    """With its parameters, in kebab-case and in snake_case, and its defaults."""
    (found,) = load_recipe([entry(check, **parameters)], dialect="sparkdq").document()["checks"]
    assert found == {"check_id": "x", "enforcement": "required", **native}


def test_all_33_checks_are_known() -> None:
    """And each is in the table above."""
    assert len(CHECKS) == 33
    assert {check for check, _, _ in NATIVE} == set(CHECKS)


def test_a_null_fails_a_pattern_where_it_is_asked_for() -> None:
    """treat-null-as-failure."""
    (check,) = load_recipe(
        [entry("regex-match-check", column="s", pattern="a", **{"treat-null-as-failure": True})], dialect="sparkdq"
    ).document()["checks"]
    assert check["allow_nulls"] is False


def test_severity_is_enforcement() -> None:
    """Whatever its case; critical is the default."""
    document = [
        {"check": "null-check", "check_id": "Key-There", "columns": ["a"], "severity": "WARNING"},
        {"check": "null-check", "check-id": "other", "columns": ["a"], "colour": 1},
    ]
    checks = load_recipe(document, dialect="sparkdq").document()["checks"]
    assert [(check["check_id"], check["enforcement"], check.get("metadata")) for check in checks] == [
        ("key_there", "advisory", {"name": "Key-There"}),
        ("other", "required", None),
    ]


def test_ids_never_clash() -> None:
    """Two of one id stood for each other's results in SparkDQ."""
    document = [{"check": "null-check", "check-id": "A-b", "columns": ["a"]}, {"check": "null-check", "check-id": "a_b", "columns": ["a"]}]
    assert ("DECLARED_CHECK_DUPLICATE", "/1/check-id") in refused(document)


def test_all_problems_are_told_at_once_with_their_places() -> None:
    """What SparkDQ raises, one after the other."""
    document = [
        3,
        {"check-id": "x"},
        entry("nope-check"),
        {"check": "null-check", "columns": ["a"]},
        entry("null-check", columns="a"),
        entry("null-check", columns=["a"], severity="info"),
        entry("numeric-between-check", columns=["a"], **{"min-value": 3, "max-value": 1}),
        entry("date-between-check", columns=["d"], **{"min-value": "2024-9-01", "max-value": "2024-10-01"}),
        entry("date-min-check", columns=["d"], **{"min-value": "soon"}),
        entry("string-min-length-check", column="s", **{"min-length": 0}),
        entry("is-contained-in-check", **{"allowed-values": {"a": []}}),
        entry("completeness-ratio-check", column="a", **{"min-ratio": Decimal("1.5")}),
        entry("schema-check", **{"expected-schema": {"a": "integr"}}),
        entry("freshness-check", column="t", interval=1, period="decade"),
        entry("column-less-than-check", column="a", limit="b; DROP TABLE t"),
        entry("row-count-between-check", **{"min-count": 7, "max-count": 6}),
    ]
    assert refused(document) == [
        ("RECIPE_DOCUMENT_INVALID", "/0"),
        ("RECIPE_DOCUMENT_INVALID", "/1"),
        ("RECIPE_DOCUMENT_INVALID", "/3"),
        ("RECIPE_DOCUMENT_INVALID", "/4/columns"),
        ("RECIPE_DOCUMENT_INVALID", "/8/min-value"),
        ("RECIPE_DOCUMENT_INVALID", "/10/allowed-values"),
        ("RECIPE_DOCUMENT_INVALID", "/13/period"),
        ("DECLARED_CHECK_INVALID", "/2/check"),
        ("DECLARED_CHECK_INVALID", "/5/severity"),
        ("DECLARED_CHECK_INVALID", "/6/min-value"),
        ("DECLARED_CHECK_INVALID", "/7/min-value"),
        ("DECLARED_CHECK_INVALID", "/9/min-length"),
        ("DECLARED_CHECK_INVALID", "/11/min-ratio"),
        ("DECLARED_CHECK_INVALID", "/12/expected-schema"),
        ("DECLARED_CHECK_INVALID", "/14/limit"),
        ("DECLARED_CHECK_INVALID", "/15/min-count"),
    ]


def test_no_row_is_left_undecided(tmp_path: Path) -> None:
    """A NULL beside a bound is unknown, and unknown passes; a failed aggregate condemns every row."""
    table = pa.table({"a": pa.array([1, None, 5], pa.int64())})
    rows = [entry("numeric-min-check", columns=["a"], **{"min-value": 2})]
    annotate(load_recipe(rows, dialect="sparkdq"), table, tmp_path / "rows.parquet")
    assert pq.read_table(tmp_path / "rows.parquet")["_dq_passed"].to_pylist() == [False, True, True]
    whole = [entry("row-count-min-check", **{"min-count": 9})]
    annotate(load_recipe(whole, dialect="sparkdq"), table, tmp_path / "whole.parquet")
    assert pq.read_table(tmp_path / "whole.parquet")["_dq_passed"].to_pylist() == [False, False, False]
