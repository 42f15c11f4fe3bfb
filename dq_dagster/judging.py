"""From a plan to outcomes: its passes are run within the budgets, and each check judges its numbers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Attempt, Numbers, ask_over_rows
from dq_dagster.checks.runs import InOrder
from dq_dagster.checks.table import CheckedTable
from dq_dagster.damage import find_fault
from dq_dagster.engines.base import EngineStumbled, NarrowableSession, Session
from dq_dagster.errors import MemoryBudgetExceeded, NotEvaluated, ScanBudgetExceeded, TimeBudgetExceeded, UnsupportedByEngine
from dq_dagster.illustrating import OpenSession, examples_of
from dq_dagster.limits import Limits
from dq_dagster.outcomes import NOT_EVALUATED, Outcome, cut
from dq_dagster.plan import Pass, Plan, fuse


@dataclass(slots=True)
class Answers:
    """What the rows said: numbers by check, and the reason where there are none."""

    numbers: dict[int, dict[str, Any]] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    bytes_scanned: int = 0

    def take(self, place: int, numbers: Numbers, *, seconds: float) -> None:
        """Numbers of a check, and how long they took."""
        self.numbers.setdefault(place, {}).update(numbers)
        self.seconds[place] = self.seconds.get(place, 0.0) + seconds


def answer(plan: Plan, table: CheckedTable, session: OpenSession, limits: Limits, *, deadline: float, scanned: int = 0) -> Answers:
    """Runs the passes. Over the bytes or the time allowed, every check that reads rows goes unanswered.

    `scanned` bytes were read before, and count. Raises TableUnreadable where a file turns out to be broken.
    """
    answers = Answers(bytes_scanned=scanned)
    estimated = scanned + sum(table.stored.bytes_of(one.reads) for one in plan.passes)
    estimated += sum(other.stored.bytes_of(other.planned) for other in table.references.values())
    if estimated > limits.scan_bytes:
        reason = ScanBudgetExceeded(estimated_bytes=estimated, ceiling_bytes=limits.scan_bytes).reason
        answers.reasons.update(dict.fromkeys(plan.reading_rows, reason))
        return answers
    try:
        _ask(plan, table, session, limits, answers, deadline=deadline)
    except TimeBudgetExceeded:
        answers.numbers.clear()
        answers.reasons.update(dict.fromkeys(plan.reading_rows, TimeBudgetExceeded(seconds=limits.scan_seconds).reason))
    return answers


def _ask(plan: Plan, table: CheckedTable, session: OpenSession, limits: Limits, answers: Answers, *, deadline: float) -> None:
    """Asks in rounds: each check by its next attempt, or, where none is left, by its asks. A round is fused as a whole.

    Looks, which choose among the ways, come before all else.
    """
    pending = {place: list(plan.attempts.get(place, ())) for place in plan.reading_rows}
    passes = plan.passes if not any(pending.values()) else None
    while pending:
        looking = [place for place, attempts in pending.items() if attempts and attempts[0].is_look]
        in_order: dict[InOrder, list[int]] = {}
        asked: dict[int, Sequence[Ask]] = {}
        for place in looking or pending:
            ask = pending[place][0].ask if pending[place] else None
            if isinstance(ask, InOrder):
                in_order.setdefault(ask, []).append(place)
            else:
                asked[place] = plan.asks[place] if ask is None else (ask,)
        for one, places in in_order.items():
            started = time.monotonic()
            found = look(one, table, session, limits, deadline=deadline)
            answers.bytes_scanned += table.stored.bytes_of(one.columns) if one.rows is None else 0
            for place in places:
                answers.take(place, found, seconds=time.monotonic() - started)
        for fused in passes or fuse(asked.items(), table):
            _run(fused, asked, table, session(), answers, deadline=deadline)
        for place in looking or list(pending):
            left = _left(pending.pop(place), place, answers)
            if left is not None:
                pending[place] = left
        passes = None


def look(ask: Ask | InOrder, table: CheckedTable, session: OpenSession, limits: Limits, *, deadline: float) -> Numbers:
    """What one attempt asks for. Raises TimeBudgetExceeded, MemoryBudgetExceeded, EngineStumbled."""
    if isinstance(ask, Ask):
        return _row_of(ask.query(table), ask.lent, session(), deadline=deadline)
    from dq_dagster import rising  # brings pyarrow.compute along, which small tables do without

    def keep_time() -> None:
        if time.monotonic() > deadline:
            raise TimeBudgetExceeded(seconds=limits.scan_seconds)

    return {"rises": rising.read_in_order(table.stored, ask, after_each=keep_time)}


def _row_of(query: exp.Select, lent: Mapping[str, pa.Table], session: Session, *, deadline: float) -> dict[str, Any]:
    """The one row of a query, which may name relations that are lent."""
    for name, rows in lent.items():
        cast(NarrowableSession, session).lend(name, rows)  # as Engine.chooses promises: only where ways are chosen is anything lent
    return session.numbers(query, deadline=deadline)


def _left(attempts: Sequence[Attempt], place: int, answers: Answers) -> list[Attempt] | None:
    """The attempts that are left to a check after a round; None once it has its numbers, or the reason why it has none."""
    if not attempts:
        return None
    found, failed = answers.numbers.pop(place, {}), answers.reasons.pop(place, None)
    brought = attempts[0].then(found) if failed is None else None
    if isinstance(brought, Attempt):
        return [brought, *attempts[1:]]
    if brought is None:
        return list(attempts[1:])
    answers.numbers[place] = dict(brought)
    return None


def _run(
    one: Pass, asked: Mapping[int, Sequence[Ask]], table: CheckedTable, session: Session, answers: Answers, *, deadline: float
) -> None:
    """Runs a pass; where it cannot be run for all its checks, each of them alone, so that only the culprit goes unanswered."""
    started = time.monotonic()
    try:
        row = _row_of(one.query, one.lent, session, deadline=deadline)
    except (EngineStumbled, MemoryBudgetExceeded) as error:
        if len(one.places) > 1:
            for place in one.places:
                numbers = {slot.number for slot in one.slots if slot.place == place}
                for alone in fuse([(place, [ask for ask in asked[place] if ask.numbers.keys() <= numbers])], table):
                    _run(alone, asked, table, session, answers, deadline=deadline)
            return
        reason = error.reason if isinstance(error, MemoryBudgetExceeded) else _stumbled(error, one, table)
        answers.reasons.update(dict.fromkeys(one.places, reason))
        return
    seconds = time.monotonic() - started
    answers.bytes_scanned += table.stored.bytes_of(one.reads)
    for place, numbers in one.numbers_of(row).items():
        answers.take(place, numbers, seconds=seconds)


def _stumbled(error: EngineStumbled, one: Pass, table: CheckedTable) -> str:
    """Why a query could not be run, in words. Raises TableUnreadable where a file is at fault."""
    fault = find_fault(table.stored, sorted(one.reads))
    what = f"could not evaluate it: {fault}" if fault else f"could not evaluate it ({error.error})"
    return UnsupportedByEngine(engine=error.engine, what=what).reason


def judge(
    plan: Plan, answers: Answers, table: CheckedTable, session: OpenSession, limits: Limits, *, scope: str, deadline: float
) -> tuple[Outcome, ...]:
    """Every check's outcome, in the plan's order. A failed check brings examples, where it can tell its rows apart."""
    outcomes: list[Outcome] = []
    for place, check in enumerate(plan.checks):
        outcome = Outcome(
            check_id=check.reported_id,
            status="not_evaluated",
            detail="",
            kind=check.kind,
            enforcement=check.enforcement,
            scope=scope,
            rows=table.rows,
            description=check.description,
            metadata=check.metadata,
        )
        try:
            reason = plan.unanswerable.get(place) or answers.reasons.get(place)
            verdict = check.judge(answers.numbers.get(place, {}), table) if reason is None else None
        except NotEvaluated as error:
            reason, verdict = error.reason, None
        if verdict is None:
            outcomes.append(replace(outcome, detail=cut(f"{NOT_EVALUATED}{reason}", limits.detail_chars)))
            continue
        outcomes.append(
            replace(
                outcome,
                status="passed" if verdict.passed else "failed",
                detail=cut(verdict.detail, limits.detail_chars),
                failed_rows=verdict.failed_rows,
                observed=verdict.observed,
                seconds=answers.seconds.get(place, 0.0),
                bytes_scanned=table.stored.bytes_of(frozenset().union(*(ask.reads for ask in plan.asks[place]))),
            )
        )
    examples = examples_of(plan, answers.numbers, outcomes, table, session, deadline=deadline)
    for place, found in examples.items():
        detail = cut(plan.checks[place].illustrated(outcomes[place].detail, found), limits.detail_chars)
        outcomes[place] = replace(outcomes[place], examples=found, detail=detail)
    return tuple(outcomes)


def count_quarantined(plan: Plan, outcomes: Sequence[Outcome], table: CheckedTable, session: OpenSession, *, deadline: float) -> int | None:
    """How many rows break some quarantine check, each counted once; None where there is no such check, or no counting it."""
    places = [place for place, check in enumerate(plan.checks) if check.enforcement == "quarantine"]
    if not places:
        return None
    broken = [place for place in places if outcomes[place].failed_rows]
    if not broken:
        return 0
    if len(broken) == 1:
        return outcomes[broken[0]].failed_rows
    conditions = [condition for place in broken if (condition := plan.checks[place].condemned_row(table)) is not None]
    reads = frozenset().union(*(plan.checks[place].reads(table) for place in broken))
    ask = ask_over_rows({"rows": (lambda value: sql.call("count", value), sql.integer(1))}, sql.any_of(conditions), table, reads)
    return session().numbers(ask.query(table), deadline=deadline)["rows"]
