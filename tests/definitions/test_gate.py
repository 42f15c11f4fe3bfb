"""The gate: what passes is published, what does not leaves everything as it was, and Dagster tells both."""

# No `from __future__ import annotations` here: Dagster compares the annotation of an asset's context as it stands.
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster.definitions.gate import GatedTable, gated_asset, gated_multi_asset
from dq_dagster.definitions.refusals import AssetRefused, KeyRefused
from dq_dagster.definitions.store import ParquetIOManager
from dq_dagster.limits import Limits
from dq_dagster.tables import open_table
from tests.definitions.warehouse import evaluations, failure_tags, figure, materialized, passed, recipe, rows, run, unique, within

GOOD, BAD = [1, 2, 3], [1, 1, 2]


def published(folder: Path, name: str = "orders") -> Any:
    """What a reader of the published path finds, by column; None where nothing is there."""
    path = folder / f"{name}.parquet"
    return pq.ParquetFile(path).read().to_pydict() if path.exists() else None


def leftovers(folder: Path) -> list[str]:
    """Candidates that are still there."""
    return sorted(str(path) for path in folder.rglob("candidates/*"))


def gate(ids: list[int], **arguments: Any) -> list[dg.AssetsDefinition]:
    """orders with a gate, and report downstream of it."""
    arguments.setdefault("recipe", recipe(unique()))

    @gated_asset(**arguments)
    def orders() -> pa.Table:
        return pa.table({"id": ids})

    @dg.asset
    def report(orders: pa.Table) -> pa.Table:
        return orders

    return [orders, report]


def test_what_passes_is_published_and_loaded_downstream(tmp_path: Path):
    result = run(gate(GOOD), tmp_path)
    assert result.success
    assert materialized(result) == ["orders", "report"]
    assert published(tmp_path) == published(tmp_path, "report") == {"id": GOOD}
    assert passed(result) == {"id_u": True, "_replay_equivalence": True}
    (event,) = result.get_asset_materialization_events()[:1]
    told = event.materialization.metadata
    assert told["dagster/row_count"].value == 3
    assert told["path"].value == str(tmp_path / "orders.parquet")
    assert told["size_bytes"].value == (tmp_path / "orders.parquet").stat().st_size
    assert evaluations(result)["_replay_equivalence"].description == "3 rows were built, and the same read back"
    assert leftovers(tmp_path) == []


def test_what_fails_leaves_the_last_table_and_stops_downstream(tmp_path: Path, instance: dg.DagsterInstance):
    run(gate(GOOD), tmp_path, instance=instance)
    result = run(gate(BAD), tmp_path, instance=instance)
    assert not result.success
    assert materialized(result) == []
    assert published(tmp_path) == {"id": GOOD}
    assert passed(result) == {"id_u": False, "_replay_equivalence": True}
    detail = "ID_U: key (id) repeats on 1 of 3 rows, first at (1,), where 0 repeats were expected"
    assert failure_tags(instance, result.run_id) == {"failure_code": "CHECK_FAILED", "failed_stage": "check", "failure_detail": detail}
    (failed,) = result.get_step_failure_events()
    told = failed.step_failure_data.user_failure_data
    assert told is not None
    assert told.description == f"CHECK_FAILED: {detail}"
    assert leftovers(tmp_path) == []
    assert not evaluations(result)["id_u"].metadata.get("rejected_candidate")


def test_a_first_table_that_fails_is_never_there(tmp_path: Path):
    result = run(gate(BAD), tmp_path)
    assert not result.success
    assert published(tmp_path) is None


def test_an_advisory_check_stops_nothing(tmp_path: Path):
    result = run(gate(BAD, recipe=recipe(unique(enforcement="advisory"))), tmp_path)
    assert result.success
    assert passed(result)["id_u"] is False
    assert published(tmp_path) == {"id": BAD}


