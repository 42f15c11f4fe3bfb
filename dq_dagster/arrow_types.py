"""Column types as words, as Arrow types, and as the one type that keeps every value of several."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from dq_dagster.errors import DqDagsterError

_NAMES: dict[str, pa.DataType] = {
    **dict.fromkeys(["boolean", "bool", "logical"], pa.bool_()),
    **dict.fromkeys(["tinyint", "int1", "int8", "byte"], pa.int8()),
    **dict.fromkeys(["smallint", "int2", "int16", "short"], pa.int16()),
    **dict.fromkeys(["integer", "int", "int4", "int32", "signed"], pa.int32()),
    **dict.fromkeys(["bigint", "int64", "long"], pa.int64()),
    **dict.fromkeys(["utinyint", "uint8"], pa.uint8()),
    **dict.fromkeys(["usmallint", "uint16"], pa.uint16()),
    **dict.fromkeys(["uinteger", "uint32"], pa.uint32()),
    **dict.fromkeys(["ubigint", "uint64"], pa.uint64()),
    "hugeint": pa.decimal128(38, 0),
    **dict.fromkeys(["half", "halffloat", "float16"], pa.float16()),
    **dict.fromkeys(["float", "float4", "float32", "real"], pa.float32()),
    **dict.fromkeys(["double", "double precision", "float8", "float64"], pa.float64()),
    **dict.fromkeys(
        ["varchar", "string", "text", "char", "bpchar", "utf8", "large_string", "large_utf8", "string_view", "utf8_view", "json"],
        pa.string(),
    ),
    "character varying": pa.string(),
    **dict.fromkeys(["blob", "binary", "bytea", "varbinary", "large_binary", "binary_view"], pa.binary()),
    "uuid": pa.binary(16),
    **dict.fromkeys(["date", "date32", "date64"], pa.date32()),
    **dict.fromkeys(["time", "time without time zone", "time_us"], pa.time64("us")),
    **{f"time_{unit}": pa.time32(unit) for unit in ("s", "ms")},
    "time_ns": pa.time64("ns"),
    **dict.fromkeys(["timestamp", "datetime", "timestamp without time zone", "timestamp_ntz", "timestamp_us"], pa.timestamp("us")),
    **dict.fromkeys(["timestamptz", "timestamp with time zone", "timestamp_ltz", "timestamp_us with time zone"], pa.timestamp("us", "UTC")),
    **{f"timestamp_{unit}": pa.timestamp(unit) for unit in ("s", "ms", "ns")},
    **{f"timestamp_{unit} with time zone": pa.timestamp(unit, "UTC") for unit in ("s", "ms", "ns")},
    **dict.fromkeys(["duration", "duration_us"], pa.duration("us")),
    **{f"duration_{unit}": pa.duration(unit) for unit in ("s", "ms", "ns")},
    **dict.fromkeys(["interval", "month_day_nano_interval"], pa.month_day_nano_interval()),
    "null": pa.null(),
}
_WITH_ARGUMENTS = ("decimal", "struct", "map", "list")
_WORDS: dict[pa.DataType, str] = {
    **{arrow: name for name, arrow in reversed(_NAMES.items())},
    pa.timestamp("us", "UTC"): "timestamp with time zone",
    pa.binary(16): "blob",
    pa.decimal128(38, 0): "decimal(38, 0)",
}
_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"(?:[^"]|"")*")|(?P<word>[^\W\d][\w/+\-]*)|(?P<number>[+-]?\d+(?::\d+)?)|(?P<mark>[()<>\[\],:=]))"""
)
_DECIMALS = {"decimal", "numeric", "dec", "decimal32", "decimal64", "decimal128", "decimal256"}
_STRUCTS = {"struct", "row", "record"}
_LISTS = {"list", "array", "large_list", "fixed_size_list"}
_CLOSING = {"(": ")", "<": ">", "[": "]"}
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400
_INT64 = range(-(2**63), 2**63)
_DOUBLE_EXACT = 2**53


class UnknownType(DqDagsterError, ValueError):
    """A column type in words that names no type; `nearest` is the known name most like the `word` that is the culprit."""

    def __init__(self, text: str, word: str) -> None:
        self.text = text
        self.word = word
        alike = difflib.get_close_matches(word.lower(), [*_NAMES, *_WITH_ARGUMENTS], n=1)
        self.nearest = alike[0] if alike and alike[0] != word.lower() else None
        mend = f"did you mean '{self.nearest}'?" if self.nearest else "write it like 'bigint', 'decimal(10, 2)' or 'varchar[]'"
        super().__init__(f"'{text}' is not a known column type; {mend}")


