"""evaluate(): the whole path from a recipe and a table to outcomes, in one place."""

from __future__ import annotations

import datetime as dt
import difflib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from dq_dagster.binding import columns_read, learn_types, refuse_misfits, refuse_unknown_columns
from dq_dagster.checks.base import Check
from dq_dagster.checks.table import CheckedTable
from dq_dagster.damage import verify_checksums
from dq_dagster.engines import engine_of
from dq_dagster.engines.base import Engine, EngineStumbled, NarrowableSession, Session
from dq_dagster.errors import DqDagsterError, NotEvaluated, TableUnreadable, some_of
from dq_dagster.frames import DataFrame, WrittenFrame, is_frame
from dq_dagster.judging import answer, count_quarantined, judge, look
from dq_dagster.limits import Limits
from dq_dagster.memory import PartMemory
from dq_dagster.outcomes import SEVERITIES, Evaluation, Failure, Outcome, Receipt, failure_of
from dq_dagster.plan import Plan, explain, make_plan
from dq_dagster.recipe import Recipe
from dq_dagster.remembering import Recalled, is_worth_remembering, recollected
from dq_dagster.surveying import look_at
from dq_dagster.tables import StoredTable, is_unchanged, open_files, open_table


class UnknownLevel(DqDagsterError):
    """A level that no annotated row carries."""

    def __init__(self, level: str) -> None:
        self.level = level
        super().__init__(f"there is no fail level {level!r}; choose among {', '.join(SEVERITIES)}")


