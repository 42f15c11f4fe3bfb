"""Annotated rows and the quarantine split: nothing is lost, nothing is changed, and every row says what it broke."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dq_dagster import Recipe, annotate, split
from dq_dagster.rows import ColumnTaken, annotated_rows
from dq_dagster.run import UnknownLevel

LAW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NULLS = {"check_id": "name_present", "kind": "is_not_null", "column": "name"}
UNIQUE = {"check_id": "id_unique", "kind": "is_unique", "columns": ["id"], "nulls_distinct": False}
RANGE = {"check_id": "id_range", "kind": "value_range", "columns": ["id"], "min_value": "0", "max_value": "3"}


def recipe(*checks: dict, **members) -> Recipe:
    return Recipe.model_validate({"recipe": "r", "table": {"name": "t"}, "checks": list(checks), **members})


TYPES = {
    "id": st.sampled_from([pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(5, 1), pa.decimal256(50, 1)]),
    "name": st.sampled_from([pa.string(), pa.large_string(), pa.dictionary(pa.int16(), pa.string()), pa.binary()]),
    "at": st.sampled_from([pa.timestamp("s"), pa.timestamp("ns", "Europe/Berlin"), pa.date32(), pa.date64()]),
    "deep": st.sampled_from([pa.list_(pa.int8()), pa.struct([("a", pa.int64()), ("b", pa.string())]), pa.map_(pa.string(), pa.int32())]),
}


def _cell(name: str, kind: pa.DataType, seed: int):
    if name == "id":
        return seed % 5
    if name == "name":
        return b"n" if pa.types.is_binary(kind) else "n"
    if name == "at":
        return dt.date(2026, 1, 1) if pa.types.is_date(kind) else dt.datetime(2026, 1, 1)
    return [1, None] if pa.types.is_list(kind) else {"a": seed, "b": None} if pa.types.is_struct(kind) else [("k", seed)]


@st.composite
def tables(draw) -> pa.Table:
    rows = draw(st.integers(0, 12))
    columns = {}
    for name, kinds in TYPES.items():
        kind = draw(kinds)
        cells = [None if draw(st.booleans()) else _cell(name, kind, draw(st.integers(0, 9))) for _ in range(rows)]
        source = pa.float64() if kind == pa.float16() else kind
        columns[name] = pa.array(cells, source).cast(kind) if source != kind else pa.array(cells, kind)
    return pa.table(columns)


def stored(table: pa.Table, folder: str, *, parts: bool) -> Path:
    place = Path(folder) / "t"
    place.mkdir()
    middle = table.num_rows // 2
    for number, part in enumerate([table.slice(0, middle), table.slice(middle)] if parts else [table]):
        pq.write_table(part, place / f"part-{number}.parquet", row_group_size=3)
    return place


def plain(table: pa.Table) -> list[dict]:
    return [{name: repr(value) for name, value in row.items()} for row in table.to_pylist()]


@LAW
@given(tables(), st.booleans(), st.lists(st.sampled_from(["NULLS", "UNIQUE", "RANGE"]), unique=True))
def test_valid_and_quarantined_rows_are_the_input(table, parts, chosen):
    checks = [{**globals()[name], "enforcement": "quarantine"} for name in chosen]
    with TemporaryDirectory() as folder:
        source = stored(table, folder, parts=parts)
        evaluation = split(
            recipe(*checks, quarantine={"to": "q"}), source, valid=Path(folder) / "valid.parquet", quarantine=Path(folder) / "bad.parquet"
        )
        original = pa.concat_tables([pq.read_table(part) for part in sorted(source.iterdir())])
        valid, bad = pq.read_table(Path(folder) / "valid.parquet"), pq.read_table(Path(folder) / "bad.parquet")
    assert valid.schema.types == original.schema.types
    assert bad.schema.types[:-1] == original.schema.types
    assert bad.schema.names[-1] == "_dq_failed_checks"
    assert evaluation.quarantined_rows == (bad.num_rows if checks else None)
    rows = plain(original)
    broken = _broken(original, checks)
    assert plain(valid) == [row for row, failed in zip(rows, broken, strict=True) if not failed]
    assert plain(bad.drop_columns(["_dq_failed_checks"])) == [row for row, failed in zip(rows, broken, strict=True) if failed]
    assert bad.column("_dq_failed_checks").to_pylist() == [failed for failed in broken if failed]


def _broken(table: pa.Table, checks: list[dict]) -> list[list[str]]:
    """The checks that each row breaks, by plain Python."""
    ids, names = table.column("id").to_pylist(), table.column("name").to_pylist()
    rules = {
        "is_not_null": lambda row: names[row] is None,
        "is_unique": lambda row: ids.count(ids[row]) > 1,
        "value_range": lambda row: ids[row] is not None and not 0 <= ids[row] <= 3,
    }
    return [[check["check_id"].upper() for check in checks if rules[check["kind"]](row)] for row in range(table.num_rows)]


@LAW
@given(tables(), st.booleans())
def test_annotated_rows_are_the_input_and_say_what_they_broke(table, parts):
    checks = [{**NULLS, "enforcement": "advisory"}, {**UNIQUE, "enforcement": "required"}, {**RANGE, "enforcement": "required"}]
    with TemporaryDirectory() as folder:
        source = stored(table, folder, parts=parts)
        annotate(recipe(*checks), source, Path(folder) / "out.parquet")
        original = pa.concat_tables([pq.read_table(part) for part in sorted(source.iterdir())])
        out = pq.read_table(Path(folder) / "out.parquet")
    assert plain(out.select(original.schema.names)) == plain(original)
    errors = [[entry["check_id"] for entry in row] for row in out.column("_dq_errors").to_pylist()]
    assert errors == _broken(original, checks)
    assert out.column("_dq_passed").to_pylist() == [not set(row) - {"NAME_PRESENT"} for row in errors]


TABLE = pa.table({"id": [1, 1, 9], "name": ["a", None, "c"]})


def test_an_entry_says_check_id_and_severity_in_declaration_order(tmp_path):
    checks = [{**RANGE, "enforcement": "required"}, {**NULLS, "enforcement": "advisory"}, {**UNIQUE, "enforcement": "required"}]
    annotate(recipe(*checks), TABLE, tmp_path / "out.parquet")
    out = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert out[1]["_dq_errors"] == [
        {"check": "is_not_null", "check_id": "NAME_PRESENT", "severity": "warning"},
        {"check": "is_unique", "check_id": "ID_UNIQUE", "severity": "critical"},
    ]
    assert [row["_dq_passed"] for row in out] == [False, False, False]


def test_fail_levels_say_what_a_passed_row_may_not_have(tmp_path):
    only_advisory = recipe({**NULLS, "enforcement": "advisory"})
    for levels, passed in ((None, [True, True, True]), (["warning"], [True, False, True]), ([], [True, True, True])):
        annotate(only_advisory, TABLE, tmp_path / "out.parquet", fail_levels=levels)
        assert pq.read_table(tmp_path / "out.parquet").column("_dq_passed").to_pylist() == passed
    with pytest.raises(UnknownLevel, match="there is no fail level 'criticl'; choose among critical, warning"):
        annotate(only_advisory, TABLE, tmp_path / "out.parquet", fail_levels=["criticl"])


def test_a_failed_check_of_the_whole_table_marks_every_row(tmp_path):
    annotate(recipe({"check_id": "n", "kind": "row_expectation", "enforcement": "required", "min_rows": 5}), TABLE, tmp_path / "o.parquet")
    assert [row["_dq_passed"] for row in pq.read_table(tmp_path / "o.parquet").to_pylist()] == [False] * 3


def test_a_column_that_would_be_added_twice_is_refused_and_nothing_is_written(tmp_path):
    taken = TABLE.append_column("_dq_passed", pa.array([1, 2, 3]))
    with pytest.raises(ColumnTaken, match="already has a column '_dq_passed'"):
        annotate(recipe({**NULLS, "enforcement": "required"}), taken, tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_split_where_a_required_check_fails_or_the_rate_is_broken(tmp_path):
    targets = {"valid": tmp_path / "v.parquet", "quarantine": tmp_path / "q.parquet"}
    bad = {**NULLS, "enforcement": "quarantine"}
    failed = split(recipe(bad, {**UNIQUE, "enforcement": "required"}, quarantine={"to": "q"}), TABLE, **targets)
    assert failed.failure is not None
    assert failed.failure.failure_detail.startswith("ID_UNIQUE: 2 of 3 rows")
    over = split(recipe(bad, quarantine={"to": "q", "max_rate_ppm": 333_333}), TABLE, **targets)
    assert over.failure is not None
    assert over.failure.failure_detail == (
        "QUARANTINE_RATE: 1 of 3 rows would be quarantined, 333334 ppm, above the declared rate of 333333 ppm"
    )
    assert list(tmp_path.iterdir()) == []
    assert split(recipe(bad, quarantine={"to": "q", "max_rate_ppm": 333_334}), TABLE, **targets).failure is None
    assert pq.read_table(targets["valid"]).num_rows == 2


def test_an_empty_quarantine_is_written_all_the_same(tmp_path):
    targets = {"valid": tmp_path / "v.parquet", "quarantine": tmp_path / "q.parquet"}
    split(recipe({**NULLS, "enforcement": "quarantine"}, quarantine={"to": "q"}), TABLE.slice(0, 1), **targets)
    assert pq.read_table(targets["quarantine"]).num_rows == 0
    assert pq.read_table(targets["quarantine"]).schema.names == ["id", "name", "_dq_failed_checks"]


def test_annotated_rows_have_views_for_passed_failed_and_warned(tmp_path):
    annotate(recipe({**NULLS, "enforcement": "advisory"}, {**RANGE, "enforcement": "required"}), TABLE, tmp_path / "out.parquet")
    views = annotated_rows(tmp_path / "out.parquet")
    assert views.passed.to_table().column("name").to_pylist() == ["a", None]
    assert views.failed.to_table().column("id").to_pylist() == [9]
    assert [row["_dq_errors"][0]["check_id"] for row in views.warned.to_table().to_pylist()] == ["NAME_PRESENT"]
