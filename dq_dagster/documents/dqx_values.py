"""What stands in a DQX check's arguments, as a recipe's members: columns, values, SQL texts, queries."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast

from sqlglot import exp

from dq_dagster.documents.spark_sql import expression_of, is_expression, name_of, tree_of
from dq_dagster.expressions import ExpressionRefused

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:(Z)|([-+])(\d\d):?(\d\d)(?::?\d\d)?)?)?", re.ASCII
)
_QUOTED = re.compile(r"'((?:[^'\\]|''|\\.)*)'|\"((?:[^\"\\]|\"\"|\\.)*)\"", re.DOTALL)
_ESCAPED = re.compile(r"''|\"\"|\\(['\"\\])")
# Words that stand for a value where a name is looked for.
_VALUES_IN_WORDS = frozenset({"null", "true", "false", "current_date", "current_timestamp", "localtimestamp", "current_user"})


def column_of(text: str) -> str | dict[str, Any]:
    """The column that the text names, or the expression that it is. What is neither is a name all the same.

    Raises ExpressionRefused for an expression that is not allowed.
    """
    if (name := name_of(text)) is not None:
        return name
    return {"expression": expression_of(text)} if is_expression(text) else text


def value_of(value: Any) -> Any:
    """The value that an argument states, as a bound: text is digits, a date, a timestamp or an expression over the row.

    Raises ExpressionRefused.
    """
    if isinstance(value, Mapping):
        return _spelled(cast("Mapping[str, Any]", value))
    if not isinstance(value, str):
        return value
    if value.isascii() and value.isdigit():
        return int(value)
    if (quoted := _QUOTED.fullmatch(value.strip())) is not None:
        return _unquoted(quoted)
    return moment_of(value) or _of_expression(value)


def _unquoted(quoted: re.Match[str]) -> str:
    """The text of a literal: a quote is doubled or follows a backslash, a backslash may be; any other is a character."""
    single, double = quoted.groups()
    mark, text = ("'", single) if single is not None else ('"', double)
    return _ESCAPED.sub(lambda found: found.group(1) or (mark if found.group() == mark * 2 else found.group()), text)


def moment_of(text: str) -> dt.date | None:
    """The date or the instant that the text spells in ISO's way; None where it spells none."""
    found = _ISO.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, is_utc, sign, hours, minutes = found.groups()
    try:
        if hour is None:
            return dt.date(int(year), int(month), int(day))
        zone = dt.timezone.utc if is_utc else None
        if sign:
            offset = dt.timedelta(hours=int(hours), minutes=int(minutes))
            zone = dt.timezone(-offset if sign == "-" else offset)
        micro = int((fraction or "0")[:6].ljust(6, "0"))
        return dt.datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0), micro, zone)
    except ValueError:
        return None


def _spelled(value: Mapping[str, Any]) -> Any:
    """A value that only Python has, as DQX writes it into a document: `{__decimal__: '1.10'}`."""
    if list(value) == ["__decimal__"]:
        try:
            return Decimal(str(value["__decimal__"]))
        except ArithmeticError:
            raise ExpressionRefused("is no decimal number; write it like '1.10'") from None
    if list(value) == ["__expr__"]:
        return _of_expression(str(value["__expr__"]))
    raise ExpressionRefused("is a mapping, which is no value; write a number, a date, a quoted text or an expression")


def _of_expression(text: str) -> Any:
    name = name_of(text)
    is_name = name is not None and (" " not in text.strip() or "`" in text) and name.lower() not in _VALUES_IN_WORDS
    if is_name and not text[:1].isdigit():
        return {"column": name}
    literal = _literal(tree_of(text))
    if literal is not None:
        return literal
    return {"column": name} if is_name else {"expression": expression_of(text)}


def _literal(tree: exp.Expr) -> Any:
    """The constant that the tree is; None where it must be computed."""
    match tree:
        case exp.Paren():
            return _literal(tree.this)
        case exp.Neg():
            number = _literal(tree.this)
            return -number if isinstance(number, (int, Decimal)) and not isinstance(number, bool) else None
        case exp.Boolean():
            return bool(tree.this)
        case exp.Literal():
            return tree.name if tree.is_string else _number(tree.name)
        case exp.Cast() if isinstance(tree.this, exp.Literal) and tree.this.is_string and tree.to.this in exp.DataType.TEMPORAL_TYPES:
            return _as_typed(moment_of(tree.this.name), is_date=tree.to.this in (exp.DataType.Type.DATE, exp.DataType.Type.DATE32))
        case _:
            return None


def _number(text: str) -> int | Decimal | None:
    try:
        return int(text) if text.isdigit() else Decimal(text)
    except ArithmeticError:
        return None


def _as_typed(moment: dt.date | None, *, is_date: bool) -> dt.date | None:
    if moment is None or is_date == (not isinstance(moment, dt.datetime)):
        return moment
    return moment.date() if isinstance(moment, dt.datetime) else dt.datetime(moment.year, moment.month, moment.day)
