"""What every test may ask for: a Chromium for the browser tests, and the rule that a skipped one can be a failure."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NO_BROWSER = f"no Chromium was found: install one ({', '.join(BROWSERS)}) or set DQ_DAGSTER_CHROMIUM to its path"


def find_chromium() -> str | None:
    """The path of a Chromium on this machine; DQ_DAGSTER_CHROMIUM is believed before anything else."""
    candidates = [os.environ.get("DQ_DAGSTER_CHROMIUM"), *BROWSERS]
    return next((found for name in candidates if name and (found := shutil.which(name))), None)


def browser_is_required() -> bool:
    """Whether a browser test that cannot run is a failure; CI says so."""
    return os.environ.get("DQ_DAGSTER_REQUIRE_BROWSER") == "1"


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the Chromium to drive; skips the test where there is none."""
    path = find_chromium()
    if path is None:
        pytest.skip(NO_BROWSER)
    return path


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a skipped browser test into a failed one where the browser is required, whatever it was skipped for."""
    report = yield
    if report.skipped and browser_is_required() and item.get_closest_marker("browser"):
        report.outcome = "failed"
        report.longrepr = f"DQ_DAGSTER_REQUIRE_BROWSER=1, and this browser test was skipped: {report.longrepr}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says in so many words that browser tests did not run; a lone `s` among thousands of dots would not."""
    skipped = [report for report in terminalreporter.getreports("skipped") if "browser" in getattr(report, "keywords", {})]
    if skipped:
        reason = NO_BROWSER if find_chromium() is None else "the reasons stand below"
        terminalreporter.write_line(f"{len(skipped)} browser test(s) SKIPPED: {reason}", yellow=True, bold=True)
