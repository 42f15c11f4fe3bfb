"""What cannot be put before Dagster or into the store, and why."""

from __future__ import annotations

from collections.abc import Sequence

from dq_dagster.errors import DqDagsterError, TableUnreadable, some_of


class AssetRefused(DqDagsterError):
    """An asset to which checks cannot be bound."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)


class QuarantineNeedsGate(DqDagsterError):
    """A recipe with quarantine checks, bound to an asset that is checked only after it is stored."""

    def __init__(self, *, recipe: str, check_ids: Sequence[str]) -> None:
        self.recipe = recipe
        self.check_ids = tuple(check_ids)
        super().__init__(
            f"recipe '{recipe}' has checks with enforcement quarantine ({some_of(check_ids)}), and build_recipe_checks checks what is "
            "already stored: rows can leave a table only before it is published, so build the asset with a gate, or make these checks "
            "required or advisory"
        )


class EngineRefused(DqDagsterError):
    """Something that was given as an engine and cannot serve as one."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)


class KeyRefused(DqDagsterError):
    """A partition key, or a part of an asset key, that no file may be named for."""

    def __init__(self, *, kind: str, key: str, what: str) -> None:
        self.kind = kind
        self.key = key
        super().__init__(f"{kind} {key!r} {what}; no file is named for it, so choose another key")


class ValueRefused(DqDagsterError):
    """A value that cannot be stored as a Parquet table."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)


class StoredOtherwise(DqDagsterError):
    """A table is in the way: it was stored with partitions and shall be stored without, or the other way round."""

    def __init__(self, *, path: str, stored: str, wanted: str) -> None:
        self.path = path
        super().__init__(
            f"{path} is {stored}, and {wanted} is to be written: the asset was partitioned otherwise when it was last stored; "
            "move what is stored out of the way, and materialize the asset again"
        )


class NotStored(DqDagsterError, FileNotFoundError):
    """Nothing is stored where an asset, or one of its partitions, should be."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"nothing is stored at {path}; materialize it first")


class PlaceUnknown(TableUnreadable):
    """A table whose files cannot be found, for its I/O manager does not say where they are."""

    def __init__(self, *, asset: str, resource_key: str, stored_by: str, argument: str) -> None:
        self.resource_key = resource_key
        self.stored_by = stored_by
        super().__init__(
            f"asset {asset}",
            f"is stored by {stored_by} (resource '{resource_key}'), which does not say where; store it with ParquetIOManager, "
            f"or give build_recipe_checks the argument {argument}",
        )
