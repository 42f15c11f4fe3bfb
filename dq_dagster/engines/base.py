"""What an engine is: something that holds tables under relation names, and answers queries over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from dq_dagster.checks.table import CheckedTable
from dq_dagster.errors import DqDagsterError
from dq_dagster.limits import Limits


class EngineStumbled(DqDagsterError):
    """An engine could not run a query, for a reason that is no budget. It keeps the kind of error, never its text."""

    def __init__(self, engine: str, error: str) -> None:
        self.engine = engine
        self.error = error
        super().__init__(f"{engine} stumbled with {error}")


class Session(Protocol):
    """An open engine, with the tables under their relation names, and nothing else to be read."""

    def numbers(self, query: exp.Query, *, deadline: float) -> dict[str, Any]:
        """The one row that the query gives. `deadline` is a time of time.monotonic().

        Raises TimeBudgetExceeded, MemoryBudgetExceeded, EngineStumbled.
        """
        ...

    def batches(self, query: exp.Query, *, deadline: float) -> Iterator[pa.RecordBatch]:
        """The rows that the query gives, in its order, streamed. Raises as `numbers` does."""
        ...

    def type_of(self, expression: exp.Expr, relation: str) -> pa.DataType:
        """The type of an expression over a relation; reads no row. Raises EngineStumbled where it has none."""
        ...


class NarrowableSession(Session, Protocol):
    """A session whose relations can be given other rows while it is open, as a table is asked part by part, or be added to."""

    def present(self, table: CheckedTable, columns: frozenset[str]) -> None:
        """Gives the table's relation these rows from here on; they come from files the session was opened with, or from memory.

        Raises MemoryBudgetExceeded, EngineStumbled.
        """
        ...

    def lend(self, name: str, rows: pa.Table) -> None:
        """Adds a relation in memory for the next queries."""
        ...


class Engine(Protocol):
    """Something that runs a plan."""

    @property
    def name(self) -> str:
        """The engine's name, as receipts say it."""
        ...

    @property
    def chooses(self) -> bool:
        """Whether it reads the rows in one sequence on one machine, so that cheaper ways are worth choosing from.

        Its sessions are narrowable then.
        """
        ...

    def session(self, tables: Sequence[tuple[CheckedTable, frozenset[str]]], limits: Limits) -> AbstractContextManager[Session]:
        """The engine with the tables' named stored columns to be read, locked to them."""
        ...

    def versions(self) -> Mapping[str, str]:
        """Names and versions of what answers."""
        ...