def test_a_rejected_candidate_is_kept_on_request_and_its_path_is_told(tmp_path: Path):
    result = run(gate(BAD, keep_rejected=True), tmp_path)
    path = figure(evaluations(result)["id_u"], "rejected_candidate")
    assert pq.ParquetFile(path).read().to_pydict() == {"id": BAD}
    assert path == str(tmp_path / ".orders.parquet.gate" / "rejected" / "orders.parquet")
    run(gate([5, 5], keep_rejected=True), tmp_path)
    assert pq.ParquetFile(path).read().to_pydict() == {"id": [5, 5]}


@pytest.mark.parametrize("policy", ["continue", "block"])
def test_what_could_not_be_evaluated_blocks_where_the_deployment_says_so(policy: Any, tmp_path: Path, instance: dg.DagsterInstance):
    result = run(gate(GOOD, limits=Limits(scan_bytes=1), on_not_evaluated=policy), tmp_path, instance=instance)
    check = evaluations(result)["id_u"]
    assert figure(check, "status") == "not_evaluated"
    assert result.success is (policy == "continue")
    assert check.severity is (dg.AssetCheckSeverity.WARN if policy == "continue" else dg.AssetCheckSeverity.ERROR)
    assert (published(tmp_path) is None) is (policy == "block")
    if policy == "block":
        assert failure_tags(instance, result.run_id)["failure_detail"].startswith("ID_U: not_evaluated: CHECK_SCAN_BUDGET_EXCEEDED")


MADE: dict[str, Any] = {
    "a pyarrow Table": lambda: pa.table({"id": GOOD}),
    "a RecordBatchReader": lambda: pa.table({"id": GOOD}).to_reader(),
    "a pandas frame": lambda: pd.DataFrame({"id": GOOD}),
    "a polars frame": lambda: pl.DataFrame({"id": GOOD}),
    "a polars LazyFrame": lambda: pl.LazyFrame({"id": GOOD}),
    "an empty LazyFrame": lambda: pl.LazyFrame({"id": pl.Series([], dtype=pl.Int64)}),
    "a DuckDB relation": lambda: duckdb.connect().sql("SELECT unnest([1, 2, 3])::BIGINT AS id"),
    "batches": lambda: iter(pa.table({"id": GOOD}).to_batches(max_chunksize=1)),
}


@pytest.mark.parametrize("make", MADE)
def test_a_table_of_any_make_goes_through(make: str, tmp_path: Path):
    @gated_asset(recipe=recipe(unique()))
    def orders() -> Any:
        return MADE[make]()

    result = run([orders], tmp_path)
    assert passed(result) == {"id_u": True, "_replay_equivalence": True}
    assert published(tmp_path) == {"id": [] if "empty" in make else GOOD}


def test_a_generator_yields_batches(tmp_path: Path):
    @gated_asset(recipe=recipe(unique()))
    def orders() -> Iterator[pa.RecordBatch]:
        yield from pa.table({"id": GOOD}).to_batches(max_chunksize=2)

    assert run([orders], tmp_path).success
    assert published(tmp_path) == {"id": GOOD}


def stored_columns(told: Mapping[str, Any]) -> Any:
    return told["dagster/column_schema"].value.columns


class Numbers(dg.ConfigurableResource[Any]):
    first: int


class Wanted(dg.Config):
    last: int


def test_inputs_resources_config_and_context_come_as_in_any_asset(tmp_path: Path):
    @dg.asset
    def raw() -> pa.Table:
        return pa.table({"id": [2]})

    @dg.asset
    def other() -> pa.Table:
        return pa.table({"x": [1]})

    @gated_asset(recipe=recipe(unique()), key=["shop", "orders"], ins={"source": dg.AssetIn("raw")}, deps=[other], group_name="shop")
    def orders(context: dg.AssetExecutionContext, source: pa.Table, numbers: Numbers, config: Wanted) -> pa.Table:
        assert context.run.run_id
        return pa.table({"id": [numbers.first, *source["id"].to_pylist(), config.last]})

    key = dg.AssetKey(["shop", "orders"])
    assert orders.asset_deps[key] == {dg.AssetKey("raw"), dg.AssetKey("other")}
    assert orders.specs_by_key[key].group_name == "shop"
    config = {"ops": {"shop__orders": {"config": {"last": 3}}}}
    result = dg.materialize(
        [raw, other, orders],
        resources={"io_manager": ParquetIOManager(base_path=str(tmp_path)), "numbers": Numbers(first=1)},
        run_config=config,
    )
    assert result.success
    assert published(tmp_path / "shop") == {"id": [1, 2, 3]}


