"""Kinds that users write as a SQL query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import pyarrow as pa
from pydantic import Field, model_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Context, Numbers, Verdict
from dq_dagster.checks.fields import ColumnRef
from dq_dagster.checks.queries import ColumnNotFound, parse_query, references_of, resolve_query
from dq_dagster.checks.shapes import TolerantCheck
from dq_dagster.checks.table import CheckedTable
from dq_dagster.errors import DoesNotFit, UnsupportedByEngine
from dq_dagster.expressions import ExpressionRefused


class SqlQuery(TolerantCheck):
    """A query's `condition_column` is not true; with `negate`, it is not false.

    `{{ input_view }}` stands in the query for the judged rows, and `{{ name }}` for the reference of that name. Without
    `merge_columns` the query gives at most one row, which judges the table whole. With `merge_columns` it gives rows that
    are joined back to the table by them, NULL matching NULL: a row is bad when the condition is true in one of them (with
    `negate`, when it is never true and once false). NULL is no violation, nor is a query without a row. The query is one
    SELECT in DuckDB's dialect over the table and the references alone. On an empty table it is asked like on any other.

    Example:
        {check_id: groups_balanced, kind: sql_query, enforcement: advisory, merge_columns: [account],
         query: "SELECT account, sum(amount) <> 0 AS condition FROM {{ input_view }} GROUP BY account"}
    """

    kind: Literal["sql_query"] = "sql_query"
    query: str = Field(min_length=1)
    merge_columns: tuple[ColumnRef, ...] = ()
    negate: bool = False
    condition_column: str = Field(default="condition", min_length=1)
    input_placeholder: str = Field(default="input_view", pattern=r"^\w+$")

    @model_validator(mode="after")
    def _is_possible(self) -> SqlQuery:
        try:
            query = parse_query(self.query)
        except ExpressionRefused as refused:
            raise ValueError(f"states a query that {refused}") from refused
        if self.input_placeholder not in query.tables:
            raise ValueError(f"states a query that does not read from the table; write {{{{ {self.input_placeholder} }}}} where it stands")
        if any(not isinstance(ref.root, str) for ref in self.merge_columns):
            raise ValueError("merges by an expression; name a column, and compute it in the query")
        wanted = [*(ref.label for ref in self.merge_columns), self.condition_column]
        missing = [name for name in wanted if query.outputs is not None and name not in query.outputs]
        if missing:
            raise ValueError(f"states a query that gives no column {missing[0]}; select one AS {missing[0]}")
        return self

    @property
    def tells_rows_apart(self) -> bool:
        return bool(self.merge_columns)

    def refusals(self, context: Context) -> Iterator[tuple[str, str]]:
        for name in ("max_failed_ppm", "max_failed_rows"):
            if not self.merge_columns and getattr(self, name) is not None:
                told = f"check {self.reported_id} judges the table as a whole and states {name}, which counts rows"
                yield f"/{name}", f"{told}; take it out, or tell rows apart with merge_columns"

    def references_used(self) -> tuple[str, ...]:
        return tuple(references_of(parse_query(self.query), self.input_placeholder))

    def reads(self, table: CheckedTable) -> frozenset[str]:
        return super().reads(table) | parse_query(self.query).mentions(table)

    def reference_reads(self, references: Mapping[str, CheckedTable]) -> dict[str, frozenset[str]]:
        query = parse_query(self.query)
        return {name: query.mentions(references[name]) for name in self.references_used()}

    def named_columns(self) -> tuple[ColumnRef, ...]:
        return self.merge_columns

    def _resolved(self, table: CheckedTable) -> exp.Query:
        sources = {self.input_placeholder: table, **{name: table.references[name] for name in self.references_used()}}
        selected = self.selected(table)
        rows = {} if selected is None else {self.input_placeholder: exp.select("*").from_(sql.relation(table.relation)).where(selected)}
        try:
            return resolve_query(parse_query(self.query), sources, now=table.instant(), rows=rows)
        except ColumnNotFound as error:
            raise DoesNotFit(f"states a query that cannot be resolved: {error.why}", pointer="/query") from error

    def fits(self, table: CheckedTable, type_of: Callable[[exp.Expr], pa.DataType]) -> None:
        condition = sql.select_from(self._resolved(table), {"condition": sql.column(self.condition_column)}).limit(1)
        try:
            kind = type_of(condition.subquery())
            if self.merge_columns:
                type_of(self.bad_row(table))
        except DoesNotFit as error:
            raise DoesNotFit("states a query that does not fit the types of the columns; mend it", pointer="/query") from error
        if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            raise DoesNotFit(f"states a query whose {self.condition_column} is of the type {kind}; make it true or false", pointer="/query")

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        names = [ref.label for ref in self.merge_columns]
        found = sql.call("bool_or", sql.column(self.condition_column))
        keyed = sql.select_from(self._resolved(table), {**sql.numbered([sql.column(name) for name in names]), "found": found})
        keyed = keyed.group_by(*(sql.column(name) for name in names))
        is_wrong = sql.not_(sql.column("found")) if self.negate else sql.column("found")
        wrong = sql.select_from(keyed, {name: sql.column(name) for name in sql.numbered([found for _ in names])}).where(is_wrong)
        return sql.is_among([table.value(ref).expression for ref in self.merge_columns], wrong, null_safe=True)

    def condemned_row(self, table: CheckedTable) -> exp.Expr | None:
        return super().condemned_row(table) if self.merge_columns else None

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        if self.merge_columns:
            return self.asks_of_rows(table)
        condition = sql.column(self.condition_column)
        wrong = sql.count_where(sql.not_(condition) if self.negate else condition)
        return (Ask({"rows": sql.count_rows(), "wrong": wrong}, self.reads(table), over=self._resolved(table)),)

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        if self.merge_columns:
            return self.verdict_on(numbers["failed"], numbers.get("judged", table.rows), table)
        if numbers["rows"] > 1:
            told = f"gives {numbers['rows']} rows where one judges the table; aggregate them, or name merge_columns to judge rows"
            raise UnsupportedByEngine(engine="the query", what=told)
        is_wrong = bool(numbers["wrong"])
        of_rows = "" if self.filter is None else f" over the rows where {self.filter.root}"
        return Verdict(not is_wrong, f"the query's {self.condition_column}{of_rows} is {'' if is_wrong else 'not '}{self._violation}", None)

    @property
    def _violation(self) -> str:
        return "false" if self.negate else "true"

    def fault(self, table: CheckedTable) -> str:
        names = ", ".join(ref.label for ref in self.merge_columns)
        return f"a ({names}) for which the query's {self.condition_column} is {self._violation}"
