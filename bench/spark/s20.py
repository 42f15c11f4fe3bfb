"""The suite of twenty checks (bench/suites/twenty.yaml) on a local Spark: ours, hand-written Spark SQL, DQX or SparkDQ.

    python bench/spark/s20.py ours|reference|dqx|sparkdq FILE [--without-json]

FILE is a table made by bench/readings.py, with `stations.parquet` beside it. Prints one line of JSON: how many of the 21
checks it states; CPU seconds of this process and all that it started, from the moment the session stands; wall seconds;
Spark's jobs, as its status tracker counts them; and what was found. bench/run_spark.py runs them all, in turn.

Every check is answered in numbers: how many rows or groups break it (ours, the reference), or how many rows break any
(DQX and SparkDQ annotate each row; rows are then counted by whether they have an error, which is the least one would ask).
"""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

SUITE = Path(__file__).parents[1] / "suites" / "twenty.yaml"
RECENT = (2020, 9, 13)
STATUS = ["ok", "suspect", "missing", "estimated", "calibrating", "offline"]
EMAIL = r"^[a-z0-9._-]+@[A-Za-z0-9.-]+\.[a-z]+$"
GROUP = "dq bench"
CONF = {
    "spark.driver.memory": "6g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.log.level": "OFF",
}


class Answer(NamedTuple):
    """How many of the suite's checks were stated, and what was found of them."""

    checks: int
    found: Mapping[str, Any]


def ours(spark: Any, file: Path, *, json_too: bool) -> Answer:
    """The recipe, through the engine: all checks, with details and examples."""
    import dq_dagster as dq
    from dq_dagster.engines.spark import SparkEngine

    document = yaml.safe_load(SUITE.read_text("utf-8"))
    document["checks"] = [check for check in document["checks"] if json_too or check["kind"] != "is_valid_json"]
    recipe = dq.load_recipe(document)
    references = {"stations": str(file.parent / "stations.parquet")}
    limits = dq.Limits(scan_seconds=86_400)  # a busy machine is no reason to stop here
    outcomes = dq.evaluate(recipe, file, engine=SparkEngine(spark), references=references, limits=limits).outcomes
    if unanswered := [outcome.detail for outcome in outcomes if outcome.status == "not_evaluated"]:
        raise SystemExit(f"not evaluated: {unanswered}")
    return Answer(len(outcomes), {outcome.check_id: outcome.status for outcome in outcomes})


def reference(spark: Any, file: Path, *, json_too: bool) -> Answer:
    """What a good engineer writes by hand: one fused query, GROUP BY for keys, LAG for gaps. All checks, as counts."""
    spark.read.parquet(str(file)).createOrReplaceTempView("weather")
    spark.read.parquet(str(file.parent / "stations.parquet")).createOrReplaceTempView("stations")
    listed = ", ".join(f"'{word}'" for word in STATUS)
    is_json = ", count_if(try_parse_json(payload) IS NULL AND payload IS NOT NULL) AS odd_payload" if json_too else ""
    found = dict(
        spark.sql(f"""
        SELECT count(*) AS n, count(air_temp_c) AS temperatures, count(relative_humidity_pct) AS humidities, count(wind_ms) AS winds,
            count_if(air_temp_c NOT BETWEEN -60 AND 60) AS odd_temperature,
            count_if(relative_humidity_pct NOT BETWEEN 0 AND 100) AS odd_humidity,
            count_if(wind_ms NOT BETWEEN 0 AND 75) AS odd_wind,
            count_if(status NOT IN ({listed})) AS odd_status,
            count_if(NOT contact RLIKE r'{EMAIL}') AS odd_contact,
            count(weather.station) AS stations, count(observed_at) AS instants,
            count_if(length(weather.station) NOT BETWEEN 8 AND 12) AS odd_length,
            count_if(NOT reading_id > wind_ms) AS odd_pair,
            avg(air_temp_c) AS mean, max(observed_at) AS latest,
            count_if(weather.station IS NOT NULL AND known.station IS NULL) AS unknown{is_json}
        FROM weather LEFT JOIN (SELECT DISTINCT station FROM stations) AS known ON weather.station = known.station
        """)
        .first()
        .asDict()
    )
    for name, key in {"repeats": "station, observed_at", "repeated_id": "reading_id"}.items():
        found[name] = spark.sql(f"SELECT count(*) FROM (SELECT {key} FROM weather GROUP BY {key} HAVING count(*) > 1)").first()[0]
    found["gap"] = spark.sql("""
        SELECT max(step) FROM (
            SELECT unix_micros(observed_at) - lag(unix_micros(observed_at)) OVER (ORDER BY observed_at) AS step
            FROM (SELECT DISTINCT observed_at FROM weather))
        """).first()[0]
    return Answer(20 + json_too, {name: str(value) for name, value in found.items()})


