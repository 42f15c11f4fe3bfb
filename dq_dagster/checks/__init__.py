"""What may be asserted: the registry of kinds. A kind is found by the word that stands in its `kind` field."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import entry_points
from typing import cast, get_args

from dq_dagster.checks.base import Check

FAMILIES = (
    "core",
    "nulls",
    "values",
    "lists",
    "text",
    "times",
    "network",
    "codes",
    "json",
    "keys",
    "references",
    "aggregates",
    "outliers",
    "series",
    "schema",
    "query",
    "counts",
    "custom",
    "together",
    "ranges",
    "shares",
    "columns",
    "carrying",
)
ENTRY_POINTS = "dq_dagster.kinds"


def kind_of(check: type[Check]) -> str:
    """The word by which a recipe names the kind."""
    return cast(str, get_args(check.model_fields["kind"].annotation)[0])


def _declared_in(module: object) -> Iterator[type[Check]]:
    """The kinds that a module defines, in the order of its lines; shapes and imported kinds are none."""
    for member in vars(module).values():
        if not inspect.isclass(member):
            continue
        if (
            issubclass(member, Check)
            and member.__module__ == getattr(module, "__name__", None)
            and get_args(member.model_fields["kind"].annotation)
        ):
            yield member


@lru_cache(maxsize=1)
def kinds() -> dict[str, type[Check]]:
    """Every kind by its word: the package's own families, then what other packages bring by entry point.

    Raises ValueError where two claim one word.
    """
    found: dict[str, type[Check]] = {}
    own = [check for family in FAMILIES for check in _declared_in(importlib.import_module(f"dq_dagster.checks.{family}"))]
    brought = [cast("type[Check]", point.load()) for point in entry_points(group=ENTRY_POINTS)]
    for check in [*own, *brought]:
        word = kind_of(check)
        if word in found:
            raise ValueError(f"the kind {word!r} is claimed by {found[word].__module__} and by {check.__module__}; rename one of them")
        found[word] = check
    return found
