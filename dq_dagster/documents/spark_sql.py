"""Spark's SQL as DuckDB's: one expression, query or name at a time, held to the allow-list, its meaning kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, SqlglotError

from dq_dagster import sql
from dq_dagster.checks.pattern_reader import PatternRefused
from dq_dagster.checks.patterns import compiled
from dq_dagster.expressions import ExpressionRefused, grammar, parse
from dq_dagster.plain import shown

_BACKQUOTED = re.compile(r"`((?:[^`]|``)+)`")
_SIGNS = re.compile(r"[-+*/%<>=!(){}\[\]'\"`,;:|&^~?\\]")
_WORDS_OF_SQL = re.compile(r"\b(?:and|or|not|is|in|like|rlike|ilike|between|case|when|div|cast|interval)\b", re.IGNORECASE)


class DqSpark(Spark):
    """Spark's SQL, in which a doubled quote inside a literal is a quote, as it is in every other SQL."""

    class Tokenizer(Spark.Tokenizer):
        """Takes literals apart."""

        STRING_ESCAPES: ClassVar = ["\\", "'", '"']


SPARK = "dqspark"

# Functions of both systems that share a name and no meaning, or that follow a setting of the session.
_OTHER_MEANING = {
    "hash": "hashes in another way on every engine",
    "bin": "is not the same function everywhere",
    "typeof": "names types in Spark's words",
    "encode": "takes other encodings here",
    "decode": "takes other encodings here",
    "format": "formats numbers in another way here",
}


def name_of(text: str) -> str | None:
    """The column that the text names, by itself or by a dotted path; None where it is an expression.

    What cannot be an expression is a name: spaces are allowed in one, and backquotes may stand around it.
    """
    text = text.strip()
    parts = text.split(".") if "`" not in text else re.findall(r"(?:^|(?<=\.))((?:`(?:[^`]|``)+`|[^`.]+))(?=\.|$)", text)
    if parts and ".".join(parts) == text and all(_is_name(part) for part in parts) and not text.replace(".", "").isdigit():
        return ".".join(part[1:-1].replace("``", "`") if part.startswith("`") else part for part in parts)
    return None


def _is_name(part: str) -> bool:
    if _BACKQUOTED.fullmatch(part):
        return True
    return bool(part.strip()) and not _SIGNS.search(part) and not (" " in part.strip() and _WORDS_OF_SQL.search(part))


