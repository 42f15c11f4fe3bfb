"""A recipe bound to an asset that is not partitioned: what blocks, what warns, what is read, and how it fails."""

# No `from __future__ import annotations` here: Dagster compares the annotation of an asset's context as it stands.
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dq_dagster.definitions.factory import build_recipe_checks
from dq_dagster.definitions.refusals import AssetRefused, KeyRefused, QuarantineNeedsGate
from dq_dagster.errors import RecipeRefused
from dq_dagster.limits import Limits
from tests.definitions.warehouse import (
    evaluations,
    failure_tags,
    figure,
    materialized,
    nulls,
    passed,
    recipe,
    rows,
    run,
    store,
    stored_events,
    unique,
    within,
    write,
)


def chain(table: pa.Table, io_manager_key: str = "io_manager") -> list[dg.AssetsDefinition]:
    """orders, and report which is downstream of it."""

    @dg.asset(io_manager_key=io_manager_key)
    def orders() -> pa.Table:
        return table

    @dg.asset
    def report(orders: pa.Table) -> pa.Table:
        return orders

    return [orders, report]


def event_metadata(result: dg.ExecuteInProcessResult, step: str) -> dict[str, Any]:
    failure = result.failure_data_for_node(step)
    assert failure is not None
    assert failure.user_failure_data is not None
    return {key: value.value for key, value in failure.user_failure_data.metadata.items()}


def test_a_failed_required_check_stops_downstream_and_hides_no_other_result(tmp_path: Path, instance: dg.DagsterInstance):
    """dag-blocking-multi-check"""
    assets = chain(pa.table({"id": [1, 1, 2], "v": [1, 2, 300]}))
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(unique(), within("v", "0", "100", "advisory"), rows(1)))
    result = run([*assets, *checks], tmp_path, instance=instance)
    assert not result.success
    assert materialized(result) == ["orders"]
    assert passed(result) == {"id_u": False, "v": False, "n": True}
    found = evaluations(result)
    assert {name: one.severity.name for name, one in found.items()} == {"id_u": "ERROR", "v": "WARN", "n": "ERROR"}
    assert {name: one.blocking for name, one in found.items()} == {"id_u": True, "v": False, "n": True}
    detail = "key (id) repeats on 1 of 3 rows, first at (1,), where 0 repeats were expected"
    assert found["id_u"].description == detail
    assert (figure(found["id_u"], "failed_rows"), figure(found["id_u"], "rows_in_repeated_keys")) == (1, 2)
    failure = {"failure_code": "CHECK_FAILED", "failed_stage": "check", "failure_detail": f"ID_U: {detail}"}
    assert failure_tags(instance, result.run_id) == failure
    assert {key: figure(found["id_u"], key) for key in failure} == failure
    assert "failure_code" not in found["v"].metadata


def test_a_failed_advisory_check_warns_and_lets_the_run_go_on(tmp_path: Path, instance: dg.DagsterInstance):
    """dag-advisory-is-warn"""
    assets = chain(pa.table({"id": [1, 2, 3], "v": pa.array([None, None, 3], pa.int64())}))
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(nulls("v", 0, "advisory")))
    result = run([*assets, *checks], tmp_path, instance=instance)
    assert result.success
    assert materialized(result) == ["orders", "report"]
    (evaluation,) = result.get_asset_check_evaluations()
    assert (evaluation.passed, evaluation.severity, evaluation.blocking) == (False, dg.AssetCheckSeverity.WARN, False)
    assert failure_tags(instance, result.run_id) == {}


def test_a_check_over_its_budget_is_not_evaluated_and_blocks_nothing(tmp_path: Path):
    assets = chain(pa.table({"id": [1, 1, 2]}))
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(unique(), rows(1)), limits=Limits(scan_bytes=1))
    result = run([*assets, *checks], tmp_path)
    assert result.success
    assert materialized(result) == ["orders", "report"]
    found = evaluations(result)
    assert passed(result) == {"id_u": False, "n": True}
    assert (found["id_u"].severity.name, figure(found["id_u"], "status")) == ("WARN", "not_evaluated")
    assert figure(found["id_u"], "not_evaluated_reason").startswith("CHECK_SCAN_BUDGET_EXCEEDED: estimated scan of ")


