"""Rows with what is wrong with them: annotated, or split into valid and quarantined.

The engine says which rows are bad, by number; the rows themselves are copied from the stored table, so that every
value and type survives, in order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Check
from dq_dagster.checks.shapes import FilteredCheck
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.base import Session
from dq_dagster.errors import DqDagsterError
from dq_dagster.outcomes import Outcome
from dq_dagster.stored_rows import BATCH_ROWS, batches_of, schema_of
from dq_dagster.writing import parquet_files

PASSED, ERRORS, FAILED_CHECKS = "_dq_passed", "_dq_errors", "_dq_failed_checks"
ERRORS_TYPE = pa.list_(pa.struct([("check", pa.string()), ("check_id", pa.string()), ("severity", pa.string())]))
FAILED_CHECKS_TYPE = pa.list_(pa.string())
_BROKEN = "broken"

# Its functions are made when it is imported, where a type checker cannot see them.
pc: Any = pyarrow.compute

OpenSession = Callable[[], Session]


class ColumnTaken(DqDagsterError):
    """A column that is to be added already stands in the table."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"the table already has a column '{name}', which the output would add; rename the table's column")


@dataclass(frozen=True, slots=True)
class AnnotatedRows:
    """What `annotate` wrote, as three datasets that are read when they are used: `warned` rows passed, with a warning."""

    passed: Any
    failed: Any
    warned: Any


def annotated_rows(path: str | os.PathLike[str]) -> AnnotatedRows:
    """The views of an annotated file, as pyarrow datasets: `annotated_rows("out.parquet").failed.to_table()`."""
    from pyarrow import dataset

    rows = dataset.dataset(os.fspath(path), format="parquet")
    passed = pc.field(PASSED)
    has_entries = pc.list_value_length(pc.field(ERRORS)) > 0
    return AnnotatedRows(passed=rows.filter(passed), failed=rows.filter(~passed), warned=rows.filter(passed & has_entries))


def severity_of(check: Check) -> str:
    """How an annotated row names what breaking the check means."""
    return "warning" if check.enforcement == "advisory" else "critical"


def note_of(check: Check) -> dict[str, str]:
    """The entry of a row that breaks the check."""
    return {"check": check.kind, "check_id": check.reported_id, "severity": severity_of(check)}


@dataclass(frozen=True, slots=True)
class Broken:
    """The checks that rows break, by place: for every row, and by the condition that is true in a row."""

    everywhere: frozenset[int]
    where: dict[int, exp.Expr]


def broken_by(checks: Sequence[Check], outcomes: Sequence[Outcome], table: CheckedTable) -> Broken:
    """What the outcomes mean for the rows. A failed check that cannot tell rows apart condemns all that it judged."""
    everywhere: set[int] = set()
    where: dict[int, exp.Expr] = {}
    for place, (check, outcome) in enumerate(zip(checks, outcomes, strict=True)):
        if outcome.status == "not_evaluated" or (outcome.status == "passed" and not outcome.failed_rows):
            continue
        condition = check.condemned_row(table)
        if condition is None and isinstance(check, FilteredCheck):
            condition = check.selected(table)
        if condition is None:
            everywhere.add(place)
        else:
            where[place] = condition
    return Broken(frozenset(everywhere), where)


def broken_query(broken: Broken, table: CheckedTable) -> exp.Select:
    """The numbers of the rows for which some condition is true, and which: places joined by commas. Columns `n` and `broken`."""
    number = sql.column(table.row_number)
    flags = {f"b{place}": condition for place, condition in broken.where.items()}
    flagged = sql.select_from(table.relation, {"n": number, **flags})
    marks: list[exp.Expr] = [
        exp.Case(ifs=[exp.If(this=sql.column(f"b{place}"), true=sql.text(f"{place},"))], default=sql.text("")) for place in broken.where
    ]
    listed = marks[0] if len(marks) == 1 else exp.Anonymous(this="concat", expressions=marks)
    pattern = sql.select_from(flagged, {"n": sql.column("n"), _BROKEN: listed})
    query = sql.select_from(pattern, {"n": sql.column("n"), _BROKEN: sql.column(_BROKEN)})
    return query.where(exp.NEQ(this=sql.column(_BROKEN), expression=sql.text("")))


def broken_rows(broken: Broken, table: CheckedTable, session: OpenSession, *, deadline: float) -> Iterator[pa.RecordBatch]:
    """What `broken_query` finds, in the order of the rows."""
    if broken.where:
        yield from session().batches(broken_query(broken, table).order_by(sql.column("n")), deadline=deadline)


