"""The deployment that the browser tests look at, the runs that happened in it, and a page of the browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.deployment import ENDED, Deployment, deployed, until
from tests.browser.every_minute import FEBRUARY

OCTOBER = "2013-10-01"
PATIENCE_WITH_A_PAGE = 120  # seconds
# What is not on loopback has no address: the UI asks the outside world for nothing, and a test would not notice if it did.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
ONLY_LOOPBACK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"

Run = dict[str, Any]


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=chromium, args=[*FLAGS, ONLY_LOOPBACK]) as browser:
        yield browser


@pytest.fixture(scope="module")
def deployment(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A webserver and a daemon; without a browser to look at them, none is started."""
    assert chromium
    with deployed(tmp_path_factory.mktemp("deployment")) as deployment:
        yield deployment


@pytest.fixture(scope="module")
def ticked(deployment: Deployment) -> dict[str, Run]:
    """The runs that the daemon launched at the schedules' first tick, by schedule, all ended."""

    def both() -> dict[str, Run] | None:
        assert deployment.broken_ticks() == []
        found = {run["tags"].get("dagster/schedule_name"): run for run in deployment.runs() if run["status"] in ENDED}
        return found if {"registers_at_once", "february_at_once"} <= found.keys() else None

    return until("ended run of both schedules", both)


@pytest.fixture(scope="module")
def registers(ticked: dict[str, Run]) -> Run:
    """The tick's run of the unpartitioned tables: airports fails a required check, planes and flights advisory ones."""
    return ticked["registers_at_once"]


@pytest.fixture(scope="module")
def february(ticked: dict[str, Run]) -> Run:
    """The tick's run of the month with the impossible wind speed."""
    run = ticked["february_at_once"]
    assert run["tags"]["dagster/partition"] == FEBRUARY
    return run


@pytest.fixture(scope="module")
def october(deployment: Deployment, ticked: dict[str, Run]) -> Run:
    """A second run of the monthly job, launched as the UI launches: through the queue and the daemon."""
    assert ticked
    return ended(deployment, deployment.launch("monthly_weather", **{"dagster/partition": OCTOBER}))


@pytest.fixture(scope="module")
def ledgers(deployment: Deployment) -> tuple[Run, Run]:
    """Two runs of the gated ledger, one after the other: a good one, and one whose table breaks a required check."""
    good = ended(deployment, deployment.launch("ledgers"))
    return good, ended(deployment, deployment.launch("ledgers", broken="yes"))


def ended(deployment: Deployment, run_id: str) -> Run:
    """The run, once it has ended."""

    def it() -> Run | None:
        return next((run for run in deployment.runs() if run["runId"] == run_id and run["status"] in ENDED), None)

    return until(f"end of run {run_id}", it)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport={"width": 1400, "height": 900}, timezone_id="UTC", locale="en-US") as context:
        context.set_default_timeout(PATIENCE_WITH_A_PAGE * 1000)
        yield context.new_page()
