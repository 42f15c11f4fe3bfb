"""The controls that nobody declares: is what reads back what was written, and does the table fit the recipe that checks it."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

import dagster as dg
import pyarrow as pa
from dagster_duckdb import DuckDBResource
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.arrow_types import UnknownType, arrow_type, plain, words_for
from dq_dagster.definitions.asset_metadata import DIGEST_KEY
from dq_dagster.definitions.refusals import AssetRefused
from dq_dagster.outcomes import NOT_EVALUATED, Outcome, Status, cut
from dq_dagster.recipe import Recipe

REPLAY, RECIPE_DRIFT, SHAPE_DRIFT = "_replay_equivalence", "recipe_drift", "shape_drift"
ControlsArgument = Mapping[str, str] | Sequence[str]
Force = Literal["required", "advisory"]

_DESCRIPTIONS = {
    REPLAY: "What was built, read back, is what was written: as many rows, and the same ones.",
    RECIPE_DRIFT: "The table was built under the recipe that checks it.",
    SHAPE_DRIFT: "The stored columns and their types are the declared ones.",
}
_SUM = 1 << 128
_SHOWN = 5


def controls_of(given: ControlsArgument | None, *, offered: Sequence[str], always: Mapping[str, Force] | None = None) -> dict[str, Force]:
    """Which controls are on and how strictly, from an argument: names (required), or a mapping to "required" or "advisory".

    Raises:
        AssetRefused: there is no such control here, or no such strictness.
    """
    stated = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given or (), "required")
    for name, force in stated.items():
        if name not in offered:
            raise AssetRefused(f"controls names '{name}'; the controls here are {', '.join(offered)}")
        if force not in ("required", "advisory"):
            raise AssetRefused(f"control '{name}' is {force!r}; it can be 'required' or 'advisory'")
    return {**(always or {}), **cast(dict[str, Force], stated)}


def control_spec(name: str, force: Force, asset_key: dg.AssetKey, partitions_def: dg.PartitionsDefinition | None) -> dg.AssetCheckSpec:
    """The check under which Dagster shows a control."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*partitions_def.*is currently in (preview|beta)")
        return dg.AssetCheckSpec(
            name=name,
            asset=asset_key,
            description=_DESCRIPTIONS[name],
            blocking=force == "required",
            metadata={"kind": "control", "enforcement": force},
            partitions_def=partitions_def,
        )


def control_outcome(
    name: str, status: Status, detail: str, *, force: Force, scope: str, rows: int | None, observed: Mapping[str, Any] | None = None
) -> Outcome:
    """What a control found, as an outcome like a check's."""
    told = NOT_EVALUATED + detail if status == "not_evaluated" else detail
    return Outcome(name.upper(), status, cut(told, 1024), "control", force, scope, rows, observed=observed or {})


@dataclass(frozen=True, slots=True)
class Content:
    """How many rows, and a digest of what is in them that does not know their order."""

    rows: int
    digest: int

    @classmethod
    def of(cls, rows: int, total: int) -> Content:
        """So many rows, whose hashes have this sum."""
        return cls(rows, total % _SUM)

    def __add__(self, other: Content) -> Content:
        return Content.of(self.rows + other.rows, self.digest + other.digest)


