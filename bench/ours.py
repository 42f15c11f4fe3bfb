"""A suite as dq_dagster runs it: the recipe is read, planned and evaluated.

python bench/ours.py five|twenty TABLE
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import yaml
from measured import done, started

import dq_dagster as dq

SUITES = Path(__file__).parent / "suites"


def main(suite: str, table: str) -> None:
    for module in ("duckdb", "pyarrow.parquet", "dq_dagster.run"):  # what any first evaluation imports is no part of the work
        import_module(module)
    document = yaml.safe_load((SUITES / f"{suite}.yaml").read_text(encoding="utf-8"))
    dq.load_recipe(document)
    started()
    references = {"stations": Path(table).parent / "stations.parquet"} if "references" in document else None
    outcomes = dq.evaluate(dq.load_recipe(document), table, references=references).outcomes
    done(checks=len(outcomes), passed=sum(outcome.status == "passed" for outcome in outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