class RememberingUnsupported(DqDagsterError):
    """Numbers of parts were to be remembered for an engine that cannot ask a table part by part."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        super().__init__(
            f"the engine {engine} does not ask a table part by part, so nothing of its parts can be remembered; leave remember out"
        )


TableSource = str | os.PathLike[str] | pa.Table
Checked = TableSource | DataFrame | WrittenFrame


class UnknownCheck(DqDagsterError):
    """A check was asked for by an id that the recipe does not declare."""

    def __init__(self, check_id: str, declared: Sequence[str]) -> None:
        self.check_id = check_id
        near = difflib.get_close_matches(check_id.lower(), declared, n=1, cutoff=0.5)
        hint = f"did you mean '{near[0]}'?" if near else f"it declares {', '.join(declared[:5]) or 'none'}"
        super().__init__(f"the recipe declares no check '{check_id}'; {hint}")


def evaluate(
    recipe: Recipe,
    table: Checked,
    *,
    engine: str | Engine = "duckdb",
    references: Mapping[str, TableSource] | None = None,
    limits: Limits | None = None,
    only: Sequence[str] | None = None,
    now: dt.datetime | None = None,
    scope: str | None = None,
    files: Sequence[str] | None = None,
    remember: str | os.PathLike[str] | None = None,
) -> Evaluation:
    """Every check of the recipe over the table, in one bounded pass over the rows that metadata cannot answer for.

    `table` is a path, a URL that fsspec reads, a pyarrow Table, or a DataFrame of Spark, which Spark first writes to a
    private folder in the limits' `temp_directory`, so that its rows are computed once. `references` maps the recipe's references to paths
    or Tables. `only` names the checks to evaluate, in any case. `now` is the instant that checks of freshness measure
    from (default: the clock's). `scope` is what the outcomes say they cover (default: the table's name). `files` are
    the part files to read, where they are not all that the folder holds. `remember` is a folder that keeps what was
    measured of each part of a table of several: the next evaluation reads the parts that are new or changed.

    Raises:
        RecipeRefused: a check names a column that is not stored.
        TableUnreadable: the table, or a column that a check reads, cannot be read.
        UnknownCheck: `only` names a check that the recipe does not declare.
        RememberingUnsupported: the engine cannot ask a table part by part.
        FrameUnseen: this process does not find what Spark wrote of a DataFrame.
    """
    return _run(
        recipe, table, engine=engine, references=references, limits=limits, only=only, now=now, scope=scope, files=files, remember=remember
    )


def annotate(
    recipe: Recipe,
    table: Checked,
    out: str | os.PathLike[str],
    *,
    fail_levels: Sequence[str] | None = None,
    **same: Any,
) -> Evaluation:
    """Evaluates, and writes the table to `out` with `_dq_passed` and `_dq_errors` (a list of check, check_id, severity).

    A row has an entry for each check it breaks, in declaration order; `severity` is `critical` for required and
    quarantine checks and `warning` for advisory ones. A row passes when no entry is of a level in `fail_levels`
    (default: critical). A failed check of the whole table marks every row. `out` is one Parquet file, replaced in one
    step; values, types and order of the rows are kept. `same` are the keyword arguments of `evaluate`.

    Of a DataFrame on the engine spark, `out` is a folder of part files: Spark writes it, in any order of the rows, and a
    table that is there is moved aside first.

    Raises what `evaluate` raises, and ColumnTaken where the table has such a column already.
    """
    levels = frozenset(level.lower() for level in (fail_levels if fail_levels is not None else ("critical",)))
    if unknown := levels - set(SEVERITIES):
        raise UnknownLevel(sorted(unknown)[0])

    def write(finished: Finished) -> None:
        about: dict[str, Any] = {"fail_levels": levels, "deadline": finished.deadline}
        if finished.frame is not None:
            from dq_dagster.frame_rows import write_annotated_frame

            write_annotated_frame(finished.checks, finished.outcomes, finished.table, finished.session, finished.frame, out, **about)
            return
        from dq_dagster.rows import write_annotated  # brings pyarrow.compute, which an evaluation does not need

        write_annotated(finished.checks, finished.outcomes, finished.table, finished.session, out, **about)

    return _run(recipe, table, then=write, beside=out, **same)


def split(recipe: Recipe, table: Checked, *, valid: str | os.PathLike[str], quarantine: str | os.PathLike[str], **same: Any) -> Evaluation:
    """Evaluates, and writes the rows that break no `quarantine` check to `valid`, the others to `quarantine`.

    The quarantine has `_dq_failed_checks` too: the ids of the quarantine checks that the row broke, in declaration
    order; it is written, empty, where none did. Where a required check failed, or more rows would be quarantined than
    the recipe's `max_rate_ppm` allows, nothing is written, and the evaluation's `failure` says why. `same` are the
    keyword arguments of `evaluate`. Of a DataFrame on the engine spark, both are folders that Spark writes.
    """

    def write(finished: Finished) -> None:
        if finished.failure is not None:
            return
        about: dict[str, Any] = {"valid": valid, "quarantine": quarantine, "deadline": finished.deadline}
        if finished.frame is not None:
            from dq_dagster.frame_rows import write_split_frame

            write_split_frame(finished.checks, finished.outcomes, finished.table, finished.session, finished.frame, **about)
            return
        from dq_dagster.rows import write_split

        write_split(finished.checks, finished.outcomes, finished.table, finished.session, **about)

    return _run(recipe, table, then=write, beside=valid, **same)


def _run(
    recipe: Recipe,
    table: Checked,
    *,
    engine: str | Engine = "duckdb",
    references: Mapping[str, TableSource] | None = None,
    limits: Limits | None = None,
    only: Sequence[str] | None = None,
    now: dt.datetime | None = None,
    scope: str | None = None,
    files: Sequence[str] | None = None,
    remember: str | os.PathLike[str] | None = None,
    then: Callable[[Finished], None] | None = None,
    beside: str | os.PathLike[str] | None = None,
) -> Evaluation:
    """Evaluates, and does `then`; a DataFrame is staged beside a path, else in the limits' folder."""
    limits = limits or Limits()
    instant = (now or dt.datetime.now(dt.timezone.utc)).astimezone(dt.timezone.utc)
    checks = _selected(recipe, only)
    replaced: list[str] = []
    with ExitStack() as cleanup:
        frame = _written(table, beside, limits, cleanup)
        source = cast(TableSource, table) if frame is None else frame.folder
        runner = engine_of(engine) if frame is None else _engine_for(frame, engine)
        if remember is not None and not runner.chooses:
            raise RememberingUnsupported(runner.name)
        for _ in range(2):
            checked = _bound(recipe, checks, source, files, references or {}, instant)
            checked.numbered, checked.believes_records = then is not None, limits.key_records
            memory = _memory(recipe, checked, remember) if then is None and frame is None else None
            evaluation = _evaluated(
                recipe, checks, checked, runner, limits, scope or recipe.table.name, memory, then, _kept_on(runner, frame)
            )
            replaced = [one.stored.place for one in (checked, *checked.references.values()) if not is_unchanged(one.stored)]
            if not replaced:
                if memory is not None:
                    memory.keep()
                return evaluation
    raise TableUnreadable(replaced[0], "was replaced while it was being read, twice in a row; check it again when nothing writes to it")


