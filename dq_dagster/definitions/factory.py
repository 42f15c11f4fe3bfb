"""build_recipe_checks: a recipe bound to an asset, as Dagster asset checks that one step evaluates."""

# No `from __future__ import annotations` here: Dagster compares the annotation of a step's context as it stands.
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import dagster as dg

from dq_dagster.checks.base import Check
from dq_dagster.definitions.controls import RECIPE_DRIFT, SHAPE_DRIFT, ControlsArgument, control_spec, controls_of
from dq_dagster.definitions.layout import segment, table_path
from dq_dagster.definitions.naming import refuse_unspellable, step_name
from dq_dagster.definitions.placing import PathArgument, Placing, ReferenceArgument, path_text
from dq_dagster.definitions.refusals import AssetRefused, QuarantineNeedsGate
from dq_dagster.definitions.resources import EngineArgument, bind_engine
from dq_dagster.definitions.results import own_metadata
from dq_dagster.definitions.step import CheckStep, Reported
from dq_dagster.errors import some_of
from dq_dagster.limits import Limits
from dq_dagster.recipe import Recipe

OnNotEvaluated = Literal["continue", "block"]
AssetArgument = dg.AssetsDefinition | dg.AssetSpec | dg.AssetKey | str | Sequence[str]
_OF_CHECK = ("check_id", "kind", "enforcement", "description", "metadata")


def build_recipe_checks(
    *,
    asset: AssetArgument,
    recipe: Recipe | str | os.PathLike[str] | Mapping[str, Any],
    path: PathArgument | None = None,
    references: Mapping[str, ReferenceArgument] | None = None,
    engine: EngineArgument | None = None,
    limits: Limits | None = None,
    asset_key: dg.AssetKey | str | Sequence[str] | None = None,
    partitions_def: dg.PartitionsDefinition | None = None,
    io_manager_key: str | None = None,
    automation_condition: dg.AutomationCondition[dg.AssetCheckKey] | None = None,
    retry_policy: dg.RetryPolicy | None = None,
    op_tags: Mapping[str, Any] | None = None,
    pool: str | None = None,
    controls: ControlsArgument | None = None,
    receipts: str | os.PathLike[str] | None = None,
    on_not_evaluated: OnNotEvaluated = "continue",
) -> Sequence[dg.AssetChecksDefinition]:
    """The recipe's checks as asset checks of the asset, one for each and named by its `check_id`, evaluated by one step.

    The sequence holds one definition, which every selection of its checks can run: only what is selected is evaluated,
    in one pass. A required check that fails blocks what is downstream in the run; an advisory one warns; one that could
    not be evaluated warns and does not pass. A table that cannot be read fails the step, and with it the run.

    A partitioned asset is checked partition by partition, from that partition's files alone, in runs for one and for
    several. A run of the checks without a partition evaluates the whole table once.

    Args:
        asset: The asset: its definition, its spec, or its key. A key says nothing of partitions or I/O managers.
        recipe: The recipe, the path of its file, or the parsed document.
        path: Where the table is, if no ParquetIOManager stores the asset: a file or a folder, local or a URL. Of a
            partitioned asset it is a folder with one file a partition, named like ParquetIOManager names them, or
            a function that is called with a partition key, or None for the whole table, and gives a path.
        references: Tables that the recipe refers to, by name: paths or pyarrow Tables. One that names an asset is
            found where ParquetIOManager stores it, unless it is given here.
        engine: What evaluates: the key of a resource, or a DuckDBEngineResource, a SparkEngineResource, an in-memory
            DuckDBResource, or dagster-pyspark's PySparkResource (default: DuckDB in memory, with the default limits).
        limits: The budgets of these checks; they stand instead of the engine resource's.
        asset_key: Which asset is meant, where `asset` is a definition of several.
        partitions_def: The asset's partitions, where `asset` is a key.
        io_manager_key: The resource that stores the asset, where `asset` is a key (default: "io_manager").
        automation_condition: When Dagster shall run the checks by itself.
        retry_policy: Repeats the step when the table could not be read. A failed check is never repeated.
        op_tags: Tags of the step, for the run's executor.
        pool: The concurrency pool of the step.
        controls: Further checks that no recipe declares, "recipe_drift" and "shape_drift": names, all of them required,
            or a mapping from name to "required" or "advisory".
        receipts: The folder that takes a receipt of every evaluation (default: the engine resource's, if it has one).
        on_not_evaluated: "block" lets a required check that could not be evaluated block like one that failed.

    Raises:
        RecipeRefused: the recipe has problems.
        QuarantineNeedsGate: a check has the enforcement quarantine.
        AssetRefused: no asset can be told from the arguments, or Dagster cannot spell its key in a check's name.
        KeyRefused: no file may be named for the asset's key or one of its static partition keys.
        EngineRefused: the engine cannot serve as one.
    """
    declared = recipe if isinstance(recipe, Recipe) else loaded_recipe(recipe)
    quarantining = [check.check_id for check in declared.checks if check.enforcement == "quarantine"]
    if quarantining:
        raise QuarantineNeedsGate(recipe=declared.recipe, check_ids=quarantining)
    if not declared.checks:
        raise AssetRefused(f"recipe '{declared.recipe}' declares no check, so that nothing can be built from it")
    key = _key_of(asset, asset_key)
    partitions = _partitions_of(asset, key) or partitions_def
    name = step_name(key, declared.recipe)
    engine_binding = bind_engine(engine, step=name)
    placing = Placing(
        asset_key=key,
        path=path,
        io_manager_key=io_manager_key or _io_manager_key_of(asset, key),
        references=dict(references or {}),
        assets={
            name: dg.AssetKey.from_user_string(reference.asset)
            for name, reference in declared.references.items()
            if reference.asset is not None and name not in (references or {})
        },
    )
    refuse_unspellable(key)
    _refuse_unstorable(placing, partitions)
    forces = controls_of(controls, offered=(RECIPE_DRIFT, SHAPE_DRIFT))
    specs = check_specs(declared, key, partitions, placing.assets, automation_condition)
    specs += [control_spec(name, force, key, partitions) for name, force in forces.items()]
    step = CheckStep(
        declared,
        specs,
        partitions,
        placing,
        engine_binding,
        limits,
        retry_policy.max_retries if retry_policy else 0,
        forces,
        None if receipts is None else path_text(receipts),
        on_not_evaluated == "block",
    )

    @dg.multi_asset_check(
        name=name,
        specs=specs,
        description=declared.description or f"Checks asset {key.to_user_string()} by recipe {declared.recipe}.",
        can_subset=True,
        compute_kind="duckdb",
        op_tags=op_tags,
        required_resource_keys=placing.required_resource_keys | ({engine_binding.resource_key} if engine_binding.resource_key else set()),
        resource_defs=engine_binding.resource_defs,
        retry_policy=retry_policy,
        pool=pool,
    )
    def check_step(context: dg.AssetCheckExecutionContext) -> Iterator[Reported]:
        yield from step.run(context)

    return [check_step]