def dqx(spark: Any, file: Path, *, json_too: bool) -> Answer:
    """DQX's engine. It states all checks: lengths and pairs as SQL, NULLs as the mean of a CASE, the gap as windows of an hour."""
    from types import SimpleNamespace
    from unittest.mock import create_autospec

    from databricks.labs.dqx import check_funcs
    from databricks.labs.dqx.engine import DQEngineCore
    from databricks.labs.dqx.rule import DQDatasetRule, DQRowRule
    from databricks.sdk import WorkspaceClient
    from pyspark.sql import functions as F

    workspace = create_autospec(WorkspaceClient)  # DQX wants one; nothing here asks it anything
    workspace.config = SimpleNamespace(_product_info=("dqx", "0"))
    workspace.clusters.select_spark_version = lambda **_: ""
    rules: list[Any] = []

    def row(check: str, column: str | None = None, **arguments: Any) -> None:
        rules.append(
            DQRowRule(
                criticality="error",
                check_func=getattr(check_funcs, check),
                name=f"r{len(rules)}",
                column=column,
                check_func_kwargs=arguments,
            )
        )

    def whole(check: str, **arguments: Any) -> None:
        rules.append(
            DQDatasetRule(criticality="error", check_func=getattr(check_funcs, check), name=f"r{len(rules)}", check_func_kwargs=arguments)
        )

    for key in (["station", "observed_at"], ["reading_id"]):
        whole("is_unique", columns=key)
    whole("has_no_gaps_per_time_window", column="observed_at", window_minutes=60)
    whole("is_aggr_not_less_than", column="observed_at", aggr_type="max", limit=F.lit(dt.datetime(*RECENT)))
    for column in ("air_temp_c", "relative_humidity_pct", "wind_ms"):
        whole("is_aggr_not_greater_than", column=F.when(F.col(column).isNull(), 1.0).otherwise(0.0), aggr_type="avg", limit=0.01)
    for column, low, high in (("air_temp_c", -60, 60), ("relative_humidity_pct", 0, 100), ("wind_ms", 0, 75)):
        row("is_in_range", column, min_limit=low, max_limit=high)
    whole("is_aggr_not_less_than", column="*", aggr_type="count", limit=1)
    row("is_in_list", "status", allowed=[F.lit(word) for word in STATUS])
    row("regex_match", "contact", regex=EMAIL)
    row("is_not_null", "station")
    row("is_not_null", "observed_at")
    row("sql_expression", expression="length(station) BETWEEN 8 AND 12", msg="length")
    row("sql_expression", expression="wind_ms IS NULL OR reading_id > wind_ms", msg="pair")
    if json_too:
        row("is_valid_json", "payload")
    whole("is_aggr_not_less_than", column="air_temp_c", aggr_type="avg", limit=10)
    whole("is_aggr_not_greater_than", column="air_temp_c", aggr_type="avg", limit=14)
    whole("foreign_key", columns=["station"], ref_columns=["station"], ref_df_name="stations")
    stations = spark.read.parquet(str(file.parent / "stations.parquet"))
    checked = DQEngineCore(workspace, spark).apply_checks(spark.read.parquet(str(file)), rules, ref_dfs={"stations": stations})
    return Answer(len(rules), checked.agg(F.count("*").alias("rows"), F.count("_errors").alias("with errors")).first().asDict())


