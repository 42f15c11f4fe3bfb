"""Spark as the engine: the tables as temporary views of one session, whose settings are put back when it ends.

The session is the one that is given, one behind a Spark Connect address, or a local one. Few settings are changed, and
all of them for the sake of the answers: what a cluster is sized and tuned for stays as it is.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks import functions
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.arrow_rows import needs_arrow
from dq_dagster.engines.base import EngineStumbled, Session
from dq_dagster.engines.spark_functions import spark_text
from dq_dagster.engines.spark_judged import judged_counts, selecting, with_doubts
from dq_dagster.engines.spark_kinds import Kinds, is_nano
from dq_dagster.engines.spark_sql import SPARK, NoTranslation
from dq_dagster.engines.spark_tables import frame_of
from dq_dagster.errors import DqDagsterError, MemoryBudgetExceeded, TimeBudgetExceeded
from dq_dagster.limits import Limits

_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    # One query is one job, where each step of an adaptive one is a job of its own.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    # Sums and differences of decimals keep their scale, as they do in DuckDB.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    # An object that names a member twice is no JSON.
    "spark.sql.variant.allowDuplicateKeys": "false",
    # Parquet statistics leave NaN out of min and max, and Spark prunes by them: `x > 60` would miss a NaN.
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}
# For a session that is opened here. What Spark logs of a failed task may quote a cell.
_OPENED = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
# Where driver and executor are one process: few tasks of a step, and a task that lacks memory fails alone.
_LOCAL = {"spark.sql.shuffle.partitions": "16", "spark.executor.killOnFatalError.depth": "0"}
# How tables are written, by names that are none of those above: what is read back has the values that were there, and
# footers that say their ends.
WRITING = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
}
_OUT_OF_MEMORY = ("OutOfMemoryError", "UNABLE_TO_ACQUIRE_MEMORY", "maxResultSize")
_LACKING = "No module named 'dq_dagster'"
_RAISERS = frozenset({"pyspark", "py4j", "grpc"})
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_CANCEL_AGAIN_SECONDS = 0.25
_BATCH_ROWS = 65_536
_Answer = TypeVar("_Answer")


class SparkMissing(DqDagsterError):
    """The engine is Spark, and pyspark is not installed."""

    def __init__(self) -> None:
        super().__init__("the engine spark needs pyspark, which is not installed; install it with: pip install 'dq_dagster[spark]'")


def _pyspark() -> Any:
    try:
        return importlib.import_module("pyspark.sql")
    except ImportError as error:
        raise SparkMissing from error


class SparkElsewhere(DqDagsterError):
    """A session was asked for in one place, and this process has one in another."""

    def __init__(self, *, wanted: str, found: str) -> None:
        self.wanted = wanted
        self.found = found
        super().__init__(
            f"Spark was to run on {wanted}, and this process has a session on {found} already, of which there can be one only; "
            "stop that session first, or hand it over as SparkEngine(session)"
        )


class SparkEngine:
    """Runs plans on Spark SQL.

    `session` is a SparkSession to use, classic or Connect, such as the `spark_session` of dagster-pyspark's resource. Else
    `remote` says where to open one: `sc://host:15002` for Spark Connect, `spark://host:7077` for a cluster, `local[2]` for
    this machine; and where it says nothing, the session that is active is used, or a local one on all cores. `conf` are
    settings of a session that is opened here, which stays open for what comes next.

    Raises SparkMissing where pyspark is not installed, SparkElsewhere where this process has a session in another place.
    """

    name = "spark"
    chooses = False

    def __init__(self, session: Any = None, *, remote: str | None = None, conf: Mapping[str, str] | None = None) -> None:
        _pyspark()
        self._session = session
        self._remote = remote
        self._conf = dict(conf or {})
        self._version = ""

    @property
    def spark(self) -> Any:
        """The session that queries run on, opened when it is first asked for."""
        if self._session is None:
            self._session = _opened(self._remote, self._conf)
        return self._session

    def versions(self) -> Mapping[str, str]:
        if not self._version:
            self._version = str(self.spark.version)
        return {"spark": self._version, "pyspark": _pyspark_version(), "pyarrow": pa.__version__}

    @contextmanager
    def session(self, tables: Sequence[tuple[CheckedTable, frozenset[str]]], limits: Limits) -> Generator[Session, None, None]:
        with ExitStack() as cleanup:
            with _errors_as_ours():
                spark = self.spark
                self.versions()  # of a Spark that dies on a query too
                cleanup.enter_context(settled(spark, _SETTINGS))
                session = SparkSession(spark, tables, limits)
                cleanup.callback(session.close)
                session.open()
            yield session


def _opened(remote: str | None, conf: Mapping[str, str]) -> Any:
    sessions = _pyspark().SparkSession
    active = _active(sessions)
    if active is not None and remote is not None and (context := _context_of(active)) is not None and context.master != remote:
        raise SparkElsewhere(wanted=remote, found=context.master)
    if active is not None:
        return active
    builder = sessions.builder
    if remote is not None and remote.startswith("sc://"):
        settings = dict(conf)
        builder = builder.remote(remote)
    else:
        master = remote or "local[*]"
        settings = {**_OPENED, **(_LOCAL if master.startswith("local") else {}), **conf}
        if master.startswith("local"):
            # Else the workers are whatever `python3` is on the path, which need not have this package.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.master(master).appName("dq_dagster")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _active(sessions: Any) -> Any:
    """The session that this process works with; None where it has none."""
    from pyspark.errors import PySparkRuntimeError

    try:
        return sessions.active()
    except PySparkRuntimeError:
        return None


def _context_of(spark: Any) -> Any:
    """The session's SparkContext; None over Spark Connect, which has none."""
    return getattr(spark, "sparkContext", None)


