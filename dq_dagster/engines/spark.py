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
from importlib.metadata import version
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks import functions
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.base import EngineStumbled, Session
from dq_dagster.engines.spark_functions import spark_text
from dq_dagster.engines.spark_kinds import Kinds, is_nano
from dq_dagster.engines.spark_sql import SPARK, NoTranslation
from dq_dagster.engines.spark_tables import frame_of
from dq_dagster.errors import DqDagsterError, MemoryBudgetExceeded, TimeBudgetExceeded
from dq_dagster.limits import Limits

_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    # Sums and differences of decimals keep their scale, as they do in DuckDB.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
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
_OUT_OF_MEMORY = ("OutOfMemoryError", "UNABLE_TO_ACQUIRE_MEMORY", "maxResultSize")
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


class SparkEngine:
    """Runs plans on Spark SQL.

    `session` is a SparkSession to use, classic or Connect; else `remote` is an address to connect to, such as
    `sc://host:15002`; else a local session is started. `conf` are settings of a session that is started here. Raises
    SparkMissing where pyspark is not installed.
    """

    name = "spark"
    chooses = False

    def __init__(self, session: Any = None, *, remote: str | None = None, conf: Mapping[str, str] | None = None) -> None:
        _pyspark()
        self._given = session
        self._remote = remote
        self._conf = dict(conf or {})

    @property
    def spark(self) -> Any:
        """The session that queries run on, started when it is first asked for."""
        if self._given is None:
            self._given = self._started()
        return self._given

    def _started(self) -> Any:
        builder = _pyspark().SparkSession.builder
        if self._remote is not None:
            builder = builder.remote(self._remote)
        else:
            # Else the workers are whatever `python3` is on the path, which need not have this package.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            builder = builder.master("local[*]").appName("dq_dagster").config("spark.ui.enabled", "false")
        for name, value in self._conf.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()

    def versions(self) -> Mapping[str, str]:
        return {"spark": str(self.spark.version), "pyspark": version("pyspark"), "pyarrow": pa.__version__}

    @contextmanager
    def session(self, tables: Sequence[tuple[CheckedTable, frozenset[str]]], limits: Limits) -> Generator[Session, None, None]:
        with ExitStack() as cleanup:
            spark = self.spark
            cleanup.enter_context(_settings(spark))
            session = SparkSession(spark, tables, limits)
            cleanup.callback(session.close)
            session.open()
            yield session


@contextmanager
def _settings(spark: Any) -> Generator[None, None, None]:
    """The settings that the answers need, for as long as the body runs."""
    before = {name: spark.conf.get(name, None) for name in _SETTINGS}
    try:
        for name, value in _SETTINGS.items():
            if before[name] != value:
                spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            elif value != _SETTINGS[name]:
                spark.conf.set(name, value)


