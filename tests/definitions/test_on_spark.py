"""Dagster with Spark: checks that run there, and a gate for the DataFrames that assets give."""

# No `from __future__ import annotations` here: Dagster compares the annotation of an asset's context as it stands.
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from dq_dagster.definitions.factory import build_recipe_checks
from dq_dagster.definitions.gate import GatedTable, gated_asset, gated_multi_asset
from dq_dagster.definitions.resources import DuckDBEngineResource, SparkEngineResource
from dq_dagster.definitions.store import ParquetIOManager
from dq_dagster.tables import open_table
from tests.definitions.warehouse import evaluations, failure_tags, figure, materialized, passed, recipe, rows, run, unique, within, write
from tests.local_spark import spark_engine

pytestmark = pytest.mark.spark

GOOD, BAD = [1, 2, 3], [1, 1, 2]
POSITIVE = {"check_id": "positive", "kind": "is_not_less_than", "enforcement": "quarantine", "column": "id", "limit": 0}
ENGINES: dict[str, Any] = {"spark": SparkEngineResource(), "duckdb": DuckDBEngineResource()}


def frame(ids: Sequence[int], parts: int = 2) -> Any:
    return spark_engine().spark.createDataFrame([(one,) for one in ids], "id BIGINT").repartition(parts)


def published(folder: Path, name: str = "orders") -> Any:
    """The sorted ids that a reader of the published path finds; None where nothing is there."""
    path = folder / f"{name}.parquet"
    return sorted(ds.dataset(str(path)).to_table()["id"].to_pylist()) if path.exists() else None


def gate(ids: list[int], **arguments: Any) -> list[dg.AssetsDefinition]:
    """orders with a gate, made by Spark in two parts, and report downstream of it."""
    arguments.setdefault("recipe", recipe(unique()))
    arguments.setdefault("engine", SparkEngineResource())

    @gated_asset(**arguments)
    def orders() -> Any:
        return frame(ids)

    @dg.asset
    def report(orders: pa.Table) -> pa.Table:
        return orders

    return [orders, report]


def test_a_required_check_on_spark_passes_and_one_that_fails_stops_downstream(tmp_path: Path, instance: dg.DagsterInstance):
    spark_engine()

    def definitions(ids: list[int]) -> list[Any]:
        @dg.asset
        def orders() -> pa.Table:
            return pa.table({"id": ids})

        @dg.asset
        def report(orders: pa.Table) -> pa.Table:
            return orders

        return [orders, report, *build_recipe_checks(asset=orders, recipe=recipe(unique(), rows(1)), engine="dq_engine")]

    engine = {"dq_engine": SparkEngineResource(receipts=str(tmp_path / "receipts"))}
    good = run(definitions(GOOD), tmp_path, instance=instance, resources=engine)
    assert passed(good) == {"id_u": True, "n": True}
    assert materialized(good) == ["orders", "report"]
    assert figure(evaluations(good)["id_u"], "engine") == "spark"
    bad = run(definitions(BAD), tmp_path, instance=instance, resources=engine)
    assert passed(bad) == {"id_u": False, "n": True}
    assert materialized(bad) == ["orders"]
    told = "key (id) repeats on 1 of 3 rows, first at (1,), where 0 repeats were expected"
    assert evaluations(bad)["id_u"].description == told
    assert failure_tags(instance, bad.run_id)["failure_detail"] == f"ID_U: {told}"
    assert len(list((tmp_path / "receipts").rglob("*.json"))) == 2


def test_the_resource_sets_the_budgets(tmp_path: Path):
    spark_engine()

    @dg.asset
    def orders() -> pa.Table:
        return pa.table({"id": GOOD})

    checks = build_recipe_checks(asset=orders, recipe=recipe(unique(), rows(1)), engine=SparkEngineResource(scan_bytes=1))
    result = run([orders, *checks], tmp_path)
    assert {name: figure(one, "status") for name, one in evaluations(result).items()} == {"id_u": "not_evaluated", "n": "passed"}


