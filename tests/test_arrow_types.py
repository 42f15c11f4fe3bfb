"""Column types in words, and the type that keeps every value of several."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dq_dagster.arrow_types import UnknownType, arrow_type, plain, widen, words_for

UTC_US = pa.timestamp("us", "UTC")

WORDS: list[tuple[str, pa.DataType, str]] = [
    ("varchar", pa.string(), "varchar"),
    ("VARCHAR(10)", pa.string(), "varchar"),
    ("large_string", pa.string(), "varchar"),
    ("json", pa.string(), "varchar"),
    ("Double", pa.float64(), "double"),
    ("double precision", pa.float64(), "double"),
    ("real", pa.float32(), "float"),
    ("halffloat", pa.float16(), "half"),
    ("bigint", pa.int64(), "bigint"),
    ("int32", pa.int32(), "integer"),
    ("uint64", pa.uint64(), "ubigint"),
    ("decimal(10,2)", pa.decimal128(10, 2), "decimal(10, 2)"),
    ("numeric(5)", pa.decimal128(5, 0), "decimal(5, 0)"),
    ("decimal", pa.decimal128(18, 3), "decimal(18, 3)"),
    ("decimal(40, 2)", pa.decimal256(40, 2), "decimal(40, 2)"),
    ("hugeint", pa.decimal128(38, 0), "decimal(38, 0)"),
    ("timestamp with time zone", UTC_US, "timestamp with time zone"),
    ("TIMESTAMPTZ", UTC_US, "timestamp with time zone"),
    ("timestamp", pa.timestamp("us"), "timestamp"),
    ("timestamp_ns", pa.timestamp("ns"), "timestamp_ns"),
    ("timestamp_ms with time zone", pa.timestamp("ms", "UTC"), "timestamp_ms with time zone"),
    ("timestamp[s]", pa.timestamp("s"), "timestamp_s"),
    ("timestamp[ns, tz=Europe/Berlin]", pa.timestamp("ns", "Europe/Berlin"), "timestamp_ns with time zone"),
    ("timestamp[us, tz=+02:00]", pa.timestamp("us", "+02:00"), "timestamp with time zone"),
    ("date", pa.date32(), "date"),
    ("date64[ms]", pa.date32(), "date"),
    ("time", pa.time64("us"), "time"),
    ("time32[ms]", pa.time32("ms"), "time_ms"),
    ("boolean", pa.bool_(), "boolean"),
    ("blob", pa.binary(), "blob"),
    ("uuid", pa.binary(16), "blob"),
    ("fixed_size_binary[4]", pa.binary(4), "blob"),
    ("duration[s]", pa.duration("s"), "duration_s"),
    ("interval", pa.month_day_nano_interval(), "interval"),
    ("integer[]", pa.list_(pa.int32()), "integer[]"),
    ("integer[3][]", pa.list_(pa.list_(pa.int32())), "integer[][]"),
    ("list<item: int64>", pa.list_(pa.int64()), "bigint[]"),
    ("array<string>", pa.list_(pa.string()), "varchar[]"),
    ("map(varchar, bigint)", pa.map_(pa.string(), pa.int64()), "map(varchar, bigint)"),
    ("struct(a integer, b varchar)", pa.struct([("a", pa.int32()), ("b", pa.string())]), "struct(a integer, b varchar)"),
    (
        'struct<"a ""b" : decimal(3, 1), c: struct<d: date>>',
        pa.struct([('a "b', pa.decimal128(3, 1)), ("c", pa.struct([("d", pa.date32())]))]),
        'struct("a ""b" decimal(3, 1), c struct(d date))',
    ),
    ("null", pa.null(), "null"),
]


@pytest.mark.parametrize(("text", "type", "canonical"), WORDS, ids=[text for text, _, _ in WORDS])
def test_a_type_in_words_is_read_and_written(text: str, type: pa.DataType, canonical: str) -> None:
    assert arrow_type(text) == type
    assert words_for(type) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bigit", "'bigit' is not a known column type; did you mean 'bigint'?"),
        ("struct(a integr)", "'struct(a integr)' is not a known column type; did you mean 'integer'?"),
        ("timestampz", "'timestampz' is not a known column type; did you mean 'timestamptz'?"),
        ("", "'' is not a known column type; write it like 'bigint', 'decimal(10, 2)' or 'varchar[]'"),
        ("list", "'list' is not a known column type; write it like 'bigint', 'decimal(10, 2)' or 'varchar[]'"),
    ],
)
def test_an_unknown_type_gets_the_nearest_known_one(text: str, message: str) -> None:
    with pytest.raises(UnknownType) as caught:
        arrow_type(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    [
        "decimal(99,1)",
        "decimal(0)",
        "decimal(2,x)",
        "int int",
        "varchar[",
        "map(varchar)",
        "struct(a)",
        "a;b",
        "list<int)",
        "timestamp[h]",
        "]",
    ],
)
def test_a_broken_type_is_refused(text: str) -> None:
    with pytest.raises(UnknownType):
        arrow_type(text)


def test_extension_types_are_named() -> None:
    assert words_for(pa.uuid()) == "uuid"
    assert words_for(pa.json_()) == "json"


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        (pa.dictionary(pa.int32(), pa.large_string()), pa.string()),
        (pa.run_end_encoded(pa.int32(), pa.int64()), pa.int64()),
        (pa.string_view(), pa.string()),
        (pa.binary_view(), pa.binary()),
        (pa.uuid(), pa.binary(16)),
        (pa.date64(), pa.date32()),
        (pa.decimal256(10, 2), pa.decimal128(10, 2)),
        (pa.list_view(pa.large_string()), pa.list_(pa.string())),
        (pa.list_(pa.int8(), 3), pa.list_(pa.int8())),
        (pa.struct([pa.field("a", pa.large_binary(), nullable=False)]), pa.struct([("a", pa.binary())])),
        (pa.map_(pa.large_string(), pa.json_()), pa.map_(pa.string(), pa.string())),
        (pa.float16(), pa.float16()),
    ],
    ids=str,
)
def test_a_type_is_stripped_to_what_its_values_are(type: pa.DataType, expected: pa.DataType) -> None:
    assert plain(type) == expected


@dataclass(frozen=True)
class Widening:
    title: str
    types: tuple[pa.DataType, ...]
    expected: pa.DataType | None
    ranges: tuple[tuple[Any, Any] | None, ...] = ()


FIT, OVER = 2**53, 2**53 + 1
WIDENINGS = [
    Widening("nothing at all", (), pa.null()),
    Widening("null with anything", (pa.null(), pa.date32(), pa.null()), pa.date32()),
    Widening("equal types", (pa.bool_(), pa.bool_()), pa.bool_()),
    Widening("two sizes of integer", (pa.int8(), pa.int32()), pa.int32()),
    Widening("two sizes of unsigned integer", (pa.uint8(), pa.uint64()), pa.uint64()),
    Widening("signed and unsigned of one size", (pa.int8(), pa.uint8()), pa.int16()),
    Widening("signed that holds unsigned already", (pa.int64(), pa.uint16()), pa.int64()),
    Widening("signed and uint32", (pa.int8(), pa.uint32()), pa.int64()),
    Widening("signed and uint64", (pa.int8(), pa.uint64()), pa.decimal128(20, 0)),
    Widening("decimals of two scales", (pa.decimal128(10, 2), pa.decimal128(10, 4)), pa.decimal128(12, 4)),
    Widening("decimals that need 256 bits", (pa.decimal128(38, 0), pa.decimal128(38, 10)), pa.decimal256(48, 10)),
    Widening("decimals that need more than 76 digits", (pa.decimal256(76, 0), pa.decimal256(76, 10)), None),
    Widening("decimal and bigint", (pa.decimal128(5, 2), pa.int64()), pa.decimal128(21, 2)),
    Widening("decimal and uint64", (pa.decimal128(5, 2), pa.uint64()), pa.decimal128(22, 2)),
    Widening("decimal and double", (pa.decimal128(5, 2), pa.float64()), None),
    Widening("decimal, integer and double", (pa.decimal128(5, 2), pa.int8(), pa.float64()), None),
    Widening("two sizes of float", (pa.float16(), pa.float32()), pa.float32()),
    Widening("smallint and float", (pa.int16(), pa.float32()), pa.float32()),
    Widening("integer and float", (pa.int32(), pa.float32()), pa.float64()),
    Widening("uint32 and double", (pa.uint32(), pa.float64()), pa.float64()),
    Widening("bigint and double, range unknown", (pa.int64(), pa.float64()), None),
    Widening("bigint and double, range fits", (pa.int64(), pa.float64()), pa.float64(), ((-FIT, FIT), None)),
    Widening("bigint and float, range fits", (pa.int64(), pa.float32()), pa.float64(), ((-FIT, FIT), None)),
    Widening("bigint and double, one over", (pa.int64(), pa.float64()), None, ((0, OVER), None)),
    Widening("bigint and double, one under", (pa.int64(), pa.float64()), None, ((-OVER, 0), None)),
    Widening("two bigint parts, one unknown", (pa.int64(), pa.int64(), pa.float64()), None, ((0, 1), None, None)),
    Widening("two units", (pa.timestamp("ms"), pa.timestamp("ns")), pa.timestamp("ns"), ((0, 5), None)),
    Widening("two units, the coarser overflows", (pa.timestamp("ms"), pa.timestamp("ns")), None, ((0, 2**53), None)),
    Widening("naive and zoned", (pa.timestamp("us"), pa.timestamp("us", "Asia/Tokyo")), UTC_US),
    Widening("one zone", (pa.timestamp("s", "Asia/Tokyo"), pa.timestamp("us", "Asia/Tokyo")), pa.timestamp("us", "Asia/Tokyo")),
    Widening("two zones", (pa.timestamp("us", "Europe/Paris"), pa.timestamp("us", "Asia/Tokyo")), UTC_US),
    Widening("date and timestamp", (pa.date32(), pa.timestamp("ms")), pa.timestamp("ms")),
    Widening("date and timestamp, the date overflows", (pa.date32(), pa.timestamp("ns")), None, ((0, 200_000), None)),
    Widening("both dates", (pa.date32(), pa.date64()), pa.date32()),
    Widening("times", (pa.time32("s"), pa.time64("us")), pa.time64("us")),
    Widening("time and timestamp", (pa.time32("s"), pa.timestamp("us")), None),
    Widening("durations", (pa.duration("s"), pa.duration("ns")), pa.duration("ns")),
    Widening("text of all kinds", (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string_view())), pa.string()),
    Widening("bytes of all kinds", (pa.binary(4), pa.large_binary(), pa.uuid()), pa.binary()),
    Widening("text and bytes", (pa.string(), pa.binary()), None),
    Widening("text and integer", (pa.string(), pa.int8()), None),
    Widening("boolean and integer", (pa.bool_(), pa.int8()), None),
    Widening("lists", (pa.list_(pa.int8()), pa.large_list(pa.int16())), pa.list_(pa.int16())),
    Widening("lists of what does not join", (pa.list_(pa.int8()), pa.list_(pa.string())), None),
    Widening("list and item", (pa.list_(pa.int8()), pa.int8()), None),
    Widening("maps", (pa.map_(pa.string(), pa.int8()), pa.map_(pa.string(), pa.float64())), pa.map_(pa.string(), pa.float64())),
    Widening(
        "structs, field by field",
        (pa.struct([("a", pa.int8()), ("b", pa.string())]), pa.struct([("c", pa.date32()), ("a", pa.int64())])),
        pa.struct([("a", pa.int64()), ("b", pa.string()), ("c", pa.date32())]),
    ),
    Widening("structs with a field that does not join", (pa.struct([("a", pa.int8())]), pa.struct([("a", pa.string())])), None),
    Widening("a struct with two fields alike", (pa.struct([("a", pa.int8()), ("a", pa.int8())]), pa.struct([("a", pa.int8())])), None),
]


@pytest.mark.parametrize("case", WIDENINGS, ids=lambda case: case.title)
def test_the_widened_type(case: Widening) -> None:
    ranges = case.ranges or (None,) * len(case.types)
    assert widen(case.types, ranges) == case.expected
    assert widen(case.types[::-1], ranges[::-1]) == case.expected or pa.types.is_struct(case.types[0])


def _columns() -> st.SearchStrategy[tuple[pa.DataType, list[Any]]]:
    """A type and values that it holds, timestamps as counts of their unit."""

    def integers(bits: int, signed: bool) -> st.SearchStrategy[tuple[pa.DataType, list[Any]]]:
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        type = getattr(pa, f"{'int' if signed else 'uint'}{bits}")()
        near = st.integers(max(low, -(2**53) - 1), min(high, 2**53 + 1))
        return st.tuples(st.just(type), st.lists(st.integers(low, high) | near, max_size=4))

    def decimals(precision: int, scale: int) -> st.SearchStrategy[tuple[pa.DataType, list[Any]]]:
        digits = st.integers(-(10**precision) + 1, 10**precision - 1)
        type = pa.decimal128(precision, scale)
        return st.tuples(st.just(type), st.lists(digits.map(lambda n: Decimal(f"{n}e-{scale}")), max_size=4))

    def floats(bits: int) -> st.SearchStrategy[tuple[pa.DataType, list[Any]]]:
        return st.tuples(st.just(getattr(pa, f"float{bits}")()), st.lists(st.floats(width=bits, allow_nan=False), max_size=4))  # type: ignore[arg-type]

    def timestamps(unit: str, zone: str | None) -> st.SearchStrategy[tuple[pa.DataType, list[Any]]]:
        return st.tuples(st.just(pa.timestamp(unit, zone)), st.lists(st.integers(-(2**40), 2**62), max_size=4))

    return st.one_of(
        *(integers(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)),
        *(decimals(precision, scale) for precision, scale in ((5, 0), (9, 4), (18, 9), (30, 2))),
        *(floats(bits) for bits in (32, 64)),
        *(timestamps(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Asia/Tokyo")),
        st.tuples(st.just(pa.date32()), st.lists(st.integers(-700_000, 2_000_000), max_size=4)),
        st.tuples(st.just(pa.string()), st.lists(st.text(max_size=3), max_size=4)),
    )


def _exact(array: pa.Array) -> list[Any]:
    """The values so that they can be compared across types: moments as counts of nanoseconds, numbers as they are."""
    type = array.type
    if pa.types.is_timestamp(type):
        factor = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[type.unit]
        return [value * factor for value in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(type):
        return [value * 86_400 * 10**9 for value in array.cast(pa.int32()).to_pylist()]
    return array.to_pylist()


@settings(max_examples=300, deadline=None)
@given(st.lists(_columns(), min_size=2, max_size=3))
def test_every_value_survives_the_widened_type(columns: list[tuple[pa.DataType, list[Any]]]) -> None:
    counted = {
        pa.date32(): pa.int32(),
        **{pa.timestamp(u, z): pa.int64() for u in ("s", "ms", "us", "ns") for z in (None, "UTC", "Asia/Tokyo")},
    }
    arrays = [pa.array(values, counted.get(type, type)).cast(type) for type, values in columns]
    ranges = [(min(values), max(values)) if values and not pa.types.is_floating(type) else (0, 0) for type, values in columns]
    widened = widen([type for type, _ in columns], ranges)
    if widened is None:
        return
    for array in arrays:
        assert _exact(_cast(array, widened)) == _exact(array)


def _cast(array: pa.Array, type: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(type) and pa.types.is_integer(array.type):  # Arrow casts integers to wide decimals only
        return pa.array([Decimal(value) for value in array.to_pylist()], type)
    if pa.types.is_date(array.type) and pa.types.is_timestamp(type):
        return array.cast(pa.timestamp(type.unit)).cast(type)
    return array.cast(type)


def test_dates_beyond_python_s_calendar_are_ranges_too() -> None:
    assert widen([pa.date32(), pa.timestamp("us")], [(-(10**7), 10**7), (0, 1)]) == pa.timestamp("us")
