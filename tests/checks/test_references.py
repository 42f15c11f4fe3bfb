"""Kinds that compare with another table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dq_dagster import annotate, load_recipe
from tests.checks.cases import Case, Expected, Rows, failed, not_evaluated, passed, refused, run_cases, tolerated

NAN = float("nan")
INT, S = {"i": pa.int32()}, {"s": pa.string()}
REF: Mapping[str, Rows] = {"r": ({"k": pa.int32(), "g": pa.string()}, [(1, "x"), (2, "y"), (2, "y"), (None, "z")])}
NUMBERS = (INT, [1, 2, 3, None])
PAIRS = ({"i": pa.int32(), "s": pa.string()}, [(1, "x"), (1, "y"), (None, "z"), (1, None), (None, None), (2, "y")])
KVX = {"k": pa.int32(), "v": pa.string(), "x": pa.float64()}
SIX = (KVX, [(1, "a", 1.0), (2, "b", 2.0), (3, "c", 3.0), (None, "n", 0.0), (4, None, 4.0), (5, None, None)])
OTHER = {
    "r": (
        {**KVX, "extra": pa.int32()},
        [(1, "a", 1.0, 0), (2, "B", 2.0, 0), (None, "n", 0.0, 0), (4, None, 4.05, 0), (5, "e", None, 0), (9, "z", 9.0, 0)],
    )
}


def key(title: str, check: Mapping[str, object], expected: Expected, rows: Rows = NUMBERS, there: Mapping[str, Rows] = REF) -> Case:
    """A case of foreign_key with column i against the reference's k, unless said otherwise."""
    return Case("foreign_key", title, {"columns": ["i"], "ref_columns": ["k"], "reference": "r", **check}, rows, expected, references=there)


def alike(title: str, check: Mapping[str, object], expected: Expected, rows: Rows = SIX, there: Mapping[str, Rows] = OTHER) -> Case:
    """A case of compare_datasets by the key k, unless said otherwise."""
    return Case(
        "compare_datasets", title, {"columns": ["k"], "ref_columns": ["k"], "reference": "r", **check}, rows, expected, references=there
    )


BOTH: Mapping[str, object] = {"columns": ["i", "s"], "ref_columns": ["k", "g"]}
KEYS = [
    key("known keys", {}, passed(detail="none of 2 rows have a (i) that the reference r lacks"), (INT, [1, 2])),
    key("an unknown key; NULL is not judged", {}, failed(rows=[2], detail="1 of 4 rows have a (i) that the reference r lacks")),
    key("NULL matches NULL", {"null_safe": True}, failed(rows=[2])),
    key("NULL without a NULL there", {"null_safe": True}, failed(rows=[2, 3]), there={"r": ({"k": pa.int32()}, [1, 2])}),
    key("negated", {"negate": True}, failed(rows=[0, 1], detail="that the reference r holds")),
    key("negated, NULL matches NULL", {"negate": True, "null_safe": True}, failed(rows=[0, 1, 3])),
    key("two parts", BOTH, failed(rows=[1]), PAIRS),
    key("two parts, NULL matches NULL", {**BOTH, "null_safe": True}, failed(rows=[1, 3, 4]), PAIRS),
    key("two parts, negated", {**BOTH, "negate": True}, failed(rows=[0, 5]), PAIRS),
    key("the filter's rows alone", {"filter": "i > 1"}, failed(rows=[2], detail="1 of 2 rows where i > 1")),
    key("numbers of other types", {"columns": ["p"]}, failed(rows=[1]), ({"p": pa.decimal128(10, 2)}, [Decimal(1), Decimal("1.50")])),
    key("text meets the text of a number", {"columns": ["s"]}, failed(rows=[1, 3]), (S, ["1", "01", "2", "x"])),
    key("a number meets text", {"ref_columns": ["g"]}, failed(rows=[1]), (INT, [1, 2]), {"r": ({"g": pa.string()}, ["1", "x"])}),
    key("a day meets its text", {"columns": ["d"], "ref_columns": ["g"]}, failed(rows=[1]), ({"d": pa.date32()}, [dt.date(2026, 1, 1), dt.date(2026, 1, 2)]),
        {"r": ({"g": pa.string()}, ["2026-01-01"])}),
    key("NaN is a key", {"columns": ["x"]}, passed(), ({"x": pa.float64()}, [NAN, -0.0]), {"r": ({"k": pa.float64()}, [NAN, 0.0])}),
    key("expressions on both sides", {"columns": [{"expression": "lower(s)"}], "ref_columns": [{"expression": "lower(g)"}]}, failed(rows=[1]), (S, ["X", "Q"])),
    key("columns called like the product's own", {"columns": ["k0"]}, failed(rows=[1]), ({"k0": pa.int32(), "key": pa.int32()}, [(1, 1), (5, 1)])),
    key("a tolerance", {"max_failed_rows": 1}, tolerated(rows=[2])),
    key("no rows", {}, passed(), (INT, [])),
    key("nothing there", {}, failed(rows=[0, 1, 2]), there={"r": ({"k": pa.int32()}, [])}),
    key("other numbers of columns", {"ref_columns": ["k", "g"]}, refused("DECLARED_CHECK_INVALID", "name as many of each")),
    key("a column that the reference lacks", {"ref_columns": ["zz"]}, refused("DECLARED_CHECK_COLUMN_UNKNOWN", "the reference 'r' does not hold")),
    key("types that cannot meet", {"columns": ["b"], "ref_columns": ["g"]}, refused("DECLARED_CHECK_INVALID"), ({"b": pa.binary()}, [])),
    Case("foreign_key", "no such reference", {"columns": ["i"], "ref_columns": ["k"], "reference": "r"}, NUMBERS, refused("RECIPE_DOCUMENT_INCOHERENT")),
]  # fmt: skip

