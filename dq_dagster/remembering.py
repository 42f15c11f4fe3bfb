"""Checking a table by its parts: what is known of a part from before is not asked again, and the parts' numbers are merged.

A number is reused only for the same part (name, size, instants of change, footer), the same question (SQL, types of what it
reads, references) and the same versions of what answers it. What does not merge exactly is left to the ordinary way.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks import functions
from dq_dagster.checks.base import Ask, Numbers, Parted
from dq_dagster.checks.shapes import RowCheck
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.base import EngineStumbled, NarrowableSession
from dq_dagster.errors import MemoryBudgetExceeded, NotEvaluated, TimeBudgetExceeded
from dq_dagster.limits import Limits
from dq_dagster.memory import PART, PartMemory, digest_of_facts
from dq_dagster.merging import Merging, merging
from dq_dagster.plan import Pass, Plan, fuse
from dq_dagster.surveying import look_at
from dq_dagster.tables import Part, StoredTable, open_table
from dq_dagster.weighing import weighed

LEAST_ROWS = 50_000  # of a part, on average: smaller ones cost more one by one than all of them at once
_FORMAT = 1
_RELATION = "dq_parts"
_NUMBERS = "numbers"
_EXACT_IN_ARROW = (
    pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_string,
    pa.types.is_date32, pa.types.is_timestamp,
)  # fmt: skip
_OWN = __name__.partition(".")[0] + "."


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the parts settled: the numbers of checks, by their place in the plan, and what reading the new parts cost.

    `asked` are the parts that some check had to read, `parts` all there are.
    """

    numbers: Mapping[int, Numbers] = field(default_factory=dict)
    scanned: Mapping[int, int] = field(default_factory=dict)
    bytes_scanned: int = 0
    asked: int = 0
    parts: int = 0


@dataclass(slots=True)
class _Way:
    """How one check's numbers are made of the parts': the engine merges its aggregates, or the check merges its own numbers.

    `rows` is the entry of the memory, of the parts that are there; of a check that merges its own, its numbers as JSON.
    """

    place: int
    fingerprint: str
    how: Merging | Parted
    rows: pa.Table | None
    known: frozenset[str]

    @property
    def reads(self) -> frozenset[str]:
        """The stored columns that it reads of a part."""
        return self.how.partials.reads if isinstance(self.how, Merging) else self.how.ask.reads


class Recollection:
    """A plan's checks that may be answered part by part, with what is known of the parts."""

    def __init__(self, memory: PartMemory, plan: Plan, table: CheckedTable, about: Sequence[str]) -> None:
        self._memory = memory
        self._plan = plan
        self._table = table
        self._parts = _identified(table.stored) or {}
        self.ways = [way for place in plan.reading_rows if self._parts and (way := self._way(place, about)) is not None]

    @property
    def unknown(self) -> dict[str, list[_Way]]:
        """The parts that are not known to every check, by identity, with those checks."""
        lacking = {identity: [way for way in self.ways if identity not in way.known] for identity in self._parts}
        return {identity: ways for identity, ways in lacking.items() if ways}

    def told(self) -> list[str]:
        """What is known, in words, for `--explain`."""
        if not self.ways:
            return ["no check can be answered from parts that are remembered"]
        names = ", ".join(self._plan.checks[way.place].reported_id for way in self.ways)
        return [f"{len(self._parts) - len(self.unknown)} of {len(self._parts)} parts remembered, the others are asked one by one: {names}"]

    def _way(self, place: int, about: Sequence[str]) -> _Way | None:
        check, asks = self._plan.checks[place], self._plan.asks[place]
        if place in self._plan.of_now:
            return None
        how = merging(asks, self._table, prefix=f"p{place}_") or check.parted(self._table)
        if how is None or not _is_safe(how, self._table):
            return None
        fingerprint = _fingerprint(how, self._table, about)
        if fingerprint is None:
            return None
        rows = self._present_rows(fingerprint)
        return _Way(place, fingerprint, how, rows, frozenset(rows.column(PART).to_pylist() if rows is not None else ()))

    def _present_rows(self, fingerprint: str) -> pa.Table | None:
        """The entry, of those parts that are still there."""
        rows = self._memory.rows_of(fingerprint)
        if rows is None:
            return None
        known = rows.column(PART).to_pylist()
        kept = [rows.slice(at, 1) for at, identity in enumerate(known) if identity in self._parts]
        if len(kept) == len(known):
            return rows
        return pa.concat_tables(kept) if kept else None

    def recall(self, session: Callable[[], NarrowableSession], columns: frozenset[str], limits: Limits, *, deadline: float) -> Recalled:
        """Asks what is not known of the new parts, and merges. Where a budget is reached, what is left goes the ordinary way."""
        unknown = self.unknown
        scanned = {way.place: 0 for way in self.ways}
        total = 0
        for identity, ways in unknown.items():
            part = self._table.stored.of_parts([self._parts[identity]])
            total += part.bytes_of(frozenset().union(*(way.reads for way in ways)))
            for way in ways:
                scanned[way.place] += part.bytes_of(way.reads)
        if total > limits.scan_bytes:
            return Recalled(parts=len(self._parts))
        try:
            if unknown:
                asking = _Asking(self._plan, self._table, session(), columns, deadline)
                read = frozenset().union(*(way.reads for ways in unknown.values() for way in ways if isinstance(way.how, Merging)))
                if _hold_text(read, self._table):
                    asking.look([self._parts[identity] for identity in unknown], limits, read)
                for identity, ways in unknown.items():
                    asking.ask(identity, self._parts[identity], ways)
        except (TimeBudgetExceeded, MemoryBudgetExceeded, EngineStumbled):
            pass  # what is known by now stays; the ordinary way tells of the budget, or of the part that cannot be opened
        for way in self.ways:
            if way.rows is not None:
                self._memory.remember(way.fingerprint, way.rows)
        complete = [way for way in self.ways if way.rows is not None and sorted(way.rows.column(PART).to_pylist()) == sorted(self._parts)]
        numbers = {**_merged_by_checks(complete), **_merged_by_engine(complete, self._table, session, deadline=deadline)}
        return Recalled(numbers, {place: scanned[place] for place in numbers}, total, len(unknown), len(self._parts))


