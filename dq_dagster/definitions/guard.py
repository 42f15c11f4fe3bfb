"""What makes a block hold across runs: Dagster's own stops what is downstream in the same run only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

import dagster as dg

from dq_dagster.errors import some_of
from dq_dagster.outcomes import Failure

Checks = dg.AssetChecksDefinition | dg.AssetsDefinition | dg.AssetCheckSpec


def when_checks_passed(
    condition: dg.AutomationCondition[dg.AssetKey] | None = None,
) -> dg.AutomationCondition[dg.AssetKey]:
    """An automation condition for what is downstream: it holds where every blocking check of what it reads has passed.

    `condition` says when the asset is wanted at all (default: AutomationCondition.eager()). A check that never ran on
    what is stored now has not passed; one that could not be evaluated has not passed either, as far as Dagster can tell.
    """
    wanted = dg.AutomationCondition.eager() if condition is None else condition
    # The operator's type admits conditions of checks as well.
    return cast("dg.AutomationCondition[dg.AssetKey]", wanted & dg.AutomationCondition.all_deps_blocking_checks_passed())


def require_passed_checks(
    context: dg.AssetExecutionContext | dg.OpExecutionContext, *checks: Checks | Iterable[Checks], partition: str | None = None
) -> None:
    """Fails the step unless the latest result of every blocking check is about what is stored now, and lets it be read.

        @dg.asset(deps=[orders])
        def report(context: dg.AssetExecutionContext) -> None:
            require_passed_checks(context, orders_checks)

    For an asset that runs without what it reads, such as a schedule's own: Dagster blocks within one run. `checks` are what
    build_recipe_checks gave, or gated assets. `partition` is the partition that is read, where what is read has any. A
    check that was not evaluated lets the table be read, unless its deployment says that it blocks; one that is missing, or
    older than the table, does not.

    Raises:
        dg.Failure: some table may not be read. It is not retried.
    """
    told = [
        f"{spec.key.asset_key.to_user_string()}: {what}"
        for spec in _blocking(checks)
        if (what := _objection(context.instance, spec, partition))
    ]
    if told:
        failure = Failure("CHECK_FAILED", "check", f"what is read may not be: {some_of(told)}")
        raise dg.Failure(
            f"{failure.failure_code}: {failure.failure_detail}",
            metadata={"failure_code": failure.failure_code, "failed_stage": failure.failed_stage, "failure_detail": failure.failure_detail},
            allow_retries=False,
        )


def _blocking(checks: Iterable[Checks | Iterable[Checks]]) -> Iterator[dg.AssetCheckSpec]:
    for one in checks:
        if isinstance(one, dg.AssetsDefinition):  # a definition of checks is one, too
            yield from (spec for spec in one.check_specs if spec.blocking)
        elif isinstance(one, dg.AssetCheckSpec):
            yield from [one] if one.blocking else []
        else:
            yield from _blocking(one)


def _objection(instance: dg.DagsterInstance, spec: dg.AssetCheckSpec, partition: str | None) -> str | None:
    """Why the check does not let its table be read; None where it does."""
    history = instance.event_log_storage.get_asset_check_execution_history(spec.key, limit=25)
    finished = [record for record in history if record.evaluation is not None and (partition is None or record.partition == partition)]
    name = spec.name.upper()
    if not finished or finished[0].evaluation is None:
        return f"{name} has no result"
    latest = finished[0]
    evaluation = latest.evaluation
    assert evaluation is not None
    if not evaluation.passed and evaluation.severity is dg.AssetCheckSeverity.ERROR:
        return f"{name}: {evaluation.description or 'failed'}"
    wanted = spec.asset_key if partition is None else dg.AssetRecordsFilter(asset_key=spec.asset_key, asset_partitions=[partition])
    stored = instance.fetch_materializations(wanted, limit=1).records
    if stored and stored[0].run_id != latest.run_id and stored[0].timestamp > latest.create_timestamp:
        return f"{name} was last evaluated before the table that is stored now"
    return None
