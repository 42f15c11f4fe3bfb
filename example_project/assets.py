"""The example's assets, each a Parquet file (or one a month) written by the IO manager.

Three chains, one for each thing a failing check may mean:

- weather -> flight_weather: month by month; February's impossible wind speed stops February, and no other month;
- airports -> time_zones: a required check fails every time, so that time_zones is never built in the same run;
- planes -> fleet: only an advisory check fails, so that fleet is built.

`flights` has a gate: rows without a tail number leave for `flights_quarantine`, and what breaks a required check is never
published. What was published is then checked under a scan budget that is too small on purpose (see checks.py).
"""

# No `from __future__ import annotations` here: Dagster looks at the annotations of an asset, and wants types, not text.

from pathlib import Path

import dagster as dg
import pyarrow as pa

from dq_dagster import gated_asset, load_recipe, recipe_asset_metadata
from example_project import source

RECIPES = Path(__file__).parent / "recipes"

# Months of New York's own calendar: the instants are UTC, and the month turns at 05:00 or 04:00 of them.
months = dg.MonthlyPartitionsDefinition(start_date="2013-01-01", end_date="2014-01-01", timezone="America/New_York")


@dg.asset(
    partitions_def=months,
    group_name="new_york",
    description="Hourly observations at EWR, JFK and LGA.",
    metadata=recipe_asset_metadata(load_recipe(RECIPES / "weather.yaml")),  # its columns, and its key: each month's file states it
)
def weather(context: dg.AssetExecutionContext) -> pa.Table:
    window = context.partition_time_window
    return source.rows_between(source.read("weather"), "time_hour", window.start, window.end)


@gated_asset(
    recipe=RECIPES / "flights_gate.yaml",
    group_name="new_york",
    description="Every flight that left New York in 2013, delayed, diverted or cancelled ones too.",
)
def flights() -> pa.Table:
    return source.read("flights")


@dg.asset(group_name="registers", description="The aircraft by tail number, from the FAA's register.")
def planes() -> pa.Table:
    return source.read("planes")


@dg.asset(group_name="registers", description="Airports and where they lie.")
def airports() -> pa.Table:
    return source.read("airports")


@dg.asset(partitions_def=months, group_name="new_york", description="One month's flights, each with the weather of its hour.")
def flight_weather(context: dg.AssetExecutionContext, flights: pa.Table, weather: pa.Table) -> pa.Table:
    window = context.partition_time_window
    return source.with_weather(source.rows_between(flights, "time_hour", window.start, window.end), weather)


@dg.asset(group_name="audit", description="Every flight's aircraft, carrier and destination, for the comparison with the registers.")
def departures() -> pa.Table:
    return source.read("flights").select(source.DEPARTURE)


@dg.asset(group_name="registers", description="For each time zone, how many airports lie in it.")
def time_zones(airports: pa.Table) -> pa.Table:
    return airports.group_by("tzone").aggregate([("faa", "count"), ("alt", "max")])


@dg.asset(group_name="registers", description="For each manufacturer, how many aircraft and how many seats.")
def fleet(planes: pa.Table) -> pa.Table:
    return planes.group_by("manufacturer").aggregate([("tailnum", "count"), ("seats", "sum")])


all_assets = [weather, flights, planes, airports, flight_weather, time_zones, fleet, departures]
