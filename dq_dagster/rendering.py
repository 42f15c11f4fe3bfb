"""How a stored value is written for a person, and where a decimal bound falls among binary floats.

A float means its shortest decimal text: the one a reader sees. Shortest texts of neighbouring floats are in the order
of the floats, so a decimal bound can be moved onto the float grid once, and rows compare as floats, exactly.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa

UNITS_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_DAYS_PER_400_YEARS = 146_097
_PACKED_AS = {16: "e", 32: "f", 64: "d"}


def _rounded(value: float, bits: int) -> float:
    """The float of that width nearest to the value; infinite where the width cannot reach it."""
    try:
        return struct.unpack(_PACKED_AS[bits], struct.pack(_PACKED_AS[bits], value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def shortest_text(value: float, *, bits: int = 64) -> str:
    """The shortest decimal text that reads back as this float of 16, 32 or 64 bits: `0.3`, `1e+22`, `nan`, `-inf`.

    A whole half means itself: the largest one is 65504, although 65500 would read back as it too.
    """
    if bits == 64 or not math.isfinite(value) or (bits == 16 and value.is_integer()):
        return repr(value)
    return next(repr(float(text)) for digits in range(1, 18) if _rounded(float(text := f"{value:.{digits}g}"), bits) == value)


def _step(value: float, *, bits: int, up: bool) -> float:
    """The next float of that width above or below."""
    if bits == 64:
        return math.nextafter(value, math.inf if up else -math.inf)
    as_int = {16: "h", 32: "i"}[bits]
    if value == 0:
        pattern = 1 if up else -(2 ** (bits - 1)) + 1
    else:
        pattern = struct.unpack(as_int, struct.pack(_PACKED_AS[bits], value))[0]
        pattern += 1 if (value > 0) == up else -1
    return struct.unpack(_PACKED_AS[bits], struct.pack(as_int, pattern))[0]


def first_float_at_or_above(bound: Decimal, *, bits: int) -> float:
    """The smallest float whose shortest text is at or above the bound; infinity where there is no finite one."""
    value = _rounded(float(bound), bits)
    while math.isfinite(value) and Decimal(shortest_text(value, bits=bits)) >= bound:
        value = _step(value, bits=bits, up=False)
    if value == math.inf:
        return value
    while value == -math.inf or (math.isfinite(value) and Decimal(shortest_text(value, bits=bits)) < bound):
        value = _step(value, bits=bits, up=True)
    return value


def last_float_at_or_below(bound: Decimal, *, bits: int) -> float:
    """The largest float whose shortest text is at or below the bound; minus infinity where there is no finite one."""
    return -first_float_at_or_above(-bound, bits=bits)


def plain_number(value: Decimal | int) -> str:
    """A number without exponent and without trailing zeros: `7200`, `1.000000001`, `0`."""
    if not isinstance(value, Decimal):
        return str(value)
    if not value.is_finite():
        return str(value).lower().replace("infinity", "inf")
    text = f"{value:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def timestamp_text(epoch: int, unit: str) -> str:
    """An instant counted from 1970 in the unit, as ISO 8601 in UTC: `2026-03-01T00:51:00Z`, with the fraction it has."""
    seconds, fraction = divmod(epoch, UNITS_PER_SECOND[unit])
    days, second_of_day = divmod(seconds, 86_400)
    time = f"{second_of_day // 3600:02}:{second_of_day // 60 % 60:02}:{second_of_day % 60:02}"
    if fraction:
        digits = f"{fraction:0{len(str(UNITS_PER_SECOND[unit])) - 1}}"
        while digits.endswith("000"):
            digits = digits[:-3]
        time += f".{digits}"
    return f"{date_text(days)}T{time}Z"


def date_text(days: int) -> str:
    """A day counted from 1970 as ISO 8601, beyond the years 1 to 9999 too."""
    ordinal = days + _EPOCH_DAY
    if 1 <= ordinal <= dt.date.max.toordinal():
        return dt.date.fromordinal(ordinal).isoformat()
    cycles, rest = divmod(ordinal - 1, _DAYS_PER_400_YEARS)
    day = dt.date.fromordinal(rest + 1)
    return f"{day.year + 400 * cycles:+05}-{day:%m-%d}"


def float_bits(kind: pa.DataType) -> int:
    """How many bits a float type has."""
    return 16 if pa.types.is_float16(kind) else 32 if pa.types.is_float32(kind) else 64


def value_text(value: Any, kind: pa.DataType) -> str:
    """A stored value in words a person reads, unquoted. Timestamps arrive as integers since 1970 in their own unit."""
    if value is None:
        return "None"
    if pa.types.is_timestamp(kind) and isinstance(value, int):
        return timestamp_text(value, kind.unit)
    if pa.types.is_date(kind):
        return value.isoformat() if isinstance(value, dt.date) else date_text(value) if isinstance(value, int) else str(value)
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, float):
        return shortest_text(value, bits=float_bits(kind) if pa.types.is_floating(kind) else 64)
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return str(value)


def with_article(noun: str) -> str:
    """The noun after "a" or "an"."""
    return f"{'an' if noun.casefold().startswith(('a', 'e', 'i', 'o')) else 'a'} {noun}"


def is_bare(kind: pa.DataType) -> bool:
    """Whether values of the type print without quotes: numbers and booleans."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind)


def key_part_text(value: Any, kind: pa.DataType) -> str:
    """One member of a key as it stands in a tuple: text and times quoted, numbers bare, NULL as `None`."""
    text = value_text(value, kind)
    return text if value is None or is_bare(kind) or isinstance(value, bytes) else repr(text)


def tuple_text(parts: list[str]) -> str:
    """The parts as a tuple."""
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


WIDE_DECIMAL_DIGITS = 38
_WIDE_OFFSET = 10**77
_WIDE_LENGTH = 78


def is_wide_decimal(kind: pa.DataType) -> bool:
    """Whether a decimal is wider than any engine holds; engines present such a column as `wide_decimal_text`."""
    return pa.types.is_decimal(kind) and kind.precision > WIDE_DECIMAL_DIGITS


def wide_decimal_text(value: Decimal, scale: int, *, upwards: bool = False) -> str:
    """A decimal as 78 digits of text that sort as the numbers do.

    A bound with more fraction digits than the column is moved onto the column's grid: down, or `upwards`.
    """
    numerator, denominator = value.as_integer_ratio()
    scaled = numerator * 10**scale
    unscaled = -(-scaled // denominator) if upwards else scaled // denominator
    clamped = max(-_WIDE_OFFSET, min(_WIDE_OFFSET * 9, unscaled))
    return f"{clamped + _WIDE_OFFSET:0{_WIDE_LENGTH}}"


def wide_decimal_of(text: str, scale: int) -> Decimal:
    """The decimal that `wide_decimal_text` wrote."""
    unscaled = int(text) - _WIDE_OFFSET
    return Decimal((int(unscaled < 0), tuple(int(digit) for digit in str(abs(unscaled))), -scale))
