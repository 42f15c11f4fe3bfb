"""What we rely on in Dagster and Dagster does not promise. A test that fails here says which part of ours to look at."""

# No `from __future__ import annotations` here: Dagster compares the annotation of a step's context as it stands.
from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest

from tests.definitions.warehouse import QUIET

DAYS = dg.StaticPartitionsDefinition(["1", "2"])
RANGE = {"dagster/asset_partition_range_start": "1", "dagster/asset_partition_range_end": "2"}


@dg.asset(partitions_def=DAYS, backfill_policy=dg.BackfillPolicy.single_run())
def table() -> None: ...


@dg.asset(partitions_def=DAYS, backfill_policy=dg.BackfillPolicy.single_run(), deps=[table])
def downstream() -> None: ...


SPECS = [dg.AssetCheckSpec(name, asset="table", blocking=True, partitions_def=DAYS) for name in ("one", "two")]


def checked(body: Any, **arguments: Any) -> dg.ExecuteInProcessResult:
    @dg.multi_asset_check(specs=SPECS, can_subset=True)
    def checks(context: dg.AssetCheckExecutionContext) -> Iterator[Any]:
        yield from body(context)

    return dg.materialize([table, downstream, checks], raise_on_error=False, run_config=QUIET, **arguments)


def materialized(result: dg.ExecuteInProcessResult) -> set[str]:
    return {event.asset_key.to_user_string() for event in result.get_asset_materialization_events() if event.asset_key}


def test_a_step_of_checks_that_gives_no_result_lets_downstream_run():
    """Why every selected check always yields: Dagster fails open where one does not."""
    result = checked(lambda context: iter([]), partition_key="1")
    assert result.success
    assert materialized(result) == {"table", "downstream"}


def test_a_step_of_checks_that_raises_blocks_even_where_its_results_passed():
    """Why an unreadable table is raised, after the results of the partitions that could be read."""

    def body(context: dg.AssetCheckExecutionContext) -> Iterator[Any]:
        yield dg.AssetCheckResult(passed=True, check_name="one")
        raise dg.Failure("unreadable")

    result = checked(body, partition_key="1")
    assert (result.success, materialized(result)) == (False, {"table"})
    assert [one.check_name for one in result.get_asset_check_evaluations()] == ["one"]


def test_a_failed_blocking_result_stops_no_later_result_of_its_step():
    """Why the results need no particular order."""

    def body(context: dg.AssetCheckExecutionContext) -> Iterator[Any]:
        yield from (dg.AssetCheckResult(passed=name == "two", check_name=name) for name in ("one", "two"))

    result = checked(body, partition_key="1")
    assert [one.check_name for one in result.get_asset_check_evaluations()] == ["one", "two"]
    assert materialized(result) == {"table"}


@pytest.mark.parametrize("passed", [True, False])
def test_an_evaluation_of_each_partition_and_an_output_tell_the_whole_story_of_a_range(passed: bool, instance: dg.DagsterInstance):
    """Why a range yields evaluations: an AssetCheckResult would be recorded once, for no partition."""

    def body(context: dg.AssetCheckExecutionContext) -> Iterator[Any]:
        for spec in SPECS:
            for key in context.partition_keys:
                ok = passed or key != "2"
                yield dg.AssetCheckEvaluation(spec.asset_key, spec.name, ok, blocking=True, partition=key)
        yield from (dg.Output(None, output_name=spec.get_python_identifier()) for spec in SPECS)

    result = checked(body, tags=RANGE, instance=instance)
    assert (result.success, materialized(result)) == (passed, {"table", "downstream"} if passed else {"table"})
    history = instance.event_log_storage.get_asset_check_execution_history(SPECS[0].key, limit=10)
    assert {record.partition: record.status.value for record in history} == {"1": "SUCCEEDED", "2": "SUCCEEDED" if passed else "FAILED"}


def test_a_result_in_a_range_is_recorded_for_no_partition(instance: dg.DagsterInstance):
    """The gap that the test above fills. Where this one fails, Dagster has closed it and plain results would do."""

    def body(context: dg.AssetCheckExecutionContext) -> Iterator[Any]:
        yield from (dg.AssetCheckResult(passed=True, check_name=spec.name) for spec in SPECS)

    checked(body, tags=RANGE, instance=instance)
    history = instance.event_log_storage.get_asset_check_execution_history(SPECS[0].key, limit=10)
    assert {record.partition: record.status.value for record in history} == {None: "SUCCEEDED", "1": "PLANNED", "2": "PLANNED"}


def test_a_configurable_io_manager_is_its_own_resource():
    """Why a check step can ask the I/O manager for a path: no wrapper stands in the resource's place."""
    seen: list[Any] = []

    class Store(dg.ConfigurableIOManager):
        base_path: str

        def handle_output(self, context: dg.OutputContext, obj: object) -> None: ...
        def load_input(self, context: dg.InputContext) -> None: ...

    @dg.asset
    def stored() -> int:
        return 1

    @dg.asset_check(asset=stored, required_resource_keys={"io_manager"})
    def look(context: dg.AssetCheckExecutionContext):
        seen.append(context.resources.io_manager)
        return dg.AssetCheckResult(passed=True)

    dg.materialize([stored, look], resources={"io_manager": Store(base_path="x")}, run_config=QUIET)
    assert [type(one) for one in seen] == [Store]


def test_tags_can_be_put_on_a_run_that_is_going_on(instance: dg.DagsterInstance):
    """Why a failed run can be searched by its failure_code."""

    def body(context: dg.AssetCheckExecutionContext) -> Iterator[Any]:
        context.instance.add_run_tags(context.run.run_id, {"dq_dagster/failure_detail": "x" * 1100})
        yield from (dg.AssetCheckResult(passed=True, check_name=spec.name) for spec in SPECS)

    result = checked(body, partition_key="1", instance=instance)
    assert instance.get_runs(dg.RunsFilter(tags={"dq_dagster/failure_detail": "x" * 1100}))[0].run_id == result.run_id


def test_a_failures_metadata_is_in_its_event():
    """Why a program finds failure_code where the step failed."""

    def body(context: dg.AssetCheckExecutionContext) -> Iterator[Any]:
        raise dg.Failure("unreadable", metadata={"failure_code": "X"})
        yield

    failure = checked(body, partition_key="1").failure_data_for_node("checks")
    assert failure is not None
    assert failure.user_failure_data is not None
    assert failure.user_failure_data.metadata["failure_code"].value == "X"
