"""SQL queries as users write them: exactly one SELECT over the table and declared references, parsed and allow-listed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import OptimizeError, SqlglotError

from dq_dagster import sql
from dq_dagster.checks.table import CheckedTable
from dq_dagster.expressions import NOW_NODES, ExpressionRefused, refusal_of

_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_MARK = re.compile(r"\{\{(\w+)\}\}")
# Names are compared as they are written: DuckDB's own rule would fold their case.
_DIALECT = "duckdb, normalization_strategy=case_sensitive"
_QUERY_NODES = (
    exp.Select, exp.SetOperation, exp.Subquery, exp.With, exp.CTE, exp.TableAlias, exp.Alias, exp.From, exp.Join, exp.Where, exp.Group,
    exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Qualify, exp.Window, exp.WindowSpec, exp.Star, exp.Exists, exp.Filter,
    exp.All, exp.Any,
)  # fmt: skip
_FUNCTIONS = frozenset({
    "row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value", "last_value", "nth_value",
    "first", "last", "any_value", "bool_and", "bool_or", "logical_and", "logical_or", "every", "approx_count_distinct",
    "approx_distinct", "skewness", "kurtosis", "kurtosis_pop", "quantile", "quantile_cont", "quantile_disc", "percentile_cont",
    "percentile_disc", "arg_min", "arg_max", "min_by", "max_by", "string_agg", "group_concat", "array_agg", "list", "corr", "covar_pop",
    "covar_samp",
})  # fmt: skip
_TABLE_PARTS = {"this", "alias", "joins"}


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query. `tables` are the names by which it calls what it reads from, those of its own CTEs left out."""

    tree: exp.Query
    tables: tuple[str, ...]

    @property
    def outputs(self) -> tuple[str, ...] | None:
        """The names of its columns; None where a star stands among them."""
        names = tuple(self.tree.named_selects)
        return None if "*" in names or any(isinstance(one, exp.Star) or one.is_star for one in self.tree.selects) else names

    def mentions(self, table: CheckedTable) -> frozenset[str]:
        """The stored columns of a table that it may read: those whose names occur in it, or all beside a star."""
        stored = [column.name for column in table.stored.columns]
        if any(not isinstance(star.parent, exp.Count) for star in self.tree.find_all(exp.Star)):
            return frozenset(stored)
        written = {part.name for column in self.tree.find_all(exp.Column) for part in column.parts}
        written |= {name.name for join in self.tree.find_all(exp.Join) for name in join.args.get("using") or ()}
        return frozenset(name for name in stored if name in written)


@lru_cache(maxsize=256)
def parse_query(text: str) -> Query:
    """The one query that the text holds. `{{ name }}` stands for a table.

    Raises ExpressionRefused for two statements, anything but a SELECT, and whatever is not on the list of what is allowed.
    """
    try:
        trees = sqlglot.parse(_PLACEHOLDER.sub(r'"{{\1}}"', text), dialect=_DIALECT)
    except SqlglotError as error:
        raise ExpressionRefused("cannot be parsed as one SQL query") from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Select | exp.SetOperation):
        raise ExpressionRefused("is not exactly one SELECT")
    tree = trees[0]
    for node in tree.walk():
        if why := _refusal(node):
            raise ExpressionRefused(why)
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    named = [_called(table) for table in tree.find_all(exp.Table) if table.name not in own]
    return Query(tree, tuple(dict.fromkeys(named)))


def _refusal(node: exp.Expr) -> str | None:
    """Why the node may not stand in a query; None where it may."""
    if isinstance(node, exp.Table):
        if not isinstance(node.this, exp.Identifier) or {name for name, value in node.args.items() if value} - _TABLE_PARTS:
            return f"reads from {node.sql('duckdb')}, which is not the table or a reference by its name"
        return None
    if isinstance(node, exp.With) and node.args.get("recursive"):
        return "is recursive"
    if isinstance(node, exp.Func) and (str(node.this) if isinstance(node, exp.Anonymous) else node.sql_name()).lower() in _FUNCTIONS:
        return None
    if isinstance(node, _QUERY_NODES):
        return None
    return refusal_of(node, aggregates=True)


class ColumnNotFound(LookupError):
    """A column that no table of the query has; `why` says which."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


def resolve_query(query: Query, sources: Mapping[str, CheckedTable], *, now: exp.Expr, rows: Mapping[str, exp.Query]) -> exp.Query:
    """The query over an engine's relations and columns, with every spelling of the present replaced by one instant.

    `sources` are the tables by the names that the query uses; `rows` what stands in for some of them. Raises
    ColumnNotFound.
    """
    from sqlglot.optimizer.qualify import qualify  # slow to import, and few recipes hold a query
    from sqlglot.optimizer.scope import traverse_scope

    tree = query.tree.copy()
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    bases = [table for table in tree.find_all(exp.Table) if table.name not in own]
    read = {base.name: sources[_called(base)] for base in bases}
    schema: dict[str, object] = {name: dict.fromkeys(table.names, exp.DataType.build("unknown")) for name, table in read.items()}
    for base in bases:
        if not base.alias:
            base.set("alias", exp.TableAlias(this=exp.to_identifier(_called(base), quoted=True)))
    try:
        qualified = qualify(tree, schema=schema, dialect=_DIALECT, quote_identifiers=True)
    except (OptimizeError, SqlglotError) as error:
        raise ColumnNotFound(str(error).split(". Line")[0].removesuffix(".")) from error
    renamed: list[tuple[exp.Column, str]] = []
    for scope in traverse_scope(qualified):
        for column in scope.columns:
            source = scope.sources.get(column.table)
            if isinstance(source, exp.Table) and source.name in read:
                renamed.append((column, read[source.name].names[column.name]))
    for column, name in {id(column): (column, name) for column, name in renamed}.values():
        column.set("this", exp.to_identifier(name, quoted=True))
    for base in list(qualified.find_all(exp.Table)):
        if base.name in read:
            _stand_in(base, rows.get(_called(base)), read[base.name].relation)
    resolved = qualified.transform(lambda node: _present(node, now))
    assert isinstance(resolved, exp.Query)
    return resolved


def _called(base: exp.Table) -> str:
    """The name of the table that is meant, with or without braces around it."""
    return _MARK.sub(r"\1", base.name)


def _stand_in(base: exp.Table, rows: exp.Query | None, relation: str) -> None:
    if rows is None:
        base.set("this", exp.to_identifier(relation, quoted=True))
    else:
        base.replace(rows.subquery(base.alias_or_name, copy=True))


def _present(node: exp.Expr, now: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.CurrentDate):
        return sql.cast(now, "DATE")
    return now.copy() if isinstance(node, NOW_NODES) else node


def references_of(query: Query, own: str) -> Iterator[str]:
    """The names of the tables that the query reads beside the table itself."""
    return (name for name in query.tables if name != own)
