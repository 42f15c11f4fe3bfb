"""What a gated step does: writes candidates, checks them, and publishes those of a partition together, or none of them."""

from __future__ import annotations

import datetime as dt
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import dagster as dg
import pyarrow as pa

from dq_dagster.definitions.asset_metadata import DIGEST_KEY, SCHEMA_KEY, keys_of, recipe_asset_metadata, stored_schema
from dq_dagster.definitions.candidates import Written, WrittenBySpark, write_candidate
from dq_dagster.definitions.controls import REPLAY, SHAPE_DRIFT, Content, Force, digesting, replayed, shape_drift
from dq_dagster.definitions.placing import Placing
from dq_dagster.definitions.publishing import Candidates, LocalGate
from dq_dagster.definitions.receipts import write_receipt
from dq_dagster.definitions.refusals import StoredOtherwise, ValueRefused
from dq_dagster.definitions.remote_publishing import RemoteCandidates, RemoteGate
from dq_dagster.definitions.resources import EngineBinding
from dq_dagster.definitions.results import check_evaluation, check_result, facts_of
from dq_dagster.definitions.step import failure_told, log_outcomes, tag_run
from dq_dagster.errors import CheckRunError, RecipeRefused, some_of
from dq_dagster.files import locate
from dq_dagster.frames import FrameUnseen
from dq_dagster.limits import Limits
from dq_dagster.outcomes import Evaluation, Failure, Outcome, blocking_failure
from dq_dagster.recipe import Recipe

Reported = dg.AssetCheckResult | dg.AssetCheckEvaluation | dg.AssetMaterialization | dg.MaterializeResult[Any] | dg.Output[None]
Gate = LocalGate | RemoteGate


@dataclass(frozen=True, slots=True)
class BoundTable:
    """One table of a gate: its name among them, its recipe and assets, and the specs of its checks and controls."""

    name: str
    recipe: Recipe
    key: dg.AssetKey
    quarantine_key: dg.AssetKey | None
    specs: Sequence[dg.AssetCheckSpec]
    controls: Mapping[str, Force]
    placing: Placing

    @property
    def keys(self) -> list[dg.AssetKey]:
        """The assets that are made of it: itself, and its quarantine."""
        return [self.key] if self.quarantine_key is None else [self.key, self.quarantine_key]


@dataclass(slots=True)
class Audited:
    """A candidate and what was found: the files to publish by asset key, the outcomes, and why nothing may be published."""

    table: BoundTable
    candidate: str
    evaluation: Evaluation | None = None
    files: dict[dg.AssetKey, str] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    failure: Failure | None = None
    rows: dict[dg.AssetKey, int] = field(default_factory=dict)
    schemas: dict[dg.AssetKey, pa.Schema] = field(default_factory=dict)
    kept: str | None = None


