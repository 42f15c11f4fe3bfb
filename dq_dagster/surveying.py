"""The first look at a large table: few rows are read, to choose between ways that are all exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from dq_dagster import sql
from dq_dagster.checks.base import Ask
from dq_dagster.checks.survey import LOOKED_AT_ROWS, Survey, distinct_in_all
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.base import EngineStumbled, Session
from dq_dagster.errors import NotEvaluated

WORTH_A_LOOK = 100_000
_TEXTS = 16


def look_at(table: CheckedTable, session: Callable[[], Session], *, deadline: float) -> None:
    """Gives a table that is large enough its survey. Where a budget is reached already, the passes will say so."""
    if table.rows < WORTH_A_LOOK:
        return
    table.survey = Survey()
    asked = _question(table)
    if asked is None or asked.over is None:
        return
    try:
        table.survey = _read(session().numbers(sql.select_from(asked.over, asked.numbers), deadline=deadline), table)
    except (EngineStumbled, NotEvaluated):
        return


def _question(table: CheckedTable) -> Ask | None:
    """What to ask of the first rows: of each text column that is read. A sensitive column's texts are not taken."""
    names = _text_columns(table)
    if not names:
        return None
    numbers: dict[str, Any] = {}
    for place, name in enumerate(names):
        column = sql.column(table.names[name])
        numbers[f"values{place}"] = sql.call("count", column)
        numbers[f"distinct{place}"] = sql.count_distinct(column)
        if name not in table.sensitive:
            numbers[f"texts{place}"] = sql.first_by(column, sql.hash_of([column]), _TEXTS)
    columns = {table.names[name]: sql.column(table.names[name]) for name in names}
    return Ask(numbers, frozenset(names), over=sql.select_from(table.relation, columns).limit(LOOKED_AT_ROWS))


def _read(numbers: Mapping[str, Any], table: CheckedTable) -> Survey:
    """The survey, from what the question brought."""
    names = _text_columns(table)
    distinct = {name: distinct_in_all(numbers[f"distinct{place}"], numbers[f"values{place}"]) for place, name in enumerate(names)}
    return Survey(distinct, {name: tuple(numbers.get(f"texts{place}") or ()) for place, name in enumerate(names)})


def _text_columns(table: CheckedTable) -> list[str]:
    stored = [column for column in table.stored.columns if column.name in table.planned and column.name not in table.stored.conflicts]
    return [column.name for column in stored if pa.types.is_string(column.type)]
