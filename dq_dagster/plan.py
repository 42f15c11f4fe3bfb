"""Which questions the checks ask of the rows, gathered into few passes. What metadata answers is not scanned."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Attempt, Check
from dq_dagster.checks.runs import InOrder
from dq_dagster.checks.table import CheckedTable
from dq_dagster.errors import DoesNotFit, NotEvaluated
from dq_dagster.weighing import weighed


@dataclass(frozen=True, slots=True)
class Slot:
    """Where in a pass's row a check's number stands."""

    place: int
    number: str
    alias: str


@dataclass(frozen=True, slots=True)
class Pass:
    """One query over the rows, giving one row of numbers that answers many checks.

    `reads` names stored columns, `lent` are relations in memory that the query names.
    """

    query: exp.Select
    slots: tuple[Slot, ...]
    reads: frozenset[str]
    lent: Mapping[str, pa.Table] = field(default_factory=dict)

    @property
    def places(self) -> tuple[int, ...]:
        """The checks it answers, by their place in the plan."""
        return tuple(dict.fromkeys(slot.place for slot in self.slots))

    def numbers_of(self, row: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
        """The row's numbers, by check and under the names that the check gave them."""
        numbers: dict[int, dict[str, Any]] = {place: {} for place in self.places}
        for slot in self.slots:
            numbers[slot.place][slot.number] = row[slot.alias]
        return numbers


@dataclass(frozen=True)
class Plan:
    """How the checks are answered: from metadata, by passes, or not at all (`unanswerable`, with the reason).

    `misfits` are the checks that the stored types make impossible. A check's `attempts` come before its asks. `of_now`
    are the checks whose asks look at the clock.
    """

    checks: tuple[Check, ...]
    asks: tuple[tuple[Ask, ...], ...]
    table: CheckedTable
    unanswerable: Mapping[int, str] = field(default_factory=dict)
    misfits: Mapping[int, DoesNotFit] = field(default_factory=dict)
    attempts: Mapping[int, tuple[Attempt, ...]] = field(default_factory=dict)
    of_now: frozenset[int] = frozenset()

    @cached_property
    def passes(self) -> tuple[Pass, ...]:
        """The queries that answer all asks."""
        return fuse(enumerate(self.asks), self.table)

    @property
    def from_metadata(self) -> tuple[int, ...]:
        """The checks that no row is read for."""
        return tuple(place for place, asks in enumerate(self.asks) if not asks and place not in self.unanswerable)

    @property
    def reading_rows(self) -> tuple[int, ...]:
        """The checks that rows are read for."""
        return tuple(place for place, asks in enumerate(self.asks) if asks)


def make_plan(checks: Sequence[Check], table: CheckedTable, *, settled: Collection[int] = ()) -> Plan:
    """The plan for the checks over the table; nothing is asked for those, by place, that are `settled`."""
    asks: list[tuple[Ask, ...]] = []
    unanswerable: dict[int, str] = {}
    misfits: dict[int, DoesNotFit] = {}
    attempts: dict[int, tuple[Attempt, ...]] = {}
    of_now: set[int] = set()
    for place, check in enumerate(checks):
        asks.append(())
        if place in settled:
            continue
        asked_before = table.now_was_asked
        try:
            asks[place] = tuple(weighed(ask, table) or ask for ask in check.asks(table))
        except NotEvaluated as error:
            unanswerable[place] = error.reason
        except DoesNotFit as error:
            misfits[place] = error
        if table.now_was_asked > asked_before:
            of_now.add(place)
        if asks[place] and table.survey is not None:
            attempts[place] = tuple(check.attempts(table))
    return Plan(tuple(checks), tuple(asks), table, unanswerable, misfits, attempts, frozenset(of_now))


def fuse(asked: Iterable[tuple[int, Sequence[Ask]]], table: CheckedTable) -> tuple[Pass, ...]:
    """As few passes as there are relations to read: asks over one relation share a query, equal aggregates a column."""
    relations: dict[str, list[tuple[int, Ask]]] = {}
    for place, asks in asked:
        for ask in asks:
            relations.setdefault(ask.over.sql("duckdb") if ask.over is not None else table.relation, []).append((place, ask))
    return tuple(_fused(members, table) for members in relations.values())


def _fused(members: Sequence[tuple[int, Ask]], table: CheckedTable) -> Pass:
    columns: dict[str, exp.Expr] = {}
    aliases: dict[str, str] = {}
    slots: list[Slot] = []
    for place, ask in members:
        for number, expression in ask.numbers.items():
            text = expression.sql("duckdb")
            if text not in aliases:
                aliases[text] = f"n{len(aliases)}"
                columns[aliases[text]] = expression
            slots.append(Slot(place, number, aliases[text]))
    over = members[0][1].over
    query = sql.select_from(table.relation if over is None else over, columns)
    return Pass(query, tuple(slots), frozenset().union(*(ask.reads for _, ask in members)), members[0][1].lent)


def explain(plan: Plan, table: CheckedTable, look: Callable[[Ask | InOrder], Mapping[str, Any]]) -> str:
    """The plan in words: what metadata answers, which pass answers which checks, and its SQL. `look` reads the first rows."""
    names = [check.reported_id for check in plan.checks]
    lines: list[str] = []
    if plan.from_metadata:
        lines.append(f"from metadata, no row is read: {', '.join(names[place] for place in plan.from_metadata)}")
    if table.survey is not None:
        repeating = [name for name in table.survey.distinct if table.survey.repeats(name, rows=table.rows)]
        if repeating:
            counts = [f"'{name}' (about {table.survey.distinct[name]:.0f} values)" for name in repeating]
            lines.append(f"judged once a distinct value where a check reads nothing else, as the first rows repeat: {', '.join(counts)}")
    for place, attempts in plan.attempts.items():
        lines += [f"{names[place]} is first tried by {way}; a pass decides what it cannot prove" for way in _ways(attempts, look)]
    for number, one in enumerate(plan.passes, 1):
        answered = ", ".join(names[place] for place in one.places)
        columns = ", ".join(sorted(one.reads)) or "no column"
        lines.append(f"pass {number} answers {answered}; reads {columns} ({table.stored.bytes_of(one.reads)} bytes)")
        lines.extend(f"    {line}" for line in one.query.sql("duckdb", pretty=True).splitlines())
    lines.extend(f"not evaluated: {names[place]}: {reason}" for place, reason in plan.unanswerable.items())
    return "\n".join(lines)


def _ways(attempts: Sequence[Attempt], look: Callable[[Ask | InOrder], Mapping[str, Any]]) -> Iterator[str]:
    """The ways that will be tried, in words: a look is taken, to say where it leads."""
    for attempt in attempts:
        if not attempt.is_look:
            yield attempt.how
            continue
        found = attempt.then(look(attempt.ask))
        yield from _ways([found], look) if isinstance(found, Attempt) else ()
