"""The outcomes of a Dagster run, read back from the instance's event log in the wire's spelling."""

from __future__ import annotations

import os
from typing import Any

import dagster as dg

from dq_dagster.errors import DqDagsterError


class RunUnknown(DqDagsterError):
    """A run whose outcomes cannot be read."""

    def __init__(self, run_id: str, what: str) -> None:
        self.run_id = run_id
        super().__init__(f"run '{run_id}' cannot be read: {what}")


def wires_of_run(run_id: str, *, instance: dg.DagsterInstance | None = None) -> list[dict[str, Any]]:
    """Every outcome of the run in the wire's spelling, in the order of recording; checks of other makers are left out.

    `instance` defaults to the one that DAGSTER_HOME names.

    Raises:
        RunUnknown: DAGSTER_HOME is not set, or its instance knows no such run.
    """
    if instance is None:
        if not os.environ.get("DAGSTER_HOME"):
            raise RunUnknown(run_id, "DAGSTER_HOME is not set; set it to the folder of the instance that ran it")
        with dg.DagsterInstance.get() as own:
            return wires_of_run(run_id, instance=own)
    if not instance.has_run(run_id):
        raise RunUnknown(run_id, "the instance knows no run of this id; see the Runs page for it, or set DAGSTER_HOME to another instance")
    logs = instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    evaluations = [entry.dagster_event.asset_check_evaluation_data for entry in logs if entry.dagster_event is not None]
    return [wire for evaluation in evaluations if (wire := _wire(evaluation)) is not None]


def _wire(evaluation: dg.AssetCheckEvaluation) -> dict[str, Any] | None:
    told = {name: value.value for name, value in evaluation.metadata.items() if name in ("status", "detail", "scope", "recipe_digest")}
    if "status" not in told or "recipe_digest" not in told:
        return None
    wire = {"check_id": evaluation.check_name.upper(), "passed": evaluation.passed, "detail": told.get("detail")}
    return wire if "scope" not in told else {**wire, "scope": told["scope"]}
