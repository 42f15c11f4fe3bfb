"""What checks run on, given in the three ways a user may give it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pyarrow as pa
import pytest
from dagster_duckdb import DuckDBResource

from dq_dagster.definitions.factory import build_recipe_checks
from dq_dagster.definitions.receipts import read_receipts
from dq_dagster.definitions.refusals import EngineRefused
from dq_dagster.definitions.resources import DuckDBEngineResource
from dq_dagster.limits import Limits
from tests.definitions.warehouse import evaluations, figure, passed, recipe, rows, run, unique, write

OWN = recipe(unique(), rows(1))


@dg.asset
def orders() -> pa.Table:
    return pa.table({"id": [1, 1, 2]})


@pytest.mark.parametrize(
    ("engine", "resources"),
    [
        (None, {}),
        (DuckDBResource(database=":memory:"), {}),
        (DuckDBEngineResource(), {}),
        ("dq_engine", {"dq_engine": DuckDBEngineResource()}),
        ("duckdb", {"duckdb": DuckDBResource(database=":memory:")}),
    ],
    ids=["default", "DuckDBResource", "DuckDBEngineResource", "key of ours", "key of dagster-duckdb's"],
)
def test_an_engine_may_be_given_in_any_way(engine: Any, resources: dict[str, Any], tmp_path: Path):
    result = run([orders, *build_recipe_checks(asset=orders, recipe=OWN, engine=engine)], tmp_path, resources=resources)
    assert passed(result) == {"id_u": False, "n": True}
    assert figure(evaluations(result)["id_u"], "engine") == "duckdb"


def test_a_deployment_sets_its_budgets_in_one_place(tmp_path: Path):
    @dg.asset
    def flights() -> pa.Table:
        return pa.table({"id": [1, 1, 2]})

    checks = [check for asset in (orders, flights) for check in build_recipe_checks(asset=asset, recipe=OWN, engine="dq_engine")]
    result = run([orders, flights, *checks], tmp_path, resources={"dq_engine": DuckDBEngineResource(scan_bytes=1)})
    statuses = [(one.check_name, figure(one, "status")) for one in result.get_asset_check_evaluations()]
    assert sorted(statuses) == [("id_u", "not_evaluated"), ("id_u", "not_evaluated"), ("n", "passed"), ("n", "passed")]


def test_limits_that_are_given_stand_instead_of_the_resources(tmp_path: Path):
    checks = build_recipe_checks(asset=orders, recipe=OWN, engine=DuckDBEngineResource(scan_bytes=1), limits=Limits())
    assert passed(run([orders, *checks], tmp_path)) == {"id_u": False, "n": True}


def test_a_resource_says_every_budget():
    stated: dict[str, Any] = {"scan_bytes": 9, "scan_seconds": 1.5, "memory_limit": "2GiB", "max_temp_bytes": 5, "threads": 1}
    resource = DuckDBEngineResource(**stated, temp_directory="", verify_checksums=True)
    assert resource.limits() == Limits(**stated, temp_directory="", verify_checksums=True)
    assert DuckDBEngineResource().limits() == Limits()


def test_a_database_of_the_users_is_refused_when_definitions_load(tmp_path: Path):
    with pytest.raises(EngineRefused) as refused:
        build_recipe_checks(asset=orders, recipe=OWN, engine=DuckDBResource(database="work.duckdb"))
    assert str(refused.value) == (
        "the DuckDBResource opens the database 'work.duckdb', and checks run in one of their own: they lock the connection's "
        "configuration, which would lock your other work on it; give DuckDBResource(database=':memory:'), or leave engine out"
    )


def test_a_database_that_only_the_run_knows_is_refused_in_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DATABASE", str(tmp_path / "work.duckdb"))
    for engine, resources in (
        (DuckDBResource(database=dg.EnvVar("DATABASE")), {}),
        ("duckdb", {"duckdb": DuckDBResource(database=str(tmp_path / "work.duckdb"))}),
    ):
        result = run([orders, *build_recipe_checks(asset=orders, recipe=OWN, engine=engine)], tmp_path, resources=resources)
        failure = result.failure_data_for_node("check_orders")
        assert failure is not None
        assert "checks run in one of their own" in str(failure.error)
    assert not os.path.exists(tmp_path / "work.duckdb")


@pytest.mark.parametrize(("engine", "resources"), [(duckdb, {}), ("io_manager", {})], ids=["no resource", "key of another"])
def test_what_is_no_engine_is_refused(engine: Any, resources: dict[str, Any], tmp_path: Path):
    if not isinstance(engine, str):
        with pytest.raises(
            EngineRefused,
            match="engine is a module; give a DuckDBEngineResource, a SparkEngineResource, a DuckDBResource, a PySparkResource, or the key of one",
        ):
            build_recipe_checks(asset=orders, recipe=OWN, engine=engine)
        return
    result = run([orders, *build_recipe_checks(asset=orders, recipe=OWN, engine=engine)], tmp_path, resources=resources)
    failure = result.failure_data_for_node("check_orders")
    assert failure is not None
    told = "and checks run on a DuckDBEngineResource, a SparkEngineResource, a DuckDBResource, a PySparkResource"
    assert f"resource 'io_manager' is a ParquetIOManager, {told}" in str(failure.error)


def test_a_deployment_keeps_what_it_knows_of_parts_in_one_place(tmp_path: Path):
    for number in range(3):
        write(tmp_path / "parts" / f"{number}.parquet", id=pa.array(range(number * 50_000, (number + 1) * 50_000), pa.int64()))

    @dg.asset
    def nothing() -> None: ...

    engine = DuckDBEngineResource(remember=str(tmp_path / "known"), receipts=str(tmp_path / "receipts"))
    checks = build_recipe_checks(asset=nothing, recipe=OWN, path=tmp_path / "parts", engine=engine)
    for _ in range(2):
        assert passed(run([nothing, *checks], tmp_path / "store")) == {"id_u": True, "n": True}
    assert sorted(receipt["remembered_parts"] for receipt in read_receipts(str(tmp_path / "receipts"))) == [0, 3]
