"""Where Spark's session comes from, what it is asked, and what becomes of its settings."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dq_dagster as dq
from dq_dagster.checks.table import CheckedTable
from dq_dagster.limits import Limits
from dq_dagster.tables import open_table
from tests.engines.test_spark import on_both, recipe
from tests.local_spark import require_spark, spark_engine

pytestmark = pytest.mark.spark

MANY = [
    {"kind": "key_uniqueness", "columns": ["station", "at"]},
    {"kind": "key_uniqueness", "columns": ["id"]},
    {"kind": "continuity", "columns": ["at"], "max_gap_seconds": 60},
    {"kind": "row_expectation", "min_rows": 1},
    {"kind": "is_in_list", "column": "station", "allowed": ["a", "b", "c"]},
    {"kind": "regex_match", "column": "station", "regex": "^[a-c]$"},
    {"kind": "sql_expression", "expression": "length(station) BETWEEN 1 AND 2"},
    {"kind": "sql_expression", "expression": "id >= humid OR humid > 0"},
    {"kind": "is_valid_json", "column": "payload"},
    {"kind": "is_aggr_not_less_than", "column": "humid", "aggr_type": "avg", "limit": 10},
    {"kind": "is_aggr_not_greater_than", "column": "humid", "aggr_type": "avg", "limit": 90},
    {"kind": "is_aggr_not_less_than", "column": "at", "aggr_type": "max", "limit": "2024-01-01"},
    {"kind": "foreign_key", "columns": ["station"], "ref_columns": ["name"], "reference": "stations"},
    *({"kind": "null_ceiling", "columns": [name], "max_null_ppm": 10_000} for name in ("humid", "station", "payload")),
    *({"kind": "value_range", "columns": [name], "min_value": "0", "max_value": "1000"} for name in ("humid", "id")),
    *({"kind": "is_not_null", "column": name} for name in ("at", "station")),
]


def weather(rows: int) -> pa.Table:
    """As many readings at three stations."""
    at = [dt.datetime(2024, 1, 1) + dt.timedelta(minutes=row // 3) for row in range(rows)]
    return pa.table(
        {
            "station": ["abc"[row % 3] for row in range(rows)],
            "at": pa.array(at, pa.timestamp("us", "UTC")),
            "id": list(range(rows)),
            "humid": [float(row % 100) for row in range(rows)],
            "payload": ["{}"] * rows,
        }
    )


def test_twenty_checks_of_every_shape_are_eight_jobs(tmp_path):
    pq.write_table(weather(300), tmp_path / "t.parquet")
    pq.write_table(pa.table({"name": ["a", "b", "c"]}), tmp_path / "stations.parquet")
    checked = recipe(*MANY, references={"stations": {"path": "stations.parquet"}})
    context = spark_engine().spark.sparkContext
    context.setJobGroup("counted", "the jobs of one evaluation")
    try:
        outcomes = dq.evaluate(
            checked, tmp_path / "t.parquet", engine=spark_engine(), references={"stations": tmp_path / "stations.parquet"}
        ).outcomes
        jobs = context.statusTracker().getJobIdsForGroup("counted")
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    assert [outcome.detail for outcome in outcomes if outcome.status != "passed"] == []
    assert len(outcomes) == 20
    print(f"{len(jobs)} jobs")
    assert 1 <= len(jobs) <= 8


OVER_CONNECT = """
    import json, sys
    import dq_dagster as dq
    from dq_dagster.engines.spark import SparkEngine

    engine = SparkEngine(remote=sys.argv[1])
    checked = dq.load_recipe(json.loads(sys.argv[2]))
    evaluation = dq.evaluate(checked, sys.argv[3], engine=engine)
    late = dq.evaluate(checked, sys.argv[3], engine=engine, limits=dq.Limits(scan_seconds=0.001))
    annotated = dq.annotate(checked, sys.argv[3], sys.argv[4], engine=engine)
    wire = lambda outcomes: [[one.status, one.detail, one.failed_rows] for one in outcomes]
    print(json.dumps([wire(evaluation.outcomes), wire(late.outcomes), engine.spark.conf.get("spark.sql.session.timeZone")]))
