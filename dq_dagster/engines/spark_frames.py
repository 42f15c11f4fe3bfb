"""DataFrames of Spark as tables: written by Spark as a folder of part files, measured on the way, marked, and written again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.spark import WRITING, settled
from dq_dagster.engines.spark_kinds import quoted
from dq_dagster.engines.spark_tables import local_address, rows_by_number
from dq_dagster.errors import TableUnreadable
from dq_dagster.frames import DataFrame, FrameUnseen, Measured, WrittenFrame
from dq_dagster.tables import open_table
from dq_dagster.writing import finish_folder

# No column of a DataFrame is likely to be called so.
NUMBER, BROKEN = "dq row number", "dq broken"
_ROWS, _DIGEST = "rows", "digest"


def stage_frame(frame: DataFrame, folder: str) -> WrittenFrame:
    """The DataFrame's rows, computed once: written to a new folder, and measured as they pass.

    Raises:
        FrameUnseen: this process does not see what Spark wrote.
    """
    from pyspark.sql import Observation

    passing: Any = frame
    observation = Observation()
    rows, digest = measures(frame.schema)
    write_frame(passing.observe(observation, rows.alias(_ROWS), digest.alias(_DIGEST)), folder)
    found = observation.get
    measured = Measured(int(found.get(_ROWS) or 0), int(found.get(_DIGEST) or 0))  # no row: Spark may leave the measuring out
    seen = _seen_in(folder)
    if seen != measured.rows:
        raise FrameUnseen(folder=folder, written=measured.rows, seen=seen)
    return WrittenFrame(folder, frame.sparkSession, frame.schema, measured)


def _seen_in(folder: str) -> int:
    """How many rows this process finds there."""
    try:
        return open_table(folder).rows
    except TableUnreadable:  # Spark always writes a part: one that is nowhere, or not yet whole, is not seen from here
        return 0


def write_frame(frame: DataFrame, folder: str) -> None:
    """Writes a DataFrame to a folder that is not there yet, with Spark's own writer; it is on disk when this returns."""
    with settled(frame.sparkSession, WRITING):
        frame.write.parquet(f"file://{os.path.abspath(folder)}")
    finish_folder(folder)


def measured_again(written: WrittenFrame, path: str) -> Measured:
    """What reads back at a file or folder of the columns that were written, by the same measure."""
    rows, digest = measures(written.schema)
    read = written.spark.read.schema(written.schema).parquet(local_address(path))
    found = read.agg(rows.alias(_ROWS), digest.alias(_DIGEST)).first()
    return Measured(int(found[_ROWS]), int(found[_DIGEST] or 0))


def marked_rows(written: WrittenFrame, table: CheckedTable, broken: Any) -> Any:
    """The rows that were written, as they are, each with the places in `broken` (its number, places joined by commas), or "".

    `broken` is a DataFrame of the columns NUMBER and BROKEN; None where no row is told apart.
    """
    from pyspark.sql import functions as F

    rows = rows_by_number(written.spark, table, written.schema, NUMBER)
    if broken is None:
        return rows.drop(NUMBER).withColumn(BROKEN, F.lit(""))
    joined = rows.join(broken, on=NUMBER, how="left").drop(NUMBER)
    return joined.withColumn(BROKEN, F.coalesce(F.col(quoted(BROKEN)), F.lit("")))


def split_rows(marked: Any, column: str, names: Mapping[int, str]) -> tuple[Any, Any]:
    """The rows with no place, and those with some, with the names of their places in a further column."""
    from pyspark.sql import functions as F

    pattern = F.col(quoted(BROKEN))
    told = [F.when(_has(place), F.lit(name)) for place, name in names.items()] or [F.lit(None).cast("string")]
    bad = marked.where(pattern != "").withColumn(column, F.array_compact(F.array(*told)))
    return marked.where(pattern == "").drop(BROKEN), bad.drop(BROKEN)


def noted_rows(
    marked: Any,
    passed: str,
    errors: str,
    notes: Mapping[int, Mapping[str, str]],
    *,
    everywhere: frozenset[int],
    fail_levels: frozenset[str],
) -> Any:
    """The rows with whether they passed, and a note for each place that they have, or that all of them have."""
    from pyspark.sql import functions as F

    always = F.lit(True)
    entries = [
        F.when(always if place in everywhere else _has(place), F.struct(*(F.lit(value).alias(name) for name, value in note.items())))
        for place, note in notes.items()
    ]
    kind = "array<struct<check: string, check_id: string, severity: string>>"
    listed = F.array_compact(F.array(*entries)).cast(kind) if entries else F.array().cast(kind)
    failing = F.lit(False)
    for place, note in notes.items():
        if note["severity"] in fail_levels:
            failing = failing | (always if place in everywhere else _has(place))
    return marked.withColumn(passed, ~failing).withColumn(errors, listed).drop(BROKEN)


def with_rows(noted: Any, extra: Any, written: WrittenFrame, passed: str, errors: str, note: Mapping[str, str], *, has_passed: bool) -> Any:
    """The noted rows, then further ones that a check adds, each with its note; columns that they lack are NULL."""
    from pyspark.sql import functions as F

    held = [
        (F.col(quoted(field.name)) if field.name in extra.columns else F.lit(None)).cast(field.dataType).alias(field.name)
        for field in written.schema
    ]
    entry = F.array(F.struct(*(F.lit(value).alias(name) for name, value in note.items())))
    return noted.unionByName(extra.select(*held, F.lit(has_passed).alias(passed), entry.alias(errors)))


def _has(place: int) -> Any:
    from pyspark.sql import functions as F

    return F.array_contains(F.split(F.col(quoted(BROKEN)), ","), str(place))


def measures(schema: Any) -> tuple[Any, Any]:
    """The number of rows, and the sum of a 64-bit hash of each, as aggregates over rows of this schema."""
    from pyspark.sql import functions as F

    shown = [_shown(F.col(quoted(field.name)), field.dataType) for field in schema]
    return F.count(F.lit(1)), F.sum(F.xxhash64(*shown).cast("decimal(20, 0)"))


def _shown(value: Any, kind: Any) -> Any:
    """A value as Spark hashes it: it skips NULLs and lengths, so that both stand beside it, and it takes no maps."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    match kind:
        case T.ArrayType():
            return F.struct(F.size(value), F.transform(value, lambda one: _shown(one, kind.elementType)))
        case T.MapType():
            pair = T.StructType([T.StructField("key", kind.keyType), T.StructField("value", kind.valueType)])
            return F.struct(F.size(value), F.transform(F.map_entries(value), lambda one: _shown(one, pair)))
        case T.StructType():
            return F.struct(F.isnull(value), *(_shown(value.getField(field.name), field.dataType) for field in kind))
        case _:
            return F.struct(F.isnull(value), value)