def test_a_gate_may_have_a_store_of_its_own(tmp_path: Path):
    @gated_asset(recipe=recipe(unique()), base_path=tmp_path / "own")
    def orders() -> pa.Table:
        return pa.table({"id": GOOD})

    @gated_asset(recipe=recipe(unique(), name="items"), io_manager_key="second")
    def items() -> pa.Table:
        return pa.table({"id": GOOD})

    @dg.asset
    def report(orders: pa.Table, items: pa.Table) -> pa.Table:
        return pa.concat_tables([orders, items])

    second = ParquetIOManager(base_path=str(tmp_path / "second"))
    assert run([orders, items, report], tmp_path / "base", resources={"second": second}).success
    assert published(tmp_path / "own") == published(tmp_path / "second", "items") == {"id": GOOD}
    assert published(tmp_path / "base", "report") == {"id": GOOD * 2}


def test_the_asset_carries_the_recipes_columns_and_digest(tmp_path: Path):
    declared = recipe(unique(), table={"columns": [{"name": "id", "type": "bigint", "description": "The order."}]})
    (orders, _) = gate(GOOD, recipe=declared, metadata={"owner": "sales"})
    spec = orders.specs_by_key[dg.AssetKey("orders")]
    assert spec.code_version == declared.digest
    assert spec.metadata["owner"] == "sales"
    assert spec.metadata["dagster/column_schema"].columns[0].constraints.unique
    told = run([orders], tmp_path).get_asset_materialization_events()[0].materialization.metadata
    assert stored_columns(told)[0].description == "The order."
    assert told["dq_dagster/recipe_digest"].value == declared.digest


def test_a_recipe_that_does_not_fit_the_table_fails_the_step_and_publishes_nothing(tmp_path: Path, instance: dg.DagsterInstance):
    result = run(gate(GOOD, recipe=recipe(unique("idd"))), tmp_path, instance=instance)
    assert not result.success
    tags = failure_tags(instance, result.run_id)
    assert (tags["failure_code"], tags["failed_stage"]) == ("DECLARED_CHECK_COLUMN_UNKNOWN", "acquire")
    assert published(tmp_path) is None
    assert leftovers(tmp_path) == []


def test_a_function_that_raises_is_retried_and_a_check_that_fails_is_not(tmp_path: Path):
    attempts: list[int] = []

    def built(fails: bool) -> dg.AssetsDefinition:
        @gated_asset(recipe=recipe(unique()), retry_policy=dg.RetryPolicy(max_retries=2))
        def orders() -> pa.Table:
            attempts.append(1)
            if fails and len(attempts) < 3:
                raise OSError("not yet")
            return pa.table({"id": GOOD if fails else BAD})

        return orders

    assert run([built(fails=True)], tmp_path).success
    assert len(attempts) == 3
    attempts.clear()
    result = run([built(fails=False)], tmp_path)
    assert not result.success
    assert len(attempts) == 1
    assert passed(result)["id_u"] is False


def both(orders: list[int], items: list[int]) -> dg.AssetsDefinition:
    @gated_multi_asset(outputs={"orders": recipe(unique()), "items": GatedTable(recipe(unique(), name="items"), key=["shop", "items"])})
    def shop() -> dict[str, pa.Table]:
        return {"orders": pa.table({"id": orders}), "items": pa.table({"id": items})}

    return shop


