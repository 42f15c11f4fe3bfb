"""Parquet files on any file system: written aside and put in place whole, and read as the type that is wanted."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from dq_dagster.definitions.refusals import NotStored, StoredOtherwise, ValueRefused
from dq_dagster.files import Location, find_files, locate
from dq_dagster.key_recording import HeldEnd, KeyRecorder
from dq_dagster.streaming import parquet_stream
from dq_dagster.writing import sync_folder

# A streamed table is written in row groups of about DuckDB's size, or earlier when they grow heavy.
_GROUP_ROWS = 122_880
_GROUP_BYTES = 128 * 1024**2
_STORABLE = "a pyarrow Table or RecordBatch, a pandas or polars frame, a DuckDB relation, a RecordBatchReader or an iterator of batches"


class StagedFile:
    """A Parquet file that is written whole under a hidden name, beside the place where `publish` puts it.

    `keys` are columns by which its rows may rise; the file then says so.
    """

    def __init__(self, path: str, value: object, keys: Sequence[Sequence[str]] = ()) -> None:
        self.path = path
        self._keys = keys
        self._location = locate(path)
        folder, _, name = self._location.root.rpartition("/")
        self._folder = folder or "/"
        self._temporary = f"{folder}/.{name}.{secrets.token_hex(8)}.tmp"
        self._refuse_other_layout()
        try:
            self._write(value)
            with _opened(self._location, self._temporary) as stream:
                file = pq.ParquetFile(stream)
                self.rows = file.metadata.num_rows
                self.schema = file.schema_arrow
        except BaseException:
            self.discard()
            raise

    def publish(self) -> None:
        """Puts the file in place, instead of what is there. Locally a reader sees the old file or the new one, never a part.

        A remote file is renamed by its file system: an object store copies it whole and then deletes the hidden one.
        """
        filesystem = self._location.filesystem
        if filesystem is not None:
            filesystem.mv(self._temporary, self._location.root)
            return
        os.replace(self._temporary, self._location.root)
        sync_folder(self._folder)

    def discard(self) -> None:
        """Takes the hidden file away, if it is there. Harmless once published."""
        filesystem = self._location.filesystem
        if filesystem is None:
            if os.path.lexists(self._temporary):
                os.unlink(self._temporary)
        elif filesystem.exists(self._temporary):
            filesystem.rm_file(self._temporary)

    def _write(self, value: object) -> None:
        filesystem = self._location.filesystem
        if filesystem is None:
            with open(self._temporary, "xb") as stream:
                write_parquet(value, stream, keys=self._keys)
                stream.flush()
                os.fsync(stream.fileno())
                self.size = stream.tell()
            return
        with filesystem.open(self._temporary, "wb") as stream:
            write_parquet(value, stream, keys=self._keys)
            self.size = int(stream.tell())

    def _refuse_other_layout(self) -> None:
        """Raises StoredOtherwise where a folder stands in the file's place, or a file in its folder's."""
        filesystem = self._location.filesystem
        try:
            if filesystem is None:
                os.makedirs(self._folder, exist_ok=True)
            else:
                filesystem.makedirs(self._folder, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise StoredOtherwise(path=self._folder, stored="a file", wanted="a partition") from error
        is_folder = os.path.isdir if filesystem is None else filesystem.isdir
        is_file = os.path.isfile if filesystem is None else filesystem.isfile
        if is_folder(self._location.root):
            raise StoredOtherwise(path=self.path, stored="a folder of partitions", wanted="a file")
        if is_file(self._folder):  # an object store has no folders that could be in the way
            raise StoredOtherwise(path=self._folder, stored="a file", wanted="a partition")


def write_parquet(
    value: object, stream: IO[bytes], *, keys: Sequence[Sequence[str]] = (), observe: Callable[[pa.Table], None] | None = None
) -> None:
    """Writes a table to an open file, with page checksums; what comes in batches is never held whole.

    `observe` is shown every part of the table as it is written; a polars LazyFrame then comes in batches as well. Where the
    rows rise by one of the `keys`, the file says so.

    Raises:
        ValueRefused: the value is no table.
    """
    package, name = type(value).__module__.partition(".")[0], type(value).__name__
    if (package, name) == ("polars", "LazyFrame"):
        if observe is None and not keys:
            cast(Any, value).sink_parquet(stream)  # polars' own streaming; it writes no page checksums
            return
        value = _reader_of(value)
    if (package, name) == ("polars", "DataFrame"):
        value = cast(Any, value).to_arrow()  # its Arrow stream holds view types, which Parquet writers do not all take
    schema, batches = _batches_of(value)
    recorder, held = KeyRecorder(keys), HeldEnd(stream)
    with pq.ParquetWriter(held, schema, write_page_checksum=True) as writer:
        for table in _grouped(batches, schema):
            if observe is not None:
                observe(table)
            recorder.observe(table)
            writer.write_table(table, row_group_size=_GROUP_ROWS)
        held.hold()
    held.finish(recorder.ranges)


def read_paths(paths: Sequence[str], wanted: str) -> Any:
    """The files as one value of the wanted type: "pyarrow.Table", "pandas.DataFrame", …; parts are joined by column name.

    Raises:
        NotStored: nothing is at one of the paths.
    """
    located = [locate(path) for path in paths]
    for location in located:
        if not is_stored(location.place):
            raise NotStored(location.place)
    files = [(location, file.path) for location in located for file in find_files(location)]
    match wanted:
        case "pandas.DataFrame":
            return _read_table(files).to_pandas()
        case "polars.DataFrame":
            import polars

            return polars.from_arrow(_read_table(files))
        case "polars.LazyFrame":
            return _scan(files)
        case "pyarrow.RecordBatchReader":
            return _read_in_batches(files)
        case _:
            return _read_table(files)


def is_stored(path: str) -> bool:
    """Whether a file or a folder is there."""
    location = locate(path)
    if location.filesystem is None:
        return os.path.exists(location.root)
    location.filesystem.invalidate_cache()  # a listing kept from before would miss what was written since
    return bool(location.filesystem.exists(location.root))


def _batches_of(value: object) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    if hasattr(value, "__arrow_c_stream__"):  # Arrow's own tables, pandas frames, DuckDB relations, and whatever else speaks Arrow
        reader = pa.RecordBatchReader.from_stream(value)
        return reader.schema, iter(reader)
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        raise ValueRefused(f"a value of type {_type_of(value)} cannot be stored as Parquet; return {_STORABLE}")
    batches = cast(Iterator[Any], iter(value))
    first = next(batches, None)
    if first is None:
        raise ValueRefused("an iterator that gives no RecordBatch has no schema to store; return a RecordBatchReader or an empty Table")
    return _as_batch(first).schema, (_as_batch(batch) for batch in _chained(first, batches))


def _reader_of(frame: Any) -> pa.RecordBatchReader:
    """A polars LazyFrame in batches, as far as the installed polars gives any."""
    import polars

    schema = cast(Any, polars.DataFrame(schema=frame.collect_schema())).to_arrow().schema
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(unstable|streaming).*")
        frames = frame.collect_batches(maintain_order=True) if hasattr(frame, "collect_batches") else [frame.collect()]
    return pa.RecordBatchReader.from_batches(schema, (batch for frame in frames for batch in frame.to_arrow().to_batches()))


def _chained(first: object, rest: Iterable[object]) -> Iterator[object]:
    yield first
    yield from rest


def _as_batch(value: object) -> pa.RecordBatch:
    if not isinstance(value, pa.RecordBatch):
        raise ValueRefused(f"an iterator to be stored as Parquet gave a value of type {_type_of(value)}; let it give pyarrow RecordBatches")
    return value


def _type_of(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _grouped(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """The batches by the row group: each write begins one, and thousands of small ones would make a slow file."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield pa.Table.from_batches(held, schema)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held, schema)


