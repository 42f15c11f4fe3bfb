"""dq_dagster: recipes of data-quality checks become Dagster asset checks, evaluated in one bounded pass over the rows.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dq_dagster.definitions.asset_metadata import recipe_asset_metadata
    from dq_dagster.definitions.factory import build_recipe_checks
    from dq_dagster.definitions.gate import GatedTable, gated_asset, gated_multi_asset
    from dq_dagster.definitions.guard import require_passed_checks, when_checks_passed
    from dq_dagster.definitions.resources import DuckDBEngineResource, SparkEngineResource
    from dq_dagster.definitions.store import ParquetIOManager
    from dq_dagster.documents import dump_recipe, load_recipe
    from dq_dagster.errors import CheckRunError, DqDagsterError, Problem, RecipeRefused
    from dq_dagster.limits import Limits
    from dq_dagster.outcomes import Evaluation, Failure, Outcome, Receipt
    from dq_dagster.recipe import Column, Quarantine, Recipe, Reference, Table
    from dq_dagster.rows import annotated_rows
    from dq_dagster.run import annotate, evaluate, split

__all__ = [
    "CheckRunError",
    "Column",
    "DqDagsterError",
    "DuckDBEngineResource",
    "Evaluation",
    "Failure",
    "GatedTable",
    "Limits",
    "Outcome",
    "ParquetIOManager",
    "Problem",
    "Quarantine",
    "Receipt",
    "Recipe",
    "RecipeRefused",
    "Reference",
    "SparkEngineResource",
    "Table",
    "annotate",
    "annotated_rows",
    "build_recipe_checks",
    "dump_recipe",
    "evaluate",
    "gated_asset",
    "gated_multi_asset",
    "load_recipe",
    "recipe_asset_metadata",
    "require_passed_checks",
    "split",
    "when_checks_passed",
]

_MODULES = {
    "definitions.asset_metadata": ("recipe_asset_metadata",),
    "definitions.factory": ("build_recipe_checks",),
    "definitions.gate": ("GatedTable", "gated_asset", "gated_multi_asset"),
    "definitions.guard": ("require_passed_checks", "when_checks_passed"),
    "definitions.resources": ("DuckDBEngineResource", "SparkEngineResource"),
    "definitions.store": ("ParquetIOManager",),
    "documents": ("dump_recipe", "load_recipe"),
    "errors": ("CheckRunError", "DqDagsterError", "Problem", "RecipeRefused"),
    "limits": ("Limits",),
    "outcomes": ("Evaluation", "Failure", "Outcome", "Receipt"),
    "recipe": ("Column", "Quarantine", "Recipe", "Reference", "Table"),
    "rows": ("annotated_rows",),
    "run": ("annotate", "evaluate", "split"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