def test_one_failing_output_publishes_none(tmp_path: Path):
    assert run([both([1], [2])], tmp_path).success
    result = run([both([3], [4, 4])], tmp_path)
    assert not result.success
    assert materialized(result) == []
    assert {(one.asset_key.to_user_string(), one.check_name): one.passed for one in result.get_asset_check_evaluations()} == {
        ("orders", "id_u"): True,
        ("orders", "_replay_equivalence"): True,
        ("shop/items", "id_u"): False,
        ("shop/items", "_replay_equivalence"): True,
    }
    assert (published(tmp_path), published(tmp_path / "shop", "items")) == ({"id": [1]}, {"id": [2]})
    assert run([both([5], [6])], tmp_path).success
    assert (published(tmp_path), published(tmp_path / "shop", "items")) == ({"id": [5]}, {"id": [6]})
    assert open_table(tmp_path / "shop" / "items.parquet").rows == 1


def test_shape_drift_says_what_differs(tmp_path: Path):
    columns = [{"name": "id", "type": "varchar"}]
    declared = recipe(rows(1), table={"columns": columns})
    result = run(gate(GOOD, recipe=declared, controls=["shape_drift"]), tmp_path)
    assert not result.success
    assert evaluations(result)["shape_drift"].description == "SHAPE_DRIFT: column 'id' is stored as bigint and declared as varchar"
    assert published(tmp_path) is None
    result = run(gate(GOOD, recipe=declared, controls={"shape_drift": "advisory", "_replay_equivalence": "advisory"}), tmp_path)
    assert result.success
    assert evaluations(result)["shape_drift"].severity is dg.AssetCheckSeverity.WARN


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"name": "a", "key": "b"}, "both name and key"),
        ({"io_manager_key": "a", "base_path": "b"}, "both io_manager_key and base_path"),
        ({"controls": ["recipe_drift"]}, "controls names 'recipe_drift'; the controls here are _replay_equivalence, shape_drift"),
        ({"controls": {"shape_drift": "quarantine"}}, "it can be 'required' or 'advisory'"),
        ({"key": "a b"}, "cannot carry checks"),
    ],
)
def test_what_cannot_be_is_refused_when_the_asset_is_defined(arguments: dict[str, Any], told: str):
    with pytest.raises(AssetRefused, match=told):
        gate(GOOD, **arguments)


def test_outputs_that_share_a_place_are_refused():
    quarantining = recipe(within("id", "0", "9", "quarantine"), quarantine={"to": "bad"})
    with pytest.raises(AssetRefused, match="asset bad is both the quarantine of output 'a' and the quarantine of output 'b'"):
        gated_multi_asset(outputs={"a": quarantining, "b": quarantining})(lambda: None)
    with pytest.raises(KeyRefused):
        gate(GOOD, partitions_def=dg.StaticPartitionsDefinition(["../up"]))


def test_a_folder_that_may_not_be_written_fails_the_step_and_says_so(tmp_path: Path, instance: dg.DagsterInstance):
    (tmp_path / ".orders.parquet.gate").write_text("in the way")  # a read-only folder does not stop a superuser, this stops anyone
    result = run(gate(GOOD), tmp_path, instance=instance)
    assert not result.success
    tags = failure_tags(instance, result.run_id)
    assert (tags["failure_code"], tags["failed_stage"]) == ("PUBLISH_FAILED", "write")
    assert "could not be written" in tags["failure_detail"]


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser writes into every folder")
def test_a_read_only_folder_keeps_the_last_table(tmp_path: Path, instance: dg.DagsterInstance):
    base = tmp_path / "base"
    assert run(gate(GOOD), base).success
    base.chmod(0o500)
    try:
        result = run(gate([7]), base, instance=instance)
    finally:
        base.chmod(0o700)
    assert failure_tags(instance, result.run_id)["failure_code"] == "PUBLISH_FAILED"
    assert published(base) == {"id": GOOD}
    assert leftovers(base) == []
