"""Every error this package raises. Each takes the facts, keeps them, and writes its own message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SHOWN_AT_ONCE = 5


def some_of(names: Sequence[str]) -> str:
    """The culprits by name, at most five of them, then how many more there are."""
    shown = ", ".join(names[:SHOWN_AT_ONCE])
    left = len(names) - SHOWN_AT_ONCE
    return f"{shown} and {left} more" if left > 0 else shown


class DqDagsterError(Exception):
    """The base of every error this package raises on purpose."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a document: its code, where it stands in the user's document, and how to mend it.

    `pointer` is a JSON pointer (RFC 6901) into the document as written; `line` and `column` count from 1 and are None
    where the document was not text.
    """

    code: str
    pointer: str
    message: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = f" (line {self.line}, column {self.column})" if self.line is not None else ""
        return f"{self.code} at {self.pointer or '/'}{place}: {self.message}"


class RecipeRefused(DqDagsterError):
    """A recipe document that cannot be accepted, with every problem it has."""

    def __init__(self, problems: Sequence[Problem], *, source: str = "the recipe") -> None:
        self.problems = tuple(problems)
        self.source = source
        count = f"{len(self.problems)} problem" + ("" if len(self.problems) == 1 else "s")
        super().__init__("\n".join([f"{source} has {count}", *(f"  {problem}" for problem in self.problems)]))


class CheckRunError(DqDagsterError):
    """An evaluation that could not be carried out. Never a failed check: that is an outcome."""

    def __init__(self, failure_code: str, failed_stage: str, failure_detail: str) -> None:
        self.failure_code = failure_code
        self.failed_stage = failed_stage
        self.failure_detail = failure_detail
        super().__init__(f"{failure_code}: {failure_detail}")


class TableUnreadable(CheckRunError):
    """Nothing could open or read the table, or it lacks a column that the recipe declares."""

    def __init__(self, place: str, what: str) -> None:
        self.place = place
        self.what = what
        super().__init__("DECLARED_CHECK_UNREADABLE", "check", f"{place}: {what}")


class NotEvaluated(DqDagsterError):
    """A budget or an engine that stood between a check and its answer; `reason` opens with its code."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class ScanBudgetExceeded(NotEvaluated):
    """More bytes would have to be read than the deployment allows."""

    def __init__(self, *, estimated_bytes: int, ceiling_bytes: int) -> None:
        self.estimated_bytes = estimated_bytes
        self.ceiling_bytes = ceiling_bytes
        super().__init__(f"CHECK_SCAN_BUDGET_EXCEEDED: estimated scan of {estimated_bytes} bytes exceeds the {ceiling_bytes}-byte ceiling")


class TimeBudgetExceeded(NotEvaluated):
    """The rows could not be read in the time the deployment allows."""

    def __init__(self, *, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"CHECK_TIME_BUDGET_EXCEEDED: the scan did not finish within {seconds:g} seconds")


class MemoryBudgetExceeded(NotEvaluated):
    """The check needs more memory, or more spill space, than the deployment allows."""

    def __init__(self, *, memory_limit: str, spill: str) -> None:
        self.memory_limit = memory_limit
        self.spill = spill
        super().__init__(f"CHECK_MEMORY_BUDGET_EXCEEDED: the check does not fit the memory limit of {memory_limit} {spill}")


class UnsupportedByEngine(NotEvaluated):
    """The engine cannot answer this check; `what` says why, and never quotes a cell."""

    def __init__(self, *, engine: str, what: str) -> None:
        self.engine = engine
        self.what = what
        super().__init__(f"CHECK_UNSUPPORTED_BY_ENGINE: {engine} {what}")


class DoesNotFit(DqDagsterError):
    """A check that the stored types make impossible: `what` says so, to follow "check X", and how to mend it.

    `pointer` leads to the member at fault inside the check.
    """

    def __init__(self, what: str, *, pointer: str = "") -> None:
        self.what = what
        self.pointer = pointer
        super().__init__(what)


class UnknownDialect(DqDagsterError, ValueError):
    """A document was to be read in a dialect that does not exist."""

    def __init__(self, dialect: str, known: Sequence[str]) -> None:
        self.dialect = dialect
        self.known = tuple(known)
        super().__init__(f"there is no dialect '{dialect}'; the dialects are {', '.join(known)}")
