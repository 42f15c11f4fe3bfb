"""What Dagster loads: `dagster dev -w workspace.yaml`."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg

from dq_dagster import ParquetIOManager
from example_project.assets import all_assets
from example_project.checks import all_checks
from example_project.jobs import all_jobs, all_schedules

CHECKOUT = Path(__file__).parent.parent


def data_folder() -> Path:
    """Where the assets' files go: DQ_EXAMPLE_DATA, or a git-ignored folder of this checkout."""
    return Path(os.environ.get("DQ_EXAMPLE_DATA") or CHECKOUT / ".demo" / "data").absolute()


def build_definitions(data: Path) -> dg.Definitions:
    """The example with its files under `data`."""
    return dg.Definitions(
        assets=all_assets,
        asset_checks=all_checks,
        jobs=all_jobs,
        schedules=all_schedules,
        resources={"io_manager": ParquetIOManager(base_path=str(data))},
        # The tables are small: one process a run is several times quicker here than one a step.
        executor=dg.in_process_executor,
    )


defs = build_definitions(data_folder())
