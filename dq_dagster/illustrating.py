"""Examples of what breaks a check: few rows of each failed one, the first by the table's grain. A verdict stands without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.base import EngineStumbled, NarrowableSession, Session
from dq_dagster.errors import NotEvaluated
from dq_dagster.outcomes import MAX_EXAMPLES, Outcome
from dq_dagster.plan import Pass, Plan, fuse

OpenSession = Callable[[], Session]
Structs = dict[int, Sequence[Mapping[str, Any]]]
_FIRST_ROWS = 100_000
_ENOUGH = 2 * MAX_EXAMPLES  # bad rows to be expected among the first, for these to be worth a look


def examples_of(
    plan: Plan,
    numbers: Mapping[int, Mapping[str, Any]],
    outcomes: Sequence[Outcome],
    table: CheckedTable,
    session: OpenSession,
    *,
    deadline: float,
) -> dict[int, tuple[Mapping[str, Any], ...]]:
    """Examples of the failed checks, by their place: those that came with their numbers, and one further round of passes at most."""
    failed = {place: numbers.get(place, {}) for place, outcome in enumerate(outcomes) if outcome.status == "failed"}
    structs: Structs = {}
    for place, found in failed.items():
        if (known := plan.checks[place].examples_among(found)) is not None:
            structs[place] = known
    frequent = [place for place in failed if place not in structs and _is_frequent(outcomes[place], table)]
    structs.update(_among_first_rows(plan, {place: failed[place] for place in frequent}, table, session, deadline=deadline))
    asked: list[tuple[int, list[Ask]]] = []
    for place, found in failed.items():
        if place not in structs and (ask := plan.checks[place].example_ask(found, table)) is not None:
            asked.append((place, [ask]))
    for one in fuse(_among_bad_rows(asked, table), table):
        try:
            structs.update(_brought_by(one, session(), deadline=deadline))
        except (NotEvaluated, EngineStumbled):  # a budget was reached while looking for examples only: the verdict is made
            continue
    return {place: plan.checks[place].examples(found[:MAX_EXAMPLES], table) for place, found in structs.items()}


def _brought_by(one: Pass, session: Session, *, deadline: float) -> Structs:
    return {place: found["examples"] or () for place, found in one.numbers_of(session.numbers(one.query, deadline=deadline)).items()}


def _is_frequent(outcome: Outcome, table: CheckedTable) -> bool:
    return (outcome.failed_rows or 0) * _FIRST_ROWS >= _ENOUGH * table.rows


def _among_first_rows(
    plan: Plan, failed: Mapping[int, Mapping[str, Any]], table: CheckedTable, session: OpenSession, *, deadline: float
) -> Structs:
    """The examples of those checks that find all of theirs in the row groups that come first by the grain, where such there are."""
    if table.survey is None or table.numbered or not table.grain or not failed:
        return {}
    lead = table.grain[0]
    found = table.stored.least_rows(lead, at_least=_FIRST_ROWS)
    if found is None:
        return {}
    first, beyond = found
    shown = table.value(lead).shown
    is_first = exp.LT(this=shown, expression=sql.text(beyond) if isinstance(beyond, str) else sql.integer(beyond))
    unsurveyed = table.narrowed(table.stored)  # so few rows are judged one by one
    asked: list[tuple[int, list[Ask]]] = []
    for place, numbers in failed.items():
        ask = plan.checks[place].example_ask(numbers, unsurveyed)
        example = None if ask is None else ask.numbers["examples"]
        if ask is None or not all(map(table.stored.reads_alike, ask.reads)):  # few rows are read by Arrow
            continue
        if ask.over is None and isinstance(example, exp.Filter) and _begins_with(example.this, shown):
            condition = example.expression.this
            if table.relation not in {one.name for one in condition.find_all(exp.Table)}:  # else it looks at other rows, too
                asked.append((place, [Ask({"examples": sql.where(example.this, exp.and_(is_first, condition))}, ask.reads)]))
    if not asked:
        return {}
    opened = cast(NarrowableSession, session())  # as Engine.chooses promises: else there is no survey
    structs: Structs = {}
    try:
        opened.present(table.narrowed(first), frozenset().union(*(ask.reads for _, (ask,) in asked)))
        for one in fuse(_among_bad_rows(asked, table), table):
            structs.update(_brought_by(one, opened, deadline=deadline))
    except (NotEvaluated, EngineStumbled):  # all rows are asked next
        return {}
    finally:
        opened.present(table, table.presented)
    return {place: examples for place, examples in structs.items() if len(examples) == MAX_EXAMPLES}


def _begins_with(smallest: exp.Expr, shown: exp.Expr) -> bool:
    """Whether the smallest structs are asked for, and what is shown of the grain decides first which these are."""
    struct = next(iter(smallest.find_all(exp.Struct)), None)
    return struct is not None and smallest == sql.smallest(struct, MAX_EXAMPLES) and struct.expressions[0].expression == shown


def _among_bad_rows(asked: list[tuple[int, list[Ask]]], table: CheckedTable) -> list[tuple[int, list[Ask]]]:
    """The asks, put to the rows that break some check, where the table is large: examples are then made of few rows only."""
    split = {place: ask.numbers["examples"] for place, (ask,) in asked if ask.over is None}
    conditions = {place: example.expression.this for place, example in split.items() if isinstance(example, exp.Filter)}
    if table.survey is None or not conditions:
        return asked
    prefix = "bad"
    while any(name.casefold().startswith(prefix) for name in table.names.values()):
        prefix += "_"
    reads = frozenset().union(*(ask.reads for place, (ask,) in asked if place in conditions))
    columns = {table.names[name]: sql.column(table.names[name]) for name in sorted(reads)}
    judged = sql.select_from(table.relation, {**columns, **{f"{prefix}{place}": condition for place, condition in conditions.items()}})
    names = [*columns, *(f"{prefix}{place}" for place in conditions)]
    bad = sql.select_from(judged, {name: sql.column(name) for name in names})
    bad = bad.where(sql.any_of([sql.column(f"{prefix}{place}") for place in conditions]))
    put = {place: sql.where(split[place].this, sql.column(f"{prefix}{place}")) for place in conditions}
    return [(place, [Ask({"examples": put[place]}, reads, over=bad)] if place in put else asks) for place, asks in asked]
