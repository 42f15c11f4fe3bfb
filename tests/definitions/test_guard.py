"""Across runs: what is downstream does not read a table whose required checks failed, also where it runs alone."""

# No `from __future__ import annotations` here: Dagster compares the annotation of an asset's context as it stands.
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dq_dagster.definitions.asset_metadata import recipe_asset_metadata
from dq_dagster.definitions.factory import build_recipe_checks
from dq_dagster.definitions.guard import require_passed_checks, when_checks_passed
from dq_dagster.limits import Limits
from tests.definitions.test_gate import gate
from tests.definitions.warehouse import evaluations, materialized, passed, recipe, run, store, unique

OWN = recipe(unique())


def warehouse(ids: list[int], **arguments: Any) -> list[Any]:
    @dg.asset
    def orders() -> pa.Table:
        return pa.table({"id": ids})

    checks = build_recipe_checks(asset=orders, recipe=OWN, **arguments)

    @dg.asset(deps=[orders])
    def report(context: dg.AssetExecutionContext) -> None:
        require_passed_checks(context, checks)

    return [orders, *checks, report]


def alone(assets: list[Any], folder: Path, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    """The run of a schedule that has the downstream asset only."""
    return run(assets, folder, instance=instance, selection=["report"])


def refusal(result: dg.ExecuteInProcessResult) -> str:
    (failed,) = result.get_step_failure_events()
    told = failed.step_failure_data.user_failure_data
    return str(told and told.description)


def test_a_run_of_the_downstream_alone_reads_what_passed_and_nothing_else(tmp_path: Path, instance: dg.DagsterInstance):
    assert refusal(alone(warehouse([1]), tmp_path, instance)) == "CHECK_FAILED: what is read may not be: orders: ID_U has no result"
    run(warehouse([1]), tmp_path, instance=instance, selection=dg.AssetSelection.assets("orders"))
    assert alone(warehouse([1]), tmp_path, instance).success
    run(warehouse([1, 1]), tmp_path, instance=instance, selection=dg.AssetSelection.assets("orders"))
    assert "orders: ID_U: key (id) repeats on 1 of 2 rows" in refusal(alone(warehouse([1, 1]), tmp_path, instance))
    run(warehouse([1]), tmp_path, instance=instance, selection=dg.AssetSelection.assets("orders"))
    run(warehouse([1]), tmp_path, instance=instance, selection=dg.AssetSelection.assets("orders").without_checks())
    assert "ID_U was last evaluated before the table that is stored now" in refusal(alone(warehouse([1]), tmp_path, instance))


@pytest.mark.parametrize("policy", ["continue", "block"])
def test_a_check_that_was_not_evaluated_lets_the_table_be_read_unless_it_blocks(policy: Any, tmp_path: Path, instance: dg.DagsterInstance):
    assets = warehouse([1], limits=Limits(scan_bytes=1), on_not_evaluated=policy)
    within = run(assets, tmp_path, instance=instance)
    assert within.success is (policy == "continue")
    assert ("report" in materialized(within)) is (policy == "continue")
    assert alone(assets, tmp_path, instance).success is (policy == "continue")


@pytest.mark.parametrize(("ids", "wanted"), [([1, 2], {"report"}), ([1, 1], set())])
def test_the_condition_asks_for_the_downstream_only_where_the_checks_passed(
    ids: list[int], wanted: set[str], tmp_path: Path, instance: dg.DagsterInstance
):
    @dg.asset
    def orders() -> pa.Table:
        return pa.table({"id": ids})

    @dg.asset(deps=[orders], automation_condition=when_checks_passed())
    def report() -> None: ...

    checks = build_recipe_checks(asset=orders, recipe=OWN)
    defs = dg.Definitions(assets=[orders, report], asset_checks=checks, resources={"io_manager": store(tmp_path)})
    before = dg.evaluate_automation_conditions(defs, instance)
    run([orders, *checks], tmp_path, instance=instance)
    after = dg.evaluate_automation_conditions(defs, instance, cursor=before.cursor)
    assert ({"report"} if after.get_num_requested(dg.AssetKey("report")) else set()) == wanted


def test_a_gate_needs_no_guard_for_what_failed_is_not_there(tmp_path: Path, instance: dg.DagsterInstance):
    run(gate([1]), tmp_path, instance=instance)
    run(gate([2, 2]), tmp_path, instance=instance)
    result = run(gate([2, 2]), tmp_path, instance=instance, selection=["report"])
    assert result.success
    assert store(tmp_path).path_for(dg.AssetKey("report"))


def test_recipe_drift_and_shape_drift_after_the_fact(tmp_path: Path, instance: dg.DagsterInstance):
    declared = recipe(unique(), table={"columns": [{"name": "id", "type": "integer"}]})

    def checked(metadata: dict[str, Any], controls: Any) -> list[Any]:
        @dg.asset(metadata=metadata)
        def orders() -> pa.Table:
            return pa.table({"id": [1]})

        return [orders, *build_recipe_checks(asset=orders, recipe=declared, controls=controls)]

    result = run(checked(recipe_asset_metadata(declared), ["recipe_drift", "shape_drift"]), tmp_path, instance=instance)
    assert passed(result) == {"id_u": True, "recipe_drift": True, "shape_drift": False}
    assert evaluations(result)["shape_drift"].description == "SHAPE_DRIFT: column 'id' is stored as bigint and declared as integer"
    assert not result.success
    result = run(checked(recipe_asset_metadata(OWN), {"recipe_drift": "required"}), tmp_path, instance=instance)
    assert (evaluations(result)["recipe_drift"].description or "").startswith("RECIPE_DRIFT: the table was built under digest ")
    assert not result.success
    result = run(checked({}, {"recipe_drift": "advisory"}), tmp_path, instance=instance)
    assert (evaluations(result)["recipe_drift"].description or "").startswith("not_evaluated: no recipe's digest is recorded")
    assert result.success
