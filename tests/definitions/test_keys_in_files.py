"""Keys that assets' files state: written by ParquetIOManager and the gate, believed by the checks after them."""

# No `from __future__ import annotations` here: Dagster compares the annotation of an asset's context as it stands.
import uuid
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pyarrow as pa
import pytest

from dq_dagster.definitions.asset_metadata import recipe_asset_metadata
from dq_dagster.definitions.factory import build_recipe_checks
from dq_dagster.definitions.gate import gated_asset
from dq_dagster.definitions.resources import DuckDBEngineResource
from dq_dagster.definitions.store import ParquetIOManager
from dq_dagster.recipe import Recipe
from dq_dagster.tables import open_table
from tests.definitions.warehouse import QUIET, evaluations, figure, passed, recipe, run, unique

OWN = recipe(unique())
POSITIVE = {"check_id": "positive", "kind": "is_not_less_than", "enforcement": "quarantine", "column": "id", "limit": 1}
DAYS = dg.StaticPartitionsDefinition(["1", "2"])


def stated(path: Path | str) -> bool:
    return open_table(path).is_key(["id"])


def orders(value: Any, metadata: dict[str, Any], own: Recipe = OWN, **arguments: Any) -> list[Any]:
    @dg.asset(name="orders", metadata=metadata)
    def built() -> Any:
        return value

    return [built, *build_recipe_checks(asset=built, recipe=own, **arguments)]


@pytest.mark.parametrize(
    "value",
    [pa.table({"id": [1, 2, 3]}), pl.DataFrame({"id": [1, 2, 3]}), pl.LazyFrame({"id": [1, 2, 3]}), [pa.record_batch({"id": [1]})]],
    ids=["a table", "a frame", "a lazy frame", "batches"],
)
def test_a_check_of_a_key_that_the_file_states_reads_nothing(value: Any, tmp_path: Path):
    found = evaluations(run(orders(value, recipe_asset_metadata(OWN)), tmp_path))["id_u"]
    assert stated(tmp_path / "orders.parquet")
    assert (found.passed, figure(found, "bytes_scanned")) == (True, 0)
    assert found.description == f"key (id) is distinct across all {open_table(tmp_path / 'orders.parquet').rows} rows, as expected"


def test_a_deployment_may_have_keys_looked_for_all_the_same(tmp_path: Path):
    searching = DuckDBEngineResource(key_records=False)
    found = evaluations(run(orders(pa.table({"id": [1, 2, 3]}), recipe_asset_metadata(OWN), engine=searching), tmp_path))["id_u"]
    assert found.passed
    assert figure(found, "bytes_scanned") > 0


def test_a_key_that_repeats_is_stated_nowhere(tmp_path: Path):
    result = run(orders(pa.table({"id": [1, 2, 2]}), recipe_asset_metadata(OWN)), tmp_path)
    assert passed(result) == {"id_u": False}
    assert not stated(tmp_path / "orders.parquet")


def test_an_asset_without_the_recipes_metadata_states_nothing(tmp_path: Path):
    run(orders(pa.table({"id": [1, 2, 3]}), {}), tmp_path)
    assert not stated(tmp_path / "orders.parquet")


def test_the_metadata_names_each_key_once():
    grain = {"check_id": "grain_u", "kind": "key_uniqueness", "enforcement": "required"}
    trimmed = {"check_id": "t", "kind": "is_unique", "enforcement": "required", "columns": ["name"], "trim_strings": True}
    of_sql = {**trimmed, "check_id": "s", "trim_strings": False, "columns": [{"expression": "id + 1"}]}
    own = recipe(unique(), {**unique(), "check_id": "again"}, grain, trimmed, of_sql, table={"grain": ["station", "at"]})
    assert recipe_asset_metadata(own)["dq_dagster/keys"] == [["id"], ["station", "at"]]


def gated(ids: list[int], own: Recipe = OWN, **arguments: Any) -> dg.AssetsDefinition:
    @gated_asset(recipe=own, name="orders", **arguments)
    def built() -> pa.Table:
        return pa.table({"id": ids})

    return built


def test_the_gate_reads_the_rows_itself_and_publishes_what_states_its_key(tmp_path: Path):
    found = evaluations(run([gated([1, 2, 3])], tmp_path))["id_u"]
    assert found.passed
    assert figure(found, "bytes_scanned") > 0
    assert stated(tmp_path / "orders.parquet")


def test_the_rows_that_are_left_of_a_quarantine_state_their_key(tmp_path: Path):
    own = recipe(unique(), POSITIVE, quarantine={"to": "bad"})
    assert run([gated([0, 1, 2, 3], own)], tmp_path).success
    assert open_table(tmp_path / "orders.parquet").rows == 3
    assert stated(tmp_path / "orders.parquet")
    assert not stated(tmp_path / "bad.parquet")


@pytest.mark.parametrize("checks", [[unique()], [unique(), POSITIVE]], ids=["whole", "split"])
def test_a_gate_on_a_remote_file_system_states_keys_too(checks: list[dict[str, Any]]):
    own = recipe(*checks, quarantine={"to": "bad"})
    base = f"memory://{uuid.uuid4().hex}"
    result = dg.materialize([gated([1, 2, 3], own)], resources={"io_manager": ParquetIOManager(base_path=base)}, run_config=QUIET)
    assert result.success
    assert stated(f"{base}/orders.parquet")


def test_partitions_whose_keys_lie_apart_are_a_key_together(tmp_path: Path):
    @dg.asset(metadata=recipe_asset_metadata(OWN), partitions_def=DAYS)
    def orders(context: dg.AssetExecutionContext) -> pa.Table:
        first = 3 * int(context.partition_key)
        return pa.table({"id": [first, first + 1, first + 2]})

    for day in DAYS.get_partition_keys():
        assert run([orders], tmp_path, partition_key=day).success
    assert stated(tmp_path / "orders.parquet")
