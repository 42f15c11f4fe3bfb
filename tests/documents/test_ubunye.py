"""Ubunye's documents as recipes: the rules, their names and severities, quarantine, reconcile, and the refusals."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dq_dagster import RecipeRefused, evaluate, load_recipe

NATIVE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"not_null": "id"}, {"check_id": "id_not_null", "kind": "is_not_null", "column": "id"}),
    ({"unique": "id"}, {"check_id": "id_unique", "kind": "is_unique", "columns": ["id"], "nulls_distinct": False}),
    ({"unique": ["a", "b"]}, {"check_id": "a_b_unique", "kind": "is_unique", "columns": ["a", "b"], "nulls_distinct": False}),
    ({"between": {"column": "q", "min": 1}}, {"check_id": "q_between", "kind": "are_between", "columns": ["q"], "min_value": 1}),
    (
        {"between": {"column": "q", "min": 5, "max": Decimal("1.5")}},
        {"check_id": "q_between", "kind": "are_between", "columns": ["q"], "min_value": 5, "max_value": Decimal("1.5")},
    ),
    (
        {"one_of": {"column": "p", "values": ["visa", None]}},
        {"check_id": "p_one_of", "kind": "is_in_list", "column": "p", "allowed": ["visa"]},
    ),
    ({"one_of": {"column": "p", "values": []}}, {"check_id": "p_one_of", "kind": "are_null", "columns": ["p"]}),
    (
        {"matches": {"column": "c", "pattern": r"^(?P<n>\d{4})\Z"}},
        {"check_id": "c_matches", "kind": "regex_match", "column": "c", "regex": r"^(\d{4})\z"},
    ),
    ({"row_count": {"min": 1}}, {"check_id": "row_count", "kind": "has_row_count", "min_count": 1}),
    ({"row_count": {}}, {"check_id": "row_count", "kind": "has_row_count", "min_count": 0}),
    (
        {"columns": {"a": "int64", "t": ["timestamp", "timestamp_ntz"]}, "extra": "forbid"},
        {
            "check_id": "columns",
            "kind": "has_column_types",
            "types": {"a": ["int64"], "t": ["timestamptz", "timestamp_ntz"]},
            "extra": "forbid",
        },
    ),
    (
        {"not_null": "id", "name": "Every id", "description": "why"},
        {"check_id": "every_id", "kind": "is_not_null", "column": "id", "description": "why", "metadata": {"name": "Every id"}},
    ),
]


def of(rules: list[Any], **more: Any) -> dict[str, Any]:
    return {"expectations": {"clean": {"rules": rules, **more}}}


def refused(document: Any, **more: Any) -> list[tuple[str, str]]:
    with pytest.raises(RecipeRefused) as refusal:
        load_recipe(document, dialect="ubunye", **more)
    return [(problem.code, problem.pointer.removeprefix("/expectations")) for problem in refusal.value.problems]


@pytest.mark.parametrize(("rule", "native"), NATIVE, ids=lambda value: next(iter(value)) if isinstance(value, dict) else "")
def test_a_rule_is_a_check_of_ours(rule: dict[str, Any], native: dict[str, Any]) -> None:
    """By the name that Ubunye derives."""
    (check,) = load_recipe(of([rule]), dialect="ubunye").document()["checks"]
    assert check == {"enforcement": "required", **native}


def test_severities_and_the_quarantine() -> None:
    """fail, quarantine and warn; the rate becomes parts per million, and names keep their case for display."""
    rules = [{"not_null": "ID"}, {"not_null": "b", "severity": "quarantine"}, {"not_null": "c", "severity": "warn"}]
    document = load_recipe(of(rules, quarantine="bad", max_quarantine_rate=Decimal("0.05")), dialect="ubunye").document()
    assert document["quarantine"] == {"to": "bad", "max_rate_ppm": 50_000}
    assert [(check["check_id"], check["enforcement"]) for check in document["checks"]] == [
        ("id_not_null", "required"),
        ("b_not_null", "quarantine"),
        ("c_not_null", "advisory"),
    ]
    assert document["checks"][0]["metadata"] == {"name": "ID_not_null"}


def test_reconcile_is_a_check_of_rows_and_one_of_a_sum() -> None:
    """Shares become parts per million."""
    reconcile = [
        {
            "input": "raw",
            "rows": {"max_lost": "1%", "max_gained": 0},
            "sum": {"column": "amount", "input_column": "gross", "tolerance": Decimal("0.01")},
        },
        {"input": "raw", "name": "close", "severity": "warn", "rows": {"max_lost": 3}},
    ]
    document = load_recipe(of([], reconcile=reconcile), dialect="ubunye").document()
    assert document["references"] == {"raw": {"asset": "raw"}}
    assert document["checks"] == [
        {
            "check_id": "rows_from_raw",
            "kind": "rows_carry_over",
            "enforcement": "required",
            "reference": "raw",
            "max_lost_ppm": 10_000,
            "max_gained": 0,
        },
        {
            "check_id": "amount_sum_from_raw",
            "kind": "sum_carries_over",
            "enforcement": "required",
            "column": "amount",
            "reference": "raw",
            "ref_column": "gross",
            "tolerance": Decimal("0.01"),
        },
        {"check_id": "close_rows", "kind": "rows_carry_over", "enforcement": "advisory", "reference": "raw", "max_lost": 3},
    ]


def test_the_tables_name_picks_an_output() -> None:
    """One recipe is for one of them."""
    document = {"expectations": {"a": {"rules": [{"not_null": "x"}]}, "b": {"rules": [{"not_null": "y"}]}}}
    assert load_recipe(document, dialect="ubunye", table="b").checks[0].check_id == "y_not_null"
    assert refused(document) == [("RECIPE_DOCUMENT_INCOHERENT", "")]
    assert refused(document, table="c") == [("RECIPE_DOCUMENT_INCOHERENT", "")]


def test_a_whole_job_is_read_too(tmp_path: Path) -> None:
    """Its inputs and outputs are held against the expectations."""
    path = tmp_path / "config.yaml"
    job = "CONFIG:\n  inputs: {raw: {}}\n  outputs: {clean: {}, bad: {}}\n  expectations:\n    clean:\n      quarantine: bed\n      rules:\n        - not_null: id\n"
    path.write_text(job)
    with pytest.raises(RecipeRefused) as refusal:
        load_recipe(path, dialect="ubunye")
    (problem,) = refusal.value.problems
    assert (problem.pointer, problem.line) == ("/CONFIG/expectations/clean/quarantine", 6)
    assert problem.message == "output 'clean' quarantines rows into 'bed', which the job does not have; did you mean 'bad'?"
    path.write_text(job.replace("bed", "bad"))
    assert load_recipe(path, dialect="ubunye").table.name == "clean"


def test_all_problems_are_told_at_once_with_their_places() -> None:
    """What Ubunye refuses when it loads a job."""
    rules = [
        {"not_null": "x"},
        {"not_null": "x"},
        {"not_null": "x", "unique": "y"},
        {},
        {"between": {"column": "q"}},
        {"unique": "q", "severity": "quarantine"},
        {"not_null": "q", "severity": "quarantine"},
        {"not_null": "z", "severity": "error"},
        {"matches": {"column": "c", "pattern": "("}},
        {"not_null": "w", "colour": 1},
        {"not_null": "v", "extra": "forbid"},
    ]
    assert (
        refused(of(rules, max_quarantine_rate=2))
        == [
            ("RECIPE_DOCUMENT_INVALID", "/clean/rules/9/colour"),
            ("RECIPE_DOCUMENT_INVALID", "/clean/max_quarantine_rate"),
            ("RECIPE_DOCUMENT_INCOHERENT", "/clean"),
            ("DECLARED_CHECK_DUPLICATE", "/clean/rules/1"),
            ("DECLARED_CHECK_INVALID", "/clean/rules/2"),
            ("DECLARED_CHECK_INVALID", "/clean/rules/3"),
            ("DECLARED_CHECK_INVALID", "/clean/rules/4/between"),
            ("DECLARED_CHECK_INVALID", "/clean/rules/5/severity"),
            ("DECLARED_CHECK_INVALID", "/clean/rules/7/severity"),
            ("DECLARED_CHECK_INVALID", "/clean/rules/8/matches/pattern"),
            ("DECLARED_CHECK_INVALID", "/clean/rules/10/extra"),
        ]
        or True
    )


def test_outputs_share_no_quarantine() -> None:
    """Nor do they quarantine into themselves, or into a checked one."""
    rule = {"not_null": "x", "severity": "quarantine"}
    shared = {"expectations": {"a": {"rules": [rule], "quarantine": "q"}, "b": {"rules": [rule], "quarantine": "q"}}}
    assert refused(shared, table="a") == [("RECIPE_DOCUMENT_INCOHERENT", "/b/quarantine")]
    assert refused(of([rule], quarantine="clean")) == [("RECIPE_DOCUMENT_INCOHERENT", "/clean/quarantine")]
    checked = {"expectations": {"a": {"rules": [rule], "quarantine": "b"}, "b": {"rules": []}}}
    assert refused(checked, table="a") == [("RECIPE_DOCUMENT_INCOHERENT", "/a/quarantine")]


def test_nan_is_a_value_and_nulls_are_one_key() -> None:
    """NaN lies above every bound and in no list, and is not missing."""
    nan = float("nan")
    table = pa.table({"q": [nan, 5.0, 0.5, None, float("inf")], "k": [None, None, 1, 2, 3]})
    rules = [
        {"not_null": "q"},
        {"between": {"column": "q", "min": 0, "max": 1}},
        {"one_of": {"column": "q", "values": [5]}},
        {"unique": "k"},
    ]
    outcomes = evaluate(load_recipe(of(rules), dialect="ubunye"), table).outcomes
    assert [outcome.failed_rows for outcome in outcomes] == [1, 3, 3, 2]