@dataclass(frozen=True, slots=True)
class GateStep:
    """All that a gated step needs to know. `produce` takes the step's context and inputs, and gives the tables."""

    tables: Sequence[BoundTable]
    produce: Callable[..., object]
    partitions_def: dg.PartitionsDefinition | None
    engine: EngineBinding
    limits: Limits | None
    receipts: str | None
    blocks_not_evaluated: bool
    keeps_rejected: bool

    def run(self, context: dg.AssetExecutionContext, inputs: Mapping[str, Any]) -> Iterator[Reported]:
        """Yields every outcome, then the materialization of each table that was published.

        Raises:
            dg.Failure: something was not published, with the first reason why.
        """
        now = dt.datetime.now(dt.timezone.utc)
        several = self._partitions_of_range(context)
        partitions = several or [context.partition_key if self.partitions_def is not None and context.has_partition_key else None]
        values = self._values_of(self.produce(context, inputs), partitions, is_range=bool(several))
        failure: Failure | None = None
        published: dict[str | None, dict[dg.AssetKey, dict[str, Any]]] = {}
        store = self.tables[0].placing.store(context.resources)
        gate = open_gate([store.path_for(key) for table in self.tables for key in table.keys])
        try:
            with ExitStack() as cleanup:
                candidates = _entered(gate, cleanup)
                for partition in partitions:
                    audited = [
                        self._audited(table, values[table.name, partition], partition, candidates, context, now) for table in self.tables
                    ]
                    paths = {key: store.path_for(key, partition) for table in self.tables for key in table.keys}
                    stopped = next((one.failure for one in audited if one.failure is not None), None)
                    if stopped is not None and self.keeps_rejected:
                        for one in audited:
                            one.kept = gate.keep(one.candidate, paths[one.table.key])
                    for one in audited:
                        self._keep_receipt(one, partition, context, is_published=stopped is None)
                    for one in audited:
                        yield from self._reported(one, partition if several else None, context)
                    if stopped is None:
                        moves = {file: paths[key] for one in audited for key, file in one.files.items()}
                        published[partition] = self._described(audited, paths, candidates, is_partition=partition is not None)
                        stopped = _published(gate, moves)
                    if stopped is not None:
                        published.pop(partition, None)
                        failure = failure or stopped
        except _Unwritable as error:
            failure = error.failure
        except FrameUnseen as error:
            failure = Failure("PUBLISH_FAILED", "write", str(error))
        except Exception:  # the function's own error, which its retry policy is about; what was published before it is told
            yield from _recorded(published)
            raise
        if failure is None:
            yield from self._materialized(published, several, context)
            return
        yield from _recorded(published)
        tag_run(context, failure)
        raise dg.Failure(f"{failure.failure_code}: {failure.failure_detail}", metadata=dict(facts_of(failure)), allow_retries=False)

    def _partitions_of_range(self, context: dg.AssetExecutionContext) -> list[str]:
        is_range = self.partitions_def is not None and not context.has_partition_key and context.has_partition_key_range
        return list(context.partition_keys) if is_range else []

    def _values_of(self, value: object, partitions: Sequence[str | None], *, is_range: bool) -> dict[tuple[str, str | None], object]:
        """What the function gave, by table and partition.

        Raises:
            ValueRefused: it gave something else than the tables and partitions of this step.
        """
        names = [table.name for table in self.tables]
        by_table = {names[0]: value} if len(names) == 1 else _by_name(value, names, what="a table for each output of the gate")
        if not is_range:
            return {(name, partitions[0]): by_table[name] for name in names}
        found: dict[tuple[str, str | None], object] = {}
        for name in names:
            keys = [str(partition) for partition in partitions]
            by_partition = _by_name(by_table[name], keys, what="a table for each partition of the run")
            found |= {(name, key): by_partition[key] for key in keys}
        return found

    def _audited(
        self,
        table: BoundTable,
        value: object,
        partition: str | None,
        candidates: Candidates | RemoteCandidates,
        context: dg.AssetExecutionContext,
        now: dt.datetime,
    ) -> Audited:
        """Writes the candidate, re-opens it and judges it, in one pass over its rows."""
        scope = table.recipe.table.name if partition is None else f"{table.recipe.table.name}[{partition}]"
        file = secrets.token_hex(6)
        audited = Audited(table, candidates.path(f"{file}.parquet"))
        with digesting() as connection:
            keys, digests = keys_of(table.recipe), REPLAY in table.controls
            written = write_candidate(value, audited.candidate, candidates, connection, keys=keys, digests=digests)
            try:
                self._judge(audited, written, file, scope, candidates, context, now)
                self._control(audited, written, scope)
            except (CheckRunError, RecipeRefused) as error:
                audited.failure = audited.failure or failure_told(error)
                context.log.error(f"{scope}: {audited.failure.failure_code}: {audited.failure.failure_detail}")
        return audited

    def _keep_receipt(self, audited: Audited, partition: str | None, context: dg.AssetExecutionContext, *, is_published: bool) -> None:
        """Writes down what was found of a candidate, and whether the gate lets it through with all that go with it."""
        folder = self.receipts or self.engine.receipts_of(context.resources)
        if folder is None or audited.evaluation is None:
            return
        about = {"run_id": context.run.run_id, "asset": audited.table.key.to_user_string(), "partition": partition}
        about["gate"] = "passed" if is_published else "rejected"
        write_receipt(folder, audited.evaluation, outcomes=audited.outcomes, about=about)

    def _judge(
        self,
        audited: Audited,
        written: Written,
        file: str,
        scope: str,
        candidates: Candidates | RemoteCandidates,
        context: dg.AssetExecutionContext,
        now: dt.datetime,
    ) -> None:
        from dq_dagster.key_recording import record_keys
        from dq_dagster.run import evaluate, split  # brings the SQL builder along, which definitions load without

        table = audited.table
        engine, limits = self.engine.of_run(context.resources)
        references = table.placing.references_of(context.resources)
        own = replace(self.limits or limits or Limits(), key_records=False)  # what the candidate states of itself is not proven yet
        same: dict[str, Any] = {"engine": engine, "references": references, "limits": own, "now": now, "scope": scope}
        audited.files = {table.key: audited.candidate}
        if table.quarantine_key is None:
            evaluation = evaluate(table.recipe, written.source, **same)
            if isinstance(written, WrittenBySpark) and evaluation.failure is None:
                record_keys(audited.candidate, keys_of(table.recipe))
        else:
            files = {
                table.key: candidates.path(f"{file}-valid.parquet"),
                table.quarantine_key: candidates.path(f"{file}-quarantine.parquet"),
            }
            with candidates.local(files[table.key]) as valid, candidates.local(files[table.quarantine_key]) as quarantine:
                evaluation = split(table.recipe, written.source, valid=valid, quarantine=quarantine, **same)
                if evaluation.failure is None:
                    record_keys(valid, keys_of(table.recipe))
            if evaluation.failure is None:
                audited.files = files
        audited.evaluation = evaluation
        audited.outcomes = list(evaluation.outcomes)
        audited.failure = evaluation.failure or blocking_failure(evaluation.outcomes, fails_closed=self.blocks_not_evaluated)

    def _control(self, audited: Audited, written: Written, scope: str) -> None:
        """Reads back what would be published, and compares it with what was built."""
        from dq_dagster.rows import FAILED_CHECKS
        from dq_dagster.stored_rows import schema_of
        from dq_dagster.tables import open_table

        controls = audited.table.controls
        total = Content(0, 0)
        for key, file in audited.files.items():
            stored = open_table(file)
            schema = schema_of(stored)
            audited.rows[key], audited.schemas[key] = stored.rows, schema
            if REPLAY in controls:
                own = [name for name in schema.names if name != FAILED_CHECKS or key == audited.table.key]
                total += written.read_back(file, stored, None if len(own) == len(schema) else own)
        if REPLAY in controls:
            audited.outcomes.append(replayed(written.built, total, force=controls[REPLAY], scope=scope))
        if SHAPE_DRIFT in controls:
            schema = audited.schemas[audited.table.key]
            audited.outcomes.append(
                shape_drift(audited.table.recipe, schema, force=controls[SHAPE_DRIFT], scope=scope, rows=sum(audited.rows.values()))
            )
        audited.failure = audited.failure or blocking_failure(audited.outcomes, fails_closed=self.blocks_not_evaluated)

    def _reported(self, audited: Audited, partition: str | None, context: dg.AssetExecutionContext) -> Iterator[Reported]:
        if audited.evaluation is None:  # it could not be evaluated at all: the step fails, and Dagster shows its checks as not executed
            return
        outcomes = {outcome.check_id.lower(): outcome for outcome in audited.outcomes}
        target: dg.EventLogRecord | None = None
        if partition is not None:
            wanted = dg.AssetRecordsFilter(asset_key=audited.table.key, asset_partitions=[partition])
            found = context.instance.fetch_materializations(wanted, limit=1).records
            target = found[0] if found else None
        extra = {"rejected_candidate": dg.MetadataValue.path(audited.kept)} if audited.kept else {}
        # A control that could not be carried out has no outcome, and the step fails for it.
        judged = [(spec, outcomes[spec.name]) for spec in audited.table.specs if spec.name in outcomes]
        log_outcomes(context, [outcome for _, outcome in judged])
        receipt = audited.evaluation.receipt
        for spec, outcome in judged:
            more: dict[str, Any] = {"fails_closed": self.blocks_not_evaluated, "extra": extra}
            if partition is None:
                yield check_result(outcome, receipt, spec, **more)
            else:
                yield check_evaluation(outcome, receipt, spec, partition=partition, target=target, **more)

    def _described(
        self, audited: Sequence[Audited], paths: Mapping[dg.AssetKey, str], candidates: Candidates | RemoteCandidates, *, is_partition: bool
    ) -> dict[dg.AssetKey, dict[str, Any]]:
        """The metadata of what is about to be published, by asset."""
        described: dict[dg.AssetKey, dict[str, Any]] = {}
        for one in audited:
            declared = recipe_asset_metadata(one.table.recipe).get(SCHEMA_KEY)
            for key, file in one.files.items():
                described[key] = {
                    "path": dg.MetadataValue.path(paths[key]),
                    "size_bytes": candidates.size(file),
                    "dagster/partition_row_count" if is_partition else "dagster/row_count": one.rows[key],
                    SCHEMA_KEY: stored_schema(one.schemas[key], declared),
                    DIGEST_KEY: one.table.recipe.digest,
                }
            if one.table.quarantine_key is not None:
                described[one.table.key]["quarantined_rows"] = one.rows[one.table.quarantine_key]
        return described

    def _materialized(
        self,
        published: Mapping[str | None, Mapping[dg.AssetKey, Mapping[str, Any]]],
        several: Sequence[str],
        context: dg.AssetExecutionContext,
    ) -> Iterator[Reported]:
        if not several:
            (described,) = published.values()
            yield from (dg.MaterializeResult(asset_key=key, metadata=told) for key, told in described.items())
            return
        for partition, described in published.items():
            for key, told in described.items():
                context.add_asset_metadata(told, asset_key=key, partition_key=partition)
        yield from (dg.MaterializeResult(asset_key=key) for table in self.tables for key in table.keys)
        # An evaluation alone does not tell Dagster that its check has run; a result would, for one partition only.
        yield from (dg.Output(None, output_name=spec.get_python_identifier()) for table in self.tables for spec in table.specs)


