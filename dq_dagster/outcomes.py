"""What an evaluation found: outcomes, the receipt, and the two spellings in which an outcome travels."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

Status = Literal["passed", "failed", "not_evaluated"]
Enforcement = Literal["required", "advisory", "quarantine"]

NOT_EVALUATED = "not_evaluated: "
REDACTED = "‹redacted›"
MAX_EXAMPLES = 10
SEVERITIES = ("critical", "warning")


def cut(text: str, limit: int) -> str:
    """The text, at most `limit` characters of it, ending in an ellipsis where something was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one check.

    `rows` is how many rows the scope holds, `failed_rows` how many break the check (None where rows cannot be told
    apart), `observed` what was measured, by name. `scope` names a table or one partition of it.
    """

    check_id: str
    status: Status
    detail: str
    kind: str
    enforcement: Enforcement
    scope: str | None = None
    rows: int | None = None
    failed_rows: int | None = None
    observed: Mapping[str, int | float | Decimal | str] = field(default_factory=dict)
    examples: tuple[Mapping[str, Any], ...] = ()
    description: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    bytes_scanned: int = 0

    @property
    def not_evaluated_reason(self) -> str | None:
        """Why the check could not be evaluated, without the prefix; None where it was."""
        return self.detail.removeprefix(NOT_EVALUATED) if self.status == "not_evaluated" else None

    @property
    def is_blocking(self) -> bool:
        """Whether this outcome stops what is downstream: a required check that failed."""
        return self.enforcement == "required" and self.status == "failed"

    def wire(self) -> dict[str, Any]:
        """The spelling that carries only a boolean: the third state travels in the detail's prefix."""
        wire: dict[str, Any] = {"check_id": self.check_id, "passed": self.status == "passed", "detail": self.detail}
        return wire if self.scope is None else {**wire, "scope": self.scope}

    def record(self) -> dict[str, Any]:
        """The spelling of a run record: name, status, reason."""
        return {"name": self.check_id, "status": self.status, "reason": self.detail}


def record_of(wire: Mapping[str, Any]) -> dict[str, Any]:
    """The run record of a wire. A status that the wire states wins; a detail opening `not_evaluated: ` is never a failure."""
    detail = wire.get("detail")
    status = wire.get("status")
    if status is None:
        status = "passed" if wire["passed"] else "failed"
    if isinstance(detail, str) and detail.startswith(NOT_EVALUATED):
        status = "not_evaluated"
    record: dict[str, Any] = {"name": wire["check_id"], "status": status}
    return record if detail is None else {**record, "reason": detail}


@dataclass(frozen=True, slots=True)
class FileRead:
    """One file as it was read: enough to tell whether it is still the same file."""

    path: str
    size: int
    modified: str
    rows: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of one evaluation. `seconds` is wall time, `bytes_scanned` an estimate from the files' footers.

    `remembered_parts` are those of which nothing was read where a check could be answered from what was known of them.
    """

    recipe: str
    recipe_digest: str
    scope: str
    engine: str
    now: dt.datetime
    seconds: float
    bytes_scanned: int
    rows: int
    files: tuple[FileRead, ...]
    versions: Mapping[str, str]
    remembered_parts: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The receipt as JSON values."""
        return {
            "recipe": self.recipe,
            "recipe_digest": self.recipe_digest,
            "scope": self.scope,
            "engine": self.engine,
            "now": self.now.isoformat(),
            "seconds": round(self.seconds, 6),
            "bytes_scanned": self.bytes_scanned,
            "rows": self.rows,
            "files": [{"path": f.path, "size": f.size, "modified": f.modified, "rows": f.rows} for f in self.files],
            "versions": dict(self.versions),
            "remembered_parts": self.remembered_parts,
        }


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run fails: the code, the stage and the detail that a failed run carries."""

    failure_code: str
    failed_stage: str
    failure_detail: str


def blocking_failure(outcomes: Sequence[Outcome], *, fails_closed: bool = False) -> Failure | None:
    """The first required check that failed, or, where that shall count as well, that could not be evaluated."""
    for outcome in outcomes:
        if outcome.is_blocking or (fails_closed and outcome.enforcement == "required" and outcome.status == "not_evaluated"):
            return Failure("CHECK_FAILED", "check", f"{outcome.check_id}: {outcome.detail}")
    return None


def failure_of(outcomes: Sequence[Outcome], quarantined: int | None, rows: int, *, max_rate_ppm: int | None) -> Failure | None:
    """What the outcomes mean for the run: the first required check that failed, or a quarantine rate that was broken.

    Where a budget kept the quarantined rows from being counted, a rate holds if it would even if no row broke two checks.
    """
    if (failure := blocking_failure(outcomes)) is not None:
        return failure
    broken = [outcome.failed_rows for outcome in outcomes if outcome.enforcement == "quarantine" and outcome.failed_rows]
    if quarantined is None and max_rate_ppm is not None and sum(broken) * 1_000_000 > max_rate_ppm * rows:
        told = (
            f"{max(broken)} to {min(sum(broken), rows)} of {rows} rows would be quarantined, where {max_rate_ppm} ppm is the declared rate"
        )
        return Failure("CHECK_FAILED", "check", f"QUARANTINE_RATE: {told}; a budget kept them from being counted: raise it")
    if quarantined is not None and max_rate_ppm is not None and quarantined * 1_000_000 > max_rate_ppm * rows:
        ppm = -(-quarantined * 1_000_000 // rows)
        told = f"{quarantined} of {rows} rows would be quarantined, {ppm} ppm, above the declared rate of {max_rate_ppm} ppm"
        return Failure("CHECK_FAILED", "check", f"QUARANTINE_RATE: {told}")
    return None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Every outcome of one evaluation, in declaration order, and its receipt.

    `failure` says why a run with these outcomes fails, None where it does not; `quarantined_rows` how many rows break
    some quarantine check, None where the recipe has none, or where a budget kept them from being counted together.
    """

    outcomes: tuple[Outcome, ...]
    receipt: Receipt
    failure: Failure | None = None
    quarantined_rows: int | None = None

    @property
    def blocking(self) -> tuple[Outcome, ...]:
        """The required checks that failed."""
        return tuple(outcome for outcome in self.outcomes if outcome.is_blocking)
