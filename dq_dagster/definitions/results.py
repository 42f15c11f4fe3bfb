"""Outcomes as Dagster shows them: passed or not, how severe, the detail, and metadata that is strict JSON."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import dagster as dg

from dq_dagster.outcomes import Failure, Outcome, Receipt, failure_of

# JavaScript, and with it Dagster's UI, holds no larger integer exactly.
_LARGEST_EXACT = 2**53
_FIXED = frozenset(
    {"status", "detail", "not_evaluated_reason", "kind", "enforcement", "scope", "rows", "failed_rows", "failed_ppm", "examples"}
    | {"recipe_digest", "engine", "seconds", "bytes_scanned", "failure_code", "failed_stage", "failure_detail"}
)


def severity_of(outcome: Outcome, *, fails_closed: bool = False) -> dg.AssetCheckSeverity:
    """ERROR for a required check that failed, and what would be one; WARN for everything that never blocks.

    `fails_closed`: a required check that could not be evaluated blocks too.
    """
    warns = outcome.enforcement != "required" or (outcome.status == "not_evaluated" and not fails_closed)
    return dg.AssetCheckSeverity.WARN if warns else dg.AssetCheckSeverity.ERROR


def check_result(
    outcome: Outcome, receipt: Receipt, spec: dg.AssetCheckSpec, *, fails_closed: bool = False, extra: Mapping[str, Any] | None = None
) -> dg.AssetCheckResult:
    """The outcome as the result of a check; Dagster adds the run's partition. `extra` is further metadata."""
    return dg.AssetCheckResult(
        asset_key=spec.asset_key,
        check_name=spec.name,
        passed=outcome.status == "passed",
        severity=severity_of(outcome, fails_closed=fails_closed),
        description=outcome.detail,
        metadata={**result_metadata(outcome, receipt), **(extra or {})},
    )


def check_evaluation(
    outcome: Outcome,
    receipt: Receipt,
    spec: dg.AssetCheckSpec,
    *,
    partition: str,
    target: dg.EventLogRecord | None,
    fails_closed: bool = False,
    extra: Mapping[str, Any] | None = None,
) -> dg.AssetCheckEvaluation:
    """The outcome as the evaluation of one partition among several of a run; `target` is the materialization it is about."""
    return dg.AssetCheckEvaluation(
        asset_key=spec.asset_key,
        check_name=spec.name,
        passed=outcome.status == "passed",
        severity=severity_of(outcome, fails_closed=fails_closed),
        description=outcome.detail,
        metadata={**result_metadata(outcome, receipt), **(extra or {})},
        blocking=spec.blocking,
        partition=partition,
        target_materialization_data=None if target is None else _pointer_to(target),
    )


def facts_of(failure: Failure) -> dict[str, str]:
    """What a run that fails carries, by name."""
    return {name: getattr(failure, name) for name in ("failure_code", "failed_stage", "failure_detail")}


def result_metadata(outcome: Outcome, receipt: Receipt) -> dict[str, Any]:
    """The stable keys, the observed figures under their own names, and the check's own metadata.

    An observed figure or a member of the check's metadata whose name is taken stands under `observed/…` or `recipe/…`.
    """
    facts: dict[str, Any] = {
        "status": outcome.status,
        "detail": outcome.detail,
        "not_evaluated_reason": outcome.not_evaluated_reason,
        "kind": outcome.kind,
        "enforcement": outcome.enforcement,
        "scope": outcome.scope,
        "rows": outcome.rows,
        "failed_rows": outcome.failed_rows,
        "failed_ppm": _ppm(outcome.failed_rows, outcome.rows),
    }
    metadata = {name: plain_value(value) for name, value in facts.items() if value is not None}
    for name, value in outcome.observed.items():
        metadata[f"observed/{name}" if name in _FIXED else name] = plain_value(value)
    if outcome.examples:
        metadata["examples"] = _table(outcome.examples)
    metadata |= {
        "recipe_digest": receipt.recipe_digest,
        "engine": receipt.engine,
        "seconds": plain_value(round(outcome.seconds, 6)),
        "bytes_scanned": plain_value(outcome.bytes_scanned),
    }
    failure = failure_of([outcome], None, 0, max_rate_ppm=None)
    if failure is not None:
        metadata |= facts_of(failure)
    return metadata | own_metadata(outcome.metadata, taken=metadata.keys() | _FIXED)


def own_metadata(declared: Mapping[str, Any], *, taken: Iterable[str]) -> dict[str, Any]:
    """A check's own metadata, under names that are not taken."""
    names = set(taken)
    return {f"recipe/{name}" if name in names else name: _declared_value(value) for name, value in declared.items()}


def plain_value(value: Any) -> Any:
    """A value as Dagster can store, chart and send it: a number where that is exact in JSON, else text."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value) if abs(value) <= _LARGEST_EXACT else str(value)
        case float():
            return float(value) if math.isfinite(value) else str(value)
        case Decimal():
            return _decimal(value)
        case dt.date() | dt.time():
            return value.isoformat()
        case bytes():
            return value.hex()
        case Mapping() | list() | tuple():
            return json.dumps(_json(value), ensure_ascii=False)
        case _:
            return str(value)


def _decimal(value: Decimal) -> float | str:
    """A float where it is the same number and JSON shows all of it; text otherwise, so that no digit is lost."""
    if not value.is_finite() or abs(value) > _LARGEST_EXACT or Decimal(float(value)) != value:
        return str(value) if not value.is_finite() else format(value, "f")
    return float(value)


def _ppm(failed: int | None, rows: int | None) -> int | None:
    if failed is None or rows is None:
        return None
    return -(-failed * 1_000_000 // rows) if rows else 0


def _declared_value(value: Any) -> Any:
    if isinstance(value, Mapping | list | tuple):
        return dg.MetadataValue.json(_json(value))
    return dg.MetadataValue.null() if value is None else plain_value(value)


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        members: Mapping[Any, Any] = value
        return {str(key): _json(member) for key, member in members.items()}
    if isinstance(value, list | tuple):
        items: Sequence[Any] = value
        return [_json(member) for member in items]
    return plain_value(value)


def _table(examples: Sequence[Mapping[str, Any]]) -> dg.TableMetadataValue:
    names = list(dict.fromkeys(name for example in examples for name in example))
    rows = [{name: plain_value(example.get(name)) for name in names} for example in examples]
    columns = [dg.TableColumn(name, type=_type_of([row[name] for row in rows])) for name in names]
    return dg.MetadataValue.table([dg.TableRecord(row) for row in rows], schema=dg.TableSchema(columns=columns))


def _type_of(cells: Sequence[Any]) -> str:
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds and kinds <= {int, float}:
        return "float" if float in kinds else "int"
    return "bool" if kinds == {bool} else "string"


def _pointer_to(record: dg.EventLogRecord) -> Any:
    # Dagster exports the class from nowhere public, and the evaluation's own argument wants one.
    from dagster._core.definitions.asset_checks.asset_check_evaluation import AssetCheckEvaluationTargetMaterializationData

    return AssetCheckEvaluationTargetMaterializationData(storage_id=record.storage_id, run_id=record.run_id, timestamp=record.timestamp)
