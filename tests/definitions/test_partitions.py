"""Checks of partitioned assets: each partition by itself, in runs for one, for several and for none."""

# No `from __future__ import annotations` here: Dagster compares the annotation of an asset's context as it stands.
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dq_dagster.definitions.factory import build_recipe_checks
from dq_dagster.definitions.refusals import KeyRefused
from tests.definitions.warehouse import (
    QUIET,
    evaluations,
    failure_tags,
    figure,
    materialized,
    passed,
    recipe,
    rows,
    run,
    store,
    unique,
    within,
    write,
)

DAYS = dg.DailyPartitionsDefinition("2024-01-01", end_date="2024-01-04")
IDS = {"2024-01-01": [1, 2], "2024-01-02": [3, 3], "2024-01-03": [4]}


def day_by_day(ids: dict[str, list[int]] = IDS, partitions: Any = DAYS) -> list[dg.AssetsDefinition]:
    """orders of each day, and report downstream of it; both can be run for several days at once."""

    @dg.asset(partitions_def=partitions, backfill_policy=dg.BackfillPolicy.single_run())
    def orders(context: dg.AssetExecutionContext) -> dict[str, pa.Table]:
        return {str(key): pa.table({"id": ids[key]}) for key in context.partition_keys}

    @dg.asset(partitions_def=partitions, backfill_policy=dg.BackfillPolicy.single_run(), deps=[orders])
    def report() -> None: ...

    return [orders, report]


def in_range(first: str, last: str) -> dict[str, Any]:
    return {"tags": {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}}


def recorded(instance: dg.DagsterInstance, check: str, asset: str = "orders") -> dict[str | None, str]:
    """The status of a check in the instance's own history, by partition: what the UI shows."""
    key = dg.AssetCheckKey(dg.AssetKey(asset), check)
    history = instance.event_log_storage.get_asset_check_execution_history(key, limit=50)
    return {record.partition: record.status.value for record in reversed(history)}


def test_only_the_partition_of_the_run_is_checked(tmp_path: Path, instance: dg.DagsterInstance):
    """dag-partition-under-check: the partitions one at a time, then a backfill over all three"""
    assets = day_by_day()
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(unique(), rows(2, 2)))
    found: dict[str, dg.AssetCheckEvaluation] = {}
    for day in IDS:
        result = run([*assets, *checks], tmp_path, partition_key=day, instance=instance)
        assert materialized(result) == (["orders", "report"] if day == "2024-01-01" else ["orders"])
        found |= evaluations(result)
    expected = {
        "id_u[2024-01-01]": True,
        "n[2024-01-01]": True,
        "id_u[2024-01-02]": False,
        "n[2024-01-02]": True,
        "id_u[2024-01-03]": True,
        "n[2024-01-03]": False,
    }
    assert {name: one.passed for name, one in found.items()} == expected
    second = found["id_u[2024-01-02]"]
    assert (figure(second, "rows"), figure(second, "failed_rows"), figure(second, "rows_in_repeated_keys")) == (2, 1, 2)
    assert figure(second, "scope") == "orders[2024-01-02]"
    assert {**recorded(instance, "id_u")} == {"2024-01-01": "SUCCEEDED", "2024-01-02": "FAILED", "2024-01-03": "SUCCEEDED"}

    backfill = run([*assets, *checks], tmp_path, instance=instance, **in_range("2024-01-01", "2024-01-03"))
    assert passed(backfill) == expected
    assert materialized(backfill) == ["orders"] * 3
    assert not backfill.success
    assert recorded(instance, "id_u") == {"2024-01-01": "SUCCEEDED", "2024-01-02": "FAILED", "2024-01-03": "SUCCEEDED"}
    assert recorded(instance, "n") == {"2024-01-01": "SUCCEEDED", "2024-01-02": "SUCCEEDED", "2024-01-03": "FAILED"}
    in_range_second = evaluations(backfill)["id_u[2024-01-02]"]
    assert {key: value for key, value in in_range_second.metadata.items() if key != "seconds"} == {
        key: value for key, value in second.metadata.items() if key != "seconds"
    }
    assert in_range_second.description == second.description
    target = in_range_second.target_materialization_data
    assert target is not None
    assert target.run_id == backfill.run_id
    assert failure_tags(instance, backfill.run_id)["failure_detail"].startswith("ID_U: key (id) repeats on 1 of 2 rows")