def test_metadata_is_strict_json_whatever_is_measured(tmp_path: Path, instance: dg.DagsterInstance):
    """dag-metadata-types"""
    floats = pa.array([math.nan, math.inf, 1.0, None], pa.float64())
    decimals = pa.array([Decimal("1.10"), None, Decimal("3.30"), Decimal("4.40")], pa.decimal128(10, 2))
    assets = chain(pa.table({"v": floats, "x": decimals, "big": pa.array([2**53 + 1] * 4), "wide": pa.array([2**64 - 1] * 4, pa.uint64())}))
    checks = [within("v", "0", "1"), within("x", "0", "3"), within("big", "0", "1"), within("wide", "0", "1")]
    own = recipe(*({**one, "metadata": {"ratio": 0.5, "tags": ["a"]}} for one in checks))
    result = run([*assets, *build_recipe_checks(asset=assets[0], recipe=own)], tmp_path, instance=instance)
    found = evaluations(result)
    assert [figure(found[name], "failed_rows") for name in ("v", "x", "big", "wide")] == [2, 2, 4, 4]
    assert (figure(found["v"], "min"), figure(found["v"], "max")) == (1.0, "inf")
    assert (figure(found["x"], "min"), figure(found["x"], "max")) == ("1.10", "4.40")
    assert (figure(found["big"], "max"), figure(found["wide"], "max")) == ("9007199254740993", "18446744073709551615")
    assert figure(found["x"], "tags") == ["a"]
    assert len(stored_events(instance, result.run_id)) > 10


def test_a_subset_evaluates_and_reads_only_what_it_selects(tmp_path: Path):
    @dg.asset
    def orders() -> pa.Table:
        return pa.table({"id": list(range(10_000)), "v": [float(number) for number in range(10_000)]})

    checks = build_recipe_checks(asset=orders, recipe=recipe(unique(), within("v", "0", "1"), rows(1)))
    everything = run([orders, *checks], tmp_path)
    assert list(passed(everything)) == ["id_u", "v", "n"]

    def select(name: str) -> dict[str, dg.AssetCheckEvaluation]:
        selection = dg.AssetSelection.checks(dg.AssetCheckKey(orders.key, name))
        return evaluations(run([orders, *checks], tmp_path, selection=selection))

    subset = {**select("id_u"), **select("n")}
    assert {name: one.passed for name, one in subset.items()} == {"id_u": True, "n": True}
    assert 0 < figure(subset["id_u"], "bytes_scanned") <= 10_000 * 10
    assert figure(subset["n"], "bytes_scanned") == 0


def test_an_unreadable_table_fails_the_run_and_blocks(tmp_path: Path, instance: dg.DagsterInstance):
    @dg.asset
    def orders() -> None:
        (tmp_path / "orders.parquet").write_bytes(b"PAR1 this is cut short")

    @dg.asset(deps=[orders])
    def report() -> None: ...

    checks = build_recipe_checks(asset=orders, recipe=recipe(unique(), rows(1, enforcement="advisory")))
    result = run([orders, report, *checks], tmp_path, instance=instance)
    assert not result.success
    assert materialized(result) == ["orders"]
    assert result.get_asset_check_evaluations() == []
    place = tmp_path / "orders.parquet"
    failure = {
        "failure_code": "DECLARED_CHECK_UNREADABLE",
        "failed_stage": "check",
        "failure_detail": f"{place}: the file begins as a Parquet file and does not end as one: it was cut short; write it again",
    }
    assert failure_tags(instance, result.run_id) == failure
    assert event_metadata(result, "check_orders") == failure


