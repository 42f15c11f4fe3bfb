"""load_recipe: files, dialects and the table that a caller names; whole refusals with their places; what survives a dump."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dq_dagster import load_recipe
from dq_dagster.documents import DIALECTS
from dq_dagster.documents.dialect import Translation
from dq_dagster.errors import Problem, UnknownDialect
from dq_dagster.recipe import Column, Table
from tests.documents.texts import refusal, written

WEATHER = """\
recipe: weather
description: Hourly observations at the three New York airports.
table:
  name: weather
  columns:
    - {name: origin, type: varchar}
    - {name: time_hour, type: timestamp with time zone}
    - {name: humid, type: double, description: Relative humidity in per cent.}
  grain: [origin, time_hour]
references:
  planes: {path: planes.parquet}
quarantine:
  to: weather_quarantine
  max_rate_ppm: 50000
checks:
  - check_id: grain_unique
    kind: key_uniqueness
    enforcement: required
"""
MINIMAL = "recipe: w\ntable: {name: t}\nchecks: []\n"


def test_the_example_of_the_contract_loads(tmp_path: Path):
    recipe = load_recipe(written(tmp_path, "weather.yaml", WEATHER))
    assert [check.reported_id for check in recipe.checks] == ["GRAIN_UNIQUE"]
    assert recipe.references["planes"].path == "planes.parquet"


@pytest.mark.parametrize("name", ["weather.yaml", "weather.YML", "weather", "weather.recipe"])
def test_yaml_is_read_by_suffix_or_by_content(tmp_path: Path, name: str):
    assert load_recipe(written(tmp_path, name, MINIMAL)).recipe == "w"


@pytest.mark.parametrize("name", ["weather.json", "weather.yaml", "weather"])
def test_json_is_read_by_suffix_or_by_content(tmp_path: Path, name: str):
    text = '\ufeff{"recipe": "w",\n "table": {"name": "t"}, "checks": []}'
    assert load_recipe(str(written(tmp_path, name, text))).recipe == "w"


def test_a_whole_refusal_names_the_file_and_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written(
        tmp_path,
        "weather.yaml",
        WEATHER.replace("key_uniqueness", "key_uniqness") + "    enforcement: advisory\n  - check_id: No\n    colums: []\n",
    )
    monkeypatch.chdir(tmp_path)
    assert str(refusal("weather.yaml")).splitlines() == [
        "weather.yaml has 5 problems",
        "  RECIPE_DOCUMENT_UNREADABLE at /checks/0/enforcement (line 19, column 5): "
        "the key 'enforcement' is written twice, first in line 18, column 5; keep one of the two",
        "  RECIPE_DOCUMENT_INVALID at /checks/1 (line 20, column 5): check number 2 states no kind; add it",
        "  RECIPE_DOCUMENT_INVALID at /checks/1/check_id (line 20, column 5): "
        "check number 2 states 'No' as check_id, where lower-case letters, digits and _ are expected, "
        "a letter first and at most 128 in all; did you mean 'no'?",
        "  DECLARED_CHECK_INVALID at /checks/0/kind (line 17, column 5): "
        "check GRAIN_UNIQUE has the unknown kind 'key_uniqness'; did you mean 'key_uniqueness'?",
        "  DECLARED_CHECK_INVALID at /checks/1 (line 20, column 5): "
        "check number 2 states no enforcement; there is no default, so state required, advisory or quarantine",
    ]


def test_a_fraction_in_json_is_refused_with_how_to_write_it(tmp_path: Path):
    check = '{"check_id": "c", "kind": "value_range", "enforcement": "required", "columns": ["a"],\n  "min_value": 0.10, "max_value": 1}'
    path = written(tmp_path, "w.json", f'{{"recipe": "w", "table": {{"name": "t"}}, "checks": [\n  {check}]}}')
    told = "check C states the fraction 0.10 as min_value, which takes none: write it as the text '0.10'"
    assert refusal(path).problems == (Problem("RECIPE_DOCUMENT_UNREADABLE", "/checks/0/min_value", told, 3, 3),)


@pytest.mark.parametrize(
    ("name", "content", "message", "place"),
    [
        (
            "w.yaml",
            b"a: [",
            "the document is not YAML: while parsing a flow node, expected the node content, but found '<stream end>'",
            (1, 5),
        ),
        (
            "w.json",
            b'{"a": }',
            "the document is not JSON: '}' begins no value; write text in double quotes, a number, a list or a mapping",
            (1, 7),
        ),
        ("w.yaml", b"a: 1\nb: \xc3\xa9\xff\n", "the file is not UTF-8; save it as UTF-8", (2, 5)),
        ("w.yaml", b"#" * (1024 * 1024 + 1), "the file holds more than 1048576 bytes; split the recipe", (None, None)),
    ],
)
def test_what_is_no_document_is_unreadable(tmp_path: Path, name: str, content: bytes, message: str, place: tuple[int | None, int | None]):
    assert refusal(written(tmp_path, name, content)).problems == (Problem("RECIPE_DOCUMENT_UNREADABLE", "", message, *place),)


def test_a_file_that_is_not_there_is_unreadable(tmp_path: Path):
    assert refusal(tmp_path / "w.yaml").problems == (Problem("RECIPE_DOCUMENT_UNREADABLE", "", "there is no such file; check the path"),)
    assert refusal(tmp_path).problems == (Problem("RECIPE_DOCUMENT_UNREADABLE", "", "this is a directory; name the recipe's file in it"),)
    assert refusal("a\0b").problems[0].code == "RECIPE_DOCUMENT_UNREADABLE"


def test_an_empty_file_is_no_recipe(tmp_path: Path):
    [problem] = refusal(written(tmp_path, "w.yaml", "# nothing\n")).problems
    assert problem.message == "the document is empty, where a mapping with the members recipe, table and checks is expected"


def test_words_that_yaml_1_1_takes_for_truths_stay_words(tmp_path: Path):
    text = MINIMAL.replace("[]", "[{check_id: no, kind: row_expectation, enforcement: required, min_rows: 1, description: on}]")
    [check] = load_recipe(written(tmp_path, "w.yaml", text)).checks
    assert (check.check_id, check.description) == ("no", "on")


def test_an_unknown_dialect_is_told():
    with pytest.raises(UnknownDialect, match="there is no dialect 'dqy'; the dialects are native, "):
        load_recipe({}, dialect="dqy")


def test_a_caller_may_name_or_declare_the_table_that_the_document_does_not():
    document = {"recipe": "w", "checks": []}
    assert load_recipe(document, table="t").table == Table(name="t")
    declared = Table(name="t", columns=(Column(name="a"),), sensitive=("a",))
    assert load_recipe(document, table=declared).table == declared
    told = "the recipe is for the table 'u', and the table 't' was asked for; leave one of the two out"
    assert refusal({**document, "table": {"name": "u"}}, table="t").problems == (
        Problem("RECIPE_DOCUMENT_INCOHERENT", "/table/name", told),
    )


def test_problems_of_a_dialect_point_into_the_users_own_document(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def upside_down(document: Any, *, table: dict[str, Any] | None) -> Translation:
        rules = document["rules"]
        checks = [
            {"check_id": rule["name"], "kind": rule["is"], "enforcement": "required", "columns": [rule["of"]]} for rule in reversed(rules)
        ]
        pointers = {f"/checks/{place}": f"/rules/{len(rules) - 1 - place}" for place in range(len(rules))}
        for place, rule in list(pointers.items()):
            pointers |= {f"{place}/check_id": f"{rule}/name", f"{place}/kind": f"{rule}/is", f"{place}/columns/0": f"{rule}/of"}
        problem = Problem("DECLARED_CHECK_INVALID", "/rules/0/weight", "a weight cannot be carried over")
        return Translation({"recipe": "w", "table": table, "checks": checks}, pointers, (problem,))

    monkeypatch.setitem(DIALECTS, "upside_down", upside_down)
    text = "rules:\n- {name: A b, is: key_uniqueness, of: x, weight: 2}\n- name: c\n  is: null_ceiling\n  of: y\n"
    told = refusal(written(tmp_path, "w.yaml", text), dialect="upside_down", table=Table(name="t", columns=(Column(name="x"),))).problems
    assert [(problem.code, problem.pointer, problem.line, problem.column) for problem in told] == [
        ("RECIPE_DOCUMENT_INVALID", "/rules/0/name", 2, 4),
        ("RECIPE_DOCUMENT_INCOHERENT", "/rules/1/of", 5, 3),
        ("DECLARED_CHECK_INVALID", "/rules/0/weight", 2, 42),
        ("DECLARED_CHECK_INVALID", "/rules/1", 3, 3),
    ]


# One check written for many columns


def each(**members: Any) -> dict[str, Any]:
    check = {
        "check_id": "present",
        "kind": "is_not_null",
        "enforcement": "required",
        "columns_each": ["a", "B b", {"expression": "lower(a)"}],
    }
    return {"recipe": "w", "table": {"name": "t"}, "checks": [{**check, **members}]}


def test_one_written_check_stands_for_one_a_column():
    recipe = load_recipe(each(filter="c > 1"))
    assert [check.check_id for check in recipe.checks] == ["present_a", "present_b_b", "present_lower_a"]
    assert [ref.label for check in recipe.checks for pointer, ref in check.column_refs() if pointer == "/column"] == [
        "a",
        "B b",
        "lower(a)",
    ]
    assert load_recipe(recipe.document()) == recipe
    assert [check.check_id for check in load_recipe(each(kind="is_unique")).checks] == ["present_a", "present_b_b", "present_lower_a"]


def test_a_problem_of_one_column_is_told_at_that_column():
    document = each(columns_each=["a", "hmid", 5])
    document["table"]["columns"] = [{"name": "a"}, {"name": "humid"}]
    assert [(problem.pointer, problem.message) for problem in refusal(document).problems] == [
        ("/checks/0/columns_each/1", "the table declares no column 'hmid'; did you mean 'humid'?"),
        (
            "/checks/0/columns_each/2",
            "check PRESENT states 5 as column, where text or {expression: …} is expected; write it in quotes: '5'",
        ),
    ]


def test_a_problem_of_all_columns_is_told_once():
    document = each(filter="c >")
    del document["checks"][0]["enforcement"]
    told = refusal(document).problems
    assert [(problem.code, problem.pointer) for problem in told] == [
        ("DECLARED_CHECK_INVALID", "/checks/0"),
        ("DECLARED_CHECK_INVALID", "/checks/0/filter"),
    ]


def test_ids_that_collide_are_refused():
    told = "the check 'present' gets the id 'present_a_b' for the column 'a_b', which another check has"
    assert refusal(each(columns_each=["a b", "a_b"])).problems == (
        Problem("RECIPE_DOCUMENT_INCOHERENT", "/checks/0/columns_each/1", f"{told}; write this column as a check of its own"),
        Problem("DECLARED_CHECK_DUPLICATE", "/checks/0/columns_each/1", f"{told}; results under one id could not be told apart"),
    )


@pytest.mark.parametrize(
    ("members", "pointer", "message"),
    [
        (
            {"columns_each": []},
            "/checks/0/columns_each",
            "states a list of 0 as columns_each, where a list of columns is expected; name one or more",
        ),
        (
            {"columns_each": "a"},
            "/checks/0/columns_each",
            "states 'a' as columns_each, where a list of columns is expected; name one or more",
        ),
        ({"column": "a"}, "/checks/0/columns_each", "states both column and columns_each; keep one of the two"),
    ],
)
def test_columns_each_names_columns(members: dict[str, Any], pointer: str, message: str):
    assert refusal(each(**members)).problems == (Problem("RECIPE_DOCUMENT_INVALID", pointer, f"the check 'present' {message}"),)


def test_a_core_kind_knows_no_columns_each():
    [problem] = refusal(each(kind="null_ceiling", max_null_ppm=0, columns=["a"])).problems
    assert problem.message == "check PRESENT has the unknown member 'columns_each'; did you mean 'columns'?"
