"""Whatever a document of a dialect holds, it is read, or refused with problems that point into it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dq_dagster import RecipeRefused, load_recipe
from dq_dagster.documents.dqx_functions import FUNCTIONS
from dq_dagster.documents.sparkdq import CHECKS
from dq_dagster.errors import Problem
from dq_dagster.plain import find

VALID: dict[str, Any] = {
    "dqx": [
        {
            "name": "a",
            "criticality": "warn",
            "filter": "a > 1",
            "user_metadata": {"k": "v"},
            "check": {"function": "is_not_null", "arguments": {"column": "a"}},
        },
        {"check": {"function": "is_in_range", "for_each_column": ["a", "b"], "arguments": {"min_limit": 1, "max_limit": "b + 1"}}},
        {"check": {"function": "foreign_key", "arguments": {"columns": ["a"], "ref_columns": ["b"], "ref_df_name": "r", "negate": True}}},
        {"check": {"function": "is_in_list", "arguments": {"column": "a", "allowed": ["'x'", 1, "2024-01-01", {"__decimal__": "1.1"}]}}},
        {
            "check": {
                "function": "sql_query",
                "arguments": {"query": "SELECT a, 1 > 0 AS condition FROM {{ input_view }}", "merge_columns": ["a"]},
            }
        },
    ],
    "sparkdq": [
        {"check": "null-check", "check-id": "n", "columns": ["a"], "severity": "warning"},
        {"check": "numeric-between-check", "check-id": "b", "columns": ["a"], "min-value": 1, "max-value": 2, "inclusive": [True, False]},
        {"check": "is-contained-in-check", "check-id": "c", "allowed-values": {"a": [1], "b": ["x"]}},
        {"check": "schema-check", "check-id": "s", "expected-schema": {"a": "int"}, "strict": False},
        {"check": "foreign-key-check", "check-id": "f", "column": "a", "reference-dataset": "r", "reference-column": "b"},
        {"check": "column-less-than-check", "check-id": "l", "column": "a", "limit": "b + 1"},
    ],
    "ubunye": {
        "expectations": {
            "clean": {
                "quarantine": "bad",
                "max_quarantine_rate": 0.5,
                "rules": [
                    {"not_null": "a", "severity": "quarantine", "name": "x"},
                    {"unique": ["a", "b"]},
                    {"between": {"column": "a", "min": 1}},
                    {"one_of": {"column": "a", "values": [1]}},
                    {"matches": {"column": "a", "pattern": "^x"}},
                    {"columns": {"a": ["int64"]}, "extra": "forbid"},
                    {"row_count": {"min": 1}},
                ],
                "reconcile": [{"input": "raw", "rows": {"max_lost": "1%"}, "sum": {"column": "a", "tolerance": 1}}],
            }
        }
    },
}
WORDS = [
    *list(FUNCTIONS)[:20],
    *list(CHECKS)[:12],
    "a",
    "lower(",
    "x; drop table t",
    "*",
    "",
    "{{ x }}",
    "`",
    "'",
    "a.b",
    "1%",
    "(?=x)",
    "quarantine",
]
NAMES = [
    "column",
    "columns",
    "function",
    "arguments",
    "check",
    "check-id",
    "rules",
    "unique",
    "between",
    "name",
    "reconcile",
    "for_each_column",
    "query",
    "filter",
]
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.dates() | st.sampled_from(WORDS) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=5,
)


def places(document: Any, pointer: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    members: Any = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else []
    return [pointer] * bool(pointer) + [place for name, member in members for place in places(member, (*pointer, name))]


@st.composite
def broken(draw: st.DrawFn, dialect: str) -> Any:
    document: Any = json.loads(json.dumps(VALID[dialect]))
    for _ in range(draw(st.integers(1, 3))):
        found = places(document)
        if not found:
            return draw(junk)
        *way, last = draw(st.sampled_from(found))
        holder = document
        for token in way:
            holder = holder[token]
        if draw(st.booleans()):
            holder[last] = draw(junk)
        else:
            del holder[last]
    return document


def problems_of(document: Any, dialect: str) -> Sequence[Problem]:
    try:
        load_recipe(document, dialect=dialect)
    except RecipeRefused as refusal:
        return refusal.problems
    return ()


@pytest.mark.parametrize("dialect", list(VALID))
def test_the_valid_one_is_read(dialect: str) -> None:
    """Which the others are made of."""
    load_recipe(VALID[dialect], dialect=dialect)


@pytest.mark.parametrize("dialect", list(VALID))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_broken_one_is_refused_at_places_that_it_has(dialect: str, data: st.DataObject) -> None:
    """Or read, where the fault is none."""
    document = data.draw(broken(dialect) | junk)
    written = json.loads(json.dumps(document, default=str))
    assert [problem for problem in problems_of(document, dialect) if not find(written, problem.pointer)[0]] == []
