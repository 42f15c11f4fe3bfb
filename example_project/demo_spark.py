"""`make demo-spark`: the example's recipes on DuckDB and on a local Spark, side by side, and how many outcomes differ."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dq_dagster import Evaluation, Outcome, evaluate, load_recipe
from dq_dagster.engines.spark import SparkEngine
from example_project import source
from example_project.assets import RECIPES
from example_project.demo import COLOURS, WIDTH_WHEN_PIPED

# The table that each recipe is about, whole: here no month has a file of its own.
TABLES: dict[str, Callable[[], pa.Table]] = {
    "airports": lambda: source.read("airports"),
    "planes": lambda: source.read("planes"),
    "weather": lambda: source.read("weather"),
    "flights": lambda: source.read("flights"),
    "flights_gate": lambda: source.read("flights"),
    "departures": lambda: source.read("flights").select(source.DEPARTURE),
    "flight_weather": lambda: source.with_weather(source.read("flights"), source.read("weather")),
}
CONF = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
    # A cluster's default is 200, which on one machine is 200 tasks for a few rows each.
    "spark.sql.shuffle.partitions": "2",
}


def main() -> int:
    """Evaluates every recipe on both engines. The exit status is 1 where an outcome differs, and 2 where Spark cannot start."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, WIDTH_WHEN_PIPED)
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        console.print("Spark needs a Java runtime, and none was found: install one (Java 17 or newer), or set JAVA_HOME.")
        return 2
    spark = SparkEngine(conf=CONF)
    spark.spark.sparkContext.setLogLevel("ERROR")
    differing = outcomes = 0
    seconds = {"duckdb": 0.0, "spark": 0.0}
    with tempfile.TemporaryDirectory(prefix="dq_dagster-demo-") as folder:
        paths = {name: Path(folder) / f"{name}.parquet" for name in TABLES}
        for name, make in TABLES.items():
            pq.write_table(make(), paths[name])
        for name, path in paths.items():
            recipe = load_recipe(RECIPES / f"{name}.yaml")
            references = {other: str(paths[other]) for other in recipe.references}
            found: dict[str, Evaluation] = {}
            for engine in ("duckdb", "spark"):
                started = time.monotonic()
                found[engine] = evaluate(recipe, path, engine=spark if engine == "spark" else engine, references=references)
                seconds[engine] += time.monotonic() - started
            differing += _print_outcomes(console, name, found["duckdb"], found["spark"])
            outcomes += len(found["duckdb"].outcomes)
    console.print(f"{outcomes} outcomes of {len(TABLES)} recipes on each engine; {differing} differ.")
    console.print(f"DuckDB took {seconds['duckdb']:.1f} s, Spark {seconds['spark']:.1f} s: tables of this size belong on one machine.")
    return 1 if differing else 0


def _print_outcomes(console: Console, name: str, on_duckdb: Evaluation, on_spark: Evaluation) -> int:
    """Prints a recipe's outcomes; gives how many differ."""
    table = Table(title=f"recipe {name}, {on_duckdb.receipt.rows:,} rows", title_justify="left", box=SIMPLE_HEAD)
    for column in ("check", "DuckDB", "Spark"):
        table.add_column(column, no_wrap=True)
    table.add_column("detail", overflow="fold")
    differing = 0
    for here, there in zip(on_duckdb.outcomes, on_spark.outcomes, strict=True):
        told = Text(here.detail)
        if _told(here) != _told(there):
            differing += 1
            told = Text(f"DIFFERS\non DuckDB: {here.detail}\non Spark:  {there.detail}", style="red")
        table.add_row(here.check_id, *(Text(one.status, style=COLOURS[one.status]) for one in (here, there)), told)
    console.print(table)
    return differing


def _told(outcome: Outcome) -> tuple[object, ...]:
    return outcome.status, outcome.detail, outcome.failed_rows, outcome.examples


if __name__ == "__main__":
    sys.exit(main())
