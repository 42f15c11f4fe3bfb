"""The quarantine: rows leave whole, with the names of what they broke, and both tables change together."""

# No `from __future__ import annotations` here: Dagster compares the annotation of an asset's context as it stands.
import math
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dagster as dg
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dq_dagster.definitions.gate import gated_asset
from dq_dagster.definitions.gating import open_gate
from dq_dagster.limits import Limits
from tests.definitions.test_gate import leftovers, published
from tests.definitions.warehouse import evaluations, failure_tags, figure, materialized, nulls, passed, recipe, run, unique

BROKEN = "_dq_failed_checks"


def at_least_one(column: str, **members: Any) -> dict[str, Any]:
    return {
        "check_id": f"{column}_between",
        "kind": "is_not_less_than",
        "enforcement": "quarantine",
        "column": column,
        "limit": 1,
        **members,
    }


def one_of(column: str, *values: str) -> dict[str, Any]:
    return {"check_id": f"{column}_one_of", "kind": "is_in_list", "enforcement": "quarantine", "column": column, "allowed": list(values)}


def orders(
    table: pa.Table, *checks: dict[str, Any], rate: int | None = None, to: str = "quarantined", **arguments: Any
) -> dg.AssetsDefinition:
    quarantine = {"to": to} if rate is None else {"to": to, "max_rate_ppm": rate}

    @gated_asset(recipe=recipe(*checks, quarantine=quarantine), name="orders", **arguments)
    def built() -> pa.Table:
        return table

    return built


SALES = pa.table(
    {"quantity": pa.array([0, 3, None, 0, 7], pa.int64()), "pay": ["cash", "visa", None, "visa", "amex"], "id": [1, 2, 3, 4, 5]}
)
RULES = (nulls("id", 0), at_least_one("quantity"), one_of("pay", "visa", "mastercard", "amex"))


def test_a_row_that_breaks_two_checks_is_quarantined_once(tmp_path: Path, instance: dg.DagsterInstance):
    """quar-two-rules-one-row"""
    result = run([orders(SALES, *RULES, rate=400_000)], tmp_path, instance=instance)
    assert result.success
    assert materialized(result) == ["orders", "quarantined"]
    found = evaluations(result)
    assert {name: figure(found[name], "failed_rows") for name in ("quantity_between", "pay_one_of")} == {
        "quantity_between": 2,
        "pay_one_of": 1,
    }
    assert not found["quantity_between"].passed
    assert found["quantity_between"].severity is dg.AssetCheckSeverity.WARN
    assert published(tmp_path)["id"] == [2, 3, 5]
    bad = published(tmp_path, "quarantined")
    assert dict(zip(bad["id"], bad[BROKEN], strict=True)) == {1: ["QUANTITY_BETWEEN", "PAY_ONE_OF"], 4: ["QUANTITY_BETWEEN"]}
    told = result.get_asset_materialization_events()[0].materialization.metadata
    assert (told["dagster/row_count"].value, told["quarantined_rows"].value) == (3, 2)

    result = run([orders(SALES, *RULES, rate=390_000)], tmp_path / "lower", instance=instance)
    assert not result.success
    assert (published(tmp_path / "lower"), published(tmp_path / "lower", "quarantined")) == (None, None)
    assert failure_tags(instance, result.run_id)["failure_detail"].startswith(
        "QUARANTINE_RATE: 2 of 5 rows would be quarantined, 400000 ppm"
    )
    assert len(evaluations(result)) == 4


def test_only_a_larger_share_than_the_declared_one_fails(tmp_path: Path):
    """quar-rate-exactly-at-limit"""
    table = pa.table({"q": [0] + [1] * 19})
    assert run([orders(table, at_least_one("q"), rate=50_000)], tmp_path).success
    assert (len(published(tmp_path)["q"]), len(published(tmp_path, "quarantined")["q"])) == (19, 1)
    assert not run([orders(table, at_least_one("q"), rate=49_000)], tmp_path / "lower").success


def test_nan_and_infinity_leave_and_null_stays(tmp_path: Path):
    """quar-nan-between"""
    table = pa.table({"q": pa.array([math.nan, None, 0.5, 5.0, math.inf], pa.float64())})
    check = {"check_id": "q_between", "kind": "is_in_range", "enforcement": "quarantine", "column": "q", "min_limit": 0, "max_limit": 1}
    assert run([orders(table, check)], tmp_path).success
    assert published(tmp_path)["q"] == [None, 0.5]
    assert [str(value) for value in published(tmp_path, "quarantined")["q"]] == ["nan", "5.0", "inf"]


