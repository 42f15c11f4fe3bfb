"""What a recipe tells about its asset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from dq_dagster.definitions.asset_metadata import recipe_asset_metadata
from tests.definitions.warehouse import nulls, recipe, run, unique, within

COLUMNS = [{"name": "id", "type": "bigint", "description": "The order."}, {"name": "v", "type": "double"}, {"name": "w"}, {"name": "free"}]
OWN = recipe(
    unique(),
    nulls("id", 0),
    within("v", "0", "100"),
    nulls("v", 500, "advisory"),
    {"check_id": "v_gaps", "kind": "continuity", "enforcement": "required", "columns": ["v"], "max_gap_seconds": 60},
    {"check_id": "grain_u", "kind": "key_uniqueness", "enforcement": "required"},
    table={"columns": COLUMNS, "grain": ["v", "w"]},
)


def test_the_columns_tab_says_what_the_checks_ask():
    metadata = recipe_asset_metadata(OWN)
    columns = {column.name: column for column in metadata["dagster/column_schema"].columns}
    assert [(column.name, column.type, column.description) for column in columns.values()] == [
        ("id", "bigint", "The order."),
        ("v", "double", None),
        ("w", "", None),
        ("free", "", None),
    ]
    constraints = {name: column.constraints for name, column in columns.items()}
    assert {name: (one.unique, one.nullable, list(one.other)) for name, one in constraints.items()} == {
        "id": (True, False, []),
        "v": (False, True, ["0 … 100", "at most 500 ppm null (advisory)", "no gap above 60", "unique together: v, w"]),
        "w": (False, True, ["unique together: v, w"]),
        "free": (False, True, []),
    }
    assert (metadata["dq_dagster/recipe"], metadata["dq_dagster/recipe_digest"]) == ("orders", OWN.digest)


def test_a_recipe_without_columns_gives_its_digest_alone():
    assert recipe_asset_metadata(recipe(nulls("id", 0))).keys() == {"dq_dagster/recipe", "dq_dagster/recipe_digest"}


def test_an_advisory_check_promises_nothing():
    own = recipe(unique(enforcement="advisory"), nulls("id", 0, "advisory"), table={"columns": [{"name": "id", "type": "bigint"}]})
    (column,) = recipe_asset_metadata(own)["dagster/column_schema"].columns
    assert (column.constraints.unique, column.constraints.nullable) == (False, True)
    assert list(column.constraints.other) == ["unique (advisory)", "not null (advisory)"]


def test_an_asset_carries_the_recipe_to_its_materializations(tmp_path: Path):
    @dg.asset(metadata=recipe_asset_metadata(OWN), code_version=OWN.digest)
    def orders() -> pa.Table:
        return pa.table({"id": [1], "v": [0.5], "w": ["x"], "free": [None]})

    assert orders.get_asset_spec().code_version == OWN.digest
    (event,) = run([orders], tmp_path).get_asset_materialization_events()
    metadata = event.materialization.metadata
    assert metadata["dq_dagster/recipe_digest"].value == OWN.digest
    schema: Any = metadata["dagster/column_schema"].value
    stored = {column.name: column for column in schema.columns}
    assert (stored["id"].description, stored["id"].constraints.unique, stored["w"].type) == ("The order.", True, "varchar")
