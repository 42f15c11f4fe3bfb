"""The example's code location, with schedules that tick at once: a test cannot wait for six in the morning.

Assets, checks, jobs and resources are the example's own. Each schedule asks for one run and skips its later ticks, so
that the tests find the same runs at any speed.
"""

from __future__ import annotations

import dagster as dg

from dq_dagster import ParquetIOManager
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


defs = dg.Definitions(
    assets=all_assets,
    asset_checks=all_checks,
    jobs=all_jobs,
    schedules=[registers_at_once, february_at_once],
    resources={"io_manager": ParquetIOManager(base_path=str(data_folder()))},
    executor=dg.in_process_executor,
)
