"""Exact comparison of a column with a decimal bound, whatever the column's type."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.rendering import first_float_at_or_above, float_bits, is_wide_decimal, last_float_at_or_below, wide_decimal_text

_EXACT = Context(prec=160)


def is_number(kind: pa.DataType) -> bool:
    """Whether values of the type can be ordered against a number."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def below(value: exp.Expr, bound: Decimal, *, kind: pa.DataType) -> exp.Expr:
    """True where the value is below the bound. NULL and NaN are not."""
    if pa.types.is_floating(kind):
        return value.copy() < sql.double(first_float_at_or_above(bound, bits=float_bits(kind)))
    if is_wide_decimal(kind):
        return value.copy() < sql.text(wide_decimal_text(bound, kind.scale, upwards=True))
    return _crossed(value, bound, kind=kind, is_below=True)


def above(value: exp.Expr, bound: Decimal, *, kind: pa.DataType) -> exp.Expr:
    """True where the value is above the bound, and where it is NaN. NULL is not."""
    if pa.types.is_floating(kind):
        return value.copy() > sql.double(last_float_at_or_below(bound, bits=float_bits(kind)))
    if is_wide_decimal(kind):
        return value.copy() > sql.text(wide_decimal_text(bound, kind.scale))
    return _crossed(value, bound, kind=kind, is_below=False)


def is_inside(found: int | float | Decimal, low: Decimal, high: Decimal, *, kind: pa.DataType) -> bool:
    """Whether a value that was found is neither below nor above nor NaN, by the same comparison."""
    if isinstance(found, float):
        bits = float_bits(kind)
        return first_float_at_or_above(low, bits=bits) <= found <= last_float_at_or_below(high, bits=bits)
    return low <= found <= high


def _crossed(value: exp.Expr, bound: Decimal, *, kind: pa.DataType, is_below: bool) -> exp.Expr:
    """The comparison on the type's own grid, so that the bound's literal is of the column's type."""
    scale, lowest, highest = _grid(kind)
    scaled = bound.scaleb(scale, context=_EXACT)
    on_grid = int(scaled.to_integral_value(ROUND_CEILING if is_below else ROUND_FLOOR))
    if on_grid <= lowest if is_below else on_grid >= highest:
        return exp.false()
    if on_grid > highest if is_below else on_grid < lowest:
        return exp.not_(sql.is_null(value.copy()))
    literal = sql.integer(on_grid)
    if pa.types.is_decimal(kind):
        literal = sql.decimal(Decimal(on_grid).scaleb(-scale, context=_EXACT), precision=kind.precision, scale=kind.scale)
    return value.copy() < literal if is_below else value.copy() > literal


def _grid(kind: pa.DataType) -> tuple[int, int, int]:
    """Scale, lowest and highest unscaled value of an integer or decimal type."""
    if pa.types.is_decimal(kind):
        return kind.scale, -(10**kind.precision) + 1, 10**kind.precision - 1
    bits = kind.bit_width
    return (0, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if pa.types.is_signed_integer(kind) else (0, 0, 2**bits - 1)