def _memory(recipe: Recipe, table: CheckedTable, remember: str | os.PathLike[str] | None) -> PartMemory | None:
    """What is remembered of the table's parts, where that is wanted and worth it."""
    if remember is None or not is_worth_remembering(table.stored):
        return None
    return PartMemory(remember, name=recipe.table.name, place=[table.stored.root, *sorted(table.stored.within or ())])


def _written(table: Checked, beside: str | os.PathLike[str] | None, limits: Limits, cleanup: ExitStack) -> WrittenFrame | None:
    """The DataFrame as Spark wrote it, if the table is one; what is written here is gone afterwards."""
    if isinstance(table, WrittenFrame) or not is_frame(table):
        return table if isinstance(table, WrittenFrame) else None
    from dq_dagster.engines.spark_frames import stage_frame

    near = None if beside is None else Path(beside).absolute().parent
    if near is not None:
        near.mkdir(parents=True, exist_ok=True)
    private = tempfile.TemporaryDirectory(prefix=".dq_dagster-", dir=near or limits.temp_directory or None)
    return stage_frame(table, os.path.join(cleanup.enter_context(private), "rows"))


def _engine_for(frame: WrittenFrame, engine: str | Engine) -> Engine:
    """The engine; where it is Spark and no more is said, the session that the DataFrame is of."""
    if engine != "spark":
        return engine_of(engine)
    from dq_dagster.engines.spark import SparkEngine

    return SparkEngine(frame.spark)


def _kept_on(engine: Engine, frame: WrittenFrame | None) -> WrittenFrame | None:
    """The DataFrame, where Spark can write its rows again: it checks them, and can tell them apart by its own `_metadata`."""
    return frame if frame is not None and engine.name == "spark" and "_metadata" not in frame.schema.names else None


def explained(
    recipe: Recipe,
    table: TableSource,
    *,
    references: Mapping[str, TableSource] | None = None,
    limits: Limits | None = None,
    only: Sequence[str] | None = None,
    files: Sequence[str] | None = None,
    remember: str | os.PathLike[str] | None = None,
) -> str:
    """How `evaluate` would answer the checks, in words and SQL. Reads footers, and the first rows of a large table."""
    checks = _selected(recipe, only)
    checked = _bound(recipe, checks, table, files, references or {}, dt.datetime.now(dt.timezone.utc))
    engine, limits = engine_of("duckdb"), limits or Limits()
    checked.believes_records = limits.key_records
    deadline = time.monotonic() + limits.scan_seconds
    with engine.session(_relations(checked), limits) as session:
        memory, told = _memory(recipe, checked, remember), list[str]()
        if memory is not None:
            plan = _planned(recipe, checks, checked, lambda: session, limits, chooses=False, deadline=deadline)
            told = recollected(memory, plan, checked, engine.name, _versions(engine)).told()
        plan = _planned(recipe, checks, checked, lambda: session, limits, chooses=engine.chooses, deadline=deadline)
        return "\n".join([*told, explain(plan, checked, lambda ask: look(ask, checked, lambda: session, limits, deadline=deadline))])


