"""What an analyst sees in Dagster's UI after a schedule has materialized and checked the example's tables.

Everything is real: the webserver, the daemon whose tick launches the runs, the queue, the data and the browser. One
deployment serves all tests of this file; a story that needs another run launches it in a fixture of conftest.py.

They stay in one file, so that `pytest -n 2 --dist loadfile` starts one deployment and not one a worker. The mark
xdist_group would say it better, but pytest 9.2 made it void (https://github.com/pytest-dev/pytest-xdist/issues/1386).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page

from tests.browser.deployment import Deployment
from tests.browser.pages import (
    example_rows,
    keep_picture,
    listed_checks,
    metadata_of,
    node,
    open_check,
    plotted,
)

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Run = dict[str, Any]

WIND_SPEED = "column 'wind_speed' holds '1048.36058', above the declared maximum of 253"
TIMEZONE = "column 'tz' holds '8', above the declared maximum of -4"
YEAR_KNOWN = "column 'year' is 21072 ppm null (70 of 3322 rows), above the declared ceiling of 20000 ppm"


def reads(page: Page, text: str) -> None:
    """Waits until the page says exactly this somewhere."""
    page.get_by_text(text, exact=True).first.wait_for()


def test_the_daemon_launched_the_runs_at_a_schedules_tick(registers: Run, february: Run):
    assert (registers["jobName"], registers["status"]) == ("registers", "FAILURE")
    assert (february["jobName"], february["status"]) == ("monthly_weather", "FAILURE")
    assert {"dagster/schedule_name", "dagster/tick"} <= registers["tags"].keys() & february["tags"].keys()


def test_a_required_failure_shows_its_sentence_its_rows_and_its_figures(page: Page, deployment: Deployment, registers: Run):
    assert registers
    open_check(page, deployment, "airports", "timezone_american")
    assert listed_checks(page) == {"grain_unique": "Succeeded", "timezone_american": "Failed", "timezone_named": "Succeeded"}
    reads(page, "This is a blocking asset check.")
    assert page.get_by_text(TIMEZONE, exact=True).count() == 2, "the description, and the metadata's detail"
    assert example_rows(page) == [["faa", "tz"], ["DVT", "8"], ["MYF", "8"]]
    metadata = metadata_of(page)
    assert (
        metadata
        | {
            "status": "failed",
            "detail": TIMEZONE,
            "kind": "value_range",
            "enforcement": "required",
            "scope": "airports",
            "rows": "1458",
            "failed_rows": "2",
            "failed_ppm": "1372",
            "min": "-10",
            "max": "8",
            "engine": "duckdb",
            "failure_code": "CHECK_FAILED",
            "failed_stage": "check",
            "failure_detail": f"TIMEZONE_AMERICAN: {TIMEZONE}",
        }
        == metadata
    )
    assert {"recipe_digest", "seconds", "bytes_scanned"} <= metadata.keys()
    keep_picture(page, "checks.png")


def test_a_check_over_its_budget_says_not_evaluated_and_why_beside_checks_that_passed_and_failed(
    page: Page, deployment: Deployment, registers: Run
):
    assert registers
    statuses: dict[str, str] = {}
    details: dict[str, str] = {}
    for check in ("year_complete", "departed", "grain_unique"):
        open_check(page, deployment, "flights", check)
        metadata = metadata_of(page)
        statuses[check], details[check] = metadata["status"], metadata["detail"]
        reads(page, metadata["detail"])
    assert statuses == {"year_complete": "passed", "departed": "failed", "grain_unique": "not_evaluated"}
    # The figures are tests/test_example_project.py's business.
    assert re.fullmatch(r"row count \d+ satisfies the declared minimum of 300000", details["year_complete"])
    assert re.fullmatch(
        r"column 'dep_time' is \d+ ppm null \(\d+ of \d+ rows\), above the declared ceiling of \d+ ppm", details["departed"]
    )
    # Dagster has no third state of its own: the list says that it did not pass, the page says what happened instead.
    listed = listed_checks(page)
    assert {check: listed[check] for check in statuses} == {"year_complete": "Succeeded", "departed": "Failed", "grain_unique": "Failed"}
    reason = metadata_of(page)["not_evaluated_reason"]
    assert reason.startswith("CHECK_SCAN_BUDGET_EXCEEDED: estimated scan of ")
    assert reason.endswith(" bytes exceeds the 100000-byte ceiling")
    reads(page, f"not_evaluated: {reason}")
    keep_picture(page, "not_evaluated.png")


def test_the_graph_shows_the_required_failure_stop_its_downstream_and_the_advisory_one_not(
    page: Page, deployment: Deployment, registers: Run
):
    assert registers
    page.goto(f"{deployment.url}/locations/example_project/asset-groups/registers/lineage")
    for asset, said in (("airports", "2 / 3 Passed"), ("planes", "2 / 3 Passed"), ("time_zones", "Failed")):
        node(page, asset).get_by_text(said, exact=True).wait_for()
    for asset in ("airports", "planes", "fleet"):
        node(page, asset).get_by_text("Materialized", exact=True).wait_for()
    assert node(page, "time_zones").get_by_text("Materialized", exact=True).count() == 0
    keep_picture(page, "blocked.png")
    found = deployment.graphql(
        """{ assetNodes(assetKeys: [{path: ["time_zones"]}, {path: ["fleet"]}]) { id assetKey { path } assetMaterializations { runId } } }"""
    )["assetNodes"]
    assert {entry["assetKey"]["path"][0]: [one["runId"] for one in entry["assetMaterializations"]] for entry in found} == {
        "time_zones": [],
        "fleet": [registers["runId"]],
    }


def test_the_advisory_failure_is_a_warning(page: Page, deployment: Deployment, registers: Run):
    assert registers
    open_check(page, deployment, "planes", "year_known")
    reads(page, YEAR_KNOWN)
    assert page.get_by_text("This is a blocking asset check.").count() == 0
    assert metadata_of(page)["enforcement"] == "advisory"
    assert example_rows(page)[:2] == [["tailnum", "year"], ["N14558", "None"]]


def test_the_run_shows_what_failed_and_what_was_not_executed(page: Page, deployment: Deployment, registers: Run):
    page.goto(f"{deployment.url}/runs/{registers['runId']}?logs=timezone_american")
    reads(page, "Errored (1)")
    reads(page, "check_airports")
    reads(page, f"airports: TIMEZONE_AMERICAN failed: {TIMEZONE}")
    reads(page, "Not executed (1)")
    keep_picture(page, "failed_run.png")
    page.get_by_text("Not executed (1)", exact=True).click()
    page.get_by_text("time_zones", exact=True).nth(1).wait_for()  # the chart names it too


def test_the_failed_run_carries_what_failed_as_tags(page: Page, deployment: Deployment, registers: Run):
    page.goto(f"{deployment.url}/runs/{registers['runId']}")
    page.get_by_text("1 blocking asset check failed with ERROR severity").first.wait_for()
    page.get_by_text("View tags and config").click()
    reads(page, "Run configuration")
    for tag in ("failure_code: CHECK_FAILED", "failed_stage: check", f"failure_detail: TIMEZONE_AMERICAN: {TIMEZONE}"):
        reads(page, f"dq_dagster/{tag}")


def test_each_partition_has_a_result_of_its_own(page: Page, deployment: Deployment, february: Run, october: Run):
    assert (february["status"], october["status"]) == ("FAILURE", "SUCCESS")
    open_check(page, deployment, "weather", "wind_speed_possible")
    page.get_by_text("Partitions", exact=True).last.click()
    reads(page, "Failed (1)")
    reads(page, "Passed (1)")
    page.get_by_text("2013-02-01", exact=True).first.click()
    reads(page, "Description")
    reads(page, february["runId"][:8])
    metadata = metadata_of(page)
    assert (metadata["scope"], metadata["detail"]) == ("weather[2013-02-01]", WIND_SPEED)
    assert example_rows(page) == [["origin", "time_hour", "wind_speed"], ["EWR", "2013-02-12T08:00:00Z", "1048.36058"]]
    keep_picture(page, "partitions.png")


def test_the_figures_of_two_runs_are_plotted(page: Page, deployment: Deployment, february: Run, october: Run):
    assert february
    assert october
    open_check(page, deployment, "weather", "pressure_present")
    assert plotted(page, "nulls") == [262, 177]
    assert plotted(page, "rows") == [2010, 2212]
    for section in ("About", "Latest execution"):
        page.get_by_text(section, exact=True).click()  # folds it, so that the picture holds the plots and the check's name
    page.get_by_text("Evaluation result", exact=True).wait_for(state="hidden")
    keep_picture(page, "plot.png")
    page.get_by_text("Execution history", exact=True).click()
    for detail in (
        "column 'pressure' is 130349 ppm null (262 of 2010 rows), above the declared ceiling of 100000 ppm",
        "column 'pressure' is 80019 ppm null (177 of 2212 rows), at or below the declared ceiling of 100000 ppm",
    ):
        reads(page, detail)


def test_a_failed_gate_shows_why_and_keeps_the_old_table_with_its_quarantine(page: Page, deployment: Deployment, ledgers: tuple[Run, Run]):
    good, broken = ledgers
    assert (good["status"], broken["status"]) == ("SUCCESS", "FAILURE")
    open_check(page, deployment, "ledger", "entry_unique")
    repeats = "key (entry) repeats on 1 of 3 rows, first at (1,), where 0 repeats were expected"
    reads(page, repeats)
    assert (metadata_of(page)["status"], metadata_of(page)["failure_detail"]) == ("failed", f"ENTRY_UNIQUE: {repeats}")
    keep_picture(page, "failed_gate.png")
    found = deployment.graphql(
        """{ assetNodes(assetKeys: [{path: ["ledger"]}, {path: ["ledger_quarantine"]}, {path: ["balance"]}]) {
             id assetKey { path } assetMaterializations { runId } } }"""
    )["assetNodes"]
    published = {entry["assetKey"]["path"][0]: [one["runId"] for one in entry["assetMaterializations"]] for entry in found}
    assert published == {asset: [good["runId"]] for asset in ("ledger", "ledger_quarantine", "balance")}
    assert pq.read_table(deployment.data / "ledger.parquet").to_pylist() == [{"entry": 1, "amount": 10}, {"entry": 3, "amount": 30}]
    quarantined = pq.read_table(deployment.data / "ledger_quarantine.parquet").to_pylist()
    assert quarantined == [{"entry": 2, "amount": None, "_dq_failed_checks": ["AMOUNT_PRESENT"]}]


def test_the_quarantine_stands_in_the_lineage_beside_its_table(page: Page, deployment: Deployment, registers: Run):
    assert registers
    page.goto(f"{deployment.url}/locations/example_project/asset-groups/new_york/lineage")
    for asset in ("flights", "flights_quarantine"):
        node(page, asset).get_by_text("Materialized", exact=True).wait_for()
    keep_picture(page, "quarantine.png")


def test_the_command_line_reads_the_run_as_the_page_shows_it(page: Page, deployment: Deployment, registers: Run):
    wires = checks_of_run(deployment, registers["runId"])
    records = checks_of_run(deployment, registers["runId"], "--record")
    assert all(set(wire) == {"check_id", "passed", "detail", "scope"} for wire in wires)
    assert records == [
        {
            "name": wire["check_id"],
            "status": "passed" if wire["passed"] else "not_evaluated" if wire["detail"].startswith("not_evaluated: ") else "failed",
            "reason": wire["detail"],
        }
        for wire in wires
    ]
    assert {record["status"] for record in records} == {"passed", "failed", "not_evaluated"}
    for asset, check in (("flights", "grain_unique"), ("airports", "timezone_american"), ("planes", "seats_possible")):
        open_check(page, deployment, asset, check)
        shown = metadata_of(page)
        wire = {"check_id": check.upper(), "passed": shown["status"] == "passed", "detail": shown["detail"], "scope": asset}
        assert wire in wires
        assert {"name": check.upper(), "status": shown["status"], "reason": shown["detail"]} in records


def checks_of_run(deployment: Deployment, run_id: str, *options: str) -> list[dict[str, Any]]:
    """What `dq-dagster checks RUN_ID --json` prints, with this deployment's DAGSTER_HOME."""
    ran = subprocess.run(
        [sys.executable, "-m", "dq_dagster", "checks", run_id, "--json", *options],
        env=deployment.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return json.loads(ran.stdout)
