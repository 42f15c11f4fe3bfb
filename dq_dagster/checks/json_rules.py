"""What counts as JSON, and when a JSON text conforms to a schema: one rule, written down in docs/decisions/0041-json.md."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from dq_dagster.checks import spark_types
from dq_dagster.checks.spark_types import SchemaUnreadable, SparkMember, SparkType

MAX_DEPTH = 500
_SPACE = re.compile(r"[ \t\n\r]*")
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


class NotJson(ValueError):
    """A text that is not JSON."""


class Whole(str):
    """A number without fraction and exponent, as it is written."""


class Fraction(str):
    """A number with a fraction or an exponent, as it is written."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotJson("an object names a member twice")
    return members


def _refuse_constant(word: str) -> None:
    raise NotJson(f"{word} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_int=Whole, parse_float=Fraction, parse_constant=_refuse_constant)


def read_json(text: str) -> tuple[Any, str]:
    """The value that opens the text, and what follows it after white space.

    Numbers come as they are written, as Whole or Fraction. Raises NotJson.
    """
    start = _end_of_space(text, 0)
    if _is_too_deep(text):
        raise NotJson(f"it is nested more than {MAX_DEPTH} levels deep")
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (json.JSONDecodeError, RecursionError) as error:
        raise NotJson("it is no JSON") from error
    if end < len(text) and not _may_follow(value, text[end]):
        raise NotJson("a number or a word goes on after its end")
    return value, text[_end_of_space(text, end) :]


def _end_of_space(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return start if match is None else match.end()


def _may_follow(value: Any, char: str) -> bool:
    """Whether the character may come right after the outermost value: 01 and nullx are not a value and what follows it."""
    if isinstance(value, Whole | Fraction):
        return char in " \t\n\r"
    return not (value is None or isinstance(value, bool)) or not (char.isalnum() or char in "_$")


def _is_too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match.group(), 0)
        if depth > MAX_DEPTH:
            return True
    return False


@lru_cache(maxsize=64)
def read_schema(text: str) -> SparkType:
    """The struct that a Spark schema describes, of types that JSON holds: `id INT NOT NULL, tags ARRAY<STRING>`.

    Raises SchemaUnreadable.
    """
    schema = spark_types.read_schema(text)
    for type in schema.within():
        if type.key is not None and type.key.name != "string":
            raise SchemaUnreadable("has a map whose keys are no STRING, as the keys of JSON are")
        if type.name in ("char", "varchar"):
            raise SchemaUnreadable(f"has the type {type}, whose length a JSON text does not keep; write STRING")
    return schema


def conforms(value: Any, type: SparkType) -> bool:
    """Whether a value that `read_json` read is one of the type. null is one of every type; a required member refuses it."""
    if value is None:
        return True
    match type.name:
        case "struct":
            return isinstance(value, dict) and all(_member_conforms(value.get(member.name), member) for member in type.members)
        case "array":
            return isinstance(value, list) and type.inner is not None and all(conforms(one, type.inner) for one in value)
        case "map":
            return isinstance(value, dict) and type.inner is not None and all(conforms(one, type.inner) for one in value.values())
        case "string" | "variant" | "void":
            return True
        case "boolean":
            return isinstance(value, bool)
        case "tinyint" | "smallint" | "int" | "bigint":
            return isinstance(value, Whole) and _fits(value, _BITS[type.name])
        case "float" | "double":
            return isinstance(value, Whole | Fraction) or (isinstance(value, str) and value in _NOT_FINITE)
        case "decimal":
            return isinstance(value, str) and _is_decimal(value, type)
        case "timestamp" if isinstance(value, Whole):
            return _fits(value, 64)
        case _:
            return isinstance(value, str) and not isinstance(value, Whole | Fraction) and _TEXTS[type.name](value)


def _member_conforms(value: Any, member: SparkMember) -> bool:
    return not (member.is_required and value is None) and conforms(value, member.type)


_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_NOT_FINITE = frozenset(["NaN", "Infinity", "+Infinity", "-Infinity", "+INF", "-INF"])
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(r"(?P<year>[+-]?[0-9]{4,7})(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2})(?P<rest>[ T].*)?)?)?", re.DOTALL)
_TIME = re.compile(r"(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})(?:\.[0-9]*)?)?)?(?P<zone>.*)", re.DOTALL)
_ZONE = re.compile(r" ?(?:Z|(?:UTC|GMT|UT)?(?:[+-][0-9]{1,2}(?::?[0-9]{1,2}(?::?[0-9]{2})?)?)?|[A-Za-z]+(?:/[A-Za-z0-9_+-]+)+)")
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _fits(number: str, bits: int) -> bool:
    return len(number) <= 20 and -(2 ** (bits - 1)) <= int(number) < 2 ** (bits - 1)


def _is_decimal(text: str, type: SparkType) -> bool:
    """Whether the number, rounded half up to the scale, has no more digits than the precision; in a text commas are left out."""
    plain = text if isinstance(text, Whole | Fraction) else text.replace(",", "")
    if _DECIMAL.fullmatch(plain) is None:
        return False
    try:
        number = Decimal(plain)
    except InvalidOperation:  # an exponent beyond every decimal
        return False
    precision, scale = type.arguments
    limit = Decimal((0, (9,) * precision + (5,), -scale - 1))
    return number.copy_abs() < limit


def _is_date(text: str) -> bool:
    """Whether Spark reads the text as a date: a year, a month or a day, whatever comes after it, or a number of days."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return re.fullmatch(r"[+-]?[0-9]+", text) is not None and _fits(text, 32)
    return _is_day(match)


def _is_day(match: re.Match[str]) -> bool:
    year, month, day = int(match["year"]), int(match["month"] or 1), int(match["day"] or 1)
    if not 1 <= month <= 12:
        return False
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= _DAYS[month - 1] + (is_leap and month == 2)


def _is_stamp(text: str, *, has_zone: bool) -> bool:
    """Whether Spark reads the text as a timestamp: a date, a date and a time, or a time alone where there may be a zone."""
    plain = text.strip()
    match = _DATE.fullmatch(plain)
    if match is None:
        return has_zone and ":" in plain and _is_time(plain.removeprefix("T"), has_zone=has_zone)
    if not _is_day(match) or len(match["year"].lstrip("+-")) > 6:
        return False
    return match["rest"] is None or _is_time(match["rest"][1:], has_zone=has_zone)


def _is_time(text: str, *, has_zone: bool) -> bool:
    match = _TIME.fullmatch(text)
    if match is None or int(match["hour"]) > 23 or int(match["minute"] or 0) > 59 or int(match["second"] or 0) > 59:
        return False
    return not match["zone"] or (has_zone and _ZONE.fullmatch(match["zone"]) is not None)


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


_TEXTS: dict[str, Callable[[str], bool]] = {
    "binary": _is_base64,
    "date": _is_date,
    "timestamp": lambda text: _is_stamp(text, has_zone=True),
    "timestamp_ntz": lambda text: _is_stamp(text, has_zone=False),
}