@contextmanager
def _opened(location: Location, path: str) -> Generator[IO[bytes], None, None]:
    with open(path, "rb") if location.filesystem is None else location.filesystem.open(path, "rb") as stream:
        yield stream


def _read_table(files: Sequence[tuple[Location, str]]) -> pa.Table:
    tables: list[pa.Table] = []
    for location, path in files:
        with _opened(location, path) as stream:
            tables.append(pq.ParquetFile(stream).read())
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")


def _read_in_batches(files: Sequence[tuple[Location, str]]) -> pa.RecordBatchReader:
    def batches(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for location, path in files:
            with _opened(location, path) as stream:
                for batch in parquet_stream(stream, is_local=location.filesystem is None).iter_batches():
                    yield batch.cast(schema)

    with _opened(*files[0]) as stream:
        schema = pq.ParquetFile(stream).schema_arrow
    return pa.RecordBatchReader.from_batches(schema, batches(schema))


def _scan(files: Sequence[tuple[Location, str]]) -> Any:
    import polars

    if any(location.filesystem is not None for location, _ in files):
        return polars.DataFrame(_read_table(files)).lazy()  # polars reads no fsspec file system
    frames = [polars.scan_parquet(path, glob=False, hive_partitioning=False) for _, path in files]
    return frames[0] if len(frames) == 1 else polars.concat(frames, how="diagonal_relaxed")
