"""Spark as the engine: what it leaves behind, what it reads, when it stops, and what it says where there is no Spark."""

from __future__ import annotations

import datetime as dt
import math
import subprocess
import sys
import textwrap
import time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dq_dagster as dq
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.base import EngineStumbled
from dq_dagster.engines.spark_patterns import java_pattern
from dq_dagster.errors import TimeBudgetExceeded
from dq_dagster.expressions import parse
from dq_dagster.limits import Limits
from dq_dagster.tables import open_table
from tests.local_spark import difference, spark_engine

pytestmark = pytest.mark.spark


def recipe(*checks: dict, **members) -> dq.Recipe:
    listed = [{"check_id": f"check_{place}", "enforcement": "required", **check} for place, check in enumerate(checks)]
    return dq.Recipe.model_validate({"recipe": "spark", "table": {"name": "rows"}, "checks": listed, **members})


def on_both(checked: dq.Recipe, table, **options) -> list:
    """The outcomes on Spark, which are those on DuckDB."""
    there = dq.evaluate(checked, table, engine=spark_engine(), **options).outcomes
    here = dq.evaluate(checked, table, **options).outcomes
    assert [difference(one, other) for one, other in zip(there, here, strict=True)] == [None] * len(here)
    return list(there)


RANGE = {"kind": "value_range", "columns": ["x"], "min_value": "0", "max_value": "60"}


def test_the_sessions_settings_and_views_are_as_before_also_after_an_error(tmp_path):
    engine = spark_engine()
    spark = engine.spark
    pq.write_table(pa.table({"x": [1]}), tmp_path / "t.parquet")
    spark.conf.set("spark.sql.caseSensitive", "false")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    before = dict(spark.conf.getAll)
    table = CheckedTable(open_table(str(tmp_path / "t.parquet")), now=dt.datetime.now(dt.timezone.utc))

    def stop_inside() -> None:
        with engine.session([(table, frozenset({"x"}))], Limits()):
            assert spark.sql("SHOW VIEWS").count() == 1
            assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
            raise RuntimeError

    with pytest.raises(RuntimeError):
        stop_inside()
    assert dict(spark.conf.getAll) == before
    assert spark.sql("SHOW VIEWS").count() == 0
    for name in ("spark.sql.caseSensitive", "spark.sql.session.timeZone"):
        spark.conf.unset(name)


def test_an_engine_is_found_by_its_name(tmp_path):
    spark_engine()
    pq.write_table(pa.table({"x": [1, 61]}), tmp_path / "t.parquet")
    evaluation = dq.evaluate(recipe(RANGE), tmp_path / "t.parquet", engine="spark")
    assert evaluation.outcomes[0].detail == "column 'x' holds '61', above the declared maximum of 60"
    assert evaluation.receipt.engine == "spark"
    assert evaluation.receipt.versions["spark"]


def test_a_query_is_cancelled_at_its_deadline(tmp_path):
    pq.write_table(pa.table({"x": list(range(600))}), tmp_path / "t.parquet")
    engine = spark_engine()
    table = CheckedTable(open_table(str(tmp_path / "t.parquet")), now=dt.datetime.now(dt.timezone.utc))
    pairs = parse_query('SELECT count(*) AS n FROM "rows" AS a, "rows" AS b, "rows" AS c WHERE a."x" + b."x" * c."x" % 7 = 3')
    with engine.session([(table, frozenset({"x"}))], Limits(scan_seconds=1)) as session:
        started = time.monotonic()
        with pytest.raises(TimeBudgetExceeded):
            session.numbers(pairs, deadline=started + 1)
        assert time.monotonic() - started < 5
        with pytest.raises(TimeBudgetExceeded):
            session.numbers(pairs, deadline=time.monotonic() - 1)


def parse_query(text: str):
    import sqlglot

    return sqlglot.parse_one(text, dialect="duckdb")


def test_a_nan_that_the_statistics_leave_out_is_found(tmp_path):
    pq.write_table(pa.table({"x": [1.0, math.nan, 2.0]}), tmp_path / "t.parquet")
    (outcome,) = on_both(recipe(RANGE), tmp_path / "t.parquet")
    assert outcome.detail == "column 'x' holds 'NaN', which no range contains"


