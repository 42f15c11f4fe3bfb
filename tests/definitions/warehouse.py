"""What the tests of the definitions share: recipes in a line, a warehouse in a folder, and runs that tell what happened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq

from dq_dagster.definitions.store import ParquetIOManager
from dq_dagster.recipe import Recipe

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def recipe(*checks: Mapping[str, Any], name: str = "orders", **members: Any) -> Recipe:
    """A recipe for a table of its own name."""
    table = {"name": name, **members.pop("table", {})}
    return Recipe.model_validate({"recipe": name, "table": table, "checks": list(checks), **members})


def unique(column: str = "id", enforcement: str = "required", **members: Any) -> dict[str, Any]:
    return {"check_id": f"{column}_u", "kind": "key_uniqueness", "enforcement": enforcement, "columns": [column], **members}


def within(column: str, low: str, high: str, enforcement: str = "required", **members: Any) -> dict[str, Any]:
    bounds = {"min_value": low, "max_value": high}
    return {"check_id": column, "kind": "value_range", "enforcement": enforcement, "columns": [column], **bounds, **members}


def rows(low: int, high: int | None = None, enforcement: str = "required") -> dict[str, Any]:
    bounds = {"min_rows": low} if high is None else {"min_rows": low, "max_rows": high}
    return {"check_id": "n", "kind": "row_expectation", "enforcement": enforcement, **bounds}


def nulls(column: str, ppm: int, enforcement: str = "required") -> dict[str, Any]:
    return {"check_id": f"{column}_n", "kind": "null_ceiling", "enforcement": enforcement, "columns": [column], "max_null_ppm": ppm}


def write(path: Path, **columns: Any) -> Path:
    """A Parquet file with these columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def store(folder: Path) -> ParquetIOManager:
    return ParquetIOManager(base_path=str(folder))


def run(definitions: Sequence[Any], folder: Path, **arguments: Any) -> dg.ExecuteInProcessResult:
    """Materializes everything, or the selection, in one process; a failed run is looked at, not raised."""
    resources = {"io_manager": store(folder), **arguments.pop("resources", {})}
    return dg.materialize(list(definitions), resources=resources, raise_on_error=False, run_config=QUIET, **arguments)


def evaluations(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    """By check name, or by `name[partition]` where an evaluation is of one."""
    found = result.get_asset_check_evaluations()
    named = {one.check_name if one.partition is None else f"{one.check_name}[{one.partition}]": one for one in found}
    assert len(named) == len(found), "a check was evaluated twice"
    return named


def passed(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {name: one.passed for name, one in evaluations(result).items()}


def materialized(result: dg.ExecuteInProcessResult) -> list[str]:
    return [event.asset_key.to_user_string() for event in result.get_asset_materialization_events() if event.asset_key]


def figure(evaluation: dg.AssetCheckEvaluation, key: str) -> Any:
    return evaluation.metadata[key].value


def failure_tags(instance: dg.DagsterInstance, run_id: str) -> dict[str, str]:
    stored = instance.get_run_by_id(run_id)
    assert stored is not None
    return {name.removeprefix("dq_dagster/"): value for name, value in stored.tags.items() if name.startswith("dq_dagster/")}


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def stored_events(instance: dg.DagsterInstance, run_id: str) -> list[Any]:
    """Every event of a run as it is stored, read as strict JSON."""
    return [json.loads(dg.serialize_value(entry), parse_constant=refuse_constant) for entry in instance.all_logs(run_id)]