def _recorded(published: Mapping[str | None, Mapping[dg.AssetKey, Mapping[str, Any]]]) -> Iterator[dg.AssetMaterialization]:
    """The partitions that were published, of a step that fails for others."""
    for partition, described in published.items():
        yield from (dg.AssetMaterialization(key, partition=partition, metadata=told) for key, told in described.items())


class _Unwritable(Exception):
    """No candidate can be made."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.failure_detail)


def open_gate(tables: Sequence[str]) -> Gate:
    """The hidden folder of the gate that publishes to these paths."""
    return LocalGate(tables) if locate(tables[0]).filesystem is None else RemoteGate(tables)


def _entered(gate: Gate, cleanup: ExitStack) -> Candidates | RemoteCandidates:
    """The gate's candidates; what keeps them from being made becomes the step's failure."""
    try:
        return cleanup.enter_context(gate.candidates())
    except OSError as error:
        raise _Unwritable(_unwritten("write", str(gate.home), error)) from error


def _published(gate: Gate, moves: Mapping[str, str]) -> Failure | None:
    try:
        gate.publish(moves)
    except (OSError, StoredOtherwise) as error:
        return _unwritten("publish", next(iter(moves.values())), error)
    return None


def _unwritten(stage: str, place: str, error: OSError | StoredOtherwise) -> Failure:
    if isinstance(error, StoredOtherwise):
        return Failure("PUBLISH_FAILED", stage, str(error))
    reason = f"{type(error).__name__}: {os.strerror(error.errno)}" if error.errno else type(error).__name__
    return Failure("PUBLISH_FAILED", stage, f"{place} could not be written ({reason}); what was published before is still there")


def _by_name(value: object, names: Sequence[str], *, what: str) -> Mapping[str, object]:
    told = some_of([repr(name) for name in names])
    if not isinstance(value, Mapping):
        raise ValueRefused(f"a gated asset gave one {type(value).__name__}, and this step wants {what}; return a dict with the keys {told}")
    given: dict[str, object] = {str(key): table for key, table in value.items()}
    if given.keys() != set(names):
        odd = sorted(given.keys() ^ set(names))
        raise ValueRefused(f"a gated asset gave a dict that lacks or adds {', '.join(map(repr, odd[:5]))}; give {what}: {told}")
    return given
