"""How Spark goes about the queries: what would compare each row with each other row is asked in another way."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dq_dagster as dq
from dq_dagster import sql
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.spark import SparkSession
from dq_dagster.limits import Limits
from dq_dagster.tables import open_table
from tests.engines.test_spark import on_both, recipe
from tests.local_spark import spark_engine

pytestmark = pytest.mark.spark


def test_rows_that_a_reference_lacks_are_found_by_hash_and_null_is_unknown(tmp_path: Path):
    now = dt.datetime.now(dt.timezone.utc)
    tables: list[CheckedTable] = []
    for name, column, values in (("rows", "x", [1, 2, 3, None]), ("ref_r", "x", [1, 2, None])):
        pq.write_table(pa.table({column: pa.array(values, pa.int64())}), tmp_path / f"{name}.parquet")
        tables.append(CheckedTable(open_table(str(tmp_path / f"{name}.parquet")), relation=name, now=now))
    known = sql.select_from("ref_r", {"k0": sql.column("x")}).where(sql.is_null(sql.column("x")).not_())
    query = sql.select_from("rows", {"x": sql.column("x"), "lost": sql.is_among([sql.column("x")], known).not_()})
    with spark_engine().session([(table, frozenset({"x"})) for table in tables], Limits()) as session:
        assert isinstance(session, SparkSession)
        frame = session.frame(query)
        assert "NestedLoop" not in frame._jdf.queryExecution().toString()
        assert {row.x: row.lost for row in frame.collect()} == {1: False, 2: False, 3: True, None: None}


def test_repeated_keys_are_counted_and_listed_in_one_job(tmp_path: Path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 1, 2], "b": ["x", "x", None]}), path)
    context = spark_engine().spark.sparkContext
    context.setJobGroup("keys", "the jobs of one key")
    try:
        (outcome,) = dq.evaluate(recipe({"kind": "key_uniqueness", "columns": ["a", "b"]}), path, engine=spark_engine()).outcomes
        jobs = context.statusTracker().getJobIdsForGroup("keys")
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    assert outcome.status == "failed"
    assert len(jobs) == 1


@pytest.mark.parametrize("repeats", [0, 1, 500])
def test_the_smallest_of_many_repeated_keys_are_listed_as_on_duckdb(repeats: int, tmp_path: Path):
    numbers = [None, float("nan"), -0.0, 0.0, float("-inf"), *(place / 7 for place in range(-repeats, repeats))]
    texts = [None if place % 5 == 0 else f"é{place % 31}" for place in range(len(numbers))]
    twice = repeats and 2
    rows = pa.table(
        {
            "x": pa.array(numbers + numbers * twice, pa.float64()),
            "t": pa.array(texts + texts * twice, pa.string()),
            "d": pa.array([dt.date(2024, 1, 1 + place % 28) for place in range(len(numbers) * (1 + twice))], pa.date32()),
        }
    )
    pq.write_table(rows, tmp_path / "t.parquet")
    keys = [["x"], ["t", "x"], ["x", "t"], ["d", "t"], ["t"]]
    on_both(recipe(*({"kind": "key_uniqueness", "columns": key} for key in keys)), tmp_path / "t.parquet")
