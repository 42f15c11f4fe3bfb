"""Every kind is whole: a docstring with an example that runs, and cases that show what it does with what comes."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tests.checks
from dq_dagster import checks
from dq_dagster.checks import kinds
from dq_dagster.checks.base import Check
from dq_dagster.cli.kinds_pages import ABOUT_EMPTY, ABOUT_NULL, example_recipe, families, paragraphs, sample_of, sentences
from tests.checks.cases import Case, arrow, run_case

CHECKOUT = Path(__file__).parents[2]
OWN = {word: kind for members in families().values() for word, kind in members}
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(params=OWN)
def word(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_kind_promises_something_in_one_paragraph(word):
    promise, *rest = paragraphs(OWN[word])
    assert promise.endswith(".")
    assert rest, "say what a NULL and an empty table do"


def test_a_kind_says_what_a_null_and_an_empty_table_do(word):
    assert sentences(OWN[word], ABOUT_NULL), "a sentence with the word NULL"
    assert sentences(OWN[word], ABOUT_EMPTY), "a sentence about an empty table"


def test_the_example_of_a_kind_is_a_check_of_that_kind_and_can_be_evaluated(word):
    (check,) = example_recipe(OWN[word]).checks
    assert type(check) is OWN[word]
    assert sample_of(OWN[word]).outcome.status in ("passed", "failed")


def cases() -> Iterator[Case]:
    """Every row of the tables that `run_cases` made a test of."""
    for path in sorted(Path(tests.checks.__path__[0]).glob("test_*.py")):
        if "run_cases(" not in path.read_text("utf-8"):
            continue  # a module without a table may define things once a process, and pytest has imported it already
        for member in vars(importlib.import_module(f"tests.checks.{path.stem}")).values():
            for mark in getattr(member, "pytestmark", ()):
                if mark.name == "parametrize" and mark.args[0] == ("case", "engine"):
                    yield from (run.values[0] for run in mark.args[1] if run.values[1] == "duckdb")


@cache
def shown() -> dict[str, set[str]]:
    """What the cases show of each kind."""
    found: dict[str, set[str]] = {}
    for case in cases():
        found.setdefault(case.kind, set()).update(what_it_shows(case))
    return found


def what_it_shows(case: Case) -> Iterator[str]:
    yield case.expected.status
    if case.expected.status not in ("passed", "failed"):
        return
    table = arrow(case.rows)
    if table.num_rows == 0:
        yield "no rows"
    if any(column.null_count for column in table.columns):
        yield "NULL"
    if "filter" in case.check:
        yield "filter"


def wanted(kind: type[Check]) -> set[str]:
    return {"passed", "failed", "no rows", "NULL", *({"filter"} & set(kind.model_fields))}


def test_the_cases_show_a_kind_pass_and_fail_and_what_it_does_with_nulls_no_rows_and_a_filter(word):
    assert wanted(OWN[word]) - shown().get(word, set()) == set(), f"add such a case of {word} to its family's table in tests/checks"


def test_every_case_is_of_a_kind_that_there_is():
    assert set(shown()) - set(kinds()) == set()


@pytest.fixture
def worked_example(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What the two blocks of CONTRIBUTING.md define; their kind is brought as another package would bring it."""
    names: dict[str, Any] = {"__name__": "worked_example"}
    for block in PYTHON_BLOCK.findall((CHECKOUT / "CONTRIBUTING.md").read_text("utf-8")):
        exec(compile(block, "CONTRIBUTING.md", "exec", dont_inherit=True), names)

    class Brought:
        def load(self) -> Any:
            return names["IsMultipleOf"]

    monkeypatch.setattr(checks, "entry_points", lambda group: [Brought()])
    kinds.cache_clear()
    yield names
    monkeypatch.undo()
    kinds.cache_clear()


def test_the_worked_example_of_contributing_is_a_kind_and_its_cases_hold(worked_example):
    kind, examples = worked_example["IsMultipleOf"], worked_example["CASES"]
    for case in examples:
        run_case(case)
    assert wanted(kind) <= {what for case in examples for what in what_it_shows(case)}
    assert sentences(kind, ABOUT_NULL)
    assert sentences(kind, ABOUT_EMPTY)
    assert type(example_recipe(kind).checks[0]) is kind