WHOLE: Mapping[str, object] = {"columns": ["i"], "ref_columns": ["k"], "reference": "r"}
KNOWN = [
    Case("has_only_known_keys", "known keys", WHOLE, (INT, [1, 2]), passed(observed={"missing_foreign_keys": 0}), references=REF),
    Case("has_only_known_keys", "NULL counts as missing", WHOLE, NUMBERS, failed(detail="2 of 4 rows have a (i) that", observed={"missing_foreign_keys": 2}),
         references=REF),
    Case("has_only_known_keys", "the filter's rows alone", {**WHOLE, "filter": "i > 1"}, NUMBERS, failed(rows=[1, 2]), references=REF),
    Case("has_only_known_keys", "tolerated", {**WHOLE, "max_failed_rows": 2}, NUMBERS, passed(), references=REF),
    Case("has_only_known_keys", "no rows", WHOLE, (INT, []), passed(), references=REF),
    Case("has_only_known_keys", "quarantine", {**WHOLE, "enforcement": "quarantine"}, NUMBERS, refused("DECLARED_CHECK_INVALID", "cannot tell which rows"),
         references=REF, recipe={"quarantine": {"to": "bad"}}),
]  # fmt: skip

TWICE = (KVX, [(1, "a", 1.0), (1, "a", 1.0), (1, "b", 1.0)])
COMPARED = [
    alike("changed values and rows that the reference lacks", {},
          failed(rows=[1, 2, 4, 5], detail="4 of 6 rows have no equal of the same (k) in the reference r")),
    alike("an excluded column", {"exclude_columns": ["v"]}, failed(rows=[2, 4])),
    alike("a tolerance", {"abs_tolerance": 0.1}, failed(rows=[1, 2, 5])),
    alike("a share", {"rel_tolerance": 0.0124}, failed(rows=[1, 2, 5])),
    alike("NULL keys have no equal", {"null_safe_row_matching": False}, failed(rows=[1, 2, 3, 4, 5])),
    alike("NULL is like anything", {"null_safe_column_value_matching": False}, failed(rows=[1, 2, 4])),
    alike("the filter's rows alone", {"filter": "k <= 2"}, failed(rows=[1])),
    alike("missing records", {"check_missing_records": True},
          failed(rows=[1, 2, 4, 5], detail="; 1 of its rows is missing here", observed={"missing_records": 1})),
    alike("missing records alone", {"check_missing_records": True}, failed(rows=[], detail="none of 1 rows", observed={"missing_records": 5}),
          (KVX, [(1, "a", 1.0)])),
    alike("no records missing", {"check_missing_records": True, "exclude_columns": ["v", "x"]}, passed(observed={"missing_records": 0}),
          (KVX, [(k, None, None) for k in (1, 2, None, 4, 5, 9)])),
    alike("repeats are paired in order", {}, failed(rows=[2]), TWICE, {"r": (KVX, [(1, "a", 1.0), (1, "a", 1.0)])}),
    alike("a repeat more than there", {"exclude_columns": ["v"]}, failed(rows=None, detail="1 of 3 rows"), TWICE, {"r": (KVX, [(1, "a", 1.0), (1, "q", 1.0)])}),
    alike("a filtered repeat is no pair", {"filter": "v = 'b'"}, passed(), TWICE, {"r": (KVX, [(1, "b", 1.0)])}),
    alike("repeats that are not to be paired", {"raise_on_duplicate_keys": True}, not_evaluated("the key (k) repeats on 2 rows of the table and 0 of r"),
          TWICE, {"r": (KVX, [(1, "a", 1.0)])}),
    alike("another name there", {"ref_columns": ["key"]}, passed(), (KVX, [(1, "a", 1.0)]), {"r": ({"key": pa.int32(), "v": pa.string()}, [(1, "a")])}),
    alike("NaN is NaN", {}, passed(), (KVX, [(1, "a", NAN)]), {"r": (KVX, [(1, "a", NAN)])}),
    alike("NaN with a tolerance", {"abs_tolerance": 0.1}, passed(), (KVX, [(1, "a", NAN)]), {"r": (KVX, [(1, "a", 5.0)])}),
    alike("numbers of other types", {}, passed(), ({"k": pa.int64(), "x": pa.int64()}, [(1, 2)]), {"r": ({"k": pa.int32(), "x": pa.decimal128(5, 1)}, [(1, Decimal(2))])}),
    alike("nested values", {}, failed(rows=[1]), ({"k": pa.int64(), "l": pa.list_(pa.int64())}, [(1, [1, None]), (2, [1])]),
          {"r": ({"k": pa.int64(), "l": pa.list_(pa.int64())}, [(1, [1, None]), (2, [2])])}),
    alike("maps are not compared", {}, passed(), ({"k": pa.int64(), "m": pa.map_(pa.string(), pa.int64())}, [(1, [("a", 1)])]),
          {"r": ({"k": pa.int64(), "m": pa.map_(pa.string(), pa.int64())}, [(1, [("a", 2)])])}),
    alike("columns called like the product's own", {}, failed(rows=[1]), ({"k": pa.int64(), "place": pa.int64(), "v0": pa.int64()}, [(1, 1, 1), (2, 2, 2)]),
          {"r": ({"k": pa.int64(), "place": pa.int64(), "v0": pa.int64()}, [(1, 1, 1), (2, 3, 2)])}),
    alike("only the keys are common", {}, failed(rows=[1]), ({"k": pa.int64()}, [1, 2]), {"r": ({"k": pa.int64(), "w": pa.int64()}, [(1, 1)])}),
    alike("no rows", {}, passed(), (KVX, [])),
    alike("other numbers of columns", {"ref_columns": ["k", "v"]}, refused("DECLARED_CHECK_INVALID", "name as many of each")),
    alike("a tolerance below zero", {"abs_tolerance": -1}, refused("RECIPE_DOCUMENT_INVALID")),
]  # fmt: skip

