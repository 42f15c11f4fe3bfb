"""Keys that rise but for a few rows: one reading finds every key that repeats, among the rows where the rise breaks.

A row that does not rise above the row before it is a turn, and so are the first row, the last, and one whose key has a
NULL. The rows next to a turn are suspects: two before it, the turn itself and one after it. What lies between the
suspects of two turns is a run: it rises strictly, so no key repeats in it, and two runs that do not overlap share no
key. Where no suspect's key falls within a run either, only suspects can repeat one another, and they are few. All of
this is seen, or the proof is given up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dq_dagster import sql

MOST_TURNS = 0.01  # of the rows; where more break the rise, its runs are short and overlap

_SUSPECT = (-2, -1, 0, 1)  # rows around a turn, by their distance
_LAST, _FIRST = _SUSPECT[0] - 1, _SUSPECT[-1] + 1  # where the run before a turn ends, and where the run after it begins
_TURNS = exp.to_identifier("turns", quoted=True)


def around(parts: int, distances: Sequence[int]) -> dict[str, exp.Expr]:
    """A key `k0`, `k1` … and the keys of rows at some distance from it, as `does_not_rise` and `suspects` name them."""
    columns: dict[str, exp.Expr] = {}
    for distance in dict.fromkeys((0, *distances)):
        for place in range(parts):
            key = sql.column(_name(place))
            moved = exp.Window(this=sql.call("lag" if distance < 0 else "lead", key, sql.integer(abs(distance))))
            columns[_name(place, distance)] = moved if distance else key
    return columns


def does_not_rise(order: Sequence[int]) -> exp.Expr:
    """Whether a key is not above the key before it (`around` at distance -1), its parts taken in that order. Never NULL."""
    rises: exp.Expr | None = None
    for place in reversed(order):
        before, here = sql.column(_name(place, -1)), sql.column(_name(place))
        is_same = exp.EQ(this=before.copy(), expression=here.copy())
        rises = before < here if rises is None else exp.or_(before < here, exp.and_(is_same, rises))
    assert rises is not None
    return sql.call("coalesce", sql.not_(exp.paren(rises)), exp.true())


def suspects(keys: exp.Query, parts: int, order: Sequence[int], *, rows: int) -> exp.Query:
    """One row a key that suspects carry, and one a run, of a relation of `rows` keys `k0`, `k1` …, in one reading of it.

    `k0`, `k1` … are the key, or the run's first; `n` is how many suspects carry it, 0 for a run; `last` the number of
    the last of them; `is_within` whether the key falls within a run that begins before it, or with it.
    """
    key = [sql.column(_name(place)) for place in order]
    runs_first = exp.Order(expressions=[exp.Ordered(this=column) for column in (*key, sql.column("n"))])
    before = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end=sql.integer(1), end_side="PRECEDING")
    reach = exp.Window(this=sql.call("max", sql.column("end")), order=runs_first, spec=before)
    events = exp.union(_suspect_keys(parts, rows), _runs(parts, order), distinct=False)
    seen = sql.select_from(events, {**_keys(parts), "n": sql.column("n"), "last": sql.column("last"), "reach": reach})
    is_reached = sql.column("reach") >= sql.struct(sql.numbered(key, "o"))
    is_within = sql.all_of([*(sql.not_(sql.is_null(part)) for part in (*key, sql.column("reach"))), is_reached])
    told = {**_keys(parts), "n": sql.column("n"), "last": sql.column("last"), "is_within": is_within}
    return sql.select_from(seen, told).with_(_TURNS.copy(), as_=_turns(keys, parts, order, rows=rows), materialized=True)


def _turns(keys: exp.Query, parts: int, order: Sequence[int], *, rows: int) -> exp.Select:
    """The turns: their number `n`, counted from 1, their key and the keys around it. A key with a NULL is one: no run holds it."""
    columns = {"n": exp.Window(this=sql.call("row_number")), **around(parts, (*_SUSPECT, _LAST, _FIRST))}
    is_last = exp.EQ(this=sql.column("n"), expression=sql.integer(rows))
    seen = sql.select_from(sql.select_from(keys, columns), {name: sql.column(name) for name in columns})
    return seen.where(sql.any_of([does_not_rise(order), *(sql.is_null(key) for key in _keys(parts).values()), is_last]))


def _suspect_keys(parts: int, rows: int) -> exp.Select:
    """One row a key that suspects carry. A row that is suspect for two turns counts once."""
    n = sql.column("n")
    found: exp.Query | None = None
    for distance in _SUSPECT:
        one = _from_turns({"n": n + sql.integer(distance), **_keys(parts, distance)})
        one = one.where(exp.Between(this=n + sql.integer(distance), low=sql.integer(1), high=sql.integer(rows)))
        found = one if found is None else exp.union(found, one)
    assert found is not None
    counted = {**_keys(parts), "n": sql.count_rows(), "last": sql.call("max", n), "end": exp.Null()}
    return sql.select_from(found, counted).group_by(*_keys(parts).values())


def _runs(parts: int, order: Sequence[int]) -> exp.Select:
    """One row a run, by its first key and, as a struct, its last: `end`."""
    following = exp.Order(expressions=[exp.Ordered(this=sql.column("n"))])
    last = sql.struct({f"o{at}": sql.column(_name(place, _LAST)) for at, place in enumerate(order)})
    between = {
        **_keys(parts, _FIRST),
        "first": sql.column("n") + sql.integer(_FIRST),
        "last": exp.Window(this=sql.call("lead", sql.column("n")), order=following) + sql.integer(_LAST),
        "end": exp.Window(this=sql.call("lead", last), order=following.copy()),
    }
    nothing = {"n": sql.integer(0), "last": sql.integer(0), "end": sql.column("end")}
    return sql.select_from(_from_turns(between), {**_keys(parts), **nothing}).where(sql.column("first") <= sql.column("last"))


def _from_turns(columns: Mapping[str, exp.Expr]) -> exp.Select:
    return exp.select(*(exp.alias_(value.copy(), name, quoted=True) for name, value in columns.items())).from_(
        exp.Table(this=_TURNS.copy())
    )


def _keys(parts: int, distance: int = 0) -> dict[str, exp.Expr]:
    """The key at some distance, as `k0`, `k1` …."""
    return {_name(place): sql.column(_name(place, distance)) for place in range(parts)}


def _name(place: int, distance: int = 0) -> str:
    return f"k{place}{distance:+d}" if distance else f"k{place}"
