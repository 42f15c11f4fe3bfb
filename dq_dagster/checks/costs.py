"""What a condition costs, in a large table: matching a pattern in every row takes longer than reading the columns does."""

from __future__ import annotations

from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.functions import RESERVED
from dq_dagster.checks.table import CheckedTable

_PATTERNS = (exp.RegexpLike, exp.RegexpFullMatch, exp.RegexpExtract, exp.RegexpExtractAll, exp.RegexpReplace, exp.RegexpSplit)


def is_costly(condition: exp.Expr) -> bool:
    """Whether a condition matches patterns, or calls a judgement in Python."""
    if next(condition.find_all(*_PATTERNS), None) is not None:
        return True
    return any(called.name.lower().startswith(("regexp_", RESERVED)) for called in condition.find_all(exp.Anonymous))


def once_a_value(condition: exp.Expr, reads: frozenset[str], table: CheckedTable) -> exp.Expr:
    """The condition, put so that it is judged once a distinct value where it reads one column whose values repeat."""
    name = table.repeating(reads)
    if name is None:
        return condition
    column = sql.column(table.names[name])
    values = sql.select_from(table.relation, {table.names[name]: column}).where(sql.not_(sql.is_null(column))).distinct()
    bad = sql.select_from(values, {table.names[name]: column}).where(condition)
    is_bad = exp.In(this=column.copy(), query=bad.subquery())
    return exp.Case(ifs=[exp.If(this=sql.is_null(column), true=condition.copy())], default=is_bad)
