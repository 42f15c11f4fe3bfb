"""What compares with what, and how: one kind of each direction over pairs of types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as D
from typing import Any

import pyarrow as pa
import pytest

from tests.checks.cases import Case, failed, passed, refused, run_case

NAN, INF = float("nan"), float("inf")
US, UTC, NS = pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("ns")
WIDE = pa.decimal256(76, 4)
NOON = dt.datetime(2024, 2, 29, 12)
DAY = dt.date(2024, 2, 29)
OTHER = {"column": "y"}

# Type of the column, a value of it, what it is compared with, and how it compares: below, equal, above or unknown.
LITERALS: list[tuple[pa.DataType, Any, Any, str]] = [
    (pa.int64(), 2, 2, "equal"),
    (pa.int64(), 2, "2", "equal"),
    (pa.int64(), 2**63 - 1, D("9223372036854775806.5"), "above"),
    (pa.int64(), 2**63 - 1, 10**40, "below"),
    (pa.int64(), 0, D("1e-60"), "below"),
    (pa.int64(), 0, D("-1e-60"), "above"),
    (pa.int8(), 127, 300, "below"),
    (pa.uint64(), 0, -1, "above"),
    (pa.uint64(), 2**64 - 1, 2**64 - 1, "equal"),
    (pa.decimal128(5, 2), D("1.10"), D("1.1"), "equal"),
    (pa.decimal128(5, 2), D("1.10"), D("1.1001"), "below"),
    (pa.decimal128(5, 2), D("999.99"), 1000, "below"),
    (pa.decimal128(38, 10), D("9" * 28), D("1.12345678901234567890"), "above"),
    (pa.decimal128(38, 10), D("-1.5"), D("-1.50000000000000000001"), "above"),
    (pa.decimal128(38, 0), D("9" * 38), 10**38, "below"),
    (pa.decimal128(38, 0), D("-" + "9" * 38), -(10**38), "above"),
    (WIDE, D("1.5"), D("1.5"), "equal"),
    (WIDE, D("1.5"), D("1.50001"), "below"),
    (WIDE, D("-1" + "0" * 60), D("-1.00001"), "below"),
    (pa.float64(), 0.1, D("0.1"), "equal"),
    (pa.float64(), 0.1 + 0.2, D("0.3"), "above"),
    (pa.float64(), NAN, 10**400, "above"),
    (pa.float64(), NAN, "NaN", "equal"),
    (pa.float64(), -0.0, 0, "equal"),
    (pa.float64(), INF, 10**300, "above"),
    (pa.float32(), 0.1, D("0.1"), "above"),
    (pa.float32(), 0.5, D("0.5"), "equal"),
    (pa.string(), "010", 10, "equal"),
    (pa.string(), " 10 ", 10, "equal"),
    (pa.string(), "9007199254740993", 9007199254740992, "above"),
    (pa.string(), "1e1", D("10.5"), "below"),
    (pa.string(), "abc", 10, "unknown"),
    (pa.string(), "1_0", 10, "unknown"),
    (pa.string(), "10", "010", "above"),
    (pa.string(), "M", "m", "below"),
    (pa.string(), "2024-02-29 12:00:00", NOON, "equal"),
    (pa.string(), "2024-02-29 14:00:00+02:00", NOON, "equal"),
    (pa.string(), "2024-02-29", DAY, "equal"),
    (pa.string(), "2023-02-29", DAY, "unknown"),
    (pa.string(), "true", True, "equal"),
    (pa.string(), "perhaps", True, "unknown"),
    (pa.bool_(), False, True, "below"),
    (pa.bool_(), True, "true", "equal"),
    (pa.binary(), b"a", "a", "equal"),
    (pa.date32(), DAY, DAY, "equal"),
    (pa.date32(), DAY, "2024-02-29", "equal"),
    (pa.date32(), DAY, NOON, "below"),
    (pa.date32(), DAY, "2024-02-29T00:00:00Z", "equal"),
    (US, NOON, "2024-02-29T13:00:00+01:00", "equal"),
    (US, NOON, DAY, "above"),
    (UTC, NOON, NOON, "equal"),
    (UTC, NOON, dt.date(9999, 12, 31), "below"),
    (NS, NOON, NOON, "equal"),
    (NS, NOON, dt.date(9999, 12, 31), "below"),
    (pa.timestamp("ns", "UTC"), NOON, DAY, "above"),
    (pa.timestamp("ms"), NOON, NOON, "equal"),
    (pa.time64("us"), dt.time(12, 30), "12:30:00", "equal"),
    (pa.int64(), 2, {"expression": "null"}, "unknown"),
    (pa.date32(), DAY, {"expression": "null"}, "unknown"),
]  # fmt: skip

# The same for two columns.
COLUMNS: list[tuple[pa.DataType, Any, pa.DataType, Any, str]] = [
    (pa.int8(), -1, pa.uint64(), 2**64 - 1, "below"),
    (pa.int64(), 2**53 + 1, pa.float64(), float(2**53), "equal"),
    (pa.int32(), 2**24 + 1, pa.float32(), float(2**24), "above"),
    (pa.float32(), 0.1, pa.float64(), 0.1, "above"),
    (pa.float64(), NAN, pa.int64(), 2**62, "above"),
    (pa.int64(), 2, pa.decimal128(3, 1), D("1.9"), "above"),
    (pa.decimal128(5, 2), D("1.10"), pa.decimal128(10, 4), D("1.1000"), "equal"),
    (pa.decimal128(38, 18), D("-1.5"), pa.decimal128(38, 6), D("-1.500001"), "above"),
    (pa.decimal128(38, 18), D("1.5"), pa.decimal128(38, 6), D("9" * 32), "below"),
    (pa.decimal128(38, 37), D("1.5"), pa.int64(), 10, "below"),
    (pa.decimal128(3, 1), D("0.1"), pa.float64(), 0.1, "equal"),
    (WIDE, D("1.5"), WIDE, D("1.4"), "above"),
    (pa.string(), "010", pa.int64(), 10, "equal"),
    (pa.string(), "0.1", pa.float64(), 0.1, "equal"),
    (pa.string(), "x", pa.float64(), 0.1, "unknown"),
    (pa.int64(), 10, pa.string(), "9", "above"),
    (pa.string(), "true", pa.bool_(), True, "equal"),
    (pa.string(), "2024-02-29", US, NOON, "below"),
    (pa.string(), "9999-12-31", NS, NOON, "above"),
    (pa.string(), "2024-03-01", pa.date32(), DAY, "above"),
    (pa.date32(), DAY, UTC, NOON, "below"),
    (pa.date32(), DAY, NS, dt.datetime(2024, 2, 29), "equal"),
    (US, NOON, UTC, NOON, "equal"),
    (NS, NOON, US, dt.datetime(9999, 12, 31), "below"),
    (pa.list_(pa.int64()), [1, 2], pa.list_(pa.int64()), [1, 3], "below"),
    (pa.null(), None, pa.int64(), 1, "unknown"),
]  # fmt: skip

MISFITS: list[tuple[pa.DataType, Any, str]] = [
    (pa.int64(), "abc", "compares values of the type int64 with the text 'abc', which cannot be read as such a value; state one that can"),
    (pa.int64(), True, "compares values of the type int64 with True, which is of another type; state one of that type"),
    (pa.int64(), "NaN", "which cannot be read as such a value"),
    (pa.date32(), 5, "compares values of the type date32[day] with 5, which is of another type"),
    (US, "2023-02-29", "which cannot be read as such a value"),
    (pa.list_(pa.int64()), 5, "compares values of the type list"),
    (pa.int64(), {"expression": "date '2024-01-01'"}, "compares values of the type int64 with values of the type date32[day]; cast one"),
]  # fmt: skip


def assert_compares(rows: Any, bound: Any, how: str) -> None:
    """The three comparisons agree on where the value of the only row lies."""
    bad = failed(rows=[0])
    run_case(Case("is_not_less_than", how, {"column": "x", "limit": bound}, rows, bad if how == "below" else passed()))
    run_case(Case("is_not_greater_than", how, {"column": "x", "limit": bound}, rows, bad if how == "above" else passed()))
    run_case(Case("is_not_equal_to", how, {"column": "x", "value": bound}, rows, bad if how == "equal" else passed()))


@pytest.mark.parametrize(("kind", "value", "literal", "how"), LITERALS, ids=str)
def test_a_column_compares_with_a_literal(kind: pa.DataType, value: Any, literal: Any, how: str):
    assert_compares(({"x": kind}, [(value,)]), literal, how)


@pytest.mark.parametrize(("kind", "value", "other_kind", "other", "how"), COLUMNS, ids=str)
def test_a_column_compares_with_another(kind: pa.DataType, value: Any, other_kind: pa.DataType, other: Any, how: str):
    assert_compares(({"x": kind, "y": other_kind}, [(value, other)]), OTHER, how)


@pytest.mark.parametrize(("kind", "bound", "message"), MISFITS, ids=str)
def test_what_cannot_be_compared_is_refused(kind: pa.DataType, bound: Any, message: str):
    run_case(Case("is_equal_to", "refused", {"column": "x", "value": bound}, ({"x": kind}, []), refused("DECLARED_CHECK_INVALID", message)))
