"""Examples of what breaks are the same, wherever they are looked for."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster import Recipe, evaluate, illustrating, surveying
from dq_dagster.tables import open_table

ROWS = 3000
CHECKS: list[dict[str, Any]] = [
    {"check_id": "range", "kind": "value_range", "enforcement": "required", "columns": ["n"], "min_value": "0", "max_value": "89"},
    {"check_id": "listed", "kind": "is_in_list", "enforcement": "required", "column": "word", "allowed": ["a", "b"]},
    {"check_id": "shaped", "kind": "regex_match", "enforcement": "required", "column": "word", "regex": "^[ab]$"},
    {"check_id": "some", "kind": "sql_expression", "enforcement": "required", "expression": "n < 80", "filter": "word <> 'c'"},
    {"check_id": "present", "kind": "is_not_null", "enforcement": "required", "column": "n"},
    {"check_id": "once", "kind": "is_unique", "enforcement": "required", "columns": ["n"]},
    {"check_id": "known", "kind": "foreign_key", "enforcement": "required", "columns": ["word"], "ref_columns": ["word"], "reference": "words"},
]  # fmt: skip
LEADS = {
    "text": [f"s{place // 7:04d}" for place in range(ROWS)],
    "number": [place // 7 for place in range(ROWS)],
    "day": [dt.date(2026, 1, 1) + dt.timedelta(place // 7) for place in range(ROWS)],
    "instant": pa.array([dt.datetime(1950, 1, 1) + dt.timedelta(place) for place in range(ROWS)], pa.timestamp("ms", "UTC")),
    "nanoseconds": pa.array(range(ROWS), pa.timestamp("ns")),
    "NULLs first": [None if place < 900 else place for place in range(ROWS)],
    "long text": ["x" * 300 + f"{place // 7:04d}" for place in range(ROWS)],
    "float": [place / 7 for place in range(ROWS)],
    "in no order": random.Random(1).sample(range(ROWS), ROWS),
    "one that is less in every group": [-1 if place % 90 == 0 else place for place in range(ROWS)],
}
CUT = {"text", "number", "day", "instant", "nanoseconds", "NULLs first", "long text"}


def table_of(lead) -> pa.Table:
    rng = random.Random(2)
    numbers = [None if rng.random() < 0.02 else rng.randrange(100) for _ in range(ROWS)]
    return pa.table({"lead": lead, "n": pa.array(numbers, pa.int64()), "word": rng.choices(["a", "b", "c", "d"], [9, 9, 1, 1], k=ROWS)})


@pytest.mark.parametrize("name", LEADS)
def test_examples_among_the_first_rows_are_the_first_of_all(name, tmp_path, monkeypatch):
    pq.write_table(table_of(LEADS[name]), tmp_path / "t.parquet", row_group_size=250)
    recipe = Recipe.model_validate({
        "recipe": "r", "table": {"name": "t", "grain": ["lead"]}, "references": {"words": {"path": "w"}}, "checks": CHECKS,
    })  # fmt: skip
    words = {"words": pa.table({"word": ["a", "b"]})}
    expected = [(one.status, one.detail, one.examples) for one in evaluate(recipe, tmp_path / "t.parquet", references=words).outcomes]
    found: dict[int, object] = {}
    among_first_rows = illustrating._among_first_rows

    def seen(*given, **more):
        told = among_first_rows(*given, **more)
        found.update(told)
        return told

    monkeypatch.setattr(surveying, "WORTH_A_LOOK", 0)
    monkeypatch.setattr(illustrating, "_FIRST_ROWS", 1000)
    monkeypatch.setattr(illustrating, "_among_first_rows", seen)
    told = [(one.status, one.detail, one.examples) for one in evaluate(recipe, tmp_path / "t.parquet", references=words).outcomes]
    assert told == expected
    assert {status for status, *_ in told} == {"failed"}
    ids = {CHECKS[place]["check_id"] for place in found}
    assert ids == ({"range", "listed", "shaped", "some", "present", "known"} if name in CUT else set())


def test_a_column_that_arrow_reads_otherwise_is_read_by_the_engine(tmp_path, monkeypatch):
    stamps = pa.array([dt.datetime(2900, 1, 1)] * ROWS, pa.timestamp("us"))
    table = table_of(LEADS["number"]).append_column("at", stamps)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=250, use_deprecated_int96_timestamps=True)
    past = {"check_id": "past", "kind": "sql_expression", "enforcement": "required", "expression": "at < '2262-01-01'", "columns": ["at"]}
    recipe = Recipe.model_validate({"recipe": "r", "table": {"name": "t", "grain": ["lead"]}, "checks": [past]})
    expected = evaluate(recipe, tmp_path / "t.parquet").outcomes[0]
    monkeypatch.setattr(surveying, "WORTH_A_LOOK", 0)
    monkeypatch.setattr(illustrating, "_FIRST_ROWS", 1000)
    found = evaluate(recipe, tmp_path / "t.parquet").outcomes[0]
    assert (found.status, found.detail, found.examples) == (expected.status, expected.detail, expected.examples)
    assert found.status == "failed"


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_rows_that_come_later_are_no_first_examples_though_their_row_group_comes_first(unit, tmp_path, monkeypatch):
    """Half of each of the first row groups lies years behind; the rows that are bad and come first stand in the fifth."""
    is_late = [place < 1000 and place % 250 >= 125 for place in range(ROWS)]
    days = [dt.datetime(1950, 1, 1) + dt.timedelta(place + 5000 * late) for place, late in enumerate(is_late)]
    numbers = [-1 if late or 1000 <= place < 1100 else 1 for place, late in enumerate(is_late)]
    table = pa.table({"lead": pa.array(days, pa.timestamp(unit)), "n": numbers})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=250)
    positive = {"check_id": "positive", "kind": "sql_expression", "enforcement": "required", "expression": "n > 0"}
    recipe = Recipe.model_validate({"recipe": "r", "table": {"name": "t", "grain": ["lead"]}, "checks": [positive]})
    expected = evaluate(recipe, tmp_path / "t.parquet").outcomes[0]
    monkeypatch.setattr(surveying, "WORTH_A_LOOK", 0)
    monkeypatch.setattr(illustrating, "_FIRST_ROWS", 1000)
    assert evaluate(recipe, tmp_path / "t.parquet").outcomes[0].examples == expected.examples
    assert expected.examples[0]["lead"].startswith("1952-09-27")


def test_the_least_rows_are_row_groups_below_all_others(tmp_path):
    for number, values in enumerate([[5, 6, 7, 8], [1, 2, 9, 9], [None, None, 3, 4]]):
        pq.write_table(pa.table({"x": pa.array(values, pa.int64())}), tmp_path / f"part-{number}.parquet", row_group_size=2)
    table = open_table(tmp_path)
    for at_least, rows, beyond in ((1, 2, 3), (3, 4, 5), (5, 6, 7), (8, 8, 9)):
        cut, least_beyond = table.least_rows("x", at_least=at_least) or (table, None)
        assert (cut.rows, least_beyond) == (rows, beyond)
    assert table.least_rows("x", at_least=9) is None