class _Asking:
    """Asks parts one by one, each as if it were the table."""

    def __init__(self, plan: Plan, table: CheckedTable, session: NarrowableSession, columns: frozenset[str], deadline: float) -> None:
        self._plan = plan
        self._table = table
        self._session = session
        self._columns = columns
        self._deadline = deadline
        self._looked = table
        self._passes: dict[tuple[int, ...], tuple[tuple[Pass, ...], tuple[Pass, ...]]] = {}
        self._further: dict[tuple[tuple[int | str, ...], ...], tuple[Pass, ...]] = {}
        self._stumbled: set[int] = set()

    def look(self, parts: Sequence[Part], limits: Limits, read: frozenset[str]) -> None:
        """The first look at a large table, taken at its new parts and the columns that are read of them."""
        self._looked = self._table.narrowed(self._table.stored.of_parts(parts))
        self._session.present(self._looked, self._columns)
        look_at(self._looked, lambda: self._session, limits, deadline=self._deadline, of=read)

    def ask(self, identity: str, part: Part, ways: Sequence[_Way]) -> None:
        """Adds the part to the rows of each of the checks, but of those that the engine cannot answer: they go the ordinary way."""
        ways = [way for way in ways if way.place not in self._stumbled]
        self._session.present(self._table.narrowed(self._table.stored.of_parts([part])), self._columns)
        by_engine, by_check = self._fused(ways)
        found: dict[int, dict[str, Any]] = {way.place: {} for way in ways}
        for one in by_engine:
            self._run(one, found, lambda one: _first_row(self._session, one, deadline=self._deadline))
        while by_check:
            for one in by_check:
                self._run(one, found, lambda one: self._session.numbers(one.query, deadline=self._deadline))
            further = {
                way.place: [ask]
                for way in ways
                if isinstance(way.how, Parted)
                and way.place not in self._stumbled
                and (ask := way.how.further(found[way.place])) is not None
            }
            by_check = self._fused_further(further)
        for way in ways:
            if way.place in self._stumbled:
                way.rows = None
                continue
            row = _row(identity, way, found[way.place])
            if row is None or (way.rows is not None and not way.rows.schema.equals(row.schema)):
                self._stumbled.add(way.place)
                way.rows = None
            else:
                way.rows = row if way.rows is None else pa.concat_tables([way.rows, row])

    def _run(self, one: Pass, found: dict[int, dict[str, Any]], query: Callable[[Pass], Mapping[str, Any]]) -> None:
        try:
            row = query(one)
        except (EngineStumbled, MemoryBudgetExceeded):
            self._stumbled.update(one.places)
            return
        for place, numbers in one.numbers_of(row).items():
            found[place].update(numbers)

    def _fused(self, ways: Sequence[_Way]) -> tuple[tuple[Pass, ...], tuple[Pass, ...]]:
        """The passes over a part: those that the engine merges, and those that checks merge."""
        places = tuple(way.place for way in ways)
        if places not in self._passes:
            by_engine = [(way.place, [self._cheapest(way.place, way.how)]) for way in ways if isinstance(way.how, Merging)]
            by_check = [(way.place, [way.how.ask]) for way in ways if isinstance(way.how, Parted)]
            self._passes[places] = fuse(by_engine, self._table), fuse(by_check, self._table)
        return self._passes[places]

    def _fused_further(self, further: Mapping[int, Sequence[Ask]]) -> tuple[Pass, ...]:
        """The passes over a part, for checks that want to know more of it: what they ask is told by its names."""
        wanted = tuple((place, *ask.numbers) for place, asks in further.items() for ask in asks)
        if wanted not in self._further:
            self._further[wanted] = fuse(further.items(), self._table)
        return self._further[wanted]

    def _cheapest(self, place: int, how: Merging) -> Ask:
        """The ask as the look has it: of distinct values, or by a shape. It brings the same numbers."""
        if self._looked.survey is None:
            return how.partials
        check = self._plan.checks[place]
        is_by_row = isinstance(check, RowCheck) and _texts(check.asks_of_rows(self._table)) == _texts(self._plan.asks[place])
        self._table.survey = self._looked.survey
        try:  # by rows, and not by the bad rows alone, which would bring examples of each part
            if isinstance(check, RowCheck) and is_by_row:
                asks = [_doubting(ask, check.doubtful_row(self._table)) for ask in check.asks_of_rows(self._table)]
            else:
                asks = check.asks(self._table)
            chosen = merging(asks, self._table, prefix=f"p{place}_")
        finally:
            self._table.survey = None
        ask = how.partials if chosen is None or chosen.partials.numbers.keys() != how.partials.numbers.keys() else chosen.partials
        by_value = weighed(ask, self._looked)
        if by_value is None:
            return ask
        numbers = {name: sql.cast(one, "BIGINT") if name in how.counts else one for name, one in by_value.numbers.items()}
        return Ask(numbers, by_value.reads, over=by_value.over)


