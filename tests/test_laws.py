"""Laws: what plain Python finds on random tables is what the engine finds, together or one by one."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections import Counter
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dq_dagster import evaluate
from dq_dagster.recipe import Recipe

LAW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

SMALL = st.integers(-4, 4)
FLOATS = st.sampled_from([0.1, 0.2, 0.3, 0.1 + 0.2, -0.0, 0.0, 1.0, 2.5, -3.0, math.nan, math.inf, -math.inf])
CELLS = {
    "i": (st.sampled_from([pa.int8(), pa.int32(), pa.int64(), pa.uint8()]), SMALL.map(abs)),
    "f": (st.just(pa.float64()), FLOATS),
    "d": (st.sampled_from([pa.decimal128(10, 2), pa.decimal128(12, 4), pa.decimal256(45, 3)]), st.integers(-300, 300).map(lambda n: Decimal(n) / 100)),
    "t": (st.sampled_from([pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC")]),
          st.integers(-5000, 5000).map(lambda n: dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=n))),
    "s": (st.sampled_from([pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]), st.sampled_from(["", "a", "A", "é", "b|c"])),
}  # fmt: skip


@st.composite
def tables(draw) -> tuple[list[pa.Table], dict[str, list[Any]]]:
    """Up to three parts, which may type a column differently, and the values of all rows by column."""
    parts: list[pa.Table] = []
    values: dict[str, list[Any]] = {name: [] for name in CELLS}
    for _ in range(draw(st.integers(1, 3))):
        rows = draw(st.integers(0, 6))
        columns = {}
        for name, (kinds, cells) in CELLS.items():
            column = draw(st.lists(st.none() | cells, min_size=rows, max_size=rows))
            columns[name] = pa.array(column, draw(kinds))
            values[name] += column
        parts.append(pa.table(columns))
    return parts, values


BOUNDS = st.sampled_from(["-3", "-0.3", "0", "0.1", "0.3", "1", "2.5", "4"])


@st.composite
def checks(draw) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 6))):
        column = draw(st.sampled_from(sorted(CELLS)))
        kind = draw(st.sampled_from(["key_uniqueness", "null_ceiling", "value_range", "continuity", "row_expectation"]))
        members: dict[str, Any] = {"columns": [column]}
        if kind == "key_uniqueness":
            members = {"columns": draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=3, unique=True))}
        elif kind == "null_ceiling":
            members |= {"max_null_ppm": draw(st.sampled_from([0, 1, 200_000, 333_333, 500_000, 1_000_000]))}
        elif kind == "value_range":
            low, high = sorted([draw(BOUNDS), draw(BOUNDS)], key=Decimal)
            members |= {"min_value": low, "max_value": high}
        elif kind == "continuity":
            members |= {"columns": [draw(st.sampled_from(["i", "f", "t"]))], "max_gap_seconds": draw(st.integers(0, 5))}
        else:
            members = {"min_rows": draw(st.integers(0, 8))}
        made.append({"check_id": f"c{number}", "kind": kind, "enforcement": "required", **members})
    return made


def identity(value: Any) -> Any:
    """What makes two values of a key one: NaN is NaN, -0.0 is 0.0, NULL is NULL."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def exact(value: Any) -> Decimal:
    """A float means its shortest text."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def expected(check: dict[str, Any], values: dict[str, list[Any]]) -> tuple[str, int | None]:
    """Status and failed rows, by plain Python."""
    rows = len(values["i"])
    columns = check.get("columns", [])
    match check["kind"]:
        case "key_uniqueness":
            keys = Counter(tuple(identity(values[name][row]) for name in columns) for row in range(rows))
            repeats = sum(count - 1 for count in keys.values())
            return ("failed" if repeats else "passed"), repeats
        case "null_ceiling":
            nulls = sum(value is None for value in values[columns[0]])
            fails = nulls * 1_000_000 > check["max_null_ppm"] * rows
            return ("failed" if fails else "passed"), None
        case "value_range":
            held = [value for value in values[columns[0]] if value is not None]
            if columns[0] in "st":
                return ("failed", len(held)) if held else ("passed", 0)
            low, high = Decimal(check["min_value"]), Decimal(check["max_value"])
            outside = sum(1 for value in held if (isinstance(value, float) and math.isnan(value)) or not low <= exact(value) <= high)
            return ("failed" if outside else "passed"), outside
        case "continuity":
            held = {identity(value) for value in values[columns[0]] if value is not None}
            if "nan" in held:
                return "failed", None
            if columns[0] == "t":
                held = {(value - dt.datetime(1970, 1, 1)) / dt.timedelta(microseconds=1) for value in held}
            placed = sorted(exact(value) / (1_000_000 if columns[0] == "t" else 1) for value in held)
            fails = any(after - before > check["max_gap_seconds"] for before, after in itertools.pairwise(placed))
            return ("failed" if fails else "passed"), None
        case _:
            return ("passed" if rows >= check["min_rows"] else "failed"), None


def recipe_of(declared: list[dict[str, Any]]) -> Recipe:
    return Recipe.model_validate({"recipe": "law", "table": {"name": "t"}, "checks": declared})


def store(parts: list[pa.Table], folder: str) -> str:
    for number, part in enumerate(parts):
        pq.write_table(part, Path(folder) / f"part-{number}.parquet", row_group_size=2)
    return folder


@LAW
@given(tables(), checks())
def test_the_engine_finds_what_plain_python_finds(made, declared):
    parts, values = made
    with TemporaryDirectory() as folder:
        outcomes = evaluate(recipe_of(declared), store(parts, folder)).outcomes
    found = [(outcome.status, outcome.failed_rows) for outcome in outcomes]
    assert found == [expected(check, values) for check in declared], [outcome.detail for outcome in outcomes]


@LAW
@given(tables(), checks())
def test_together_is_as_one_by_one(made, declared):
    parts, _ = made
    with TemporaryDirectory() as folder:
        place = store(parts, folder)
        together = evaluate(recipe_of(declared), place).outcomes
        alone = [evaluate(recipe_of([check]), place).outcomes[0] for check in declared]
        only = evaluate(recipe_of(declared), place, only=[declared[-1]["check_id"]]).outcomes
    said = [(outcome.status, outcome.detail, outcome.failed_rows, outcome.observed, outcome.examples) for outcome in together]
    assert said == [(outcome.status, outcome.detail, outcome.failed_rows, outcome.observed, outcome.examples) for outcome in alone]
    assert [outcome.detail for outcome in only] == [together[-1].detail]