def test_hidden_files_are_no_data_and_odd_paths_are_read_literally(tmp_path):
    folder = tmp_path / "t [1]*?{a} b%20+"
    folder.mkdir()
    pq.write_table(pa.table({"x": [1, 2]}), folder / "a [0-9].parquet")
    pq.write_table(pa.table({"x": [3]}), folder / "b+%41 ü.parquet")
    for hidden in ("_c.parquet", ".d.parquet"):
        pq.write_table(pa.table({"x": [1000]}), folder / hidden)
    checked = recipe(RANGE, {"kind": "is_unique", "columns": ["x"]}, {"kind": "is_not_less_than", "column": "x", "limit": 3})
    outcomes = on_both(checked, folder)
    assert [outcome.status for outcome in outcomes] == ["passed", "passed", "failed"]
    dq.annotate(checked, folder, tmp_path / "out.parquet", engine=spark_engine())
    errors = pq.read_table(tmp_path / "out.parquet").column("_dq_errors").to_pylist()
    assert [len(entries) for entries in errors] == [1, 1, 0]


def test_folders_give_columns_and_parts_are_joined_by_name(tmp_path):
    for folder, rows in {
        "day=2024-01-01/k=a%20b": {"x": pa.array([1, 2], pa.int32()), "y": ["p", "q"]},
        "day=2024-01-02/k=__HIVE_DEFAULT_PARTITION__": {"y": ["r"], "x": pa.array([3], pa.int64())},
        "day=2024-01-10/k=c": {"x": pa.array([4], pa.int64())},
    }.items():
        (tmp_path / "t" / folder).mkdir(parents=True)
        pq.write_table(pa.table(rows), tmp_path / "t" / folder / "p.parquet")
    columns = [{"name": "x"}, {"name": "y"}, {"name": "day", "type": "date"}, {"name": "k"}]
    declared = {"table": {"name": "rows", "columns": columns}}
    checked = recipe(
        {"kind": "is_in_list", "column": "k", "allowed": ["c"]},
        {"kind": "is_not_less_than", "column": "day", "limit": "2024-01-02"},
        {"kind": "is_not_null", "column": "y"},
        {"kind": "is_equal_to", "column": "x", "value": 3},
        {"kind": "is_not_null", "column": "k"},
        **declared,
    )
    outcomes = on_both(checked, tmp_path / "t")
    assert [outcome.failed_rows for outcome in outcomes] == [2, 2, 1, 3, 1]
    dq.annotate(checked, tmp_path / "t", tmp_path / "out.parquet", engine=spark_engine())
    dq.annotate(checked, tmp_path / "t", tmp_path / "duckdb.parquet")
    assert pq.read_table(tmp_path / "out.parquet").equals(pq.read_table(tmp_path / "duckdb.parquet"))


TYPES = pa.table(
    {
        "nanos": pa.array([1_500_000_000_123_456_789, None, -1], pa.timestamp("ns")),
        "zoned": pa.array([0, 1, None], pa.timestamp("ms", "Europe/Paris")),
        "naive": pa.array([0, 1, None], pa.timestamp("s")),
        "time": pa.array([0, 3_723_500_000, None], pa.time64("us")),
        "half": pa.array([1.5, math.nan, None], pa.float16()),
        "unsigned": pa.array([2**64 - 1, 0, None], pa.uint64()),
        "byte": pa.array([255, 0, None], pa.uint8()),
        "wide": pa.array([Decimal("1e40"), Decimal("-1.5"), None], pa.decimal256(50, 5)),
        "exact": pa.array([Decimal("1.50"), Decimal("-2.25"), None], pa.decimal128(10, 2)),
        "large": pa.array(["a", "é", None], pa.large_string()),
        "coded": pa.array(["a", "b", None]).dictionary_encode(),
        "blob": pa.array([b"a", b"\x00\xff", None], pa.binary()),
        "fixed": pa.array([b"ab", b"cd", None], pa.binary(2)),
        "span": pa.array([1, 2, None], pa.duration("us")),
        "day": pa.array([dt.date(2024, 1, 1), dt.date(1582, 10, 10), None], pa.date32()),
        "nested": pa.array(
            [{"a": [1, None], "b": "x y"}, {"a": None, "b": None}, None], pa.struct([("a", pa.list_(pa.int16())), ("b", pa.string())])
        ),
        "nothing": pa.array([None, None, None], pa.null()),
    }
)