def recollected(memory: PartMemory, plan: Plan, table: CheckedTable, engine: str, versions: Mapping[str, str]) -> Recollection:
    """What is known of the table's parts, for the checks of a plan that was made without a look at the rows."""
    return Recollection(
        memory, plan, table, [engine, platform.python_version(), *(f"{name} {one}" for name, one in sorted(versions.items()))]
    )


def is_worth_remembering(table: StoredTable) -> bool:
    """Whether a table has several parts, large enough to be asked one by one."""
    return len(table.parts) > 1 and table.rows >= LEAST_ROWS * len(table.parts)


def _identified(table: StoredTable) -> dict[str, Part] | None:
    """The parts by what tells each from what stood or will stand in its place; None where their file system does not say it."""
    parts: dict[str, Part] = {}
    for part in table.parts:
        if not part.modified:
            return None
        facts: list[Any] = [part.name, part.path, part.size, part.modified, part.footer]
        if table.filesystem is None:
            try:
                status = os.stat(part.path)
            except OSError:  # gone meanwhile: the evaluation will find that the table was replaced
                return None
            facts += [status.st_ino, status.st_ctime_ns]
        parts[digest_of_facts(facts)] = part
    return parts


def _is_safe(how: Merging | Parted, table: CheckedTable) -> bool:
    """Whether nothing would be written down but counts of sensitive columns."""
    ask = how.partials if isinstance(how, Merging) else how.ask
    is_sensitive = any(path == name or path.startswith(f"{name}.") for path in table.sensitive for name in ask.reads)
    return not is_sensitive or (isinstance(how, Merging) and how.counts >= how.partials.numbers.keys())


def _fingerprint(how: Merging | Parted, table: CheckedTable, about: Sequence[str]) -> str | None:
    """What tells the question from any other; None where not all that the answer hangs on is known."""
    ask = how.partials if isinstance(how, Merging) else how.ask
    numbers = {f"n{place}": number for place, number in enumerate(ask.numbers.values())}
    asked = sql.select_from(table.relation if ask.over is None else ask.over, numbers)
    text = asked.sql("duckdb")
    judges = functions.judgements()
    if any(not judges[name].__module__.startswith(_OWN) for name in functions.called_in(text)):
        return None  # nothing says which version of it judged
    facts: list[Any] = [_FORMAT, type(how).__name__, list(about), text, _typed(table, ask.reads)]
    for name, other in sorted(table.references.items()):
        if f'"{other.relation}"' in text:
            identities = _identified(other.stored)
            if other.stored.memory is not None or identities is None:
                return None
            facts += [name, list(identities), _typed(other, other.planned)]
    return digest_of_facts(facts)


