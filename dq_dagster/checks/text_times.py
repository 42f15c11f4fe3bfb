"""Text as points in time, by the rules of Spark's casts.

`2024`, `2024-2`, `2024-2-9`, `2024-02-09 10`, `2024-02-09T10:00:00.5+02:00` and `-0044-03-15` are timestamps, and so is
`12:30`, a time of today; zones are offsets, or names such as Europe/Paris. Blanks around the text do not matter.
"""

from __future__ import annotations

import datetime as dt

from sqlglot import exp

from dq_dagster import sql

MICROSECONDS = 1_000_000
SECONDS_A_DAY = 86_400
LAST_TICK = 2**63 - 1

_BLANK = r"[\x00-\x20\x7F]*"
_OFFSET = r"[+-](?:\d{1,2}(?::\d{1,2}|:\d\d:\d\d)?|\d{4}|\d{6})"
_ZONE = rf"[\x00-\x20]*(Z|(?:UTC|GMT|UT)?{_OFFSET}|[A-Z][A-Za-z0-9~/._+-]+)"
_MINUTES = rf":(\d{{1,2}})(?::(\d{{1,2}})(?:\.(\d*))?(?:{_ZONE})?)?"
_CLOCK = rf"(\d{{1,2}})(?:{_MINUTES})?"
_DATE = rf"([+-]?\d{{4,6}})(?:-(\d{{1,2}})(?:-(\d{{1,2}})(?:[ T]{_CLOCK})?)?)?"
_TIMESTAMP = rf"^(?:{_BLANK}(?:{_DATE}|(\d{{1,2}}){_MINUTES})|T{_CLOCK}){_BLANK}$"
_DAY = rf"(?s)^{_BLANK}([+-]?\d{{4,7}})(?:-(\d{{1,2}})(?:-(\d{{1,2}})(?:[ T].*)?)?)?{_BLANK}$"
_COMMON = r"[1-9]\d{3}-\d\d-\d\d(?:[ T](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?Z?)?"
_CLOCK_PARTS = ("hour", "minute", "second", "fraction", "zone")
_CLOCKS = [f"{part}{place}" for place in range(3) for part in _CLOCK_PARTS]


def text_as_microseconds(text: exp.Expr, now: dt.datetime) -> exp.Expr:
    """The text cast to a timestamp, in microseconds since 1970; NULL where it is none."""
    found = sql.groups(text, _TIMESTAMP, ["year", "month", "day", *_CLOCKS])
    any_form = sql.let(
        "written", found, lambda written: sql.let("part", _parts(written, now), lambda part: sql.let("tick", _ticks(part), _held))
    )
    # What most text looks like is read faster by the engine's own cast.
    is_common = sql.call("regexp_full_match", text, sql.text(_COMMON))
    common = sql.call("epoch_us", sql.try_cast(text, "TIMESTAMP"))
    return exp.paren(exp.Case(ifs=[exp.If(this=is_common, true=common)], default=any_form))


def text_as_days(text: exp.Expr) -> exp.Expr:
    """The text cast to a date, in days since 1970; NULL where it is none."""

    def days(written: exp.Expr) -> exp.Expr:
        month, day = (_or(sql.member(written, part), sql.text("1")) for part in ("month", "day"))
        return _days(_without_plus(sql.member(written, "year")), month, day)

    any_form = sql.let("written", sql.groups(text, _DAY, ["year", "month", "day"]), days)
    is_common = sql.call("regexp_full_match", text, sql.text(r"[1-9]\d{3}-\d\d-\d\d"))
    return exp.paren(exp.Case(ifs=[exp.If(this=is_common, true=days_since_1970(sql.try_cast(text, "DATE")))], default=any_form))


def days_since_1970(day: exp.Expr) -> exp.Expr:
    """A date as a count of days."""
    return exp.paren(day.copy() - sql.cast(sql.text("1970-01-01"), "DATE"))


def _parts(written: exp.Expr, now: dt.datetime) -> exp.Expr:
    """What is written, as a struct: the day in text, the clock in numbers, NULL where one is too high; today where no day is."""
    year = sql.member(written, "year")
    clock = {part: sql.call("concat", *(sql.member(written, f"{part}{place}") for place in range(3))) for part in _CLOCK_PARTS}
    has_year, has_clock = _is_written(year), _is_written(clock["hour"])

    def first(part: str, today: int) -> exp.Expr:
        return _or(
            sql.member(written, part), exp.Case(ifs=[exp.If(this=has_year.copy(), true=sql.text("1"))], default=sql.text(str(today)))
        )

    def number(part: str, highest: int) -> exp.Expr:
        read = sql.call("coalesce", sql.try_cast(clock[part], "BIGINT"), sql.integer(0))
        return exp.Case(ifs=[exp.If(this=read <= sql.integer(highest), true=read.copy())])

    this_year = exp.Case(ifs=[exp.If(this=has_clock, true=sql.text(str(now.year)))])
    micros = sql.call("rpad", sql.call("left", clock["fraction"], sql.integer(6)), sql.integer(6), sql.text("0"))
    return sql.struct(
        {
            "year": _or(_without_plus(year), this_year),
            "month": first("month", now.month),
            "day": first("day", now.day),
            "hour": number("hour", 23),
            "minute": number("minute", 59),
            "second": number("second", 59),
            "micros": sql.try_cast(micros, "BIGINT"),
            "zone": clock["zone"],
        }
    )


