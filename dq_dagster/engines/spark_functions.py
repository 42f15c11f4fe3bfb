"""How each function and operator of DuckDB's SQL is said in Spark's: one table by sqlglot's classes, one by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ErrorLevel, UnsupportedError

from dq_dagster import sql
from dq_dagster.engines.spark_judged import IN_DOUBT, as_judged, doubts_of
from dq_dagster.engines.spark_kinds import Kinds, is_nano
from dq_dagster.engines.spark_select import as_in, as_select
from dq_dagster.engines.spark_sql import (
    Misfit,
    Rewriter,
    Rules,
    as_cast,
    function,
    instant,
    java_text,
    no_translation,
    typed,
    variable,
    when,
    whole_steps,
)

Rule = Callable[[Rewriter, Any], exp.Expr]
_INFINITY = "Infinity"
_TICKS = {"microsecond": 1, "millisecond": 10**3, "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6}


def _infinity() -> exp.Expr:
    return typed(sql.text(_INFINITY), "DOUBLE")


def _named(name: str, *extra: exp.Expr) -> Callable[..., exp.Expr]:
    """The function of that name, over the same arguments and what is added."""
    return lambda rewriter, *arguments: function(name, *(rewriter.visit(one) for one in arguments), *(one.copy() for one in extra))


def _of_both(name: str) -> Rule:
    return lambda rewriter, node: function(name, rewriter.visit(node.this), rewriter.visit(node.expression))


# Operators


def _is_day(rewriter: Rewriter, node: Any) -> bool:
    kind = rewriter.kinds.of(node)
    return kind is not None and pa.types.is_date(kind)


def _sub(rewriter: Rewriter, node: Any) -> exp.Expr:
    if _is_day(rewriter, node.expression):
        days = [typed(rewriter.visit(side), "DATE") for side in (node.this, node.expression)]
        return typed(function("datediff", *days), "BIGINT")
    return _plus(rewriter, node)


def _plus(rewriter: Rewriter, node: Any) -> exp.Expr:
    """Days and whole numbers make days; an instant in nanoseconds is moved by an interval as one in microseconds."""
    right = rewriter.kinds.of(node.expression)
    if _is_day(rewriter, node.this) and right is not None and pa.types.is_integer(right):
        name = "date_sub" if isinstance(node, exp.Sub) else "date_add"
        return function(name, rewriter.visit(node.this), typed(rewriter.visit(node.expression), "INT"))
    if isinstance(node.expression, exp.Interval) and is_nano(rewriter.kinds.of(node.this)):
        return type(node)(this=typed(instant(rewriter, node.this), "TIMESTAMP_NTZ"), expression=rewriter.visit(node.expression))
    return rewriter.descend(node)


def _div(rewriter: Rewriter, node: exp.Div) -> exp.Expr:
    """A division of doubles, by zero too."""
    above, below = (typed(rewriter.visit(side), "DOUBLE") for side in (node.this, node.expression))
    divided = exp.Div(this=above, expression=below)
    if isinstance(node.expression, exp.Nullif) or (isinstance(node.expression, exp.Literal) and node.expression.name.strip("0.")):
        return exp.paren(divided, copy=False)
    is_zero = exp.EQ(this=below.copy(), expression=typed(sql.text("0"), "DOUBLE"))
    return when(is_zero, exp.Mul(this=above.copy(), expression=_infinity()), divided)


def _compared(rewriter: Rewriter, node: Any) -> exp.Expr:
    """A comparison; of nanoseconds with coarser instants as nanoseconds."""
    kinds = [rewriter.kinds.of(side) for side in (node.this, node.expression)]
    if is_nano(kinds[0]) == is_nano(kinds[1]) or not all(kind is not None and pa.types.is_temporal(kind) for kind in kinds):
        return rewriter.descend(node)
    sides = [_nanos(rewriter, side) for side in (node.this, node.expression)]
    return type(node)(this=sides[0], expression=sides[1])


def _nanos(rewriter: Rewriter, node: Any) -> exp.Expr:
    if is_nano(rewriter.kinds.of(node)):
        return rewriter.visit(node)
    micros = function("unix_micros", instant(rewriter, node))
    return exp.Mul(this=typed(micros, "DECIMAL(20, 0)"), expression=sql.integer(1_000))


def _if(rewriter: Rewriter, node: exp.If) -> exp.Expr:
    """Spark's IF always has its other side."""
    copy = rewriter.descend(node)
    if copy.args.get("false") is None and not isinstance(node.parent, exp.Case):
        copy.set("false", exp.Null())
    return copy


