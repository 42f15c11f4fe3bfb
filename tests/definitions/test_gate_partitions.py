"""The gate of a partitioned asset: each partition has one of its own, in runs for one and for several."""

# No `from __future__ import annotations` here: Dagster compares the annotation of an asset's context as it stands.
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster.definitions.gate import gated_asset
from dq_dagster.definitions.refusals import ValueRefused
from dq_dagster.tables import open_table
from tests.definitions.test_gate import leftovers
from tests.definitions.test_partitions import in_range, recorded
from tests.definitions.warehouse import evaluations, failure_tags, figure, materialized, passed, recipe, run, unique

DAYS = dg.StaticPartitionsDefinition(["1", "2", "10"])
GOOD = {"1": [1, 2], "2": [3, 4], "10": [5]}
QUARANTINE = {"check_id": "positive", "kind": "is_not_less_than", "enforcement": "quarantine", "column": "id", "limit": 1}


def by_day(ids: dict[str, list[int]], partitions: Any = DAYS, **members: Any) -> list[dg.AssetsDefinition]:
    """orders of each day behind a gate, and report downstream; both can be run for several days at once."""
    checks = [unique(), *([QUARANTINE] if members else [])]

    @gated_asset(recipe=recipe(*checks, **members), partitions_def=partitions, backfill_policy=dg.BackfillPolicy.single_run())
    def orders(context: dg.AssetExecutionContext) -> Any:
        tables = {str(key): pa.table({"id": ids[key]}) for key in context.partition_keys}
        return tables if context.has_partition_key_range else tables[context.partition_key]

    @dg.asset(partitions_def=partitions, backfill_policy=dg.BackfillPolicy.single_run(), deps=[orders])
    def report() -> None: ...

    return [orders, report]


def stored(folder: Path, name: str = "orders") -> dict[str, list[int]]:
    """What a reader finds, by partition."""
    found = sorted((folder / f"{name}.parquet").glob("*.parquet"))
    return {path.stem: pq.ParquetFile(path).read()["id"].to_pylist() for path in found}


def test_each_partition_is_published_or_not_by_itself(tmp_path: Path, instance: dg.DagsterInstance):
    for day in ("1", "2"):
        assert run(by_day(GOOD), tmp_path, partition_key=day, instance=instance).success
    result = run(by_day({"2": [7, 7]}), tmp_path, partition_key="2", instance=instance)
    assert not result.success
    assert materialized(result) == []
    assert stored(tmp_path) == {"1": [1, 2], "2": [3, 4]}
    assert figure(evaluations(result)["id_u[2]"], "scope") == "orders[2]"
    assert recorded(instance, "id_u") == {"1": "SUCCEEDED", "2": "FAILED"}
    told = instance.fetch_materializations(dg.AssetKey("orders"), limit=1).records[0].asset_materialization
    assert told is not None
    assert told.metadata["dagster/partition_row_count"].value == 2


@pytest.mark.parametrize("quarantines", [False, True])
def test_of_a_range_the_partitions_that_pass_are_published(quarantines: bool, tmp_path: Path, instance: dg.DagsterInstance):
    members: dict[str, Any] = {"quarantine": {"to": "bad"}} if quarantines else {}
    good = run(by_day(GOOD, **members), tmp_path, instance=instance, **in_range("1", "10"))
    assert good.success
    each = ["orders", "bad"] if quarantines else ["orders"]
    assert sorted(materialized(good)) == sorted([*each * 3, *["report"] * 3])
    assert stored(tmp_path) == GOOD
    again = {"1": [10, -1], "2": [7, 7], "10": [50]}
    result = run(by_day(again, **members), tmp_path, instance=instance, **in_range("1", "10"))
    assert not result.success
    assert sorted(materialized(result)) == sorted(each * 2)
    kept = [10] if quarantines else [10, -1]
    assert stored(tmp_path) == {"1": kept, "2": [3, 4], "10": [50]}
    if quarantines:
        assert stored(tmp_path, "bad") == {"1": [-1], "2": [], "10": []}
    found = passed(result)
    assert {name: found[name] for name in found if name.startswith("id_u")} == {"id_u[1]": True, "id_u[2]": False, "id_u[10]": True}
    assert recorded(instance, "id_u") == {"1": "SUCCEEDED", "2": "FAILED", "10": "SUCCEEDED"}
    assert recorded(instance, "_replay_equivalence") == dict.fromkeys(GOOD, "SUCCEEDED")
    assert failure_tags(instance, result.run_id)["failure_detail"].startswith("ID_U: key (id) repeats on 1 of 2 rows")
    records = instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=dg.AssetKey("orders"), asset_partitions=["10"]), limit=1
    ).records
    assert records[0].asset_materialization is not None
    assert records[0].asset_materialization.metadata["dagster/partition_row_count"].value == 1
    assert leftovers(tmp_path) == []


