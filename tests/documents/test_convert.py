"""Conversions: the recipe reads back as the same one, and what it does without is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from dq_dagster import RecipeRefused, load_recipe
from dq_dagster.documents.convert import convert

DQX = """\
- name: id is there!
  message_expr: "concat('no id in ', a)"
  owner: me
  check: {function: is_not_null, arguments: {column: id}}
- check:
    function: foreign_key
    arguments: {columns: [a], ref_columns: [b], ref_table: main.sales.people}
- criticality: warn
  filter: s rlike '^x'
  check: {function: is_in_range, arguments: {column: x, min_limit: 0.1, max_limit: "2"}}
"""


def test_a_dqx_document_becomes_a_recipe_of_ours(tmp_path: Path) -> None:
    """Exact numbers and all."""
    path, converted = tmp_path / "checks.yml", tmp_path / "recipe.yaml"
    path.write_text(DQX)
    conversion = convert(path, dialect="dqx", table="orders")
    assert conversion.text == (
        "recipe: dqx_checks\n"
        "table:\n"
        "  name: orders\n"
        "references:\n"
        "  main.sales.people:\n"
        "    asset: main/sales/people\n"
        "checks:\n"
        "- check_id: id_is_there_\n"
        "  kind: is_not_null\n"
        "  enforcement: required\n"
        "  metadata:\n"
        "    name: id is there!\n"
        "  column: id\n"
        "- check_id: a_not_exists_in_ref\n"
        "  kind: foreign_key\n"
        "  enforcement: required\n"
        "  columns:\n"
        "  - a\n"
        "  ref_columns:\n"
        "  - b\n"
        "  reference: main.sales.people\n"
        "- check_id: x_not_in_range\n"
        "  kind: is_in_range\n"
        "  enforcement: advisory\n"
        "  filter: REGEXP_MATCHES(CAST(s AS TEXT), '^x')\n"
        "  column: x\n"
        "  min_limit: 0.1\n"
        "  max_limit: 2\n"
    )
    converted.write_text(conversion.text)
    assert load_recipe(converted) == conversion.recipe
    assert conversion.notes() == (
        "NOT_CARRIED_OVER at /0/message_expr (line 2, column 3): check 'id is there!': a recipe's details are written by the kind, "
        "so message_expr is left out",
        "NOT_CARRIED_OVER at /0/owner (line 3, column 3): check 'id is there!': 'owner' means nothing to DQX either, and is left out",
        "NOT_CARRIED_OVER at /1/check/arguments/ref_table (line 7, column 49): the reference 'main.sales.people' is declared as the "
        "Dagster asset 'main/sales/people'; state its path where it is none",
    )


def test_a_sparkdq_document_becomes_a_recipe_of_ours(tmp_path: Path) -> None:
    """What SparkDQ ignores is told."""
    document = [{"check": "null-check", "check-id": "there", "columns": ["a", "b"], "colour": "red"}]
    conversion = convert(document, dialect="sparkdq")
    path = tmp_path / "recipe.yaml"
    path.write_text(conversion.text)
    assert load_recipe(path) == conversion.recipe
    assert conversion.notes() == (
        "NOT_CARRIED_OVER at /0/colour: check 'there': 'colour' means nothing to SparkDQ either, and is left out",
    )


def test_an_ubunye_document_becomes_a_recipe_of_ours(tmp_path: Path) -> None:
    """One output of it."""
    rules = [{"between": {"column": "q", "min": 1}, "severity": "quarantine"}]
    document = {"expectations": {"clean": {"rules": rules, "quarantine": "bad", "max_quarantine_rate": 0.0000005}, "other": {"rules": []}}}
    conversion = convert(document, dialect="ubunye", table="clean")
    path = tmp_path / "recipe.yaml"
    path.write_text(conversion.text)
    assert load_recipe(path) == conversion.recipe
    assert conversion.notes() == (
        "NOT_CARRIED_OVER at /expectations/clean/max_quarantine_rate: output 'clean': a recipe states the rate in whole parts per "
        "million, so 5E-7 becomes 0 ppm",
    )


def test_a_document_that_would_be_refused_is_not_converted() -> None:
    """With all its problems."""
    with pytest.raises(RecipeRefused):
        convert([{"check": {"function": "is_not_nul", "arguments": {"column": "a"}}}], dialect="dqx")