def _hold_text(names: frozenset[str], table: CheckedTable) -> bool:
    """Whether a look at the first rows could show a cheaper way."""
    return any(pa.types.is_string(column.type) for column in table.stored.columns if column.name in names)


def _doubting(ask: Ask, doubtful: exp.Expr | None) -> Ask:
    """The ask of rows that judges the doubtful ones alone: every bad row is one."""
    failed = ask.numbers.get("failed")
    if doubtful is None or not isinstance(failed, exp.Filter):
        return ask
    judged = exp.Case(ifs=[exp.If(this=doubtful.copy(), true=failed.expression.this.copy())], default=exp.false())
    return Ask({**ask.numbers, "failed": sql.count_where(judged)}, ask.reads)


def _texts(asks: Sequence[Ask]) -> list[tuple[str, str]]:
    return [(name, number.sql("duckdb")) for ask in asks for name, number in ask.numbers.items()]


def _typed(table: CheckedTable, names: frozenset[str]) -> list[list[str]]:
    """The columns as the SQL names them, and their types: a new part may widen one, or change its name in SQL."""
    return [[column.name, table.names[column.name], str(column.type)] for column in table.stored.columns if column.name in names]


def _first_row(session: NarrowableSession, one: Pass, *, deadline: float) -> dict[str, pa.Array]:
    """The pass's row as Arrow has it: a value of any type goes into the memory and out of it unchanged."""
    (batch,) = [batch for batch in session.batches(one.query, deadline=deadline) if batch.num_rows]
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def _row(identity: str, way: _Way, found: Mapping[str, Any]) -> pa.Table | None:
    """What was found of a part as a row of the memory; None where a value is of a type that would not come back as it is."""
    columns: dict[str, pa.Array] = {PART: _text(identity)}
    if isinstance(way.how, Parted):
        return _table({**columns, _NUMBERS: _text(json.dumps(found, default=_spelled))})
    for number, name in enumerate(way.how.partials.numbers):
        values = found[name]
        if not any(is_type(values.type) for is_type in _EXACT_IN_ARROW):
            return None
        columns[f"a{number}"] = values
    return _table(columns)


def _text(value: str) -> pa.Array:
    """One text as Arrow has it. pa.array() would import pandas where it is installed."""
    written = value.encode()
    ends = (0).to_bytes(4, "little") + len(written).to_bytes(4, "little")
    return pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(ends), pa.py_buffer(written)])


def _table(columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    return pa.Table.from_arrays(list(columns.values()), names=list(columns))


def _spelled(value: object) -> dict[str, str]:
    """A value that JSON has no word for."""
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    raise TypeError(f"{type(value).__name__} is not remembered")


def _read(members: dict[str, Any]) -> Any:
    return Decimal(members["decimal"]) if members.keys() == {"decimal"} else members


def _merged_by_checks(ways: Sequence[_Way]) -> dict[int, Numbers]:
    settled: dict[int, Numbers] = {}
    for way in ways:
        if isinstance(way.how, Parted) and way.rows is not None:
            merged = way.how.merged([json.loads(text, object_hook=_read) for text in way.rows.column(_NUMBERS).to_pylist()])
            if merged is not None:
                settled[way.place] = merged
    return settled


def _merged_by_engine(
    ways: Sequence[_Way], table: CheckedTable, session: Callable[[], NarrowableSession], *, deadline: float
) -> Mapping[int, Numbers]:
    """One query over a relation with as many rows as there are parts; each column is merged by itself."""
    columns: dict[str, pa.ChunkedArray] = {}
    asked: dict[str, tuple[int, str, exp.Expr]] = {}
    for way in ways:
        if isinstance(way.how, Merging) and way.rows is not None:
            columns.update((name, way.rows.column(f"a{number}")) for number, name in enumerate(way.how.partials.numbers))
            asked.update(
                {f"n{len(asked) + at}": (way.place, number, merged) for at, (number, merged) in enumerate(way.how.numbers.items())}
            )
    if not asked:
        return {}
    relation = CheckedTable(open_table(_table(columns)), relation=_RELATION, now=table.now)
    try:
        session().present(relation, frozenset(columns))
        query = sql.select_from(_RELATION, {alias: merged for alias, (_, _, merged) in asked.items()})
        row = session().numbers(query, deadline=deadline)
    except (EngineStumbled, NotEvaluated):
        return {}
    settled: dict[int, dict[str, Any]] = {}
    for alias, (place, number, _) in asked.items():
        settled.setdefault(place, {})[number] = row[alias]
    return settled