@pytest.mark.parametrize("place", ["a file", "memory"])
def test_every_stored_type_reads_as_it_does_on_duckdb(place, tmp_path):
    table = TYPES
    if place == "a file":
        pq.write_table(TYPES, tmp_path / "t.parquet")
        table = tmp_path / "t.parquet"
    checks = [{"kind": "is_null", "column": name} for name in TYPES.schema.names]
    on_both(recipe(*checks), table)
    on_both(recipe(*({"kind": "is_unique", "columns": [name]} for name in TYPES.schema.names if name != "nested")), table)


def test_a_table_in_memory_is_annotated(tmp_path):
    checked = recipe({"kind": "is_not_less_than", "column": "x", "limit": 2}, RANGE)
    table = pa.table({"x": [1, 2, 61]})
    dq.annotate(checked, table, tmp_path / "out.parquet", engine=spark_engine())
    dq.annotate(checked, table, tmp_path / "duckdb.parquet")
    assert pq.read_table(tmp_path / "out.parquet").equals(pq.read_table(tmp_path / "duckdb.parquet"))


def test_rows_are_split_by_their_numbers_over_all_files(tmp_path):
    (tmp_path / "t").mkdir()
    for place in range(3):
        pq.write_table(pa.table({"x": [place * 10 + row for row in range(5)]}), tmp_path / "t" / f"p{place}.parquet", row_group_size=2)
    checked = recipe(
        {"kind": "is_not_in_list", "column": "x", "forbidden": [3, 10, 24], "enforcement": "quarantine"}, quarantine={"to": "bad"}
    )
    dq.split(checked, tmp_path / "t", valid=tmp_path / "valid.parquet", quarantine=tmp_path / "bad.parquet", engine=spark_engine())
    assert pq.read_table(tmp_path / "bad.parquet").column("x").to_pylist() == [3, 10, 24]
    assert pq.read_table(tmp_path / "valid.parquet").num_rows == 12


def test_judgements_in_python_are_known_while_the_session_is_open(tmp_path):
    pq.write_table(pa.table({"s": ["{}", "{", None]}), tmp_path / "t.parquet")
    (outcome,) = on_both(recipe({"kind": "is_valid_json", "column": "s"}), tmp_path / "t.parquet")
    assert outcome.failed_rows == 1
    assert not spark_engine().spark.catalog.functionExists("dq_is_json")


def test_what_spark_has_no_words_for_is_declared_and_the_rest_is_answered(tmp_path):
    pq.write_table(pa.table({"s": ["a", "b"], "x": [1, 2]}), tmp_path / "t.parquet")
    checked = recipe({"kind": "sql_expression", "expression": "jaro_similarity(s, 'a') > 0.5"}, RANGE)
    outcomes = dq.evaluate(checked, tmp_path / "t.parquet", engine=spark_engine()).outcomes
    told = "not_evaluated: CHECK_UNSUPPORTED_BY_ENGINE: Spark could not evaluate it (no translation of jaro_similarity)"
    assert outcomes[0].detail == told
    assert outcomes[1].status == "passed"


def test_an_error_in_a_cell_names_no_cell(tmp_path, capfd):
    pq.write_table(pa.table({"s": ["4111111111111111x"]}), tmp_path / "t.parquet")
    checked = recipe({"kind": "is_aggr_equal", "column": "s", "aggr_type": "sum", "limit": 1})
    (outcome,) = dq.evaluate(checked, tmp_path / "t.parquet", engine=spark_engine()).outcomes
    assert outcome.status == "not_evaluated"
    assert "4111" not in outcome.detail + capfd.readouterr().err


