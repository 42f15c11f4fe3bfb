"""gated_asset: an asset whose table is written aside, checked by its recipe, and published only if no required check failed."""

# No `from __future__ import annotations` here: Dagster compares the annotation of a step's context as it stands.
import inspect
import os
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from dq_dagster.definitions.asset_metadata import DIGEST_KEY, recipe_asset_metadata
from dq_dagster.definitions.controls import REPLAY, SHAPE_DRIFT, ControlsArgument, Force, control_spec, controls_of
from dq_dagster.definitions.factory import OnNotEvaluated, check_specs, loaded_recipe
from dq_dagster.definitions.gating import BoundTable, GateStep, Reported
from dq_dagster.definitions.layout import segment, table_path
from dq_dagster.definitions.naming import refuse_unspellable
from dq_dagster.definitions.placing import Placing, ReferenceArgument, path_text
from dq_dagster.definitions.refusals import AssetRefused
from dq_dagster.definitions.resources import EngineArgument, bind_engine
from dq_dagster.definitions.store import ParquetIOManager
from dq_dagster.limits import Limits
from dq_dagster.recipe import Recipe

RecipeArgument = Recipe | str | os.PathLike[str] | Mapping[str, Any]
Produce = Callable[..., Any]
_CONTEXTS = ("context", "_context", "_", "__")
_CONTEXT = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=dg.AssetExecutionContext)


@dataclass(frozen=True, slots=True)
class GatedTable:
    """One output of `gated_multi_asset`: its recipe, and what Dagster shall know of the asset."""

    recipe: RecipeArgument
    key: dg.AssetKey | str | Sequence[str] | None = None
    description: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    controls: ControlsArgument | None = None
    references: Mapping[str, ReferenceArgument] = field(default_factory=dict[str, ReferenceArgument])
    tags: Mapping[str, str] | None = None
    owners: Sequence[str] | None = None


def gated_asset(
    *,
    recipe: RecipeArgument,
    name: str | None = None,
    key: dg.AssetKey | str | Sequence[str] | None = None,
    description: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    controls: ControlsArgument | None = None,
    references: Mapping[str, ReferenceArgument] | None = None,
    tags: Mapping[str, str] | None = None,
    owners: Sequence[str] | None = None,
    **same: Any,
) -> Callable[[Produce], dg.AssetsDefinition]:
    """An asset that is published only if no required check of its recipe failed: a decorator in the place of `@dg.asset`.

        @gated_asset(recipe="orders.yaml")
        def orders() -> pa.Table: ...

    The function returns or yields the table, in anything that ParquetIOManager stores; what comes in batches is streamed.
    The table is written aside, read back, checked in one pass and published in one step. Otherwise nothing is published:
    the outcomes are recorded, the step fails with CHECK_FAILED, nothing downstream runs in this run, and what was
    published before stays. Rows that break a `quarantine` check leave for the asset that the recipe's `quarantine.to`
    names, which is published together with the rest of them, or not at all.

    In a run for several partitions the function returns a dict from partition key to table, and each partition has a gate
    of its own: those that pass are published, the run fails for the others.

    Args:
        recipe: The recipe, the path of its file, or the parsed document.
        name: The asset's name (default: the function's).
        key: The asset's whole key, where a name does not say it.
        description: Prose for the asset's page (default: the function's docstring, else the recipe's description).
        metadata: Further metadata of the asset; the recipe's columns and digest are there by themselves.
        controls: "_replay_equivalence" (required unless you say "advisory") and "shape_drift": names, or a mapping from
            name to "required" or "advisory".
        references: Tables that the recipe refers to, by name.
        tags: The asset's tags.
        owners: The asset's owners.
        **same: What `gated_multi_asset` takes besides `outputs` and `name`.

    Raises what `gated_multi_asset` raises.
    """
    if name is not None and key is not None:
        raise AssetRefused("gated_asset was given both name and key; give one of them")

    def decorate(function: Produce) -> dg.AssetsDefinition:
        own = dg.AssetKey.from_coercible(key if key is not None else name or function.__name__)
        told = description or inspect.getdoc(function)
        table = GatedTable(recipe, own, told, metadata or {}, controls, references or {}, tags, owners)
        return _defined(function, {own.path[-1]: table}, name=own.to_python_identifier(), **same)

    return decorate


