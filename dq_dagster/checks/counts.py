"""Kinds about how many rows there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Numbers, Verdict
from dq_dagster.checks.shapes import TableCheck
from dq_dagster.checks.table import CheckedTable


class HasRowCount(TableCheck):
    """The table holds at least `min_count` and at most `max_count` rows; either may stand alone.

    Answered from metadata, unless a filter selects the rows that are counted. NULLs do not matter; an empty table has 0
    rows.

    Example:
        {check_id: a_full_day, kind: has_row_count, enforcement: required, min_count: 1, max_count: 1440}
    """

    kind: Literal["has_row_count"] = "has_row_count"
    min_count: int | None = Field(default=None, ge=0)
    max_count: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _bounded(self) -> HasRowCount:
        if self.min_count is None and self.max_count is None:
            raise ValueError("states neither min_count nor max_count; state at least one")
        if self.min_count is not None and self.max_count is not None and self.min_count > self.max_count:
            raise ValueError(f"states min_count {self.min_count} above max_count {self.max_count}; no row count lies between them")
        return self

    def metrics(self, table: CheckedTable) -> Mapping[str, exp.Expr]:
        return {} if self.filter is None else {"rows": sql.count_rows()}

    def verdict(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        rows: int = numbers.get("rows", table.rows)
        low, high = self.min_count, self.max_count
        counted = f"{self.among(rows)} were counted"
        if low is not None and rows < low:
            return Verdict(False, f"{counted}, fewer than {low}", None, {"row_count": rows})
        if high is not None and rows > high:
            return Verdict(False, f"{counted}, more than {high}", None, {"row_count": rows})
        bounds = [*([] if low is None else [f"at least {low}"]), *([] if high is None else [f"at most {high}"])]
        return Verdict(True, f"{counted}, {' and '.join(bounds)} as expected", None, {"row_count": rows})
