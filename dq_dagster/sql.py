"""Small builders of SQL expressions, in DuckDB's dialect as sqlglot trees. They know nothing of checks.

A builder takes over what it is given: an expression that stands nowhere yet becomes part of what is built, one that is
part of something already is copied. Copies are most of what a plan costs, and most expressions are used once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

ROWS = "rows"
_DUCKDB = DuckDB()


def own(value: exp.Expr) -> exp.Expr:
    """The expression as a part of a new one: itself where it stands nowhere yet, else a copy."""
    return value if value.parent is None else value.copy()


def _arguments(values: Iterable[exp.Expr]) -> list[exp.Expr]:
    """The expressions as parts of a new one, each a node of its own even where one stands among them twice."""
    owned: dict[int, exp.Expr] = {}
    return [owned.setdefault(id(part), part) if id(part) not in owned else part.copy() for part in map(own, values)]


@lru_cache(maxsize=256)
def _type(kind: str) -> exp.DataType:
    return exp.DataType.build(kind, dialect=_DUCKDB)


def column(name: str, of: str | None = None) -> exp.Column:
    """A column by its engine name, always quoted; `of` the relation of that name."""
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=None if of is None else exp.to_identifier(of, quoted=True))


def text(value: str) -> exp.Expr:
    """A text literal."""
    return exp.Literal.string(value)


def integer(value: int) -> exp.Expr:
    """A whole number of any size up to 38 digits."""
    literal = exp.Literal.number(abs(value))
    return exp.Neg(this=literal) if value < 0 else literal


def cast(value: exp.Expr, kind: str) -> exp.Expr:
    """The value as another type; an error where it does not fit."""
    return exp.cast(own(value), _type(kind).copy(), copy=False)


def try_cast(value: exp.Expr, kind: str) -> exp.Expr:
    """The value as another type; NULL where it does not fit."""
    return exp.TryCast(this=own(value), to=_type(kind).copy())


def double(value: float) -> exp.Expr:
    """A double, written so that every engine reads exactly this one."""
    return cast(text(repr(value)), "DOUBLE")


def decimal(value: Decimal, *, precision: int, scale: int) -> exp.Expr:
    """A decimal of that precision and scale; the value must fit."""
    return cast(text(f"{value:f}"), f"DECIMAL({precision}, {scale})")


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A function by name. One that sqlglot knows is carried over between dialects."""
    return exp.func(name, *_arguments(arguments), copy=False, dialect=_DUCKDB)