test_keys = run_cases(KEYS)
test_known = run_cases(KNOWN)
test_compared = run_cases(COMPARED)


def test_missing_records_stand_last_among_the_annotated_rows(tmp_path: Path) -> None:
    here = pa.table({"k": [1, 2], "v": ["a", "b"], "own": [0.5, 1.5]})
    there = pa.table({"v": ["a", "b", "c", "c"], "key": pa.array([1, 2, 3, 3], pa.int32()), "w": [0, 0, 0, 0]})
    pq.write_table(here, tmp_path / "here.parquet")
    check = {
        "check_id": "same",
        "kind": "compare_datasets",
        "enforcement": "required",
        "columns": ["k"],
        "ref_columns": ["key"],
        "reference": "r",
    }
    members = {
        "recipe": "case",
        "table": {"name": "rows"},
        "references": {"r": {"path": "r.parquet"}},
        "checks": [{**check, "check_missing_records": True}],
    }
    (outcome,) = annotate(
        load_recipe(members), str(tmp_path / "here.parquet"), str(tmp_path / "out.parquet"), references={"r": there}
    ).outcomes
    assert (outcome.status, outcome.failed_rows, outcome.observed["missing_records"]) == ("failed", 0, 2)
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [(row["k"], row["v"], row["own"], row["_dq_passed"]) for row in rows] == [
        (1, "a", 0.5, True), (2, "b", 1.5, True), (3, "c", None, False), (3, "c", None, False),
    ]  # fmt: skip