def expression_of(text: str) -> str:
    """The expression in DuckDB's dialect. Raises ExpressionRefused."""
    tree = tree_of(text)
    for node in tree.walk():
        _refuse_other_meaning(node)
    try:
        translated = translate(tree).sql("duckdb", unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise ExpressionRefused("cannot be carried over to DuckDB; write it with other functions") from error
    parse(translated)
    return translated


def tree_of(text: str) -> exp.Expr:
    """The tree of the one expression that the text holds by its grammar. Raises ExpressionRefused."""
    return grammar(text, dialect=SPARK)


def is_expression(text: str) -> bool:
    """Whether the text is one SQL expression by its grammar, allowed or not."""
    try:
        trees = sqlglot.parse(f"SELECT {text}\n", dialect=SPARK)
    except SqlglotError:
        return False
    tree = trees[0]
    if len(trees) != 1 or not isinstance(tree, exp.Select):
        return True  # A statement: to be refused as one, and never taken for a name.
    return not any(isinstance(entry, exp.Alias) for entry in tree.expressions)


def translate(tree: exp.Expr) -> exp.Expr:
    """The tree with what sqlglot does not carry over by itself put into DuckDB's words, from the leaves up."""
    whole = exp.Paren(this=tree.copy())
    for node in reversed(list(whole.this.walk())):
        carried = _carried(node)
        if carried is not node:
            node.replace(carried)
    return whole.this


def _refuse_other_meaning(node: exp.Expr) -> None:
    name = node.name.lower() if isinstance(node, exp.Anonymous) else type(node).sql_names()[0].lower() if isinstance(node, exp.Func) else ""
    if name in _OTHER_MEANING:
        raise ExpressionRefused(f"calls {name}, which {_OTHER_MEANING[name]}; write it with other functions")


def _carried(node: exp.Expr) -> exp.Expr:
    """The node in DuckDB's words; itself where sqlglot finds them."""
    if isinstance(node, exp.Anonymous):
        carry = _BY_NAME.get(str(node.this).lower())
        if carry is None:
            return node
        try:
            return carry(*node.expressions)
        except TypeError:
            raise ExpressionRefused(f"calls {node.this} with {len(node.expressions)} arguments, which it does not take") from None
    carry = _BY_CLASS.get(type(node))
    return node if carry is None else carry(node)


def _cast(value: exp.Expr, target: exp.DataType) -> exp.Expr:
    """A cast that gives NULL where the value does not fit, so that one cell does not end the run.

    Spark cuts the fraction off where it casts to whole numbers, DuckDB rounds.
    """
    if isinstance(value, exp.Literal) and _MOMENT.fullmatch(value.name) and target.this in exp.DataType.TEMPORAL_TYPES:
        return exp.Cast(this=value.copy(), to=target.copy())
    if isinstance(value, exp.Literal) or target.this not in exp.DataType.INTEGER_TYPES:
        return exp.TryCast(this=value.copy(), to=target.copy())
    words = exp.cast(value.copy(), "text")
    whole = exp.Case(
        this=words,
        ifs=[exp.If(this=sql.text("true"), true=sql.text("1")), exp.If(this=sql.text("false"), true=sql.text("0"))],
        default=exp.RegexpReplace(this=words.copy(), expression=sql.text(r"\.[0-9]*$"), replacement=sql.text("")),
    )
    return exp.TryCast(this=whole, to=target.copy())


def _cast_to(kind: str) -> Callable[[exp.Expr], exp.Expr]:
    return lambda value: _cast(value, exp.DataType.build(kind))


def _day(value: exp.Expr) -> exp.Expr:
    return exp.TryCast(this=value.copy(), to=exp.DataType.build("date"))


def _to_date(node: exp.Expr) -> exp.Expr:
    if node.args.get("format") is None:
        return _day(node.this)
    return _day(exp.StrToTime(this=node.this.copy(), format=node.args["format"].copy(), safe=True))


def _moved_day(node: exp.Expr) -> exp.Expr:
    unit = node.args.get("unit") or exp.var("DAY")
    return _day(exp.paren(exp.Add(this=_day(node.this), expression=exp.Interval(this=exp.paren(node.expression.copy()), unit=unit.copy()))))


def _seconds(value: exp.Expr | None = None, format: exp.Expr | None = None) -> exp.Expr:
    """Seconds since 1970, of text or of an instant."""
    if value is None:
        instant: exp.Expr = exp.CurrentTimestamp()
    elif format is None or format.name == _TIMESTAMP_FORMAT:
        instant = exp.TryCast(this=value.copy(), to=exp.DataType.build("timestamptz"))
    else:
        instant = exp.StrToTime(this=value.copy(), format=format.copy(), safe=True)
    return exp.cast(exp.Anonymous(this="floor", expressions=[exp.Anonymous(this="epoch", expressions=[instant])]), "bigint")


def _truncated(node: exp.Expr) -> exp.Expr:
    unit = node.args["unit"].name.lower()
    known = _UNITS.get(unit)
    if known is None:
        raise ExpressionRefused(f"cuts a date to {unit}, which is no unit; write year, quarter, month, week, day, hour, minute or second")
    return exp.Anonymous(this="date_trunc", expressions=[sql.text(known), node.this.copy()])


def _matched(node: exp.Expr) -> exp.Expr:
    """A search for a pattern, read as Java's and found as RE2 finds it; what is searched is text."""
    searched = exp.cast(node.this.copy(), "text") if isinstance(node.this, exp.Column) else node.this.copy()
    return exp.RegexpLike(this=searched, expression=_pattern(node.expression))


def _with_pattern(node: exp.Expr) -> exp.Expr:
    copy = node.copy()
    _pattern(node.expression)  # What RE2 cannot evaluate is refused; the groups are kept as they are.
    replacement = copy.args.get("replacement")
    if isinstance(replacement, exp.Literal) and replacement.is_string:
        copy.set("replacement", sql.text(re.sub(r"\$(\d)", r"\\\1", replacement.name)))
    return copy


def _pattern(pattern: exp.Expr) -> exp.Expr:
    if not isinstance(pattern, (exp.Literal, exp.RawString)):
        raise ExpressionRefused("takes a pattern from a column, which cannot be read before the rows are; write the pattern itself")
    try:
        return sql.text(compiled(pattern.name))
    except PatternRefused as refused:
        raise ExpressionRefused(f"states the pattern {shown(pattern.name)}, which {refused}") from refused


def _like(node: exp.Expr) -> exp.Expr:
    """Spark's LIKE escapes with a backslash, DuckDB's with nothing unless it is said."""
    pattern = node.args["expression"]
    if isinstance(node.parent, exp.Escape) or not isinstance(pattern, exp.Literal) or "\\" not in pattern.name:
        return node
    return exp.Escape(this=node.copy(), expression=sql.text("\\"))


def _none_for_zero(node: exp.Expr) -> exp.Expr:
    """A remainder of a division by zero is NULL, and no error."""
    return type(node)(this=node.this.copy(), expression=_not_zero(node.args["expression"]))


def _not_zero(divisor: exp.Expr) -> exp.Expr:
    if isinstance(divisor, exp.Nullif) or (isinstance(divisor, exp.Literal) and divisor.name.strip("0.")):
        return divisor.copy()
    return exp.Nullif(this=divisor.copy(), expression=sql.integer(0))


def _remainder(value: exp.Expr, divisor: exp.Expr) -> exp.Expr:
    """Spark's pmod: never negative for a divisor above zero."""
    by = _not_zero(divisor)
    rest = exp.paren(exp.Mod(this=exp.paren(value.copy()), expression=by))
    return exp.paren(exp.Mod(this=exp.paren(exp.Add(this=rest, expression=by.copy())), expression=by.copy()))


def _substring(node: exp.Expr) -> exp.Expr:
    """A text begins at 1, and Spark takes 0 for 1."""
    start = node.args.get("start")
    if not isinstance(start, exp.Literal) or start.name != "0":
        return node
    copy = node.copy()
    copy.set("start", sql.integer(1))
    return copy


def _any_entry(node: exp.Expr) -> exp.Expr:
    if not isinstance(node.expression, exp.Lambda):
        return node
    found = exp.ArrayFilter(this=node.this.copy(), expression=node.expression.copy())
    return exp.GT(this=exp.Anonymous(this="len", expressions=[found]), expression=sql.integer(0))


def _every_entry(array: exp.Expr, test: exp.Expr) -> exp.Expr:
    breaks = test.copy()
    breaks.set("this", exp.not_(exp.paren(breaks.this)))
    return exp.EQ(
        this=exp.Anonymous(this="len", expressions=[exp.ArrayFilter(this=array.copy(), expression=breaks)]), expression=sql.integer(0)
    )


def _place(node: exp.Expr) -> exp.Expr:
    """Spark's place in an array is 0 for what is not there."""
    place = exp.Anonymous(this="list_position", expressions=[node.this.copy(), node.expression.copy()])
    return exp.If(this=sql.is_null(node.this), true=exp.Null(), false=sql.call("coalesce", place, sql.integer(0)))


def _named(name: str) -> Callable[..., exp.Expr]:
    return lambda *arguments: exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?", re.ASCII)
_TIMESTAMP_FORMAT = "%Y-%mstrict-%dstrict %Hstrict:%Mstrict:%Sstrict"
_UNITS: Mapping[str, str] = {
    **dict.fromkeys(["year", "yyyy", "yy"], "year"),
    "quarter": "quarter",
    **dict.fromkeys(["month", "mm", "mon"], "month"),
    "week": "week",
    **dict.fromkeys(["day", "dd"], "day"),
    **{unit: unit for unit in ("hour", "minute", "second", "millisecond", "microsecond")},
}
_CASTS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "date", "binary")

