"""The controls: a digest that knows a row from another, and nothing of how Parquet spells it."""

from __future__ import annotations

import datetime as dt
import io
import math
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster.definitions.controls import Content, ContentDigest, digesting, replayed, shape_drift
from dq_dagster.definitions.parquet_files import write_parquet
from tests.definitions.warehouse import recipe, rows

CHECKOUT = Path(__file__).parents[2]
NOON = dt.datetime(2024, 1, 1, 12)
COLUMNS: dict[str, pa.Array] = {
    "float": pa.array([-0.0, math.nan, 0.0, None, math.inf]),
    "half": pa.array([1.5, None, -2.0, 0.0, 4.0], pa.float32()).cast(pa.float16()),
    "seconds": pa.array([NOON, None] * 2 + [NOON], pa.timestamp("s")),
    "nanoseconds": pa.array([1, None, 3, -4, 5], pa.timestamp("ns", "Europe/Berlin")),
    "time": pa.array([dt.time(1), None] * 2 + [dt.time(2)], pa.time32("s")),
    "day": pa.array([dt.date(2024, 1, 1), None] * 2 + [dt.date(1, 1, 1)], pa.date64()),
    "duration": pa.array([1, None, 2, 3, 4], pa.duration("us")),
    "dictionary": pa.array(["a", None, "b", "a", "c"]).dictionary_encode(),
    "view": pa.array(["a", None, "a longer text than a view holds inline", "", "x"], pa.string_view()),
    "binary": pa.array([b"a", None, b"", b"\xff", b"x"], pa.large_binary()),
    "null": pa.nulls(5),
    "unsigned": pa.array([2**64 - 1, None, 0, 1, 2], pa.uint64()),
    "decimal": pa.array([Decimal("1.10"), None, Decimal("-2.20"), Decimal(0), Decimal(9)], pa.decimal128(30, 2)),
    "wide": pa.array([Decimal(10) ** 60, None, Decimal(0), Decimal(1), Decimal(-1)], pa.decimal256(70, 1)),
    "list": pa.array([[NOON, None], None, [], [NOON], [NOON]], pa.list_(pa.timestamp("s"))),
    "fixed": pa.array([[1, 2], None, [3, None], [4, 5], [6, 7]], pa.list_(pa.int32(), 2)),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}, {"a": 2, "b": ""}, {"a": 3, "b": "y"}]),
    "map": pa.array([[("k", 1)], None, [], [("k", None)], [("a", 1), ("b", 2)]], pa.map_(pa.string(), pa.int64())),
}


def digest(tables: Sequence[pa.Table]) -> Content:
    with digesting() as connection:
        found = ContentDigest(connection)
        for table in tables:
            found.add(table)
        return found.content


def read_back(table: pa.Table) -> pa.Table:
    stream = io.BytesIO()
    write_parquet(table, stream)
    return pq.ParquetFile(stream).read()


@pytest.mark.parametrize("name", COLUMNS)
def test_what_parquet_gives_back_has_the_digest_of_what_was_written(name: str):
    table = pa.table({"n": list(range(5)), name: COLUMNS[name]})
    assert digest([table]) == digest([read_back(table)])
    if name != "null":
        values = table[name]
        swapped = pa.chunked_array([*values.slice(1, 1).chunks, *values.slice(0, 1).chunks, *values.slice(2).chunks], values.type)
        changed = pa.table({"n": list(range(5)), name: swapped})
        assert digest([table]).digest != digest([changed]).digest


def test_order_and_parts_do_not_matter_and_rows_do():
    table = pa.table({"a": [1, 2, 3], "b": ["x", "y", None]})
    whole = digest([table])
    assert whole == digest([table.take(pa.array([2, 0, 1]))]) == digest([table.slice(2), table.slice(0, 2)])
    assert whole == digest([table.slice(0, 1)]) + digest([table.slice(1)])
    assert whole != digest([pa.table({"a": [1, 2, 3], "b": ["y", "x", None]})])
    assert digest([table.slice(0, 0)]) == digest([pa.table({})]) == Content(0, 0)


def test_an_outcome_says_what_differs():
    told = [replayed(Content(3, 1), read, force="required", scope="t") for read in (Content(3, 1), Content(2, 1), Content(3, 2))]
    assert [one.status for one in told] == ["passed", "failed", "failed"]
    assert [one.detail for one in told[1:]] == [
        "3 rows were built and 2 read back",
        "3 rows were built and read back, and not with the same content",
    ]
    assert [one.is_blocking for one in told] == [False, True, True]


def test_shape_drift_compares_names_and_types_and_not_their_order_or_spelling():
    declared: list[Any] = [{"name": "at", "type": "timestamp with time zone"}, {"name": "text", "type": "varchar"}, {"name": "any"}]
    one = recipe(rows(1), table={"columns": declared})
    fields = {"any": pa.int8(), "text": pa.dictionary(pa.int8(), pa.large_string()), "at": pa.timestamp("us", "Europe/Berlin")}

    def found(schema: dict[str, pa.DataType]) -> tuple[str, str]:
        outcome = shape_drift(one, pa.schema(list(schema.items())), force="required", scope="t", rows=1)
        return outcome.status, outcome.detail

    assert found(fields) == ("passed", "the 3 stored columns and their types are the declared ones")
    status, detail = found({"any": pa.int8(), "text": pa.int64(), "more": pa.int8()})
    assert status == "failed"
    assert detail == (
        "SHAPE_DRIFT: column 'at' is not stored; column 'more' is stored and not declared; "
        "column 'text' is stored as bigint and declared as varchar"
    )
    outcome = shape_drift(recipe(rows(1)), pa.schema([]), force="required", scope="t", rows=1)
    assert (outcome.status, outcome.is_blocking) == ("not_evaluated", False)


def most_held() -> int:
    """The most memory that this process has held, in MiB. getrusage() would begin with what its parent held."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def gate_a_reader(folder: str, count: int) -> None:
    """Gates a reader of that many rows, with a quarantine, and prints the most memory that this process has held, in MiB."""
    import dagster as dg

    from dq_dagster.definitions.gate import gated_asset
    from tests.definitions.warehouse import run

    checks = [
        {"check_id": "id_present", "kind": "is_not_null", "enforcement": "required", "column": "id"},
        {"check_id": "even", "kind": "is_not_less_than", "enforcement": "quarantine", "column": "x", "limit": 0.01},
    ]
    schema = pa.schema([("id", pa.int64()), ("x", pa.float64()), ("text", pa.string())])

    def batches() -> Any:
        for start in range(0, count, 50_000):
            ids = range(start, min(start + 50_000, count))
            columns = [
                pa.array(ids, pa.int64()),
                pa.array([one % 100 / 100 for one in ids]),
                pa.array([f"text number {one}" for one in ids]),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    @gated_asset(recipe=recipe(*checks, quarantine={"to": "bad"}))
    def orders() -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(schema, batches())

    with dg.DagsterInstance.ephemeral() as instance:
        assert run([orders], Path(folder), instance=instance).success
    found = [pq.ParquetFile(Path(folder) / f"{name}.parquet").metadata.num_rows for name in ("orders", "bad")]
    assert found == [count - count // 100, count // 100]
    print(most_held())


@pytest.mark.slow
def test_a_reader_of_a_million_rows_is_streamed_through_the_gate(tmp_path: Path):
    code = f"from tests.definitions.test_controls import gate_a_reader; gate_a_reader({str(tmp_path)!r}, 1_000_000)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout.split()[-1]) < 700
