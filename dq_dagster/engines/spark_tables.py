"""Stored tables as Spark reads them: explicit files, columns by name and exact type, and what Spark cannot read by Arrow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute

from dq_dagster.arrow_types import plain
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.arrow_rows import ROW_NUMBER, ArrowRows, needs_arrow
from dq_dagster.engines.spark_kinds import holds, is_nano, quoted, spark_type
from dq_dagster.tables import Part, StoredColumn

pc: Any = pyarrow.compute

# No stored column is likely to be called so.
_FILE, _ROW, _FIRST_ROW = "dq file", "dq row", "dq first row"
_METADATA = "_metadata"
_FILE_PATH = "url_decode(replace(_metadata.file_path, '+', '%2B'))"
_SCHEMES = {"s3": "s3a", "s3a": "s3a", "gs": "gs", "gcs": "gs", "hdfs": "hdfs", "abfs": "abfs", "abfss": "abfss", "az": "abfs"}


def frame_of(spark: Any, table: CheckedTable, columns: frozenset[str]) -> Any:
    """The table's named columns, under the names and with the types that they have in queries, as a DataFrame."""
    stored = table.stored
    wanted = [column for column in stored.columns if column.name in columns and column.name not in stored.conflicts]
    if stored.memory is not None or needs_arrow(wanted) or not _is_read_by_spark(table, wanted):
        return _from_arrow(spark, table, wanted)
    groups: dict[tuple[pa.Schema, frozenset[str]], list[Part]] = {}
    for part in stored.parts:
        old = frozenset(column.name for column in wanted if _is_int96(part, column.name))
        groups.setdefault((part.schema.remove_metadata(), old), []).append(part)
    frames = [_from_parts(spark, table, wanted, schema, parts, is_int96=old) for (schema, old), parts in groups.items()]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    return whole


def rows_by_number(spark: Any, table: CheckedTable, schema: Any, number: str) -> Any:
    """Every row of the table's local files, read with a schema of Spark's own, and its number in the table as a last column."""
    from pyspark.sql import functions as F

    parts = table.stored.parts
    rows = spark.read.schema(schema).parquet(*(local_address(part.path) for part in parts))
    own = [F.col(quoted(field.name)) for field in schema]
    found = F.expr(_FILE_PATH).alias(_FILE) if len(parts) > 1 else F.lit("").alias(_FILE)
    keyed = _with_keys(spark, rows.select(*own, found, F.col(f"{_METADATA}.row_index").alias(_ROW)), table, [], parts)
    return keyed.select(*own, (F.col(quoted(_FIRST_ROW)) + F.col(quoted(_ROW))).alias(number))


def _is_read_by_spark(table: CheckedTable, wanted: Sequence[StoredColumn]) -> bool:
    """Whether Spark's own reader gives the values of all these columns, exactly."""
    if table.stored.filesystem is not None and _scheme(table) not in _SCHEMES:
        return False
    for part in table.stored.parts:
        if _METADATA in part.schema.names:
            return False  # Spark's own column of that name would be hidden
        for column in wanted:
            place = part.schema.get_field_index(column.name)
            if place >= 0 and not _is_readable(part, column, part.schema.field(place).type):
                return False
    return True


def _is_readable(part: Part, column: StoredColumn, kind: pa.DataType) -> bool:
    types = pa.types
    if holds(plain(kind), lambda one: types.is_time(one) or types.is_float16(one)):
        return False
    if types.is_nested(column.type) and (plain(kind) != column.type or holds(column.type, types.is_null)):
        return False
    leaves = [part.statistics.metadata.schema.column(leaf) for leaf in part.statistics.leaves.get(column.name, ())]
    if any(str(leaf.logical_type.type) == "UUID" for leaf in leaves):
        return False
    return not (types.is_nested(column.type) and any(leaf.physical_type == "INT96" for leaf in leaves))


def _scheme(table: CheckedTable) -> str:
    protocol = table.stored.filesystem.protocol
    return protocol if isinstance(protocol, str) else protocol[0]


