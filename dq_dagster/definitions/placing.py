"""Where the table under a check is, and where the tables are that its recipe refers to."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg
import pyarrow as pa

from dq_dagster.definitions.layout import partition_path
from dq_dagster.definitions.refusals import KeyRefused, PlaceUnknown
from dq_dagster.definitions.store import ParquetIOManager
from dq_dagster.errors import TableUnreadable

Path = str | os.PathLike[str]
PathArgument = Path | Callable[[str | None], Path]
ReferenceArgument = Path | pa.Table


def path_text(path: Any) -> str:
    """A path as text; a remote universal_pathlib path has no file-system spelling, and says its URL as text."""
    return os.fspath(path) if hasattr(path, "__fspath__") else str(path)


@dataclass(frozen=True, slots=True)
class Placing:
    """Finds the files of an asset: at the path that was given, or where the I/O manager under `io_manager_key` stores it.

    `references` are given by name, and `assets` are the recipe's references that name an asset and were not given.
    """

    asset_key: dg.AssetKey
    path: PathArgument | None
    io_manager_key: str
    references: Mapping[str, ReferenceArgument]
    assets: Mapping[str, dg.AssetKey]

    @property
    def required_resource_keys(self) -> set[str]:
        """The I/O manager's key, where it is asked."""
        return {self.io_manager_key} if self.path is None or self.assets else set()

    def table_of(self, partition: str | None, resources: Any) -> str:
        """Where one partition of the table is; None asks for the whole table.

        Raises:
            TableUnreadable: nothing says where it is, or the partition's key names no file.
        """
        try:
            if self.path is None:
                return self.store(resources, argument="path=…").path_for(self.asset_key, partition)
            if callable(self.path):
                return path_text(self.path(partition))
            return path_text(self.path) if partition is None else partition_path(path_text(self.path), partition)
        except KeyRefused as error:
            raise TableUnreadable(f"asset {self.asset_key.to_user_string()}", str(error)) from error

    def references_of(self, resources: Any) -> dict[str, ReferenceArgument]:
        """The tables that the recipe refers to, by name; those it gives the path of itself are left to it.

        Raises:
            TableUnreadable: nothing says where a referenced asset is.
        """
        given = {name: table if isinstance(table, pa.Table) else path_text(table) for name, table in self.references.items()}
        if not self.assets:
            return given
        store = self.store(resources, argument="references={…}")
        return {**given, **{name: store.path_for(key) for name, key in self.assets.items()}}

    def store(self, resources: Any, *, argument: str = "io_manager_key=…") -> ParquetIOManager:
        """The I/O manager that stores the asset.

        Raises:
            PlaceUnknown: it is none of ours, and does not say where.
        """
        store = getattr(resources, self.io_manager_key)
        if not isinstance(store, ParquetIOManager):
            asset = self.asset_key.to_user_string()
            raise PlaceUnknown(asset=asset, resource_key=self.io_manager_key, stored_by=type(store).__name__, argument=argument)
        return store