class SparkSession:
    """The tables as temporary views, under names that nobody else has."""

    def __init__(self, spark: Any, tables: Sequence[tuple[CheckedTable, frozenset[str]]], limits: Limits) -> None:
        self._spark = spark
        self._tables = tables
        self._limits = limits
        self._mark = f"dq_{uuid.uuid4().hex[:12]}"
        self._views = {table.relation: f"{self._mark}_{place}" for place, (table, _) in enumerate(tables)}
        self._kinds = {table.relation: _kinds_of(table) for table, _ in tables}
        self._tags = _tags_of(spark)
        self._registered: dict[str, str] = {}

    def open(self) -> None:
        """Makes the views."""
        for table, columns in self._tables:
            frame_of(self._spark, table, columns).createOrReplaceTempView(self._views[table.relation])

    def close(self) -> None:
        """Drops the views and the functions."""
        for view in self._views.values():
            self._spark.catalog.dropTempView(view)
        for name in self._registered.values():
            self._spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")
        self._registered.clear()

    def numbers(self, query: exp.Query, *, deadline: float) -> dict[str, Any]:
        text = self._text(query)
        rows = self._run(lambda: self._spark.sql(text).collect(), deadline)
        (row,) = rows
        return {name: _as_python(value) for name, value in zip(row.__fields__, row, strict=True)}

    def batches(self, query: exp.Query, *, deadline: float) -> Iterator[pa.RecordBatch]:
        from pyspark.sql.pandas.types import to_arrow_schema

        frame = self._spark.sql(self._text(query))
        schema = to_arrow_schema(frame.schema)
        rows = self._run(lambda: frame.toLocalIterator(), deadline)
        while taken := self._run(lambda: list(islice(rows, _BATCH_ROWS)), deadline):
            columns = [pa.array([row[place] for row in taken], field.type) for place, field in enumerate(schema)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def type_of(self, expression: exp.Expr, relation: str) -> pa.DataType:
        from pyspark.errors import AnalysisException
        from pyspark.sql.pandas.types import to_arrow_type

        query = sql.select_from(relation, {"x": expression})
        known = Kinds(self._kinds).of(query.selects[0].unalias())
        if is_nano(known):
            return known
        try:
            text = self._text(query)
        except NoTranslation:
            return pa.null()  # the query that needs it says so, and only its check goes unanswered
        try:
            with _unlogged():
                kind = to_arrow_type(self._spark.sql(text).schema[0].dataType)
        except AnalysisException as error:
            raise EngineStumbled(SPARK, type(error).__name__) from error
        return pa.int64() if known == pa.int64() and pa.types.is_integer(kind) else kind

    def _text(self, query: exp.Query) -> str:
        """The query as Spark reads it; the judgements in Python that it calls are made known first."""
        for name in functions.called_in(query.sql("duckdb")):
            if name not in self._registered:
                self._registered[name] = name
                self._spark.udf.register(name, _over_rows(name), "boolean")
        return spark_text(query, self._kinds, self._views, frozenset(self._registered))

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
            self._tags.cancel(self._mark)
            while not done.wait(_CANCEL_AGAIN_SECONDS):  # an action has several jobs, and the next may start after this
                self._tags.cancel(self._mark)

        self._tags.add(self._mark)
        watch = threading.Thread(target=interrupt, daemon=True)
        watch.start()
        try:
            with _unlogged():
                return action()
        except Exception as error:
            if expired.is_set():
                raise TimeBudgetExceeded(seconds=self._limits.scan_seconds) from error
            raise _translated(error) from error
        finally:
            done.set()
            watch.join()
            self._tags.remove(self._mark)


class _Tags(NamedTuple):
    """How a session's jobs are marked, and cancelled by their mark; the user's own job group stays what it is."""

    add: Callable[[str], None]
    remove: Callable[[str], None]
    cancel: Callable[[str], Any]


def _tags_of(spark: Any) -> _Tags:
    """The context's tags where there is one: the session's own are known to the thread alone that added them."""
    context = getattr(spark, "sparkContext", None)
    if context is None:  # Spark Connect
        return _Tags(spark.addTag, spark.removeTag, spark.interruptTag)
    return _Tags(context.addJobTag, context.removeJobTag, context.cancelJobsWithTag)


def _translated(error: Exception) -> Exception:
    """Spark's error as ours. What points at a fault of our own SQL, or is no error of Spark's, stays what it is."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    if isinstance(error, AnalysisException | ParseException) or not isinstance(error, PySparkException | Py4JError):
        return error
    if any(sign in str(error) for sign in _OUT_OF_MEMORY):
        return MemoryBudgetExceeded(memory_limit="the Spark executors", spill="with their spill")
    if isinstance(error, Py4JJavaError):
        return EngineStumbled(SPARK, _java_name(error))
    condition = error.getCondition() if isinstance(error, PySparkException) else None
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


def _java_name(error: Any) -> str:
    """The class of the innermost cause; its text may quote a cell and is left alone."""
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.getClass().getSimpleName())


def _kinds_of(table: CheckedTable) -> dict[str, pa.DataType]:
    kinds = {table.names[column.name]: column.type for column in table.stored.columns}
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
