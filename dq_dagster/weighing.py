"""Asks over one column whose values repeat are asked of its distinct values instead, each weighed by its rows.

A pattern is then matched once a value and not once a row. The answer is the same; only the cost differs.
"""

from __future__ import annotations

from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask
from dq_dagster.checks.table import CheckedTable

_WEIGHT = "dq_weight"


def weighed(ask: Ask, table: CheckedTable) -> Ask | None:
    """The ask over the column's distinct values; None where that does not pay, or not every number can be had so."""
    name = table.repeating(ask.reads)
    if name is None or ask.over is not None or table.names[name] == _WEIGHT:
        return None
    numbers = {number: _weighed_number(aggregate) for number, aggregate in ask.numbers.items()}
    known = {number: aggregate for number, aggregate in numbers.items() if aggregate is not None}
    if len(known) != len(numbers):
        return None
    column = sql.column(table.names[name])
    values = sql.select_from(table.relation, {table.names[name]: column, _WEIGHT: sql.count_rows()}).group_by(column)
    return Ask(known, ask.reads, over=values)


def _weighed_number(aggregate: exp.Expr) -> exp.Expr | None:
    """The aggregate over rows as one over values and their weights; None for one that is not known to have such a form."""
    condition: exp.Expr | None = None
    inner = aggregate
    if isinstance(aggregate, exp.Filter):
        inner, condition = aggregate.this, aggregate.expression.this
    if isinstance(inner, exp.Min | exp.Max):
        return aggregate
    if not isinstance(inner, exp.Count):
        return None
    if not isinstance(inner.this, exp.Star):
        if isinstance(inner.this, exp.Distinct):
            return aggregate
        is_value = sql.not_(sql.is_null(inner.this))
        condition = is_value if condition is None else exp.and_(is_value, condition.copy())
    weights = sql.call("sum", sql.column(_WEIGHT))
    return sql.call("coalesce", weights if condition is None else sql.where(weights, condition), sql.integer(0))