def address_of(table: CheckedTable, path: str) -> str:
    """A part's path as Spark opens it, with no character taken for a pattern."""
    if table.stored.filesystem is None:
        return local_address(path)
    literal = _literal(path)
    return literal if "://" in path else f"{_SCHEMES[_scheme(table)]}://{literal}"


def local_address(path: str) -> str:
    """A local path as Spark opens it, whichever file system is its default and wherever its own process runs."""
    return f"file://{_literal(os.path.abspath(path))}"


def _literal(path: str) -> str:
    return "".join(f"\\{char}" if char in "\\*?[]{}" else char for char in path)


def _from_parts(
    spark: Any,
    table: CheckedTable,
    wanted: Sequence[StoredColumn],
    schema: pa.Schema,
    parts: Sequence[Part],
    *,
    is_int96: frozenset[str],
) -> Any:
    """The rows of parts of one schema. `is_int96` names the columns of instants in the form that Parquet had at first."""
    from pyspark.sql import functions as F

    held = [column for column in wanted if not column.from_path and _holds_values(schema, column.name)]
    declared = {column.name: _stored_type(schema.field(column.name).type, is_int96=column.name in is_int96) for column in held}
    ddl = ", ".join(f"{quoted(name)} {kind}" for name, kind in declared.items())
    reader = spark.read.schema(ddl) if ddl else spark.read.schema(f"{quoted('dq nothing')} INT")
    rows = reader.parquet(*(address_of(table, part.path) for part in parts))
    keyed = [column for column in wanted if column.from_path]
    if table.numbered or keyed:
        rows = rows.select(
            *(F.col(quoted(name)) for name in declared),
            F.expr(_FILE_PATH).alias(_FILE) if len(parts) > 1 else F.lit("").alias(_FILE),
            F.col(f"{_METADATA}.row_index").alias(_ROW),
        )
        rows = _with_keys(spark, rows, table, keyed, parts)
    shown: list[Any] = []
    for column in wanted:
        name = quoted(column.name)
        if column.from_path:
            value = F.col(quoted(f"key {table.names[column.name]}"))
        elif column.name not in declared:
            value = F.lit(None).cast(spark_type(column.type))
        else:
            value = F.expr(_converted(name, plain(schema.field(column.name).type), column.type, is_int96=column.name in is_int96))
            if pa.types.is_string(column.type):
                value = F.validate_utf8(value)  # Spark takes any bytes for text
        shown.append(value.alias(table.names[column.name]))
    if table.numbered:
        shown.append((F.col(quoted(_FIRST_ROW)) + F.col(quoted(_ROW))).alias(table.row_number))
    return rows.select(*shown) if shown else rows.select(F.lit(1).alias("nothing"))


def _holds_values(schema: pa.Schema, name: str) -> bool:
    place = schema.get_field_index(name)
    return place >= 0 and not pa.types.is_null(plain(schema.field(place).type))


def _stored_type(kind: pa.DataType, *, is_int96: bool) -> str:
    return "TIMESTAMP" if is_int96 else spark_type(plain(kind))


def _is_int96(part: Part, name: str) -> bool:
    leaves = part.statistics.leaves.get(name, range(0))
    return len(leaves) == 1 and part.statistics.metadata.schema.column(leaves.start).physical_type == "INT96"


def _converted(name: str, kind: pa.DataType, wanted: pa.DataType, *, is_int96: bool) -> str:
    """A stored value as the type that the table gives it, in Spark's SQL; names and types alone stand in it."""
    if is_int96:
        kind = pa.timestamp("us", "UTC")
    if kind == wanted:
        return name
    if is_nano(wanted) and not is_nano(kind):
        return f"unix_micros(CAST({name} AS TIMESTAMP)) * 1000"
    return f"CAST({name} AS {spark_type(wanted)})"


