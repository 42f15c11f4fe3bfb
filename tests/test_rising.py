"""Arrow compares keys as an engine would: whatever their type, however they are stored."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster import Limits, Recipe, evaluate, rising, surveying
from dq_dagster.checks import distinctness
from dq_dagster.checks.runs import InOrder
from dq_dagster.errors import TableUnreadable
from dq_dagster.run import explained
from dq_dagster.tables import open_table

KEY = {"check_id": "k", "kind": "key_uniqueness", "enforcement": "required"}
DAY = dt.datetime(2026, 3, 1, tzinfo=dt.timezone.utc)


@pytest.fixture(autouse=True)
def every_table_is_worth_a_look(monkeypatch):
    monkeypatch.setattr(surveying, "WORTH_A_LOOK", 0)
    monkeypatch.setattr(distinctness, "MOST_TURNS", 1)


def recipe(*columns: str) -> Recipe:
    return Recipe.model_validate({"recipe": "r", "table": {"name": "t"}, "checks": [{**KEY, "columns": list(columns)}]})


def told(table, *columns: str, limits: Limits | None = None):
    outcome = evaluate(recipe(*columns), table, limits=limits).outcomes[0]
    return outcome.status, outcome.detail, dict(outcome.observed), outcome.examples


def told_plainly(table, *columns: str):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surveying, "WORTH_A_LOOK", 10**9)
        return told(table, *columns)


def is_read_in_order(table, *columns: str) -> bool:
    return "the order of the rows by" in explained(recipe(*columns), table)


VALUES = {
    "int8": pa.array(range(-60, 60), pa.int8()),
    "uint64": pa.array(range(2**64 - 120, 2**64), pa.uint64()),
    "float": pa.array([number / 2 for number in range(-60, 60)], pa.float32()),
    "double with NaN": pa.array([*(float(number) for number in range(119)), float("nan")]),
    "both zeros": pa.array([*(float(number) for number in range(-60, 0)), -0.0, 0.0, *(float(number) for number in range(1, 59))]),
    "decimal": pa.array([Decimal(number).scaleb(-2) for number in range(120)], pa.decimal128(38, 2)),
    "boolean": pa.array([False, True]),
    "text": pa.array([f"é{number:03d}" for number in range(120)]),
    "large text": pa.array([f"{number:03d}" for number in range(120)], pa.large_string()),
    "text in a dictionary": pa.array([f"{number:03d}" for number in range(120)]).dictionary_encode(),
    "bytes": pa.array([bytes([number]) for number in range(120)]),
    "day": pa.array([DAY.date() + dt.timedelta(number) for number in range(120)]),
    "instant in seconds": pa.array([DAY + dt.timedelta(hours=number) for number in range(120)], pa.timestamp("s", "UTC")),
    "instant in nanoseconds": pa.array(range(120), pa.timestamp("ns")),
    "instant of no zone": pa.array([dt.datetime(1890, 1, 1) + dt.timedelta(number) for number in range(120)], pa.timestamp("us")),
    "NULL last": pa.array([*range(119), None], pa.int32()),
}


@pytest.mark.parametrize("again", [None, 0, 40, -1], ids=["distinct", "the first again", "one again", "the last again"])
@pytest.mark.parametrize("name", VALUES)
def test_a_key_of_any_type_is_told_as_by_grouping(name, again, tmp_path):
    values = VALUES[name]
    if again is not None:
        place = again % len(values) + 1
        values = pa.concat_arrays([values.slice(0, place), values.slice(place - 1, 1), values.slice(place)])
    pq.write_table(pa.table({"x": values}), tmp_path / "t.parquet", row_group_size=50)
    for table in (tmp_path / "t.parquet", pa.table({"x": values})):
        assert is_read_in_order(table, "x")
        assert told(table, "x") == told_plainly(table, "x")


@pytest.mark.parametrize("kind", [pa.list_(pa.int32()), pa.float16(), pa.binary(2), pa.duration("s"), pa.decimal256(50, 1)], ids=str)
def test_a_key_that_arrow_does_not_order_as_engines_do_is_not_read_so(kind, tmp_path):
    table = pa.table({"x": pa.nulls(3, kind)})
    assert not is_read_in_order(table, "x")


def test_instants_that_arrow_cannot_hold_are_left_to_engines(tmp_path):
    """Of INT96 Arrow makes nanoseconds, whose years end in 2262 and begin anew."""
    stamps = [dt.datetime(year, 1, 1) for year in (2000, 2400, 2900)]
    pq.write_table(pa.table({"x": pa.array(stamps, pa.timestamp("us"))}), tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    assert not is_read_in_order(tmp_path / "t.parquet", "x")
    assert told(tmp_path / "t.parquet", "x")[0] == "passed"


def test_parts_of_several_types_and_folders_are_one_sequence(tmp_path):
    for day, kind in (("2026-01-01", pa.int32()), ("2026-01-02", pa.int64())):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"n": pa.array(range(70), kind)}), tmp_path / f"day={day}" / "part.parquet", row_group_size=30)
    assert is_read_in_order(tmp_path, "day", "n")
    assert told(tmp_path, "day", "n") == ("passed", "key (day, n) is distinct across all 140 rows, as expected", {"repeats": 0}, ())
    pq.write_table(pa.table({"n": pa.array([*range(70), 69], pa.int64())}), tmp_path / "day=2026-01-02" / "part.parquet")
    assert told(tmp_path, "day", "n") == told_plainly(tmp_path, "day", "n")
    assert told(tmp_path, "day", "n")[0] == "failed"


def test_a_row_group_that_is_greater_than_a_batch_and_one_that_is_less(tmp_path):
    values = [*range(500), *range(499, 1000)]
    for rows in (1, 7, 64, 1001):
        pq.write_table(pa.table({"x": values}), tmp_path / "t.parquet", row_group_size=rows)
        table = open_table(tmp_path / "t.parquet")
        found = rising.read_in_order(table, InOrder(("x",), ((0,),), 0.5), after_each=lambda: None, batch_rows=64)
        assert found[0].falls == 1
        assert sorted(found[0].suspects["k0"].to_pylist()).count(499) == 2


def test_text_that_is_no_text_is_left_to_whoever_reads_it_next(tmp_path):
    raw = pa.array([b"a", b"b\xff", b"c"])
    text = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    pq.write_table(pa.table({"x": text}), tmp_path / "t.parquet")
    assert rising.read_in_order(open_table(tmp_path / "t.parquet"), InOrder(("x",), ((0,),), 1), after_each=lambda: None) == {}
    status, detail, *_ = told(tmp_path / "t.parquet", "x")
    assert status == "not_evaluated"
    assert "UTF-8" in detail


def test_keys_too_many_to_be_held_are_grouped(tmp_path, monkeypatch):
    pq.write_table(pa.table({"x": [*range(50), *range(50)]}), tmp_path / "t.parquet")
    expected = told_plainly(tmp_path / "t.parquet", "x")
    monkeypatch.setattr(rising, "_MOST_BYTES", 10)
    assert told(tmp_path / "t.parquet", "x") == expected


def test_a_table_that_rises_nowhere_is_left_after_its_first_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(rising, "_FEW", 10)
    pq.write_table(pa.table({"x": list(range(1000, 0, -1))}), tmp_path / "t.parquet", row_group_size=100)
    batches: list[None] = []
    asked = InOrder(("x",), ((0,),), 0.01)
    assert rising.read_in_order(open_table(tmp_path / "t.parquet"), asked, after_each=lambda: batches.append(None), batch_rows=100) == {}
    assert len(batches) == 1


def test_the_time_is_kept(tmp_path):
    pq.write_table(pa.table({"x": list(range(1000))}), tmp_path / "t.parquet")
    status, detail, *_ = told(tmp_path / "t.parquet", "x", limits=Limits(scan_seconds=1e-6))
    assert status == "not_evaluated"
    assert "CHECK_TIME_BUDGET_EXCEEDED" in detail


def test_a_damaged_page_is_told_of(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": list(range(100_000))}), path, use_dictionary=False, compression="snappy")
    with open(path, "r+b") as stream:
        stream.seek(200)
        stream.write(b"\xff" * 5_000)
    for tell in (told, told_plainly):
        with pytest.raises(TableUnreadable, match="a page of column 'x' in the file cannot be decoded"):
            tell(path, "x")
