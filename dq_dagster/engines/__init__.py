"""Where a plan runs. One file an engine, and one line here."""

from __future__ import annotations

import difflib
import importlib

from dq_dagster.engines.base import Engine
from dq_dagster.errors import DqDagsterError

ENGINES = {
    "duckdb": ("dq_dagster.engines.duckdb", "DuckDBEngine"),
    "spark": ("dq_dagster.engines.spark", "SparkEngine"),
}


class UnknownEngine(DqDagsterError):
    """An engine that this package does not have."""

    def __init__(self, name: str) -> None:
        self.name = name
        near = difflib.get_close_matches(name, ENGINES, n=1)
        super().__init__(
            f"there is no engine {name!r}; " + (f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(ENGINES)}")
        )


def engine_of(engine: str | Engine) -> Engine:
    """The engine by name, or the one given. Raises UnknownEngine."""
    if not isinstance(engine, str):
        return engine
    if engine not in ENGINES:
        raise UnknownEngine(engine)
    module, name = ENGINES[engine]
    return getattr(importlib.import_module(module), name)()
