"""ParquetIOManager: assets stored as Parquet files, replaced whole, partition by partition."""

from __future__ import annotations

import collections.abc
import typing
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, cast

import dagster as dg

from dq_dagster.definitions.asset_metadata import DIGEST_KEY, KEYS_KEY, SCHEMA_KEY, stored_schema
from dq_dagster.definitions.layout import op_output_path, partition_path, table_path
from dq_dagster.definitions.parquet_files import StagedFile, is_stored, read_paths
from dq_dagster.definitions.refusals import NotStored, ValueRefused

_READABLE = ("pyarrow.Table", "pyarrow.RecordBatchReader", "pandas.DataFrame", "polars.DataFrame", "polars.LazyFrame")
_MAPPINGS = (dict, collections.abc.Mapping)


class ParquetIOManager(dg.ConfigurableIOManager):
    """Stores each asset as a Parquet file, and a partitioned one as a folder with a file a partition.

    `base_path` is a folder or a URL that fsspec reads, such as "s3://bucket/warehouse"; the file system takes its
    settings and credentials from its own environment. The asset ["raw", "orders"] is at `raw/orders.parquet`, its
    partition 2024-01-01 at `raw/orders.parquet/2024-01-01.parquet`; other characters than letters, digits and `-._~`
    are percent-encoded.

    An asset may return a pyarrow Table, a pandas or polars frame, a DuckDB relation, a RecordBatchReader or an iterator
    of RecordBatches; the last three, and a polars LazyFrame, are streamed. A run over several partitions returns a dict
    from partition key to table. A downstream asset is given what its annotation names (default: a pyarrow Table);
    several partitions come as a dict where the annotation is a dict or missing, else as one table. Partitions that are
    not stored are an error, unless the input's metadata says `allow_missing_partitions`.

    An asset with the metadata of `recipe_asset_metadata` has its keys recorded: a file whose rows rise by a key of the
    recipe says so, and from where to where, and a check of the key is answered without reading rows where no two files
    overlap.

    A local file is replaced in one step: a reader sees the old table or the new one, also when the process dies.
    """

    base_path: str

    def path_for(self, asset_key: dg.AssetKey, partition_key: str | None = None) -> str:
        """Where an asset, or one partition of it, is stored.

        Raises:
            KeyRefused: no file may be named for the key.
        """
        table = table_path(self.base_path, asset_key.path)
        return table if partition_key is None else partition_path(table, partition_key)

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Writes the table, or one a partition; nothing is replaced before all of them are written whole."""
        if obj is None:
            raise ValueRefused(f"{_who(context)} returned None; return a table, or annotate it with `-> None` if it stores its own data")
        tables = self._tables_by_path(context, obj)
        keys = _keys(context)
        with ExitStack() as staging:
            staged: list[StagedFile] = []
            for path, table in tables.items():
                staged.append(StagedFile(path, table, keys))
                staging.callback(staged[-1].discard)
            for file in staged:
                file.publish()
        context.add_output_metadata(self._metadata(context, staged))

    def load_input(self, context: dg.InputContext) -> Any:
        """The table, as the type that the input is annotated with."""
        by_partition, wanted = _wanted(context)
        if not context.has_asset_key or not context.has_asset_partitions:
            return read_paths([self._path(context)], wanted)
        keys = list(context.asset_partition_keys)
        if len(keys) == 1 and not by_partition:
            return read_paths([self.path_for(context.asset_key, keys[0])], wanted)
        may_miss = bool((context.definition_metadata or {}).get("allow_missing_partitions", False))
        paths = {key: self.path_for(context.asset_key, key) for key in keys}
        if by_partition is False:
            stored = [path for path in paths.values() if not may_miss or is_stored(path)]
            if not stored:
                raise NotStored(self.path_for(context.asset_key))
            return read_paths(stored, wanted)
        return {key: read_paths([path], wanted) for key, path in paths.items() if not may_miss or is_stored(path)}

    def _path(self, context: dg.OutputContext | dg.InputContext) -> str:
        if context.has_asset_key:
            return self.path_for(context.asset_key)
        upstream = context.upstream_output if isinstance(context, dg.InputContext) else context
        assert upstream is not None
        return op_output_path(self.base_path, upstream.get_identifier())

    def _tables_by_path(self, context: dg.OutputContext, obj: object) -> dict[str, object]:
        if not context.has_asset_key or not context.has_asset_partitions:
            return {self._path(context): obj}
        keys = list(context.asset_partition_keys)
        if not isinstance(obj, Mapping):
            if len(keys) == 1:
                return {self.path_for(context.asset_key, keys[0]): obj}
            raise ValueRefused(
                f"{_who(context)} was run for {len(keys)} partitions at once and returned one {type(obj).__name__}; "
                "return a dict from partition key to table, or let each partition have a run of its own (BackfillPolicy.multi_run())"
            )
        given: dict[str, object] = {str(key): table for key, table in obj.items()}
        if given.keys() != set(keys):
            lacking, unasked = sorted(set(keys) - given.keys()), sorted(given.keys() - set(keys))
            told = [f"{word} {', '.join(map(repr, some[:5]))}" for word, some in (("lacks", lacking), ("has the unasked", unasked)) if some]
            raise ValueRefused(f"{_who(context)} returned a dict that {' and '.join(told)}; give each partition key of the run a table")
        return {self.path_for(context.asset_key, key): given[key] for key in keys}

    def _metadata(self, context: dg.OutputContext, staged: Sequence[StagedFile]) -> dict[str, Any]:
        declared = context.definition_metadata or {}
        rows = sum(file.rows for file in staged)
        is_partition = context.has_asset_key and context.has_asset_partitions
        metadata: dict[str, Any] = {
            "path": dg.MetadataValue.path(staged[0].path if len(staged) == 1 else self._path(context)),
            "size_bytes": sum(file.size for file in staged),
            "dagster/partition_row_count" if is_partition else "dagster/row_count": rows,
            SCHEMA_KEY: stored_schema(staged[0].schema, declared.get(SCHEMA_KEY)),
        }
        return {**metadata, DIGEST_KEY: str(declared[DIGEST_KEY])} if DIGEST_KEY in declared else metadata


def _keys(context: dg.OutputContext) -> list[list[str]]:
    """The keys that the asset's metadata gives its table, as recipe_asset_metadata states them."""
    declared = (context.definition_metadata or {}).get(KEYS_KEY)
    stated = declared.value if isinstance(declared, dg.JsonMetadataValue) else declared
    return [[str(name) for name in key] for key in cast(Sequence[Sequence[object]], stated or ())]


def _who(context: dg.OutputContext) -> str:
    return f"asset {context.asset_key.to_user_string()}" if context.has_asset_key else f"op {context.step_key}"


def _wanted(context: dg.InputContext) -> tuple[bool | None, str]:
    """Whether several partitions shall come as a dict (None: nothing is said), and the name of the type of each table."""
    annotation: Any = context.dagster_type.typing_type if context.dagster_type else Any
    by_partition = typing.get_origin(annotation) in _MAPPINGS or annotation in _MAPPINGS
    if by_partition:
        arguments = typing.get_args(annotation)
        annotation = arguments[1] if len(arguments) == 2 else Any
    if annotation is Any:
        return (True if by_partition else None), _READABLE[0]
    name = f"{str(annotation.__module__).partition('.')[0]}.{annotation.__qualname__}"
    if name not in _READABLE:
        choice = f"{', '.join(_READABLE)}, or a dict from partition key to one of them"
        raise ValueRefused(
            f"input '{context.name}' is annotated with {name.removeprefix('builtins.')}; a stored table can be loaded as {choice}"
        )
    return by_partition, name
