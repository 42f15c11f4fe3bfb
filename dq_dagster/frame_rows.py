"""The rows of a DataFrame with what is wrong with them, on Spark: marked where they are, and written by Spark.

What rows.py does with the rows of files, in the words of Spark: nothing but numbers passes through this process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from dq_dagster.checks.base import Check
from dq_dagster.checks.table import CheckedTable
from dq_dagster.engines.spark import SparkSession
from dq_dagster.engines.spark_frames import BROKEN, NUMBER, WrittenFrame, marked_rows, noted_rows, split_rows, with_rows, write_frame
from dq_dagster.outcomes import Outcome
from dq_dagster.rows import ERRORS, FAILED_CHECKS, PASSED, Broken, broken_by, broken_query, note_of, refuse_taken
from dq_dagster.writing import part_folders


def write_annotated_frame(
    checks: Sequence[Check],
    outcomes: Sequence[Outcome],
    table: CheckedTable,
    session: Callable[[], SparkSession],
    written: WrittenFrame,
    out: str | os.PathLike[str],
    *,
    fail_levels: frozenset[str],
    deadline: float,
) -> None:
    """Writes the rows with `_dq_passed` and `_dq_errors` to a folder, and with them the rows that a check adds."""
    refuse_taken(written.schema.names, (PASSED, ERRORS))
    broken = broken_by(checks, outcomes, table)
    notes = {place: note_of(checks[place]) for place in sorted({*broken.everywhere, *broken.where})}
    noted = noted_rows(
        _marked(broken, table, session, written), PASSED, ERRORS, notes, everywhere=broken.everywhere, fail_levels=fail_levels
    )
    for place, check in enumerate(checks):
        extra = check.extra_rows(table) if outcomes[place].status == "failed" else None
        if extra is not None:
            note = note_of(check)
            rows = session().frame(extra)
            noted = with_rows(noted, rows, written, PASSED, ERRORS, note, has_passed=note["severity"] not in fail_levels)
    with part_folders([out]) as (folder,):
        session().run(lambda: write_frame(noted, folder), deadline=deadline)


def write_split_frame(
    checks: Sequence[Check],
    outcomes: Sequence[Outcome],
    table: CheckedTable,
    session: Callable[[], SparkSession],
    written: WrittenFrame,
    *,
    valid: str | os.PathLike[str],
    quarantine: str | os.PathLike[str],
    deadline: float,
) -> None:
    """Writes the rows that break no `quarantine` check, and those that do with `_dq_failed_checks`: both folders or none."""
    refuse_taken(written.schema.names, (FAILED_CHECKS,))
    names = {place: check.reported_id for place, check in enumerate(checks) if check.enforcement == "quarantine"}
    everything = broken_by(checks, outcomes, table)
    broken = Broken(frozenset(), {place: everything.where[place] for place in names if place in everything.where})
    clean, bad = split_rows(_marked(broken, table, session, written), FAILED_CHECKS, names)
    with part_folders([valid, quarantine]) as (valid_folder, quarantine_folder):
        session().run(lambda: write_frame(clean, valid_folder), deadline=deadline)
        session().run(lambda: write_frame(bad, quarantine_folder), deadline=deadline)


def _marked(broken: Broken, table: CheckedTable, session: Callable[[], SparkSession], written: WrittenFrame) -> Any:
    """The rows with the places of the checks that each breaks. The session is open, whether or not a check needed it."""
    found = session().frame(broken_query(broken, table)).toDF(NUMBER, BROKEN) if broken.where else None
    return marked_rows(written, table, found)
