"""DuckDB as the engine: one private connection, configured in one place, locked to the files that are checked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import accumulate
from typing import Any

import duckdb
import pyarrow as pa
from duckdb import func, sqltypes
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.arrow_types import plain
from dq_dagster.checks import functions
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.arrow_rows import ROW_NUMBER, ArrowRows, needs_arrow
from dq_dagster.engines.base import EngineStumbled, Session
from dq_dagster.engines.spill import private_folder
from dq_dagster.errors import MemoryBudgetExceeded, TimeBudgetExceeded
from dq_dagster.limits import Limits
from dq_dagster.tables import Part, StoredColumn

Connect = Callable[[], AbstractContextManager[duckdb.DuckDBPyConnection]]

# Parquet statistics leave NaN out of min and max, and DuckDB prunes by them: `x > 60` in a WHERE would miss a NaN.
_DISABLED_OPTIMIZERS = ("statistics_propagation", "filter_pushdown", "join_filter_pushdown", "row_group_pruner")
_FILE, _ROW, _FIRST_ROW = "dq_file", "dq_row", "dq_first_row"
_BATCH_ROWS = 65_536
_SIMPLE_TYPES = {
    "null": "INTEGER", "bool": "BOOLEAN", "string": "VARCHAR", "date32[day]": "DATE", "date64[ms]": "DATE",
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
    "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT",
    "halffloat": "FLOAT", "float": "FLOAT", "double": "DOUBLE",
}  # fmt: skip


def _connect() -> AbstractContextManager[duckdb.DuckDBPyConnection]:
    return duckdb.connect(":memory:")


class DuckDBEngine:
    """Runs plans on DuckDB. `connect` opens a fresh in-memory database, such as DuckDBResource.get_connection."""

    name = "duckdb"
    chooses = True

    def __init__(self, connect: Connect = _connect) -> None:
        self._connect = connect

    def versions(self) -> Mapping[str, str]:
        return {"duckdb": duckdb.__version__, "pyarrow": pa.__version__}

    @contextmanager
    def session(self, tables: Sequence[tuple[CheckedTable, frozenset[str]]], limits: Limits) -> Generator[Session, None, None]:
        with ExitStack() as cleanup:
            spill = cleanup.enter_context(private_folder(limits.temp_directory)) if limits.temp_directory != "" else ""
            session = DuckDBSession(self._connect, tables, limits, spill=spill)
            cleanup.callback(session.close)
            yield session


class DuckDBSession:
    """One connection with the tables as views. A database that DuckDB gives up on is opened anew."""

    def __init__(self, connect: Connect, tables: Sequence[tuple[CheckedTable, frozenset[str]]], limits: Limits, *, spill: str) -> None:
        self._connect = connect
        self._tables = tables
        self._presented = {table.relation: (table, columns) for table, columns in tables}
        self._limits = limits
        self._spill = spill
        self._open_connection: ExitStack | None = None
        self._known: set[str] = set()
        self._written: dict[int, tuple[exp.Query, str]] = {}
        self._connection = self._opened()

    def _opened(self) -> duckdb.DuckDBPyConnection:
        self._open_connection = ExitStack()
        self._known.clear()
        connection = self._open_connection.enter_context(self._connect())
        self._open_connection.callback(connection.close)
        configure(connection, self._limits, spill=self._spill)
        views = [_view(connection, table, columns) for table, columns in self._presented.values()]
        connection.execute("; ".join([*_lock(part for table, _ in self._tables for part in table.stored.parts), *views]))
        return connection

    def present(self, table: CheckedTable, columns: frozenset[str]) -> None:
        try:
            self._connection.execute(_view(self._connection, table, columns))
        except duckdb.Error as error:
            self._recover(error)
        self._presented[table.relation] = (table, columns)

    def lend(self, name: str, rows: pa.Table) -> None:
        self._connection.register(name, rows)

    def close(self) -> None:
        """Closes the connection; also where the body that opened it has raised."""
        if self._open_connection is not None:
            self._open_connection.close()
            self._open_connection = None

    def numbers(self, query: exp.Query, *, deadline: float) -> dict[str, Any]:
        with self._budgeted(deadline):
            cursor = self._connection.execute(self._text(query))
            names = [column[0] for column in cursor.description or ()]
            (row,) = cursor.fetchall()
        return dict(zip(names, row, strict=True))

    @contextmanager
    def _budgeted(self, deadline: float) -> Generator[None, None, None]:
        """Interrupts what runs inside at the deadline, and turns DuckDB's errors into ours."""
        expired = threading.Event()

        def interrupt() -> None:
            expired.set()
            self._connection.interrupt()

        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeBudgetExceeded(seconds=self._limits.scan_seconds)
        timer = threading.Timer(left, interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        except duckdb.InterruptException as error:
            if not expired.is_set():
                raise
            raise TimeBudgetExceeded(seconds=self._limits.scan_seconds) from error
        except duckdb.Error as error:
            self._recover(error)
        finally:
            timer.cancel()

    def _recover(self, error: duckdb.Error) -> None:
        """Turns DuckDB's error into ours. What points at a fault of our own SQL is raised as it is."""
        if isinstance(error, duckdb.BinderException | duckdb.ParserException | duckdb.CatalogException):
            raise error
        self.close()
        self._connection = self._opened()
        if isinstance(error, duckdb.OutOfMemoryException) or "No space left" in str(error):
            spill = (
                "without spilling"
                if not self._spill
                else f"and {self._limits.max_temp_bytes} bytes of spill"
                if self._limits.max_temp_bytes
                else "and the spill folder"
            )
            raise MemoryBudgetExceeded(memory_limit=self._limits.memory_limit, spill=spill) from error
        raise EngineStumbled("DuckDB", type(error).__name__) from error

    def batches(self, query: exp.Query, *, deadline: float) -> Iterator[pa.RecordBatch]:
        with self._budgeted(deadline):
            yield from self._connection.sql(self._text(query)).to_arrow_reader(_BATCH_ROWS)

    def _text(self, query: exp.Query) -> str:
        """The query as DuckDB reads it; the judgements in Python that it calls are made known first, each costs a millisecond."""
        if id(query) not in self._written:  # a table that is asked part by part is asked the same, often
            self._written[id(query)] = query, query.sql("duckdb")
        written = self._written[id(query)][1]
        for name in functions.called_in(written):
            if name not in self._known:
                judge = functions.over_batches(functions.judgements()[name])
                self._connection.create_function(name, judge, [sqltypes.VARCHAR, sqltypes.VARCHAR], sqltypes.BOOLEAN, type=func.ARROW)
                self._known.add(name)
        return written

    def type_of(self, expression: exp.Expr, relation: str) -> pa.DataType:
        query = sql.select_from(relation, {"x": expression}).sql("duckdb")
        try:
            (kind,) = self._connection.sql(query).types  # bound, not run: even with LIMIT 0, DuckDB would read what a subquery reads
            nothing = duckdb.ConstantExpression(None).cast(kind).alias("x")
            return self._connection.sql("SELECT 1").select(nothing).to_arrow_reader(1).schema.field("x").type
        except duckdb.Error as error:
            raise EngineStumbled("DuckDB", type(error).__name__) from error


def configure(connection: duckdb.DuckDBPyConnection, limits: Limits, *, spill: str) -> None:
    """Every setting of the connection, in one place."""
    settings: dict[str, str | int] = {
        "TimeZone": "UTC",
        "memory_limit": limits.memory_limit,
        "temp_directory": spill,
        "disabled_optimizers": ",".join(_DISABLED_OPTIMIZERS),
        "enable_progress_bar": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "preserve_insertion_order": False,
        "scalar_subquery_error_on_multiple_rows": True,
    }
    if limits.threads is not None:
        settings["threads"] = limits.threads
    if limits.max_temp_bytes is not None and spill:
        settings["max_temp_directory_size"] = f"{limits.max_temp_bytes}B"
    connection.execute("; ".join(f"SET {name} = {_literal(value)}" for name, value in settings.items()))


def _lock(parts: Iterable[Part]) -> list[str]:
    """The statements from which on only the parts can be read: no other file, no write, no extension, no setting."""
    paths = ", ".join(_literal(path) for part in parts for path in dict.fromkeys((part.path, escaped(part.path))))
    return [f"SET allowed_paths = [{paths}]", "SET enable_external_access = false", "SET lock_configuration = true"]


def escaped(path: str) -> str:
    """The path with every character escaped that DuckDB would take for a pattern."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in path)


def _view(connection: duckdb.DuckDBPyConnection, table: CheckedTable, columns: frozenset[str]) -> str:
    """The statement that makes the table's columns a view under its relation name; registers what it reads from."""
    stored = table.stored
    wanted = [column for column in stored.columns if column.name in columns and column.name not in stored.conflicts]
    is_named_as_ours = table.numbered and stored.column("file_row_number") is not None
    if stored.memory is not None or stored.is_cut or is_named_as_ours or needs_arrow(wanted):
        connection.register(f"arrow_{table.relation}", ArrowRows(stored, wanted))
        presented = {f"p{place}": table.names[column.name] for place, column in enumerate(wanted)} | {ROW_NUMBER: table.row_number}
        columns_sql = ", ".join(f"{_quoted(arrow)} AS {_quoted(name)}" for arrow, name in presented.items())
        return f"CREATE OR REPLACE TEMP VIEW {_quoted(table.relation)} AS SELECT {columns_sql} FROM {_quoted(f'arrow_{table.relation}')}"
    if stored.filesystem is not None:
        connection.register_filesystem(stored.filesystem)
    groups: dict[pa.Schema, list[Part]] = {}
    for part in stored.parts:
        groups.setdefault(part.schema.remove_metadata(), []).append(part)
    selects = [_select(connection, table, wanted, schema, parts) for schema, parts in groups.items()]
    return f"CREATE OR REPLACE TEMP VIEW {_quoted(table.relation)} AS {' UNION ALL '.join(selects)}"


def _select(
    connection: duckdb.DuckDBPyConnection, table: CheckedTable, wanted: Sequence[StoredColumn], schema: pa.Schema, parts: Sequence[Part]
) -> str:
    """A query over the parts of one schema: columns by their place in the file, as the types that the table gives them."""
    needs_keys = table.numbered or any(column.from_path for column in wanted)
    columns: list[str] = []
    for column in wanted:
        if column.from_path:
            value = f"k.{_quoted(table.names[column.name])}"
        elif (place := schema.get_field_index(column.name)) < 0:
            value = f"CAST(NULL AS {duckdb_type(column.type)})"
        else:
            value = f"t.p{place}"
            if plain(schema.field(place).type) != column.type:
                value = f"CAST({value} AS {duckdb_type(column.type)})"
        columns.append(f"{value} AS {_quoted(table.names[column.name])}")
    files = ", ".join(_literal(escaped(part.path)) for part in parts)
    places = [f"p{place}" for place in range(len(schema))]
    options = "hive_partitioning = false"
    if needs_keys:
        options += f", file_row_number = true, filename = {_literal(_FILE)}"
        places += [_ROW, _FILE]
    source = f"read_parquet([{files}], {options}) AS t({', '.join(places)})"
    if table.numbered:
        columns.append(f"k.{_FIRST_ROW} + t.{_ROW} AS {_quoted(table.row_number)}")
    if not needs_keys:
        return f"SELECT {', '.join(columns) or '1 AS nothing'} FROM {source}"
    keys = f"keys_{table.relation}_{parts[0].footer[:12]}"
    connection.register(keys, _keys(table, parts, [column for column in wanted if column.from_path]))
    return f"SELECT {', '.join(columns)} FROM {source} JOIN {_quoted(keys)} AS k ON k.{_FILE} = t.{_FILE}"


def _keys(table: CheckedTable, parts: Sequence[Part], columns: Sequence[StoredColumn]) -> pa.Table:
    """One row a part: its path, the number of its first row in the table, and what its folders say."""
    firsts = dict(
        zip((part.path for part in table.stored.parts), accumulate((part.rows for part in table.stored.parts), initial=0), strict=False)
    )
    arrays = {
        table.names[column.name]: pa.array([part.keys.get(column.name) for part in parts], pa.string()).cast(column.type)
        for column in columns
    }
    paths = [part.path for part in parts]
    return pa.table({_FILE: pa.array(paths, pa.string()), _FIRST_ROW: pa.array([firsts[path] for path in paths], pa.int64()), **arrays})


def duckdb_type(kind: pa.DataType) -> str:
    """DuckDB's type that holds every value of an Arrow type."""
    types = pa.types
    if types.is_struct(kind):
        return f"STRUCT({', '.join(f'{_quoted(kind.field(i).name)} {duckdb_type(kind.field(i).type)}' for i in range(kind.num_fields))})"
    if types.is_map(kind):
        return f"MAP({duckdb_type(kind.key_type)}, {duckdb_type(kind.item_type)})"
    if types.is_list(kind) or types.is_fixed_size_list(kind):
        return f"{duckdb_type(kind.value_type)}[]"
    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if types.is_timestamp(kind):
        zoned = "TIMESTAMPTZ" if kind.tz else "TIMESTAMP"
        return f"{zoned}_NS" if kind.unit == "ns" else zoned
    if types.is_time(kind):
        return "TIME_NS" if kind.unit == "ns" else "TIME"
    if types.is_binary(kind) or types.is_fixed_size_binary(kind):
        return "BLOB"
    if types.is_duration(kind):
        return "BIGINT"
    return _SIMPLE_TYPES[str(kind)]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: str | int) -> str:
    """A setting or a path in SQL. sqlglot writes the same, with a generator for each, and a table may have thousands of files."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
