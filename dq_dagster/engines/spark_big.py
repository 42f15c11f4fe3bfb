"""Whole numbers of up to 78 digits, which Spark lacks: each is three numbers of 26 digits, which are summed one by one.

Checks sum decimals of 38 digits and more with them. A sum is then moved above zero and read as text, which is all that
is needed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dq_dagster import sql

if TYPE_CHECKING:
    from dq_dagster.engines.spark_sql import Rewriter

_DIGITS, _LIMBS = 26, 3
_BASE = 10**_DIGITS
_LIMB = "DECIMAL(38, 0)"


def is_big(node: Any) -> bool:
    """Whether the expression is such a number."""
    if isinstance(node, exp.Cast):
        return node.args["to"].this == exp.DType.BIGNUM
    if isinstance(node, exp.Add | exp.Sub | exp.Sum | exp.Filter | exp.Paren):
        return is_big(node.this)
    return False


def big_text(rewriter: Rewriter, node: Any) -> exp.Expr:
    """The number as text, where it is not negative."""
    high, middle, low = _limbs(rewriter, node)
    low_digits = _call("pmod", low, _limb(_BASE))
    middle = exp.Add(this=middle, expression=_carried(low, low_digits))
    middle_digits = _call("pmod", exp.paren(middle), _limb(_BASE))
    high = exp.Add(this=high, expression=_carried(middle, middle_digits))
    text = _call(
        "concat",
        *(
            _call("lpad", _cast(limb, "STRING"), sql.integer(_DIGITS), sql.text("0"))
            for limb in (exp.paren(high), middle_digits, low_digits)
        ),
    )
    return exp.Trim(this=text, expression=sql.text("0"), position="LEADING")


def _carried(limb: exp.Expr, digits: exp.Expr) -> exp.Expr:
    rest = exp.paren(exp.Sub(this=exp.paren(limb), expression=digits.copy()))
    return _cast(exp.IntDiv(this=rest, expression=_limb(_BASE)), _LIMB)


def _limbs(rewriter: Rewriter, node: Any) -> list[exp.Expr]:
    if isinstance(node, exp.Paren):
        return _limbs(rewriter, node.this)
    if isinstance(node, exp.Filter):
        condition = rewriter.visit(node.expression.this)
        return [exp.Filter(this=limb, expression=exp.Where(this=condition.copy())) for limb in _limbs(rewriter, node.this)]
    if isinstance(node, exp.Sum):
        return [exp.Sum(this=limb) for limb in _limbs(rewriter, node.this)]
    if isinstance(node, exp.Add | exp.Sub):
        sides = zip(_limbs(rewriter, node.this), _limbs(rewriter, node.expression), strict=True)
        return [exp.paren(type(node)(this=left, expression=right)) for left, right in sides]
    if isinstance(node.this, exp.Literal):
        number = int(node.this.name)
        return [_limb(number // _BASE**place % _BASE) for place in reversed(range(_LIMBS))]
    return _limbs_of_text(rewriter.visit(node.this))


def _limbs_of_text(text: exp.Expr) -> list[exp.Expr]:
    digits = _call("lpad", _call("replace", text, sql.text("-"), sql.text("")), sql.integer(_DIGITS * _LIMBS), sql.text("0"))
    is_negative = _call("startswith", text.copy(), sql.text("-"))
    limbs = [
        _cast(_call("substring", digits.copy(), sql.integer(1 + _DIGITS * place), sql.integer(_DIGITS)), _LIMB) for place in range(_LIMBS)
    ]
    return [exp.Case(ifs=[exp.If(this=is_negative.copy(), true=exp.Neg(this=limb))], default=limb.copy()) for limb in limbs]


def _limb(number: int) -> exp.Expr:
    return _cast(sql.text(str(number)), _LIMB)


def _cast(value: exp.Expr, kind: str) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType.build(kind, dialect="spark"))


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])
