"""The DuckDB session: locked to the files it is given, within its budgets, and gone without a trace."""

from __future__ import annotations

import datetime as dt
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster import CheckRunError, Limits, Recipe, evaluate
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines import UnknownEngine, engine_of
from dq_dagster.engines.duckdb import DuckDBSession
from dq_dagster.engines.spill import private_folder, spill_folders
from dq_dagster.tables import open_table

WIDE_ROWS = 400_000


def recipe(*checks: dict) -> Recipe:
    return Recipe.model_validate(
        {"recipe": "r", "table": {"name": "t"}, "checks": [{"enforcement": "required", **check} for check in checks]}
    )


KEY = {"check_id": "k", "kind": "key_uniqueness", "columns": ["k"]}
RANGE = {"check_id": "v", "kind": "value_range", "columns": ["v"], "min_value": "0", "max_value": "0"}
ROWS = {"check_id": "n", "kind": "row_expectation", "min_rows": 1}


@pytest.fixture(scope="module")
def wide(tmp_path_factory) -> Path:
    """A table whose key does not fit a small memory limit."""
    path = tmp_path_factory.mktemp("wide") / "wide.parquet"
    keys = [f"{(i * 7919) % (WIDE_ROWS // 2):08d}-" + "q" * 60 for i in range(WIDE_ROWS)]  # each twice: all must be grouped
    pq.write_table(pa.table({"k": keys, "v": pa.array([1] * WIDE_ROWS, pa.int8())}), path, compression="zstd")
    return path


def by_id(evaluation) -> dict:
    return {outcome.check_id.lower(): outcome for outcome in evaluation.outcomes}


@pytest.mark.parametrize(
    ("limits", "spilled"),
    [
        ({"memory_limit": "40MB", "temp_directory": ""}, "without spilling"),
        ({"memory_limit": "40MB", "max_temp_bytes": 1_000_000}, "and 1000000 bytes of spill"),
    ],
    ids=["no spill folder", "the spill folder is full"],
)
def test_a_check_that_does_not_fit_the_memory_leaves_the_others_whole(wide, tmp_path, limits, spilled):
    found = by_id(evaluate(recipe(KEY, RANGE, ROWS), wide, limits=replace(Limits(temp_directory=str(tmp_path)), **limits)))
    assert found["k"].status == "not_evaluated"
    assert found["k"].detail == (f"not_evaluated: CHECK_MEMORY_BUDGET_EXCEEDED: the check does not fit the memory limit of 40MB {spilled}")
    assert (found["v"].status, found["n"].status) == ("failed", "passed")
    assert spill_folders(str(tmp_path)) == []


def test_a_key_that_does_not_fit_is_spilled(wide, tmp_path):
    limits = Limits(memory_limit="60MB", temp_directory=str(tmp_path))
    assert by_id(evaluate(recipe(KEY), wide, limits=limits))["k"].failed_rows == WIDE_ROWS // 2
    assert list(tmp_path.iterdir()) == []


def test_over_the_bytes_every_check_that_reads_rows_says_so_and_metadata_answers_still(wide):
    found = by_id(evaluate(recipe(KEY, RANGE, ROWS), wide, limits=Limits(scan_bytes=10)))
    reason = f"CHECK_SCAN_BUDGET_EXCEEDED: estimated scan of {open_table(wide).bytes_of(['k', 'v'])} bytes exceeds the 10-byte ceiling"
    assert [found[name].not_evaluated_reason for name in "kv"] == [reason, reason]
    assert found["n"].status == "passed"


def test_over_the_bytes_not_even_the_first_rows_are_looked_at(wide):
    class Unopened:
        """The engine, as one that must not be opened."""

        name, chooses = "duckdb", True
        versions = staticmethod(lambda: {})

        def session(self, tables, limits):
            raise AssertionError("a session was opened")

    found = by_id(evaluate(recipe(KEY, RANGE, ROWS), wide, engine=Unopened(), limits=Limits(scan_bytes=10)))
    assert [found[name].status for name in "kvn"] == ["not_evaluated", "not_evaluated", "passed"]


def test_a_look_at_the_first_rows_does_not_count_as_bytes_scanned(tmp_path):
    pq.write_table(pa.table({"id": list(range(WIDE_ROWS))}), tmp_path / "rising.parquet")
    checked = evaluate(recipe({**KEY, "columns": ["id"]}), tmp_path / "rising.parquet")
    assert checked.receipt.bytes_scanned == open_table(tmp_path / "rising.parquet").bytes_of(["id"])


