"""Keys that rise but for a few rows: one reading finds every key that repeats, among the rows where the rise breaks.

A row that does not rise above the row before it is a turn, and so is one whose key has a NULL, and the first row. The rows
next to a turn are suspects: two before it, the turn itself and one after it. What lies between the suspects of two turns is
a run: it rises strictly, so no key repeats in it, and two runs that do not overlap share no key. Where no suspect's key
falls within a run either, only suspects can repeat one another, and they are few. All of this is seen, or the proof is
given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql


@dataclass(frozen=True, slots=True)
class InOrder:
    """Asks how the rows rise in the order in which they are stored: by stored columns, compared in one of `orders`.

    The first `rows` are read, or all. An order is given up where more than the share `most` of the rows are turns. The values
    of `coded` columns repeat.
    """

    columns: tuple[str, ...]
    orders: tuple[tuple[int, ...], ...]
    most: float
    coded: frozenset[str] = frozenset()
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Rise:
    """How rows rise by an order: how many do not, the suspects' keys `k0`, `k1` …, one row each, and the runs.

    A run is a row, too: its first key as `k0`, `k1` …, its last as `e0`, `e1` ….
    """

    falls: int
    suspects: pa.Table
    runs: pa.Table


def keys_of_suspects(suspects: str, runs: str, order: Sequence[int]) -> exp.Query:
    """One row a key that suspects carry, and one a run, of the relations of these names.

    `k0`, `k1` … are the key, or the run's first; `n` is how many suspects carry it, 0 for a run; `is_within` is whether
    the key falls within a run that begins before it, or with it.
    """
    named = {f"k{place}": sql.column(f"k{place}") for place in range(len(order))}
    key = [sql.column(f"k{place}") for place in order]
    end = sql.struct({f"o{at}": sql.column(f"e{place}") for at, place in enumerate(order)})
    counted = sql.select_from(suspects, {**named, "n": sql.count_rows(), "end": exp.Null()}).group_by(*named.values())
    begun = sql.select_from(runs, {**named, "n": sql.integer(0), "end": end})
    first_to_last = exp.Order(expressions=[exp.Ordered(this=column) for column in (*key, sql.column("n"))])
    before = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end=sql.integer(1), end_side="PRECEDING")
    last_end = exp.IgnoreNulls(this=exp.LastValue(this=sql.column("end")))  # the greatest, as long as no key is within
    reach = exp.Window(this=last_end, order=first_to_last, spec=before)
    seen = sql.select_from(exp.union(counted, begun, distinct=False), {**named, "n": sql.column("n"), "reach": reach})
    is_reached = sql.column("reach") >= sql.struct(sql.numbered(key, "o"))
    is_within = sql.all_of([*(sql.not_(sql.is_null(part)) for part in (*key, sql.column("reach"))), is_reached])
    return sql.select_from(seen, {**named, "n": sql.column("n"), "is_within": is_within})