def test_the_session_of_dagster_pyspark_serves_as_an_engine(tmp_path: Path):
    dagster_pyspark = pytest.importorskip("dagster_pyspark", reason="dagster-pyspark is not installed")
    spark_engine()

    @dg.asset
    def orders() -> pa.Table:
        return pa.table({"id": BAD})

    for engine, resources in (
        (dagster_pyspark.PySparkResource(spark_config={}), {}),
        ("pyspark", {"pyspark": dagster_pyspark.PySparkResource(spark_config={})}),
    ):
        result = run([orders, *build_recipe_checks(asset=orders, recipe=recipe(unique()), engine=engine)], tmp_path, resources=resources)
        assert passed(result) == {"id_u": False}
        assert figure(evaluations(result)["id_u"], "engine") == "spark"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dataframe_that_passes_is_published_as_parts_and_loaded_downstream(engine: str, tmp_path: Path):
    result = run(gate(GOOD, engine=ENGINES[engine]), tmp_path)
    assert passed(result) == {"id_u": True, "_replay_equivalence": True}
    assert materialized(result) == ["orders", "report"]
    assert published(tmp_path) == published(tmp_path, "report") == GOOD
    assert figure(evaluations(result)["id_u"], "engine") == engine
    path = tmp_path / "orders.parquet"
    parts = [path / name for name in os.listdir(path) if not name.startswith((".", "_"))]
    assert len(parts) == 2
    told = result.get_asset_materialization_events()[0].materialization.metadata
    assert told["dagster/row_count"].value == 3
    assert told["size_bytes"].value == sum(part.stat().st_size for part in parts)
    assert evaluations(result)["_replay_equivalence"].description == "3 rows were built, and the same read back"
    assert list(tmp_path.rglob("candidates/*")) == []


def test_a_dataframe_that_fails_leaves_the_last_table_and_stops_downstream(tmp_path: Path, instance: dg.DagsterInstance):
    run(gate(GOOD), tmp_path, instance=instance)
    result = run(gate(BAD, keep_rejected=True), tmp_path, instance=instance)
    assert not result.success
    assert materialized(result) == []
    assert published(tmp_path) == GOOD
    detail = "ID_U: key (id) repeats on 1 of 3 rows, first at (1,), where 0 repeats were expected"
    assert failure_tags(instance, result.run_id) == {"failure_code": "CHECK_FAILED", "failed_stage": "check", "failure_detail": detail}
    kept = figure(evaluations(result)["id_u"], "rejected_candidate")
    assert sorted(ds.dataset(kept).to_table()["id"].to_pylist()) == BAD
    run(gate([7, 7], keep_rejected=True), tmp_path, instance=instance)
    assert ds.dataset(kept).to_table()["id"].to_pylist() == [7, 7]


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_leave_for_the_quarantine_and_none_is_lost(engine: str, tmp_path: Path):
    definition = gate([3, -1, 2, -2, 5], recipe=recipe(POSITIVE, unique(), quarantine={"to": "bad"}), engine=ENGINES[engine])
    result = run(definition, tmp_path)
    assert result.success
    assert passed(result) == {"positive": False, "id_u": True, "_replay_equivalence": True}
    assert published(tmp_path) == published(tmp_path, "report") == [2, 3, 5]
    assert published(tmp_path, "bad") == [-2, -1]
    told = ds.dataset(str(tmp_path / "bad.parquet")).to_table()["_dq_failed_checks"].to_pylist()
    assert told == [["POSITIVE"]] * 2
    assert evaluations(result)["_replay_equivalence"].description == "5 rows were built, and the same read back"
    again = run(gate([4], recipe=recipe(POSITIVE, quarantine={"to": "bad"}), engine=ENGINES[engine]), tmp_path)
    assert again.success
    assert (published(tmp_path), published(tmp_path, "bad")) == ([4], [])


def test_over_the_rate_nothing_is_published(tmp_path: Path):
    limited = recipe(POSITIVE, quarantine={"to": "bad", "max_rate_ppm": 400_000})
    assert run(gate([3, -1, 2], recipe=limited), tmp_path).success
    assert not run(gate([3, -1, -2], recipe=limited), tmp_path).success
    assert (published(tmp_path), published(tmp_path, "bad")) == ([2, 3], [-1])