def test_over_the_time_a_running_query_is_interrupted(wide):
    started = time.monotonic()
    found = by_id(evaluate(recipe(KEY, RANGE, ROWS), wide, limits=Limits(scan_seconds=0.02)))
    assert time.monotonic() - started < 5
    reason = "CHECK_TIME_BUDGET_EXCEEDED: the scan did not finish within 0.02 seconds"
    assert [found[name].not_evaluated_reason for name in "kv"] == [reason, reason]
    assert found["n"].status == "passed"


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(memory_limit="40MB", temp_directory=""), "CHECK_MEMORY_BUDGET_EXCEEDED"),
        (Limits(scan_seconds=0.02), "CHECK_TIME_BUDGET_EXCEEDED"),
        (Limits(scan_bytes=10), "CHECK_SCAN_BUDGET_EXCEEDED"),
    ],
)
def test_the_type_of_what_a_query_gives_is_learnt_without_running_it(wide, limits, code):
    query = {"check_id": "q", "kind": "sql_query", "query": "SELECT len(list(k)) > 0 AS condition FROM {{ input_view }}"}
    reason = by_id(evaluate(recipe(query), wide, limits=limits))["q"].not_evaluated_reason
    assert reason is not None
    assert reason.startswith(code)


def test_the_process_answers_the_next_evaluation_after_every_budget(wide):
    for limits in (Limits(memory_limit="40MB", temp_directory=""), Limits(scan_seconds=0.02), Limits(scan_bytes=1)):
        evaluate(recipe(KEY), wide, limits=limits)
    assert by_id(evaluate(recipe(KEY), wide))["k"].failed_rows == WIDE_ROWS // 2


def test_few_repeats_of_a_wide_key_fit_where_the_keys_do_not(tmp_path):
    keys = [f"{(i * 7919) % WIDE_ROWS:08d}-" + "q" * 60 for i in range(WIDE_ROWS)]
    keys[-1] = keys[0]
    pq.write_table(pa.table({"k": keys}), tmp_path / "few.parquet", compression="zstd")
    limits = Limits(memory_limit="40MB", temp_directory="")
    assert by_id(evaluate(recipe(KEY), tmp_path / "few.parquet", limits=limits))["k"].failed_rows == 1


