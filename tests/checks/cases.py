"""The runner of the tables of cases: what a check finds in a few rows, in its outcome and in the rows it condemns.

CASES = [
    Case("is_not_null", "a NULL breaks it", {"column": "a"}, ({"a": pa.int64()}, [(1,), (None,)]), failed(rows=[1])),
]
test_cases = run_cases(CASES)
"""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster import run, surveying
from dq_dagster.checks import distinctness, survey
from dq_dagster.errors import RecipeRefused
from dq_dagster.outcomes import Outcome
from dq_dagster.recipe import Recipe
from tests.checks.on_spark import DIFFERENCES, Together
from tests.local_spark import difference

NOW = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.timezone.utc)
Rows = pa.Table | tuple[Any, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a case must find. `rows` are the places of the bad rows, `detail` and `message` are part of the sentence."""

    status: str
    rows: tuple[int, ...] | None = None
    detail: str | None = None
    observed: Mapping[str, Any] | None = None
    code: str | None = None
    message: str | None = None


def passed(*, detail: str | None = None, observed: Mapping[str, Any] | None = None) -> Expected:
    """The check passes and condemns no row."""
    return Expected("passed", (), detail, observed)


def failed(*, rows: Sequence[int] | None = None, detail: str | None = None, observed: Mapping[str, Any] | None = None) -> Expected:
    """The check fails because of these rows, which are condemned; None where it condemns all."""
    return Expected("failed", None if rows is None else tuple(rows), detail, observed)


def tolerated(*, rows: Sequence[int], detail: str | None = None) -> Expected:
    """The check passes although these rows are bad."""
    return Expected("passed", tuple(rows), detail)


def refused(code: str, message: str | None = None) -> Expected:
    """The recipe, or the table's columns against it, is refused with that code."""
    return Expected("refused", code=code, message=message)


def not_evaluated(detail: str | None = None) -> Expected:
    """No engine can answer it, and the detail says why."""
    return Expected("not_evaluated", detail=detail)


@dataclass(frozen=True, slots=True)
class Case:
    """One check over a few rows. `check` are its members without check_id, kind and enforcement.

    `rows` is a Table, or (schema, rows): the schema a mapping of names to Arrow types or a pyarrow schema; a row a tuple,
    or the bare value where there is one column. `recipe` and `table` are further members of the recipe and its table.
    The annotated rows are not compared where it is not `is_numbered`.
    """

    kind: str
    title: str
    check: Mapping[str, Any]
    rows: Rows
    expected: Expected
    references: Mapping[str, Rows] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)
    table: Mapping[str, Any] = field(default_factory=dict)
    now: dt.datetime = NOW
    is_numbered: bool = True

    def __str__(self) -> str:
        return f"{self.kind}: {self.title}"


def run_cases(cases: Sequence[Case]) -> Callable[[Case, str], None]:
    """A test that runs every case on DuckDB, and a share of them on Spark; assign it to a name that opens with `test_`.

    The share holds what a kind finds good and what it finds bad, and what is over the same rows; all cases run where
    DQ_DAGSTER_ON_SPARK is `all`.
    """
    together = Together(cases)
    runs = [pytest.param(case, "duckdb", id=f"{case}-duckdb") for case in cases]
    runs += [pytest.param(case, "spark", id=f"{case}-spark", marks=pytest.mark.spark) for case in together.share()]

    @pytest.mark.parametrize(("case", "engine"), runs)
    def test(case: Case, engine: str) -> None:
        """The case finds what it must."""
        if engine == "duckdb":
            run_case(case)
        else:
            run_case_on_spark(case, together)

    return test


def run_case_on_spark(case: Case, together: Together) -> None:
    """Asserts that the case finds on Spark what it must, and says what it says on DuckDB."""
    found = together.of(case, "spark")
    if found.refusal is not None:
        _compare_refusal(case.expected, found.refusal)
        return
    assert found.outcome is not None
    _compare(case.expected, found.outcome)
    if case.is_numbered and found.outcome.status != "not_evaluated":
        _compare_rows(case.expected, found.outcome, list(found.bad), arrow(case.rows).num_rows)
    there = together.of(case, "duckdb").outcome
    said = None if there is None else difference(found.outcome, there)
    if str(case) in DIFFERENCES:
        assert said is not None, f"{case} is the same on both engines by now: take it off the list"
    else:
        assert said is None