def test_a_second_run_replaces_both_and_an_empty_quarantine_is_written(tmp_path: Path):
    """dag-rerun-idempotent"""
    table = pa.table({"q": [0, 1, 2, 0], "id": [1, 2, 3, 4]})
    places = [tmp_path / "orders.parquet", tmp_path / "quarantined.parquet"]
    first = run([orders(table, at_least_one("q"))], tmp_path)
    stored = [place.read_bytes() for place in places]
    second = run([orders(table, at_least_one("q"))], tmp_path)
    assert [place.read_bytes() for place in places] == stored
    assert evaluations(first)["q_between"].description == evaluations(second)["q_between"].description
    assert published(tmp_path, "quarantined") == {"q": [0, 0], "id": [1, 4], BROKEN: [["Q_BETWEEN"]] * 2}
    assert run([orders(pa.table({"q": [1], "id": [9]}), at_least_one("q"))], tmp_path).success
    assert published(tmp_path, "quarantined") == {"q": [], "id": [], BROKEN: []}
    assert published(tmp_path) == {"q": [1], "id": [9]}
    assert leftovers(tmp_path) == []


def test_a_required_check_that_fails_publishes_neither(tmp_path: Path):
    good = pa.table({"q": [0, 1], "id": [1, 2]})
    checks = (unique(), at_least_one("q"))
    run([orders(good, *checks)], tmp_path)
    assert not run([orders(pa.table({"q": [5, 0], "id": [7, 7]}), *checks)], tmp_path).success
    assert (published(tmp_path)["id"], published(tmp_path, "quarantined")["id"]) == ([2], [1])


def test_a_quarantine_check_that_could_not_be_evaluated_lets_its_rows_through_and_says_so(tmp_path: Path):
    result = run([orders(pa.table({"q": [0, 1]}), at_least_one("q"), limits=Limits(scan_bytes=1))], tmp_path)
    assert result.success
    check = evaluations(result)["q_between"]
    assert (check.passed, figure(check, "status")) == (False, "not_evaluated")
    assert (published(tmp_path)["q"], published(tmp_path, "quarantined")["q"]) == ([0, 1], [])


def test_the_quarantine_is_an_asset_of_the_same_step_and_loads_downstream(tmp_path: Path):
    gate = orders(SALES, *RULES)

    @dg.asset
    def complaints(quarantined: pa.Table) -> pa.Table:
        return quarantined

    assert gate.asset_deps[dg.AssetKey("quarantined")] == {dg.AssetKey("orders")}
    assert run([gate, complaints], tmp_path).success
    assert published(tmp_path, "complaints")["id"] == [1, 4]
    nested = gated_asset(recipe=recipe(at_least_one("q"), quarantine={"to": "bad"}), key=["raw", "orders"])(lambda: None)
    assert nested.keys == {dg.AssetKey(["raw", "orders"]), dg.AssetKey(["raw", "bad"])}
    spelled = gated_asset(recipe=recipe(at_least_one("q"), quarantine={"to": "dead/letters"}), key=["raw", "orders"])(lambda: None)
    assert spelled.keys == {dg.AssetKey(["raw", "orders"]), dg.AssetKey(["dead", "letters"])}


def test_tables_that_were_stored_without_a_quarantine_are_taken_over_whole(tmp_path: Path):
    plain_before = gated_asset(recipe=recipe(unique()), name="orders")(lambda: pa.table({"id": [1]}))
    assert run([plain_before], tmp_path).success
    assert not (tmp_path / "orders.parquet").is_symlink()
    assert run([orders(SALES, *RULES)], tmp_path).success
    assert published(tmp_path)["id"] == [2, 3, 5]
    assert duckdb.read_parquet(str(tmp_path / "orders.parquet")).fetchall()[0][0] == 3
    assert pq.read_table(tmp_path / "quarantined.parquet").num_rows == 2
    assert run([plain_before], tmp_path).success  # and back again
    assert published(tmp_path) == {"id": [1]}
    assert published(tmp_path, "quarantined")["id"] == [1, 4]
    assert run([orders(SALES, *RULES, to="elsewhere")], tmp_path).success
    assert published(tmp_path, "quarantined")["id"] == published(tmp_path, "elsewhere")["id"] == [1, 4]


