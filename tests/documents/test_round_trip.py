"""A recipe survives dump and load, and fits the schema for editors."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dq_dagster import Recipe, load_recipe
from dq_dagster.checks import kinds
from dq_dagster.documents import dump_recipe
from dq_dagster.documents.native import json_schema
from dq_dagster.plain import json_text
from tests.documents.texts import VALID, dates, leaves, names, texts, written

metadata = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6)
bounds = st.tuples(st.integers(-5, 5), st.integers(5, 9)).flatmap(lambda ends: st.sampled_from([ends, (f"{ends[0] - 1}.50", str(ends[1]))]))
columns = st.one_of(names, st.just({"expression": "lower(\"a b\") || 'x'"}))


@st.composite
def checks(draw: st.DrawFn, check_id: str) -> dict[str, Any]:
    shared: dict[str, Any] = {"check_id": check_id, "enforcement": draw(st.sampled_from(["required", "advisory"]))}
    if draw(st.booleans()):
        shared["description"] = draw(texts)
    if draw(st.booleans()):
        shared["metadata"] = draw(st.dictionaries(texts, metadata, max_size=2))
    match draw(st.integers(0, 4)):
        case 0:
            own: dict[str, Any] = {"kind": "key_uniqueness", "columns": draw(st.lists(columns, min_size=1, max_size=16))}
        case 1:
            own = {"kind": "null_ceiling", "columns": [draw(columns)], "max_null_ppm": draw(st.integers(0, 1_000_000))}
        case 2:
            low, high = draw(bounds)
            own = {"kind": "value_range", "columns": [draw(columns)], "min_value": low, "max_value": high}
        case 3:
            own = {"kind": "continuity", "columns": [draw(columns)], "max_gap_seconds": draw(st.integers(0))}
        case _:
            own = {"kind": "row_expectation", "min_rows": draw(st.integers(0, 10_000_000))}
    return {**shared, **own}


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    table: dict[str, Any] = {"name": draw(names), "grain": draw(st.lists(names, max_size=3, unique=True))}
    if draw(st.booleans()):
        table["sensitive"] = draw(st.lists(names, max_size=2))
    document = {"recipe": "w", "table": table, "checks": [draw(checks(f"c{place}")) for place in range(draw(st.integers(0, 3)))]}
    if draw(st.booleans()):
        document["references"] = draw(st.dictionaries(names, st.sampled_from([{"path": "a.parquet"}, {"asset": "a/b"}]), max_size=2))
    if draw(st.booleans()):
        document["quarantine"] = {"to": draw(names), "max_rate_ppm": draw(st.integers(0, 1_000_000))}
    return document


@given(documents())
@settings(deadline=None, max_examples=150)
def test_a_recipe_survives_dump_and_load(tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]):
    recipe = load_recipe(document)
    folder = tmp_path_factory.getbasetemp()
    again = [
        load_recipe(recipe.document()),
        Recipe(**{name: getattr(recipe, name) for name in Recipe.model_fields}),
        load_recipe(written(folder, "dumped.yaml", dump_recipe(recipe))),
        load_recipe(written(folder, "dumped.json", dump_recipe(recipe, form="json"))),
    ]
    assert again == [recipe] * 4
    assert {other.digest for other in again} == {recipe.digest}


@given(st.dictionaries(texts, dates, max_size=3))
@settings(deadline=None, max_examples=50)
def test_dates_survive_yaml(tmp_path_factory: pytest.TempPathFactory, dated: dict[str, Any]):
    check = {"check_id": "c", "kind": "row_expectation", "enforcement": "required", "min_rows": 1, "metadata": dated}
    recipe = load_recipe({"recipe": "w", "table": {"name": "t"}, "checks": [check]})
    assert load_recipe(written(tmp_path_factory.getbasetemp(), "dated.yaml", dump_recipe(recipe))) == recipe


SCHEMA = json_schema()


def test_the_schema_is_one_and_accepts_what_the_walks_accept():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(VALID, schema)


@given(documents())
@settings(deadline=None, max_examples=30)
def test_every_recipe_fits_the_schema(document: dict[str, Any]):
    accepted = jsonschema.Draft202012Validator(SCHEMA)
    assert accepted.is_valid(json.loads(json_text(load_recipe(document).document())))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("tabel",), {}),
        (("table", "colums"), []),
        (("checks", 0, "colums"), []),
        (("checks", 0, "kind"), "key_uniqness"),
        (("checks", 0, "enforcement"), "fatal"),
        (("checks", 2, "min_value"), 0.5),
        (("checks", 1, "max_null_ppm"), "5"),
        (("checks", 4, "column"), "a"),
    ],
)
def test_the_schema_refuses_what_an_editor_should_mark(place: tuple[Any, ...], value: Any):
    document = json.loads(json.dumps(VALID))
    holder = document
    for token in place[:-1]:
        holder = holder[token]
    holder[place[-1]] = value
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(document)


def test_the_schema_says_what_every_kind_promises():
    definitions = json_schema()["$defs"]
    assert all(definitions[f"kind_{word}"]["description"] for word in kinds())
    assert definitions["kind_key_uniqueness"]["description"] == "The tuple of the named columns is distinct across every stored row."
    assert "Example" not in json.dumps(definitions)
