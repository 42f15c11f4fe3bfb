"""What twenty checks cost a Dagster step: the processor time of a run with them, less that of runs that check nothing.

    python bench/dagster_step.py [--rows 1000] [--rounds 9]

One run has a step that reports a single result, one a step that reports as many results as the recipe has checks: what
Dagster itself does to store and announce them is no work of ours. All runs are in process, on an instance of their own,
once the first of each has imported and warmed all there is.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow.parquet as pq
import yaml
from run import table_of

import dq_dagster as dq

SUITE = Path(__file__).parent / "suites" / "twenty.yaml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    table = table_of(asked.rows, order="station", broken=False, parts=1)
    stations = table.parent / "stations.parquet"
    document = yaml.safe_load(SUITE.read_text(encoding="utf-8"))
    document["references"] = {"stations": {"path": str(stations)}}

    @dg.asset
    def readings() -> dg.MaterializeResult[Any]:
        return dg.MaterializeResult(metadata={"rows": pq.read_metadata(table).num_rows})

    @dg.asset_check(asset=readings)
    def nothing() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=True)

    names = [check["check_id"] for check in document["checks"]]

    @dg.multi_asset_check(specs=[dg.AssetCheckSpec(name, asset=readings) for name in names])
    def as_many_results() -> Iterator[dg.AssetCheckResult]:
        for name in names:
            yield dg.AssetCheckResult(passed=True, check_name=name, asset_key="readings")

    checks = dq.build_recipe_checks(asset=readings, recipe=document, path=str(table))
    with tempfile.TemporaryDirectory() as home:
        instance = dg.DagsterInstance.local_temp(home)
        runs = {"one result": [nothing], "as many results": [as_many_results], "the recipe": checks}
        spent: dict[str, list[float]] = {name: [] for name in runs}
        for number in range(asked.rounds + 1):
            for name, definitions in runs.items():
                started = time.process_time()
                assert dg.materialize([readings, *definitions], instance=instance).success
                if number:
                    spent[name].append((time.process_time() - started) * 1000)
    one, many, ours = (statistics.median(found) for found in spent.values())
    print(f"a run that reports one result: {one:.0f} ms of processor time; {len(names)} results and no work: {many - one:.0f} ms more")
    print(f"the {len(names)} checks over {asked.rows} rows: {ours - many:.0f} ms more than as many results without work")


if __name__ == "__main__":
    main()
