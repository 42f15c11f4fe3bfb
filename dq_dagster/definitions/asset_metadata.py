"""What a recipe tells about the asset it is bound to: its columns, what is promised of them, and its digest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pyarrow as pa

from dq_dagster.arrow_types import words_for
from dq_dagster.checks.base import Check
from dq_dagster.checks.core import Continuity, KeyUniqueness, NullCeiling, ValueRange
from dq_dagster.recipe import Recipe

SCHEMA_KEY = "dagster/column_schema"
DIGEST_KEY = "dq_dagster/recipe_digest"
KEYS_KEY = "dq_dagster/keys"


def recipe_asset_metadata(recipe: Recipe) -> dict[str, Any]:
    """Metadata for an asset that the recipe is about: its Columns tab, and the recipe's name and digest.

    The Columns tab lists the declared columns with their types and descriptions, and what the checks ask of each.
    ParquetIOManager carries the digest to every materialization, and records in the files by which of the recipe's keys
    their rows rise. The digest serves as the code version too:

        @dg.asset(metadata=recipe_asset_metadata(recipe), code_version=recipe.digest)

    `recipe` is a Recipe, such as load_recipe gives.
    """
    metadata: dict[str, Any] = {"dq_dagster/recipe": recipe.recipe, DIGEST_KEY: recipe.digest}
    if keys := keys_of(recipe):
        metadata[KEYS_KEY] = keys
    if not recipe.table.columns:
        return metadata
    columns = [
        dg.TableColumn(column.name, type=column.type or "", description=column.description, constraints=_constraints(column.name, recipe))
        for column in recipe.table.columns
    ]
    return {SCHEMA_KEY: dg.TableSchema(columns=columns), **metadata}


def keys_of(recipe: Recipe) -> list[list[str]]:
    """The columns that the recipe's checks want to be keys of the table, each key once."""
    keys = (check.key(recipe.table.grain) for check in recipe.checks)
    return [list(key) for key in dict.fromkeys(keys) if key]


def stored_schema(schema: pa.Schema, declared: object = None) -> dg.TableSchema:
    """The stored columns and their types, with the descriptions and constraints that the asset's definition gives them."""
    table = declared.value if isinstance(declared, dg.TableSchemaMetadataValue) else declared
    known = {column.name: column for column in table.columns} if isinstance(table, dg.TableSchema) else {}
    columns: list[dg.TableColumn] = []
    for field in schema:
        named = known.get(field.name) or dg.TableColumn(field.name)
        type = words_for(field.type)
        columns.append(dg.TableColumn(field.name, type=type, description=named.description, constraints=named.constraints, tags=named.tags))
    return dg.TableSchema(columns=columns)


def _constraints(column: str, recipe: Recipe) -> dg.TableColumnConstraints:
    told = list(
        dict.fromkeys(
            f"{words} (advisory)" if check.enforcement == "advisory" else words
            for check in recipe.checks
            for words in _promises(column, recipe, check)
        )
    )
    other = [words for words in told if words not in ("unique", "not null")]
    return dg.TableColumnConstraints(nullable="not null" not in told, unique="unique" in told, other=other)


def _promises(column: str, recipe: Recipe, check: Check) -> Iterator[str]:
    """What a check promises of a column, in words."""
    match check:
        case KeyUniqueness():
            key = [ref.label for ref in check.columns] or list(recipe.table.grain)
            if column in key:
                yield "unique" if len(key) == 1 else f"unique together: {', '.join(key)}"
        case NullCeiling() if [ref.label for ref in check.columns] == [column]:
            yield "not null" if check.max_null_ppm == 0 else f"at most {check.max_null_ppm} ppm null"
        case ValueRange() if [ref.label for ref in check.columns] == [column]:
            yield f"{check.min_value} … {check.max_value}"
        case Continuity() if [ref.label for ref in check.columns] == [column]:
            yield f"no gap above {check.max_gap_seconds}"
        case _:
            if column in [ref.label for _, ref in check.column_refs()]:
                yield check.kind
