"""Gaps over the parts of a table: the distinct values of each as runs of one step, which are joined exactly.

A part with many irregular gaps has no short list of runs; its range can still be joined with ranges that lie apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Numbers, Parted
from dq_dagster.checks.positions import domain_of, neighbours, widest
from dq_dagster.checks.table import Value
from dq_dagster.outcomes import MAX_EXAMPLES

_MOST_RUNS = 64
Gap = tuple[int, int, int]  # minus its width, its start, its end: they sort as `widest` sorts them


@dataclass(frozen=True, slots=True)
class _Run:
    """Distinct values from `start` to `end`: `step` apart, or, where that is 0, with these `gaps` as the widest among them."""

    start: int
    end: int
    values: int
    step: int = 0
    gaps: tuple[Gap, ...] = ()

    @property
    def widest(self) -> list[Gap]:
        """The widest gaps inside, the earliest of equals first."""
        if self.step == 0:
            return list(self.gaps)
        return [
            (-self.step, at, at + self.step) for at in range(self.start, min(self.end, self.start + self.step * MAX_EXAMPLES), self.step)
        ]


def parted_gaps(column: Value, relation: str, reads: frozenset[str]) -> Parted | None:
    """How gaps are found part by part; None where positions are no whole numbers."""
    if domain_of(column.type) not in ("instants", "days", "whole numbers"):
        return None
    x, before, gap = sql.column("x"), sql.column("from"), sql.column("gap")
    least = exp.Window(this=sql.call("min", gap))
    over = sql.select_from(neighbours(relation, column), {"x": x, "from": before, "to": sql.column("to"), "gap": gap, "step": least})
    is_off = exp.NEQ(this=gap.copy(), expression=sql.column("step"))
    numbers = {
        "values": sql.count_rows(),
        "first": sql.call("min", x),
        "last": sql.call("max", x),
        "step": sql.call("min", gap),
        "starts": sql.where(sql.smallest(x, _MOST_RUNS + 1), sql.any_of([sql.is_null(gap), is_off])),
        "ends": sql.where(sql.smallest(before, _MOST_RUNS), is_off.copy()),
        "widest": widest("", MAX_EXAMPLES),
    }
    return Parted(Ask(numbers, reads, over=over), _merged)


def _merged(parts: Sequence[Numbers]) -> Numbers | None:
    """The number of distinct values and the widest gaps of all; None where parts overlap in a way that their runs do not tell."""
    runs = sorted((run for found in parts for run in _runs(found)), key=lambda run: (run.start, run.end))
    if not runs:
        return {"values": 0, "widest": None}
    values, gaps = 0, list[Gap]()
    current = runs[0]
    for run in runs[1:]:
        joined = _joined(current, run)
        if joined is not None:
            current = joined
            continue
        if run.start < current.end:
            return None
        values += current.values
        gaps += current.widest
        if run.start == current.end:
            values -= 1
        else:
            gaps.append((current.end - run.start, current.end, run.start))
        current = run
    gaps += current.widest
    told = [{"minus": minus, "from": start, "to": end} for minus, start, end in sorted(gaps)[:MAX_EXAMPLES]]
    return {"values": values + current.values, "widest": told or None}


def _joined(one: _Run, other: _Run) -> _Run | None:
    """Both as one run, where the later one opens inside the other and lies on its grid; None where it does not."""
    if other.start > one.end:
        return None
    if one.values == 1:
        return other
    if other.values == 1:
        is_on_grid = (other.start - one.start) % one.step == 0 if one.step else other.start in (one.start, one.end)
        return one if is_on_grid else None
    if one.step == 0 or one.step != other.step or (other.start - one.start) % one.step:
        return None
    end = max(one.end, other.end)
    return _Run(one.start, end, (end - one.start) // one.step + 1, one.step)


def _runs(found: Mapping[str, Any]) -> list[_Run]:
    """A part's values as runs, or as one range where there would be too many."""
    if not found["values"]:
        return []
    first, last = int(found["first"]), int(found["last"])
    starts = [int(start) for start in found["starts"]]
    if len(starts) > _MOST_RUNS:
        return [
            _Run(first, last, int(found["values"]), gaps=tuple((int(g["minus"]), int(g["from"]), int(g["to"])) for g in found["widest"]))
        ]
    ends = [*(int(end) for end in found["ends"] or ()), last]
    step = int(found["step"] or 0)
    return [
        _Run(start, end, (end - start) // step + 1 if end > start else 1, step if end > start else 0)
        for start, end in zip(starts, ends, strict=True)
    ]
