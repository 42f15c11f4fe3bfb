"""What a check step does: evaluates each partition of the run, reports every outcome, and fails as it must."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from dq_dagster.definitions.controls import RECIPE_DRIFT, SHAPE_DRIFT, Force, recipe_drift, recorded_digest, shape_drift
from dq_dagster.definitions.placing import Placing
from dq_dagster.definitions.receipts import write_receipt
from dq_dagster.definitions.resources import EngineBinding
from dq_dagster.definitions.results import check_evaluation, check_result, facts_of
from dq_dagster.errors import CheckRunError, RecipeRefused
from dq_dagster.limits import Limits
from dq_dagster.outcomes import Evaluation, Failure, Outcome, blocking_failure
from dq_dagster.recipe import Recipe

TAG_PREFIX = "dq_dagster/"
Context = dg.AssetCheckExecutionContext | dg.AssetExecutionContext
Reported = dg.AssetCheckResult | dg.AssetCheckEvaluation | dg.Output[None]


@dataclass(frozen=True, slots=True)
class CheckStep:
    """A recipe bound to an asset: all that its check step needs to know. `specs` are in the order of the recipe's checks."""

    recipe: Recipe
    specs: Sequence[dg.AssetCheckSpec]
    partitions_def: dg.PartitionsDefinition | None
    placing: Placing
    engine: EngineBinding
    limits: Limits | None
    max_retries: int = 0
    controls: Mapping[str, Force] = field(default_factory=dict)
    receipts: str | None = None
    blocks_not_evaluated: bool = False

    def run(self, context: dg.AssetCheckExecutionContext) -> Iterator[Reported]:
        """Yields one result for each selected check and partition, then fails where a table could not be read.

        Raises:
            dg.Failure: the table cannot be read, or the recipe does not fit it. It blocks what is downstream.
        """
        specs = [spec for spec in self.specs if spec.key in context.selected_asset_check_keys]
        now = dt.datetime.now(dt.timezone.utc)
        several = self._partitions_of_range(context)
        failure: dg.Failure | None = None
        for partition in several or [self._partition(context)]:
            try:
                evaluation = self._evaluate(specs, partition, now, context)
            except (CheckRunError, RecipeRefused) as error:
                told = failure_told(error)
                may_retry = isinstance(
                    error, CheckRunError
                )  # a table may be there at the next attempt; a recipe that does not fit will not
                if not may_retry or context.op_execution_context.retry_number >= self.max_retries:
                    tag_run(context, told)  # else the run may still succeed, and no tag can be taken off it
                context.log.error(f"{self._scope(partition)}: {told.failure_code}: {told.failure_detail}")
                failure = failure or dg.Failure(description=str(error), metadata=dict(facts_of(told)), allow_retries=may_retry)
                continue
            found = [*evaluation.outcomes, *self._controlled(specs, partition, evaluation, context)]
            outcomes = {outcome.check_id.lower(): outcome for outcome in found}
            blocked = blocking_failure(found, fails_closed=self.blocks_not_evaluated) or evaluation.failure
            if blocked is not None:
                tag_run(context, blocked)
            self._keep_receipt(evaluation, found, partition, context)
            log_outcomes(context, [outcomes[spec.name] for spec in specs])
            yield from self._reported(specs, outcomes, evaluation, partition if several else None, context)
        if failure is not None:
            raise failure
        if several:  # an evaluation alone does not tell Dagster that its check has run; a result would, for one partition only
            yield from (dg.Output(None, output_name=spec.get_python_identifier()) for spec in specs)

    def _partitions_of_range(self, context: dg.AssetCheckExecutionContext) -> list[str]:
        """The partitions of a run that is for several; none where the run is for one, or for the whole table."""
        is_range = self.partitions_def is not None and not context.has_partition_key and context.has_partition_key_range
        return list(context.partition_keys) if is_range else []

    def _partition(self, context: dg.AssetCheckExecutionContext) -> str | None:
        return context.partition_key if self.partitions_def is not None and context.has_partition_key else None

    def _scope(self, partition: str | None) -> str:
        return self.recipe.table.name if partition is None else f"{self.recipe.table.name}[{partition}]"

    def _evaluate(
        self, specs: Sequence[dg.AssetCheckSpec], partition: str | None, now: dt.datetime, context: dg.AssetCheckExecutionContext
    ) -> Evaluation:
        from dq_dagster.run import evaluate  # brings the SQL builder along, which definitions load without

        engine, limits = self.engine.of_run(context.resources)
        return evaluate(
            self.recipe,
            self.placing.table_of(partition, context.resources),
            engine=engine,
            references=self.placing.references_of(context.resources),
            limits=self.limits or limits,
            only=[spec.name for spec in specs if spec.name not in self.controls],
            now=now,
            scope=self._scope(partition),
            remember=self.engine.remember_of(context.resources),
        )

    def _controlled(
        self, specs: Sequence[dg.AssetCheckSpec], partition: str | None, evaluation: Evaluation, context: dg.AssetCheckExecutionContext
    ) -> Iterator[Outcome]:
        """What the selected controls found."""
        about: dict[str, Any] = {"scope": self._scope(partition), "rows": evaluation.receipt.rows}
        for name in (spec.name for spec in specs if spec.name in self.controls):
            about["force"] = self.controls[name]
            if name == RECIPE_DRIFT:
                yield recipe_drift(self.recipe, recorded_digest(context.instance, self.placing.asset_key, partition), **about)
            if name == SHAPE_DRIFT:
                from dq_dagster.stored_rows import schema_of  # brings the rest of the reading along, as the evaluation has
                from dq_dagster.tables import open_table

                yield shape_drift(self.recipe, schema_of(open_table(self.placing.table_of(partition, context.resources))), **about)

    def _keep_receipt(
        self, evaluation: Evaluation, outcomes: Sequence[Outcome], partition: str | None, context: dg.AssetCheckExecutionContext
    ) -> None:
        folder = self.receipts or self.engine.receipts_of(context.resources)
        if folder is not None:
            about = {"run_id": context.run.run_id, "asset": self.placing.asset_key.to_user_string(), "partition": partition}
            write_receipt(folder, evaluation, outcomes=outcomes, about=about)

    def _reported(
        self,
        specs: Sequence[dg.AssetCheckSpec],
        outcomes: Mapping[str, Outcome],
        evaluation: Evaluation,
        partition: str | None,
        context: dg.AssetCheckExecutionContext,
    ) -> Iterator[Reported]:
        if partition is None:
            closed = self.blocks_not_evaluated
            yield from (check_result(outcomes[spec.name], evaluation.receipt, spec, fails_closed=closed) for spec in specs)
            return
        wanted = dg.AssetRecordsFilter(asset_key=self.placing.asset_key, asset_partitions=[partition])
        found = context.instance.fetch_materializations(wanted, limit=1).records
        target = found[0] if found else None
        for spec in specs:
            about: dict[str, Any] = {"partition": partition, "target": target, "fails_closed": self.blocks_not_evaluated}
            yield check_evaluation(outcomes[spec.name], evaluation.receipt, spec, **about)


