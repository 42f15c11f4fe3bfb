"""A real cluster: a standalone master and two workers, each a process of its own, and one of them killed in the middle of a check."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.local_spark import require_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FILES, ROWS_A_FILE = 12, 20_000
STARTED = 60.0

# The driver is a process of its own too: there can be one Spark context in a process, and the tests have theirs.
DRIVER = """
    import sys
    import threading
    import time

    import dq_dagster as dq
    from dq_dagster.engines.spark import SparkEngine

    master, table = sys.argv[1:]
    conf = {
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.sql.files.openCostInBytes": "134217728",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false", "spark.sql.codegen.wholeStage": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1", "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    checks = [
        {"check_id": "id_unique", "kind": "key_uniqueness", "columns": ["id"]},
        {"check_id": "payload_json", "kind": "is_valid_json", "column": "payload"},
        {"check_id": "small", "kind": "value_range", "columns": ["x"], "min_value": "0", "max_value": "96"},
    ]
    recipe = dq.Recipe.model_validate(
        {"recipe": "r", "table": {"name": "t"}, "checks": [{**check, "enforcement": "required"} for check in checks]}
    )
    engine = SparkEngine(remote=master, conf=conf)
    tracker = engine.spark.sparkContext.statusTracker()
    while engine.spark._jsc.sc().getExecutorMemoryStatus().size() < 3:  # the driver and both workers' executors
        time.sleep(0.2)
    print("ready", flush=True)

    def tell():  # as soon as some tasks of the check are done and others are not
        while True:
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None and info.numTasks >= 12 and 2 <= info.numCompletedTasks < info.numTasks - 2:
                    print("running", flush=True)
                    return
            time.sleep(0.02)
    threading.Thread(target=tell, daemon=True).start()
    for outcome in dq.evaluate(recipe, table, engine=engine).outcomes:
        print(outcome.check_id, outcome.status, outcome.detail, flush=True)
    print("executors", engine.spark._jsc.sc().getExecutorMemoryStatus().size() - 1, flush=True)
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def process(folder: Path, name: str, *command: str) -> Generator[subprocess.Popen, None, None]:
    """A process of Spark's in a group of its own, which is gone afterwards with all that it started."""
    import pyspark

    home = Path(pyspark.__file__).parent
    told = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
    }
    with (folder / f"{name}.log").open("wb") as log:
        started = subprocess.Popen(
            [str(home / "bin" / "spark-class"), *command],
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=told,
            cwd=folder,
        )
        try:
            yield started
        finally:
            kill(started)


def kill(started: subprocess.Popen) -> None:
    """Ends a process and all of its group, executors included, without a goodbye."""
    if started.poll() is None:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def wait_for(port: int) -> None:
    until = time.monotonic() + STARTED
    while time.monotonic() < until:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nothing listens at {port}")


def test_a_worker_that_dies_in_the_middle_of_a_check_changes_no_outcome(tmp_path: Path):
    require_spark()
    table = tmp_path / "t"
    table.mkdir()
    for place in range(FILES):
        numbers = range(place * ROWS_A_FILE, (place + 1) * ROWS_A_FILE)
        # Python judges what opens with a blank, and takes its time.
        payload = [f' {{"n": {n}}}' if n != 777 else "{" for n in numbers]
        columns = {"id": list(numbers), "x": [n % 97 for n in numbers], "payload": payload}
        pq.write_table(pa.table(columns), table / f"p{place:02}.parquet")
    port, page = free_port(), free_port()
    worker = ("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "700m", "--webui-port", "0")
    with ExitStack() as cleanup:
        master = ("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page))
        cleanup.enter_context(process(tmp_path, "master", *master))
        wait_for(port)
        address = f"spark://127.0.0.1:{port}"
        workers = [
            cleanup.enter_context(process(tmp_path, f"worker{one}", *worker, "--work-dir", str(tmp_path / f"work{one}"), address))
            for one in range(2)
        ]
        log = cleanup.enter_context((tmp_path / "driver.log").open("w"))
        driver = cleanup.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(DRIVER), address, str(table)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=Path(__file__).parents[2],
                env={**os.environ, "PYSPARK_PYTHON": sys.executable},  # what the executors call Python
            )
        )
        assert driver.stdout is not None
        told: list[str] = []
        for line in driver.stdout:
            told.append(line.strip())
            if told[-1] == "running":
                kill(workers[0])
        assert driver.wait() == 0, (tmp_path / "driver.log").read_text()[-4000:]
    assert told == [
        "ready",
        "running",
        "ID_UNIQUE passed key (id) is distinct across all 240000 rows, as expected",
        "PAYLOAD_JSON failed 1 of 240000 rows have payload that is not valid JSON, e.g. {",
        "SMALL passed column 'x' lies within [0, 96] across 240000 non-null values of 240000 rows",
        "executors 1",
    ]
