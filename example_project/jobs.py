"""The jobs, and two daily schedules. A job holds an asset, its checks and its downstream: blocking works within one run."""

from __future__ import annotations

import dagster as dg

registers = dg.define_asset_job(
    "registers",
    selection=dg.AssetSelection.assets("flights", "flights_quarantine", "planes", "airports", "time_zones", "fleet"),
    description="The tables that are not partitioned, and what is built from them.",
)

monthly_weather = dg.define_asset_job(
    "monthly_weather",
    selection=dg.AssetSelection.assets("weather", "flight_weather"),
    description="One month of weather, and the flights of that month joined to it.",
)

audit = dg.define_asset_job(
    "audit",
    selection=dg.AssetSelection.assets("departures"),
    description="The flights compared with the registers, as the runs before left them: a job of its own, for a failed register blocks.",
)

daily_registers = dg.ScheduleDefinition(
    name="daily_registers",
    job=registers,
    cron_schedule="0 6 * * *",
    execution_timezone="America/New_York",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Every morning at six: materialize and check.",
)


@dg.schedule(
    job=monthly_weather,
    cron_schedule="30 6 * * *",
    execution_timezone="America/New_York",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Every morning at half past six: the current month, as it was in 2013 (the data ends there).",
)
def daily_weather(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    return dg.RunRequest(partition_key=f"2013-{context.scheduled_execution_time.month:02d}-01")


all_jobs = [registers, monthly_weather, audit]
all_schedules = [daily_registers, daily_weather]
