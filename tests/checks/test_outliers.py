"""Kinds that look for what lies far outside the rest."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import dq_dagster as dq
from tests.checks.cases import Case, Expected, failed, passed, refused, run_cases

NAN, INF = float("nan"), float("inf")
INTS, X = {"i": pa.int64()}, {"x": pa.float64()}
DV = {"d": pa.date32(), "v": pa.float64()}
GDV = {"g": pa.string(), "d": pa.date32(), "v": pa.float64()}
CALM = [10, 11, 9, 10, 11, 9, 10, 10]


def days(values: Sequence[float]) -> list[tuple[dt.date, float]]:
    """One value a day, from the first of January on."""
    return [(dt.date(2026, 1, day), value) for day, value in enumerate(values, 1)]


def newest(title: str, values: Sequence[float], expected: Expected, **more: object) -> Case:
    """A case of has_no_aggr_outliers over one value a day."""
    return Case("has_no_aggr_outliers", title, {"column": "v", "time_column": "d", **more}, (DV, days(values)), expected)


CASES = [
    Case("has_no_outliers", "far from the median", {"column": "i"}, (INTS, [1, 2, 3, 4, 5, 6, 7, 8, 9, 30, -20, None]),
         failed(rows=[9, 10], detail="2 of 12 rows have i further than 3.5 median deviations from the median, which is -5.5 .. 15.5",
                observed={"median": 5.0, "mad": 3.0})),
    Case("has_no_outliers", "on the limit", {"column": "x"}, (X, [0, 2, 4, 6, 8, 20, 18.99]), passed()),
    Case("has_no_outliers", "NaN and infinity", {"column": "x"}, (X, [1, 2, 3, NAN, INF]), failed(rows=[3, 4])),
    Case("has_no_outliers", "most are the same", {"column": "x"}, (X, [5, 5, 5, 5.1]), failed(rows=[3])),
    Case("has_no_outliers", "the lower of two in the middle", {"column": "i"}, (INTS, [10, 11, 12, 13, 14, 100]), failed(rows=[5], observed={"median": 12.0, "mad": 1.0})),
    Case("has_no_outliers", "the filter's rows alone", {"column": "x", "filter": "x < 600"}, (X, [10, 11, 12, 13, 500, 1000]), failed(rows=[4])),
    Case("has_no_outliers", "decimals", {"column": "p"}, ({"p": pa.decimal128(5, 2)}, [Decimal(1), Decimal(2), Decimal(3), Decimal(100)]), failed(rows=[3])),
    Case("has_no_outliers", "only NULLs", {"column": "x"}, (X, [None, None]), passed()),
    Case("has_no_outliers", "no rows", {"column": "x"}, (X, []), passed()),
    Case("has_no_outliers", "a column of text", {"column": "s"}, ({"s": pa.string()}, ["1"]), refused("DECLARED_CHECK_INVALID", "name a column of numbers")),
    newest("in the band", [*CALM, 11], passed(detail="not more than 3 standard deviations")),
    newest("a spike in the newest", [*CALM, 50], failed(detail="the average v in the newest day is 50.0, more than 3 standard deviations of")),
    newest("only the newest is judged", [*CALM, 50, 10], passed()),
    newest("on the band's edge", [8, 12, 8, 12, 8, 12, 8, 12, 14], passed(), sigma=2),
    newest("just outside", [8, 12, 8, 12, 8, 12, 8, 12, 14], failed(), sigma=1.99),
    newest("too few before it", [10, 11, 9, 10, 11, 9, 50], passed(detail="6 days stand before the newest, fewer than the 7")),
    newest("warm enough", [10, 11, 9, 10, 11, 9, 50], failed(), warmup_num_intervals=6),
    newest("a short look back", [1000, *CALM[:-1], 50], failed(), lookback_num_intervals=7),
    newest("all alike", [10] * 8 + [50], passed()),
    newest("the filter's rows alone", [*CALM, 50], passed(), filter="v < 50"),
    newest("no rows", [], passed(detail="no newest day to judge")),
    Case("has_no_aggr_outliers", "NULL times are the oldest", {"column": "v", "time_column": "d"}, (DV, [*days([*CALM, 50]), (None, 1000.0)]), passed()),
    Case("has_no_aggr_outliers", "counted by month", {"column": "*", "time_column": "d", "aggr_type": "count", "time_interval": "month", "warmup_num_intervals": 2},
         (DV, [(dt.date(2026, month, day), None) for month, rows in ((1, 1), (2, 2), (3, 9)) for day in range(1, rows + 1)]), failed()),
    Case("has_no_aggr_outliers", "each group by itself", {"column": "v", "time_column": "d", "group_by": ["g"]},
         (GDV, [(g, d, v) for g, last in (("a", 50), (None, 10)) for d, v in days([*CALM, last])]), failed(rows=list(range(9)), detail="per (g)")),
    newest("no width", [], refused("RECIPE_DOCUMENT_INVALID"), sigma=0),
    newest("warmer than the look back", [], refused("DECLARED_CHECK_INVALID", "so many are never looked at"), warmup_num_intervals=15),
    Case("has_no_aggr_outliers", "times in numbers", {"column": "v", "time_column": "v"}, (DV, []), refused("DECLARED_CHECK_INVALID", "dates or timestamps")),
]  # fmt: skip

test_cases = run_cases(CASES)


def test_a_million_values_fit_a_small_memory_limit(tmp_path: Path):
    values = pa.array([*range(1_000_000), 5_000_000], pa.float64())
    pq.write_table(pa.table({"v": values}), tmp_path / "t.parquet", row_group_size=122_880)
    check = {"check_id": "o", "kind": "has_no_outliers", "enforcement": "advisory", "column": "v"}
    recipe = dq.load_recipe({"recipe": "r", "table": {"name": "t"}, "checks": [check]})
    (outcome,) = dq.evaluate(recipe, tmp_path / "t.parquet", limits=dq.Limits(memory_limit="80MiB", threads=2)).outcomes
    assert (outcome.status, outcome.failed_rows, outcome.examples) == ("failed", 1, ({"v": "5000000.0"},))