def _pyspark_version() -> str:
    return str(importlib.import_module("pyspark").__version__)


_settings_lock = threading.Lock()
# By session and names of settings: how many hold them, and what they were before the first.
_held: dict[tuple[str, tuple[str, ...]], tuple[int, dict[str, str | None]]] = {}


@contextmanager
def settled(spark: Any, settings: Mapping[str, str]) -> Generator[None, None, None]:
    """The session with these settings, for as long as the body runs; the last to leave puts back what was before."""
    held = _identity_of(spark), tuple(settings)
    with _settings_lock:
        holders, before = _held.get(held, (0, {}))
        if not holders:
            before = {name: spark.conf.get(name, None) for name in settings}
            _set(spark, settings)
        _held[held] = holders + 1, before
    try:
        yield
    finally:
        with _settings_lock, _unless_gone():
            holders, before = _held.pop(held)
            if holders > 1:
                _held[held] = holders - 1, before
            else:
                _set(spark, before)


def _identity_of(spark: Any) -> str:
    """What tells a session from others; Python may hold one by several objects."""
    return str(spark.session_id if _context_of(spark) is None else spark._jsparkSession.sessionUUID())


def _set(spark: Any, settings: Mapping[str, str | None]) -> None:
    for name, value in settings.items():
        if value is None:
            spark.conf.unset(name)
        elif spark.conf.get(name) != value:  # to set what is so by default would bring Spark's notice of what it has deprecated
            spark.conf.set(name, value)