def test_an_unreadable_table_is_read_again_where_the_step_may_be_retried(tmp_path: Path, instance: dg.DagsterInstance):
    @dg.asset
    def orders() -> None: ...

    attempts: list[int] = []

    def path(partition: str | None) -> Path:
        attempts.append(1)
        return write(tmp_path / "late.parquet", id=[1]) if len(attempts) == 2 else tmp_path / "late.parquet"

    checks = build_recipe_checks(asset=orders, recipe=recipe(unique()), path=path, retry_policy=dg.RetryPolicy(max_retries=1))
    result = run([orders, *checks], tmp_path, instance=instance)
    assert passed(result) == {"id_u": True}
    assert (len(attempts), failure_tags(instance, result.run_id)) == (2, {})
    (tmp_path / "late.parquet").unlink()
    result = run([orders, *checks], tmp_path, instance=instance)
    assert (len(attempts), failure_tags(instance, result.run_id)["failure_code"]) == (4, "DECLARED_CHECK_UNREADABLE")


def test_a_recipe_that_does_not_fit_the_stored_table_fails_the_run_and_is_not_retried(tmp_path: Path, instance: dg.DagsterInstance):
    assets = chain(pa.table({"id": [1]}))
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(unique("idd")), retry_policy=dg.RetryPolicy(max_retries=3))
    result = run([*assets, *checks], tmp_path, instance=instance)
    assert materialized(result) == ["orders"]
    failure = {
        "failure_code": "DECLARED_CHECK_COLUMN_UNKNOWN",
        "failed_stage": "acquire",
        "failure_detail": "at /checks/0/columns/0: check IDD_U names column 'idd', which the table does not hold; did you mean 'id'?",
    }
    assert failure_tags(instance, result.run_id) == failure
    assert event_metadata(result, "check_orders") == failure
    assert not [event for event in result.all_events if event.event_type_value == "STEP_UP_FOR_RETRY"]


def test_a_bug_is_raised_and_blocks(tmp_path: Path):
    assets = chain(pa.table({"id": [1]}))

    def path(partition: str | None) -> str:
        raise ZeroDivisionError

    checks = build_recipe_checks(asset=assets[0], recipe=recipe(rows(1)), path=path)
    result = run([*assets, *checks], tmp_path)
    assert not result.success
    assert materialized(result) == ["orders"]


def test_the_first_failure_of_a_run_stays_its_failure(tmp_path: Path, instance: dg.DagsterInstance):
    assets = chain(pa.table({"id": [1, 1]}))
    one = build_recipe_checks(asset=assets[0], recipe=recipe(unique()))
    other = build_recipe_checks(asset=assets[0], recipe=recipe(unique("nope"), name="strict"))
    result = run([*assets, *one, *other], tmp_path, instance=instance)
    failed = [event.node_name for event in result.all_events if event.is_step_failure]
    assert sorted(failed) == ["check_orders", "check_orders___by_strict"]
    code = "CHECK_FAILED" if failed[0] == "check_orders" else "DECLARED_CHECK_COLUMN_UNKNOWN"
    assert failure_tags(instance, result.run_id)["failure_code"] == code


def test_the_log_has_a_line_for_each_check_that_did_not_pass_and_one_for_those_that_did(tmp_path: Path, instance: dg.DagsterInstance):
    assets = chain(pa.table({"id": [1, 1], "v": [1, 200]}))
    declared = recipe(unique(), within("v", "0", "100", "advisory"), rows(1), within("id", "1", "1"))
    checks = build_recipe_checks(asset=assets[0], recipe=declared)
    result = run([*assets, *checks], tmp_path, instance=instance)
    lines = [(entry.level, entry.user_message) for entry in instance.all_logs(result.run_id) if entry.step_key == "check_orders"]
    assert [line for line in lines if line[1].startswith("orders: ")] == [
        (20, "orders: 2 of 4 checks passed: N, ID"),
        (40, "orders: ID_U failed: key (id) repeats on 1 of 2 rows, first at (1,), where 0 repeats were expected"),
        (30, "orders: V failed: column 'v' holds '200', above the declared maximum of 100"),
    ]


def test_a_sensitive_value_appears_in_no_event_of_the_run(tmp_path: Path, instance: dg.DagsterInstance):
    assets = chain(pa.table({"id": [1, 2], "card": ["4111-1111", "4111-1111"]}))
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(unique("card"), table={"sensitive": ["card"]}))
    result = run([*assets, *checks], tmp_path, instance=instance)
    assert passed(result) == {"card_u": False}
    assert "4111-1111" not in str(stored_events(instance, result.run_id)) + str(failure_tags(instance, result.run_id))