def _like(rewriter: Rewriter, node: Any) -> exp.Expr:
    copy = rewriter.descend(node)
    is_escaped = isinstance(node.parent, exp.Escape)
    return copy if is_escaped else exp.Escape(this=copy, expression=sql.text("\x01"))  # DuckDB's own LIKE knows no escape


def _bracket(rewriter: Rewriter, node: exp.Bracket) -> exp.Expr:
    kind = rewriter.kinds.of(node.this)
    if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice) or (kind is not None and pa.types.is_map(kind)):
        return rewriter.descend(node)
    return function("get", rewriter.visit(node.this), rewriter.visit(node.expressions[0]))


def _pipe(rewriter: Rewriter, node: Any) -> exp.Expr:
    return function("concat", *(rewriter.text_of(rewriter.visit(side), rewriter.kinds.of(side)) for side in (node.this, node.expression)))


def _texts(rewriter: Rewriter, nodes: list[Any]) -> list[exp.Expr]:
    kinds = [rewriter.kinds.of(node) for node in nodes]
    written = [rewriter.visit(node) for node in nodes]
    return [typed(one, "STRING") if kind is None else rewriter.text_of(one, kind) for one, kind in zip(written, kinds, strict=True)]


def _concat(rewriter: Rewriter, *nodes: Any) -> exp.Expr:
    """A concatenation, in which NULL is no text."""
    return function("concat_ws", sql.text(""), *_texts(rewriter, list(nodes)))


# Times


def _micros(rewriter: Rewriter, value: Any) -> exp.Expr:
    if is_nano(rewriter.kinds.of(value)):
        return whole_steps(rewriter.visit(value), 1_000)
    return function("unix_micros", instant(rewriter, value))


def _epoch_ns(rewriter: Rewriter, value: Any) -> exp.Expr:
    if is_nano(rewriter.kinds.of(value)):
        return rewriter.visit(value)
    return exp.Mul(this=function("unix_micros", instant(rewriter, value)), expression=sql.integer(1_000))


def _epoch(rewriter: Rewriter, node: exp.TimeToUnix) -> exp.Expr:
    micros = typed(_micros(rewriter, node.this), "DOUBLE")
    return exp.paren(exp.Div(this=micros, expression=typed(sql.text("1000000"), "DOUBLE")), copy=False)


def _trunc(rewriter: Rewriter, unit: str, value: Any) -> exp.Expr:
    kind = rewriter.kinds.of(value)
    cut = function("date_trunc", sql.text(unit.upper()), instant(rewriter, value))
    return cut if kind is not None and pa.types.is_timestamp(kind) and kind.tz else typed(cut, "TIMESTAMP_NTZ")


def _date_part(rewriter: Rewriter, part: str, value: Any) -> exp.Expr:
    moment = instant(rewriter, value) if not _is_day(rewriter, value) else rewriter.visit(value)
    match part.lower():
        case "dow" | "dayofweek" | "weekday":
            return exp.paren(exp.Sub(this=function("dayofweek", moment), expression=sql.integer(1)), copy=False)
        case "isodow":
            return exp.paren(exp.Add(this=function("weekday", moment), expression=sql.integer(1)), copy=False)
        case "epoch":
            return exp.paren(
                exp.Div(this=function("unix_micros", instant(rewriter, value)), expression=typed(sql.text("1000000"), "DOUBLE"))
            )
        case "year" | "quarter" | "month" | "day" | "hour" | "minute" | "week" | "doy" | "dayofyear":
            name = {"week": "weekofyear", "doy": "dayofyear"}.get(part.lower(), part.lower())
            return function(name, moment)
        case "second":
            return typed(function("second", moment), "INT")
        case _:
            raise no_translation(f"the part {part} of a date")


def _part(name: str) -> Rule:
    return lambda rewriter, node: _date_part(rewriter, name, node.this)