class SparkSession:
    """The tables as temporary views, under names that nobody else has."""

    def __init__(self, spark: Any, tables: Sequence[tuple[CheckedTable, frozenset[str]]], limits: Limits) -> None:
        self._spark = spark
        self._tables = tables
        self._limits = limits
        self._mark = f"dq_{uuid.uuid4().hex[:12]}"
        self._views = {table.relation: f"{self._mark}_{place}" for place, (table, _) in enumerate(tables)}
        self._kinds = {table.relation: _kinds_of(table, columns) for table, columns in tables}
        self._tags = _tags_of(spark)
        self._registered: dict[str, str] = {}

    def open(self) -> None:
        """Makes the views."""
        for table, columns in self._tables:
            frame_of(self._spark, table, columns).createOrReplaceTempView(self._views[table.relation])

    def close(self) -> None:
        """Drops the views and the functions."""
        with _unless_gone():
            for view in self._views.values():
                self._spark.catalog.dropTempView(view)
            for name in self._registered.values():
                self._spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")
        self._registered.clear()

    def numbers(self, query: exp.Query, *, deadline: float) -> dict[str, Any]:
        """The one row that the query gives. Python is asked to judge rows only where Spark finds some that are in doubt."""
        counts = judged_counts(query)
        found = self._row(self._text(with_doubts(query, counts)), deadline)
        if doubtful := [name for name in counts if found[name]]:
            found |= self._row(self._text(selecting(query, doubtful)), deadline)
        return found

    def _row(self, text: str, deadline: float) -> dict[str, Any]:
        (row,) = self._run(lambda: self._spark.sql(text).collect(), deadline)
        return {name: _as_python(value) for name, value in zip(row.__fields__, row, strict=True)}

    def batches(self, query: exp.Query, *, deadline: float) -> Iterator[pa.RecordBatch]:
        from pyspark.sql.pandas.types import to_arrow_schema

        text = self._text(query)
        frame = self._run(lambda: self._spark.sql(text), deadline)
        schema = to_arrow_schema(frame.schema)
        rows = self._run(lambda: frame.toLocalIterator(), deadline)
        while taken := self._run(lambda: list(islice(rows, _BATCH_ROWS)), deadline):
            columns = [pa.array([row[place] for row in taken], field.type) for place, field in enumerate(schema)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def frame(self, query: exp.Query) -> Any:
        """The query as a DataFrame; it can be used for as long as the session is open. Raises EngineStumbled."""
        with _unlogged(), _errors_as_ours():
            return self._spark.sql(self._text(query))

    def run(self, action: Callable[[], _Answer], *, deadline: float) -> _Answer:
        """Does something with such a DataFrame. Raises as `numbers` does."""
        return self._run(action, deadline)

    def type_of(self, expression: exp.Expr, relation: str) -> pa.DataType:
        from pyspark.sql.pandas.types import to_arrow_type

        query = sql.select_from(relation, {"x": expression})
        known = Kinds(self._kinds).of(query.selects[0].unalias())
        if is_nano(known):
            return known
        try:
            text = self._text(query)
        except NoTranslation:
            return pa.null()  # the query that needs it says so, and only its check goes unanswered
        with _errors_as_ours(), _unlogged():
            kind = to_arrow_type(self._spark.sql(text).schema[0].dataType)
        return pa.int64() if known == pa.int64() and pa.types.is_integer(kind) else kind

    def _text(self, query: exp.Query) -> str:
        """The query as Spark reads it; the judgements in Python that it calls are made known first."""
        for name in functions.called_in(query.sql("duckdb")):
            if name not in self._registered:
                with _errors_as_ours():
                    self._spark.udf.register(f"{self._mark}_{name}", _over_rows(name), "boolean")
                self._registered[name] = f"{self._mark}_{name}"
        return spark_text(query, self._kinds, self._views, self._registered)

    def _run(self, action: Callable[[], _Answer], deadline: float) -> _Answer:
        """Does the action; cancels its jobs at the deadline, and turns Spark's errors into ours."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeBudgetExceeded(seconds=self._limits.scan_seconds)
        done, expired = threading.Event(), threading.Event()

        def interrupt() -> None:
            if done.wait(left):
                return
            expired.set()
            with _unless_gone():
                self._tags.cancel(self._mark)
                while not done.wait(_CANCEL_AGAIN_SECONDS):  # an action has several jobs, and the next may start after this
                    self._tags.cancel(self._mark)

        watch = threading.Thread(target=interrupt, daemon=True)
        try:
            with _errors_as_ours(), _unlogged():
                self._tags.add(self._mark)
                watch.start()
                return action()
        except DqDagsterError as error:
            if expired.is_set():
                raise TimeBudgetExceeded(seconds=self._limits.scan_seconds) from error
            raise
        finally:
            done.set()
            if watch.ident is not None:
                watch.join()
            with _unless_gone():
                self._tags.remove(self._mark)


class _Tags(NamedTuple):
    """How a session's jobs are marked, and cancelled by their mark; the user's own job group stays what it is."""

    add: Callable[[str], None]
    remove: Callable[[str], None]
    cancel: Callable[[str], Any]


def _tags_of(spark: Any) -> _Tags:
    """The context's tags where there is one: the session's own are known to the thread alone that added them."""
    context = _context_of(spark)
    if context is None:
        return _Tags(spark.addTag, spark.removeTag, spark.interruptTag)
    return _Tags(context.addJobTag, context.removeJobTag, context.cancelJobsWithTag)


@contextmanager
def _errors_as_ours() -> Generator[None, None, None]:
    try:
        yield
    except Exception as error:
        ours = _translated(error)
        if ours is error:
            raise
        raise ours from error


@contextmanager
def _unless_gone() -> Generator[None, None, None]:
    """For what puts things back: where Spark is gone there is nothing to put back, and what was found stands."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, ConnectionError) and type(error).__name__ != "Py4JNetworkError":
            raise


def _translated(error: Exception) -> Exception:
    """Spark's error as ours, by its name alone: its text may quote a cell. What is no error of Spark's stays what it is."""
    if not any(kind.__module__.partition(".")[0] in _RAISERS for kind in type(error).__mro__) and not isinstance(error, ConnectionError):
        return error
    if any(sign in str(error) for sign in _OUT_OF_MEMORY):
        return MemoryBudgetExceeded(memory_limit="Spark's executors", spill="with what they spill")
    if _LACKING in str(error):
        return EngineStumbled(SPARK, "its Python workers lack dq_dagster, which this kind judges with; install it there")
    java: Any = getattr(error, "java_exception", None)
    if java is not None:
        while java.getCause() is not None:
            java = java.getCause()
        return EngineStumbled(SPARK, str(java.getClass().getSimpleName()))
    condition = getattr(error, "getCondition", lambda: None)()
    return EngineStumbled(SPARK, condition or type(error).__name__)


@contextmanager
def _unlogged() -> Generator[None, None, None]:
    """Keeps this thread's errors out of PySpark's own log, where their text would stand: it may quote a cell."""
    from pyspark.logger import PySparkLogger

    thread = threading.get_ident()

    def is_not_ours(record: logging.LogRecord) -> bool:
        return record.thread != thread

    loggers: list[logging.Logger] = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(is_not_ours)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_not_ours)


