"""Binding a recipe's checks to the table that is stored: names against columns, expressions against types."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Check
from dq_dagster.checks.fields import ColumnRef, SqlExpression
from dq_dagster.checks.table import CheckedTable, ColumnUnknown
from dq_dagster.engines.base import EngineStumbled, Session
from dq_dagster.errors import DoesNotFit, Problem, some_of
from dq_dagster.plan import Plan
from dq_dagster.recipe import Recipe


def refuse_unknown_columns(recipe: Recipe, checks: Mapping[int, Check], table: CheckedTable) -> None:
    """Raises RecipeRefused with every name that no stored column carries, before any row is read."""
    problems = [
        Problem("DECLARED_CHECK_COLUMN_UNKNOWN", pointer, _unknown(check, error.name, of))
        for place, check in checks.items()
        for pointer, ref, of in _pointed(check, place, recipe, table)
        for error in _unresolved(ref, of)
    ]
    if problems:
        raise recipe.refused(problems)


def _pointed(check: Check, place: int, recipe: Recipe, table: CheckedTable) -> Iterator[tuple[str, ColumnRef, CheckedTable]]:
    """Every column that the check reads, with its pointer and its table; the grain's, where the check falls back to it."""
    yield from ((f"/checks/{place}{pointer}", ref, table) for pointer, ref in check.column_refs())
    yield from ((f"/checks/{place}{pointer}", ref, table.references[name]) for pointer, name, ref in check.reference_refs())
    if check.falls_back_to_grain:
        yield from ((f"/table/grain/{number}", ColumnRef(name), table) for number, name in enumerate(recipe.table.grain))


def _unresolved(ref: ColumnRef, table: CheckedTable) -> Iterator[ColumnUnknown]:
    for path in ref.reads():
        try:
            table.stored_name(path)
            table.value(path)
        except ColumnUnknown as error:
            yield error


def _unknown(check: Check, name: str, table: CheckedTable) -> str:
    stored = [column.name for column in table.stored.columns]
    near = difflib.get_close_matches(name, stored, n=1) or [other for other in stored if other.casefold() == name.casefold()]
    held = some_of([f"'{column}'" for column in stored]) or "no column"
    hint = f"did you mean '{near[0]}'?" if near else f"it holds {held}"
    which = "the table" if table.relation == sql.ROWS else f"the reference '{table.relation.removeprefix('ref_')}'"
    return f"check {check.reported_id} names column '{name}', which {which} does not hold; {hint}"


def columns_read(checks: Iterable[Check], table: CheckedTable) -> frozenset[str]:
    """Every stored column that some check reads."""
    return frozenset().union(*(check.reads(table) for check in checks))


def learn_types(recipe: Recipe, checks: Mapping[int, Check], table: CheckedTable, session: Callable[[], Session]) -> None:
    """Asks the engine for the type of every expression that stands for a column; reads no row.

    Raises RecipeRefused for one that does not fit the stored types.
    """
    problems: list[Problem] = []
    for place, check in checks.items():
        for pointer, ref, of in _pointed(check, place, recipe, table):
            if not isinstance(ref.root, SqlExpression) or ref.root.expression in of.expression_types:
                continue
            try:
                of.expression_types[ref.root.expression] = session().type_of(of.value(ref).expression, of.relation)
            except EngineStumbled:
                told = f"reads the expression {ref.label!r}, which does not fit the types of the table's columns; mend it"
                problems.append(Problem("DECLARED_CHECK_INVALID", pointer, f"check {check.reported_id} {told}"))
    if problems:
        raise recipe.refused(problems)


def refuse_misfits(recipe: Recipe, checks: Mapping[int, Check], plan: Plan, table: CheckedTable, session: Callable[[], Session]) -> None:
    """Raises RecipeRefused with the checks that the stored types make impossible."""
    problems: list[Problem] = []
    for planned, (place, check) in enumerate(checks.items()):
        error = plan.misfits.get(planned)
        if error is None and planned not in plan.unanswerable:
            error = _misfit(check, table, session)
        if error is not None:
            problems.append(Problem("DECLARED_CHECK_INVALID", f"/checks/{place}{error.pointer}", f"check {check.reported_id} {error.what}"))
    if problems:
        raise recipe.refused(problems)


def _misfit(check: Check, table: CheckedTable, session: Callable[[], Session]) -> DoesNotFit | None:
    def type_of(expression: exp.Expr) -> pa.DataType:
        try:
            return session().type_of(expression, table.relation)
        except EngineStumbled as error:
            raise DoesNotFit("reads what does not fit the types of the table's columns; mend it") from error

    try:
        check.fits(table, type_of)
    except DoesNotFit as error:
        return error
    return None
