"""Tables that a recipe refers to, as Dagster sees them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pyarrow as pa
import pytest

from dq_dagster.definitions.factory import build_recipe_checks
from dq_dagster.definitions.placing import Placing
from tests.definitions.warehouse import materialized, recipe, rows, run, store

REFERRING = recipe(rows(1), references={"planes": {"asset": "raw/planes"}, "codes": {"path": "codes.parquet"}})


def test_checks_wait_for_the_assets_that_the_recipe_refers_to(tmp_path: Path):
    @dg.asset
    def orders() -> pa.Table:
        return pa.table({"id": [1]})

    @dg.asset(key=["raw", "planes"])
    def planes() -> pa.Table:
        return pa.table({"id": [1]})

    (checks,) = build_recipe_checks(asset=orders, recipe=REFERRING)
    assert [dep.asset_key for spec in checks.check_specs for dep in spec.additional_deps] == [planes.key]
    result = run([orders, planes, checks], tmp_path)
    order = [event.node_name for event in result.all_events if event.is_step_start]
    assert order[-1] == "check_orders"
    assert sorted(materialized(result)) == ["orders", "raw/planes"]


def test_a_reference_is_found_where_its_asset_is_stored_unless_it_is_given(tmp_path: Path):
    resources = SimpleNamespace(io_manager=store(tmp_path))
    table = pa.table({"id": [1]})
    planes = {"planes": dg.AssetKey(["raw", "planes"])}
    placing = Placing(asset_key=dg.AssetKey("orders"), path="x", io_manager_key="io_manager", references={"codes": table}, assets=planes)
    assert placing.references_of(resources) == {"codes": table, "planes": f"{tmp_path}/raw/planes.parquet"}
    assert placing.required_resource_keys == {"io_manager"}
    orders = dg.AssetKey("orders")
    given = Placing(asset_key=orders, path="x", io_manager_key="io_manager", references={"planes": tmp_path / "p"}, assets={})
    assert given.references_of(object()) == {"planes": str(tmp_path / "p")}
    assert given.required_resource_keys == set()


def test_a_reference_that_is_given_is_no_dependency():
    (checks,) = build_recipe_checks(asset="orders", recipe=REFERRING, references={"planes": "planes.parquet"})
    assert [list(spec.additional_deps) for spec in checks.check_specs] == [[]]


@pytest.mark.parametrize("argument", ["path", "reference"])
def test_a_path_may_be_a_universal_one(argument: str, tmp_path: Path):
    from upath import UPath

    remote = UPath("memory://bucket/t.parquet")
    placing = Placing(asset_key=dg.AssetKey("orders"), path=remote, io_manager_key="io_manager", references={"a": remote}, assets={})  # pyright: ignore[reportArgumentType]  # no fspath
    assert placing.table_of(None, object()) == placing.references_of(object())["a"] == "memory://bucket/t.parquet"
    assert placing.table_of("a b", object()) == "memory://bucket/t.parquet/a%20b.parquet"
