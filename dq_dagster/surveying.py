"""The first look at a large table: few rows are read, to choose between ways that are all exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.survey import LOOKED_AT_ROWS, Survey, distinct_in_all
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.base import EngineStumbled, Session
from dq_dagster.errors import NotEvaluated
from dq_dagster.limits import Limits

WORTH_A_LOOK = 100_000
_TEXTS = 16


def look_at(
    table: CheckedTable, session: Callable[[], Session], limits: Limits, *, deadline: float, of: frozenset[str] | None = None
) -> None:
    """Gives a table that is large enough its survey, `of` some of the columns that are read.

    Over the bytes or the time allowed none is taken: the passes say so.
    """
    if table.rows < WORTH_A_LOOK or table.stored.bytes_of(table.planned) > limits.scan_bytes:
        return
    table.survey = Survey()
    names = [name for name in _text_columns(table) if of is None or name in of]
    if not names:
        return
    try:
        table.survey = _read(session().numbers(_question(names, table), deadline=deadline), names)
    except (EngineStumbled, NotEvaluated):
        return


def _question(names: Sequence[str], table: CheckedTable) -> exp.Select:
    """What to ask of the first rows: of each text column that is read. A sensitive column's texts are not taken."""
    numbers: dict[str, exp.Expr] = {}
    for place, name in enumerate(names):
        column = sql.column(table.names[name])
        numbers[f"values{place}"] = sql.call("count", column)
        numbers[f"distinct{place}"] = sql.count_distinct(column)
        if name not in table.sensitive:
            numbers[f"texts{place}"] = sql.first_by(column, sql.hash_of([column]), _TEXTS)
    columns = {table.names[name]: sql.column(table.names[name]) for name in names}
    return sql.select_from(sql.select_from(table.relation, columns).limit(LOOKED_AT_ROWS), numbers)


def _read(numbers: Mapping[str, Any], names: Sequence[str]) -> Survey:
    """The survey, from what the question brought."""
    distinct = {name: distinct_in_all(numbers[f"distinct{place}"], numbers[f"values{place}"]) for place, name in enumerate(names)}
    return Survey(distinct, {name: tuple(numbers.get(f"texts{place}") or ()) for place, name in enumerate(names)})


def _text_columns(table: CheckedTable) -> list[str]:
    stored = [column for column in table.stored.columns if column.name in table.planned and column.name not in table.stored.conflicts]
    return [column.name for column in stored if pa.types.is_string(column.type)]
