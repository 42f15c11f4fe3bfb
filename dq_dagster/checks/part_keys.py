"""A key over the parts of a table: distinct in each, and the parts' ranges apart, so distinct in all.

A range goes from the least key to the greatest, compared member by member. Two orders are tried, as for a whole table:
the key's parts as they are named, and the first of them last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Numbers, Parted
from dq_dagster.checks.distinctness import Summary
from dq_dagster.checks.table import Value
from dq_dagster.key_records import are_apart, orders_of


def parted_key(values: Sequence[Value], summary: Summary, relation: str, reads: frozenset[str], repeated: exp.Query) -> Parted | None:
    """How a key is proven distinct part by part. `repeated` gives the keys that repeat among the relation's rows.

    None for a key of floats, whose zeros are equal and do not sort so, or of what has no order that Python shares.
    """
    if not all(_is_ordered(value.type) for value in values):
        return None
    orders = orders_of(values)

    def further(found: Numbers) -> Ask | None:
        if found["nulls"]:  # NULL equals NULL in a key, and lies in no range
            return None
        rising = [at for at in range(len(orders)) if found[f"falls{at}"] <= 1]
        if not rising and "keys" not in found:
            return Ask({"keys": sql.count_rows()}, reads, over=repeated)
        wanted = [at for at in (rising or range(len(orders))) if f"first{at}" not in found]
        if found.get("keys") or not wanted:
            return None
        return Ask({name: end for at in wanted for name, end in _ends(values, orders[at], at, relation).items()}, reads)

    return Parted(_steps(values, orders, relation, reads), lambda parts: summary.none if _are_apart(parts, len(orders)) else None, further)


def _is_ordered(kind: pa.DataType) -> bool:
    types = pa.types
    return (
        types.is_integer(kind)
        or types.is_decimal(kind)
        or types.is_string(kind)
        or types.is_boolean(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
    )


def _steps(values: Sequence[Value], orders: Sequence[Sequence[int]], relation: str, reads: frozenset[str]) -> Ask:
    """In how many rows the key does not rise, by each order, and in how many it holds NULL."""
    keys = sql.numbered([value.expression for value in values])
    before = {f"before{place}": exp.Window(this=sql.call("lag", sql.column(name))) for place, name in enumerate(keys)}
    numbers = {f"falls{at}": sql.count_where(_does_not_rise(order)) for at, order in enumerate(orders)}
    numbers["nulls"] = sql.count_where(sql.any_of([sql.is_null(sql.column(name)) for name in keys]))
    named = {name: sql.column(name) for name in keys}
    return Ask(numbers, reads, over=sql.select_from(sql.select_from(relation, keys), {**named, **before}))


def _does_not_rise(order: Sequence[int]) -> exp.Expr:
    """Whether a key `k0`, `k1` … is not above `before0`, `before1` …, its parts taken in that order. Never NULL."""
    rises: exp.Expr | None = None
    for place in reversed(order):
        before, here = sql.column(f"before{place}"), sql.column(f"k{place}")
        is_same = exp.EQ(this=before.copy(), expression=here.copy())
        rises = before < here if rises is None else exp.or_(before < here, exp.and_(is_same, rises))
    assert rises is not None
    return sql.call("coalesce", sql.not_(exp.paren(rises)), exp.true())


def _ends(values: Sequence[Value], order: Sequence[int], at: int, relation: str) -> dict[str, exp.Expr]:
    """The least and the greatest key in an order: among the rows whose first member is the least, or the greatest."""
    key = sql.struct({f"k{place}": values[place].shown for place in order})
    leading = values[order[0]].expression
    ends: dict[str, exp.Expr] = {}
    for name, extreme in (("first", "min"), ("last", "max")):
        end = sql.select_from(relation, {"x": sql.call(extreme, leading)}).subquery()
        ends[f"{name}{at}"] = sql.where(sql.call(extreme, key), exp.EQ(this=leading.copy(), expression=end))
    return ends


def _are_apart(parts: Sequence[Numbers], orders: int) -> bool:
    return any(_is_apart(parts, at) for at in range(orders))


def _is_apart(parts: Sequence[Numbers], at: int) -> bool:
    """Whether every part is distinct, and its range by this order lies apart from all others."""
    ranges: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = []
    for found in parts:
        if found["nulls"] or found.get("keys") or f"first{at}" not in found:
            return False
        if found[f"first{at}"] is not None:  # a part without rows has no range
            ranges.append((_members(found[f"first{at}"]), _members(found[f"last{at}"])))
    if any(None in end for ends in ranges for end in ends):  # a value that has no place in an order, such as an infinite instant
        return False
    return are_apart(ranges)


def _members(key: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(key.values())
