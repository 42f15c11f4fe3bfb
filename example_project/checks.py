"""Each recipe beside this file, bound to the asset it is about; the gate of flights has its own (assets.py)."""

from __future__ import annotations

from dq_dagster import Limits, build_recipe_checks
from example_project import assets
from example_project.assets import RECIPES

# A deployment's budget, far too small for a third of a million flights: what the footers answer is still answered, and
# every check that would have to read rows says that it was not evaluated. Nobody gets a pass that was not earned.
TIGHT = Limits(scan_bytes=100_000)

all_checks = [
    *build_recipe_checks(asset=assets.weather, recipe=RECIPES / "weather.yaml"),
    *build_recipe_checks(asset=assets.flights, asset_key="flights", recipe=RECIPES / "flights.yaml", limits=TIGHT),
    *build_recipe_checks(asset=assets.planes, recipe=RECIPES / "planes.yaml"),
    *build_recipe_checks(asset=assets.airports, recipe=RECIPES / "airports.yaml"),
    *build_recipe_checks(asset=assets.departures, recipe=RECIPES / "departures.yaml"),
    *build_recipe_checks(asset=assets.flight_weather, recipe=RECIPES / "flight_weather.yaml"),
]
