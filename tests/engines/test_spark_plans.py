"""How Spark goes about the queries: what would compare each row with each other row is asked in another way."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster import sql
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.spark import SparkSession
from dq_dagster.limits import Limits
from dq_dagster.tables import open_table
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
