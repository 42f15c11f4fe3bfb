"""The example's code location, with schedules that tick at once, and a gated table that breaks when it is told to.

A test cannot wait for six in the morning. Assets, checks, jobs and resources are the example's own otherwise. Each schedule asks for one run and skips its later ticks, so
that the tests find the same runs at any speed.
"""

# No `from __future__ import annotations` here: Dagster compares the annotation of a step's context as it stands.
import dagster as dg
import pyarrow as pa

from dq_dagster import ParquetIOManager, gated_asset
from example_project.assets import all_assets
from example_project.checks import all_checks
from example_project.definitions import data_folder
from example_project.jobs import all_jobs, monthly_weather, registers

EVERY_MINUTE = "* * * * *"
FEBRUARY = "2013-02-01"


@dg.schedule(job=registers, cron_schedule=EVERY_MINUTE, default_status=dg.DefaultScheduleStatus.RUNNING)
def registers_at_once(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    return _once(context, registers.name, dg.RunRequest())


@dg.schedule(job=monthly_weather, cron_schedule=EVERY_MINUTE, default_status=dg.DefaultScheduleStatus.RUNNING)
def february_at_once(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    return _once(context, monthly_weather.name, dg.RunRequest(partition_key=FEBRUARY))


def _once(context: dg.ScheduleEvaluationContext, job: str, request: dg.RunRequest) -> dg.RunRequest | dg.SkipReason:
    # A run key would not do: a schedule compares it with the runs of the same tick only.
    launched = context.instance.get_runs_count(dg.RunsFilter(job_name=job))
    return dg.SkipReason("its one run has been launched") if launched else request


LEDGER = {
    "recipe": "ledger",
    "table": {"name": "ledger", "grain": ["entry"]},
    "quarantine": {"to": "ledger_quarantine"},
    "checks": [
        {"check_id": "entry_unique", "kind": "key_uniqueness", "enforcement": "required"},
        {"check_id": "amount_present", "kind": "is_not_null", "column": "amount", "enforcement": "quarantine"},
    ],
}


@gated_asset(recipe=LEDGER, group_name="ledgers")
def ledger(context: dg.AssetExecutionContext) -> pa.Table:
    """A table that is broken when the run's tag says so, to see what the gate keeps."""
    entries = [1, 1, 2] if "broken" in context.run.tags else [1, 2, 3]
    return pa.table({"entry": entries, "amount": [10, None, 30]})


@dg.asset(group_name="ledgers")
def balance(ledger: pa.Table) -> pa.Table:
    return pa.table({"entries": [ledger.num_rows]})


ledgers = dg.define_asset_job("ledgers", selection=dg.AssetSelection.groups("ledgers"))

defs = dg.Definitions(
    assets=[*all_assets, ledger, balance],
    asset_checks=all_checks,
    jobs=[*all_jobs, ledgers],
    schedules=[registers_at_once, february_at_once],
    resources={"io_manager": ParquetIOManager(base_path=str(data_folder()))},
    executor=dg.in_process_executor,
)
