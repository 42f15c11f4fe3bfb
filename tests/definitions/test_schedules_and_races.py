"""Checks in runs that a schedule asks for, and in many processes at once."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster.definitions.factory import build_recipe_checks
from tests.definitions.warehouse import QUIET, passed, recipe, store, unique

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def kept_instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "home").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "home")) as instance:
        yield instance


def test_a_schedules_tick_checks_each_check_once(tmp_path: Path, kept_instance: dg.DagsterInstance):
    """dag-schedule-run: the run is made of what the tick asks for, as the daemon makes it"""

    @dg.asset
    def orders() -> pa.Table:
        return pa.table({"id": [1, 2, 3]})

    job = dg.define_asset_job("daily", selection=dg.AssetSelection.assets("orders"))
    schedule = dg.ScheduleDefinition(job=job, cron_schedule="0 6 * * *")
    checks = build_recipe_checks(asset=orders, recipe=recipe(unique()))
    defs = dg.Definitions(
        assets=[orders],
        asset_checks=checks,
        jobs=[job],
        schedules=[schedule],
        resources={"io_manager": store(tmp_path)},
        executor=dg.in_process_executor,
    )
    for tick in range(1, 3):
        with dg.build_schedule_context(instance=kept_instance) as context:
            requests = schedule.evaluate_tick(context).run_requests
        assert requests is not None
        assert [request.asset_check_keys for request in requests] == [None]  # whatever the job selects, and the check is part of it
        resolved = defs.resolve_job_def("daily")
        for request in requests:
            result = resolved.execute_in_process(instance=kept_instance, tags=request.tags, run_config={**request.run_config, **QUIET})
            assert result.success
            assert passed(result) == {"id_u": True}
        key = dg.AssetCheckKey(orders.key, "id_u")
        history = kept_instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
        assert [record.status.value for record in history] == ["SUCCEEDED"] * tick


RACER = """
import json, sys
import dagster as dg
from dq_dagster.definitions.factory import build_recipe_checks
from tests.definitions.warehouse import QUIET, evaluations, figure, recipe, run, unique, within
orders = dg.AssetSpec("orders")
checks = build_recipe_checks(asset=orders, recipe=recipe(unique(), within("v", "0", "10")), path=sys.argv[1])
for _ in range(5):
    with dg.DagsterInstance.ephemeral() as instance:
        result = run([orders, *checks], None, selection=dg.AssetSelection.all_asset_checks(), instance=instance)
        print(json.dumps({name: [figure(one, "status"), figure(one, "failed_rows")] for name, one in evaluations(result).items()}))
"""


@pytest.mark.slow
def test_eight_processes_that_check_one_asset_agree(tmp_path: Path):
    """dag-concurrent-same-asset"""
    path = tmp_path / "asset.parquet"
    pq.write_table(pa.table({"id": list(range(10_000)), "v": [1.0] * 9999 + [math.nan]}), path, row_group_size=1000)
    racers = [
        subprocess.Popen([sys.executable, "-c", RACER, str(path)], cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    told = [racer.communicate(timeout=300) for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * 8, told[0][1]
    found = [json.loads(line) for out, _ in told for line in out.splitlines()]
    assert found == [{"id_u": ["passed", 0], "v": ["failed", 1]}] * 40


DEPLOYED = """
import sys
import dagster as dg
from tests.definitions.test_schedules_and_races import whole_job
from tests.definitions.warehouse import QUIET
config = {"resources": {"io_manager": {"config": {"base_path": sys.argv[1]}}}, **QUIET}
with dg.DagsterInstance.get() as instance, dg.execute_job(dg.reconstructable(whole_job), instance=instance, run_config=config):
    pass
"""


@pytest.mark.slow
def test_a_run_of_one_process_a_step_stores_and_checks_and_blocks(tmp_path: Path):
    """The executor that deployed runs use by default: the tables meet on disk alone."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    environment = {**os.environ, "DAGSTER_HOME": str(home), "PYTHONPATH": str(CHECKOUT)}
    subprocess.run([sys.executable, "-c", DEPLOYED, str(tmp_path / "base")], cwd=CHECKOUT, env=environment, check=True, capture_output=True)
    with dg.DagsterInstance.from_config(str(home)) as instance:
        (finished,) = instance.get_runs()
        events = [entry.dagster_event for entry in instance.all_logs(finished.run_id) if entry.dagster_event]
        assert finished.status is dg.DagsterRunStatus.FAILURE
        assert {event.step_key for event in events if event.is_step_failure} == {"check_orders"}
        assert {event.step_key for event in events if event.is_step_start} == {"orders", "check_orders"}
        assert finished.tags["dq_dagster/failure_detail"].startswith("ID_U: key (id) repeats on 1 of 2 rows")


def whole_job() -> dg.JobDefinition:
    from dq_dagster.definitions.store import ParquetIOManager

    @dg.asset
    def orders() -> pa.Table:
        return pa.table({"id": [1, 1]})

    @dg.asset
    def report(orders: pa.Table) -> pa.Table:
        return orders

    checks = build_recipe_checks(asset=orders, recipe=recipe(unique()))
    job = dg.define_asset_job("everything")
    resources = {"io_manager": ParquetIOManager.configure_at_launch()}
    return dg.Definitions(assets=[orders, report], asset_checks=checks, jobs=[job], resources=resources).resolve_job_def("everything")