_BY_NAME: Mapping[str, Callable[..., exp.Expr]] = {
    **{name: _cast_to(name) for name in _CASTS},
    "isnull": lambda value: exp.Is(this=value.copy(), expression=exp.Null()),
    "isnotnull": lambda value: exp.not_(exp.Is(this=value.copy(), expression=exp.Null())),
    "now": lambda: exp.CurrentTimestamp(),
    "forall": _every_entry,
    # Spark counts the days of a week from Monday as 0, DuckDB from Sunday.
    "weekday": lambda value: exp.paren(exp.Sub(this=exp.Anonymous(this="isodow", expressions=[_day(value)]), expression=sql.integer(1))),
    "pmod": _remainder,
    "cardinality": _named("cardinality"),
    "octet_length": _named("strlen"),
    "btrim": _named("trim"),
    "arrays_overlap": _named("list_has_any"),
    "nanvl": lambda value, other: exp.If(this=_named("isnan")(value), true=other.copy(), false=value.copy()),
}
_BY_CLASS: Mapping[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.Cast: lambda node: _cast(node.this, node.args["to"]),
    exp.TryCast: lambda node: _cast(node.this, node.args["to"]),
    exp.TsOrDsToDate: _to_date,
    exp.TsOrDsAdd: _moved_day,
    exp.StrToTime: lambda node: exp.StrToTime(this=node.this.copy(), format=node.args["format"].copy(), safe=True),
    exp.StrToUnix: lambda node: _seconds(node.this, node.args.get("format")),
    exp.DateTrunc: _truncated,
    exp.TimestampTrunc: _truncated,
    # Spark's week begins with Sunday as 1, DuckDB's with Sunday as 0.
    exp.DayOfWeek: lambda node: exp.paren(exp.Add(this=_named("dayofweek")(node.this), expression=sql.integer(1))),
    exp.RegexpLike: _matched,
    exp.RegexpReplace: _with_pattern,
    exp.RegexpExtract: _with_pattern,
    exp.RegexpSplit: _with_pattern,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Mod: _none_for_zero,
    exp.IntDiv: _none_for_zero,
    exp.Substring: _substring,
    exp.ArraySize: lambda node: _named("cardinality")(node.this),
    exp.ArrayPosition: _place,
    exp.MapContainsKey: lambda node: _named("list_contains")(_named("map_keys")(node.this), node.args["key"]),
    exp.Exists: _any_entry,
}


_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def query_of(text: str) -> tuple[str, tuple[str, ...]]:
    """A query with `{{ name }}` for its tables in DuckDB's dialect, and the names. Raises ExpressionRefused."""
    names = tuple(dict.fromkeys(_PLACEHOLDER.findall(text)))
    marked = _PLACEHOLDER.sub(lambda found: f"`{_MARK}{found.group(1)}`", text)
    try:
        trees = sqlglot.parse(marked, dialect=SPARK)
    except SqlglotError as error:
        raise ExpressionRefused("cannot be parsed as one SQL query") from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise ExpressionRefused("is not exactly one SQL query")
    for node in trees[0].walk():
        _refuse_other_meaning(node)
    try:
        query = translate(trees[0]).sql("duckdb", unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise ExpressionRefused("cannot be carried over to DuckDB; write it with other functions") from error
    return re.sub(rf'"{_MARK}(\w+)"', r"{{ \1 }}", query), names


_MARK = "dq_placeholder_of_"
