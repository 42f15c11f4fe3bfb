"""DataFrames of Spark as tables: what is written is what was given, and its rows are told apart as those of a file are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import dq_dagster as dq
from dq_dagster.engines.spark_frames import measured_again, measures, stage_frame
from dq_dagster.frames import FrameUnseen, is_frame
from dq_dagster.rows import ColumnTaken
from dq_dagster.writing import FolderInTheWay
from tests.local_spark import difference, spark_engine

pytestmark = pytest.mark.spark

CHECKS: list[dict[str, Any]] = [
    {"check_id": "name_present", "kind": "is_not_null", "column": "name", "enforcement": "quarantine"},
    {"check_id": "id_unique", "kind": "is_unique", "columns": ["id"], "enforcement": "quarantine"},
    {"check_id": "small", "kind": "is_not_greater_than", "column": "id", "limit": 7, "enforcement": "quarantine"},
    {"check_id": "low", "kind": "is_not_greater_than", "column": "id", "limit": 5, "enforcement": "advisory"},
    {"check_id": "some", "kind": "row_expectation", "min_rows": 1000, "enforcement": "advisory"},
]
ROWS = [(number % 9, None if number % 4 == 0 else f"n{number}", [number, None], {"k": number}) for number in range(20)]
COLUMNS = "id INT, name STRING, list ARRAY<BIGINT>, map MAP<STRING, INT>"
KINDS = {
    "an integer": "cast(id AS TINYINT)",
    "a wide decimal": "cast(id AS DECIMAL(38, 10))",
    "a double": "if(id = 3, double('NaN'), id / 7)",
    "text": "if(id = 4, NULL, concat('é', id))",
    "bytes": "cast(cast(id AS STRING) AS BINARY)",
    "a day": "date_add(DATE'1500-01-01', cast(id AS INT))",
    "an instant": "timestamp_micros(id - 3)",
    "a local time": "cast(timestamp_micros(id * 1000001) AS TIMESTAMP_NTZ)",
    "a list": "if(id = 1, array(), if(id = 2, NULL, array(id, NULL)))",
    "a struct": "if(id = 2, NULL, named_struct('a', id, 'b', array(named_struct('c', if(id = 3, NULL, id)))))",
    "a map": "if(id = 2, NULL, map('x', array(id), 'y', NULL))",
    "an interval": "make_dt_interval(cast(id AS INT))",
}


def recipe(checks: list[dict[str, Any]] = CHECKS) -> dq.Recipe:
    return dq.Recipe.model_validate({"recipe": "r", "table": {"name": "t"}, "checks": checks, "quarantine": {"to": "q"}})


def frame(rows: list[Any] = ROWS, columns: str = COLUMNS) -> Any:
    return spark_engine().spark.createDataFrame(rows, columns).repartition(3)


def rows_of(place: Path) -> list[Any]:
    """The rows of a file or a folder, in an order of their own."""
    rows = (ds.dataset(str(place)) if place.is_dir() else ds.dataset([str(place)])).to_table().to_pylist()
    return sorted(rows, key=repr)


def test_a_dataframe_is_known_without_pyspark():
    assert is_frame(frame())
    assert is_frame(frame().groupBy("id").count())
    assert not any(map(is_frame, (pa.table({"x": [1]}), "t.parquet", None, frame, spark_engine().spark)))


def test_what_reads_back_has_the_digest_of_what_was_written_and_nothing_else_has(tmp_path: Path):
    def digest(rows: Any) -> Any:
        count, total = measures(rows.schema)
        return rows.agg(count, total).first()

    made = spark_engine().spark.range(6).selectExpr("id AS n", *(f"{text} AS `{kind}`" for kind, text in KINDS.items()))
    written = stage_frame(made, str(tmp_path / "rows"))
    assert written.measured == measured_again(written, written.folder) == tuple(digest(made))
    for kind, text in KINDS.items():
        nulled, moved = f"IF(n = 0, NULL, `{kind}`)", f"IF(n = 1, (SELECT any_value({text}) FROM range(5, 6)), `{kind}`)"
        assert len({digest(made.selectExpr("n", f"{one} AS x")) for one in (f"`{kind}`", nulled, moved)}) == 3, kind


def test_a_null_that_changes_its_column_or_place_is_seen():
    texts = ["NULL, 1, array(NULL, 1)", "1, NULL, array(NULL, 1)", "NULL, 1, array(1, NULL)", "NULL, 1, NULL", "NULL, 1, array()"]
    made = [
        spark_engine().spark.sql(f"SELECT CAST(a AS INT), b, CAST(c AS ARRAY<INT>) FROM VALUES ({text}) AS t(a, b, c)") for text in texts
    ]
    assert len({rows.agg(measures(rows.schema)[1]).first()[0] for rows in made}) == len(texts)


def test_no_rows_are_a_table_too(tmp_path: Path):
    spark = spark_engine().spark
    for place, nothing in enumerate((spark.createDataFrame([], COLUMNS), spark.range(5).where("false"), spark.range(5).where("id > 10"))):
        written = stage_frame(nothing, str(tmp_path / str(place)))
        assert written.measured == measured_again(written, written.folder) == (0, 0)


def test_a_changed_part_is_not_what_was_written(tmp_path: Path):
    written = stage_frame(frame([(1, "a"), (2, "b")], "id INT, name STRING").coalesce(1), str(tmp_path / "rows"))
    (part,) = (tmp_path / "rows").glob("part-*")
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["a", None]}), part)
    (tmp_path / "rows" / f".{part.name}.crc").unlink()
    assert measured_again(written, written.folder).rows == 2
    assert measured_again(written, written.folder) != written.measured


def test_parts_under_names_that_are_no_data_are_not_seen(tmp_path: Path):
    spark = spark_engine().spark
    spark.conf.set("mapreduce.output.basename", "_part")
    try:
        with pytest.raises(FrameUnseen) as unseen:
            stage_frame(frame(), str(tmp_path / "rows"))
    finally:
        spark.conf.unset("mapreduce.output.basename")
    assert (unseen.value.written, unseen.value.seen) == (20, 0)


def test_a_dataframe_is_computed_once_and_evaluated_on_either_engine(tmp_path: Path):
    counted = spark_engine().spark.sparkContext.accumulator(0)

    def count(batches: Any) -> Any:
        for batch in batches:
            counted.add(batch.num_rows)
            yield batch

    made = frame().mapInArrow(count, COLUMNS)
    there = dq.evaluate(recipe(), made, engine="spark", limits=dq.Limits(temp_directory=str(tmp_path)))
    assert counted.value == 20
    here = dq.evaluate(recipe(), made, limits=dq.Limits(temp_directory=str(tmp_path)))
    assert (there.receipt.engine, here.receipt.engine) == ("spark", "duckdb")
    assert [difference(one, other) for one, other in zip(there.outcomes, here.outcomes, strict=True)] == [None] * len(CHECKS)
    assert [outcome.failed_rows for outcome in here.outcomes] == [5, 20, 2, 6, None]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("shift", [0, 40])
def test_valid_and_quarantined_rows_are_the_dataframe_and_what_duckdb_says_of_it(shift: int, tmp_path: Path):
    checks = [one for one in CHECKS if not shift or one["check_id"] != "id_unique"]
    made = frame([(number + shift, *rest) for number, *rest in ROWS])
    for engine in ("spark", "duckdb"):
        dq.split(recipe(checks), made, valid=tmp_path / f"{engine}-valid", quarantine=tmp_path / f"{engine}-bad", engine=engine)
    valid, bad = rows_of(tmp_path / "spark-valid"), rows_of(tmp_path / "spark-bad")
    assert valid == rows_of(tmp_path / "duckdb-valid")
    assert bad == rows_of(tmp_path / "duckdb-bad")
    whole = sorted([*valid, *({name: row[name] for name in row if name != "_dq_failed_checks"} for row in bad)], key=repr)
    given = [row.asDict(recursive=True) for row in made.collect()]
    assert whole == sorted([{**row, "map": list(row["map"].items())} for row in given], key=repr)
    assert (tmp_path / "spark-valid").is_dir()
    assert (tmp_path / "duckdb-valid").is_file()


@pytest.mark.parametrize("levels", [None, ["warning"]])
def test_annotated_rows_are_those_of_duckdb(levels: list[str] | None, tmp_path: Path):
    for engine in ("spark", "duckdb"):
        dq.annotate(recipe(), frame(), tmp_path / engine, fail_levels=levels, engine=engine)
    assert rows_of(tmp_path / "spark") == rows_of(tmp_path / "duckdb")
    assert ds.dataset(str(tmp_path / "spark")).schema.names == ds.dataset(str(tmp_path / "duckdb")).schema.names


def test_rows_that_a_check_adds_come_with_the_others(tmp_path: Path):
    compared = {"check_id": "same", "kind": "compare_datasets", "columns": ["id"], "ref_columns": ["id"], "reference": "other"}
    checked = dq.Recipe.model_validate(
        {
            "recipe": "r",
            "table": {"name": "t"},
            "references": {"other": {"path": "nowhere"}},
            "checks": [{**compared, "check_missing_records": True, "enforcement": "required"}],
        }
    )
    other = pa.table({"id": pa.array([1, 2, 5], pa.int32()), "name": ["a", "c", "e"]})
    made = frame([(1, "a"), (2, "b"), (3, "c")], "id INT, name STRING")
    for engine in ("spark", "duckdb"):
        dq.annotate(checked, made, tmp_path / engine, engine=engine, references={"other": other})
    assert rows_of(tmp_path / "spark") == rows_of(tmp_path / "duckdb")
    assert len(rows_of(tmp_path / "spark")) == 4


def test_nothing_is_written_where_a_required_check_fails(tmp_path: Path):
    checks = [*CHECKS, {"check_id": "n", "kind": "row_expectation", "enforcement": "required", "min_rows": 21}]
    evaluation = dq.split(recipe(checks), frame(), valid=tmp_path / "valid", quarantine=tmp_path / "bad", engine="spark")
    assert evaluation.failure is not None
    assert os.listdir(tmp_path) == []


def test_columns_that_would_be_added_twice_and_folders_that_are_no_table_are_refused(tmp_path: Path):
    taken = frame([(1, "a", True)], "id INT, name STRING, _dq_passed BOOLEAN")
    with pytest.raises(ColumnTaken):
        dq.annotate(recipe(), taken, tmp_path / "out", engine="spark")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear reader")
    with pytest.raises(FolderInTheWay):
        dq.annotate(recipe(), frame(), tmp_path / "home", engine="spark")
    assert (tmp_path / "home" / "letter.txt").read_text() == "dear reader"
    for _ in range(2):
        dq.annotate(recipe(), frame(), tmp_path / "out", engine="spark")
    assert len(rows_of(tmp_path / "out")) == 20
    assert sorted(os.listdir(tmp_path)) == ["home", "out"]


def test_a_column_that_hides_sparks_own_metadata_is_split_by_this_process(tmp_path: Path):
    made = frame([(1, "a", 5), (2, None, 6)], "id INT, name STRING, _metadata INT")
    dq.split(recipe(), made, valid=tmp_path / "valid", quarantine=tmp_path / "bad", engine="spark")
    assert rows_of(tmp_path / "valid") == [{"id": 1, "name": "a", "_metadata": 5}]
    assert [row["id"] for row in rows_of(tmp_path / "bad")] == [2]


def test_names_of_any_kind_are_written_and_split(tmp_path: Path):
    made = frame([(1, "a", 1), (2, None, 2)], 'id INT, name STRING, `a.b c;="é` INT')
    folder = tmp_path / "a [1]*?{b} %20+ü"
    dq.split(recipe(), made, valid=folder / "valid", quarantine=folder / "bad", engine="spark")
    assert rows_of(folder / "valid") == [{"id": 1, "name": "a", 'a.b c;="é': 1}]