def _with_keys(spark: Any, rows: Any, table: CheckedTable, keyed: Sequence[StoredColumn], parts: Sequence[Part]) -> Any:
    """The rows beside what their file's folders say, and the number of its first row in the table."""
    from pyspark.sql import functions as F

    whole = [part.path for part in table.stored.parts]
    firsts = dict(zip(whole, accumulate((part.rows for part in table.stored.parts), initial=0), strict=False))
    kinds = {f"key {table.names[column.name]}": column.type for column in keyed}
    if len(parts) == 1:
        values = {f"key {table.names[column.name]}": parts[0].keys.get(column.name) for column in keyed}
        literals = [F.lit(value).cast(spark_type(kinds[name])).alias(name) for name, value in values.items()]
        return rows.select("*", *literals, F.lit(firsts[parts[0].path]).cast("bigint").alias(_FIRST_ROW))
    listed = [
        (_tail(address_of_plain(table, part.path)), firsts[part.path], *(part.keys.get(column.name) for column in keyed)) for part in parts
    ]
    ddl = ", ".join([f"{quoted(_FILE)} STRING", f"{quoted(_FIRST_ROW)} BIGINT", *(f"{quoted(name)} STRING" for name in kinds)])
    keys = spark.createDataFrame(listed, ddl)
    keys = keys.select(
        quoted(_FILE), quoted(_FIRST_ROW), *(F.col(quoted(name)).cast(spark_type(kind)).alias(name) for name, kind in kinds.items())
    )
    tail = F.regexp_replace(F.col(quoted(_FILE)), r"^[A-Za-z0-9+.-]+:/+", "")
    return rows.withColumn(_FILE, tail).join(F.broadcast(keys), on=_FILE, how="inner")


def address_of_plain(table: CheckedTable, path: str) -> str:
    """A part's path as Spark names it among a row's metadata."""
    if table.stored.filesystem is None:
        return os.path.abspath(path)
    return path if "://" in path else f"{_SCHEMES[_scheme(table)]}://{path}"


def _tail(path: str) -> str:
    scheme, sign, rest = path.partition("://")
    return (rest if sign else scheme).lstrip("/")


def _from_arrow(spark: Any, table: CheckedTable, wanted: Sequence[StoredColumn]) -> Any:
    """Rows that go through this process: a table in memory, or types that Spark does not read."""
    from pyspark.sql import functions as F

    rows = pa.RecordBatchReader.from_stream(ArrowRows(table.stored, wanted)).read_all()
    names = {f"p{place}": table.names[column.name] for place, column in enumerate(wanted)} | {ROW_NUMBER: table.row_number}
    arrays = [_held(rows.column(name), rows.schema.field(name).type) for name in names]
    frame = spark.createDataFrame(pa.Table.from_arrays(arrays, names=list(names)))
    kinds = {f"p{place}": _arrow_kind(rows.schema.field(f"p{place}").type) for place in range(len(wanted))} | {ROW_NUMBER: "BIGINT"}
    return frame.select(*(F.col(name).cast(kinds[name]).alias(shown) for name, shown in names.items()))


def _arrow_kind(kind: pa.DataType) -> str:
    return spark_type(plain(kind))


def _held(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The values as Arrow types that Spark takes over as they are."""
    wanted = _taken_over(plain(kind))
    if pa.types.is_time(kind):
        text = values.cast(pa.string())
        trimmed = pc.replace_substring_regex(text, r"(\.[0-9]*?)0+$", r"\1")
        return pc.replace_substring_regex(trimmed, r"\.$", "")
    if pa.types.is_duration(kind):
        return values.cast(pa.duration("us"), safe=False).cast(wanted)
    return values if values.type == wanted else values.cast(wanted)


def _taken_over(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_struct(kind):
        return pa.struct([(kind.field(at).name, _taken_over(kind.field(at).type)) for at in range(kind.num_fields)])
    if types.is_map(kind):
        return pa.map_(_taken_over(kind.key_type), _taken_over(kind.item_type))
    if types.is_list(kind):
        return pa.list_(_taken_over(kind.value_type))
    if types.is_null(kind):
        return pa.int32()
    if is_nano(kind) or types.is_duration(kind):
        return pa.int64()
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if types.is_time(kind):
        return pa.string()
    if types.is_unsigned_integer(kind):
        return {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.decimal128(20, 0)}[kind.bit_width]
    if types.is_float16(kind):
        return pa.float32()
    return pa.binary() if types.is_fixed_size_binary(kind) else kind
