"""The one Spark of a test process: local, small, and started when the first test asks for it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import pytest

from dq_dagster.outcomes import Outcome

CONF = {
    "spark.driver.memory": "1g",
    # Half a minute of CPU is not worth compiling well.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # A task that lacks memory fails, and the process stays.
    "spark.executor.killOnFatalError.depth": "0",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # It listens for Spark Connect besides.
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    # A few rows are answered soonest without threads to share them, and without code that is compiled for them.
    "spark.default.parallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def runs_everything_on_spark() -> bool:
    """Whether every case is to run on Spark, which takes ten minutes; else a share of them runs."""
    return os.environ.get("DQ_DAGSTER_ON_SPARK") == "all"


def why_none() -> str | None:
    """Why there is no Spark here; None where there is."""
    if find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'dq_dagster[spark]'"
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "there is no Java runtime, which Spark needs"
    return None


def require_spark() -> None:
    """Skips the test where there is no Spark, and fails it where DQ_DAGSTER_REQUIRE_SPARK is 1."""
    if (reason := why_none()) is not None:
        (pytest.fail if os.environ.get("DQ_DAGSTER_REQUIRE_SPARK") == "1" else pytest.skip)(reason)


@lru_cache(maxsize=1)
def spark_engine() -> Any:
    """The engine, for a test that requires Spark."""
    require_spark()
    from pyspark.sql import SparkSession

    from dq_dagster.engines.spark import SparkEngine

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("dq_dagster tests")
    for name, value in {**CONF, "spark.connect.grpc.binding.port": str(free_port())}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return SparkEngine(session)


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def difference(on_spark: Outcome, on_duckdb: Outcome) -> str | None:
    """What an outcome says on one engine alone; None where both say the same, the last digits of a float left aside."""
    for name in ("status", "detail", "failed_rows", "observed", "examples"):
        there, here = (_comparable(getattr(outcome, name)) for outcome in (on_spark, on_duckdb))
        if there != here:
            return f"{name} is {there!r} on Spark, and {here!r} on DuckDB"
    return None


def _comparable(value: Any) -> Any:
    """A value with floats to 12 digits, and without the words an engine has for its own failure."""
    if isinstance(value, str):
        plain = re.sub(r"(CHECK_UNSUPPORTED_BY_ENGINE: )(?:Spark|DuckDB) .*", r"\1", value)
        return re.sub(r"-?\d+\.\d{10,}(?:e[+-]?\d+)?", lambda found: f"{float(found.group()):.12g}", plain)
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, dict):
        return {name: _comparable(member) for name, member in value.items()}
    return [_comparable(member) for member in value] if isinstance(value, list | tuple) else value
