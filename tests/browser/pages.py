"""Where things are in Dagster's UI, and the pictures of it that the README shows."""

from __future__ import annotations

import os
from typing import Any

from playwright.sync_api import Locator, Page

from tests.browser.deployment import CHECKOUT, Deployment

IMAGES = CHECKOUT / "docs" / "images"

# The plot is a canvas, which holds pixels. The component that draws it holds the points.
POINTS_OF_CANVAS = """canvas => {
    const fiber = Object.keys(canvas).find(key => key.startsWith('__reactFiber'));
    for (let component = canvas[fiber]; component; component = component.return) {
        const data = component.memoizedProps && component.memoizedProps.data;
        if (data && data.datasets) return data.datasets[0].data.map(point => point.y);
    }
    return null;
}"""


def open_check(page: Page, deployment: Deployment, asset: str, check: str) -> None:
    """The check's page among the checks of its asset, with its latest evaluation."""
    page.goto(f"{deployment.url}/assets/{asset}?view=checks&checkDetail={check}")
    page.get_by_text("Evaluation result", exact=True).wait_for()


def listed_checks(page: Page) -> dict[str, str]:
    """Every check that the asset's Checks tab lists, and the word that stands below its name."""
    page.get_by_placeholder("Filter checks").wait_for()
    lines = page.locator("body").inner_text().split("Execute all", 1)[1].splitlines()
    told = [line for line in lines if line.strip()]
    found: dict[str, str] = {}
    for name, again, status in zip(told[0::3], told[1::3], told[2::3], strict=False):
        if name != again:
            break
        found[name] = status
    return found


def metadata_of(page: Page) -> dict[str, str]:
    """The metadata table of the evaluation, as a reader sees it: keys and texts."""
    rows = page.locator("table").first.locator("> tbody > tr").all()
    cells = [row.locator("> td").all_inner_texts() for row in rows]
    return {key.strip(): text.strip() for key, text in cells}


def example_rows(page: Page) -> list[list[str]]:
    """The example table of the evaluation: its head, then its rows."""
    return [row.locator("th, td").all_inner_texts() for row in page.locator("table table").first.locator("tr").all()]


def plotted(page: Page, key: str) -> list[Any]:
    """The figures that the check's plot of one metadata key is drawn from, the oldest first."""
    canvas = plot(page, key).locator("canvas")
    canvas.wait_for()
    return canvas.evaluate(POINTS_OF_CANVAS)


def plot(page: Page, key: str) -> Locator:
    """The innermost box that holds both the key's name and its drawing."""
    return page.locator("div").filter(has=page.get_by_text(key, exact=True)).filter(has=page.locator("canvas")).last


def node(page: Page, asset: str) -> Locator:
    """The asset's node in the lineage graph."""
    return page.locator("foreignObject").filter(has=page.get_by_text(asset, exact=True)).first


def keep_picture(page: Page, name: str) -> None:
    """Takes the README's picture anew where DQ_DAGSTER_SCREENSHOTS=1 asks for it; a plain test run leaves the tree alone."""
    if os.environ.get("DQ_DAGSTER_SCREENSHOTS") != "1":
        return
    IMAGES.mkdir(parents=True, exist_ok=True)
    page.mouse.move(0, 0)
    page.screenshot(path=IMAGES / name, animations="disabled")