def failure_told(error: CheckRunError | RecipeRefused) -> Failure:
    """What the error means for the run."""
    if isinstance(error, CheckRunError):
        return Failure(error.failure_code, error.failed_stage, error.failure_detail)
    first, more = error.problems[0], len(error.problems) - 1
    told = f"at {first.pointer or '/'}: {first.message}" + (f" (and {more} more)" if more else "")
    return Failure(first.code, "acquire", told)


def tag_run(context: Context, failure: Failure) -> None:
    """Puts the failure on the run, where it is searched for; the first failure of a run stays."""
    run = context.instance.get_run_by_id(context.run.run_id)
    if run is not None and f"{TAG_PREFIX}failure_code" not in run.tags:
        context.instance.add_run_tags(run.run_id, {TAG_PREFIX + name: value for name, value in facts_of(failure).items()})


def log_outcomes(context: Context, outcomes: Sequence[Outcome]) -> None:
    """What passed in one line of the run's log; what did not in a line each, as loud as the outcome.

    Dagster stores every line as an event of the run, which costs more than a check of a small table does. The details of
    those that passed stand in the evaluations, which are events too.
    """
    passed = [outcome for outcome in outcomes if outcome.status == "passed"]
    if passed:
        names = ", ".join(outcome.check_id for outcome in passed)
        context.log.info(f"{passed[0].scope}: {len(passed)} of {len(outcomes)} checks passed: {names}")
    for outcome in outcomes:
        if outcome.status == "passed":
            continue
        told = outcome.detail if outcome.status == "not_evaluated" else f"{outcome.status}: {outcome.detail}"  # the former says so itself
        log = context.log.error if outcome.is_blocking else context.log.warning
        log(f"{outcome.scope}: {outcome.check_id} {told}")