class _Cursor:
    """Walks the broken rows alongside the table's own batches."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._held = pa.table({"n": pa.array([], pa.int64()), _BROKEN: pa.array([], pa.string())})
        self._numbers = pa.array(range(BATCH_ROWS), pa.int64())

    def patterns(self, first: int, rows: int) -> pa.DictionaryArray:
        """For each of the rows from `first` on, which conditions are true in it."""
        while self._held.num_rows == 0 or self._held.column("n")[-1].as_py() < first + rows:
            batch = next(self._batches, None)
            if batch is None:
                break
            self._held = pa.concat_tables([self._held, pa.table(batch.columns, names=["n", _BROKEN])])
        inside = pc.sum(pc.cast(pc.less(self._held.column("n"), first + rows), pa.int64())).as_py() or 0
        here, self._held = self._held.slice(0, inside), self._held.slice(inside)
        places = pc.subtract(here.column("n"), first).combine_chunks()
        found = pc.index_in(self._numbers.slice(0, rows), value_set=places)
        return pc.fill_null(pc.take(here.column(_BROKEN).combine_chunks(), found), "").dictionary_encode()


def _places(pattern: str, everywhere: frozenset[int]) -> list[int]:
    return sorted(everywhere | {int(place) for place in pattern.split(",") if place})


def write_annotated(
    checks: Sequence[Check],
    outcomes: Sequence[Outcome],
    table: CheckedTable,
    session: OpenSession,
    out: str | os.PathLike[str],
    *,
    fail_levels: frozenset[str],
    deadline: float,
) -> None:
    """Writes the table with `_dq_passed` and `_dq_errors`. Rows that a check adds, such as missing ones, come last."""
    schema = schema_of(table.stored)
    refuse_taken(schema.names, (PASSED, ERRORS))
    annotated = schema.append(pa.field(PASSED, pa.bool_(), nullable=False)).append(pa.field(ERRORS, ERRORS_TYPE, nullable=False))
    broken = broken_by(checks, outcomes, table)

    def notes(places: Sequence[int]) -> tuple[bool, list[dict[str, str]]]:
        entries = [note_of(checks[place]) for place in places]
        return not any(entry["severity"] in fail_levels for entry in entries), entries

    with parquet_files([(out, annotated)]) as (writer,):
        for batch, patterns in _with_patterns(table, schema, broken, session, deadline=deadline):
            told = [notes(_places(pattern, broken.everywhere)) for pattern in patterns.dictionary.to_pylist()]
            passed = pa.array([one[0] for one in told], pa.bool_()).take(patterns.indices)
            errors = pa.array([one[1] for one in told], ERRORS_TYPE).take(patterns.indices)
            writer.write_batch(pa.RecordBatch.from_arrays([*batch.columns, passed, errors], schema=annotated))
        for place, check in enumerate(checks):
            extra = check.extra_rows(table) if outcomes[place].status == "failed" else None
            for batch in session().batches(extra, deadline=deadline) if extra is not None else ():
                passed, entries = notes([place])
                columns = [_named_or_null(batch, field) for field in schema]
                flags = [pa.array([passed] * batch.num_rows, pa.bool_()), pa.array([entries] * batch.num_rows, ERRORS_TYPE)]
                writer.write_batch(pa.RecordBatch.from_arrays([*columns, *flags], schema=annotated))


def write_split(
    checks: Sequence[Check],
    outcomes: Sequence[Outcome],
    table: CheckedTable,
    session: OpenSession,
    *,
    valid: str | os.PathLike[str],
    quarantine: str | os.PathLike[str],
    deadline: float,
) -> None:
    """Writes the rows that break no `quarantine` check, and those that do with `_dq_failed_checks`: both files or none."""
    schema = schema_of(table.stored)
    refuse_taken(schema.names, (FAILED_CHECKS,))
    marked = schema.append(pa.field(FAILED_CHECKS, FAILED_CHECKS_TYPE, nullable=False))
    places = [place for place, check in enumerate(checks) if check.enforcement == "quarantine"]
    all_broken = broken_by(checks, outcomes, table)
    broken = Broken(frozenset(), {place: all_broken.where[place] for place in places if place in all_broken.where})
    with parquet_files([(valid, schema), (quarantine, marked)]) as (valid_writer, quarantine_writer):
        for batch, patterns in _with_patterns(table, schema, broken, session, deadline=deadline):
            is_clean = pc.equal(patterns.cast(pa.string()), "")
            told = [[checks[place].reported_id for place in _places(pattern, frozenset())] for pattern in patterns.dictionary.to_pylist()]
            names = pa.array(told, FAILED_CHECKS_TYPE).take(patterns.indices)
            valid_writer.write_batch(batch.filter(is_clean))
            quarantined = pa.RecordBatch.from_arrays([*batch.columns, names], schema=marked)
            quarantine_writer.write_batch(quarantined.filter(pc.invert(is_clean)))


def _with_patterns(
    table: CheckedTable, schema: pa.Schema, broken: Broken, session: OpenSession, *, deadline: float
) -> Iterator[tuple[pa.RecordBatch, pa.DictionaryArray]]:
    cursor = _Cursor(broken_rows(broken, table, session, deadline=deadline))
    first = 0
    for batch in batches_of(table.stored, schema):
        yield batch, cursor.patterns(first, batch.num_rows)
        first += batch.num_rows


def refuse_taken(stored: Sequence[str], names: Sequence[str]) -> None:
    """Raises ColumnTaken where the table has a column that is to be added."""
    for name in names:
        if name in stored:
            raise ColumnTaken(name)


def _named_or_null(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    place = batch.schema.get_field_index(field.name)
    return pa.nulls(batch.num_rows, field.type) if place < 0 else batch.column(place).cast(field.type)
