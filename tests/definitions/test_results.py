"""Outcomes as Dagster shows them."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import dagster as dg
import pytest

from dq_dagster.definitions.results import check_result, plain_value, result_metadata
from dq_dagster.outcomes import Outcome, Receipt

NOW = dt.datetime(2026, 3, 1, tzinfo=dt.timezone.utc)
RECEIPT = Receipt("orders", "abc123", "orders", "duckdb", NOW, 0.5, 1000, 4, (), {})
COST: dict[str, Any] = {"seconds": 0.25, "bytes_scanned": 99}
OUTCOME = Outcome("ID_U", "failed", "key (id) repeats", "key_uniqueness", "required", "orders", 4, 1, {"repeats": 1}, **COST)
SPEC = dg.AssetCheckSpec("id_u", asset="orders", blocking=True)


@dataclass(frozen=True)
class Shown:
    status: str
    enforcement: str
    passed: bool
    severity: str


@pytest.mark.parametrize(
    "case",
    [
        Shown("passed", "required", True, "ERROR"),
        Shown("failed", "required", False, "ERROR"),
        Shown("not_evaluated", "required", False, "WARN"),
        Shown("passed", "advisory", True, "WARN"),
        Shown("failed", "advisory", False, "WARN"),
        Shown("not_evaluated", "advisory", False, "WARN"),
    ],
    ids=lambda case: f"{case.status}-{case.enforcement}",
)
def test_a_status_has_one_showing(case: Shown):
    result = check_result(replace(OUTCOME, status=case.status, enforcement=case.enforcement), RECEIPT, SPEC)
    assert (result.passed, result.severity.name, result.description) == (case.passed, case.severity, "key (id) repeats")


def test_the_keys_are_stable():
    assert result_metadata(OUTCOME, RECEIPT) == {
        "status": "failed",
        "detail": "key (id) repeats",
        "kind": "key_uniqueness",
        "enforcement": "required",
        "scope": "orders",
        "rows": 4,
        "failed_rows": 1,
        "failed_ppm": 250000,
        "repeats": 1,
        "recipe_digest": "abc123",
        "engine": "duckdb",
        "seconds": 0.25,
        "bytes_scanned": 99,
        "failure_code": "CHECK_FAILED",
        "failed_stage": "check",
        "failure_detail": "ID_U: key (id) repeats",
    }


def test_an_outcome_that_was_not_evaluated_says_why_and_gives_no_figures():
    detail = "not_evaluated: CHECK_TIME_BUDGET_EXCEEDED: the scan did not finish within 900 seconds"
    metadata = result_metadata(replace(OUTCOME, status="not_evaluated", detail=detail, rows=None, failed_rows=None, observed={}), RECEIPT)
    assert metadata["not_evaluated_reason"] == "CHECK_TIME_BUDGET_EXCEEDED: the scan did not finish within 900 seconds"
    assert not metadata.keys() & {"rows", "failed_rows", "failed_ppm", "repeats", "failure_code"}


@pytest.mark.parametrize(
    ("enforcement", "status"), [("advisory", "failed"), ("required", "passed"), ("required", "not_evaluated")], ids=lambda value: value
)
def test_only_what_fails_a_run_carries_a_failure(enforcement: Any, status: Any):
    assert "failure_code" not in result_metadata(replace(OUTCOME, enforcement=enforcement, status=status), RECEIPT)


@pytest.mark.parametrize(
    ("failed", "rows", "ppm"), [(0, 10, 0), (1, 3, 333334), (3, 3, 1_000_000), (0, 0, 0), (1, 10**7, 1)], ids=lambda value: str(value)
)
def test_ppm_is_rounded_up(failed: int, rows: int, ppm: int):
    assert result_metadata(replace(OUTCOME, failed_rows=failed, rows=rows), RECEIPT)["failed_ppm"] == ppm


def test_the_checks_own_metadata_keeps_its_names_and_gives_way_to_ours():
    taken = {"rows": "many", "repeats": 7, "not_evaluated_reason": "x"}
    own = {"owner": "data-platform", "since": dt.date(2026, 1, 2), "runbook": {"pages": [1, 0.5]}, **taken}
    metadata = result_metadata(replace(OUTCOME, metadata=own), RECEIPT)
    assert metadata["owner"] == "data-platform"
    assert (metadata["rows"], metadata["recipe/rows"]) == (4, "many")
    assert (metadata["repeats"], metadata["recipe/repeats"]) == (1, 7)
    assert metadata["recipe/not_evaluated_reason"] == "x"
    assert metadata["since"] == "2026-01-02"
    assert metadata["runbook"].value == {"pages": [1, 0.5]}


def test_an_observed_figure_never_takes_the_place_of_a_stable_key():
    metadata = result_metadata(replace(OUTCOME, observed={"rows": 7, "max": 3}), RECEIPT)
    assert (metadata["rows"], metadata["observed/rows"], metadata["max"]) == (4, 7, 3)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, 0),
        (True, True),
        (2**53, 2**53),
        (2**53 + 1, "9007199254740993"),
        (-(2**53) - 1, "-9007199254740993"),
        (2**70, str(2**70)),
        (0.1, 0.1),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (Decimal("104.5"), 104.5),
        (Decimal("100"), 100.0),
        (Decimal("1.10"), "1.10"),
        (Decimal("0.1"), "0.1"),
        (Decimal("1E+60"), "1" + "0" * 60),
        (Decimal("NaN"), "NaN"),
        (Decimal("Infinity"), "Infinity"),
        (dt.date(2026, 3, 1), "2026-03-01"),
        (b"\x00\xff", "00ff"),
        ([1, float("nan"), Decimal("0.1")], '[1, "nan", "0.1"]'),
        ({"a": {"b": 2**60}}, '{"a": {"b": "1152921504606846976"}}'),
        (None, None),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_a_value_is_a_number_only_where_json_holds_all_of_it(value: Any, shown: Any):
    found = plain_value(value)
    assert (found, type(found)) == (shown, type(shown))
    json.dumps(found, allow_nan=False)


def test_examples_are_a_table_of_text_and_numbers():
    examples = ({"id": "7", "rows": 2, "share": 0.5, "ok": True}, {"id": "8", "rows": 2**60, "share": 1, "ok": None, "late": float("nan")})
    table = result_metadata(replace(OUTCOME, examples=examples), RECEIPT)["examples"]
    assert [(column.name, column.type) for column in table.schema.columns] == [
        ("id", "string"),
        ("rows", "string"),
        ("share", "float"),
        ("ok", "bool"),
        ("late", "string"),
    ]
    assert [record.data for record in table.records] == [
        {"id": "7", "rows": 2, "share": 0.5, "ok": True, "late": None},
        {"id": "8", "rows": "1152921504606846976", "share": 1, "ok": None, "late": "nan"},
    ]
