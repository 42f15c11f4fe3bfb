"""Queries in DuckDB's SQL as Spark's: every node is carried over by a rule, and what has none is declared.

The rules keep DuckDB's meaning, with ANSI on, UTC as the session's zone and decimals that keep their scale. A rule that
depends on a type asks for it; where it cannot be told, Spark's own `typeof` decides, which costs nothing at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.engines.base import EngineStumbled
from dq_dagster.engines.spark_big import big_text, is_big
from dq_dagster.engines.spark_kinds import Kinds, cast_kind, is_nano, spark_type
from dq_dagster.engines.spark_patterns import java_pattern

SPARK = "Spark"


class Misfit(EngineStumbled):
    """An expression over types for which it has no meaning, where Spark would find one."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(SPARK, what)


class NoTranslation(EngineStumbled):
    """An expression that Spark has no words for."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(SPARK, f"no translation of {what}")


def no_translation(what: str) -> NoTranslation:
    """The error of an expression that Spark has no words for."""
    return NoTranslation(what)


def function(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A function of Spark's by its name."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def typed(value: exp.Expr, kind: str, *, is_tried: bool = False) -> exp.Expr:
    """The value as one of Spark's types."""
    target = exp.DataType.build(kind, dialect="spark")
    return exp.TryCast(this=value, to=target, safe=True) if is_tried else exp.Cast(this=value, to=target)


def when(condition: exp.Expr, value: exp.Expr, other: exp.Expr | None = None) -> exp.Expr:
    """The value where the condition is true, else the other, or NULL."""
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=other if other is not None else exp.Null())


def like(value: exp.Expr, pattern: str) -> exp.Expr:
    """Whether a pattern of Java's is found in the text."""
    return exp.RegexpLike(this=value, expression=sql.text(pattern))


def lambda_(name: str, body: exp.Expr) -> exp.Expr:
    """A function of one argument."""
    return exp.Lambda(this=body, expressions=[exp.to_identifier(name)])


def variable(name: str) -> exp.Expr:
    """A lambda's argument."""
    return exp.Column(this=exp.to_identifier(name))


@dataclass(frozen=True, slots=True)
class Rules:
    """How nodes are carried over: by their class, functions by name with their arguments, aggregates by name as a whole.

    `judged` carries over a call of a judgement in Python, given what the function is called in Spark.
    """

    by_class: Mapping[type[exp.Expr], Callable[[Rewriter, Any], exp.Expr]]
    by_name: Mapping[str, Callable[..., exp.Expr]]
    aggregates: Mapping[str, Callable[[Rewriter, Any], exp.Expr]]
    judged: Callable[[Rewriter, Any, str], exp.Expr]


