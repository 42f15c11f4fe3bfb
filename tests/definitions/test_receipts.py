"""Receipts: one a evaluation, whole, readable without Dagster."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from click.testing import CliRunner

from dq_dagster.cli import cli
from dq_dagster.definitions.factory import build_recipe_checks
from dq_dagster.definitions.gate import gated_multi_asset
from dq_dagster.definitions.receipts import ReceiptsUnreadable, read_receipts
from dq_dagster.definitions.resources import DuckDBEngineResource
from tests.definitions.test_gate import BAD, GOOD, gate
from tests.definitions.warehouse import recipe, rows, run, unique


def test_a_gate_and_checks_after_the_fact_leave_a_receipt_an_evaluation(tmp_path: Path):
    @dg.asset
    def items() -> pa.Table:
        return pa.table({"id": BAD})

    folder = tmp_path / "receipts"
    engine = DuckDBEngineResource(receipts=str(folder))
    checks = build_recipe_checks(asset=items, recipe=recipe(unique(), rows(1), name="items"), engine="dq_engine")
    orders, _ = gate(GOOD, engine="dq_engine")
    result = run([orders, items, *checks], tmp_path, resources={"dq_engine": engine})
    assert sorted(path.suffixes[-2:] for path in folder.iterdir()) == [[".receipt", ".json"]] * 2
    (gated,) = read_receipts(str(folder), asset="orders")
    assert (gated["gate"], gated["run_id"], gated["rows"], gated["engine"]) == ("passed", result.run_id, 3, "duckdb")
    assert [(one["check_id"], one["status"]) for one in gated["outcomes"]] == [("ID_U", "passed"), ("_REPLAY_EQUIVALENCE", "passed")]
    assert gated["recipe_digest"] == recipe(unique()).digest
    assert {"dq_dagster", "duckdb"} <= set(gated["versions"])
    (checked,) = read_receipts(str(folder), asset="items", run_id=result.run_id)
    assert [(one["check_id"], one["passed"], one["failed_rows"]) for one in checked["outcomes"]] == [("ID_U", False, 1), ("N", True, None)]
    assert [file["path"] for file in checked["files"]] == [str(tmp_path / "items.parquet")]

    told = CliRunner().invoke(cli, ["receipts", str(folder), "--asset", "items"])
    assert told.exit_code == 0
    assert "1 passed, 1 failed" in told.output
    as_json = CliRunner().invoke(cli, ["receipts", str(folder), "--json"])
    assert [one["asset"] for one in json.loads(as_json.output)] == [one["asset"] for one in read_receipts(str(folder))]


def test_a_rejected_candidate_has_a_receipt_too(tmp_path: Path):
    run(gate(BAD, receipts=tmp_path / "r"), tmp_path)
    (receipt,) = read_receipts(str(tmp_path / "r"))
    assert receipt["gate"] == "rejected"


def test_a_table_that_another_holds_back_is_rejected_too(tmp_path: Path):
    tables = {"orders": recipe(unique()), "items": recipe(unique(), name="items")}

    @gated_multi_asset(outputs=tables, receipts=tmp_path / "r")
    def shop() -> dict[str, pa.Table]:
        return {"orders": pa.table({"id": GOOD}), "items": pa.table({"id": BAD})}

    assert not run([shop], tmp_path).success
    assert {one["asset"]: one["gate"] for one in read_receipts(str(tmp_path / "r"))} == {"orders": "rejected", "items": "rejected"}


def test_what_is_no_folder_of_receipts_is_said(tmp_path: Path):
    told = CliRunner().invoke(cli, ["receipts", str(tmp_path / "none")])
    assert (told.exit_code, "cannot be listed" in told.output) == (2, True)
    (tmp_path / "x.receipt.json").write_text("{")
    with pytest.raises(ReceiptsUnreadable, match=r"x\.receipt\.json is no receipt"):
        read_receipts(str(tmp_path))