def test_a_file_and_a_folder_of_parts_take_each_others_place(tmp_path: Path):
    made: list[Any] = [pa.table({"id": [1]}), frame([2]), frame([3]), pa.table({"id": [4]}), frame([])]

    @gated_asset(recipe=recipe(rows(0)), engine=SparkEngineResource())
    def orders() -> Any:
        return made[0]

    for expected in ([1], [2], [3], [4], []):
        assert run([orders], tmp_path).success
        assert published(tmp_path) == expected
        made.pop(0)


def test_a_folder_that_is_no_table_is_never_replaced(tmp_path: Path):
    (tmp_path / "orders.parquet").mkdir()
    write(tmp_path / "orders.parquet" / "2024.parquet", id=[1])
    result = run(gate(GOOD), tmp_path)
    assert not result.success
    assert pq.read_table(tmp_path / "orders.parquet" / "2024.parquet").num_rows == 1


def test_partitions_are_published_each_for_itself(tmp_path: Path):
    @gated_asset(
        recipe=recipe(unique()),
        partitions_def=dg.StaticPartitionsDefinition(["a", "b"]),
        engine=SparkEngineResource(),
    )
    def orders(context: dg.AssetExecutionContext) -> Any:
        return made[context.partition_key]

    made: dict[str, Any] = {"a": frame([1, 2]), "b": frame([3, 4])}
    for key in made:
        assert run([orders], tmp_path, partition_key=key).success
    assert published(tmp_path) == [1, 2, 3, 4]
    made = {"a": frame([5, 5]), "b": pa.table({"id": [6]})}
    assert not run([orders], tmp_path, partition_key="a").success
    assert run([orders], tmp_path, partition_key="b").success
    assert published(tmp_path) == [1, 2, 6]
    assert sorted(os.listdir(tmp_path / "orders.parquet")) == ["a.parquet", "b.parquet"]


def test_two_outputs_of_two_makes_are_published_together(tmp_path: Path):
    @gated_multi_asset(
        outputs={"orders": recipe(unique()), "items": GatedTable(recipe(within("id", "0", "9"), name="items"))},
        engine=SparkEngineResource(),
    )
    def shop() -> dict[str, Any]:
        return {"orders": made[0], "items": made[1]}

    made = [frame([1, 2]), pa.table({"id": [1]})]
    assert run([shop], tmp_path).success
    made = [frame([3, 4]), pa.table({"id": [10]})]
    assert not run([shop], tmp_path).success
    assert (published(tmp_path), published(tmp_path, "items")) == ([1, 2], [1])


def test_parts_that_this_process_does_not_see_are_no_table(tmp_path: Path, instance: dg.DagsterInstance):
    spark = spark_engine().spark
    spark.conf.set("mapreduce.output.basename", "_hidden")  # as if the executors wrote to file systems of their own
    try:
        result = run(gate(GOOD), tmp_path, instance=instance)
    finally:
        spark.conf.unset("mapreduce.output.basename")
    assert not result.success
    told = failure_tags(instance, result.run_id)
    assert (told["failure_code"], told["failed_stage"]) == ("PUBLISH_FAILED", "write")
    assert "and 0 are seen there by this process: its executors write to file systems of their own" in told["failure_detail"]
    assert published(tmp_path) is None


def test_an_object_store_takes_no_dataframe(tmp_path: Path):
    result = dg.materialize(gate(GOOD), resources={"io_manager": ParquetIOManager(base_path="memory://spark")}, raise_on_error=False)
    failure = result.failure_data_for_node("orders")
    assert failure is not None
    assert "return frame.toArrow() instead, or publish to a mounted file system" in str(failure.error)


def test_the_parts_that_spark_wrote_in_order_state_their_key(tmp_path: Path):
    @gated_asset(recipe=recipe(unique()), engine=SparkEngineResource())
    def orders() -> Any:
        return spark_engine().spark.range(0, 100, 1, 4)

    assert run([orders], tmp_path).success
    stored = open_table(tmp_path / "orders.parquet")
    assert len(stored.parts) > 1
    assert stored.is_key(["id"])
    assert spark_engine().spark.read.parquet(f"file://{tmp_path}/orders.parquet").count() == 100