def test_a_query_that_does_not_fit_the_types_is_no_type(tmp_path):
    pq.write_table(pa.table({"x": [1], "s": ["a"]}), tmp_path / "t.parquet")
    table = CheckedTable(open_table(str(tmp_path / "t.parquet")), now=dt.datetime.now(dt.timezone.utc))
    with spark_engine().session([(table, frozenset({"x", "s"}))], Limits()) as session:
        assert session.type_of(parse("x + 1"), "rows") == pa.int64()
        assert session.type_of(parse("lower(s)"), "rows") == pa.string()
        assert session.type_of(parse("length(s)"), "rows") == pa.int64()
        with pytest.raises(EngineStumbled):
            session.type_of(parse("x[1]"), "rows")


@pytest.mark.parametrize(
    ("pattern", "found", "lost"),
    [
        (r"^a$", ["a"], ["a\n", "b"]),
        (r"a.b", ["a\rb", "a\u2028b"], ["a\nb"]),
        (r"^\s$", [" ", "\t"], ["\x0b", "\u00a0"]),
        (r"\bé", ["aé"], ["é"]),
        (r"^[[:alpha:]_]+$", ["aB_"], ["a1"]),
        (r"^[a[&&b]+$", ["a[&b"], ["c"]),
        (r"^[]a]+$", ["]a"], ["b"]),
        (r"^\pL{2}$", ["éü"], ["é"]),
        (r"^\p{Greek}$", ["α"], ["a"]),
        (r"(?P<year>\d{4})-(?:\d\d)", ["2024-01"], ["٢٠٢٤-01"]),
        (r"\Qa.b\E$", ["a.b"], ["axb"]),
        (r"^\x{1F600}$", ["\U0001f600"], ["a"]),
        (r"(?m)^b$", ["a\nb\nc"], ["a\rb"]),
        ("a{,2}", ["a{,2}"], ["aa"]),
    ],
)
def test_a_pattern_finds_in_java_what_it_finds_in_re2(pattern, found, lost):
    import re2
    from pyspark.sql import functions as F

    texts = [*found, *lost]
    assert [re2.search(pattern, text) is not None for text in texts] == [True] * len(found) + [False] * len(lost)
    frame = spark_engine().spark.createDataFrame([(text,) for text in texts], "s STRING")
    matched = [row[0] for row in frame.select(F.col("s").rlike(java_pattern(pattern))).collect()]
    assert matched == [True] * len(found) + [False] * len(lost)


WITHOUT_PYSPARK = """
    import sys

    class Blocker:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in {"pyspark", "py4j"}:
                raise ModuleNotFoundError(f"No module named {name!r}")

    sys.meta_path.insert(0, Blocker())
    import dq_dagster as dq
    import pyarrow as pa
    check = {"check_id": "rows", "kind": "row_expectation", "enforcement": "required", "min_rows": 1}
    try:
        dq.evaluate(dq.Recipe.model_validate({"recipe": "r", "table": {"name": "t"}, "checks": [check]}), pa.table({"x": [1]}), engine="spark")
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_without_pyspark_the_error_says_what_to_install():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WITHOUT_PYSPARK)], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    told = "SparkMissing the engine spark needs pyspark, which is not installed; install it with: pip install 'dq_dagster[spark]'"
    assert done.stdout.strip() == told


def test_a_path_is_relative_to_this_process_not_to_sparks(tmp_path, monkeypatch):
    (tmp_path / "t" / "day=1").mkdir(parents=True)
    pq.write_table(pa.table({"a": [1, None]}), tmp_path / "t" / "day=1" / "0.parquet")
    monkeypatch.chdir(tmp_path)
    check = {"check_id": "c", "kind": "is_not_null", "enforcement": "required", "column": "a", "filter": "day = '1'"}
    recipe = dq.Recipe.model_validate({"recipe": "r", "table": {"name": "t"}, "checks": [check]})
    (outcome,) = dq.evaluate(recipe, "t", engine=spark_engine()).outcomes
    assert (outcome.status, outcome.failed_rows) == ("failed", 1)