"""


def test_the_session_may_be_behind_spark_connect(tmp_path):
    pytest.importorskip("grpc")
    pq.write_table(weather(30), tmp_path / "t.parquet")
    checks = [check for check in MANY if "reference" not in check] + [{"kind": "is_not_less_than", "column": "id", "limit": 28}]
    declared = recipe(*checks)
    spark = spark_engine().spark
    address = f"sc://127.0.0.1:{spark.conf.get('spark.connect.grpc.binding.port')}"
    document = json.dumps(declared.document())
    arguments = [address, document, str(tmp_path / "t.parquet"), str(tmp_path / "out.parquet")]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(OVER_CONNECT), *arguments],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    there, late, zone = json.loads(done.stdout)
    here = dq.evaluate(declared, tmp_path / "t.parquet").outcomes
    assert there == [[one.status, one.detail, one.failed_rows] for one in here]
    assert {(status, detail) for status, detail, _ in late if status == "not_evaluated"} == {
        ("not_evaluated", "not_evaluated: CHECK_TIME_BUDGET_EXCEEDED: the scan did not finish within 0.001 seconds")
    }
    assert zone == spark.conf.get("spark.sql.session.timeZone")
    dq.annotate(declared, tmp_path / "t.parquet", tmp_path / "duckdb.parquet")
    assert pq.read_table(tmp_path / "out.parquet").equals(pq.read_table(tmp_path / "duckdb.parquet"))


def test_the_session_that_is_active_is_used_and_no_other_can_be_opened_beside_it():
    from dq_dagster.engines.spark import SparkElsewhere, SparkEngine

    spark = spark_engine().spark
    assert SparkEngine().spark.sparkContext is spark.sparkContext
    assert SparkEngine(remote="local[2]").spark.sparkContext is spark.sparkContext
    with pytest.raises(SparkElsewhere, match=r"was to run on spark://host:7077, and this process has a session on local\[2\] already"):
        _ = SparkEngine(remote="spark://host:7077").spark


def test_the_last_to_leave_puts_the_settings_back(tmp_path):
    spark = spark_engine().spark
    pq.write_table(pa.table({"x": [1]}), tmp_path / "t.parquet")
    table = CheckedTable(open_table(str(tmp_path / "t.parquet")), now=dt.datetime.now(dt.timezone.utc))
    before = dict(spark.conf.getAll)
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with spark_engine().session([(table, frozenset({"x"}))], Limits()):
            inside.set()
            leave.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(60)
    with spark_engine().session([(table, frozenset({"x"}))], Limits()):
        pass
    assert spark.conf.get("spark.sql.decimalOperations.allowPrecisionLoss") == "false"
    leave.set()
    holder.join()
    assert dict(spark.conf.getAll) == before


def test_what_lacks_memory_is_not_evaluated_and_the_rest_is(tmp_path):
    pq.write_table(pa.table({"s": ["a", "b"]}), tmp_path / "t.parquet")
    long = {"kind": "sql_expression", "expression": "length(lpad(s, 1500000000, 'x')) > 5"}
    outcomes = dq.evaluate(recipe(long, {"kind": "is_not_null", "column": "s"}), tmp_path / "t.parquet", engine=spark_engine()).outcomes
    told = "not_evaluated: CHECK_MEMORY_BUDGET_EXCEEDED: the check does not fit the memory limit of Spark's executors with what they spill"
    assert [outcome.detail for outcome in outcomes] == [told, "none of 2 rows have no s"]


def test_over_the_bytes_allowed_nothing_is_read_and_metadata_still_answers(tmp_path):
    pq.write_table(weather(30), tmp_path / "t.parquet")
    outcomes = on_both(recipe(*(check for check in MANY if "reference" not in check)), tmp_path / "t.parquet", limits=Limits(scan_bytes=1))
    assert {outcome.status for outcome in outcomes} == {"passed", "not_evaluated"}
    assert all("CHECK_SCAN_BUDGET_EXCEEDED" in outcome.detail for outcome in outcomes if outcome.status == "not_evaluated")


WITHOUT_THE_PACKAGE = """
    import os, sys

    sys.path.insert(0, sys.argv[1])
    os.environ["PYSPARK_PYTHON"] = sys.argv[2]
    import dq_dagster as dq
    from dq_dagster.engines.spark import SparkEngine

    quiet = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "1"}
    checks = [
        {"check_id": "sure", "kind": "is_valid_json", "column": "good"},
        {"check_id": "in_doubt", "kind": "is_valid_json", "column": "bad"},
        {"check_id": "there", "kind": "is_not_null", "column": "bad"},
    ]
    recipe = dq.Recipe.model_validate(
        {"recipe": "r", "table": {"name": "t"}, "checks": [{**check, "enforcement": "required"} for check in checks]}
    )
    for outcome in dq.evaluate(recipe, sys.argv[3], engine=SparkEngine(remote="local[1]", conf=quiet)).outcomes:
        print(outcome.status, outcome.detail)
"""


@pytest.mark.slow
def test_executors_without_this_package_judge_what_spark_is_sure_of_and_say_what_they_lack(tmp_path):
    require_spark()
    bare = tmp_path / "bare"  # a Python that finds no package but those that Spark hands to it
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    pq.write_table(pa.table({"good": ['{"a": 1}', "[]"], "bad": ["{}", "nil"]}), tmp_path / "t.parquet")
    root = str(Path(dq.__file__).parents[1])
    command = [sys.executable, "-c", textwrap.dedent(WITHOUT_THE_PACKAGE), root, str(bare), str(tmp_path / "t.parquet")]
    ran = subprocess.run(command, env=alone, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [
        "passed none of 2 rows have good that is not valid JSON",
        "not_evaluated not_evaluated: CHECK_UNSUPPORTED_BY_ENGINE: Spark could not evaluate it (its Python workers lack "
        "dq_dagster, which this kind judges with; install it there)",
        "passed none of 2 rows have no bad",
    ]
