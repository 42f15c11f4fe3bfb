"""A few odd rows for the example of a kind, so that its page can say what the kind really says about them."""

from __future__ import annotations

import datetime as dt
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import pyarrow as pa
import yaml
from sqlglot import exp, parse_one

from dq_dagster.checks.base import Check, refs_in
from dq_dagster.errors import RecipeRefused
from dq_dagster.outcomes import Outcome
from dq_dagster.recipe import Recipe
from dq_dagster.run import evaluate

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.timezone.utc)
NUMBERS = pa.array([12.5, -1000.0, 12.5, 1_000_000.0, None])
TEXTS = pa.array(["EWR", "", "EWR", "no such value", None])
TIMES = pa.array([NOW - dt.timedelta(hours=back) for back in (1, 2, -48, 9600)] + [None], pa.timestamp("us", "UTC"))
LISTS = pa.array([["a"], [], ["a"], [None], None], pa.list_(pa.string()))
FLAGS = pa.array([True, False, True, False, None])
SORTS = (NUMBERS, TEXTS, TIMES, LISTS, FLAGS)

_TIME_NAME = re.compile(r"_at$|_time$|^(?:ordered|delivered|closed)$")
_NUMBER_NAME = re.compile(r"amount|price|temp|fare|humid|_m$")
_TEXT_NAME = re.compile(r"station|carrier|code|region|^name$|_id$")
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Sample:
    """The rows of an example and of the references it looks into, and what its check finds in them."""

    table: pa.Table
    references: Mapping[str, pa.Table]
    outcome: Outcome


def example_text(kind: type[Check]) -> str:
    """The example of a kind's docstring, as it is written there: one mapping in flow YAML."""
    _, found, text = (inspect.getdoc(kind) or "").partition("Example:\n")
    if not found:
        raise ValueError(f"the docstring of {kind.__name__} has no `Example:`; end it with one")
    return textwrap.dedent(text).strip()


def example_recipe(kind: type[Check]) -> Recipe:
    """A recipe of the example alone, every reference declared. Raises RecipeRefused where the example is no check."""
    members = yaml.safe_load(example_text(kind))
    names = [members["reference"]] if "reference" in members else []
    references = {name: {"path": f"{name}.parquet"} for name in names}
    return Recipe.model_validate({"recipe": "example", "table": {"name": "rows"}, "references": references, "checks": [members]})


@cache
def sample_of(kind: type[Check]) -> Sample:
    """The example over odd rows of the first types that it can be asked about.

    Raises RecipeRefused, or ValueError with the last outcome's detail, where there are none.
    """
    recipe = example_recipe(kind)
    (check,) = recipe.checks
    here, there = list(dict.fromkeys(_columns_of(check))), [ref.label for _, _, ref in check.reference_refs()]
    names = list(dict.fromkeys([*here, *there])) or ["id"]
    last: Exception | None = None
    for sorts in _tries(names, check):
        table = _rows(dict(zip(names, sorts, strict=True)))
        references = {name: table.slice(0, 2) for name in check.references_used()}
        try:
            (outcome,) = evaluate(recipe, table, references=references, now=NOW).outcomes
        except RecipeRefused as refusal:
            last = refusal
            continue
        if outcome.status != "not_evaluated":
            return Sample(table, references, outcome)
        last = ValueError(f"the example of {kind.__name__} is {outcome.detail}")
    assert last is not None
    raise last


def _columns_of(check: Check) -> Iterator[str]:
    for _, ref in check.column_refs():
        yield from ref.reads()
    for name in ("names", "types"):
        yield from getattr(check, name, ())
    for _, ref in refs_in(getattr(check, "merge_columns", ()), ""):
        yield from ref.reads()
    if isinstance(query := getattr(check, "query", None), str):
        yield from (column.name for column in parse_one(_PLACEHOLDER.sub(r"\1", query), dialect="duckdb").find_all(exp.Column))


def _tries(names: Sequence[str], check: Check) -> Iterator[tuple[pa.Array, ...]]:
    """Types for the columns: the likeliest by their names and the check's bounds, then one for all, then any."""
    members = check.model_dump(
        exclude={"check_id", "kind", "enforcement", "columns", "column", "group_by", "reference"}, exclude_defaults=True
    )
    has_number = any(isinstance(value, (int, float)) and not isinstance(value, bool) for value in _leaves(members.values()))
    yield tuple(_likely(name, has_number=has_number) for name in names)
    yield from ((sort,) * len(names) for sort in SORTS)
    yield from itertools.product(SORTS, repeat=min(len(names), 3))


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, dict):
            yield from _leaves(cast("dict[str, Any]", value).values())
        elif isinstance(value, (list, tuple)):
            yield from _leaves(cast("Sequence[Any]", value))
        else:
            yield float(value) if type(value).__name__ == "Decimal" else value


def _likely(name: str, *, has_number: bool) -> pa.Array:
    if _TIME_NAME.search(name):
        return TIMES
    if name == "tags":
        return LISTS
    if _NUMBER_NAME.search(name):
        return NUMBERS
    return NUMBERS if has_number and not _TEXT_NAME.search(name) else TEXTS


def _rows(columns: Mapping[str, pa.Array]) -> pa.Table:
    """Five rows, in which no two columns go through their values in step, and the first of them once more."""
    count = len(NUMBERS)
    turned = {
        name: sort.take(pa.array([(place + row) % count for row in range(count)])) for place, (name, sort) in enumerate(columns.items())
    }
    table = pa.table(turned)
    return pa.concat_tables([table, table.slice(0, 1)])