def gated_multi_asset(
    *, outputs: Mapping[str, GatedTable | RecipeArgument], name: str | None = None, **same: Any
) -> Callable[[Produce], dg.AssetsDefinition]:
    """Several assets of one step, each with a recipe of its own: one required check that fails publishes none of them.

        @gated_multi_asset(outputs={"orders": "orders.yaml", "items": GatedTable("items.yaml", key=["shop", "items"])})
        def shop() -> dict[str, pa.Table]: ...

    The function returns a dict from output name to table (in a run for several partitions: to a dict from partition key to
    table). All outputs and their quarantines are published in one step.

    Args:
        outputs: The outputs by name: recipes, or GatedTables. An output's asset key is its name, unless it says another.
        name: The step's name (default: the function's).
        **same: `partitions_def`, `ins`, `deps`, `group_name`, `retry_policy`, `backfill_policy`, `op_tags`, `pool`,
            `automation_condition`, `resource_defs` and `required_resource_keys` mean what they mean to `@dg.multi_asset`;
            `engine`, `limits`, `receipts` and `on_not_evaluated` what they mean to `build_recipe_checks`.
            `io_manager_key`: the ParquetIOManager that says where the tables are published (default: "io_manager");
            `base_path`: a folder or URL instead of it. `keep_rejected`: whether the last rejected candidate of each table is
            kept under a hidden path, which the checks' metadata names.

    Raises:
        RecipeRefused: a recipe has problems.
        AssetRefused: two outputs share an asset or a quarantine, or Dagster cannot spell a key in a check's name.
        KeyRefused: no file may be named for a key or a static partition key.
        EngineRefused: the engine cannot serve as one.
    """
    if not outputs:
        raise AssetRefused("gated_multi_asset was given no outputs; name at least one")
    tables = {output: table if isinstance(table, GatedTable) else GatedTable(table) for output, table in outputs.items()}

    def decorate(function: Produce) -> dg.AssetsDefinition:
        return _defined(function, tables, name=name or function.__name__, **same)

    return decorate


def _defined(
    function: Produce,
    tables: Mapping[str, GatedTable],
    *,
    name: str,
    partitions_def: dg.PartitionsDefinition | None = None,
    ins: Mapping[str, dg.AssetIn] | None = None,
    deps: Sequence[Any] | None = None,
    group_name: str | None = None,
    io_manager_key: str | None = None,
    base_path: str | os.PathLike[str] | None = None,
    engine: EngineArgument | None = None,
    limits: Limits | None = None,
    receipts: str | os.PathLike[str] | None = None,
    on_not_evaluated: OnNotEvaluated = "continue",
    keep_rejected: bool = False,
    automation_condition: dg.AutomationCondition[dg.AssetKey] | None = None,
    retry_policy: dg.RetryPolicy | None = None,
    backfill_policy: dg.BackfillPolicy | None = None,
    op_tags: Mapping[str, Any] | None = None,
    pool: str | None = None,
    resource_defs: Mapping[str, object] | None = None,
    required_resource_keys: set[str] | None = None,
) -> dg.AssetsDefinition:
    if io_manager_key is not None and base_path is not None:
        raise AssetRefused("a gate was given both io_manager_key and base_path; give one of them")
    engine_binding = bind_engine(engine, step=name)
    store_key = io_manager_key or (f"dq_store_of_{name}" if base_path is not None else "io_manager")
    own_resources = dict(engine_binding.resource_defs)
    if base_path is not None:
        own_resources[store_key] = ParquetIOManager(base_path=path_text(base_path))
    bound = [_bound(output, table, partitions_def, store_key) for output, table in tables.items()]
    _refuse_shared(bound)
    _refuse_unstorable(bound, partitions_def)
    step = GateStep(
        bound,
        _with_inputs(function),
        partitions_def,
        engine_binding,
        limits,
        None if receipts is None else path_text(receipts),
        on_not_evaluated == "block",
        keep_rejected,
    )
    required = {store_key, *(required_resource_keys or ()), *({engine_binding.resource_key} if engine_binding.resource_key else ())}
    compute = _compute(function, step, required)
    upstream = _upstream(compute, ins, deps, bound)
    specs = [
        spec
        for one, table in zip(bound, tables.values(), strict=True)
        for spec in _asset_specs(one, table, upstream, store_key, {"group_name": group_name, "automation_condition": automation_condition})
    ]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*resource_defs.*is currently in (preview|beta)")
        return dg.multi_asset(
            name=name,
            specs=specs,
            check_specs=[spec for one in bound for spec in one.specs],
            ins=ins,
            partitions_def=partitions_def,
            retry_policy=retry_policy,
            backfill_policy=backfill_policy,
            op_tags=op_tags,
            pool=pool,
            resource_defs={**(resource_defs or {}), **own_resources},
        )(compute)


def _bound(output: str, table: GatedTable, partitions_def: dg.PartitionsDefinition | None, store_key: str) -> BoundTable:
    recipe = table.recipe if isinstance(table.recipe, Recipe) else loaded_recipe(table.recipe)
    key = dg.AssetKey.from_coercible(table.key if table.key is not None else output)
    refuse_unspellable(key)
    quarantines = any(check.enforcement == "quarantine" for check in recipe.checks)
    quarantine_key = _quarantine_key(recipe, key) if quarantines else None
    assets = {
        name: dg.AssetKey.from_user_string(reference.asset)
        for name, reference in recipe.references.items()
        if reference.asset is not None and name not in table.references
    }
    placing = Placing(key, None, store_key, table.references, assets)
    always: dict[str, Force] = {REPLAY: "required"}
    forces = controls_of(table.controls, offered=(REPLAY, SHAPE_DRIFT), always=always)
    specs = check_specs(recipe, key, partitions_def, {name: asset for name, asset in assets.items() if asset != key}, None)
    specs += [control_spec(name, force, key, partitions_def) for name, force in forces.items()]
    return BoundTable(output, recipe, key, quarantine_key, specs, forces, placing)


