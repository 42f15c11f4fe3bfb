"""What checks run on, as a resource of the deployment: DuckDB through dagster-duckdb, and the budgets of a check step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg
from dagster_duckdb import DuckDBResource
from pydantic import Field

from dq_dagster.definitions.refusals import EngineRefused
from dq_dagster.engines.base import Engine
from dq_dagster.limits import Limits

IN_MEMORY = ":memory:"
_DEFAULT = Limits()


class DuckDBEngineResource(dg.ConfigurableResource[Any]):
    """Evaluates checks on DuckDB, within the budgets that are set here for all of them.

        dg.Definitions(
            asset_checks=build_recipe_checks(asset=weather, recipe="weather.yaml", engine="dq_engine"),
            resources={"dq_engine": DuckDBEngineResource(scan_seconds=300, memory_limit="4GiB")},
        )

    `connection_config` are settings that DuckDB is opened with, `remember` is that of `evaluate`. The rest are the members of
    Limits. Every evaluation has a database of its own, in memory; it never touches one of yours.
    """

    connection_config: dict[str, Any] = Field(default={}, description="Settings that DuckDB is opened with.")
    scan_bytes: int = Field(default=_DEFAULT.scan_bytes, description="The most compressed bytes that one pass over the rows may read.")
    scan_seconds: float = Field(default=_DEFAULT.scan_seconds, description="The most seconds that one pass over the rows may take.")
    memory_limit: str = Field(default=_DEFAULT.memory_limit, description='The most memory that DuckDB may use, such as "4GiB".')
    temp_directory: str | None = Field(default=None, description="Where the private spill folder is made; empty: nothing is spilled.")
    max_temp_bytes: int | None = Field(default=None, description="The largest size of the spill folder.")
    threads: int | None = Field(default=None, description="How many threads DuckDB uses.")
    verify_checksums: bool = Field(default=False, description="Whether to read checked columns once more and compare page checksums.")
    receipts: str | None = Field(default=None, description="The folder, or the URL, that takes a receipt of every evaluation as JSON.")

    remember: str | None = Field(
        default=None, description="The folder that keeps what was measured of each part of a table, so that new parts alone are read."
    )

    def limits(self) -> Limits:
        """The budgets that are set here."""
        return Limits(
            scan_bytes=self.scan_bytes,
            scan_seconds=self.scan_seconds,
            memory_limit=self.memory_limit,
            temp_directory=self.temp_directory,
            max_temp_bytes=self.max_temp_bytes,
            threads=self.threads,
            verify_checksums=self.verify_checksums,
        )

    def engine(self) -> Engine:
        """DuckDB, opened through dagster-duckdb's resource."""
        return engine_on(DuckDBResource(database=IN_MEMORY, connection_config=self.connection_config))


EngineArgument = str | DuckDBResource | DuckDBEngineResource


@dataclass(frozen=True, slots=True)
class EngineBinding:
    """How a check step comes by its engine: the resource it requires, under which key, and the definition it brings along."""

    resource_key: str | None
    resource_defs: Mapping[str, object]

    def of_run(self, resources: Any) -> tuple[Engine, Limits | None]:
        """The engine of this run, and the deployment's limits where the resource sets them."""
        if self.resource_key is None:
            return engine_on(DuckDBResource(database=IN_MEMORY)), None
        resource = getattr(resources, self.resource_key)
        if isinstance(resource, DuckDBEngineResource):
            return resource.engine(), resource.limits()
        if isinstance(resource, DuckDBResource):
            return engine_on(resource), None
        raise EngineRefused(
            f"resource '{self.resource_key}' is a {type(resource).__name__}, and checks run on a DuckDBEngineResource or a DuckDBResource"
        )

    def remember_of(self, resources: Any) -> str | None:
        """Where the deployment keeps what it knows of the parts of tables, if it does."""
        resource = None if self.resource_key is None else getattr(resources, self.resource_key)
        return resource.remember if isinstance(resource, DuckDBEngineResource) else None

    def receipts_of(self, resources: Any) -> str | None:
        """Where the deployment keeps receipts, if it does."""
        return None if self.resource_key is None else _receipts_of(getattr(resources, self.resource_key))


def _receipts_of(resource: object) -> str | None:
    return resource.receipts if isinstance(resource, DuckDBEngineResource) else None


def bind_engine(engine: EngineArgument | None, *, step: str) -> EngineBinding:
    """The binding of `build_recipe_checks`'s argument: nothing, the key of a resource, or a resource.

    Raises:
        EngineRefused: it is something else, or a DuckDBResource on a database that is not in memory.
    """
    match engine:
        case None:
            return EngineBinding(None, {})
        case str():
            return EngineBinding(engine, {})
        case DuckDBResource() | DuckDBEngineResource():
            if isinstance(engine, DuckDBResource) and not isinstance(engine.database, dg.EnvVar):  # an EnvVar is known at run time
                _refuse_stored_database(engine.database)
            return EngineBinding(f"dq_engine_of_{step}", {f"dq_engine_of_{step}": engine})
        case _:
            raise EngineRefused(f"engine is a {type(engine).__name__}; give a DuckDBEngineResource, a DuckDBResource or the key of one")


def engine_on(resource: DuckDBResource) -> Engine:
    """DuckDB as the engine, opened through the resource.

    Raises:
        EngineRefused: the resource's database is not in memory.
    """
    from dq_dagster.engines.duckdb import DuckDBEngine  # duckdb is slow to import

    _refuse_stored_database(resource.database)
    return DuckDBEngine(connect=resource.get_connection)


def _refuse_stored_database(database: str) -> None:
    if database != IN_MEMORY:
        raise EngineRefused(
            f"the DuckDBResource opens the database {database!r}, and checks run in one of their own: they lock the connection's "
            f"configuration, which would lock your other work on it; give DuckDBResource(database={IN_MEMORY!r}), or leave engine out"
        )