def _ticks(part: exp.Expr) -> exp.Expr:
    """The microseconds since 1970 of what `_parts` brought."""
    days = _days(*(sql.member(part, name) for name in ("year", "month", "day")))
    hour, minute, second = (sql.member(part, name) for name in ("hour", "minute", "second"))
    seconds = days * sql.integer(SECONDS_A_DAY) + hour * sql.integer(3600) + minute * sql.integer(60) + second
    return sql.cast(exp.paren(seconds - _offset(part)), "HUGEINT") * sql.integer(MICROSECONDS) + sql.member(part, "micros")


def _held(tick: exp.Expr) -> exp.Expr:
    """The count, where the 64 bits of a timestamp hold it."""
    within = exp.Between(this=tick, low=sql.integer(-LAST_TICK - 1), high=sql.integer(LAST_TICK))
    return exp.Case(ifs=[exp.If(this=within, true=sql.try_cast(tick, "BIGINT"))])


def _days(year: exp.Expr, month: exp.Expr, day: exp.Expr) -> exp.Expr:
    """The day in days since 1970; NULL for one that is in no calendar. That repeats every 400 years, so no year is too far."""
    number, cycle = sql.try_cast(year, "BIGINT"), sql.integer(400)
    rest = exp.paren((number % cycle + cycle) % cycle)
    within = sql.try_cast(sql.call("concat_ws", sql.text("-"), rest + sql.integer(2000), month, day), "DATE")
    return exp.paren(days_since_1970(within) + ((number - rest) // cycle - sql.integer(5)) * sql.integer(146_097))


def _offset(part: exp.Expr) -> exp.Expr:
    """Seconds east of UTC: 0 where no zone is written, NULL where it is none."""
    zone = sql.member(part, "zone")
    fixed = sql.let(
        "offset_", sql.groups(zone, r"([+-])(\d{1,2}):?(\d{1,2})?:?(\d{2})?$", ["sign", "hour", "minute", "second"]), _fixed_offset
    )
    whens = [
        exp.If(this=sql.call("regexp_full_match", zone, sql.text("(?:Z|UTC|GMT|UT)?")), true=sql.integer(0)),
        exp.If(this=sql.call("regexp_full_match", zone, sql.text(rf"(?:UTC|GMT|UT)?{_OFFSET}")), true=fixed),
        exp.If(this=sql.call("regexp_matches", zone, sql.text(r"^(?:UTC|GMT|UT)[+-]")), true=exp.Null()),
    ]
    return exp.paren(exp.Case(ifs=whens, default=_regional_offset(part)))


def _fixed_offset(written: exp.Expr) -> exp.Expr:
    """The seconds of `+2`, `+02`, `+0200`, `+2:00` or `+02:00:00`; NULL beyond 18 hours."""
    hour, minute, second = (
        sql.call("coalesce", sql.try_cast(sql.member(written, part), "BIGINT"), sql.integer(0)) for part in ("hour", "minute", "second")
    )
    total = exp.paren(hour * sql.integer(3600) + minute * sql.integer(60) + second)
    is_west = exp.EQ(this=sql.member(written, "sign"), expression=sql.text("-"))
    signed = exp.Case(ifs=[exp.If(this=is_west, true=exp.Neg(this=total.copy()))], default=total.copy())
    fits = sql.all_of([total <= sql.integer(18 * 3600), minute <= sql.integer(59), second <= sql.integer(59)])
    return exp.Case(ifs=[exp.If(this=fits, true=signed)])


def _regional_offset(part: exp.Expr) -> exp.Expr:
    """What a named zone's clock is ahead of UTC then; before the year 0 and beyond 9999, as in the year 2000."""
    year = sql.member(part, "year")
    is_near = sql.call("regexp_full_match", year, sql.text(r"\d{4}"))
    near = exp.Case(ifs=[exp.If(this=is_near, true=year)], default=sql.text("2000"))
    day = sql.call("concat_ws", sql.text("-"), near, sql.member(part, "month"), sql.member(part, "day"))
    clock = sql.call("concat_ws", sql.text(":"), *(sql.member(part, name) for name in ("hour", "minute", "second")))
    local = sql.call("concat_ws", sql.text(" "), day, clock)
    instant = sql.try_cast(sql.call("concat_ws", sql.text(" "), local, sql.member(part, "zone")), "TIMESTAMPTZ")
    ahead = exp.paren(sql.call("epoch_us", sql.try_cast(local, "TIMESTAMP")) - sql.call("epoch_us", instant))
    return ahead // sql.integer(MICROSECONDS)


def _is_written(text: exp.Expr) -> exp.Expr:
    return exp.NEQ(this=text.copy(), expression=sql.text(""))


def _or(text: exp.Expr, other: exp.Expr) -> exp.Expr:
    """The text, or the other where it is empty."""
    return sql.call("coalesce", sql.call("nullif", text, sql.text("")), other)


def _without_plus(text: exp.Expr) -> exp.Expr:
    return sql.call("ltrim", text, sql.text("+"))
