"""The two sides of a comparison, in types that an engine compares exactly and as Spark does.

NaN equals NaN and is above infinity, -0.0 equals 0.0. Numbers compare as numbers whatever their types, exactly where
neither is a float and as doubles where one is. Text against a number is read as a number, a day against an instant is
its midnight, and an instant without a zone is in UTC. A cell that cannot be read so compares as NULL: unknown.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.bounds import is_number
from dq_dagster.checks.fields import Bound
from dq_dagster.checks.table import CheckedTable, Value
from dq_dagster.errors import DoesNotFit
from dq_dagster.rendering import is_wide_decimal, wide_decimal_text

Sides = tuple[exp.Expr, exp.Expr]
_DIGITS = 38
_TEXT_AS_INTEGER = pa.decimal128(_DIGITS, 10)
_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_MICROSECONDS_A_DAY = 86_400_000_000


def operands(value: Value, bound: Bound, table: CheckedTable) -> Sides:
    """The value and the bound, ready to be compared. Raises DoesNotFit where their types cannot be."""
    return sides(value.expression, value.type, bound, table)


def sides(value: exp.Expr, kind: pa.DataType, bound: Bound, table: CheckedTable) -> Sides:
    """An expression of the type and the bound, ready to be compared. Raises DoesNotFit."""
    ref = bound.as_column()
    if ref is None:
        return with_literal(value, kind, bound.root)
    other = table.value(ref)
    if isinstance(other.expression.unnest(), exp.Null):
        return value.copy(), exp.Null()
    return aligned(value, kind, other.expression, other.type)


def bound_value(bound: Bound, like: pa.DataType, table: CheckedTable) -> exp.Expr:
    """The bound by itself, as a value of the type; NULL where a cell cannot be read so. Raises DoesNotFit."""
    ref = bound.as_column()
    if ref is None:
        return _literal_of(bound.root, like)
    other = table.value(ref)
    return other.expression.copy() if other.type == like else _converted(other.expression, other.type, like)


def with_literal(value: exp.Expr, kind: pa.DataType, literal: Any) -> Sides:
    """An expression of the type and a literal, ready to be compared. Raises DoesNotFit."""
    types = pa.types
    if isinstance(literal, str) and not types.is_string(kind):
        literal = _read_as(literal, kind)
    if types.is_string(kind) and not isinstance(literal, str):
        return _text_with_literal(value, literal)
    if types.is_timestamp(kind) or types.is_date(kind):
        return _time_with_literal(value, kind, literal)
    if is_wide_decimal(kind) and _is_plain_number(literal):
        below = wide_decimal_text(Decimal(literal), kind.scale)
        is_between = below != wide_decimal_text(Decimal(literal), kind.scale, upwards=True)
        return value.copy(), sql.text(f"{below}5" if is_between else below)
    if types.is_floating(kind) and (_is_plain_number(literal) or isinstance(literal, float)):
        return _double(value, kind), sql.double(float(Decimal(literal)))
    if is_number(kind) and _is_plain_number(literal):
        return _exact(value, kind, Decimal(literal))
    return value.copy(), _literal_of(literal, kind)


def aligned(left: exp.Expr, left_kind: pa.DataType, right: exp.Expr, right_kind: pa.DataType) -> Sides:
    """Two expressions of these types, ready to be compared. Raises DoesNotFit."""
    types = pa.types
    if left_kind == right_kind or types.is_null(left_kind) or types.is_null(right_kind):
        return left.copy(), right.copy()
    if types.is_string(left_kind):
        kind = _read_to_meet(right_kind)
        return aligned(_converted(left, left_kind, kind), kind, right, right_kind)
    if types.is_string(right_kind):
        turned = aligned(right, right_kind, left, left_kind)
        return turned[1], turned[0]
    if is_number(left_kind) and is_number(right_kind) and not is_wide_decimal(left_kind) and not is_wide_decimal(right_kind):
        return _numbers(left, left_kind, right, right_kind)
    if _is_time(left_kind) and _is_time(right_kind):
        return _times(left, left_kind, right, right_kind)
    if types.is_nested(left_kind) and types.is_nested(right_kind) and type(left_kind) is type(right_kind):
        return left.copy(), right.copy()
    raise DoesNotFit(f"compares values of the type {left_kind} with values of the type {right_kind}; cast one of them in an expression")


def _is_plain_number(literal: Any) -> bool:
    return isinstance(literal, (int, Decimal)) and not isinstance(literal, bool)


def _is_time(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) or pa.types.is_date(kind)


def _read_to_meet(kind: pa.DataType) -> pa.DataType:
    """The type that text is read as, to be compared with values of this type."""
    if pa.types.is_integer(kind):
        return _TEXT_AS_INTEGER
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC")
    return pa.float64() if is_number(kind) else kind


def instant_of(text: str) -> dt.datetime | dt.date | None:
    """The day or the instant that ISO 8601 text means; None where it means none."""
    written = text.strip()
    try:
        return dt.date.fromisoformat(written)
    except ValueError:
        pass
    try:
        return dt.datetime.fromisoformat(f"{written[:-1]}+00:00" if written[-1:] in ("Z", "z") else written)
    except ValueError:
        return None


def _read_as(text: str, kind: pa.DataType) -> Any:
    """A text literal as a literal for a column of another type. Raises DoesNotFit where it cannot be read so."""
    types = pa.types
    read: Any = text
    if is_number(kind):
        read = _number_of(text, is_float=types.is_floating(kind))
    elif _is_time(kind):
        read = instant_of(text)
    elif types.is_boolean(kind):
        read = {"true": True, "false": False}.get(text.strip().lower())
    if read is None:
        raise DoesNotFit(
            f"compares values of the type {kind} with the text {text!r}, which cannot be read as such a value; state one that can"
        )
    return read


def _number_of(text: str, *, is_float: bool) -> Decimal | float | None:
    if "_" in text:
        return None
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else float(number) if is_float else None


def _literal_of(literal: Any, kind: pa.DataType) -> exp.Expr:
    """A literal as a value of the type. Raises DoesNotFit."""
    types = pa.types
    if isinstance(literal, str) and not types.is_string(kind):
        literal = _read_as(literal, kind)
    match literal:
        case bool() if types.is_boolean(kind):
            return exp.true() if literal else exp.false()
        case bool() if types.is_string(kind):
            return sql.text("true" if literal else "false")
        case bool():
            pass
        case str() if types.is_binary(kind):
            return sql.call("encode", sql.text(literal))
        case str() if types.is_string(kind):
            return sql.text(literal)
        case str() if types.is_time(kind):
            return sql.try_cast(sql.text(literal), "TIME")
        case int() | Decimal() | float() if types.is_floating(kind):
            return sql.double(float(Decimal(literal)))
        case int() | Decimal() if types.is_integer(kind) and literal == int(literal):
            return sql.integer(int(literal))
        case int() | Decimal() if types.is_decimal(kind) and not is_wide_decimal(kind):
            return exact_number(Decimal(literal))
        case dt.datetime() if types.is_timestamp(kind):
            return _instant(literal, kind)
        case dt.date() if types.is_timestamp(kind):
            return _instant(dt.datetime(literal.year, literal.month, literal.day), kind)
        case dt.date() if types.is_date(kind) and not isinstance(literal, dt.datetime):
            return sql.cast(sql.text(literal.isoformat()), "DATE")
        case _:
            pass
    raise DoesNotFit(f"compares values of the type {kind} with {literal!s}, which is of another type; state one of that type")


def exact_number(number: Decimal) -> exp.Expr:
    """A number of up to 38 digits exactly, else the nearest double."""
    whole, scale = _digits(number)
    if scale == 0 and whole <= _DIGITS:
        return sql.integer(int(number))
    if whole + scale > _DIGITS:
        return sql.double(float(number))
    return sql.decimal(number, precision=max(whole + scale, 1), scale=scale)


def _digits(number: Decimal) -> tuple[int, int]:
    """How many digits stand before and behind the point, without needless zeros."""
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    trailing = 0
    while exponent + trailing < 0 and trailing < len(digits) and digits[len(digits) - 1 - trailing] == 0:
        trailing += 1
    scale = 0 if not number else max(0, -(exponent + trailing))
    return max(0, number.adjusted() + 1) if number else 0, scale


def _converted(value: exp.Expr, kind: pa.DataType, wanted: pa.DataType) -> exp.Expr:
    """The expression as another type; NULL where a cell is no such value."""
    types = pa.types
    if kind == wanted or (types.is_string(kind) and types.is_string(wanted)):
        return value.copy()
    if types.is_string(kind) and is_number(wanted):
        # DuckDB reads 1_000 as a number, which nobody means.
        read = sql.try_cast(value, _sql_type(wanted))
        return exp.If(this=sql.call("contains", value, sql.text("_")), true=exp.Null(), false=read)
    return sql.try_cast(value, _sql_type(wanted))


def _sql_type(kind: pa.DataType) -> str:
    """The name of a type that values are converted to here."""
    types = pa.types
    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if types.is_timestamp(kind):
        return "TIMESTAMPTZ" if kind.tz else "TIMESTAMP"
    names: list[tuple[Any, str]] = [
        (types.is_floating, "DOUBLE"), (types.is_boolean, "BOOLEAN"), (types.is_date, "DATE"), (types.is_time, "TIME"),
        (types.is_binary, "BLOB"), (types.is_string, "VARCHAR"),
    ]  # fmt: skip
    for is_of, name in names:
        if is_of(kind):
            return name
    raise DoesNotFit(f"compares text with values of the type {kind}; cast one of them in an expression")


def as_double(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """A number, or text that is one, as a double; NULL where text is none. Raises DoesNotFit for other types."""
    if not (is_number(kind) or pa.types.is_string(kind)) or is_wide_decimal(kind):
        raise DoesNotFit(f"measures how far values of the type {kind} are from a number; name a column of numbers")
    return _converted(value, kind, pa.float64()) if pa.types.is_string(kind) else _double(value, kind)


def _double(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    return value.copy() if pa.types.is_float64(kind) else sql.cast(value, "DOUBLE")


def _text_with_literal(value: exp.Expr, literal: Any) -> Sides:
    """Text is read as what the literal is."""
    if isinstance(literal, bool):
        return _converted(value, pa.string(), pa.bool_()), _literal_of(literal, pa.bool_())
    if isinstance(literal, int) and len(str(abs(literal))) <= _TEXT_AS_INTEGER.precision - _TEXT_AS_INTEGER.scale:
        return _converted(value, pa.string(), _TEXT_AS_INTEGER), sql.integer(literal)
    if isinstance(literal, (int, float, Decimal)):
        return _converted(value, pa.string(), pa.float64()), sql.double(float(Decimal(literal)))
    if isinstance(literal, dt.datetime):
        kind = pa.timestamp("us", "UTC")
        return _converted(value, pa.string(), kind), _instant(literal, kind)
    return _converted(value, pa.string(), pa.date32()), _literal_of(literal, pa.date32())


def _exact(value: exp.Expr, kind: pa.DataType, literal: Decimal) -> Sides:
    """A whole or decimal number and a literal: on the grid of both where 38 digits hold it, else in two parts."""
    whole, scale = _digits(literal)
    if pa.types.is_integer(kind) and scale == 0 and whole <= _DIGITS - 1:
        return value.copy(), sql.integer(int(literal))
    own_whole, own_scale = _shape(kind)
    wide, fine = max(whole, own_whole), max(scale, own_scale)
    if wide + fine > _DIGITS:
        return _parts(value, kind), _literal_parts(literal)
    needs_cast = pa.types.is_integer(kind) or (wide, fine) != (own_whole, own_scale)
    precision = max(wide + fine, 1)
    return sql.cast(value, f"DECIMAL({precision}, {fine})") if needs_cast else value.copy(), sql.decimal(
        literal, precision=precision, scale=fine
    )


def _shape(kind: pa.DataType) -> tuple[int, int]:
    """How many digits a whole or decimal type has before and behind the point."""
    if pa.types.is_decimal(kind):
        return kind.precision - kind.scale, kind.scale
    return _INTEGER_DIGITS[kind.bit_width], 0


def _parts(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """The number as its floor and what is above it: compared one after the other, they order as the numbers do."""
    whole, part = value, sql.integer(0)
    if pa.types.is_decimal(kind) and kind.scale:
        whole = sql.call("floor", value)
        part = exp.paren(exp.Sub(this=value.copy(), expression=whole.copy()))
    both = sql.struct({"whole": sql.cast(whole, "DECIMAL(38, 0)"), "part": sql.cast(part, "DECIMAL(38, 37)")})
    return exp.If(this=sql.is_null(value), true=exp.Null(), false=both)


def _literal_parts(literal: Decimal) -> exp.Expr:
    """The literal as its floor and what is above it. What 38 digits do not hold lies beyond every value."""
    numerator, denominator = literal.as_integer_ratio()
    whole, rest = divmod(numerator, denominator)
    part = Decimal(rest * 10**37 // denominator).scaleb(-37)
    if rest and not part:
        part = Decimal(1).scaleb(-37)
    highest = 10**_DIGITS - 1
    if abs(whole) > highest:
        whole, part = (highest, Decimal("0.5")) if whole > 0 else (-highest, Decimal("-0.5"))
    return sql.struct({"whole": sql.decimal(Decimal(whole), precision=38, scale=0), "part": sql.decimal(part, precision=38, scale=37)})


def _numbers(left: exp.Expr, left_kind: pa.DataType, right: exp.Expr, right_kind: pa.DataType) -> Sides:
    """Two numbers of different types."""
    if pa.types.is_floating(left_kind) or pa.types.is_floating(right_kind):
        return _double(left, left_kind), _double(right, right_kind)
    if pa.types.is_integer(left_kind) and pa.types.is_integer(right_kind):
        return left.copy(), right.copy()
    (left_whole, left_scale), (right_whole, right_scale) = _shape(left_kind), _shape(right_kind)
    whole, scale = max(left_whole, right_whole), max(left_scale, right_scale)
    if whole + scale > _DIGITS:
        return _parts(left, left_kind), _parts(right, right_kind)
    return sql.cast(left, f"DECIMAL({whole + scale}, {scale})"), sql.cast(right, f"DECIMAL({whole + scale}, {scale})")


def _instant(literal: dt.datetime, kind: pa.DataType) -> exp.Expr:
    """The instant as a timestamp with or without a zone; one without is in UTC."""
    zoned = literal if literal.tzinfo is not None else literal.replace(tzinfo=dt.timezone.utc)
    utc = zoned.astimezone(dt.timezone.utc)
    return (
        sql.cast(sql.text(utc.isoformat()), "TIMESTAMPTZ")
        if kind.tz
        else sql.cast(sql.text(utc.replace(tzinfo=None).isoformat()), "TIMESTAMP")
    )


def _time_with_literal(value: exp.Expr, kind: pa.DataType, literal: Any) -> Sides:
    if not isinstance(literal, dt.date):
        return value.copy(), _literal_of(literal, kind)
    if pa.types.is_date(kind) and not isinstance(literal, dt.datetime):
        return value.copy(), _literal_of(literal, kind)
    moment = literal if isinstance(literal, dt.datetime) else dt.datetime(literal.year, literal.month, literal.day)
    if pa.types.is_timestamp(kind) and kind.unit != "ns":
        return value.copy(), _instant(moment, kind)
    since = (moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.timezone.utc)) - _EPOCH
    microseconds = since // dt.timedelta(microseconds=1)
    if pa.types.is_timestamp(kind):
        return sql.call("epoch_ns", value), sql.integer(microseconds * 1_000)
    return _microseconds(value, kind), sql.integer(microseconds)


def _microseconds(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """Microseconds since 1970, exactly; whole nanoseconds are not among what this is asked for."""
    if pa.types.is_date(kind):
        days = exp.paren(exp.Sub(this=value.copy(), expression=sql.cast(sql.text("1970-01-01"), "DATE")))
        return exp.Mul(this=sql.cast(days, "HUGEINT"), expression=sql.integer(_MICROSECONDS_A_DAY))
    return sql.call("epoch_us", value)


def _times(left: exp.Expr, left_kind: pa.DataType, right: exp.Expr, right_kind: pa.DataType) -> Sides:
    """Days and instants of different types, as whole numbers since 1970."""
    if pa.types.is_date(left_kind) and pa.types.is_date(right_kind):
        return left.copy(), right.copy()
    if not any(pa.types.is_timestamp(kind) and kind.unit == "ns" for kind in (left_kind, right_kind)):
        return _microseconds(left, left_kind), _microseconds(right, right_kind)

    def nanoseconds(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            return sql.call("epoch_ns", value)
        return exp.Mul(this=sql.cast(_microseconds(value, kind), "HUGEINT"), expression=sql.integer(1_000))

    return nanoseconds(left, left_kind), nanoseconds(right, right_kind)


def is_within(left: Value, right: Value, *, abs_tolerance: Decimal, rel_tolerance: Decimal) -> exp.Expr:
    """Whether two numbers differ by no more than `abs_tolerance`, or than `rel_tolerance` of the larger: both inclusive.

    As in DQX, NaN and infinity are within any tolerance. What is no number is within it where it is equal.
    """
    if wide := [side for side in (left, right) if is_wide_decimal(side.type)]:
        raise DoesNotFit(
            f"allows {wide[0].label}, of the type {wide[0].type}, to differ by a tolerance; take the tolerance or the column out"
        )
    if not all(is_number(side.type) for side in (left, right)):
        sides = aligned(left.expression, left.type, right.expression, right.type)
        return exp.EQ(this=sides[0], expression=sides[1])
    is_float = any(pa.types.is_floating(side.type) for side in (left, right))
    one, other = ((_double if is_float else _subtractable)(side.expression, side.type) for side in (left, right))
    apart = sql.call("abs", exp.Sub(this=one, expression=other))
    allowed = sql.double(float(abs_tolerance)) if is_float else exact_number(abs_tolerance)
    larger = sql.call("greatest", *(sql.call("abs", sql.cast(side.expression, "DOUBLE")) for side in (left, right)))
    share = exp.Mul(this=sql.double(float(rel_tolerance)), expression=larger)
    conditions = [exp.LTE(this=apart, expression=allowed)]
    if is_float or rel_tolerance:
        conditions.append(exp.LTE(this=apart.copy(), expression=share))
    return sql.any_of(conditions)


def _subtractable(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """A whole or decimal number in a type in which no difference of two overflows."""
    if pa.types.is_integer(kind):
        return sql.cast(value, "DECIMAL(38, 0)")
    return value.copy() if kind.precision < _DIGITS else sql.cast(value, "DOUBLE")
