"""What of a SELECT Spark answers in another way: lists of the smallest few, and words to be looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.engines.spark_kinds import spark_type
from dq_dagster.engines.spark_sql import Rewriter, function, lambda_, no_translation, variable


@dataclass(frozen=True, slots=True)
class _Few:
    """An aggregate that lists few values: the first `count` of `value` in an order, among the rows of a condition."""

    value: Any
    order: Any
    count: int
    condition: Any


def as_select(rewriter: Rewriter, node: exp.Select) -> exp.Expr:
    """A SELECT. A list of the smallest few becomes a query of its own: Spark has no aggregate that keeps only so many."""
    few = {id(one): found for one in node.selects if (found := _few_of(one.unalias())) is not None}
    if not few:
        return rewriter.descend(node)
    if node.args.get("group") is not None:
        raise no_translation("a list of the smallest values of each group")
    selects = [
        exp.alias_(_as_query(rewriter, node, few[id(one)]), one.alias, quoted=True) if id(one) in few else rewriter.visit(one)
        for one in node.selects
    ]
    if len(few) == len(node.selects):
        return exp.select(*selects)
    whole = rewriter.descend(_without(node, few))
    whole.set("expressions", selects)
    return whole


def _without(node: exp.Select, few: dict[int, _Few]) -> exp.Select:
    """The query without the lists; its other parts stay where they are, so that their types are found."""
    shallow = exp.Select()
    for key, value in node.args.items():
        shallow.args[key] = [] if key == "expressions" else value
    return shallow


def _few_of(node: Any) -> _Few | None:
    condition = None
    if isinstance(node, exp.Filter):
        node, condition = node.this, node.expression.this
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    if name == "min" and len(node.expressions) == 2:
        return _Few(node.expressions[0], node.expressions[0], int(node.expressions[1].name), condition)
    if name == "arg_min" and len(node.expressions) == 3:
        return _Few(node.expressions[0], node.expressions[1], int(node.expressions[2].name), condition)
    if isinstance(node, exp.Min | exp.ArgMin) and node.args.get("count") is not None:
        order = node.expression if isinstance(node, exp.ArgMin) else node.this
        return _Few(node.this, order, int(node.args["count"].name), condition)
    return None


def _as_query(rewriter: Rewriter, node: exp.Select, few: _Few) -> exp.Expr:
    """(SELECT the values in order FROM (SELECT … ORDER BY … LIMIT n)): no more than n rows are held anywhere."""
    rows = exp.Select()
    for key in ("from_", "from", "joins", "where", "laterals"):
        value = node.args.get(key)
        if value is not None:
            rows.set(key, [rewriter.visit(one) for one in value] if isinstance(value, list) else rewriter.visit(value))
    order = rewriter.visit(few.order)
    value = _unsigned_zeros(rewriter, few.value, order) if few.order is few.value else rewriter.visit(few.value)
    picked = rows.select(exp.alias_(value, "dq_value", quoted=True), exp.alias_(order, "dq_order", quoted=True), copy=False)
    if few.condition is not None:
        picked = picked.where(rewriter.visit(few.condition), copy=False)
    picked = picked.where(exp.not_(sql.is_null(order)), copy=False)
    keys = _keys(sql.column("dq_order"), rewriter.kinds.of(few.order))
    shown = exp.select("*").from_(picked.subquery("q", copy=False)).order_by(*keys).limit(few.count)
    place = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[key.copy() for key in keys]))
    pair = function("named_struct", sql.text("place"), place, sql.text("value"), sql.column("dq_value"))
    placed = exp.select(exp.alias_(pair, "dq_pair", quoted=True)).from_(shown.subquery("q", copy=False))
    name = rewriter.fresh()
    kept = exp.Dot(this=variable(name), expression=exp.to_identifier("value"))
    listed = function("transform", function("array_sort", function("collect_list", sql.column("dq_pair"))), lambda_(name, kept))
    return exp.select(listed).from_(placed.subquery("q", copy=False)).subquery(copy=False)


def _unsigned_zeros(rewriter: Rewriter, node: Any, written: exp.Expr) -> exp.Expr:
    """The struct with 0.0 for -0.0: as DuckDB lists the smallest, the two are one."""
    kind = rewriter.kinds.of(node)
    if kind is None or not pa.types.is_struct(kind):
        return written.copy()
    members: list[exp.Expr] = []
    for place in range(kind.num_fields):
        name = kind.field(place).name
        member: exp.Expr = exp.Dot(this=exp.paren(written), expression=exp.to_identifier(name, quoted=True))
        if pa.types.is_floating(kind.field(place).type):
            member = exp.Add(
                this=member,
                expression=exp.Cast(this=sql.text("0"), to=exp.DataType.build(spark_type(kind.field(place).type), dialect="spark")),
            )
        members += [sql.text(name), member]
    return function("named_struct", *members) if members else written.copy()


def _keys(order: exp.Expr, kind: pa.DataType | None) -> list[exp.Expr]:
    """By what is sorted: the members of a struct one by one, NULL last in each; Spark would have it first."""
    if kind is None or not pa.types.is_struct(kind) or kind.num_fields == 0:
        return [exp.Ordered(this=order, nulls_first=False)]
    names = [kind.field(place).name for place in range(kind.num_fields)]
    members = [exp.Dot(this=order.copy(), expression=exp.to_identifier(name, quoted=True)) for name in names]
    return [exp.Ordered(this=member, nulls_first=False) for member in members]


def as_in(rewriter: Rewriter, node: exp.In) -> exp.Expr:
    """Membership. Words in a subquery become a list, which Spark hashes.

    Of `NOT x IN (…)`, Spark compares each row with each member, for a NULL among them would matter. Where there is none,
    whether x is one of them is asked as a question of its own, which is a hash join.
    """
    query = node.args.get("query")
    words = _words(query)
    if words is not None:
        return exp.In(this=rewriter.visit(node.this), expressions=[sql.text(word) for word in words])
    has_no_null = _has_no_null(query)
    written = rewriter.descend(node)
    if not has_no_null:
        return written
    cases = [exp.If(this=written, true=exp.true())]
    if not isinstance(node.this, exp.Struct):
        cases.insert(0, exp.If(this=sql.is_null(rewriter.visit(node.this)), true=exp.null()))
    return exp.Case(ifs=cases, default=exp.false())


def _has_no_null(query: Any) -> bool:
    """Whether the one column of a subquery cannot be NULL: it is a struct, or those that are NULL are left out."""
    select = query.this if isinstance(query, exp.Subquery) else None
    if not isinstance(select, exp.Select) or len(select.selects) != 1:
        return False
    value, where = select.selects[0].unalias(), select.args.get("where")
    if isinstance(value, exp.Struct) or where is None:
        return isinstance(value, exp.Struct)
    conditions = where.this.flatten() if isinstance(where.this, exp.And) else [where.this]
    return exp.not_(sql.is_null(value)) in conditions


def _words(query: Any) -> list[str] | None:
    select = query.this if isinstance(query, exp.Subquery) else None
    if not isinstance(select, exp.Select) or len(select.selects) != 1:
        return None
    listed = select.selects[0].unalias()
    if isinstance(listed, exp.Unnest | exp.Explode):
        split = listed.expressions[0] if isinstance(listed, exp.Unnest) else listed.this
        if isinstance(split, exp.Split) and isinstance(split.this, exp.Literal) and isinstance(split.expression, exp.Literal):
            return split.this.name.split(split.expression.name)
    return None