def _quarantine_key(recipe: Recipe, key: dg.AssetKey) -> dg.AssetKey:
    """The asset that takes the quarantined rows: beside the table where the recipe gives a bare name, else the key it spells."""
    assert recipe.quarantine is not None, "registration refuses quarantine checks without one"
    named = dg.AssetKey.from_user_string(recipe.quarantine.to)
    return named if len(named.path) > 1 else dg.AssetKey([*key.path[:-1], *named.path])


def _refuse_shared(bound: Sequence[BoundTable]) -> None:
    seen: dict[dg.AssetKey, str] = {}
    for table in bound:
        for key, what in zip(table.keys, (f"output '{table.name}'", f"the quarantine of output '{table.name}'"), strict=False):
            if key in seen:
                raise AssetRefused(f"asset {key.to_user_string()} is both {seen[key]} and {what}; give each a key of its own")
            seen[key] = what


def _refuse_unstorable(bound: Sequence[BoundTable], partitions_def: dg.PartitionsDefinition | None) -> None:
    """Raises KeyRefused for what can be known now: the keys of the assets, and partition keys that are spelled out."""
    for key in (key for table in bound for key in table.keys):
        table_path("", key.path)
    if isinstance(partitions_def, dg.StaticPartitionsDefinition):
        for partition in partitions_def.get_partition_keys():
            segment(partition)


def _parameters(function: Produce) -> tuple[bool, list[inspect.Parameter]]:
    """Whether the function asks for the context, and its other parameters, with types where they can be told."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError:  # a name that only a type checker sees; Dagster would not know it either
        hints = {}
    given = [one.replace(annotation=hints.get(one.name, one.annotation)) for one in inspect.signature(function).parameters.values()]
    takes_context = bool(given) and given[0].name in _CONTEXTS
    return takes_context, given[1:] if takes_context else given


def _with_inputs(function: Produce) -> Produce:
    takes_context, _ = _parameters(function)

    def produce(context: Any, inputs: Mapping[str, Any]) -> Any:
        return function(context, **inputs) if takes_context else function(**inputs)

    return produce


def _compute(function: Produce, step: GateStep, required: set[str]) -> Produce:
    """The step's body with the function's own parameters, and one more for each resource: Dagster takes no mixture of both spellings."""
    _, parameters = _parameters(function)
    own = {parameter.name for parameter in parameters}

    def compute(context: dg.AssetExecutionContext, **given: Any) -> Iterator[Reported]:
        yield from step.run(context, {name: value for name, value in given.items() if name in own})

    resources = [
        inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=dg.ResourceParam[Any]) for key in sorted(required - own)
    ]
    every = [
        _CONTEXT,
        *(parameter.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD, default=inspect.Parameter.empty) for parameter in parameters),
        *resources,
    ]
    compute.__name__ = function.__name__
    compute.__doc__ = function.__doc__
    compute.__annotations__ = {one.name: one.annotation for one in every if one.annotation is not inspect.Parameter.empty}
    setattr(compute, "__signature__", inspect.Signature(every))  # noqa: B010 - no function declares this attribute to a type checker
    return compute


def _upstream(
    compute: Produce, ins: Mapping[str, dg.AssetIn] | None, deps: Sequence[Any] | None, bound: Sequence[BoundTable]
) -> list[dg.AssetDep]:
    """What the step depends on: told by Dagster itself, which knows how parameters name assets. References that are assets too."""
    (spec,) = dg.asset(key=bound[0].key, ins=ins, deps=deps)(compute).specs
    found = {dep.asset_key: dep for dep in spec.deps}
    own = {key for table in bound for key in table.keys}
    for table in bound:
        for key in table.placing.assets.values():
            if key not in own:
                found.setdefault(key, dg.AssetDep(key))
    return list(found.values())


def _asset_specs(
    bound: BoundTable, table: GatedTable, upstream: Sequence[dg.AssetDep], store_key: str, same: Mapping[str, Any]
) -> Iterator[dg.AssetSpec]:
    # The names are Dagster's own: which I/O manager loads the asset downstream, and that it stores nothing itself.
    stored: dict[str, Any] = {"dagster/io_manager_key": store_key, "dagster/dagster_type": dg.Nothing}
    about: dict[str, Any] = {**same, "skippable": True, "code_version": bound.recipe.digest, "tags": table.tags, "owners": table.owners}
    yield dg.AssetSpec(
        bound.key,
        deps=upstream,
        description=table.description or bound.recipe.description,
        metadata={**table.metadata, **recipe_asset_metadata(bound.recipe), **stored},
        **about,
    )
    if bound.quarantine_key is not None:
        yield dg.AssetSpec(
            bound.quarantine_key,
            deps=[dg.AssetDep(bound.key), *(dep for dep in upstream if dep.asset_key != bound.key)],
            description=f"The rows of {bound.key.to_user_string()} that break a quarantine check; _dq_failed_checks says which.",
            metadata={DIGEST_KEY: bound.recipe.digest, "dq_dagster/recipe": bound.recipe.recipe, **stored},
            **about,
        )