def test_partition_keys_may_be_odd_come_later_and_have_two_dimensions(tmp_path: Path, instance: dg.DagsterInstance):
    odd = ["a b/c", "100%", "ünï|?*[x]", ".hidden"]
    dynamic = dg.DynamicPartitionsDefinition(name="shops")
    quarantine = {"quarantine": {"to": "bad"}}
    for number, key in enumerate(odd):
        instance.add_dynamic_partitions("shops", [key])
        assets = by_day({key: [number, -1]}, dynamic, **quarantine)
        result = run(assets, tmp_path, partition_key=key, instance=instance)
        assert result.success, key
        assert figure(evaluations(result)[f"id_u[{key}]"], "scope") == f"orders[{key}]"
    assert open_table(tmp_path / "orders.parquet").rows == 3
    assert open_table(tmp_path / "bad.parquet").rows == 5  # 0 is not positive either
    two = dg.MultiPartitionsDefinition({"day": DAYS, "shop": dg.StaticPartitionsDefinition(["x", "y"])})
    key = dg.MultiPartitionKey({"day": "1", "shop": "y"})
    assert run(by_day({str(key): [1]}, two), tmp_path / "two", partition_key=key, instance=instance).success
    assert stored(tmp_path / "two") == {"1%7Cy": [1]}


def test_a_range_wants_a_table_for_each_partition(tmp_path: Path):
    @gated_asset(recipe=recipe(unique()), partitions_def=DAYS, backfill_policy=dg.BackfillPolicy.single_run())
    def orders() -> Any:
        return {"1": pa.table({"id": [1]})}

    with pytest.raises(ValueRefused, match="lacks or adds '10', '2'; give a table for each partition of the run: '1', '2', '10'"):
        dg.materialize([orders], resources={"io_manager": _store(tmp_path)}, **in_range("1", "10"))


def test_what_was_published_before_the_function_broke_is_recorded(tmp_path: Path):
    @gated_asset(recipe=recipe(unique()), partitions_def=DAYS, backfill_policy=dg.BackfillPolicy.single_run())
    def orders() -> Any:
        def broken() -> Iterator[pa.RecordBatch]:
            yield from pa.table({"id": [2]}).to_batches()
            raise OSError("the source is gone")

        return {"1": pa.table({"id": [1]}), "2": broken(), "10": pa.table({"id": [3]})}

    result = run([orders], tmp_path, **in_range("1", "10"))
    assert not result.success
    assert [event.partition for event in result.get_asset_materialization_events()] == ["1"]
    assert stored(tmp_path) == {"1": [1]}
    assert leftovers(tmp_path) == []


def _store(folder: Path) -> Any:
    from tests.definitions.warehouse import store

    return store(folder)


def daemons_definitions() -> dg.Definitions:
    """What the daemon of the test below loads: day 2 fails."""
    data = Path(os.environ["DAGSTER_HOME"]).parent / "base"
    several = by_day({"1": [1], "2": [7, 7], "10": [5]}, quarantine={"to": "bad"})
    return dg.Definitions(assets=several, resources={"io_manager": _store(data)}, executor=dg.in_process_executor)


def _everything() -> Any:
    from dagster._core.definitions.selector import PartitionRangeSelector, PartitionsSelector

    return PartitionsSelector(ranges=[PartitionRangeSelector(start="1", end="10")])


@pytest.mark.slow
def test_the_backfill_daemon_gives_every_partition_its_own_result(tmp_path: Path):
    from dagster._core.definitions.selector import PartitionsByAssetSelector
    from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill

    home = tmp_path / "home"
    home.mkdir()
    coordinator = (
        "run_coordinator: {module: dagster._core.run_coordinator, class: QueuedRunCoordinator, config: {dequeue_interval_seconds: 1}}\n"
    )
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n" + coordinator)
    (tmp_path / "defs.py").write_text(
        "from tests.definitions.test_gate_partitions import daemons_definitions\ndefs = daemons_definitions()\n"
    )
    environment = {**os.environ, "DAGSTER_HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "dagster._daemon", "run", "-f", str(tmp_path / "defs.py")]
    with dg.DagsterInstance.from_config(str(home)) as instance:
        graph = dg.Definitions(assets=by_day(GOOD, quarantine={"to": "bad"})).resolve_asset_graph()
        chosen = [PartitionsByAssetSelector(asset_key=dg.AssetKey(name), partitions=_everything()) for name in ("orders", "bad", "report")]
        backfill = PartitionBackfill.from_partitions_by_assets(
            backfill_id="gated",
            asset_graph=graph,
            backfill_timestamp=time.time(),
            tags={},
            dynamic_partitions_store=instance,
            partitions_by_assets=chosen,
            title=None,
            description=None,
            run_config=None,
        )
        instance.add_backfill(backfill)
        with (tmp_path / "daemon.log").open("w") as log:
            daemon = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 240
            while time.monotonic() < deadline:
                state = instance.get_backfill("gated")
                if state is not None and state.status not in (BulkActionStatus.REQUESTED, BulkActionStatus.FAILING):
                    break
                time.sleep(1)
        finally:
            daemon.terminate()
            daemon.wait(60)
        runs = instance.get_runs()
        log_text = (tmp_path / "daemon.log").read_text()[-3000:]
        assert [one.status for one in runs] == [dg.DagsterRunStatus.FAILURE], log_text
        assert recorded(instance, "id_u") == {"1": "SUCCEEDED", "2": "FAILED", "10": "SUCCEEDED"}
        assert recorded(instance, "positive") == dict.fromkeys(GOOD, "SUCCEEDED")
        assert instance.get_materialized_partitions(dg.AssetKey("orders")) == {"1", "10"}
        assert instance.get_materialized_partitions(dg.AssetKey("bad")) == {"1", "10"}
        assert instance.get_materialized_partitions(dg.AssetKey("report")) == set()
    assert stored(tmp_path / "base") == {"1": [1], "10": [5]}