def test_a_spec_says_what_its_check_asserts():
    described = {**rows(1), "check_id": "described", "description": "Some orders came.", "metadata": {"owner": "sales", "kind": "own"}}
    (checks,) = build_recipe_checks(asset="orders", recipe=recipe(within("v", "0", "100", "advisory"), described))
    specs = {spec.name: spec for spec in checks.check_specs}
    assert specs["v"].description == (
        "Every non-NULL value of the column lies in the interval from `min_value` to `max_value`, both ends allowed "
        "(columns v, min_value 0, max_value 100)."
    )
    assert specs["described"].description == "Some orders came."
    assert specs["described"].metadata == {"kind": "row_expectation", "enforcement": "required", "owner": "sales", "recipe/kind": "own"}
    assert [specs[name].blocking for name in ("v", "described")] == [False, True]


def test_an_external_asset_is_checked_by_its_path(tmp_path: Path):
    path = write(tmp_path / "elsewhere" / "data [1].parquet", id=[1, 1])
    orders = dg.AssetSpec("orders")

    @dg.asset(deps=[orders])
    def report() -> None: ...

    for place in (path, str(path), path.parent, lambda partition: path):
        checks = build_recipe_checks(asset=orders, recipe=recipe(unique()), path=place)
        selection = dg.AssetSelection.assets("report") | dg.AssetSelection.checks_for_assets("orders")
        result = run([orders, report, *checks], tmp_path, selection=selection)
        assert passed(result) == {"id_u": False}
        assert materialized(result) == []


def test_an_asset_that_another_io_manager_stores_needs_a_path(tmp_path: Path, instance: dg.DagsterInstance):
    assets = chain(pa.table({"id": [1]}), io_manager_key="pickles")
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(rows(1)))
    result = run([*assets, *checks], tmp_path, instance=instance, resources={"pickles": dg.mem_io_manager})
    assert materialized(result) == ["orders"]
    assert failure_tags(instance, result.run_id)["failure_detail"] == (
        "asset orders: is stored by InMemoryIOManager (resource 'pickles'), which does not say where; "
        "store it with ParquetIOManager, or give build_recipe_checks the argument path=…"
    )


def test_the_io_manager_of_the_asset_is_the_one_that_is_asked(tmp_path: Path):
    assets = chain(pa.table({"id": [1, 1]}), io_manager_key="lake")
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(unique()))
    result = run([*assets, *checks], tmp_path / "a", resources={"lake": store(tmp_path / "b")})
    assert passed(result) == {"id_u": False}
    by_key = build_recipe_checks(asset="orders", recipe=recipe(unique()), io_manager_key="lake")
    assert passed(run([*assets, *by_key], tmp_path / "a", resources={"lake": store(tmp_path / "b")})) == {"id_u": False}
    by_spec = build_recipe_checks(asset=assets[0].get_asset_spec(), recipe=recipe(unique()), io_manager_key="lake")
    assert passed(run([*assets, *by_spec], tmp_path / "a", resources={"lake": store(tmp_path / "b")})) == {"id_u": False}


def test_a_recipe_comes_as_a_model_a_document_or_a_file(tmp_path: Path):
    document = {"recipe": "orders", "table": {"name": "orders"}, "checks": [{**rows(1), "enforcement": "required"}]}
    file = tmp_path / "orders.yaml"
    check = "{check_id: n, kind: row_expectation, enforcement: required, min_rows: 1}"
    file.write_text(f"recipe: orders\ntable: {{name: orders}}\nchecks:\n- {check}\n")
    for source in (recipe(rows(1)), document, file, str(file)):
        (checks,) = build_recipe_checks(asset="orders", recipe=source)
        assert [spec.name for spec in checks.check_specs] == ["n"]


def test_a_recipe_with_problems_is_refused_when_definitions_load():
    with pytest.raises(RecipeRefused):
        build_recipe_checks(asset="orders", recipe={"recipe": "orders", "table": {"name": "orders"}, "checks": [{"check_id": "n"}]})