def _kinds_of(table: CheckedTable, columns: frozenset[str]) -> dict[str, pa.DataType]:
    """The types of the table's columns, by their names in queries. In Parquet a span of time is a bare number."""
    stored = table.stored
    is_bare = stored.memory is None and not needs_arrow([column for column in stored.columns if column.name in columns])
    kinds = {
        table.names[column.name]: pa.int64() if is_bare and pa.types.is_duration(column.type) else column.type for column in stored.columns
    }
    return {**kinds, table.row_number: pa.int64()} if table.numbered else kinds


@lru_cache(maxsize=64)
def _over_rows(name: str) -> Callable[[str | None, str], bool | None]:
    """A judgement over one text; NULL stays NULL."""
    judge = functions.judgements()[name]

    def over_row(text: str | None, parameter: str) -> bool | None:
        return None if text is None else judge(text, parameter)

    return over_row


def _as_python(value: Any) -> Any:
    """A value as DuckDB hands it over: a struct as a dict, a whole number of 128 bits as an int."""
    if isinstance(value, tuple):
        row: Any = value
        return {name: _as_python(member) for name, member in zip(row.__fields__, row, strict=True)}
    if isinstance(value, list):
        members: list[Any] = value
        return [_as_python(member) for member in members]
    if isinstance(value, Decimal) and value.is_finite() and value.as_tuple().exponent == 0:
        return int(value)
    return bytes(value) if isinstance(value, bytearray) else value
