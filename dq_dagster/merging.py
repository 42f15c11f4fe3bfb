"""Asks whose numbers follow, exactly, from numbers of each part of a table: counts are added, extremes compared.

The engine itself merges them, over a relation that has one row a part: its order of NaN and of text is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, has_window
from dq_dagster.checks.table import CheckedTable

# Aggregates that are merged by themselves.
_IDEMPOTENT = (exp.Min, exp.Max, exp.LogicalAnd, exp.LogicalOr, exp.BitwiseAndAgg, exp.BitwiseOrAgg)
_SCALARS = frozenset({"epoch_us", "epoch_ns"})  # the functions of no name in sqlglot that may stand around an aggregate


@dataclass(frozen=True, slots=True)
class Merging:
    """What is asked of each part, and the numbers of the whole: expressions over the parts' answers. `counts` are whole numbers."""

    partials: Ask
    numbers: Mapping[str, exp.Expr]
    counts: frozenset[str]


class _Unmergeable(Exception):
    """An expression of which numbers of the parts do not tell enough."""


def merging(asks: Sequence[Ask], table: CheckedTable, *, prefix: str) -> Merging | None:
    """How the numbers of all these asks follow from the parts'; None where one does not. `prefix` opens the names of the partials."""
    partials: dict[str, exp.Expr] = {}
    counts: set[str] = set()

    def merged(node: exp.Expr) -> exp.Expr:
        """The node over the parts' answers. The walk does not go below an aggregate."""
        aggregate = node.this if isinstance(node, exp.Filter) else node
        if not isinstance(aggregate, exp.AggFunc):
            if isinstance(node, exp.Column | exp.Query | exp.Star) or (
                isinstance(node, exp.Anonymous) and node.name.lower() not in _SCALARS
            ):
                raise _Unmergeable
            return node
        together = _merged_by(aggregate, table)
        if together is None or has_window(node) or _reads_other_rows(node, table):
            raise _Unmergeable
        name = f"{prefix}{len(partials)}"
        partials[name] = node.copy()
        if isinstance(aggregate, exp.Count):
            counts.add(name)
        return together(sql.column(name))

    numbers: dict[str, exp.Expr] = {}
    try:
        for ask in asks:
            if ask.over is not None:
                return None
            for number, expression in ask.numbers.items():
                numbers[number] = expression.transform(merged)
    except _Unmergeable:
        return None
    return Merging(Ask(partials, frozenset().union(*(ask.reads for ask in asks))), numbers, frozenset(counts))


def _merged_by(aggregate: exp.Expr, table: CheckedTable) -> Callable[[exp.Expr], exp.Expr] | None:
    """The aggregate of the parts' answers that is the aggregate of all rows; None where there is none that is exact."""
    if aggregate.args.get("expressions"):  # max(a, b), count(a, b)
        return None
    if isinstance(aggregate, exp.Count):
        if isinstance(aggregate.this, exp.Distinct):
            return None
        return lambda partial: sql.cast(sql.call("coalesce", sql.call("sum", partial), sql.integer(0)), "BIGINT")
    if isinstance(aggregate, exp.Sum):
        kind = _stored_type(aggregate.this, table)
        if kind is not None and pa.types.is_integer(kind):
            return lambda partial: sql.cast(sql.call("sum", partial), "HUGEINT")
        return (lambda partial: sql.call("sum", partial)) if kind is not None and pa.types.is_decimal(kind) else None
    if isinstance(aggregate, _IDEMPOTENT) and not isinstance(aggregate.this, exp.Distinct):
        return lambda partial: type(aggregate)(this=partial)
    return None


def _stored_type(value: exp.Expr, table: CheckedTable) -> pa.DataType | None:
    """The type of a column that stands there alone: sums of whole numbers and decimals are exact, those of doubles are not."""
    stored = {table.names[column.name]: column.type for column in table.stored.columns}
    return stored.get(value.name) if isinstance(value, exp.Column) else None


def _reads_other_rows(node: exp.Expr, table: CheckedTable) -> bool:
    """Whether a subquery inside looks at more than references: what it finds in a part is not what it finds in the table."""
    references = {other.relation for other in table.references.values()}
    return any(found.name not in references for found in node.find_all(exp.Table))