def arrow(rows: Rows) -> pa.Table:
    """The rows as a table."""
    if isinstance(rows, pa.Table):
        return rows
    declared, values = rows
    schema = (
        declared
        if isinstance(declared, pa.Schema)
        else pa.schema(list(declared.items()) if isinstance(declared, Mapping) else list(declared))
    )
    whole = [row if isinstance(row, tuple) else (row,) for row in values]
    columns = [pa.array([row[place] for row in whole], kind.type) for place, kind in enumerate(schema)]
    return pa.Table.from_arrays(columns, schema=schema)


def store(cases: Sequence[Case], folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Stores the rows that the cases share as rows.parquet, and the references: the recipe of all the checks, and the references' paths."""
    case = cases[0]
    checks = [
        {"check_id": f"check_{place}" if place else "the_check", "kind": one.kind, "enforcement": "required", **one.check}
        for place, one in enumerate(cases)
    ]
    pq.write_table(arrow(case.rows), folder / "rows.parquet")
    references = {name: str(folder / f"{name}.parquet") for name in case.references}
    for name, path in references.items():
        pq.write_table(arrow(case.references[name]), path)
    declared = {"recipe": "case", "table": {"name": "rows", **case.table}, "checks": checks, **case.recipe}
    declared.setdefault("references", {name: {"path": path} for name, path in references.items()})
    return declared, references


def run_case(case: Case) -> None:
    """Asserts that the case finds what it must: in the outcome, and in the annotated rows."""
    table = arrow(case.rows)
    with tempfile.TemporaryDirectory() as folder:
        declared, references = store([case], Path(folder))
        stored, out = str(Path(folder) / "rows.parquet"), str(Path(folder) / "annotated.parquet")
        try:
            recipe = Recipe.model_validate(declared)
            (outcome,) = run.annotate(recipe, stored, out, references=references, now=case.now).outcomes
        except RecipeRefused as refusal:
            _compare_refusal(case.expected, refusal)
            return
        errors = pq.read_table(out, columns=["_dq_errors"])["_dq_errors"].to_pylist()
        with _as_if_large():
            (chosen,) = run.evaluate(recipe, stored, references=references, now=case.now).outcomes
        assert _told(chosen) == _told(outcome)
    _compare(case.expected, outcome)
    if case.is_numbered and outcome.status != "not_evaluated":
        _compare_rows(case.expected, outcome, [place for place, found in enumerate(errors[: table.num_rows]) if found], table.num_rows)


@contextmanager
def _as_if_large() -> Generator[None, None, None]:
    """Chooses the ways of a large table for every table: values that come twice repeat, few rows may break an order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surveying, "WORTH_A_LOOK", 0)
        patch.setattr(survey, "_REPEATS_AT_LEAST", 1)
        patch.setattr(distinctness, "MOST_TURNS", 1_000)
        yield


def _told(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.status, outcome.detail, outcome.failed_rows, outcome.observed, outcome.examples


def _compare_refusal(expected: Expected, refusal: RecipeRefused) -> None:
    found = [(problem.code, problem.message) for problem in refusal.problems]
    assert expected.code in [code for code, _ in found], found
    assert expected.message is None or any(expected.message in message for _, message in found), found


def _compare(expected: Expected, outcome: Outcome) -> None:
    assert outcome.status == expected.status, outcome.detail
    assert expected.detail is None or expected.detail in outcome.detail, outcome.detail
    for name, figure in (expected.observed or {}).items():
        assert outcome.observed[name] == figure, outcome.observed


def _compare_rows(expected: Expected, outcome: Outcome, bad: list[int], rows: int) -> None:
    if expected.rows is not None:
        assert bad == sorted(expected.rows)
        assert outcome.failed_rows in (None, len(bad))
    elif outcome.failed_rows is None:
        assert bad == list(range(rows))