def test_outcomes_stand_where_the_rows_of_all_quarantine_checks_cannot_be_counted_at_once(tmp_path):
    keys = [f"{(i * 7919) % WIDE_ROWS:08d}-" + "q" * 60 for i in range(WIDE_ROWS)]
    keys[-1] = keys[0]
    columns = {"a": keys, "b": [key[::-1] for key in keys], "c": [key + "w" for key in keys]}
    pq.write_table(pa.table(columns), tmp_path / "keys.parquet", compression="zstd")
    checks = [{"check_id": name, "kind": "is_unique", "enforcement": "quarantine", "columns": [name]} for name in columns]
    document = {"recipe": "r", "table": {"name": "t"}, "checks": checks}
    quarantining = Recipe.model_validate({**document, "quarantine": {"to": "q"}})
    little = Limits(memory_limit="50MB", temp_directory="", threads=2)
    checked = evaluate(quarantining, tmp_path / "keys.parquet", limits=little)
    assert [(outcome.status, outcome.failed_rows) for outcome in checked.outcomes] == [("failed", 2)] * 3
    assert checked.quarantined_rows is None
    assert evaluate(quarantining, tmp_path / "keys.parquet").quarantined_rows == 2
    for allowed, told in ((6, None), (5, f"QUARANTINE_RATE: 2 to 6 of {WIDE_ROWS} rows would be quarantined")):
        rate = {"to": "q", "max_rate_ppm": allowed * 1_000_000 // WIDE_ROWS}
        failure = evaluate(Recipe.model_validate({**document, "quarantine": rate}), tmp_path / "keys.parquet", limits=little).failure
        assert (failure is None) if told is None else (failure is not None and failure.failure_detail.startswith(told))


FORBIDDEN = [
    "SELECT * FROM read_parquet('{other}')",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "COPY (SELECT 1) TO '{other}.csv'",
    "ATTACH '{other}.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '10GB'",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "PRAGMA enable_profiling",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_connection_reads_its_files_and_nothing_else(tmp_path, statement):
    for name in ("mine", "other"):
        pq.write_table(pa.table({"a": [1]}), tmp_path / f"{name}.parquet")
    table = CheckedTable(open_table(tmp_path / "mine.parquet"), now=dt.datetime.now(dt.timezone.utc))
    with engine_of("duckdb").session([(table, frozenset({"a"}))], Limits()) as session:
        assert isinstance(session, DuckDBSession)
        connection = session._connection
        assert connection.execute('SELECT a FROM "rows"').fetchall() == [(1,)]
        with pytest.raises(duckdb.Error):
            connection.execute(statement.format(other=tmp_path / "other.parquet"))


def test_nothing_is_written_beside_the_table_or_in_the_working_directory(wide, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(os.listdir(wide.parent))
    evaluate(recipe(KEY, RANGE), wide)
    assert sorted(os.listdir(wide.parent)) == before
    assert list(tmp_path.iterdir()) == []


def test_the_connection_is_closed_when_the_body_raises(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    table = CheckedTable(open_table(tmp_path / "t.parquet"), now=dt.datetime.now(dt.timezone.utc))
    opened: list[duckdb.DuckDBPyConnection] = []

    def body() -> None:
        with engine_of("duckdb").session([(table, frozenset({"a"}))], Limits()) as session:
            assert isinstance(session, DuckDBSession)
            opened.append(session._connection)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        body()
    with pytest.raises(duckdb.ConnectionException):
        opened[0].execute("SELECT 1")


def test_an_unknown_engine_is_named():
    with pytest.raises(UnknownEngine, match="there is no engine 'duckdbb'; did you mean 'duckdb'"):
        engine_of("duckdbb")


def _hold(folder: str, ready) -> None:
    with private_folder(folder) as own:
        Path(own).mkdir()
        (Path(own) / "rows.tmp").write_bytes(b"x" * 100)
        ready.set()
        time.sleep(60)


def test_the_spill_of_a_killed_process_is_cleared_and_that_of_a_living_one_is_not(tmp_path):
    context = multiprocessing.get_context("spawn")
    processes = []
    for _ in range(2):
        ready = context.Event()
        process = context.Process(target=_hold, args=(str(tmp_path), ready))
        process.start()
        assert ready.wait(60)
        processes.append(process)
    assert len(spill_folders(str(tmp_path))) == 2
    os.kill(processes[0].pid, signal.SIGKILL)
    processes[0].join()
    with private_folder(str(tmp_path)):
        assert len(spill_folders(str(tmp_path))) == 2  # the living one's, and ours
    processes[1].kill()
    processes[1].join()
    with private_folder(str(tmp_path)):
        pass
    assert spill_folders(str(tmp_path)) == []


def test_a_cell_that_the_engine_cannot_read_is_told_of_its_own_check_alone(tmp_path):
    import struct

    buffers = [None, pa.py_buffer(struct.pack("<4i", 0, 2, 4, 8)), pa.py_buffer(b"ok\xc3\x28bad!")]
    text = pa.Array.from_buffers(pa.string(), 3, buffers)
    pq.write_table(pa.table({"k": [1, 2, 3], "s": text}), tmp_path / "t.parquet", use_dictionary=False)
    found = by_id(evaluate(recipe(KEY, {**KEY, "check_id": "s", "columns": ["s"]}), tmp_path / "t.parquet"))
    assert found["k"].status == "passed"
    assert found["s"].detail == (
        "not_evaluated: CHECK_UNSUPPORTED_BY_ENGINE: DuckDB could not evaluate it: column 's' holds text that is not valid UTF-8"
    )


def test_a_table_that_is_replaced_while_it_is_read_is_read_anew_once(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"k": [1, 1]}), path)

    class Replacing:
        """The engine, with a writer that replaces the table beside it."""

        name, chooses = "duckdb", True
        versions = staticmethod(lambda: {})

        def __init__(self, times: int) -> None:
            self.left = times

        def session(self, tables, limits):
            if self.left:
                self.left -= 1
                pq.write_table(pa.table({"k": [1, 2, 3 + self.left]}), path)
            return engine_of("duckdb").session(tables, limits)

    assert by_id(evaluate(recipe(KEY), path, engine=Replacing(1)))["k"].detail == "key (k) is distinct across all 3 rows, as expected"
    pq.write_table(pa.table({"k": [1, 1]}), path)
    with pytest.raises(CheckRunError, match="was replaced while it was being read, twice in a row") as caught:
        evaluate(recipe(KEY), path, engine=Replacing(5))
    assert (caught.value.failure_code, caught.value.failed_stage) == ("DECLARED_CHECK_UNREADABLE", "check")


def test_importing_the_package_imports_nothing_slow():
    slow = ("dagster", "duckdb", "sqlglot", "pyarrow", "pydantic", "yaml", "fsspec", "rich")
    script = f"import sys, dq_dagster; print([name for name in {slow!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_evaluating_imports_no_dagster(tmp_path):
    pq.write_table(pa.table({"k": [1]}), tmp_path / "t.parquet")
    declared = {"recipe": "r", "table": {"name": "t"}, "checks": [{**KEY, "enforcement": "required"}]}
    script = (
        f"import sys, dq_dagster as dq; dq.evaluate(dq.load_recipe({declared!r}), {str(tmp_path / 't.parquet')!r}); "
        "print('dagster' in sys.modules, 'pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "False False"