@pytest.mark.parametrize("status", ["passed", "advisory failed"])
def test_a_range_that_nothing_blocks_goes_on(status: str, tmp_path: Path, instance: dg.DagsterInstance):
    assets = day_by_day()
    check = rows(1) if status == "passed" else unique(enforcement="advisory")
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(check))
    result = run([*assets, *checks], tmp_path, instance=instance, **in_range("2024-01-01", "2024-01-03"))
    assert result.success
    assert materialized(result) == ["orders"] * 3 + ["report"] * 3
    assert len(evaluations(result)) == 3
    assert {one.severity.name for one in evaluations(result).values()} == {"ERROR" if status == "passed" else "WARN"}


def test_a_range_of_one_partition_is_that_partition(tmp_path: Path, instance: dg.DagsterInstance):
    assets = day_by_day()
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(unique()))
    result = run([*assets, *checks], tmp_path, instance=instance, **in_range("2024-01-02", "2024-01-02"))
    assert passed(result) == {"id_u[2024-01-02]": False}
    assert materialized(result) == ["orders"]


def test_a_partition_that_cannot_be_read_fails_the_range_and_hides_no_other(tmp_path: Path, instance: dg.DagsterInstance):
    assets = day_by_day()
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(rows(1)), path=tmp_path / "elsewhere")
    for day in ("2024-01-01", "2024-01-03"):
        write(tmp_path / "elsewhere" / f"{day}.parquet", id=[1])
    result = run([*assets, *checks], tmp_path, instance=instance, **in_range("2024-01-01", "2024-01-03"))
    assert not result.success
    assert passed(result) == {"n[2024-01-01]": True, "n[2024-01-03]": True}
    assert materialized(result) == ["orders"] * 3
    assert recorded(instance, "n") == {"2024-01-01": "SUCCEEDED", "2024-01-02": "PLANNED", "2024-01-03": "SUCCEEDED"}
    tags = failure_tags(instance, result.run_id)
    assert tags["failure_code"] == "DECLARED_CHECK_UNREADABLE"
    assert "2024-01-02.parquet" in tags["failure_detail"]


def test_a_run_of_the_checks_for_one_partition_reads_that_partition(tmp_path: Path, instance: dg.DagsterInstance):
    assets = day_by_day()
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(unique(), rows(2, 2)))
    for day in IDS:
        run([assets[0]], tmp_path, partition_key=day)
    defs = dg.Definitions(assets=assets, asset_checks=checks, resources={"io_manager": store(tmp_path)}, executor=dg.in_process_executor)
    keys = {spec.key for spec in checks[0].check_specs}
    job = defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection=set(), asset_check_selection=keys)
    result = job.execute_in_process(instance=instance, tags={"dagster/partition": "2024-01-02"}, raise_on_error=False, run_config=QUIET)
    assert passed(result) == {"id_u[2024-01-02]": False, "n[2024-01-02]": True}
    assert materialized(result) == []


def test_a_run_without_a_partition_checks_the_whole_table(tmp_path: Path, instance: dg.DagsterInstance):
    assets = day_by_day({**IDS, "2024-01-03": [1]})
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(unique(), rows(5, 5)))
    for day in IDS:
        run([assets[0]], tmp_path, partition_key=day)
    result = run([*assets, *checks], tmp_path, instance=instance, selection=dg.AssetSelection.checks_for_assets("orders"))
    found = evaluations(result)
    assert passed(result) == {"id_u": False, "n": True}
    assert (figure(found["id_u"], "scope"), figure(found["id_u"], "failed_rows")) == ("orders", 2)


def test_an_unpartitioned_asset_in_a_partitioned_run_is_checked_whole(tmp_path: Path):
    @dg.asset
    def planes() -> pa.Table:
        return pa.table({"id": [1, 1]})

    assets = day_by_day()
    checks = build_recipe_checks(asset=planes, recipe=recipe(unique(), name="planes"))
    result = run([planes, assets[0], *checks], tmp_path, partition_key="2024-01-01")
    assert passed(result) == {"id_u": False}
    assert figure(evaluations(result)["id_u"], "scope") == "planes"


def test_partition_1_never_reads_partition_10(tmp_path: Path):
    """part-prefix-1-and-10"""
    folder = tmp_path / "asset.parquet"
    write(folder / "d=1" / "p.parquet", v=[5, 6])
    write(folder / "d=10" / "p.parquet", v=pa.array([500, None], pa.int64()))
    write(folder / "d=2" / "p.parquet", v=[7])
    asset = dg.AssetSpec("readings", partitions_def=dg.StaticPartitionsDefinition(["1", "10", "2"]))
    nothing_null = {"check_id": "v_n", "kind": "null_ceiling", "enforcement": "required", "columns": ["v"], "max_null_ppm": 0}
    own = recipe(rows(2, 2), within("v", "0", "10"), nothing_null)
    checks = build_recipe_checks(asset=asset, recipe=own, path=lambda partition: folder if partition is None else folder / f"d={partition}")
    result = run_checks(asset, checks, tmp_path, "1")
    assert passed(result) == {"n[1]": True, "v[1]": True, "v_n[1]": True}
    assert passed(run_checks(asset, checks, tmp_path, "10")) == {"n[10]": True, "v[10]": False, "v_n[10]": False}


