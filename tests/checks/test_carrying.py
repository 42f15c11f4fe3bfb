"""Kinds that compare the table with the one it was made from."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from tests.checks.cases import Case, failed, passed, refused, run_cases

ONE = {"a": pa.int64()}
MONEY = {"m": pa.decimal128(10, 2)}
RAW = {"raw": (ONE, list(range(100)))}
SUMS = {"raw": (MONEY, [Decimal("10.00"), None, Decimal("0.50")])}
KEPT = {"reference": "raw"}
SUM = {"column": "m", "reference": "raw", "ref_column": "m"}

CASES = [
    Case(
        "rows_carry_over",
        "none lost",
        {**KEPT, "max_lost": 0, "max_gained": 0},
        (ONE, list(range(100))),
        passed(detail="0 lost, 0 gained"),
        references=RAW,
    ),
    Case(
        "rows_carry_over",
        "one too many lost",
        {**KEPT, "max_lost": 1},
        (ONE, list(range(98))),
        failed(detail="2 lost, 0 gained, where at most 1 may be lost"),
        references=RAW,
    ),
    Case("rows_carry_over", "a share that is lost", {**KEPT, "max_lost_ppm": 20_000}, (ONE, list(range(98))), passed(), references=RAW),
    Case(
        "rows_carry_over",
        "above the share",
        {**KEPT, "max_lost_ppm": 19_999},
        (ONE, list(range(98))),
        failed(detail="at most 19999 ppm may be lost"),
        references=RAW,
    ),
    Case(
        "rows_carry_over", "gained", {**KEPT, "max_gained": 0}, (ONE, list(range(101))), failed(detail="0 lost, 1 gained"), references=RAW
    ),
    Case("rows_carry_over", "what is not stated is not limited", {**KEPT, "max_gained": 0}, (ONE, [None]), passed(), references=RAW),
    Case("rows_carry_over", "no rows", {**KEPT, "max_lost": 99}, (ONE, []), failed(), references=RAW),
    Case("rows_carry_over", "no limit", KEPT, (ONE, []), refused("DECLARED_CHECK_INVALID", "states no limit"), references=RAW),
    Case(
        "rows_carry_over",
        "two limits of one",
        {**KEPT, "max_lost": 1, "max_lost_ppm": 1},
        (ONE, []),
        refused("DECLARED_CHECK_INVALID"),
        references=RAW,
    ),
    Case(
        "rows_carry_over",
        "it reads no filter",
        {**KEPT, "max_lost": 0, "filter": "a > 1"},
        (ONE, []),
        refused("RECIPE_DOCUMENT_INVALID"),
        references=RAW,
    ),
    Case(
        "sum_carries_over",
        "equal, NULL counts for nothing",
        SUM,
        (MONEY, [Decimal("10.50"), None]),
        passed(detail="the sum of m is 10.5, that of m in raw is 10.5"),
        references=SUMS,
    ),
    Case(
        "sum_carries_over",
        "a cent apart",
        SUM,
        (MONEY, [Decimal("10.51")]),
        failed(detail="0.01 apart, where at most 0 is allowed"),
        references=SUMS,
    ),
    Case(
        "sum_carries_over",
        "within the tolerance",
        {**SUM, "tolerance": Decimal("0.01")},
        (MONEY, [Decimal("10.51")]),
        passed(),
        references=SUMS,
    ),
    Case("sum_carries_over", "a share of the sum", {**SUM, "tolerance_ppm": 1000}, (MONEY, [Decimal("10.51")]), passed(), references=SUMS),
    Case("sum_carries_over", "no rows sum up to 0", SUM, (MONEY, []), failed(detail="the sum of m is 0"), references=SUMS),
    Case(
        "sum_carries_over",
        "NaN counts for nothing",
        {"column": "x", "reference": "raw", "ref_column": "m"},
        ({"x": pa.float64()}, [10.5, float("nan")]),
        passed(),
        references=SUMS,
    ),
    Case(
        "sum_carries_over",
        "text has no sum",
        {"column": "s", "reference": "raw", "ref_column": "m"},
        ({"s": pa.string()}, ["1"]),
        refused("DECLARED_CHECK_INVALID", "name a column of numbers"),
        references=SUMS,
    ),
    Case(
        "sum_carries_over",
        "sensitive values stay hidden",
        SUM,
        (MONEY, [Decimal("10.51")]),
        failed(detail="the sum of m is ‹redacted›"),
        references=SUMS,
        table={"sensitive": ["m"]},
    ),
    Case(
        "sum_carries_over",
        "it reads no filter",
        {**SUM, "filter": "m > 1"},
        (MONEY, []),
        refused("RECIPE_DOCUMENT_INVALID"),
        references=SUMS,
    ),
]

test_cases = run_cases(CASES)
