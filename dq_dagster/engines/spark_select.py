"""What of a SELECT Spark answers in another way: lists of the smallest few, and words to be looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.engines.spark_judged import among_doubtful, doubts_of
from dq_dagster.engines.spark_kinds import spark_type
from dq_dagster.engines.spark_sql import Rewriter, function, lambda_, no_translation, variable, when

_BUCKETS = 16


@dataclass(frozen=True, slots=True)
class _Few:
    """An aggregate that lists few values: the first `count` of `value` in an order, among the rows of a condition."""

    value: Any
    order: Any
    count: int
    condition: Any


def as_select(rewriter: Rewriter, node: exp.Select) -> exp.Expr:
    """A SELECT. Lists of the smallest few are made in another way: Spark has no aggregate that keeps only so many."""
    few = {id(one): found for one in node.selects if (found := _few_of(one.unalias())) is not None}
    if few and node.args.get("group") is not None:
        raise no_translation("a list of the smallest values of each group")
    if not few:
        doubtful = among_doubtful(rewriter, node)
        written = rewriter.descend(node)
        return written if doubtful is None else written.where(doubtful, copy=False)
    source = _few_groups(node)
    ranks = {place: rewriter.fresh() for place in few} if source is not None else {}
    selects: list[exp.Expr] = []
    for one in node.selects:
        if id(one) not in few:
            selects.append(rewriter.visit(one))
            continue
        rank = ranks.get(id(one))
        listed = _as_query(rewriter, node, few[id(one)]) if rank is None else _best_ranked(rewriter, few[id(one)], rank)
        selects.append(exp.alias_(listed, one.alias, quoted=True))
    if source is None and len(few) == len(node.selects):
        return exp.select(*selects)
    whole = rewriter.descend(_without_selects(node))
    whole.set("expressions", selects)
    if source is not None:
        ranked = exp.select("*", *(exp.alias_(_rank(rewriter, few[place]), name, quoted=True) for place, name in ranks.items()))
        ranked = ranked.from_(rewriter.visit(source), copy=False)
        whole.set("from_", exp.From(this=ranked.subquery(source.alias_or_name, copy=False)))
    return whole


def _few_groups(node: exp.Select) -> exp.Subquery | None:
    """What the query reads from, where it is the groups that a HAVING picks, which are few as a rule; else None."""
    from_ = node.args.get("from_") or node.args.get("from")
    source = from_.this if from_ is not None else None
    if not isinstance(source, exp.Subquery) or any(node.args.get(key) for key in ("joins", "where", "laterals")):
        return None
    return source if isinstance(source.this, exp.Select) and source.this.args.get("having") is not None else None


def _rank(rewriter: Rewriter, few: _Few) -> exp.Expr:
    """A row's place in the order, counted in each of some buckets, so that no task has to sort all rows."""
    order = rewriter.visit(few.order)
    keys = [exp.Ordered(this=key, nulls_first=False) for key in _members(order, rewriter.kinds.of(few.order))]
    if few.condition is not None:
        keys.insert(0, exp.Ordered(this=when(rewriter.visit(few.condition), sql.integer(0), sql.integer(1)), nulls_first=False))
    bucket = function("pmod", function("xxhash64", order.copy()), sql.integer(_BUCKETS))
    return exp.Window(this=exp.RowNumber(), partition_by=[bucket], order=exp.Order(expressions=keys))


def _best_ranked(rewriter: Rewriter, few: _Few, rank: str) -> exp.Expr:
    """The values of the rows that come first in their bucket, in order, and of those the first."""
    order = rewriter.visit(few.order)
    value = _unsigned_zeros(rewriter, few.value, order) if few.order is few.value else rewriter.visit(few.value)
    keys: list[exp.Expr] = []
    for place, key in enumerate(_members(order, rewriter.kinds.of(few.order))):
        keys += [sql.text(f"n{place}"), sql.is_null(key), sql.text(f"k{place}"), key.copy()]
    pair = function("named_struct", sql.text("keys"), function("named_struct", *keys), sql.text("value"), value)
    kept = exp.and_(exp.LTE(this=sql.column(rank), expression=sql.integer(few.count)), exp.not_(sql.is_null(order)))
    if few.condition is not None:
        kept = exp.and_(kept, rewriter.visit(few.condition))
    pairs = exp.Filter(this=function("collect_list", pair), expression=exp.Where(this=kept))
    best = function("slice", function("array_sort", pairs), sql.integer(1), sql.integer(few.count))
    name = rewriter.fresh()
    return function("transform", best, lambda_(name, exp.Dot(this=variable(name), expression=exp.to_identifier("value"))))


def _without_selects(node: exp.Select) -> exp.Select:
    """The query without what it selects; its other parts stay where they are, so that their types are found."""
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
        picked = picked.where(*doubts_of(rewriter, few.condition), rewriter.visit(few.condition), copy=False)
    picked = picked.where(exp.not_(sql.is_null(order)), copy=False)
    keys = [exp.Ordered(this=key, nulls_first=False) for key in _members(sql.column("dq_order"), rewriter.kinds.of(few.order))]
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


def _members(order: exp.Expr, kind: pa.DataType | None) -> list[exp.Expr]:
    """By what is sorted: the members of a struct one by one, NULL last in each; Spark would have it first."""
    if kind is None or not pa.types.is_struct(kind) or kind.num_fields == 0:
        return [order]
    names = [kind.field(place).name for place in range(kind.num_fields)]
    return [exp.Dot(this=order.copy(), expression=exp.to_identifier(name, quoted=True)) for name in names]


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
