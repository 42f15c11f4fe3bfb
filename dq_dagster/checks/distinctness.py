"""Cheap proofs that a key is distinct. Each is exact where it succeeds; where it does not, the key is grouped."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Attempt, Numbers
from dq_dagster.checks.table import CheckedTable, Value

PROBED_ROWS = 20_000
WORTH_A_PROOF = 100_000
_BITS_PER_ROW = 16
_MOST_BITS = 1_000_000_000

UNIQUE: Numbers = {"keys": 0, "members": None, "first": None}


def proofs(values: Sequence[Value], table: CheckedTable, reads: frozenset[str]) -> list[Attempt]:
    """The ways that are worth trying for this key in this table: none for a small one."""
    if table.rows < WORTH_A_PROOF:
        return []
    orders = [_in_order(values, table, reads)]
    if len(values) > 1:
        orders.append(_in_order([*values[1:], values[0]], table, reads))
    dense = _dense(values, table, reads)
    return [*orders, *([dense] if dense else []), _by_hash(values, table, reads)]


def _in_order(values: Sequence[Value], table: CheckedTable, reads: frozenset[str]) -> Attempt:
    """The rows come in strictly rising order of the key, as they are stored: then no key repeats.

    A comparison with NULL counts as a step that does not rise; the first row, which has none before it, counts one.
    The proof holds for any order in which the engine brings the rows, as long as each comes once.
    """
    numbers = {"falls": sql.count_where(_does_not_rise(len(values)))}

    def of(relation: exp.Query | str) -> exp.Query:
        parts = {f"k{place}": value.expression for place, value in enumerate(values)}
        rows = sql.select_from(relation, parts) if isinstance(relation, str) else relation
        keys = [sql.column(name) for name in parts]
        lags = {f"p{place}": exp.Window(this=sql.call("lag", key)) for place, key in enumerate(keys)}
        return sql.select_from(rows, {**dict(zip(parts, keys, strict=True)), **lags})

    first = sql.select_from(table.relation, {f"k{place}": value.expression for place, value in enumerate(values)}).limit(PROBED_ROWS)
    return Attempt(
        how=f"a proof by order of ({', '.join(value.label for value in values)})",
        ask=Ask(numbers, reads, over=of(table.relation)),
        settles=lambda found: UNIQUE if found["falls"] <= 1 else None,
        probe=Ask(numbers, reads, over=of(first)),
        is_hopeful=lambda found: found["falls"] <= 1,
    )


def _does_not_rise(parts: int) -> exp.Expr:
    rises: exp.Expr = exp.false()
    for place in reversed(range(parts)):
        before, here = sql.column(f"p{place}"), sql.column(f"k{place}")
        later = exp.and_(exp.EQ(this=before.copy(), expression=here.copy()), rises) if place < parts - 1 else exp.false()
        rises = exp.or_(before < here, later) if place < parts - 1 else before < here
    return sql.call("coalesce", sql.not_(exp.paren(rises)), exp.true())


def _dense(values: Sequence[Value], table: CheckedTable, reads: frozenset[str]) -> Attempt | None:
    """Integers of a narrow range, each marking one bit: as many bits as values, and at most one NULL."""
    if len(values) != 1 or not pa.types.is_integer(values[0].type):
        return None
    extremes, nulls = table.extremes(values[0]), table.null_count(values[0])
    if extremes is None or nulls is None or nulls > 1 or not 0 <= extremes[1] - extremes[0] < min(_BITS_PER_ROW * table.rows, _MOST_BITS):
        return None
    low, high = (sql.integer(end) for end in extremes)
    value = values[0].expression
    bits = sql.call("bit_count", exp.Anonymous(this="bitstring_agg", expressions=[value.copy(), low, high]))
    return Attempt(
        how=f"a bit for each {values[0].label} from {extremes[0]} to {extremes[1]}",
        ask=Ask({"values": sql.call("count", value), "bits": bits}, reads),
        settles=lambda found: UNIQUE if found["bits"] == found["values"] else None,
    )


def _by_hash(values: Sequence[Value], table: CheckedTable, reads: frozenset[str]) -> Attempt:
    """As many distinct hashes as rows. Equal keys have equal hashes, so a shortfall alone is no proof of a repeat."""
    hashed = exp.Anonymous(this="hash", expressions=[value.expression.copy() for value in values])
    rows = sql.select_from(table.relation, {"h": hashed})
    numbers = {"rows": sql.count_rows(), "hashes": sql.count_distinct(sql.column("h"))}
    return Attempt(
        how=f"distinct hashes of ({', '.join(value.label for value in values)})",
        ask=Ask(numbers, reads, over=rows),
        settles=lambda found: UNIQUE if found["rows"] == found["hashes"] else None,
        probe=Ask(numbers, reads, over=rows.copy().limit(PROBED_ROWS)),
        is_hopeful=lambda found: found["rows"] == found["hashes"],
    )
