"""DataFrames of Spark, as far as they are known without pyspark: what is one, and what is kept of one that was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeGuard

from dq_dagster.errors import DqDagsterError


class DataFrame(Protocol):
    """A DataFrame of Spark, classic or Connect, as far as it is used here."""

    @property
    def sparkSession(self) -> Any: ...

    @property
    def schema(self) -> Any: ...

    @property
    def write(self) -> Any: ...


class FrameUnseen(DqDagsterError):
    """Spark wrote a DataFrame where this process does not find it: its executors have file systems of their own."""

    def __init__(self, *, folder: str, written: int, seen: int) -> None:
        self.folder = folder
        self.written = written
        self.seen = seen
        super().__init__(
            f"Spark wrote {written} rows to {folder}, and {seen} are seen there by this process: its executors write to file systems of "
            "their own; give a path on one that all of them share with this process"
        )


class Measured(NamedTuple):
    """How many rows, and a digest of them that does not know their order."""

    rows: int
    digest: int


@dataclass(frozen=True, slots=True)
class WrittenFrame:
    """A DataFrame's rows as Spark wrote them: the folder of part files, the session and its schema, and what was measured."""

    folder: str
    spark: Any
    schema: Any
    measured: Measured


def is_frame(value: object) -> TypeGuard[DataFrame]:
    """Whether it is a DataFrame of Spark; pyspark is not imported to tell."""
    return any(kind.__module__ == "pyspark.sql.dataframe" and kind.__name__ == "DataFrame" for kind in type(value).__mro__)