def _date_diff(rewriter: Rewriter, node: Any) -> exp.Expr:
    """How many boundaries of the unit lie between two points in time."""
    unit = node.args["unit"].name.lower().rstrip("s") if node.args.get("unit") is not None else "day"
    end, start = (instant(rewriter, side) for side in (node.this, node.expression))

    def apart(count: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
        return exp.paren(exp.Sub(this=count(end), expression=count(start)), copy=False)

    def months(moment: exp.Expr, unit: str) -> exp.Expr:
        per_year = {"month": 12, "quarter": 4}[unit]
        return exp.Add(
            this=exp.Mul(this=function("year", moment), expression=sql.integer(per_year)), expression=function(unit, moment.copy())
        )

    match unit:
        case "year":
            return apart(lambda moment: function("year", moment.copy()))
        case "month" | "quarter":
            return apart(lambda moment: exp.paren(months(moment.copy(), unit)))
        case "day":
            return function("datediff", typed(end, "DATE"), typed(start, "DATE"))
        case "week":
            days = function("datediff", *(typed(function("date_trunc", sql.text("WEEK"), side), "DATE") for side in (end, start)))
            return exp.IntDiv(this=days, expression=sql.integer(7))
        case _ if unit in _TICKS:
            return apart(lambda moment: whole_steps(function("unix_micros", moment.copy()), _TICKS[unit]))
        case _:
            raise no_translation(f"a difference in {unit}s")


# Text


def _lower(rewriter: Rewriter, node: Any) -> exp.Expr:
    """One character for one: Java would write a sigma at a word's end, and a dotted I, in another way."""
    return function("lower", function("translate", rewriter.visit(node.this), sql.text("\u03a3\u0130"), sql.text("\u03c3i")))


def _matches(rewriter: Rewriter, node: Any) -> exp.Expr:
    return exp.RegexpLike(this=rewriter.visit(node.this), expression=java_text(node.expression))


def _matches_whole(rewriter: Rewriter, node: Any) -> exp.Expr:
    return exp.RegexpLike(this=rewriter.visit(node.this), expression=java_text(sql.text(rf"\A(?:{node.expression.name})\z")))


def _replaced(rewriter: Rewriter, value: Any, pattern: Any, replacement: Any, options: str) -> exp.Expr:
    """Text with what matches replaced: the first match, or with `g` all of them."""
    found = java_text(pattern)
    new: exp.Expr = rewriter.visit(replacement)
    if isinstance(replacement, exp.Literal):
        new = sql.text(_java_replacement(replacement.name))
    if "g" in options:
        return function("regexp_replace", rewriter.visit(value), found, new)

    def first(text: exp.Expr) -> exp.Expr:
        start, match = function("regexp_instr", text.copy(), found), function("regexp_substr", text.copy(), found.copy())
        before = function("left", text.copy(), exp.Sub(this=start, expression=sql.integer(1)))
        after = function("substring", text.copy(), exp.Add(this=start.copy(), expression=function("length", match)))
        put = function("regexp_replace", match.copy(), found.copy(), new)
        return when(exp.RegexpLike(this=text.copy(), expression=found.copy()), function("concat", before, put, after), text.copy())

    return rewriter.let(rewriter.visit(value), first)


def _java_replacement(text: str) -> str:
    """RE2 writes a group as \\1, Java as $1."""
    written, place = "", 0
    while place < len(text):
        char, following = text[place], text[place + 1 : place + 2]
        if char == "\\" and following.isdigit():
            written, place = f"{written}${following}", place + 2
        elif char == "\\" and following == "\\":
            written, place = written + "\\\\", place + 2
        else:
            written, place = written + (f"\\{char}" if char in "$\\" else char), place + 1
    return written


def _regexp_replace(rewriter: Rewriter, node: Any) -> exp.Expr:
    modifiers = node.args.get("modifiers")
    return _replaced(rewriter, node.this, node.expression, node.args["replacement"], modifiers.name if modifiers is not None else "")


def _extracted(rewriter: Rewriter, value: Any, pattern: Any, group: Any = None) -> exp.Expr:
    text, found = rewriter.visit(value), java_text(pattern)
    if not isinstance(group, exp.Array):
        return function("regexp_extract", text, found, rewriter.visit(group) if group is not None else sql.integer(0))
    members: list[exp.Expr] = []
    for place, name in enumerate(group.expressions, 1):
        members += [name.copy(), function("regexp_extract", text.copy(), found.copy(), sql.integer(place))]
    return function("named_struct", *members)


def _extracted_all(rewriter: Rewriter, node: Any) -> exp.Expr:
    group = node.args.get("group")
    return function(
        "regexp_extract_all",
        rewriter.visit(node.this),
        java_text(node.expression),
        rewriter.visit(group) if group is not None else sql.integer(0),
    )


def _length(rewriter: Rewriter, node: Any) -> exp.Expr:
    kind = rewriter.kinds.of(node.this)
    is_list = kind is not None and pa.types.is_nested(kind)
    return typed(function("size" if is_list else "length", rewriter.visit(node.this)), "BIGINT")


def _contains(rewriter: Rewriter, node: Any) -> exp.Expr:
    kind = rewriter.kinds.of(node.this)
    return _of_both("array_contains" if kind is not None and pa.types.is_list(kind) else "contains")(rewriter, node)


# Numbers


def _floor(rewriter: Rewriter, node: Any, name: str) -> exp.Expr:
    """Spark makes a whole number of 64 bits of a double, which a larger one does not fit."""
    kind, value = rewriter.kinds.of(node), rewriter.visit(node)
    if kind is None or not pa.types.is_floating(kind):
        return function(name, value)
    is_small = exp.LT(this=function("abs", value.copy()), expression=typed(sql.text("1e15"), "DOUBLE"))
    return when(is_small, typed(function(name, value), "DOUBLE"), value.copy())


def _isfinite(rewriter: Rewriter, value: Any) -> exp.Expr:
    return exp.paren(exp.LT(this=function("abs", rewriter.visit(value)), expression=_infinity()), copy=False)


def _isinf(rewriter: Rewriter, node: Any) -> exp.Expr:
    return exp.EQ(this=function("abs", rewriter.visit(node.this)), expression=_infinity())


# Lists and structs


def _struct(rewriter: Rewriter, node: exp.Struct) -> exp.Expr:
    members: list[exp.Expr] = []
    for one in node.expressions:
        if not isinstance(one, exp.PropertyEQ):
            raise no_translation("a struct without names")
        members += [sql.text(one.this.name), rewriter.visit(one.expression)]
    return function("named_struct", *members)


def _member(rewriter: Rewriter, value: Any, name: Any) -> exp.Expr:
    return exp.Dot(this=exp.paren(rewriter.visit(value), copy=False), expression=exp.to_identifier(name.name, quoted=True))


def _list_extract(rewriter: Rewriter, value: Any, place: Any) -> exp.Expr:
    if isinstance(place, exp.Literal) and place.name.isdigit():
        return function("get", rewriter.visit(value), sql.integer(int(place.name) - 1))
    return function("try_element_at", rewriter.visit(value), rewriter.visit(place))


def _list_position(rewriter: Rewriter, value: Any, wanted: Any) -> exp.Expr:
    return function("nullif", function("array_position", rewriter.visit(value), rewriter.visit(wanted)), sql.integer(0))


# Aggregates


def _filtered(rewriter: Rewriter, node: exp.Filter) -> exp.Expr:
    """An aggregate over some of the rows; one that Spark makes of several has the condition in each."""
    condition = rewriter.visit(node.expression.this)

    def over_some(aggregate: exp.Expr) -> exp.Expr:
        return exp.Filter(this=aggregate, expression=exp.Where(this=condition.copy()))

    composite = _composite(rewriter, node.this, over_some)
    return over_some(rewriter.visit(node.this)) if composite is None else composite


_Over = Callable[[exp.Expr], exp.Expr]


def _composite(rewriter: Rewriter, node: Any, over: _Over) -> exp.Expr | None:
    """An aggregate that Spark lacks, made of those it has; None for one that it has."""
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    if isinstance(node, exp.Skewness):
        return _skewness(rewriter.visit(node.this), over)
    if name == "product":
        value = rewriter.visit(node.expressions[0])
        times = exp.Lambda(
            this=exp.Mul(this=variable("a"), expression=variable("b")), expressions=[exp.to_identifier("a"), exp.to_identifier("b")]
        )
        product = function("aggregate", over(function("collect_list", value)), typed(sql.text("1"), "DOUBLE"), times)
        return when(exp.GT(this=over(exp.Count(this=value.copy())), expression=sql.integer(0)), product)
    if name == "quantile_disc":
        return _quantile_disc(rewriter, node.expressions[0], node.expressions[1], over)
    return None


def _skewness(value: exp.Expr, over: _Over) -> exp.Expr:
    """The skewness of a sample, as DuckDB measures it; Spark's is that of a whole population."""
    n = typed(over(exp.Count(this=value.copy())), "DOUBLE")
    of_all = over(function("skewness", value))
    pairs = function("sqrt", exp.Mul(this=n.copy(), expression=exp.paren(exp.Sub(this=n.copy(), expression=sql.integer(1)))))
    corrected = exp.Div(
        this=exp.Mul(this=of_all, expression=pairs), expression=exp.paren(exp.Sub(this=n.copy(), expression=sql.integer(2)))
    )
    return when(exp.GT(this=n, expression=sql.integer(2)), corrected)


def _quantile_disc(rewriter: Rewriter, node: Any, share: exp.Expr, over: _Over) -> exp.Expr:
    """An element of the values. Spark's own makes doubles of them, so that others are looked up in order."""
    kind, value = rewriter.kinds.of(node), rewriter.visit(node)
    if kind is not None and pa.types.is_floating(kind):
        order = exp.Order(expressions=[exp.Ordered(this=value, nulls_first=True)])
        return over(exp.WithinGroup(this=exp.PercentileDisc(this=share.copy()), expression=order))
    count = over(exp.Count(this=value.copy()))
    rank = function("ceil", exp.Mul(this=typed(share.copy(), "DOUBLE"), expression=count))
    place = typed(function("greatest", rank, sql.integer(1)), "INT")
    ordered = function("array_sort", over(function("collect_list", value)))
    return function("get", ordered, exp.Sub(this=place, expression=sql.integer(1)))


def _aggregate(rewriter: Rewriter, node: Any) -> exp.Expr:
    made = _composite(rewriter, node, lambda aggregate: aggregate)
    return rewriter.descend(node) if made is None else made


def _sum(rewriter: Rewriter, node: Any) -> exp.Expr:
    """A sum of 64 bits overflows in Spark, where it has 128 in DuckDB."""
    return _summed(rewriter, node.this)


def _summed(rewriter: Rewriter, node: Any) -> exp.Expr:
    inner = node.expressions[0] if isinstance(node, exp.Distinct) else node
    kind, value = rewriter.kinds.of(inner), rewriter.visit(inner)
    if kind is not None and pa.types.is_string(kind):
        raise Misfit("a sum of text")
    if kind is not None and pa.types.is_integer(kind) and kind.bit_width == 64:
        value = typed(value, "DECIMAL(20, 0)")
    if kind is not None and pa.types.is_float32(kind):
        value = typed(value, "DOUBLE")
    return exp.Sum(this=exp.Distinct(expressions=[value]) if isinstance(node, exp.Distinct) else value)


def _mode(rewriter: Rewriter, node: Any) -> exp.Expr:
    """The most frequent value; of several the smallest."""
    return function("mode", rewriter.visit(node.this if isinstance(node, exp.Order) else node), exp.true())


def _quantile(rewriter: Rewriter, value: Any, share: Any) -> exp.Expr:
    return function("percentile", typed(rewriter.visit(value), "DOUBLE"), rewriter.visit(share))


_PARTS: Mapping[type[exp.Expr], str] = {
    exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month", exp.Day: "day", exp.DayOfMonth: "day", exp.Hour: "hour",
    exp.Minute: "minute", exp.Second: "second", exp.DayOfYear: "dayofyear", exp.WeekOfYear: "week", exp.Week: "week",
    exp.DayOfWeek: "dow", exp.DayOfWeekIso: "isodow",
}  # fmt: skip

AGGREGATES: Mapping[str, Rule] = {"quantile_disc": _aggregate, "product": _aggregate}

BY_CLASS: Mapping[type[exp.Expr], Rule] = {
    **{kind: _part(name) for kind, name in _PARTS.items()},
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ), _compared),
    exp.Select: as_select,
    exp.In: as_in,
    exp.Table: lambda rewriter, node: _table(rewriter, node),
    exp.Cast: as_cast,
    exp.TryCast: as_cast,
    exp.Sub: _sub,
    exp.Add: _plus,
    exp.Div: _div,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Bracket: _bracket,
    exp.DPipe: _pipe,
    exp.Concat: lambda rewriter, node: _concat(rewriter, *node.expressions),
    exp.ConcatWs: lambda rewriter, node: function(
        "concat_ws", rewriter.visit(node.expressions[0]), *_texts(rewriter, node.expressions[1:])
    ),
    exp.TimeToUnix: _epoch,
    exp.TimestampTrunc: lambda rewriter, node: _trunc(rewriter, node.args["unit"].name, node.this),
    exp.DateTrunc: lambda rewriter, node: _trunc(rewriter, node.args["unit"].name, node.this),
    exp.Extract: lambda rewriter, node: _date_part(rewriter, node.name, node.expression),
    exp.DateDiff: _date_diff,
    exp.Lower: _lower,
    exp.RegexpLike: _matches,
    exp.RegexpFullMatch: _matches_whole,
    exp.RegexpReplace: _regexp_replace,
    exp.RegexpExtract: lambda rewriter, node: _extracted(rewriter, node.this, node.expression, node.args.get("group")),
    exp.RegexpExtractAll: _extracted_all,
    exp.Length: _length,
    exp.ArraySize: lambda rewriter, node: typed(function("size", rewriter.visit(node.this)), "BIGINT"),
    exp.Contains: _contains,
    exp.Floor: lambda rewriter, node: _floor(rewriter, node.this, "floor"),
    exp.Ceil: lambda rewriter, node: _floor(rewriter, node.this, "ceil"),
    exp.IsInf: _isinf,
    exp.If: _if,
    exp.Struct: _struct,
    exp.Filter: _filtered,
    exp.Skewness: _aggregate,
    exp.Sum: _sum,
    exp.Mode: lambda rewriter, node: _mode(rewriter, node.this),
    exp.PercentileCont: lambda rewriter, node: _quantile(rewriter, node.this, node.expression),
    exp.Median: lambda rewriter, node: _quantile(rewriter, node.this, sql.text("0.5")),
    exp.StartsWith: _of_both("startswith"),
}