def all_of(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """The conjunction; true for none."""
    return exp.and_(*_arguments(conditions), copy=False) if conditions else exp.true()


def any_of(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """The disjunction; false for none."""
    return exp.or_(*_arguments(conditions), copy=False) if conditions else exp.false()


def count_rows() -> exp.Expr:
    """How many rows."""
    return exp.Count(this=exp.Star())


def count_where(condition: exp.Expr) -> exp.Expr:
    """In how many rows the condition is true. An aggregate's filter, never a WHERE: see docs/decisions on NaN."""
    return where(count_rows(), condition)


def where(aggregate: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """The aggregate over the rows for which the condition is true, among those that it is over already."""
    if isinstance(aggregate, exp.Filter):
        return where(aggregate.this, all_of([aggregate.expression.this, condition]))
    return exp.Filter(this=own(aggregate), expression=exp.Where(this=own(condition)))


def not_(condition: exp.Expr) -> exp.Expr:
    """The negation; NULL stays NULL."""
    return exp.not_(own(condition), copy=False)


def is_null(value: exp.Expr) -> exp.Expr:
    """Whether the value is NULL."""
    return exp.Is(this=own(value), expression=exp.Null())


def struct(members: Mapping[str, exp.Expr]) -> exp.Expr:
    """A struct of named members, in their order."""
    return exp.Struct(
        expressions=[exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=own(value)) for name, value in members.items()]
    )


def smallest(value: exp.Expr, count: int) -> exp.Expr:
    """The smallest values, in order, as a list."""
    return exp.Anonymous(this="min", expressions=[own(value), integer(count)])


def smallest_of(count: int) -> Callable[[exp.Expr], exp.Expr]:
    """The aggregate that keeps that many of the smallest values."""
    return lambda value: smallest(value, count)


def first_by(value: exp.Expr, order: exp.Expr, count: int | None = None) -> exp.Expr:
    """The value that comes first in an order, or the first values as a list."""
    return exp.Anonymous(this="arg_min", expressions=_arguments([value, order, *([] if count is None else [integer(count)])]))


def hash_of(values: Sequence[exp.Expr]) -> exp.Expr:
    """A 64-bit hash of the values: equal values have equal ones, in one engine's one version."""
    return exp.Anonymous(this="hash", expressions=_arguments(values))


def count_distinct(value: exp.Expr) -> exp.Expr:
    """How many distinct values that are not NULL."""
    return exp.Count(this=exp.Distinct(expressions=[own(value)]))


def quantile_cont(value: exp.Expr, share: float) -> exp.Expr:
    """The value that lies at that share of the way through the values in order, between two of them if need be."""
    return exp.Anonymous(this="quantile_cont", expressions=[own(value), exp.Literal.number(repr(share))])


def quantile_disc(value: exp.Expr, share: float) -> exp.Expr:
    """The first of the values in order up to which that share of them lies."""
    return exp.Anonymous(this="quantile_disc", expressions=[own(value), exp.Literal.number(repr(share))])


def big_integer(value: int) -> exp.Expr:
    """A whole number of any size."""
    return cast(text(str(value)), "BIGNUM")


def relation(name: str) -> exp.Table:
    """A relation by its name, always quoted."""
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def select_from(source: exp.Query | str, columns: Mapping[str, exp.Expr]) -> exp.Select:
    """SELECT named expressions FROM a relation or a query."""
    named = [exp.Alias(this=own(value), alias=exp.to_identifier(name, quoted=True)) for name, value in columns.items()]
    origin = relation(source) if isinstance(source, str) else _query(source).subquery("q", copy=False)
    return exp.Select(expressions=named).from_(origin, copy=False)


def _query(query: exp.Query) -> exp.Query:
    return query if query.parent is None else query.copy()


def without_spaces(value: exp.Expr) -> exp.Expr:
    """The text without the spaces around it; tabs, line breaks and other blanks stay."""
    return call("trim", value, text(" "))


def matches(value: exp.Expr, pattern: str) -> exp.Expr:
    """Whether the pattern, in RE2's syntax, matches the whole text: not all of it but a last line break."""
    return call("regexp_matches", value, text(rf"\A(?:{pattern})\z"))


def groups(value: exp.Expr, pattern: str, names: Sequence[str]) -> exp.Expr:
    """A struct of what the pattern's groups, in their order, take up of the text: empty where a group, or the pattern, does not match."""
    listed = exp.Array(expressions=[text(name) for name in names])
    return exp.Anonymous(this="regexp_extract", expressions=[own(value), text(pattern), listed])


def member(value: exp.Expr, name: str) -> exp.Expr:
    """A member of a struct."""
    return exp.Anonymous(this="struct_extract", expressions=[own(value), text(name)])


def let(name: str, value: exp.Expr, body: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """An expression over a value that is computed once, under a name that no column inside the expression carries."""
    over = exp.Lambda(this=own(body(exp.Column(this=exp.to_identifier(name)))), expressions=[exp.to_identifier(name)])
    mapped = exp.Anonymous(this="list_transform", expressions=[exp.Array(expressions=[own(value)]), over])
    return exp.Anonymous(this="list_extract", expressions=[mapped, integer(1)])


def is_word(value: exp.Expr, words: Iterable[str]) -> exp.Expr:
    """Whether the text is one of the words; no word may hold a space.

    An engine hashes the rows of a subquery once, while thousands of constants in a list are compared one by one.
    """
    listed = exp.select(exp.Unnest(expressions=[call("string_split", text(" ".join(sorted(words))), text(" "))]))
    return exp.In(this=own(value), query=listed.subquery(copy=False))


def call_python(name: str, value: exp.Expr, parameter: str) -> exp.Expr:
    """A function of our own, written in Python, that an engine makes known: see checks/functions.py."""
    return exp.Anonymous(this=name, expressions=[own(value), text(parameter)])


def numbered(parts: Sequence[exp.Expr], letter: str = "k") -> dict[str, exp.Expr]:
    """The parts by name: `k0`, `k1` …."""
    return {f"{letter}{place}": part for place, part in enumerate(parts)}


def is_among(key: Sequence[exp.Expr], query: exp.Query, *, null_safe: bool = False) -> exp.Expr:
    """Whether a key is a row of a query, its parts in the order of the query's columns.

    A key of one part that is NULL is unknown; `null_safe`, or with several parts, NULL matches NULL.
    """
    if len(key) == 1 and not null_safe:
        return exp.In(this=own(key[0]), query=_query(query).subquery(copy=False))
    rows = select_from(query, {"key": struct(numbered([column(name) for name in query.named_selects]))})
    return exp.In(this=struct(numbered(key)), query=rows.subquery(copy=False))