def test_a_recipe_that_quarantines_needs_a_gate():
    own = recipe(rows(1), within("v", "0", "1", "quarantine"), quarantine={"to": "orders_quarantine"})
    with pytest.raises(QuarantineNeedsGate) as refused:
        build_recipe_checks(asset="orders", recipe=own)
    assert str(refused.value) == (
        "recipe 'orders' has checks with enforcement quarantine (v), and build_recipe_checks checks what is already stored: rows can leave "
        "a table only before it is published, so build the asset with a gate, or make these checks required or advisory"
    )


def test_asset_keys_that_dagster_flattens_do_not_meet(tmp_path: Path):
    """dag-asset-key-with-dot"""

    @dg.asset(key=["raw", "orders"])
    def nested() -> pa.Table:
        return pa.table({"id": [1, 1]})

    @dg.asset(key="raw.orders")
    def dotted() -> pa.Table:
        return pa.table({"id": [1, 2]})

    checks = [check for asset in (nested, dotted) for check in build_recipe_checks(asset=asset, recipe=recipe(unique()))]
    result = run([nested, dotted, *checks], tmp_path)
    found = result.get_asset_check_evaluations()
    assert {(tuple(one.asset_key.path), one.check_name): one.passed for one in found} == {
        (("raw", "orders"), "id_u"): False,
        (("raw.orders",), "id_u"): True,
    }


@pytest.mark.parametrize(
    ("arguments", "refused", "told"),
    [
        ({"asset": "mé"}, AssetRefused, "asset key 'mé' cannot carry checks: Dagster allows only letters A to Z, digits"),
        ({"asset": ["raw", ".."]}, KeyRefused, "asset key part '..' reads as a path that leaves the table's folder"),
        ({"asset": dg.AssetSpec("a"), "asset_key": "b"}, AssetRefused, "asset is 'a' and asset_key is another; leave asset_key out"),
    ],
    ids=["unspellable", "leaves the base", "two keys"],
)
def test_an_asset_that_cannot_be_checked_is_refused_when_definitions_load(arguments: dict[str, Any], refused: type[Exception], told: str):
    with pytest.raises(refused) as error:
        build_recipe_checks(**arguments, recipe=recipe(rows(1)))
    assert told in str(error.value)


def test_one_asset_of_several_is_named(tmp_path: Path):
    @dg.multi_asset(specs=[dg.AssetSpec("a"), dg.AssetSpec("b")])
    def both():
        write(tmp_path / "a.parquet", id=[1])
        write(tmp_path / "b.parquet", id=[1, 1])
        yield from (dg.MaterializeResult("a"), dg.MaterializeResult("b"))

    with pytest.raises(AssetRefused, match=r"asset defines 2 assets \('a', 'b'\); say which one by asset_key"):
        build_recipe_checks(asset=both, recipe=recipe(unique()))
    with pytest.raises(AssetRefused, match=r"asset_key 'c' is none of the definition's keys: 'a', 'b'"):
        build_recipe_checks(asset=both, recipe=recipe(unique()), asset_key="c")
    checks = build_recipe_checks(asset=both, recipe=recipe(unique()), asset_key="b")
    assert passed(run([both, *checks], tmp_path)) == {"id_u": False}


def test_a_step_that_fails_fails_alone(tmp_path: Path):
    """One step an asset: Dagster would stop what is downstream of every asset of a step."""

    @dg.asset
    def bad() -> pa.Table:
        return pa.table({"id": [1, 1]})

    @dg.asset
    def good() -> pa.Table:
        return pa.table({"id": [1, 2]})

    @dg.asset(deps=[bad])
    def after_bad() -> None: ...

    @dg.asset(deps=[good])
    def after_good() -> None: ...

    checks = [check for asset in (bad, good) for check in build_recipe_checks(asset=asset, recipe=recipe(unique()))]
    result = run([bad, good, after_bad, after_good, *checks], tmp_path)
    assert sorted(materialized(result)) == ["after_good", "bad", "good"]


def test_definitions_with_checks_load(tmp_path: Path):
    assets = chain(pa.table({"id": [1]}))
    checks = build_recipe_checks(asset=assets[0], recipe=recipe(unique()))
    dg.Definitions.validate_loadable(dg.Definitions(assets=assets, asset_checks=checks, resources={"io_manager": store(tmp_path)}))
