"""Judgements in Python: Spark says of most texts by itself that they are good, and hands over the others alone.

What it says is a part of what the judgement accepts, never more (docs/decisions/0061-spark-speed.md). A row that goes to
Python costs microseconds whatever is judged there, so that rows are left out before, and not only their texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.functions import RESERVED
from dq_dagster.checks.json_rules import MAX_DEPTH
from dq_dagster.engines.spark_sql import function, when

if TYPE_CHECKING:
    from dq_dagster.engines.spark_sql import Rewriter

IN_DOUBT = f"{RESERVED}in_doubt"
_SIGN = "dqendsign"
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


def as_judged(rewriter: Rewriter, node: Any, called: str) -> exp.Expr:
    """A judgement of a text: true where Spark knows that it is good; else Python is asked. NULL stays NULL."""
    text, parameter = (rewriter.visit(one) for one in node.expressions)
    sure = _surely(node.name.lower(), text, node.expressions[1].name)
    if sure is None:
        return function(called, text, parameter)
    asked = function(called, when(sure, exp.Null(), text.copy()), parameter)
    return function("coalesce", asked, when(exp.not_(sql.is_null(text)), exp.true(), exp.Null()))


def doubts_of(rewriter: Rewriter, condition: Any) -> list[exp.Expr]:
    """What holds, as Spark tells without Python, of every row for which the condition is true."""
    doubts: list[exp.Expr] = []
    for judged in _judged_in(condition):
        text = rewriter.visit(judged.expressions[0])
        if (sure := _surely(judged.name.lower(), text, judged.expressions[1].name)) is not None:
            doubts += [exp.not_(sql.is_null(text)), exp.not_(sure)]
    return doubts


def judged_counts(query: exp.Query) -> list[str]:
    """Which of a query's selects, by name, count rows that Python judges, where Spark can tell which rows are in doubt."""
    if not isinstance(query, exp.Select) or query.args.get("group") is not None or query.args.get("having") is not None:
        return []
    return [one.alias_or_name for one in query.selects if any(_judged_in(_counted(one.unalias())))]


def with_doubts(query: exp.Query, names: Sequence[str]) -> exp.Query:
    """The query with some of its counts made of the rows that are in doubt: no fewer than it would count."""
    if not names:
        return query
    more = query.copy()
    for one in more.selects:
        if one.alias_or_name in names:
            condition = _counted(one.unalias())
            condition.replace(exp.Anonymous(this=IN_DOUBT, expressions=[condition.copy()]))
    return more


def selecting(query: exp.Query, names: Sequence[str]) -> exp.Query:
    """The query with some of its selects alone."""
    less = query.copy()
    less.set("expressions", [one for one in less.selects if one.alias_or_name in names])
    return less


def among_doubtful(rewriter: Rewriter, node: exp.Select) -> exp.Expr | None:
    """True in the rows that are in doubt for one of a query's counts, where it selects nothing else; None where it does."""
    counts = judged_counts(node)
    if not counts or len(counts) < len(node.selects):
        return None
    return exp.or_(*(exp.and_(*doubts_of(rewriter, _counted(one.unalias()))) for one in node.selects))


def _counted(node: Any) -> Any:
    """The condition of a count of rows; None for anything else."""
    is_count = isinstance(node, exp.Filter) and isinstance(node.this, exp.Count) and isinstance(node.this.this, exp.Star)
    return node.expression.this if is_count else None


def _judged_in(condition: Any) -> Iterator[Any]:
    """The judgements that refuse every row for which the condition is true, as far as Spark knows of texts that they accept."""
    match condition:
        case exp.Paren():
            yield from _judged_in(condition.this)
        case exp.And():
            yield from _judged_in(condition.this)
            yield from _judged_in(condition.expression)
        case exp.Coalesce() if condition.expressions == [exp.false()]:
            yield from _judged_in(condition.this)
        case exp.Not() if _is_judgement(condition.this):
            text, parameter = condition.this.expressions
            if _surely(condition.this.name.lower(), text, parameter.name) is not None:
                yield condition.this
        case _:
            return


def _is_judgement(node: Any) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower().startswith(RESERVED)


def _surely(name: str, text: exp.Expr, parameter: str) -> exp.Expr | None:
    """True of texts that the judgement surely accepts; never NULL but for a NULL. None where Spark knows nothing of it."""
    match name:
        case "dq_is_json" if parameter:
            return _is_nothing_else(text)
        case "dq_is_json":
            return when(_opens_with(text, "{", "["), exp.not_(sql.is_null(_parsed(text))), exp.false())
        case "dq_has_json_keys":
            return _has_keys(text, parameter)
        case _:
            return None


def _parsed(text: exp.Expr) -> exp.Expr:
    """NULL where Spark's parser refuses the text, and where it might be nested more deeply than the rule allows."""
    without = function("translate", text.copy(), sql.text("[{"), sql.text(""))
    openings = exp.Sub(this=function("length", text.copy()), expression=function("length", without))
    is_short = exp.LTE(this=function("octet_length", text.copy()), expression=sql.integer(MAX_DEPTH))
    is_flat = exp.LTE(this=openings, expression=sql.integer(MAX_DEPTH))
    return when(exp.or_(is_short, is_flat), function("try_parse_json", text.copy()), exp.Null())


def _opens_with(text: exp.Expr, *signs: str) -> exp.Expr:
    """Whether the text opens with one of the signs. What follows a whole object or array is not looked at by either parser."""
    return exp.In(this=function("left", text.copy(), sql.integer(1)), expressions=[sql.text(sign) for sign in signs])


def _is_nothing_else(text: exp.Expr) -> exp.Expr:
    """Whether the text is a value and nothing besides: put into an array, it is followed by a sign that is not in it."""
    listed = function("concat", sql.text("["), text.copy(), sql.text(f',"{_SIGN}"]'))
    second = function("try_variant_get", _parsed(listed), sql.text("$[1]"), sql.text("string"))
    is_plain = exp.not_(exp.or_(function("contains", text.copy(), sql.text("\\")), function("contains", text.copy(), sql.text(_SIGN))))
    found = function("coalesce", exp.EQ(this=second, expression=sql.text(_SIGN)), exp.false())
    return when(exp.and_(_opens_with(text, "{", "["), is_plain), found, exp.false())


def _has_keys(text: exp.Expr, parameter: str) -> exp.Expr | None:
    keys, require_all = json.loads(parameter)
    if not all(_PLAIN_KEY.fullmatch(key) for key in keys):
        return None
    found = [
        exp.not_(sql.is_null(function("try_variant_get", _parsed(text), sql.text(f'$["{key}"]'), sql.text("variant")))) for key in keys
    ]
    return when(_opens_with(text, "{"), exp.and_(*found) if require_all else exp.or_(*found), exp.false())
