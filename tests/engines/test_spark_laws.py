"""The laws of random tables on Spark: it finds what plain Python finds, and says what DuckDB says."""

from __future__ import annotations

from itertools import chain
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dq_dagster import evaluate
from tests.local_spark import difference, spark_engine
from tests.test_laws import checks, expected, recipe_of, store, tables

pytestmark = pytest.mark.spark

# An evaluation costs Spark a third of a second, whose number of checks hardly matters.
LAW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
MANY = st.lists(checks(), min_size=3, max_size=3).map(
    lambda lists: [{**check, "check_id": f"c{place}"} for place, check in enumerate(chain.from_iterable(lists))]
)


@LAW
@given(tables(), MANY)
def test_spark_finds_what_plain_python_finds_and_says_what_duckdb_says(made, declared):
    parts, values = made
    with TemporaryDirectory() as folder:
        place = store(parts, folder)
        there = evaluate(recipe_of(declared), place, engine=spark_engine()).outcomes
        here = evaluate(recipe_of(declared), place).outcomes
    assert [difference(one, other) for one, other in zip(there, here, strict=True)] == [None] * len(here)
    assert [(outcome.status, outcome.failed_rows) for outcome in there] == [expected(check, values) for check in declared]
