"""The example does what its comments say, on the real data, through Dagster's own jobs and schedules."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml

from dq_dagster import load_recipe
from example_project import demo, source
from example_project.checks import RECIPES
from example_project.definitions import CHECKOUT, build_definitions
from example_project.jobs import all_schedules, daily_weather
from tests.local_spark import require_spark

RunJob = Callable[..., dg.ExecuteInProcessResult]


@pytest.fixture(scope="module")
def run_job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunJob]:
    """Runs a job of the example in a data folder and on an instance that this module's tests share."""
    defs = build_definitions(tmp_path_factory.mktemp("data"))
    with dg.instance_for_test() as instance:

        def run(job: str, month: str | None = None) -> dg.ExecuteInProcessResult:
            return defs.resolve_job_def(job).execute_in_process(
                instance=instance, partition_key=month, raise_on_error=False, run_config=demo.QUIET
            )

        yield run


@pytest.fixture(scope="module")
def registers(run_job: RunJob) -> dg.ExecuteInProcessResult:
    return run_job("registers")


@pytest.fixture(scope="module")
def month(run_job: RunJob, registers: dg.ExecuteInProcessResult) -> Callable[[str], dg.ExecuteInProcessResult]:
    """One month's run, after the registers: flight_weather reads the flights."""
    assert registers.run_id
    return lambda key: run_job("monthly_weather", key)


def statuses(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, str]:
    return {check: str(found.metadata["status"].value) for check, found in evaluations(result, asset).items()}


def detail(result: dg.ExecuteInProcessResult, asset: str, check: str) -> str | None:
    return evaluations(result, asset)[check].description


def evaluations(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, dg.AssetCheckEvaluation]:
    found = [evaluation for evaluation in result.get_asset_check_evaluations() if evaluation.asset_key == dg.AssetKey(asset)]
    return {evaluation.check_name: evaluation for evaluation in found}


def materialized(result: dg.ExecuteInProcessResult) -> set[str]:
    return {event.asset_key.to_user_string() for event in result.get_asset_materialization_events() if event.asset_key}


def test_the_published_data_has_the_sizes_that_the_recipes_speak_of():
    assert {table: source.read(table).num_rows for table in source.TYPES} == {
        "weather": 26_115,
        "flights": 336_776,
        "planes": 3_322,
        "airports": 1_458,
    }
    assert source.read("weather")["pressure"].null_count == 2_729


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_recipe_loads_is_named_for_its_file_and_names_the_schema(path: Path):
    assert load_recipe(path).recipe == path.stem
    first_line = path.read_text("utf-8").splitlines()[0]
    schema = path.parent / first_line.removeprefix("# yaml-language-server: $schema=")
    assert schema.resolve() == CHECKOUT / "docs" / "recipe.schema.json"
    assert schema.exists()


def test_the_workspace_file_names_the_example():
    (location,) = yaml.safe_load((CHECKOUT / "workspace.yaml").read_text("utf-8"))["load_from"]
    module = location["python_module"]
    assert (CHECKOUT / module["working_directory"]).resolve() == CHECKOUT
    assert module["module_name"] == "example_project.definitions"
    assert module["location_name"] == "example_project"


def test_the_definitions_load(tmp_path: Path):
    dg.Definitions.validate_loadable(build_definitions(tmp_path))


def test_a_failing_required_check_stops_the_downstream_of_its_asset_alone(registers: dg.ExecuteInProcessResult):
    assert not registers.success
    assert statuses(registers, "airports") == {
        "grain_unique": "passed",
        "timezone_american": "failed",
        "timezone_named": "passed",
    }
    assert detail(registers, "airports", "timezone_american") == "column 'tz' holds '8', above the declared maximum of -4"
    assert materialized(registers) == {"flights", "flights_quarantine", "planes", "airports", "fleet"}


def test_a_failing_advisory_check_stops_nothing(registers: dg.ExecuteInProcessResult):
    assert statuses(registers, "planes") == {"grain_unique": "passed", "year_known": "failed", "seats_possible": "passed"}
    assert evaluations(registers, "planes")["year_known"].severity is dg.AssetCheckSeverity.WARN
    assert detail(registers, "planes", "year_known") == (
        "column 'year' is 21072 ppm null (70 of 3322 rows), above the declared ceiling of 20000 ppm"
    )
    assert "fleet" in materialized(registers)


def test_a_budget_leaves_what_reads_rows_unevaluated_and_answers_the_rest(registers: dg.ExecuteInProcessResult):
    assert statuses(registers, "flights") == {
        "aircraft_known": "failed",
        "flight_unique": "passed",
        "_replay_equivalence": "passed",
        "year_complete": "passed",
        "departed": "failed",
        "grain_unique": "not_evaluated",
        "air_time_possible": "passed",
        "departures_every_day": "not_evaluated",
    }
    assert detail(registers, "flights", "year_complete") == "row count 334264 satisfies the declared minimum of 300000"
    reason = detail(registers, "flights", "grain_unique") or ""
    assert reason.startswith("not_evaluated: CHECK_SCAN_BUDGET_EXCEEDED: estimated scan of ")
    assert reason.endswith(" bytes exceeds the 100000-byte ceiling")


