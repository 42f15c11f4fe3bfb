"""`make demo`: runs the example in a Dagster home of its own and prints what every check found."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "yes")

import dagster as dg
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from example_project.definitions import CHECKOUT, build_definitions, data_folder

HOME = CHECKOUT / ".demo" / "dagster_home"

# (job, partition): the registers first, since flight_weather reads flights; then the three months that hold a fault.
RUNS: Sequence[tuple[str, str | None]] = (
    ("registers", None),
    ("audit", None),
    ("monthly_weather", "2013-02-01"),
    ("monthly_weather", "2013-10-01"),
    ("monthly_weather", "2013-11-01"),
)

WIDTH_WHEN_PIPED = 140
COLOURS = {"passed": "green", "failed": "red", "not_evaluated": "yellow"}

# Dagster writes a line an event to the terminal; the table below says what matters, the UI keeps the rest.
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def prepare_home(home: Path) -> Path:
    """The folder that DAGSTER_HOME names, with the example's dagster.yaml in it."""
    home.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(Path(__file__).parent / "dagster.yaml", home / "dagster.yaml")
    return home


def main() -> int:
    """Runs the four runs and prints their outcomes. A red run is part of the show, so that the exit status is 0."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, WIDTH_WHEN_PIPED)
    started = time.monotonic()
    defs = build_definitions(data_folder())
    with dg.DagsterInstance.from_config(str(prepare_home(HOME))) as instance:
        results = [(job, month, _run(defs, instance, job, month, console)) for job, month in RUNS]
    for job, month, result in results:
        _print_outcomes(console, job, month, result)
    _print_closing(console, results, time.monotonic() - started)
    return 0


def _run(defs: dg.Definitions, instance: dg.DagsterInstance, job: str, month: str | None, console: Console) -> dg.ExecuteInProcessResult:
    with console.status(f"running {_title(job, month)}"):
        return defs.resolve_job_def(job).execute_in_process(instance=instance, partition_key=month, raise_on_error=False, run_config=QUIET)


def _title(job: str, month: str | None) -> str:
    return job if month is None else f"{job} {month[:7]}"


def _print_outcomes(console: Console, job: str, month: str | None, result: dg.ExecuteInProcessResult) -> None:
    colour, word = ("green", "succeeded") if result.success else ("red", "failed")
    table = Table(title=f"run {_title(job, month)}: [{colour}]{word}[/]", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("asset", no_wrap=True)
    table.add_column("check", no_wrap=True)
    table.add_column("enforcement", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("detail", overflow="fold")
    for evaluation in result.get_asset_check_evaluations():
        status = _text(evaluation, "status")
        table.add_row(
            evaluation.asset_key.to_user_string(),
            evaluation.check_name,
            _text(evaluation, "enforcement"),
            Text(status, style=COLOURS[status]),
            Text(_text(evaluation, "detail")),
        )
    console.print(table)
    materialized = {event.asset_key.to_user_string() for event in result.get_asset_materialization_events() if event.asset_key}
    planned = {key.to_user_string() for key in result.job_def.asset_layer.selected_asset_keys}
    if stopped := sorted(planned - materialized):
        console.print(f"  [red]not built, because a required check on what they read failed:[/] {', '.join(stopped)}")
    console.print()


def _text(evaluation: dg.AssetCheckEvaluation, key: str) -> str:
    return str(evaluation.metadata[key].value)


def _print_closing(console: Console, results: Sequence[tuple[str, str | None, dg.ExecuteInProcessResult]], seconds: float) -> None:
    red = [_title(job, month) for job, month, result in results if not result.success]
    console.print(f"{len(results)} runs in {seconds:.0f} seconds. Failed, as they should: {', '.join(red) or 'none'}.")
    console.print("The data is real and so are its faults: a required check that fails stops what is downstream and fails the run;")
    console.print("an advisory one only warns; a check over its budget is not_evaluated, which is neither.")
    console.print()
    console.print("Open the same runs in Dagster's UI:  [bold]make ui[/]  (http://127.0.0.1:3000, Assets, then a table's Checks tab)")


if __name__ == "__main__":
    sys.exit(main())