def run_checks(asset: dg.AssetSpec, checks: Any, folder: Path, partition: str, **arguments: Any) -> dg.ExecuteInProcessResult:
    """Runs the checks of an external asset for one partition, beside an asset that lends the run its partitions."""

    @dg.asset(partitions_def=asset.partitions_def)
    def beside() -> None: ...

    selection = dg.AssetSelection.assets("beside") | dg.AssetSelection.checks_for_assets(asset.key)
    return run([asset, beside, *checks], folder, partition_key=partition, selection=selection, **arguments)


def test_each_key_has_its_own_file_however_it_is_spelled(tmp_path: Path, instance: dg.DagsterInstance):
    """part-key-slash-dot-space"""
    distinct = {"0.94-to-0.95": [1, 2], "a b": [3], "2024-01-01": [4], "1": [1], "a/b": [1], "_x": [1]}
    ids = {**distinct, "0.94-to-0.96": [1, 1], "10": [1, 1], ".x": [1, 1]}
    keys = dg.DynamicPartitionsDefinition(name="keys")
    instance.add_dynamic_partitions("keys", [*ids, "/etc/passwd", "../x"])
    assets = day_by_day({**ids, "/etc/passwd": [1], "../x": [1]}, keys)
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(unique()))
    for key in ids:
        result = run([*assets, *checks], tmp_path, partition_key=key, instance=instance)
        assert passed(result) == {f"id_u[{key}]": key in distinct}
    for key in ("/etc/passwd", "../x"):
        result = run([*assets, *checks], tmp_path, partition_key=key, instance=instance)
        assert not result.success
        assert materialized(result) == []
        external = dg.AssetSpec("orders", partitions_def=keys)
        by_path = build_recipe_checks(asset=external, recipe=recipe(unique()), path=tmp_path)
        refused = run_checks(external, by_path, tmp_path, key, instance=instance)
        detail = failure_tags(instance, refused.run_id)["failure_detail"]
        assert detail.startswith(f"asset orders: partition key {key!r} reads as a path that leaves the table's folder")


@pytest.mark.parametrize("key", ["/etc/passwd", "../x", "x" * 300])
def test_a_static_key_that_no_file_is_named_for_is_refused_when_definitions_load(key: str):
    asset = dg.AssetSpec("orders", partitions_def=dg.StaticPartitionsDefinition(["fine", key]))
    with pytest.raises(KeyRefused):
        build_recipe_checks(asset=asset, recipe=recipe(rows(1)))
    build_recipe_checks(asset=asset, recipe=recipe(rows(1)), path=lambda partition: "somewhere.parquet")


def test_multi_partitions_are_checked_one_by_one_and_in_a_range(tmp_path: Path, instance: dg.DagsterInstance):
    days, airports = dg.StaticPartitionsDefinition(["1", "10"]), dg.StaticPartitionsDefinition(["EWR", "JFK"])
    grid = dg.MultiPartitionsDefinition({"day": days, "airport": airports})
    ids = {"EWR|1": [1], "EWR|10": [1, 1], "JFK|1": [1], "JFK|10": [2]}
    assets = day_by_day(ids, grid)
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(unique()))
    for key in ids:
        airport, _, day = key.partition("|")
        result = run([*assets, *checks], tmp_path, partition_key=dg.MultiPartitionKey({"airport": airport, "day": day}), instance=instance)
        assert passed(result) == {f"id_u[{key}]": key != "EWR|10"}
        assert materialized(result) == (["orders", "report"] if key != "EWR|10" else ["orders"])
    whole = run([*assets, *checks], tmp_path, instance=instance, **in_range("EWR|1", "EWR|10"))
    assert passed(whole) == {"id_u[EWR|1]": True, "id_u[EWR|10]": False}
    assert set(materialized(whole)) == {"orders"}
    assert recorded(instance, "id_u")["EWR|10"] == "FAILED"


def test_a_key_argument_is_told_its_partitions(tmp_path: Path):
    assets = day_by_day()
    checks = build_recipe_checks(asset="orders", recipe=recipe(unique()), partitions_def=DAYS)
    assert passed(run([*assets, *checks], tmp_path, partition_key="2024-01-02")) == {"id_u[2024-01-02]": False}