def sparkdq(spark: Any, file: Path, *, json_too: bool) -> Answer:
    """SparkDQ's batch engine. It has no check of JSON, of gaps or of a mean, and takes NULL for a value outside any range."""
    import sparkdq.checks as k
    from sparkdq.engine import BatchDQEngine
    from sparkdq.management import CheckSet

    both = (True, True)
    checks = CheckSet()
    age = (dt.datetime.now() - dt.datetime(*RECENT)).days
    declared: list[tuple[Any, dict[str, Any]]] = [
        *((k.UniqueRowsCheckConfig, {"subset_columns": key}) for key in (["station", "observed_at"], ["reading_id"])),
        *(
            (k.CompletenessRatioCheckConfig, {"column": one, "min_ratio": 0.99})
            for one in ("air_temp_c", "relative_humidity_pct", "wind_ms")
        ),
        *(
            (k.NumericBetweenCheckConfig, {"columns": [one], "min_value": low, "max_value": high, "inclusive": both})
            for one, low, high in (("air_temp_c", -60, 60), ("relative_humidity_pct", 0, 100), ("wind_ms", 0, 75))
        ),
        (k.RowCountBetweenCheckConfig, {"min_count": 1, "max_count": 10**9}),
        (k.IsContainedInCheckConfig, {"allowed_values": {"status": STATUS}}),
        (k.RegexMatchCheckConfig, {"column": "contact", "pattern": EMAIL}),
        (k.FreshnessCheckConfig, {"column": "observed_at", "interval": age, "period": "day"}),
        *((k.NullCheckConfig, {"columns": [one]}) for one in ("station", "observed_at")),
        (k.StringLengthBetweenCheckConfig, {"column": "station", "min_length": 8, "max_length": 12, "inclusive": both}),
        (k.ColumnGreaterThanCheckConfig, {"column": "reading_id", "limit": "wind_ms", "inclusive": False}),
        (k.ForeignKeyCheckConfig, {"column": "station", "reference_dataset": "stations", "reference_column": "station"}),
    ]
    for place, (config, arguments) in enumerate(declared):
        checks.add_check(config(check_id=f"c{place}", **arguments))
    stations = spark.read.parquet(str(file.parent / "stations.parquet"))
    summary = BatchDQEngine(checks).run_batch(spark.read.parquet(str(file)), reference_datasets={"stations": stations}).summary()
    return Answer(len(declared), {"rows": summary.total_records, "with errors": summary.failed_records})


PEERS: Mapping[str, Callable[..., Answer]] = {"ours": ours, "reference": reference, "dqx": dqx, "sparkdq": sparkdq}


def cpu_seconds() -> float:
    """Of this process, of its children, and of theirs, as far as they live or were waited for."""
    parents: dict[int, list[int]] = {}
    spent: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            told = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended a moment ago
            continue
        parents.setdefault(int(told[1]), []).append(int(name))
        spent[int(name)] = sum(map(int, told[11:15]))
    tree, total = [os.getpid()], 0
    while tree:
        one = tree.pop()
        total += spent.get(one, 0)
        tree += parents.get(one, [])
    return total / os.sysconf("SC_CLK_TCK")


def main(who: str, file: Path, *, json_too: bool) -> None:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]")
    for name, value in CONF.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.range(10).count()
    spark.sparkContext.setJobGroup(GROUP, who)
    started, spent = time.monotonic(), cpu_seconds()
    answer = PEERS[who](spark, file, json_too=json_too)
    figures = {"cpu_s": round(cpu_seconds() - spent, 2), "wall_s": round(time.monotonic() - started, 2)}
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # the tracker hears of jobs a little later
    jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(GROUP))
    print(json.dumps({"who": who, "checks": answer.checks, **figures, "jobs": jobs, "found": answer.found}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).absolute(), json_too="--without-json" not in sys.argv)