def test_the_flights_are_compared_with_the_registers(run_job: RunJob, registers: dg.ExecuteInProcessResult):
    assert registers.run_id
    audit = run_job("audit")
    assert audit.success
    assert statuses(audit, "departures") == {
        "aircraft_registered": "failed",
        "destination_known": "failed",
        "aircraft_spelled": "failed",
        "origin_known": "passed",
        "carrier_code": "passed",
        "shape": "passed",
    }
    told = detail(audit, "departures", "aircraft_registered") or ""
    assert told.startswith("50094 of 336776 rows have a (tailnum) that the reference planes lacks")
    told = detail(audit, "departures", "destination_known") or ""
    assert told.startswith("7602 of 336776 rows have a (dest) that the reference airports lacks")


def test_flights_of_no_known_aircraft_are_quarantined_and_the_rest_is_published(registers: dg.ExecuteInProcessResult):
    told = {
        event.asset_key.to_user_string(): event.materialization.metadata
        for event in registers.get_asset_materialization_events()
        if event.asset_key
    }
    assert told["flights"]["dagster/row_count"].value == 334_264
    assert told["flights"]["quarantined_rows"].value == told["flights_quarantine"]["dagster/row_count"].value == 2_512
    check = evaluations(registers, "flights")["aircraft_known"]
    assert (check.passed, check.severity, check.metadata["failed_rows"].value) == (False, dg.AssetCheckSeverity.WARN, 2_512)


def test_february_is_stopped_by_its_wind_speed(month: Callable[[str], dg.ExecuteInProcessResult]):
    february = month("2013-02-01")
    assert not february.success
    assert detail(february, "weather", "wind_speed_possible") == (
        "column 'wind_speed' holds '1048.36058', above the declared maximum of 253"
    )
    assert statuses(february, "weather")["pressure_present"] == "failed"
    assert materialized(february) == {"weather"}


def test_october_shows_the_gap_and_builds_its_downstream(month: Callable[[str], dg.ExecuteInProcessResult]):
    october = month("2013-10-01")
    assert october.success
    assert statuses(october, "weather") == {
        "grain_unique": "passed",
        "local_grain_unique": "passed",
        "wind_speed_possible": "passed",
        "humidity_in_range": "passed",
        "pressure_present": "passed",
        "observed_every_hour": "failed",
        "month_complete": "passed",
    }
    assert detail(october, "weather", "observed_every_hour") == (
        "column 'time_hour' gaps from '2013-10-25T23:00:00Z' to '2013-10-26T05:00:00Z' by 21600,"
        " above the declared ceiling of 3600, measured in seconds between timestamps"
    )
    assert materialized(october) == {"weather", "flight_weather"}
    assert set(statuses(october, "flight_weather")) == {"grain_unique", "weather_known", "has_flights"}


def test_november_shows_the_hour_that_comes_twice(month: Callable[[str], dg.ExecuteInProcessResult]):
    november = month("2013-11-01")
    assert november.success
    assert statuses(november, "weather")["grain_unique"] == "passed"
    assert detail(november, "weather", "local_grain_unique") == (
        "key (origin, year, month, day, hour) repeats on 3 of 2141 rows, first at ('EWR', 2013, 11, 3, 1), where 0 repeats were expected"
    )
    assert {evaluation.partition for evaluation in evaluations(november, "weather").values()} == {"2013-11-01"}


def test_the_schedules_are_daily_and_run_without_being_switched_on():
    assert [schedule.cron_schedule for schedule in all_schedules] == ["0 6 * * *", "30 6 * * *"]
    assert {schedule.default_status for schedule in all_schedules} == {dg.DefaultScheduleStatus.RUNNING}


def test_the_weather_schedule_asks_for_the_month_of_its_tick(tmp_path: Path):
    repository = build_definitions(tmp_path).get_repository_def()
    context = dg.build_schedule_context(
        scheduled_execution_time=dt.datetime(2026, 11, 30, 11, 30, tzinfo=dt.timezone.utc), repository_def=repository
    )
    (request,) = daily_weather.evaluate_tick(context).run_requests or []
    assert request.partition_key == "2013-11-01"


@pytest.mark.slow
def test_the_demo_prints_every_outcome_and_calls_the_red_runs_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("DQ_EXAMPLE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(demo, "HOME", tmp_path / "home")
    assert demo.main() == 0
    printed = capsys.readouterr().out
    assert "run registers: failed" in printed
    assert "run monthly_weather 2013-11: succeeded" in printed
    assert "not built, because a required check on what they read failed: time_zones" in printed
    assert "5 runs in" in printed
    assert "Failed, as they should: registers, monthly_weather 2013-02." in printed
    assert "make ui" in printed


@pytest.mark.spark
def test_the_spark_demo_finds_the_same_on_both_engines_and_says_so():
    require_spark()
    done = subprocess.run([sys.executable, "-m", "example_project.demo_spark"], capture_output=True, text=True, cwd=CHECKOUT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "29 outcomes of 7 recipes on each engine; 0 differ." in done.stdout
    assert "DIFFERS" not in done.stdout