BY_NAME: Mapping[str, Callable[..., exp.Expr]] = {
    IN_DOUBT: lambda rewriter, condition: exp.and_(*doubts_of(rewriter, condition)),
    "epoch_us": _micros,
    "epoch_ns": _epoch_ns,
    "date_trunc": lambda rewriter, unit, value: _trunc(rewriter, unit.name, value),
    "date_part": lambda rewriter, part, value: _date_part(rewriter, part.name, value),
    "now": _named("now"),
    "concat": _concat,
    "strlen": _named("octet_length"),
    "regexp_matches": lambda rewriter, value, pattern: exp.RegexpLike(this=rewriter.visit(value), expression=java_text(pattern)),
    "regexp_replace": lambda rewriter, value, pattern, new, options=None: _replaced(
        rewriter, value, pattern, new, options.name if options is not None else ""
    ),
    "regexp_extract": _extracted,
    "rpad": _named("rpad"),
    "lpad": _named("lpad"),
    "floor": lambda rewriter, value: _floor(rewriter, value, "floor"),
    "isfinite": _isfinite,
    "isnan": _named("isnan"),
    "cardinality": _named("cardinality"),
    "list_transform": _named("transform"),
    "list_extract": _list_extract,
    "list_position": _list_position,
    "struct_extract": _member,
    "map_keys": _named("map_keys"),
    "map_values": _named("map_values"),
    "arg_min": _named("min_by"),
    "arg_max": _named("max_by"),
    "sum": _summed,
    "mode": _mode,
    "quantile_cont": _quantile,
    "kurtosis_pop": _named("kurtosis"),
}


def _table(rewriter: Rewriter, node: exp.Table) -> exp.Expr:
    """A relation under the name that it has in Spark, called what it is called in the query."""
    view = rewriter.views.get(node.name)
    if view is None:
        return rewriter.descend(node)
    called = exp.TableAlias(this=exp.to_identifier(node.alias_or_name, quoted=True))
    copy = rewriter.descend(node)
    copy.set("this", exp.to_identifier(view, quoted=True))
    copy.set("alias", called)
    return copy


RULES = Rules(BY_CLASS, BY_NAME, AGGREGATES, as_judged)


def spark_text(query: exp.Expr, tables: Mapping[str, Mapping[str, pa.DataType]], views: Mapping[str, str], known: Mapping[str, str]) -> str:
    """The query as Spark reads it.

    `tables` are the types of the relations' columns, `views` what the relations are called in Spark, `known` the
    functions of our own that it may call, and what they are called there. Raises EngineStumbled for what has no translation.
    """
    whole = query.copy()
    written = Rewriter(Kinds(tables), views, known, RULES).visit(whole)
    try:
        return written.sql("spark", unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as error:
        raise no_translation("an expression") from error