def _planned(
    recipe: Recipe,
    checks: Mapping[int, Check],
    table: CheckedTable,
    session: Callable[[], Session],
    limits: Limits,
    *,
    chooses: bool,
    deadline: float,
) -> Plan:
    """The plan, once the types of expressions and a first look at a large table are known. Raises RecipeRefused."""
    learn_types(recipe, checks, table, session)
    if chooses:
        look_at(table, session, limits, deadline=deadline)
    plan = make_plan(list(checks.values()), table)
    refuse_misfits(recipe, checks, plan, table, session)
    return plan


def _relations(table: CheckedTable) -> list[tuple[CheckedTable, frozenset[str]]]:
    """The table and its references, each with the stored columns that are read of it."""
    return [(table, table.presented), *((other, other.planned) for other in table.references.values())]


def _bound(
    recipe: Recipe,
    checks: Mapping[int, Check],
    table: TableSource,
    files: Sequence[str] | None,
    references: Mapping[str, TableSource],
    now: dt.datetime,
) -> CheckedTable:
    """The table and the references that the checks look into, with every name that the checks use found among their columns."""
    looked_into = dict.fromkeys(name for check in checks.values() for name in check.references_used())
    others = {
        name: CheckedTable(open_table(_reference_source(recipe, name, references)), relation=f"ref_{name}", now=now) for name in looked_into
    }
    checked = CheckedTable(
        _opened(recipe, table, files), grain=recipe.table.grain, sensitive=recipe.table.sensitive, now=now, references=others
    )
    refuse_unknown_columns(recipe, checks, checked)
    checked.planned = columns_read(checks.values(), checked)
    for check in checks.values():
        for name, read in check.reference_reads(others).items():
            others[name].planned |= read
    for one in (checked, *others.values()):
        _refuse_unreadable(one.stored, one.planned)
    return checked


def _reference_source(recipe: Recipe, name: str, references: Mapping[str, TableSource]) -> TableSource:
    """Where a reference is: as given, else as the recipe says, relative to its own file."""
    if name in references:
        return references[name]
    declared = recipe.references.get(name)
    if declared is None or declared.path is None:
        known = f" with references={{'{name}': …}}" if declared is None else f"; the recipe says it is the asset '{declared.asset}'"
        raise TableUnreadable(f"reference '{name}'", f"nothing says where it is stored; give its path{known}")
    if "://" in declared.path or recipe.folder is None:
        return declared.path
    return os.path.join(recipe.folder, declared.path)


def _selected(recipe: Recipe, only: Sequence[str] | None) -> dict[int, Check]:
    """The checks to evaluate by their place in the recipe, in declaration order."""
    declared = {check.check_id: place for place, check in enumerate(recipe.checks)}
    if only is None:
        return dict(enumerate(recipe.checks))
    for wanted in only:
        if wanted.lower() not in declared:
            raise UnknownCheck(wanted, list(declared))
    places = sorted({declared[wanted.lower()] for wanted in only})
    return {place: recipe.checks[place] for place in places}


def _opened(recipe: Recipe, table: TableSource, files: Sequence[str] | None) -> StoredTable:
    """The stored table, which must carry every column that the recipe declares."""
    declared = recipe.table.columns or ()
    types = {column.name: column.type for column in declared if column.type is not None}
    stored = open_table(table, types=types) if files is None else open_files(files, root=os.fspath(table), types=types)
    lacking = [column.name for column in declared if stored.column(column.name) is None]
    if lacking:
        names = some_of([f"'{name}'" for name in lacking])
        raise TableUnreadable(stored.place, f"lacks column {names}, which the recipe declares; store it, or take it out of the recipe")
    return stored


@dataclass(frozen=True, slots=True)
class Finished:
    """An evaluation whose session is still open, for what comes after the verdicts."""

    checks: tuple[Check, ...]
    outcomes: tuple[Outcome, ...]
    table: CheckedTable
    session: Callable[[], Any]
    failure: Failure | None
    deadline: float
    frame: WrittenFrame | None