def check_specs(
    recipe: Recipe,
    asset_key: dg.AssetKey,
    partitions_def: dg.PartitionsDefinition | None,
    referenced: Mapping[str, dg.AssetKey],
    automation_condition: dg.AutomationCondition[dg.AssetCheckKey] | None,
) -> list[dg.AssetCheckSpec]:
    """The recipe's checks as Dagster shows them, in declaration order."""
    return [_spec(check, asset_key, partitions_def, list(referenced.values()), automation_condition) for check in recipe.checks]


def _spec(
    check: Check,
    asset_key: dg.AssetKey,
    partitions_def: dg.PartitionsDefinition | None,
    referenced: Sequence[dg.AssetKey],
    automation_condition: dg.AutomationCondition[dg.AssetCheckKey] | None,
) -> dg.AssetCheckSpec:
    metadata = {"kind": check.kind, "enforcement": check.enforcement}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*partitions_def.*is currently in (preview|beta)")
        return dg.AssetCheckSpec(
            name=check.check_id,
            asset=asset_key,
            description=check.description or _assertion(check),
            blocking=check.enforcement == "required",
            metadata=metadata | own_metadata(check.metadata, taken=metadata),
            additional_deps=[key for key in referenced if key != asset_key],
            automation_condition=automation_condition,
            partitions_def=partitions_def,
        )


def _assertion(check: Check) -> str:
    """What the check asserts: the first sentence of its kind's documentation, and the members that this check states."""
    sentence = (type(check).__doc__ or check.kind).strip().partition("\n\n")[0].replace("\n", " ").strip()
    stated = check.model_dump(mode="json", exclude_defaults=True, exclude=set(_OF_CHECK))
    members = ", ".join(f"{name} {', '.join(map(str, value)) if isinstance(value, list) else value}" for name, value in stated.items())
    if check.falls_back_to_grain:
        members = ", ".join(["columns of the table's grain", *([members] if members else [])])
    return f"{sentence.rstrip('.')} ({members})." if members else sentence


def loaded_recipe(recipe: str | os.PathLike[str] | Mapping[str, Any]) -> Recipe:
    """The recipe of a file or a parsed document."""
    from dq_dagster.documents import load_recipe  # the dialects' readers; a recipe built in Python needs none

    return load_recipe(recipe)


def _key_of(asset: AssetArgument, asset_key: Any) -> dg.AssetKey:
    if isinstance(asset, dg.AssetsDefinition):
        keys = sorted(asset.keys)
        if asset_key is not None:
            key = dg.AssetKey.from_coercible(asset_key)
            if key not in keys:
                raise AssetRefused(f"asset_key {key.to_user_string()!r} is none of the definition's keys: {_listed(keys)}")
            return key
        if len(keys) != 1:
            raise AssetRefused(f"asset defines {len(keys)} assets ({_listed(keys)}); say which one by asset_key=…")
        return keys[0]
    key = asset.key if isinstance(asset, dg.AssetSpec) else dg.AssetKey.from_coercible(asset)
    if asset_key is not None and dg.AssetKey.from_coercible(asset_key) != key:
        raise AssetRefused(f"asset is {key.to_user_string()!r} and asset_key is another; leave asset_key out")
    return key


def _listed(keys: Sequence[dg.AssetKey]) -> str:
    return some_of([repr(key.to_user_string()) for key in keys])


def _partitions_of(asset: AssetArgument, key: dg.AssetKey) -> dg.PartitionsDefinition | None:
    if isinstance(asset, dg.AssetsDefinition):
        return asset.specs_by_key[key].partitions_def
    return asset.partitions_def if isinstance(asset, dg.AssetSpec) else None


def _io_manager_key_of(asset: AssetArgument, key: dg.AssetKey) -> str:
    if isinstance(asset, dg.AssetsDefinition):
        return asset.get_io_manager_key_for_asset_key(key)
    stated = asset.metadata.get("dagster/io_manager_key") if isinstance(asset, dg.AssetSpec) else None
    return str(stated or "io_manager")


def _refuse_unstorable(placing: Placing, partitions_def: dg.PartitionsDefinition | None) -> None:
    """Raises KeyRefused for what can be known now: the keys of the assets, and partition keys that are spelled out."""
    for key in [*placing.assets.values(), *([placing.asset_key] if placing.path is None else [])]:
        table_path("", key.path)
    if isinstance(partitions_def, dg.StaticPartitionsDefinition) and not callable(placing.path):
        for partition in partitions_def.get_partition_keys():
            segment(partition)
