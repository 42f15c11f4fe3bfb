"""The five core kinds: their sentences word for word, and every Arrow type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as D

import pyarrow as pa
import pytest

from dq_dagster import evaluate
from dq_dagster.recipe import Recipe
from tests.checks.cases import Case, failed, not_evaluated, passed, refused, run_cases

NAN, INF = float("nan"), float("inf")
UTC = dt.timezone.utc


def at(hour: int, minute: int = 51, day: int = 1) -> dt.datetime:
    return dt.datetime(2026, 3, day, hour, minute, tzinfo=UTC)


TIME = pa.timestamp("us", "UTC")
KEYS = {"station": pa.string(), "observed_at": TIME}
NUMBERS = {"v": pa.float64()}
RANGE = {"columns": ["v"], "min_value": "0", "max_value": "100"}

CASES = [
    # key_uniqueness
    Case(
        "key_uniqueness", "distinct keys pass", {"columns": ["station", "observed_at"]}, (KEYS, [("NYC", at(0)), ("NYC", at(1)), ("BOS", at(0))]),
        passed(detail="key (station, observed_at) is distinct across all 3 rows, as expected", observed={"repeats": 0}),
    ),
    Case(
        "key_uniqueness", "repeats are the rows beyond the first, and the smallest key is shown", {"columns": ["station", "observed_at"]},
        (KEYS, [("NYC", at(0)), ("NYC", at(0)), ("NYC", at(0)), ("BOS", at(1)), ("BOS", at(1))]),
        failed(
            detail="key (station, observed_at) repeats on 3 of 5 rows, first at ('BOS', '2026-03-01T01:51:00Z'), where 0 repeats were expected",
            observed={"repeats": 3, "repeated_keys": 2, "rows_in_repeated_keys": 5},
        ),
    ),
    Case("key_uniqueness", "NULLs are equal, and NULL comes last", {"columns": ["a", "b"]},
         ({"a": pa.string(), "b": pa.int64()}, [(None, None), (None, None), ("z", None), ("z", None)]),
         failed(detail="repeats on 2 of 4 rows, first at ('z', None)")),
    Case("key_uniqueness", "NaN equals NaN, 0.0 equals -0.0", {"columns": ["v"]}, (NUMBERS, [NAN, -NAN, 0.0, -0.0, 1.0]),
         failed(detail="repeats on 2 of 5 rows, first at (0.0,)")),
    Case("key_uniqueness", "no rows", {"columns": ["v"]}, (NUMBERS, []), passed(detail="distinct across all 0 rows")),
    Case("key_uniqueness", "the grain is the key", {}, ({"a": pa.int64()}, [1, 1]), failed(detail="key (a) repeats on 1 of 2 rows, first at (1,)"),
         table={"grain": ["a"]}),
    Case("key_uniqueness", "no grain to fall back to", {}, ({"a": pa.int64()}, [1]), refused("DECLARED_CHECK_INVALID", "declares no grain")),
    Case("key_uniqueness", "a grain that the table does not hold", {}, ({"a": pa.int64()}, [1]), refused("DECLARED_CHECK_COLUMN_UNKNOWN"),
         table={"grain": ["b"]}),
    Case("key_uniqueness", "an expression is a key", {"columns": [{"expression": "lower(a)"}]}, ({"a": pa.string()}, ["X", "x", "y"]),
         failed(detail="key (lower(a)) repeats on 1 of 3 rows, first at ('x',)")),
    Case("key_uniqueness", "a member of a struct is a key", {"columns": ["s.a"]}, ({"s": pa.struct([("a", pa.int64())])}, [({"a": 1},), ({"a": 1},)]),
         failed(detail="key (s.a) repeats on 1 of 2 rows, first at (1,)")),
    Case("key_uniqueness", "a sensitive value is not shown", {"columns": ["card"]}, ({"card": pa.string()}, ["4000", "4000"]),
         failed(detail="first at (‹redacted›,)"), table={"sensitive": ["card"]}),
    # null_ceiling
    Case("null_ceiling", "at the ceiling", {"columns": ["v"], "max_null_ppm": 200000}, (NUMBERS, [None, NAN, 1.0, 2.0, 3.0]),
         passed(detail="column 'v' is 200000 ppm null (1 of 5 rows), at or below the declared ceiling of 200000 ppm", observed={"null_ppm": 200000, "nulls": 1})),
    Case("null_ceiling", "ppm is rounded up", {"columns": ["v"], "max_null_ppm": 333333}, (NUMBERS, [None, 1.0, 2.0]),
         failed(detail="column 'v' is 333334 ppm null (1 of 3 rows), above the declared ceiling of 333333 ppm")),
    Case("null_ceiling", "no rows are 0 ppm", {"columns": ["v"], "max_null_ppm": 0}, (NUMBERS, []), passed(detail="is 0 ppm null (0 of 0 rows)")),
    Case("null_ceiling", "three columns", {"columns": ["a", "b", "c"], "max_null_ppm": 0}, ({"a": pa.int64()}, [1]),
         refused("DECLARED_CHECK_INVALID", "check THE_CHECK reads exactly one column and names 3")),
    Case("null_ceiling", "no ceiling", {"columns": ["v"]}, (NUMBERS, []), refused("DECLARED_CHECK_INVALID", "states no max_null_ppm")),
    Case("null_ceiling", "a NULL struct is NULL, its members are not asked", {"columns": ["s"], "max_null_ppm": 0},
         ({"s": pa.struct([("a", pa.int64())])}, [({"a": None},), (None,)]), failed(detail="(1 of 2 rows)")),
    Case("null_ceiling", "a member is NULL where its struct is", {"columns": ["s.a"], "max_null_ppm": 0},
         ({"s": pa.struct([("a", pa.int64())])}, [({"a": None},), (None,), ({"a": 1},)]), failed(detail="column 's.a' is 666667 ppm null (2 of 3 rows)")),
    # value_range
    Case("value_range", "both ends are inside", RANGE, (NUMBERS, [0.0, 100.0, None]),
         passed(detail="column 'v' lies within [0, 100] across 2 non-null values of 3 rows", observed={"min": 0.0, "max": 100.0})),
    Case("value_range", "above", RANGE, (NUMBERS, [104.5, 1.0]), failed(detail="column 'v' holds '104.5', above the declared maximum of 100", rows=[0])),
    Case("value_range", "the minimum is told first", RANGE, (NUMBERS, [104.5, -1.5, NAN]),
         failed(detail="column 'v' holds '-1.5', below the declared minimum of 0", rows=[0, 1, 2])),
    Case("value_range", "NaN alone", RANGE, (NUMBERS, [NAN, 1.0]), failed(detail="column 'v' holds 'NaN', which no range contains", rows=[0])),
    Case("value_range", "infinity", RANGE, (NUMBERS, [INF, 1.0]), failed(detail="column 'v' holds 'inf', above the declared maximum of 100", rows=[0])),
    Case("value_range", "no rows", RANGE, (NUMBERS, []), passed(detail="across 0 non-null values of 0 rows")),
    Case("value_range", "text is not orderable", RANGE, ({"v": pa.string()}, ["5", None]),
         failed(detail="column 'v' holds values whose type is not orderable against the declared range [0, 100]")),
    Case("value_range", "text without a value passes", RANGE, ({"v": pa.string()}, [None]), passed(detail="across 0 non-null values of 1 rows")),
    Case("value_range", "one bound", {"columns": ["relh"], "min_value": "0"}, ({"relh": pa.float64()}, []),
         refused("DECLARED_CHECK_INVALID", "check THE_CHECK bounds the values of column relh and states no max_value; an unstated bound is not an open one")),
    Case("value_range", "an expression is judged in its own type", {"columns": [{"expression": "v * 2"}], "min_value": "0", "max_value": "10"},
         ({"v": pa.int64()}, [5, 6]), failed(detail="column 'v * 2' holds '12', above the declared maximum of 10", rows=[1])),
    # continuity
    Case("continuity", "no gap above the ceiling", {"columns": ["t"], "max_gap_seconds": 7200}, ({"t": TIME}, [at(0), at(1), at(1), at(2), None]),
         passed(
             detail="column 't' never gaps by more than 3600 across 3 distinct values, the widest between '2026-03-01T00:51:00Z' and "
             "'2026-03-01T01:51:00Z', at or below the declared ceiling of 7200, measured in seconds between timestamps",
             observed={"max_gap": 3600, "distinct_values": 3},
         )),
    Case("continuity", "a gap", {"columns": ["t"], "max_gap_seconds": 7200}, ({"t": TIME}, [at(0), at(5), at(6)]),
         failed(detail="column 't' gaps from '2026-03-01T00:51:00Z' to '2026-03-01T05:51:00Z' by 18000, above the declared ceiling of 7200, "
                "measured in seconds between timestamps")),
    Case("continuity", "numbers in their own units", {"columns": ["v"], "max_gap_seconds": 1}, ({"v": pa.int32()}, [1, 2, 4]),
         failed(detail="column 'v' gaps from '2' to '4' by 2, above the declared ceiling of 1, measured in the column's own units between numbers")),
    Case("continuity", "decimal fractions are exact", {"columns": ["v"], "max_gap_seconds": 1}, (NUMBERS, [3.35, 4.35]),
         passed(detail="never gaps by more than 1 across 2 distinct values")),
    Case("continuity", "NaN has no place", {"columns": ["v"], "max_gap_seconds": 1}, (NUMBERS, [NAN, 1.0]),
         failed(detail="column 'v' holds 'NaN', which has no place in an order")),
    Case("continuity", "infinity is infinitely far", {"columns": ["v"], "max_gap_seconds": 1}, (NUMBERS, [INF, 1.0]), failed(detail="by inf, above")),
    Case("continuity", "no value", {"columns": ["t"], "max_gap_seconds": 0}, ({"t": TIME}, [None]),
         passed(detail="column 't' holds no non-null value, so no consecutive pair exists for a gap to sit between")),
    Case("continuity", "no rows", {"columns": ["t"], "max_gap_seconds": 0}, ({"t": TIME}, []), passed(detail="holds no non-null value")),
    Case("continuity", "one value", {"columns": ["t"], "max_gap_seconds": 0}, ({"t": TIME}, [at(1), at(1)]),
         passed(detail="column 't' holds one distinct value, so no consecutive pair exists for a gap to sit between")),
    Case("continuity", "text of instants", {"columns": ["t"], "max_gap_seconds": 3600},
         ({"t": pa.string()}, ["2026-03-01T00:00:00Z", "2026-03-01 02:00:00+01:00", "2026-03-01T02:00:00.5"]),
         failed(detail="gaps from '2026-03-01T01:00:00Z' to '2026-03-01T02:00:00.500Z' by 3600.5, above the declared ceiling of 3600")),
    Case("continuity", "text of numbers", {"columns": ["t"], "max_gap_seconds": 3}, ({"t": pa.string()}, ["1", "4.5"]),
         failed(detail="gaps from '1' to '4.5' by 3.5, above the declared ceiling of 3, measured in the column's own units")),
    Case("continuity", "text of neither", {"columns": ["t"], "max_gap_seconds": 3}, ({"t": pa.string()}, ["1", "2026-03-01"]),
         failed(detail="column 't' holds values whose type is not orderable")),
    Case("continuity", "booleans have no gaps", {"columns": ["t"], "max_gap_seconds": 3}, ({"t": pa.bool_()}, [True, None]), failed(detail="not orderable")),
    Case("continuity", "decimals beyond 38 digits", {"columns": ["v"], "max_gap_seconds": 1}, ({"v": pa.decimal256(60, 0)}, [D(1), D(3)]),
         not_evaluated("CHECK_UNSUPPORTED_BY_ENGINE: continuity cannot measure gaps between values of the type decimal256(60, 0)")),
    Case("continuity", "no ceiling", {"columns": ["v"]}, (NUMBERS, []), refused("DECLARED_CHECK_INVALID", "states no max_gap_seconds")),
    # row_expectation
    Case("row_expectation", "inside", {"min_rows": 1, "max_rows": 3}, (NUMBERS, [1.0, 2.0]), passed(detail="row count 2 satisfies the declared bounds [1, 3]")),
    Case("row_expectation", "a floor alone", {"min_rows": 1}, (NUMBERS, [1.0]), passed(detail="row count 1 satisfies the declared minimum of 1")),
    Case("row_expectation", "a ceiling alone", {"max_rows": 1}, (NUMBERS, [1.0]), passed(detail="row count 1 satisfies the declared maximum of 1")),
    Case("row_expectation", "below", {"min_rows": 24}, (NUMBERS, [1.0]), failed(detail="row count 1 is below the declared minimum of 24", observed={"row_count": 1})),
    Case("row_expectation", "above", {"max_rows": 1}, (NUMBERS, [1.0, None]), failed(detail="row count 2 is above the declared maximum of 1")),
    Case("row_expectation", "no rows", {"min_rows": 0}, (NUMBERS, []), passed(detail="row count 0 satisfies")),
    Case("row_expectation", "a column is refused", {"columns": ["v"], "min_rows": 1}, (NUMBERS, []), refused("DECLARED_CHECK_INVALID", "reads no column")),
    Case("row_expectation", "neither bound", {}, (NUMBERS, []), refused("DECLARED_CHECK_INVALID", "states neither")),
    Case("row_expectation", "a floor no run could reach", {"min_rows": 10_000_001}, (NUMBERS, []), refused("DECLARED_CHECK_INVALID", "no run could satisfy it")),
    Case("row_expectation", "a bound of another kind", {"min_rows": 1, "max_null_ppm": 0}, (NUMBERS, []),
         refused("DECLARED_CHECK_INVALID", "check THE_CHECK is a row_expectation check and states max_null_ppm, which a check of that kind does not read; "
                 "a bound that is never evaluated would be reported as satisfied, so state it on a check whose kind reads it")),
]  # fmt: skip

test_core_kinds = run_cases(CASES)

WIDE = D("12345678901234567890123456789012345678901234567890.1234567891")
# Each type: a value below, two inside, one above; the range that says so; the widest gap between neighbours (None: not measured)
ORDERED = [
    (pa.int8(), [-128, 0, 5, 127], ("0", "100"), 128),
    (pa.int16(), [-(2**15), 0, 5, 2**15 - 1], ("0", "100"), 2**15),
    (pa.int32(), [-(2**31), 0, 5, 2**31 - 1], ("0", "100"), 2**31),
    (pa.int64(), [-(2**63), 0, 5, 2**63 - 1], ("0", "9007199254740993"), 2**63),
    (pa.uint8(), [0, 5, 6, 255], ("1", "254"), 249),
    (pa.uint16(), [0, 5, 6, 65535], ("1", "65534"), 65529),
    (pa.uint32(), [0, 5, 6, 2**32 - 1], ("1", "4294967294"), 2**32 - 7),
    (pa.uint64(), [0, 5, 6, 2**64 - 1], ("1", "18446744073709551614"), 2**64 - 7),
    (pa.decimal128(5, 2), [D("-0.01"), D("0.00"), D("100.00"), D("100.01")], ("0", "100"), 100),
    (pa.decimal128(38, 18), [D("-1e-18"), D(0), D("99999999999999999999.999999999999999998"), D("99999999999999999999.999999999999999999")],
     ("0", "99999999999999999999.999999999999999998"), D("99999999999999999999.999999999999999998")),
    (pa.decimal128(38, 0), [D(-1), D(0), D(1), D(10**37)], ("0", "1"), 10**37 - 1),
    (pa.decimal256(40, 10), [D("-0.1"), D(0), D(1), D(10**29)], ("0", "1"), None),
    (pa.decimal256(60, 10), [-WIDE, D(0), D("1.5"), WIDE], ("0", "1.5"), None),
    (pa.float16(), [-0.5, 0.0, 0.25, 65504.0], ("0", "65503"), D("65503.75")),
    (pa.float32(), [0.1, 0.2, 0.3, 0.30000004], ("0.2", "0.3"), D("0.1")),
    (pa.float64(), [0.1, 0.2, 0.3, 0.1 + 0.2], ("0.2", "0.3"), D("0.1")),
]  # fmt: skip


def evaluated(kind: str, table: pa.Table, **members):
    check = {"check_id": "c", "kind": kind, "enforcement": "required", **members}
    return evaluate(Recipe.model_validate({"recipe": "types", "table": {"name": "t"}, "checks": [check]}), table).outcomes[0]


@pytest.fixture(params=["file", "memory"])
def stored(request, tmp_path):
    """Puts a table into a file, or leaves it in memory."""
    import pyarrow.parquet as pq

    def put(table: pa.Table):
        if request.param == "memory":
            return table
        pq.write_table(table, tmp_path / "t.parquet")
        return tmp_path / "t.parquet"

    return put


@pytest.mark.parametrize(
    ("kind", "values", "bounds", "gap"), ORDERED, ids=lambda value: str(value) if isinstance(value, pa.DataType) else ""
)
def test_every_number_type_is_exact(kind, values, bounds, gap, stored):
    table = stored(
        pa.table(
            {
                "v": pa.array([*values, None, values[1]], pa.float64()).cast(kind)
                if kind == pa.float16()
                else pa.array([*values, None, values[1]], kind)
            }
        )
    )
    low, high = bounds
    outside = evaluated("value_range", table, columns=["v"], min_value=low, max_value=high)
    assert (outside.status, outside.failed_rows) == ("failed", 2)
    assert "below the declared minimum" in outside.detail
    key = evaluated("key_uniqueness", table, columns=["v"])
    assert (key.status, key.failed_rows) == ("failed", 1)
    nulls = evaluated("null_ceiling", table, columns=["v"], max_null_ppm=166_666)
    assert (nulls.status, nulls.observed["nulls"]) == ("failed", 1)
    series = evaluated("continuity", table, columns=["v"], max_gap_seconds=0)
    assert series.status == ("not_evaluated" if gap is None else "failed")
    if gap is not None:
        assert series.observed["max_gap"] == gap


INSTANTS = [(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "America/New_York")]


@pytest.mark.parametrize(("unit", "zone"), INSTANTS)
def test_every_timestamp_type_is_exact(unit, zone, stored):
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    table = stored(pa.table({"t": pa.array([-1, 0, 0, 7 * per, None], pa.int64()).cast(pa.timestamp(unit, zone))}))
    series = evaluated("continuity", table, columns=["t"], max_gap_seconds=7)
    assert (series.status, series.observed["max_gap"]) == ("passed", 7)
    assert "between '1970-01-01T00:00:00Z' and '1970-01-01T00:00:07Z'" in series.detail
    key = evaluated("key_uniqueness", table, columns=["t"])
    assert "first at ('1970-01-01T00:00:00Z',)" in key.detail
    assert evaluated("value_range", table, columns=["t"], min_value="0", max_value="1").status == "failed"


KEYED = [
    (pa.string(), ["a", "b"], "'a'"),
    (pa.large_string(), ["a", "b"], "'a'"),
    (pa.string_view(), ["a", "b"], "'a'"),
    (pa.dictionary(pa.int8(), pa.string()), ["a", "b"], "'a'"),
    (pa.binary(), [b"\x00\xff", b"\x01"], "0x00ff"),
    (pa.binary(2), [b"\x00\xff", b"\x01\x00"], "0x00ff"),
    (pa.bool_(), [False, True], "False"),
    (pa.date32(), [dt.date(2026, 3, 1), dt.date(2026, 3, 2)], "'2026-03-01'"),
    (pa.date64(), [dt.date(2026, 3, 1), dt.date(2026, 3, 2)], "'2026-03-01'"),
    (pa.time32("ms"), [dt.time(1), dt.time(2)], "'01:00:00'"),
    (pa.time64("us"), [dt.time(1), dt.time(2)], "'01:00:00'"),
    (pa.list_(pa.int64()), [[1, None], [2]], "'[1, NULL]'"),
    (pa.struct([("a", pa.int64())]), [{"a": 1}, {"a": 2}], "\"{'a': 1}\""),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "values", "shown"), KEYED, ids=lambda value: str(value) if isinstance(value, pa.DataType) else "")
def test_every_other_type_is_a_key(kind, values, shown, stored):
    distinct = evaluated("key_uniqueness", stored(pa.table({"k": pa.array([*values, None], kind)})), columns=["k"])
    assert distinct.status == "passed"
    repeated = evaluated("key_uniqueness", stored(pa.table({"k": pa.array([*values, None, values[0]], kind)})), columns=["k"])
    assert (repeated.status, repeated.failed_rows) == ("failed", 1)
    assert f"first at ({shown},)" in repeated.detail


def test_a_null_typed_column_holds_no_value(stored):
    table = stored(pa.table({"n": pa.nulls(3), "i": [1, 2, 3]}))
    assert evaluated("value_range", table, columns=["n"], min_value="0", max_value="1").status == "passed"
    assert evaluated("continuity", table, columns=["n"], max_gap_seconds=0).status == "passed"
    assert evaluated("null_ceiling", table, columns=["n"], max_null_ppm=999_999).observed["nulls"] == 3
    assert evaluated("key_uniqueness", table, columns=["n"]).failed_rows == 2