def _evaluated(
    recipe: Recipe,
    checks: Mapping[int, Check],
    table: CheckedTable,
    engine: Engine,
    limits: Limits,
    scope: str,
    memory: PartMemory | None,
    then: Callable[[Finished], None] | None,
    frame: WrittenFrame | None,
) -> Evaluation:
    started = time.monotonic()
    if limits.verify_checksums and table.planned:
        verify_checksums(table.stored, sorted(table.planned))
    deadline = time.monotonic() + limits.scan_seconds
    with ExitStack() as cleanup:
        opened: list[Session] = []

        def session() -> Session:
            if not opened:
                opened.append(cleanup.enter_context(engine.session(_relations(table), limits)))
            return opened[0]

        plan = _planned(recipe, checks, table, session, limits, chooses=engine.chooses and memory is None, deadline=deadline)
        recalled = Recalled()
        if memory is not None:
            plan, recalled, session = _recalled(plan, memory, table, session, engine, limits, deadline=deadline)
        answers = answer(plan, table, session, limits, deadline=deadline, scanned=recalled.bytes_scanned)
        answers.numbers.update((place, dict(numbers)) for place, numbers in recalled.numbers.items())
        outcomes = judge(plan, answers, table, session, limits, scope=scope, deadline=deadline)
        outcomes = tuple(
            replace(outcome, bytes_scanned=recalled.scanned.get(place, outcome.bytes_scanned)) for place, outcome in enumerate(outcomes)
        )
        try:
            quarantined = count_quarantined(plan, outcomes, table, session, deadline=deadline)
        except (NotEvaluated, EngineStumbled):
            if then is not None:  # which rows are written hangs on it
                raise
            quarantined = None  # each check fits the budgets, all of them at once do not: the outcomes stand without the count
        failure = failure_of(outcomes, quarantined, table.rows, max_rate_ppm=recipe.quarantine.max_rate_ppm if recipe.quarantine else None)
        if then is not None:
            then(Finished(plan.checks, outcomes, table, session, failure, deadline, frame))
    receipt = Receipt(
        recipe=recipe.recipe,
        recipe_digest=recipe.digest,
        scope=scope,
        engine=engine.name,
        now=table.now,
        seconds=time.monotonic() - started,
        bytes_scanned=answers.bytes_scanned,
        rows=table.rows,
        files=table.stored.files(),
        versions=_versions(engine),
        remembered_parts=recalled.parts - recalled.asked if recalled.numbers else 0,
    )
    return Evaluation(outcomes, receipt, failure, quarantined)


def _recalled(
    plan: Plan, memory: PartMemory, table: CheckedTable, session: Callable[[], Session], engine: Engine, limits: Limits, *, deadline: float
) -> tuple[Plan, Recalled, Callable[[], Session]]:
    """What the table's parts settle, the plan for the rest, and the session for it, which presents the whole table again."""
    ((_, columns), *_) = _relations(table)
    narrowed: list[NarrowableSession] = []

    def narrowable() -> NarrowableSession:
        if not narrowed:
            narrowed.append(cast(NarrowableSession, session()))  # as Engine.chooses promises
        return narrowed[0]

    def whole() -> Session:
        if narrowed:
            try:
                narrowed.pop().present(table, columns)
            except EngineStumbled as error:
                told = "was replaced while it was being read; check it again when nothing writes to it"
                raise TableUnreadable(table.stored.place, told) from error
        return session()

    recalled = recollected(memory, plan, table, engine.name, _versions(engine)).recall(narrowable, columns, limits, deadline=deadline)
    left = [place for place in plan.reading_rows if place not in recalled.numbers]
    if left:
        look_at(table, whole, limits, deadline=deadline, of=frozenset().union(*(plan.checks[place].reads(table) for place in left)))
    return make_plan(plan.checks, table, settled=recalled.numbers), recalled, whole


def _versions(engine: Engine) -> dict[str, str]:
    return {"dq_dagster": _package_version(), **engine.versions()}


def _refuse_unreadable(stored: StoredTable, reads: Iterable[str]) -> None:
    """Raises TableUnreadable where a column to be read has no type that holds all its parts."""
    for name in sorted(reads):
        if name in stored.conflicts:
            raise TableUnreadable(stored.place, stored.conflicts[name])


@lru_cache(maxsize=1)
def _package_version() -> str:
    try:
        return version("dq_dagster")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "unknown"