class ContentDigest:
    """Takes in a table part by part: the sum of a 64-bit hash of each row. Types that Parquet changes count as what it makes of them."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.content = Content(0, 0)

    def add(self, table: pa.Table) -> None:
        """Takes in some rows."""
        names = [f"c{place}" for place in range(table.num_columns)]
        if not names or not table.num_rows:
            self.content += Content(table.num_rows, 0)
            return
        columns = [_comparable(column) for column in table.columns]
        self.connection.register("dq_rows", pa.Table.from_arrays(columns, names=names))
        try:
            (row,) = self.connection.execute(_digest_query(names)).fetchall()
        finally:
            self.connection.unregister("dq_rows")
        self.content += Content.of(int(row[0]), int(row[1] or 0))

    def add_all(self, batches: Iterable[pa.RecordBatch]) -> Content:
        """Takes in every batch; gives the content so far."""
        for batch in batches:
            self.add(pa.Table.from_batches([batch]))
        return self.content


@contextmanager
def digesting() -> Generator[Any, None, None]:
    """The connection that digests are computed on: a DuckDB of its own, in memory."""
    with DuckDBResource(database=":memory:").get_connection() as connection:
        try:
            yield connection
        finally:
            connection.close()  # the resource leaves it open where the body raises


def replayed(built: Content, read: Content, *, force: Force, scope: str) -> Outcome:
    """Whether what reads back is what was built."""
    observed = {"rows_built": built.rows, "rows_read": read.rows, "content_digest": f"{built.digest:032x}"}
    if built.rows != read.rows:
        detail = f"{built.rows} rows were built and {read.rows} read back"
    elif built != read:
        detail = f"{built.rows} rows were built and read back, and not with the same content"
    else:
        detail = f"{built.rows} rows were built, and the same read back"
    return control_outcome(
        REPLAY, "passed" if built == read else "failed", detail, force=force, scope=scope, rows=read.rows, observed=observed
    )


def shape_drift(recipe: Recipe, schema: pa.Schema, *, force: Force, scope: str, rows: int | None) -> Outcome:
    """Whether the stored columns and types are the declared ones. The order of columns, and how text is encoded, do not matter."""
    declared = recipe.table.columns
    if declared is None:
        detail = f"recipe '{recipe.recipe}' declares no columns; declare them, or take this control off"
        return control_outcome(SHAPE_DRIFT, "not_evaluated", detail, force=force, scope=scope, rows=rows)
    stored = {field.name: field.type for field in schema}
    told = [f"column '{column.name}' is not stored" for column in declared if column.name not in stored]
    told += [f"column '{name}' is stored and not declared" for name in stored if name not in {column.name for column in declared}]
    for column in declared:
        if column.name in stored and column.type is not None and not _same_type(arrow_type(column.type), stored[column.name]):
            told.append(f"column '{column.name}' is stored as {words_for(stored[column.name])} and declared as {column.type}")
    if not told:
        detail = f"the {len(stored)} stored columns and their types are the declared ones"
        return control_outcome(SHAPE_DRIFT, "passed", detail, force=force, scope=scope, rows=rows)
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    detail = f"SHAPE_DRIFT: {'; '.join(told[:_SHOWN])}{more}"
    return control_outcome(SHAPE_DRIFT, "failed", detail, force=force, scope=scope, rows=rows, observed={"differences": len(told)})


def recipe_drift(recipe: Recipe, recorded: str | None, *, force: Force, scope: str, rows: int | None) -> Outcome:
    """Whether the table was built under the recipe that checks it; `recorded` is the digest that its materialization carries."""
    if recorded is None:
        detail = "no recipe's digest is recorded with the latest materialization; give the asset metadata=recipe_asset_metadata(recipe)"
        return control_outcome(RECIPE_DRIFT, "not_evaluated", detail, force=force, scope=scope, rows=rows)
    if recorded == recipe.digest:
        detail = f"the table was built under recipe '{recipe.recipe}' as it stands, {recorded[:12]}"
        return control_outcome(RECIPE_DRIFT, "passed", detail, force=force, scope=scope, rows=rows)
    detail = (
        f"RECIPE_DRIFT: the table was built under digest {recorded[:12]} and is checked under {recipe.digest[:12]} of recipe "
        f"'{recipe.recipe}'; materialize it again"
    )
    return control_outcome(RECIPE_DRIFT, "failed", detail, force=force, scope=scope, rows=rows)


def recorded_digest(instance: dg.DagsterInstance, asset_key: dg.AssetKey, partition: str | None) -> str | None:
    """The recipe digest that the latest materialization of an asset, or of one of its partitions, carries."""
    wanted: Any = asset_key if partition is None else dg.AssetRecordsFilter(asset_key=asset_key, asset_partitions=[partition])
    found = instance.fetch_materializations(wanted, limit=1).records
    recorded = found[0].asset_materialization.metadata.get(DIGEST_KEY) if found and found[0].asset_materialization else None
    return None if recorded is None else str(recorded.value)


def _same_type(declared: pa.DataType, stored: pa.DataType) -> bool:
    try:
        return plain(declared) == plain(arrow_type(words_for(stored)))
    except UnknownType:
        return plain(declared) == plain(stored)


def _digest_query(names: Sequence[str]) -> str:
    hashed = exp.Anonymous(this="hash", expressions=[sql.column(name) for name in names])
    summed = exp.Sum(this=sql.cast(hashed, "HUGEINT"))
    return sql.select_from("dq_rows", {"rows": sql.count_rows(), "digest": summed}).sql("duckdb")


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column as Parquet gives it back, of a type that DuckDB reads: equal before it is written and after."""
    kind = _comparable_type(column.type)
    if kind == column.type:
        return column
    return pa.chunked_array([_stripped(chunk).cast(kind) for chunk in column.chunks], kind)


def _stripped(values: pa.Array) -> pa.Array:
    return values.storage if isinstance(values, pa.ExtensionArray) else values


def _comparable_type(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _comparable_type(kind.storage_type)
    if types.is_dictionary(kind):
        return _comparable_type(kind.value_type)
    if types.is_null(kind):
        return pa.int32()
    if types.is_timestamp(kind) and kind.unit == "s":
        return pa.timestamp("ms", kind.tz)
    if types.is_time32(kind) and kind.unit == "s":
        return pa.time32("ms")
    if types.is_date64(kind):
        return pa.date32()
    if types.is_duration(kind):
        return pa.int64()
    if types.is_float16(kind):
        return pa.float32()
    if types.is_decimal256(kind):
        return pa.string()
    if types.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale)
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_struct(kind):
        return pa.struct([_comparable_field(field) for field in kind])
    if types.is_map(kind):
        return pa.map_(_comparable_type(kind.key_type), _comparable_type(kind.item_type))
    if types.is_fixed_size_list(kind):
        return pa.list_(_comparable_type(kind.value_type), kind.list_size)
    if types.is_large_list(kind):
        return pa.large_list(_comparable_field(kind.value_field))
    if types.is_list(kind):
        return pa.list_(_comparable_field(kind.value_field))
    return kind


def _comparable_field(field: pa.Field) -> pa.Field:
    return field.with_type(_comparable_type(field.type))
