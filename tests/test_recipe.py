"""What a recipe is once it exists: frozen, held to both walks, equal to what its document says."""

from __future__ import annotations

import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dq_dagster import RecipeRefused, load_recipe
from dq_dagster.checks.base import Check
from dq_dagster.checks.core import RowExpectation, ValueRange
from dq_dagster.errors import Problem
from dq_dagster.recipe import Column, Quarantine, Recipe, Reference, Table
from tests.recipe_documents import CHECK, RANGE, ROWS, problems_of, recipe_with


def recipe() -> Recipe:
    return Recipe(
        recipe="weather",
        table=Table(name="weather", columns=(Column(name="humid", type="double"),), sensitive=("humid",)),
        references={"planes": Reference(path="planes.parquet")},
        quarantine=Quarantine(to="bad", max_rate_ppm=5),
        checks=(
            ValueRange.model_validate({**RANGE, "min_value": "0.10", "metadata": {"owner": "us", "weight": Decimal("0.10")}}),
            RowExpectation(check_id="rows", enforcement="advisory", min_rows=1),
        ),
    )


DOCUMENT: dict[str, Any] = {
    "recipe": "weather",
    "table": {"name": "weather", "columns": [{"name": "humid", "type": "double"}], "sensitive": ["humid"]},
    "references": {"planes": {"path": "planes.parquet"}},
    "quarantine": {"to": "bad", "max_rate_ppm": 5},
    "checks": [
        {
            "check_id": "c",
            "kind": "value_range",
            "enforcement": "required",
            "metadata": {"owner": "us", "weight": Decimal("0.10")},
            "columns": ["humid"],
            "min_value": "0.10",
            "max_value": 100,
        },
        {"check_id": "rows", "kind": "row_expectation", "enforcement": "advisory", "min_rows": 1},
    ],
}


def test_models_and_mappings_build_the_same_recipe():
    assert recipe() == load_recipe(DOCUMENT) == Recipe(**DOCUMENT)
    assert recipe().document() == DOCUMENT
    assert hash(recipe()) == hash(load_recipe(DOCUMENT))


def test_an_invalid_recipe_cannot_be_built_in_python():
    check = ValueRange(check_id="c", enforcement="required", columns=RANGE["columns"], min_value=5, max_value=1)
    with pytest.raises(RecipeRefused) as refused:
        Recipe(recipe="w", table=Table(name="t"), checks=(check,))
    assert refused.value.problems == (
        Problem(CHECK, "/checks/0/min_value", "check C states min_value 5 above max_value 1; no value lies between them"),
    )


def test_a_copy_is_held_to_the_walks():
    assert recipe().model_copy(update={"recipe": "other"}).recipe == "other"
    with pytest.raises(RecipeRefused):
        recipe().model_copy(update={"recipe": "Other"})


def test_a_recipe_is_frozen():
    with pytest.raises(ValueError, match="frozen"):
        recipe().recipe = "other"  # pyright: ignore[reportAttributeAccessIssue] it is the point


def test_a_kind_that_is_not_registered_is_unknown():
    class Unregistered(Check):
        kind: str = "unregistered"

    assert [(code, pointer) for code, pointer, _ in problems_of(recipe_with(Unregistered(check_id="c", enforcement="required")))] == [
        (CHECK, "/checks/0/kind")
    ]


def test_the_digest_is_of_what_the_recipe_says():
    reordered = {name: DOCUMENT[name] for name in reversed(DOCUMENT)}
    spelled_out = {**DOCUMENT, "description": None, "checks": [{**DOCUMENT["checks"][0], "max_rows": None}, DOCUMENT["checks"][1]]}
    assert {recipe().digest, load_recipe(reordered).digest, load_recipe(spelled_out).digest} == {recipe().digest}
    assert len(recipe().digest) == 64
    assert load_recipe({**DOCUMENT, "description": "prose"}).digest != recipe().digest
    assert load_recipe({**DOCUMENT, "checks": DOCUMENT["checks"][::-1]}).digest != recipe().digest


def test_equal_numbers_have_one_digest():
    def digest(weight: Any) -> str:
        return load_recipe(recipe_with({**ROWS, "metadata": {"weight": weight}})).digest

    assert digest(Decimal("0.1")) == digest(Decimal("0.100")) == digest(0.1)
    assert digest(1) == digest(Decimal("1.0")) == digest(Decimal("10E-1"))
    assert len({digest(1), digest("1"), digest(Decimal("1.5")), digest(Decimal("15"))}) == 4


def test_a_recipe_knows_where_it_was_read(tmp_path: Path):
    path = tmp_path / "weather.yaml"
    path.write_text("recipe: w\ntable: {name: t}\nchecks: []\n", "utf-8")
    read = load_recipe(path)
    assert (read.folder, read.source) == (tmp_path, str(path))
    assert (recipe().folder, recipe().source) == (None, "the recipe")
    assert read == Recipe(recipe="w", table=Table(name="t"), checks=())
    assert pickle.loads(pickle.dumps(read)).folder == tmp_path


def test_a_problem_that_the_stored_table_shows_points_into_the_document(tmp_path: Path):
    path = tmp_path / "weather.yaml"
    path.write_text(
        "recipe: w\ntable: {name: t}\nchecks:\n- {check_id: k, kind: key_uniqueness, enforcement: required, columns: [a]}\n", "utf-8"
    )
    refused = load_recipe(path).refused([Problem("DECLARED_CHECK_COLUMN_UNKNOWN", "/checks/0/columns/0", "no such column")])
    assert refused.problems == (Problem("DECLARED_CHECK_COLUMN_UNKNOWN", "/checks/0/columns/0", "no such column", 4, 72),)
