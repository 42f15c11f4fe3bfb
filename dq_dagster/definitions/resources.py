"""What checks run on, as a resource of the deployment: DuckDB through dagster-duckdb, or Spark, and the budgets of a check step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster_duckdb import DuckDBResource
from pydantic import Field

from dq_dagster.definitions.refusals import EngineRefused
from dq_dagster.engines.base import Engine
from dq_dagster.limits import Limits

if TYPE_CHECKING:
    from dq_dagster.engines.spark import SparkEngine

IN_MEMORY = ":memory:"
_DEFAULT = Limits()


class EngineResource(dg.ConfigurableResource[Any]):
    """What the resources of all engines set: the budgets of every evaluation, and where its receipt goes."""

    scan_bytes: int = Field(default=_DEFAULT.scan_bytes, description="The most compressed bytes that one pass over the rows may read.")
    scan_seconds: float = Field(default=_DEFAULT.scan_seconds, description="The most seconds that one pass over the rows may take.")
    verify_checksums: bool = Field(default=False, description="Whether to read checked columns once more and compare page checksums.")
    key_records: bool = Field(default=True, description="Whether a key may be known from what the writers of the files stated.")
    receipts: str | None = Field(default=None, description="The folder, or the URL, that takes a receipt of every evaluation as JSON.")

    def limits(self) -> Limits:
        """The budgets that are set here."""
        return Limits(
            scan_bytes=self.scan_bytes,
            scan_seconds=self.scan_seconds,
            verify_checksums=self.verify_checksums,
            key_records=self.key_records,
        )

    @abstractmethod
    def engine(self) -> Engine:
        """What evaluates."""


class DuckDBEngineResource(EngineResource):
    """Evaluates checks on DuckDB, within the budgets that are set here for all of them.

        dg.Definitions(
            asset_checks=build_recipe_checks(asset=weather, recipe="weather.yaml", engine="dq_engine"),
            resources={"dq_engine": DuckDBEngineResource(scan_seconds=300, memory_limit="4GiB")},
        )

    `connection_config` are settings that DuckDB is opened with, `remember` is that of `evaluate`. The rest are the members of
    Limits. Every evaluation has a database of its own, in memory; it never touches one of yours.
    """

    connection_config: dict[str, Any] = Field(default={}, description="Settings that DuckDB is opened with.")
    memory_limit: str = Field(default=_DEFAULT.memory_limit, description='The most memory that DuckDB may use, such as "4GiB".')
    temp_directory: str | None = Field(default=None, description="Where the private spill folder is made; empty: nothing is spilled.")
    max_temp_bytes: int | None = Field(default=None, description="The largest size of the spill folder.")
    threads: int | None = Field(default=None, description="How many threads DuckDB uses.")

    remember: str | None = Field(
        default=None, description="The folder that keeps what was measured of each part of a table, so that new parts alone are read."
    )

    def limits(self) -> Limits:
        """The budgets that are set here."""
        return replace(
            super().limits(),
            memory_limit=self.memory_limit,
            temp_directory=self.temp_directory,
            max_temp_bytes=self.max_temp_bytes,
            threads=self.threads,
        )

    def engine(self) -> Engine:
        """DuckDB, opened through dagster-duckdb's resource."""
        return engine_on(DuckDBResource(database=IN_MEMORY, connection_config=self.connection_config))


class SparkEngineResource(EngineResource):
    """Evaluates checks on Spark, within the budgets that are set here for all of them.

        dg.Definitions(
            asset_checks=build_recipe_checks(asset=weather, recipe="weather.yaml", engine="dq_engine"),
            resources={"dq_engine": SparkEngineResource(remote="sc://spark.internal:15002")},
        )

    `remote` says where: "sc://host:15002" for Spark Connect, "spark://host:7077" for a cluster, "local[2]" for this
    machine; where it says nothing, the session that is active is used, or a local one on all cores. What Spark may use of
    memory and cores is Spark's own configuration. Needs the extra: `pip install 'dq_dagster[spark]'`.
    """

    remote: str | None = Field(default=None, description='Where Spark runs, such as "sc://host:15002" or "spark://host:7077".')
    conf: dict[str, str] = Field(default={}, description="Spark's settings, for a session that is started here.")

    def engine(self) -> Engine:
        """Spark, on the session that this resource says. Raises SparkMissing where pyspark is not installed."""
        return self._spark_engine()

    @property
    def spark_session(self) -> Any:
        """The session, for an asset to build its DataFrame with: it is named as dagster-pyspark's resource names its own."""
        return self._spark_engine().spark

    def _spark_engine(self) -> SparkEngine:
        from dq_dagster.engines.spark import SparkEngine  # pyspark is slow to import

        return SparkEngine(remote=self.remote, conf=self.conf)


# dagster-pyspark need not be installed: its PySparkResource is known by the session that it has.
EngineArgument = str | DuckDBResource | DuckDBEngineResource | SparkEngineResource | dg.ConfigurableResource[Any]
_CHOICE = "a DuckDBEngineResource, a SparkEngineResource, a DuckDBResource, a PySparkResource"


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
        if isinstance(resource, EngineResource):
            return resource.engine(), resource.limits()
        if isinstance(resource, DuckDBResource):
            return engine_on(resource), None
        if _has_session(resource):
            from dq_dagster.engines.spark import SparkEngine

            return SparkEngine(resource.spark_session), None
        raise EngineRefused(f"resource '{self.resource_key}' is a {type(resource).__name__}, and checks run on {_CHOICE}")

    def remember_of(self, resources: Any) -> str | None:
        """Where the deployment keeps what it knows of the parts of tables, if it does."""
        resource = None if self.resource_key is None else getattr(resources, self.resource_key)
        return resource.remember if isinstance(resource, DuckDBEngineResource) else None

    def receipts_of(self, resources: Any) -> str | None:
        """Where the deployment keeps receipts, if it does."""
        return None if self.resource_key is None else _receipts_of(getattr(resources, self.resource_key))


def _receipts_of(resource: object) -> str | None:
    return resource.receipts if isinstance(resource, EngineResource) else None


def _has_session(resource: object) -> bool:
    """Whether it has a Spark session, as dagster-pyspark's resources do."""
    return hasattr(type(resource), "spark_session")


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
        case dg.ConfigurableResource() if isinstance(engine, DuckDBResource | EngineResource) or _has_session(engine):
            if isinstance(engine, DuckDBResource) and not isinstance(engine.database, dg.EnvVar):  # an EnvVar is known at run time
                _refuse_stored_database(engine.database)
            return EngineBinding(f"dq_engine_of_{step}", {f"dq_engine_of_{step}": engine})
        case _:
            raise EngineRefused(f"engine is a {type(engine).__name__}; give {_CHOICE}, or the key of one")


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