def arrow_type(text: str) -> pa.DataType:
    """The storage type that a column type in words means, in DuckDB's, Arrow's or Spark's spelling, whatever its case.

    What Arrow keeps as an extension is given as it is stored: a uuid is 16 bytes, json is text.

    Raises:
        UnknownType: the words name no type, or an argument is out of bounds.
    """
    return plain(_Words(text).whole())


class _Words:
    """A cursor over the tokens of one type in words."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        self.at = 0
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise UnknownType(text, text)
            self.tokens.append(match.group().strip())
            position = match.end()

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        token = self.peek()
        if not token or (wanted and token not in wanted):
            raise self.unknown(token)
        self.at += 1
        return token

    def unknown(self, word: str) -> UnknownType:
        return UnknownType(self.text, word or self.text)

    def skip(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def whole(self) -> pa.DataType:
        found = self.type()
        if self.peek():
            raise self.unknown(self.text)
        return found

    def type(self) -> pa.DataType:
        name = self.take().lower()
        if name in _DECIMALS:
            found = self.decimal()
        elif name in _STRUCTS:
            found = self.struct()
        elif name == "map":
            found = self.map()
        elif name in _LISTS and self.peek() in {"<", "("}:
            found = self.list()
        elif name in {"timestamp", "time32", "time64", "duration"} and self.peek() == "[":
            found = self.unit(name)
        else:
            found = self.named(name)
        while self.skip("["):
            if self.peek() != "]":
                self.number()
            self.take("]")
            found = pa.list_(found)
        return found

    def named(self, name: str) -> pa.DataType:
        if name == "fixed_size_binary" and self.skip("["):
            width = self.number()
            self.take("]")
            return pa.binary(width)
        for words in (4, 3, 2, 1):
            spelled = " ".join([name, *(token.lower() for token in self.tokens[self.at : self.at + words - 1])])
            if spelled in _NAMES:
                self.at += words - 1
                break
        else:
            raise self.unknown(name)
        found = _NAMES[spelled]
        if pa.types.is_date(found) and self.skip("["):  # Arrow's own spelling: date32[day]
            self.take("day", "ms")
            self.take("]")
        elif pa.types.is_string(found) and self.skip("("):  # varchar(10): the length limits nothing in DuckDB or Parquet
            self.number()
            self.take(")")
        return found

    def number(self) -> int:
        token = self.take()
        if not re.fullmatch(r"-?\d{1,9}", token):
            raise self.unknown(self.text)
        return int(token)

    def name(self) -> str:
        token = self.take()
        return token[1:-1].replace('""', '"') if token.startswith('"') else token

    def decimal(self) -> pa.DataType:
        precision, scale = 18, 3  # what DuckDB means by a bare decimal
        if self.skip("("):
            precision, scale = self.number(), 0
            if self.skip(","):
                scale = self.number()
            self.take(")")
        if not 1 <= precision <= 76 or abs(scale) > precision:
            raise self.unknown(self.text)
        return _decimal(precision, scale)

    def struct(self) -> pa.DataType:
        closing = _CLOSING[self.take("(", "<")]
        fields: list[pa.Field] = []
        while not self.skip(closing):
            if fields:
                self.take(",")
            name = self.name()
            self.skip(":")
            fields.append(pa.field(name, self.type()))
        return pa.struct(fields)

    def map(self) -> pa.DataType:
        closing = _CLOSING[self.take("(", "<")]
        key = self.type()
        self.take(",")
        item = self.type()
        self.take(closing)
        return pa.map_(key, item)

    def list(self) -> pa.DataType:
        closing = _CLOSING[self.take("(", "<")]
        if self.tokens[self.at + 1 : self.at + 2] == [":"]:  # Arrow's own spelling: list<item: int64>
            self.at += 2
        item = self.type()
        self.take(closing)
        return pa.list_(item)

    def unit(self, name: str) -> pa.DataType:
        self.take("[")
        unit = self.take(*_UNITS)
        zone = None
        if name == "timestamp" and self.skip(","):
            self.take("tz")
            self.take("=")
            zone = self.take()
        self.take("]")
        if name == "timestamp":
            return pa.timestamp(unit, zone)
        return pa.duration(unit) if name == "duration" else _time(unit)


def words_for(type: pa.DataType) -> str:
    """The type in the words a person would put into a recipe; `arrow_type` reads them back, a time zone as UTC."""
    if isinstance(type, pa.BaseExtensionType):
        name = str(type.extension_name).rpartition(".")[2]
        if name in {"uuid", "json"}:
            return name
    type = plain(type)
    if type in _WORDS:
        return _WORDS[type]
    if pa.types.is_timestamp(type):
        return _WORDS[pa.timestamp(type.unit, "UTC")]
    if pa.types.is_decimal(type):
        return f"decimal({type.precision}, {type.scale})"
    if pa.types.is_list(type):
        return f"{words_for(type.value_type)}[]"
    if pa.types.is_map(type):
        return f"map({words_for(type.key_type)}, {words_for(type.item_type)})"
    if pa.types.is_struct(type):
        return "struct(" + ", ".join(f"{_quoted(field.name)} {words_for(field.type)}" for field in type) + ")"
    if pa.types.is_fixed_size_binary(type):
        return "blob"
    return str(type)


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[^\W\d]\w*", name) else '"' + name.replace('"', '""') + '"'


def plain(type: pa.DataType) -> pa.DataType:
    """The type as values mean it: dictionaries, run lengths, extensions, views and `large_` variants taken off, at every depth."""
    types = pa.types
    if isinstance(type, pa.BaseExtensionType):
        return plain(type.storage_type)
    if types.is_dictionary(type) or types.is_run_end_encoded(type):
        return plain(type.value_type)
    if types.is_large_string(type) or types.is_string_view(type):
        return pa.string()
    if types.is_large_binary(type) or types.is_binary_view(type):
        return pa.binary()
    if types.is_date64(type):
        return pa.date32()
    if types.is_decimal(type):
        return _decimal(type.precision, type.scale)
    if types.is_map(type):
        return pa.map_(plain(type.key_type), plain(type.item_type))
    if _is_list(type):
        return pa.list_(plain(type.value_type))
    if types.is_struct(type):
        return pa.struct([pa.field(field.name, plain(field.type)) for field in type])
    return type


def reads_alike(type: pa.DataType) -> bool:
    """Whether Arrow and engines read values of the type alike, order them and find them equal alike, once none of them is a NaN."""
    types = pa.types
    is_number = types.is_integer(type) or types.is_float32(type) or types.is_float64(type) or types.is_decimal128(type)
    is_instant = types.is_date32(type) or types.is_timestamp(type)
    return is_number or is_instant or types.is_string(type) or types.is_binary(type) or types.is_boolean(type)


def widen(types: Sequence[pa.DataType], ranges: Sequence[tuple[Any, Any] | None]) -> pa.DataType | None:
    """The type that keeps every stored value of all these types exactly, or None where no type does.

    `ranges` holds the least and greatest value stored under each type where they are exactly known, dates and
    timestamps as counts of their own unit, and None where they are not. A naive timestamp is read as UTC.
    """
    stored = [(plain(type), known) for type, known in zip(types, ranges, strict=True) if not pa.types.is_null(plain(type))]
    distinct = list(dict.fromkeys(type for type, _ in stored))
    if len(distinct) <= 1:
        return distinct[0] if distinct else pa.null()
    for belongs, join in _FAMILIES:
        if all(belongs(type) for type in distinct):
            return join(stored)
    return None


_Stored = Sequence[tuple[pa.DataType, "tuple[Any, Any] | None"]]


def _is_list(type: pa.DataType) -> bool:
    types = pa.types
    of_any_size = types.is_list(type) or types.is_large_list(type) or types.is_fixed_size_list(type)
    return of_any_size or types.is_list_view(type) or types.is_large_list_view(type)


def _is_number(type: pa.DataType) -> bool:
    return pa.types.is_integer(type) or pa.types.is_decimal(type) or pa.types.is_floating(type)


def _is_instant(type: pa.DataType) -> bool:
    return pa.types.is_timestamp(type) or pa.types.is_date(type)


def _is_bytes(type: pa.DataType) -> bool:
    return pa.types.is_binary(type) or pa.types.is_fixed_size_binary(type)


def _decimal(precision: int, scale: int) -> pa.DataType:
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def _time(unit: str) -> pa.DataType:
    return pa.time32(unit) if unit in {"s", "ms"} else pa.time64(unit)


def _join_numbers(stored: _Stored) -> pa.DataType | None:
    integers = [(type, known) for type, known in stored if pa.types.is_integer(type)]
    decimals = [type for type, _ in stored if pa.types.is_decimal(type)]
    floats = [type for type, _ in stored if pa.types.is_floating(type)]
    if floats:
        return None if decimals else _join_floats(floats, integers)
    if decimals:
        return _join_decimals([*decimals, *(pa.decimal128(len(str(_greatest(type))), 0) for type, _ in integers)])
    signed = max((type.bit_width for type, _ in integers if pa.types.is_signed_integer(type)), default=0)
    unsigned = max((type.bit_width for type, _ in integers if pa.types.is_unsigned_integer(type)), default=0)
    if not signed:
        return getattr(pa, f"uint{unsigned}")()
    if unsigned == 64:
        return pa.decimal128(20, 0)
    return getattr(pa, f"int{max(signed, unsigned * 2)}")()


def _greatest(type: pa.DataType) -> int:
    """The number furthest from zero that an integer type holds, without its sign."""
    return 2**type.bit_width - 1 if pa.types.is_unsigned_integer(type) else 2 ** (type.bit_width - 1)


def _join_floats(floats: Sequence[pa.DataType], integers: _Stored) -> pa.DataType | None:
    widest = max(type.bit_width for type in floats)
    for width, exact in ((16, 2**11), (32, 2**24), (64, _DOUBLE_EXACT)):
        if width >= widest and all(_greatest(type) <= exact for type, _ in integers):
            return getattr(pa, f"float{width}")()
    within = all(
        _greatest(type) <= _DOUBLE_EXACT or (known is not None and known[0] >= -_DOUBLE_EXACT and known[1] <= _DOUBLE_EXACT)
        for type, known in integers
    )
    return pa.float64() if within else None


def _join_decimals(decimals: Sequence[pa.DataType]) -> pa.DataType | None:
    scale = max(type.scale for type in decimals)
    precision = scale + max(type.precision - type.scale for type in decimals)
    return _decimal(precision, scale) if precision <= 76 else None


def _finest(stored: _Stored) -> str | None:
    """The finest unit of these types; None where a value known to be stored does not fit 64 bits in it."""
    unit = max((type.unit for type, _ in stored if not pa.types.is_date(type)), key=_UNITS.__getitem__)
    for type, known in stored:
        factor = _UNITS[unit] * _DAY if pa.types.is_date(type) else _UNITS[unit] // _UNITS[type.unit]
        if known is not None and not all(end * factor in _INT64 for end in known):
            return None
    return unit


def _join_instants(stored: _Stored) -> pa.DataType | None:
    unit = _finest(stored)
    zones = {None if pa.types.is_date(type) else type.tz for type, _ in stored}
    zone = next(iter(zones)) if len(zones) == 1 else "UTC"
    return pa.timestamp(unit, zone) if unit else None


def _join_durations(stored: _Stored) -> pa.DataType | None:
    unit = _finest(stored)
    return pa.duration(unit) if unit else None


def _join_times(stored: _Stored) -> pa.DataType:
    return _time(max((type.unit for type, _ in stored), key=_UNITS.__getitem__))


def _join_unmeasured(types: Sequence[pa.DataType]) -> pa.DataType | None:
    return widen(types, [None] * len(types))


def _join_lists(stored: _Stored) -> pa.DataType | None:
    item = _join_unmeasured([type.value_type for type, _ in stored])
    return pa.list_(item) if item is not None else None


def _join_maps(stored: _Stored) -> pa.DataType | None:
    key = _join_unmeasured([type.key_type for type, _ in stored])
    item = _join_unmeasured([type.item_type for type, _ in stored])
    return pa.map_(key, item) if key is not None and item is not None else None


def _join_structs(stored: _Stored) -> pa.DataType | None:
    parts: dict[str, list[pa.DataType]] = {}
    for type, _ in stored:
        names = [field.name for field in type]
        if len(set(names)) < len(names):
            return None
        for field in type:
            parts.setdefault(field.name, []).append(field.type)
    joined = {name: _join_unmeasured(types) for name, types in parts.items()}
    return None if None in joined.values() else pa.struct(list(joined.items()))


_FAMILIES: tuple[tuple[Callable[[pa.DataType], bool], Callable[[_Stored], pa.DataType | None]], ...] = (
    (_is_number, _join_numbers),
    (_is_instant, _join_instants),
    (pa.types.is_time, _join_times),
    (pa.types.is_duration, _join_durations),
    (_is_bytes, lambda stored: pa.binary()),
    (pa.types.is_list, _join_lists),
    (pa.types.is_map, _join_maps),
    (pa.types.is_struct, _join_structs),
)