WRITERS: dict[str, Callable[[pa.Table], Any]] = {
    "table": lambda table: table,
    "reader": lambda table: table.to_reader(max_chunksize=2),
    "pandas": lambda table: table.to_pandas(types_mapper=__import__("pandas").ArrowDtype),
    "polars": lambda table: __import__("polars").from_arrow(table),
    "lazy": lambda table: __import__("polars").from_arrow(table).lazy(),
    "duckdb": lambda table: duckdb.connect().from_arrow(table),
}
COLUMNS = {
    "n": st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=8, max_size=8).map(lambda values: pa.array(values, pa.int64())),
    "x": st.lists(st.sampled_from([None, 0.0, -0.0, math.nan, 1.5, math.inf]), min_size=8, max_size=8).map(
        lambda values: pa.array(values, pa.float64())
    ),
    "t": st.lists(st.sampled_from([None, "", "a", "b"]), min_size=8, max_size=8).map(lambda values: pa.array(values, pa.string())),
    "at": st.lists(st.one_of(st.none(), st.integers(0, 10**9)), min_size=8, max_size=8).map(
        lambda values: pa.array(values, pa.timestamp("us"))
    ),
}
QUARANTINING = [
    at_least_one("n"),
    {"check_id": "x_given", "kind": "is_not_null", "enforcement": "quarantine", "column": "x"},
    one_of("t", "a", ""),
    {"check_id": "n_unique", "kind": "is_unique", "enforcement": "quarantine", "columns": ["n"]},
]


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.fixed_dictionaries(COLUMNS), st.integers(0, 8), st.sets(st.integers(0, 3), min_size=1))
@pytest.mark.parametrize("writer", WRITERS)
def test_valid_and_quarantined_rows_are_the_input(writer: str, columns: dict[str, pa.Array], rows: int, chosen: set[int]):
    table = pa.table({name: values.slice(0, rows) for name, values in columns.items()})
    checks = [QUARANTINING[place] for place in sorted(chosen)]

    @gated_asset(recipe=recipe(*checks, quarantine={"to": "bad"}))
    def orders() -> Any:
        return WRITERS[writer](table)

    with TemporaryDirectory() as folder:
        result = run([orders], Path(folder))
        valid, bad = (pq.read_table(Path(folder) / f"{name}.parquet") for name in ("orders", "bad"))
    assert passed(result)["_replay_equivalence"]
    quarantined = bad.drop_columns([BROKEN])
    assert [str(kind).replace("large_", "") for kind in valid.schema.types] == [str(kind) for kind in table.schema.types]
    assert valid.schema.types == quarantined.schema.types
    assert all(bad[BROKEN].to_pylist())
    original = [repr(row) for row in table.to_pylist()]
    left, right = ([repr(row) for row in one.to_pylist()] for one in (valid, quarantined))
    assert sorted(left + right) == sorted(original)
    assert left == _in_order(original, left)
    assert right == _in_order(original, right)


def _in_order(original: list[str], some: list[str]) -> list[str]:
    """Some rows in the order in which the original holds them."""
    rest = list(original)
    found: list[str] = []
    for row in some:
        found.append(rest[rest.index(row)] if row in rest else "not in this order")
        rest = rest[rest.index(row) + 1 :] if row in rest else rest
    return found


def test_a_folder_of_partitions_is_exchanged_for_a_link_and_keeps_its_files(tmp_path: Path):
    table, quarantine = tmp_path / "t.parquet", tmp_path / "q.parquet"
    table.mkdir()
    for day in ("1", "2"):
        pq.write_table(pa.table({"id": [int(day)]}), table / f"{day}.parquet")
    gate = open_gate([str(table), str(quarantine)])
    with gate.candidates() as candidates:
        moves: dict[str, str] = {}
        for place in (table, quarantine):
            candidate = candidates.path(place.name)
            with candidates.opened(candidate) as stream:
                pq.write_table(pa.table({"id": [30]}), stream)
            moves[candidate] = str(place / "3.parquet")
        gate.publish(moves)
    assert table.is_symlink()
    assert {path.name: pq.ParquetFile(path).read()["id"].to_pylist() for path in sorted(table.iterdir())} == {
        "1.parquet": [1],
        "2.parquet": [2],
        "3.parquet": [30],
    }
    assert [path.name for path in quarantine.iterdir()] == ["3.parquet"]
    assert [path.name for path in sorted(tmp_path.iterdir())] == [".t.parquet.gate", "q.parquet", "t.parquet"]
