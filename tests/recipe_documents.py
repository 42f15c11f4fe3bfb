"""Small recipe documents for tests, and the problems of one that is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dq_dagster import RecipeRefused, load_recipe

UNREADABLE, INVALID, INCOHERENT = "RECIPE_DOCUMENT_UNREADABLE", "RECIPE_DOCUMENT_INVALID", "RECIPE_DOCUMENT_INCOHERENT"
CHECK, CHECKS, DUPLICATE = "DECLARED_CHECK_INVALID", "DECLARED_CHECKS_INVALID", "DECLARED_CHECK_DUPLICATE"
COLUMNS = [{"name": name} for name in ("origin", "time_hour", "humid", "place", "v.w")]


def recipe_with(*checks: Any, **members: Any) -> dict[str, Any]:
    return {"recipe": "weather", "table": {"name": "weather"}, "checks": list(checks), **members}


def check_of(kind: str, **members: Any) -> dict[str, Any]:
    return {"check_id": "c", "kind": kind, "enforcement": "required", **members}


def without(member: str, document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != member}


def problems_of(document: Any, **options: Any) -> list[tuple[str, str, str]]:
    with pytest.raises(RecipeRefused) as refused:
        load_recipe(document, **options)
    return [(problem.code, problem.pointer, problem.message) for problem in refused.value.problems]


ROWS = check_of("row_expectation", min_rows=1)
RANGE = check_of("value_range", columns=["humid"], min_value=0, max_value=100)
