"""Cheap proofs that a key is distinct. Each is exact where it succeeds; where it does not, the repeated keys are looked for."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Attempt, Numbers
from dq_dagster.checks.runs import InOrder, Rise, keys_of_suspects
from dq_dagster.checks.survey import LOOKED_AT_ROWS
from dq_dagster.checks.table import CheckedTable, Value
from dq_dagster.key_records import orders_of

MOST_TURNS = 0.01  # of the rows; where more break the rise, its runs are short and overlap
_BITS_PER_ROW = 16
_MOST_BITS = 1_000_000_000
_EPOCH = dt.date(1970, 1, 1)
_SOME = 256
_SPARE = 64
_NO_SCAN: frozenset[str] = frozenset()  # the first rows, and what is lent, do not count as bytes scanned


@dataclass(frozen=True, slots=True)
class Summary:
    """What a check wants to know of the keys that repeat: aggregates over a relation of keys `k0`, `k1` … that `n` rows carry.

    `none` are the numbers of a table without a repeat.
    """

    aggregates: Mapping[str, exp.Expr]
    none: Numbers


def ways(values: Sequence[Value], summary: Summary, table: CheckedTable, reads: frozenset[str]) -> list[Attempt]:
    """The ways to a key's repeats: by the rows' order, or proven to be none by a bit for each key there can be."""
    return [*_by_order(values, summary, table), *_by_bits(values, summary, table, reads)]


def among_repeats(groups: exp.Select, keys: Sequence[exp.Expr], table: CheckedTable, selected: exp.Expr | None = None) -> exp.Select:
    """A query that groups the table's selected rows by a key, held to the keys that repeat.

    In a large table the hashes that repeat are found first, and only their rows are grouped by the key itself: a hash is
    8 bytes, however wide the key is.
    """
    if table.survey is not None:
        hashed = sql.hash_of(keys)
        repeated = sql.select_from(table.relation, {"h": hashed}).group_by(sql.integer(1)).having(sql.count_rows() > 1)
        if selected is not None:
            repeated = repeated.where(selected)
        groups = groups.where(exp.In(this=hashed.copy(), query=repeated.subquery()))
    return groups.having(sql.count_rows() > 1)


def _by_order(values: Sequence[Value], summary: Summary, table: CheckedTable) -> list[Attempt]:
    """The rows come in strictly rising order of the key, as they are stored: then no key repeats.

    Few rows tell first whether they rise by the key's parts as they are named, or by the first part last. Where they rise
    but for a few rows, runs.py says which keys repeat.
    """
    assert table.survey is not None
    names = tuple(value.stored for value in values if value.stored is not None and table.stored.reads_alike(value.stored))
    if len(names) < len(values):
        return []
    coded = frozenset(name for name in names if table.survey.repeats(name, rows=table.rows))
    orders = tuple(tuple(order) for order in orders_of(values))
    look = InOrder(names, orders, MOST_TURNS, coded, rows=LOOKED_AT_ROWS)

    def seen(found: Numbers) -> Attempt | None:
        rises: list[tuple[int, Rise]] = list(found["rises"].items())
        rising = [orders[at] for at, rise in rises if not rise.falls]
        return in_full(rising) if rising else looked_at(rises, [])

    def looked_at(rises: Sequence[tuple[int, Rise]], tried: Sequence[tuple[int, ...]]) -> Attempt | None:
        """The runs of the first rows must not overlap: the rows of a table that rises by another key fall seldom, too."""
        if not rises:
            return in_full(tried)
        (at, rise), *others = rises
        how = f"whether the first rows rise by ({labels(orders[at])}) but for a few"
        ask = among_runs(rise, orders[at], {}, of="first")
        return Attempt(how, ask, lambda found: looked_at(others, [*tried, *([] if found["within"] else [orders[at]])]), is_look=True)

    def in_full(tried: Sequence[tuple[int, ...]]) -> Attempt | None:
        if not tried:
            return None
        order, *others = tried

        def proven(found: Numbers) -> Numbers | Attempt | None:
            rise: Rise | None = found["rises"].get(0)
            if rise is None:
                return in_full(others)
            return by_runs(rise) if rise.falls else summary.none

        def by_runs(rise: Rise) -> Attempt:
            repeats = {name: sql.where(aggregate, sql.column("n") > 1) for name, aggregate in summary.aggregates.items()}
            how = f"the runs of rows that rise by ({labels(order)}), and the rows between them"
            return Attempt(how, among_runs(rise, order, repeats, of="all"), told_by_runs)

        def told_by_runs(found: Numbers) -> Numbers | Attempt | None:
            return in_full(others) if found["within"] else {name: found[name] for name in summary.aggregates}

        how = f"the order of the rows by ({labels(order)}), from which few may stray"
        return Attempt(how, replace(look, orders=(order,), rows=None), proven)

    def among_runs(rise: Rise, order: Sequence[int], repeats: Mapping[str, exp.Expr], *, of: str) -> Ask:
        key = "_".join(str(place) for place in (*map(list(table.names).index, names), *order))
        suspects, runs = f"suspects_of_{of}_{key}", f"runs_of_{of}_{key}"
        lent = {suspects: rise.suspects, runs: rise.runs}
        return Ask({**repeats, "within": sql.count_where(sql.column("is_within"))}, _NO_SCAN, keys_of_suspects(suspects, runs, order), lent)

    def labels(order: Sequence[int]) -> str:
        return ", ".join(values[place].label for place in order)

    return [Attempt("whether the first rows rise", look, seen, is_look=True)]


@dataclass(frozen=True, slots=True)
class _Code:
    """How a part of a key becomes an integer from 0 up to `size`; in no row may it be `off`."""

    code: exp.Expr
    size: int
    off: exp.Expr = field(default_factory=exp.false)


def _by_bits(values: Sequence[Value], summary: Summary, table: CheckedTable, reads: frozenset[str]) -> list[Attempt]:
    """Each key marks one bit of all that there can be: as many bits as rows, and no key repeats.

    Possible where the footers bound every part, or it is text that repeats. Numbers, days and instants are counted in
    the widest step on which the first rows lie; one row off the step ends the proof, as does one text more than foreseen.
    """
    assert table.survey is not None
    foreseen: dict[int, int] = {}
    ranges: dict[int, tuple[int, int]] = {}
    keyed = table.rows
    for place, value in enumerate(values):
        nulls = table.null_count(value)
        if value.stored is None or nulls is None or nulls > (1 if len(values) == 1 else 0):
            return []
        keyed -= nulls
        if value.is_text and table.survey.repeats(value.stored, rows=table.rows):
            foreseen[place] = 2 * math.ceil(table.survey.distinct[value.stored]) + _SPARE
        elif (ends := _range_of(value, table)) is not None:
            ranges[place] = ends
        else:
            return []

    def settled(found: Numbers) -> Numbers | None:
        return summary.none if found["bits"] == found["rows"] == keyed and not found["off"] else None

    def marked(found: Numbers) -> Attempt | None:
        words = {place: _Code(sql.column("code", f"w{place}"), size) for place, size in foreseen.items()}
        steps = {
            place: _counted(values[place].shown, ends, math.gcd(*(some - ends[0] for some in found[f"some{place}"] or ())))
            for place, ends in ranges.items()
        }
        codes = [{**words, **steps}[place] for place in range(len(values))]
        size = math.prod(code.size for code in codes)
        if not max(keyed, 1) <= size < min(_BITS_PER_ROW * table.rows, _MOST_BITS):
            return None
        how = f"a bit for each of the {size} keys ({', '.join(value.label for value in values)}) that there can be"
        return Attempt(how, _bits(values, codes, size, table, reads), settled)

    first = sql.select_from(table.relation, {f"k{place}": value.shown for place, value in enumerate(values)}).limit(LOOKED_AT_ROWS)
    some = {f"some{place}": sql.first_by(sql.column(f"k{place}"), sql.hash_of([sql.column(f"k{place}")]), _SOME) for place in ranges}
    look = Ask(some or {"rows": sql.count_rows()}, _NO_SCAN, over=first)
    return [Attempt("how many keys there can be", look, marked, is_look=True)]


def _range_of(value: Value, table: CheckedTable) -> tuple[int, int] | None:
    """The least and greatest position of an integer, a day or an instant, where the footers say it."""
    if not (pa.types.is_integer(value.type) or pa.types.is_date32(value.type) or pa.types.is_timestamp(value.type)):
        return None
    if pa.types.is_timestamp(value.type) and value.type.unit not in ("us", "ns"):
        return None
    ends = table.extremes(value)
    if ends is not None and pa.types.is_date32(value.type):
        return (ends[0] - _EPOCH).days, (ends[1] - _EPOCH).days
    return ends


def _counted(position: exp.Expr, ends: tuple[int, int], step: int) -> _Code:
    """Steps from the least position. Wide, so that no difference overflows."""
    offset = exp.Sub(this=sql.cast(position, "HUGEINT") if ends[1] - ends[0] >= 2**62 else position, expression=sql.integer(ends[0]))
    size = (ends[1] - ends[0]) // max(step, 1) + 1
    if step <= 1:
        return _Code(offset, size)
    paren = exp.paren(offset)
    remainder = exp.Mod(this=paren.copy(), expression=sql.integer(step))
    return _Code(exp.IntDiv(this=paren, expression=sql.integer(step)), size, off=exp.NEQ(this=remainder, expression=sql.integer(0)))


def _bits(values: Sequence[Value], codes: Sequence[_Code], size: int, table: CheckedTable, reads: frozenset[str]) -> Ask:
    code: exp.Expr = sql.integer(0)
    for part in codes:
        code = exp.Add(this=exp.Mul(this=exp.paren(code), expression=sql.integer(part.size)), expression=exp.paren(part.code.copy()))
    rows = sql.select_from(table.relation, {"code": code, "off": sql.any_of([part.off for part in codes])})
    for place, value in enumerate(values):
        if value.is_text:
            words = sql.select_from(table.relation, {"word": value.expression}).distinct()
            numbered = sql.select_from(words, {"word": sql.column("word"), "code": _number_from_zero()})
            met = exp.EQ(this=sql.column("word", f"w{place}"), expression=value.expression.copy())
            rows = rows.join(numbered.subquery(exp.to_identifier(f"w{place}", quoted=True)), on=met)
    marks = exp.Anonymous(this="bitstring_agg", expressions=[sql.column("code"), sql.integer(0), sql.integer(size - 1)])
    numbers = {
        "rows": sql.call("count", sql.column("code")),
        "bits": sql.call("bit_count", marks),
        "off": sql.count_where(sql.column("off")),
    }
    return Ask(numbers, reads, over=rows)


def _number_from_zero() -> exp.Expr:
    return exp.Sub(this=exp.Window(this=sql.call("row_number")), expression=sql.integer(1))
