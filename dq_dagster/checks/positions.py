"""Where the values of an ordered column stand, so that the gap between neighbours can be measured exactly.

A domain turns a column into positions: integers of a time unit for instants and days, exact decimals for numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Literal

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.table import Value, transported
from dq_dagster.rendering import UNITS_PER_SECOND, date_text, is_wide_decimal, plain_number, shortest_text, timestamp_text

Domain = Literal["instants", "days", "whole numbers", "decimals", "floats", "text", "none", "unordered", "too wide"]

_EXACT = Context(prec=700)
_ISO = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$"
_NUMBER = r"^[+-]?\d{1,19}(\.\d{1,18})?$"


@dataclass(frozen=True, slots=True)
class Gap:
    """Two neighbouring values, in words, and how far apart they are: in seconds between instants, else in own units."""

    start: str
    end: str
    width: Decimal


def domain_of(kind: pa.DataType) -> Domain:
    """Which domain the type's values are measured in."""
    if pa.types.is_timestamp(kind):
        return "instants"
    if pa.types.is_date(kind):
        return "days"
    if pa.types.is_integer(kind):
        return "whole numbers"
    if is_wide_decimal(kind):
        return "too wide"
    if pa.types.is_decimal(kind):
        return "decimals"
    if pa.types.is_floating(kind):
        return "floats"
    if pa.types.is_string(kind):
        return "text"
    return "none" if pa.types.is_null(kind) else "unordered"


def neighbours(relation: str, column: Value) -> exp.Query:
    """One row a distinct value: its position `v`, its neighbour's before it, and the `gap`; more for floats and text."""
    domain = domain_of(column.type)
    position = column.expression
    if domain in ("instants", "days"):
        position = transported(column.expression, column.type)
    distinct = sql.select_from(relation, {"x": position}).where(exp.not_(sql.is_null(column.expression.copy()))).distinct()
    x = sql.column("x")
    if domain == "text":
        parsed = sql.select_from(distinct, {"ts": _instant_of_text(x), "num": _number_of_text(x)})
        return sql.select_from(
            parsed,
            {"ts": sql.column("ts"), **_steps(sql.column("ts"), "ts_"), "num": sql.column("num"), **_steps(sql.column("num"), "num_")},
        )
    if domain == "floats":
        exact = sql.try_cast(sql.cast(x, "VARCHAR"), "DECIMAL(38, 18)")
        both = sql.select_from(distinct, {"x": x, "d": exact})
        back = sql.cast(sql.column("d"), "DOUBLE" if pa.types.is_float64(column.type) else "FLOAT")
        is_exact = sql.call("coalesce", exp.EQ(this=back, expression=x.copy()), exp.false())
        return sql.select_from(both, {"x": x, **_steps(x, ""), **_steps(sql.column("d"), "d_"), "is_exact": is_exact})
    wide = sql.cast(x, "HUGEINT") if domain != "decimals" else sql.cast(x, f"DECIMAL(38, {column.type.scale})")
    return sql.select_from(sql.select_from(distinct, {"x": wide}), {"x": x, **_steps(x, "")})


def _steps(value: exp.Expr, prefix: str) -> dict[str, exp.Expr]:
    before = exp.Window(this=sql.call("lag", value.copy()), order=exp.Order(expressions=[exp.Ordered(this=value.copy(), nulls_first=True)]))
    return {f"{prefix}from": before, f"{prefix}to": value.copy(), f"{prefix}gap": exp.Sub(this=value.copy(), expression=before.copy())}


def _instant_of_text(text: exp.Expr) -> exp.Expr:
    """Nanoseconds since 1970 of ISO 8601 text, NULL where it is none; text without a zone is UTC."""
    whole = exp.Anonymous(this="regexp_replace", expressions=[text.copy(), sql.text(r"\.\d+"), sql.text("")])
    micros = sql.cast(sql.call("epoch_us", sql.try_cast(whole, "TIMESTAMPTZ")), "HUGEINT")
    fraction = exp.Anonymous(this="regexp_extract", expressions=[text.copy(), sql.text(r"\.(\d+)"), sql.integer(1)])
    nanos = sql.cast(
        exp.Anonymous(
            this="rpad", expressions=[exp.Anonymous(this="concat", expressions=[fraction, sql.text("0")]), sql.integer(9), sql.text("0")]
        ),
        "HUGEINT",
    )
    instant = exp.Add(this=exp.Mul(this=micros, expression=sql.integer(1000)), expression=nanos)
    return _where_it_matches(text, _ISO, instant)


def _number_of_text(text: exp.Expr) -> exp.Expr:
    return _where_it_matches(text, _NUMBER, sql.try_cast(text.copy(), "DECIMAL(38, 18)"))


def _where_it_matches(text: exp.Expr, pattern: str, value: exp.Expr) -> exp.Expr:
    matches = exp.Anonymous(this="regexp_matches", expressions=[text.copy(), sql.text(pattern)])
    return exp.Case(ifs=[exp.If(this=matches, true=value)])


def widest(prefix: str, count: int) -> exp.Expr:
    """The widest gaps of a prefix's columns, the earliest of equals first, as a list of structs."""
    gap, start, end = (sql.column(f"{prefix}{name}") for name in ("gap", "from", "to"))
    pair = sql.struct({"minus": exp.Neg(this=gap), "from": start, "to": end})
    return sql.where(sql.smallest(pair, count), exp.not_(sql.is_null(gap.copy())))


def gap_of(found: Mapping[str, Any], column: Value, *, is_text_time: bool = False) -> Gap:
    """The gap that `widest` found, exactly."""
    start, end = found["from"], found["to"]
    kind = column.type
    if is_text_time or pa.types.is_timestamp(kind):
        unit = "ns" if is_text_time or kind.unit == "ns" else "us"
        width = _EXACT.divide(Decimal(int(end) - int(start)), Decimal(UNITS_PER_SECOND[unit]))
        return Gap(timestamp_text(int(start), unit), timestamp_text(int(end), unit), width)
    if pa.types.is_date(kind):
        return Gap(date_text(int(start)), date_text(int(end)), Decimal((int(end) - int(start)) * 86_400))
    if pa.types.is_floating(kind) and isinstance(start, float):
        bits = 64 if pa.types.is_float64(kind) else 32
        texts = shortest_text(start, bits=bits), shortest_text(end, bits=bits)
        return Gap(*texts, _EXACT.subtract(Decimal(texts[1]), Decimal(texts[0])))
    first, last = Decimal(start), Decimal(end)
    return Gap(plain_number(first), plain_number(last), _EXACT.subtract(last, first))