class Rewriter:
    """Writes one query anew, from the top down. `kinds` knows the types of the original's nodes, which stay untouched."""

    def __init__(self, kinds: Kinds, views: Mapping[str, str], known: Mapping[str, str], rules: Rules) -> None:
        self.kinds = kinds
        self.views = views
        self._known = known
        self._rules = rules
        self._names = 0

    def visit(self, node: Any) -> Any:
        """The node in Spark's words."""
        if not isinstance(node, exp.Anonymous):
            rule = self._rules.by_class.get(type(node))
            return self.descend(node) if rule is None else rule(self, node)
        name = str(node.this).lower()
        if (rule := self._rules.aggregates.get(name)) is not None:
            return rule(self, node)
        if (named := self._rules.by_name.get(name)) is not None:
            try:
                return named(self, *node.expressions)
            except TypeError as error:
                raise no_translation(f"{name} with {len(node.expressions)} arguments") from error
        if name not in self._known:
            raise no_translation(name)
        return self._rules.judged(self, node, self._known[name])

    def descend(self, node: Any) -> Any:
        """The same node, with all that stands in it in Spark's words."""
        if not isinstance(node, exp.Expr):
            return node
        copy = type(node)()
        for key, value in node.args.items():
            if isinstance(value, list):
                members: list[Any] = value
                copy.set(key, [self.visit(one) if isinstance(one, exp.Expr) else one for one in members])
            else:
                copy.set(key, self.visit(value) if isinstance(value, exp.Expr) else value)
        return copy

    def fresh(self) -> str:
        """A name that stands nowhere else in the query."""
        self._names += 1
        return f"dq_v{self._names}"

    def let(self, value: exp.Expr, body: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
        """An expression over a value, already in Spark's words, that is computed once."""
        if isinstance(value, exp.Column | exp.Literal):
            return body(value)
        name = self.fresh()
        mapped = function("transform", function("array", value), lambda_(name, body(variable(name))))
        return function("get", mapped, sql.integer(0))

    def text_of(self, value: exp.Expr, kind: pa.DataType | None) -> exp.Expr:
        """A value, already in Spark's words, as DuckDB writes it."""
        types = pa.types
        if kind is None:
            return self.let(value, _text_by_typeof)
        if types.is_string(kind) or types.is_time(kind):
            return value
        if types.is_floating(kind):
            return self.let(typed(value, "STRING"), float_text)
        if is_nano(kind):
            return self.let(value, lambda nanos: _nano_text(nanos, zoned=bool(kind.tz)))
        if types.is_timestamp(kind):
            text = typed(value, "STRING")
            return function("concat", text, sql.text("+00")) if kind.tz else text
        if types.is_duration(kind):
            return self.let(value, _span_text)
        if types.is_binary(kind) or types.is_fixed_size_binary(kind):
            return self.let(value, lambda blob: self._blob_text(blob))
        if types.is_struct(kind):
            return self.let(value, lambda struct: self._struct_text(struct, kind))
        if types.is_map(kind):
            return self.let(value, lambda pairs: self._map_text(pairs, kind))
        if types.is_list(kind):
            name = self.fresh()
            member = self._member_text(variable(name), kind.value_type)
            return self._between("[", function("transform", value, lambda_(name, member)), "]")
        return typed(value, "STRING")

    def _between(self, left: str, texts: exp.Expr, right: str) -> exp.Expr:
        return function("concat", sql.text(left), function("array_join", texts, sql.text(", ")), sql.text(right))

    def _member_text(self, value: exp.Expr, kind: pa.DataType) -> exp.Expr:
        """A value as it stands inside a list or a struct: NULL in words, text in quotes where it needs them."""
        text = self.text_of(value, kind)
        if pa.types.is_string(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind):
            text = self.let(text, _quoted_where_needed)
        return function("coalesce", text, sql.text("NULL"))

    def _struct_text(self, struct: exp.Expr, kind: pa.DataType) -> exp.Expr:
        members: list[exp.Expr] = []
        for place in range(kind.num_fields):
            name = kind.field(place).name
            member = exp.Dot(this=struct.copy(), expression=exp.to_identifier(name, quoted=True))
            shown = name.replace("\\", "\\\\").replace("'", "\\'")
            members.append(function("concat", sql.text(f"'{shown}': "), self._member_text(member, kind.field(place).type)))
        text = self._between("{", function("array", *members), "}")
        return when(sql.is_null(struct), exp.Null(), text)

    def _map_text(self, pairs: exp.Expr, kind: pa.DataType) -> exp.Expr:
        name = self.fresh()
        key, item = (exp.Dot(this=variable(name), expression=exp.to_identifier(part, quoted=True)) for part in ("key", "value"))
        entry = function("concat", self._member_text(key, kind.key_type), sql.text("="), self._member_text(item, kind.item_type))
        return self._between("{", function("transform", function("map_entries", pairs), lambda_(name, entry)), "}")

    def _blob_text(self, blob: exp.Expr) -> exp.Expr:
        """Bytes as text: what can be printed stands for itself, the rest as \\x and two digits."""
        name = self.fresh()
        place = variable(name)
        byte = function("hex", function("substring", blob.copy(), place, sql.integer(1)))
        printed = typed(function("substring", blob.copy(), place.copy(), sql.integer(1)), "STRING")
        is_plain = like(byte, r"^(?:[2-6][0-9A-F]|7[0-9A-E])$")
        is_plain = exp.and_(is_plain, exp.not_(exp.In(this=byte.copy(), expressions=[sql.text("22"), sql.text("27"), sql.text("5C")])))
        shown = when(is_plain, printed, function("concat", sql.text("\\x"), byte.copy()))
        places = function("sequence", sql.integer(1), function("octet_length", blob.copy()))
        text = function("array_join", function("transform", places, lambda_(name, shown)), sql.text(""))
        is_empty = exp.EQ(this=function("octet_length", blob.copy()), expression=sql.integer(0))
        return when(is_empty, sql.text(""), text)


def float_text(text: exp.Expr) -> exp.Expr:
    """What Java writes for a float, as DuckDB writes it: an exponent below 1e-4 and from 1e16 on."""
    power = typed(function("split_part", text.copy(), sql.text("E"), sql.integer(2)), "INT", is_tried=True)
    digits = function("regexp_replace", function("split_part", text.copy(), sql.text("E"), sql.integer(1)), sql.text(r"\.0$"), sql.text(""))
    sign = when(power < sql.integer(0), sql.text("e-"), sql.text("e+"))
    padded = function("lpad", typed(function("abs", power.copy()), "STRING"), sql.integer(2), sql.text("0"))
    long_power = when(
        exp.GT(this=function("abs", power.copy()), expression=sql.integer(99)), typed(function("abs", power.copy()), "STRING"), padded
    )
    scientific = function("concat", digits, sign, long_power)
    plain = function("rtrim", sql.text("0"), typed(typed(text.copy(), "DECIMAL(38, 20)"), "STRING"))
    plain = function("regexp_replace", plain, sql.text(r"\.$"), sql.text(".0"))
    words = [("NaN", "nan"), ("Infinity", "inf"), ("-Infinity", "-inf")]
    ifs = [exp.If(this=exp.EQ(this=text.copy(), expression=sql.text(java)), true=sql.text(ours)) for java, ours in words]
    ifs.append(exp.If(this=exp.not_(function("contains", text.copy(), sql.text("E"))), true=text.copy()))
    within = exp.Between(this=power.copy(), low=sql.integer(-4), high=sql.integer(15))
    ifs.append(exp.If(this=within, true=plain))
    return exp.Case(ifs=ifs, default=scientific)


def _text_by_typeof(value: exp.Expr) -> exp.Expr:
    kind, text = function("typeof", value.copy()), typed(value.copy(), "STRING")
    floats = exp.In(this=kind, expressions=[sql.text("double"), sql.text("float")])
    zoned = exp.EQ(this=kind.copy(), expression=sql.text("timestamp"))
    ifs = [
        exp.If(this=floats, true=float_text(text)),
        exp.If(this=zoned, true=function("concat", text.copy(), sql.text("+00"))),
    ]
    return exp.Case(ifs=ifs, default=text.copy())


def _nano_text(nanos: exp.Expr, *, zoned: bool) -> exp.Expr:
    seconds = typed(function("floor", exp.Div(this=typed(nanos.copy(), "DECIMAL(38, 9)"), expression=sql.integer(10**9))), "BIGINT")
    rest = function("pmod", nanos.copy(), sql.integer(10**9))
    fraction = function(
        "rtrim", sql.text("0"), function("concat", sql.text("."), function("lpad", typed(rest, "STRING"), sql.integer(9), sql.text("0")))
    )
    fraction = when(exp.EQ(this=fraction, expression=sql.text(".")), sql.text(""), fraction.copy())
    whole = typed(function("timestamp_seconds", seconds), "STRING")
    return function("concat", whole, fraction, sql.text("+00" if zoned else ""))


def _span_text(micros: exp.Expr) -> exp.Expr:
    """A span of time as hours, minutes and seconds; the hours are not cut into days."""
    size = function("abs", micros.copy())
    steps = [whole_steps(exp.paren(size.copy()), step) for step in (3_600_000_000, 60_000_000, 1_000_000)]
    hours, minutes, seconds = (steps[0], *(exp.Mod(this=exp.paren(step), expression=sql.integer(60)) for step in steps[1:]))
    digits = [function("lpad", typed(part, "STRING"), sql.integer(2), sql.text("0")) for part in (minutes, seconds)]
    long_hours = typed(hours.copy(), "STRING")
    padded = when(
        exp.LT(this=exp.paren(hours), expression=sql.integer(100)), function("lpad", long_hours, sql.integer(2), sql.text("0")), long_hours
    )
    rest = function("lpad", typed(function("pmod", size.copy(), sql.integer(10**6)), "STRING"), sql.integer(6), sql.text("0"))
    fraction = function("rtrim", sql.text("0."), function("concat", sql.text("."), rest))
    sign = when(exp.LT(this=micros.copy(), expression=sql.integer(0)), sql.text("-"), sql.text(""))
    return function("concat", sign, padded, sql.text(":"), digits[0], sql.text(":"), digits[1], fraction)


def _quoted_where_needed(text: exp.Expr) -> exp.Expr:
    """DuckDB puts text inside a list into quotes where it holds a sign of the list's own, or could be read as NULL."""
    needs = like(text.copy(), r"(?is)^$|^null$|^\s|\s$|[\[\]{}(),:='\"\\]")
    escaped = function("regexp_replace", text.copy(), sql.text(r"(['\\])"), sql.text(r"\\$1"))
    return when(needs, function("concat", sql.text("'"), escaped, sql.text("'")), text.copy())


def instant(rewriter: Rewriter, node: Any) -> exp.Expr:
    """A point in time in Spark's words, as one that has a zone: UTC, where it has none."""
    kind = rewriter.kinds.of(node)
    value = rewriter.visit(node)
    if is_nano(kind):
        return function("timestamp_micros", whole_steps(value, 1_000))
    return value if kind is not None and pa.types.is_timestamp(kind) and kind.tz else typed(value, "TIMESTAMP")


def naive(rewriter: Rewriter, node: Any) -> exp.Expr:
    """A point in time as one without a zone."""
    kind = rewriter.kinds.of(node)
    if is_nano(kind):
        return typed(instant(rewriter, node), "TIMESTAMP_NTZ")
    return rewriter.visit(node)


def whole_steps(value: exp.Expr, step: int) -> exp.Expr:
    """How many whole steps lie below a whole number."""
    rest = function("pmod", value.copy(), sql.integer(step))
    return exp.IntDiv(this=exp.paren(exp.Sub(this=value.copy(), expression=rest)), expression=sql.integer(step))


def as_cast(rewriter: Rewriter, node: exp.Cast) -> exp.Expr:
    """A cast, as DuckDB casts: halves are rounded, text is read as it reads it."""
    is_tried = isinstance(node, exp.TryCast)
    target: exp.DataType = node.args["to"]
    kind = rewriter.kinds.of(node.this)
    wanted = cast_kind(target)
    if is_big(node.this) and target.this in exp.DataType.TEXT_TYPES:
        return big_text(rewriter, node.this)
    if wanted is None:
        raise no_translation(f"a cast to {target.sql('duckdb')}")
    types = pa.types
    if types.is_string(wanted):
        return rewriter.text_of(rewriter.visit(node.this), kind)
    if types.is_null(kind or pa.int32()):
        return typed(rewriter.visit(node.this), spark_type(wanted))
    if types.is_time(wanted):
        return _as_time(rewriter, node.this, kind)
    if is_nano(wanted):
        return _as_nanos(rewriter, node.this, kind, is_tried=is_tried)
    if is_nano(kind) and (types.is_date(wanted) or types.is_timestamp(wanted)):
        return typed(instant(rewriter, node.this), spark_type(wanted))
    value = rewriter.visit(node.this)
    if kind is not None and types.is_string(kind):
        return _from_text(rewriter, value, node.this, wanted, is_tried=is_tried)
    if types.is_integer(wanted) and kind is not None:
        if types.is_floating(kind):
            value = function("rint", value)
        elif types.is_decimal(kind) and kind.scale:
            value = function("round", value, sql.integer(0))
    if types.is_binary(wanted) and kind is not None and not types.is_binary(kind):
        value = typed(value, "STRING")
    if is_tried and kind is not None and types.is_decimal(wanted) and types.is_floating(kind):
        value = when(function("isnan", value.copy()), exp.Null(), value)
    return typed(value, spark_type(wanted), is_tried=is_tried)


_NUMBER = r"^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$"
_FLOAT = rf"(?i)^\s*[+-]?(?:inf|infinity|nan)\s*$|{_NUMBER}"
_ZONE = r"(?:Z|UTC|[+-]\d{1,2}(?::?\d{1,2}){0,2}|[A-Za-z]+(?:/[A-Za-z_+0-9-]+)*)"
_MOMENT = rf"^\s*[+-]?\d{{1,6}}[-/]\d{{1,2}}[-/]\d{{1,2}}(?:[ T]\d{{1,2}}:\d{{1,2}}(?::\d{{1,2}}(?:\.\d*)?)?\s*{_ZONE}?)?\s*$"


def _from_text(rewriter: Rewriter, value: exp.Expr, node: Any, wanted: pa.DataType, *, is_tried: bool) -> exp.Expr:
    """Text read as DuckDB reads it: Spark reads `1d` as a number and `2024` as a day, and no fraction as a whole number."""
    types = pa.types
    if isinstance(node, exp.Literal) and not types.is_integer(wanted):
        return typed(value, spark_type(wanted), is_tried=is_tried)
    if types.is_boolean(wanted) or types.is_binary(wanted):
        return typed(value, spark_type(wanted), is_tried=is_tried)

    def read(text: exp.Expr) -> exp.Expr:
        if types.is_integer(wanted) or (types.is_decimal(wanted) and wanted.scale == 0):
            whole = typed(text.copy(), spark_type(wanted), is_tried=is_tried)
            rounded = function("round", typed(text.copy(), "DECIMAL(38, 10)", is_tried=is_tried), sql.integer(0))
            number = typed(rounded, spark_type(wanted), is_tried=is_tried)
            return when(like(text.copy(), r"^\s*[+-]?\d+\s*$"), whole, _where(text, _NUMBER, number, is_tried=is_tried))
        if types.is_decimal(wanted) or types.is_floating(wanted):
            number = typed(function("trim", text.copy()), spark_type(wanted), is_tried=is_tried)
            return _where(text, _FLOAT if types.is_floating(wanted) else _NUMBER, number, is_tried=is_tried)
        moment = typed(function("replace", text.copy(), sql.text("/"), sql.text("-")), spark_type(wanted), is_tried=is_tried)
        return _where(text, _MOMENT, moment, is_tried=is_tried)

    return rewriter.let(value, read)


def _where(text: exp.Expr, pattern: str, value: exp.Expr, *, is_tried: bool) -> exp.Expr:
    """The value where the text is of that form; else NULL, or an error."""
    wrong = exp.Null() if is_tried else when(sql.is_null(text), exp.Null(), function("raise_error", sql.text("a text that cannot be cast")))
    return when(like(text.copy(), pattern), value, wrong)


def _as_nanos(rewriter: Rewriter, node: Any, kind: pa.DataType | None, *, is_tried: bool) -> exp.Expr:
    if is_nano(kind):
        return rewriter.visit(node)
    micros = function("unix_micros", typed(rewriter.visit(node), "TIMESTAMP", is_tried=is_tried))
    return exp.Mul(this=micros, expression=sql.integer(1_000))


def _as_time(rewriter: Rewriter, node: Any, kind: pa.DataType | None) -> exp.Expr:
    """A time of day is text here, without needless zeros, so that it sorts."""
    if kind is not None and pa.types.is_timestamp(kind):
        text = typed(instant(rewriter, node), "STRING")
        return function("substring", text, sql.integer(12))

    def read(text: exp.Expr) -> exp.Expr:
        whole = when(like(text.copy(), r"^\d{1,2}:\d{2}$"), function("concat", text.copy(), sql.text(":00")), text.copy())
        padded = when(like(text.copy(), r"^\d:"), function("concat", sql.text("0"), whole), whole.copy())
        trimmed = function("regexp_replace", padded, sql.text(r"(\.\d*?)0+$"), sql.text("$1"))
        clean = function("regexp_replace", trimmed, sql.text(r"\.$"), sql.text(""))
        return when(like(text.copy(), r"^\s*(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?\s*$"), clean)

    return rewriter.let(rewriter.visit(node), read)


def java_text(node: Any) -> exp.Expr:
    """A literal pattern as Java reads it. Raises EngineStumbled for one that is computed."""
    if isinstance(node, exp.Literal) and node.is_string:
        return sql.text(java_pattern(node.name))
    raise no_translation("a pattern that is no literal")
