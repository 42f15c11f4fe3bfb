"""Cases on Spark: those over the same rows are one recipe there, and every outcome is compared with DuckDB's.

A case costs Spark a third of a second, and a recipe of many checks hardly more than one of few.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from dq_dagster import run
from dq_dagster.errors import RecipeRefused
from dq_dagster.outcomes import Outcome
from dq_dagster.recipe import Recipe
from tests.local_spark import runs_everything_on_spark, spark_engine

if TYPE_CHECKING:
    from tests.checks.cases import Case, Rows

# Where Spark answers otherwise than DuckDB, and why that is right or cannot be helped.
DIFFERENCES = {
    "is_not_in_future: the ends of the type": "DuckDB takes the last instant of its type for infinite and hands over NULL in examples",
}
_MOST_TOGETHER = 100


@dataclass(frozen=True, slots=True)
class Found:
    """What a check found on an engine: its outcome and the rows it condemns, or why the recipe was refused."""

    outcome: Outcome | None
    bad: tuple[int, ...]
    refusal: RecipeRefused | None = None


@dataclass(slots=True)
class Together:
    """The cases of a table of cases, by the rows they are over, and what was found of them so far."""

    cases: Sequence[Case]
    found: dict[tuple[int, str], Found] = field(default_factory=dict)
    groups: dict[tuple[Any, ...], list[Case]] = field(default_factory=dict)
    keys: dict[int, tuple[Any, ...]] = field(default_factory=dict)

    def of(self, case: Case, engine: str) -> Found:
        """What the case finds on the engine, `spark` or `duckdb`."""
        if (id(case), engine) not in self.found:
            members = self._alike(case) if _is_sociable(case) else [case]
            try:
                found = _found(members, engine)
            except RecipeRefused as refusal:
                if len(members) == 1:
                    found = [Found(None, (), refusal)]
                else:
                    members, found = [case], _alone(case, engine)
            self.found.update({(id(member), engine): one for member, one in zip(members, found, strict=True)})
        return self.found[id(case), engine]

    def share(self) -> list[Case]:
        """The cases that run on Spark: all, or one that passes and one that fails of each kind, and those that go with them."""
        if runs_everything_on_spark():
            return list(self.cases)
        chosen: dict[tuple[str, str], Case] = {}
        for case in filter(_is_sociable, self.cases):
            chosen.setdefault((case.kind, case.expected.status), case)
        shared = {id(other) for case in chosen.values() for other in self._alike(case)}
        return [case for case in self.cases if id(case) in shared]

    def _alike(self, case: Case) -> list[Case]:
        """The cases over the same rows, this one among them."""
        if not self.groups:
            for other in filter(_is_sociable, self.cases):
                self.keys[id(other)] = _key(other)
                self.groups.setdefault(self.keys[id(other)], []).append(other)
        alike = self.groups[self.keys[id(case)]]
        place = next(place for place, other in enumerate(alike) if other is case) // _MOST_TOGETHER * _MOST_TOGETHER
        return alike[place : place + _MOST_TOGETHER]


def _alone(case: Case, engine: str) -> list[Found]:
    try:
        return _found([case], engine)
    except RecipeRefused as refusal:
        return [Found(None, (), refusal)]


def _is_sociable(case: Case) -> bool:
    return not case.recipe and case.expected.status != "refused"


def _key(case: Case) -> tuple[Any, ...]:
    references = tuple((name, _content(rows)) for name, rows in case.references.items())
    return (_content(case.rows), references, repr(case.table), case.now)


def _content(rows: Rows) -> bytes:
    """The rows and their types as one text of bytes."""
    from tests.checks.cases import arrow

    table = arrow(rows)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def _found(cases: Sequence[Case], engine: str) -> list[Found]:
    from tests.checks.cases import store

    case = cases[0]
    with tempfile.TemporaryDirectory() as folder:
        declared, references = store(cases, Path(folder))
        stored, out = str(Path(folder) / "rows.parquet"), str(Path(folder) / "annotated.parquet")
        recipe = Recipe.model_validate(declared)
        chosen = spark_engine() if engine == "spark" else engine
        outcomes = run.annotate(recipe, stored, out, references=references, now=case.now, engine=chosen).outcomes
        errors = pq.read_table(out, columns=["_dq_errors"])["_dq_errors"].to_pylist()[: pq.read_metadata(stored).num_rows]
    marks = [{entry["check_id"] for entry in entries} for entries in errors]
    return [
        Found(outcome, tuple(row for row, broken in enumerate(marks) if outcome.check_id in broken)) for outcome in outcomes[: len(cases)]
    ]
