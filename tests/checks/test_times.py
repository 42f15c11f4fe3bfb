"""Kinds about dates and points in time. The cases' now is 2026-03-01T12:00:00Z."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from dq_dagster import sql
from dq_dagster.checks.text_times import text_as_days, text_as_microseconds
from dq_dagster.checks.time_formats import FormatRefused, time_format
from tests.checks.cases import NOW, Case, failed, passed, refused, run_cases, tolerated

TEXT = {"s": pa.string()}
DAY = {"d": pa.date32()}
TIME = {"t": pa.timestamp("us", "UTC")}
NAIVE = {"t": pa.timestamp("us")}
NANOS = {"t": pa.timestamp("ns", "UTC")}
LAST = 2**63 - 1


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.timezone.utc)


def on(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def _valid(kind: str, member: str) -> list[Case]:
    texts = (TEXT, ["2024-02-29", "2023-02-29", "2024", "12:30", " 2024-2-9 ", "20240229", "", "abc", None, "2024-02-29T10:00:00+02:00"])
    iso = {"column": "s", member: "yyyy-MM-dd"}
    return [
        Case(kind, "as Spark casts", {"column": "s"}, texts, failed(rows=[1, 5, 6, 7], detail="4 of 10 rows have s that is no ")),
        Case(kind, "in a format", iso, texts, failed(rows=[1, 2, 3, 4, 5, 6, 7, 9], detail="in the format yyyy-MM-dd")),
        Case(kind, "all valid", {"column": "s"}, (TEXT, ["2024-02-29", None]), passed()),
        Case(kind, "no rows", {"column": "s"}, (TEXT, []), passed()),
        Case(kind, "filter", {"column": "s", "filter": "s <> ''"}, texts, failed(rows=[1, 5, 7])),
        Case(kind, "tolerated", {"column": "s", "max_failed_rows": 4}, texts, tolerated(rows=[1, 5, 6, 7])),
        Case(kind, "dates are valid", {"column": "d", member: "HH"}, (DAY, [on("2024-02-29"), None]), passed()),
        Case(kind, "timestamps are valid", {"column": "t"}, (TIME, [at("2024-02-29"), None]), passed()),
        Case(kind, "numbers without a format", {"column": "i"}, ({"i": pa.int64()}, [20240229, None]), passed()),
        Case(
            kind,
            "numbers in a format",
            {"column": "i", member: "yyyyMMdd"},
            ({"i": pa.int64()}, [20240229, 20240230, None]),
            failed(rows=[1]),
        ),
        Case(
            kind,
            "a letter without meaning",
            {"column": "s", member: "not a format"},
            texts,
            refused("DECLARED_CHECK_INVALID", "the letter n"),
        ),
    ]


PAIRS = {"a": pa.date32(), "b": pa.date32()}
AGES = (
    PAIRS,
    [
        (on("2024-01-01"), on("2024-01-11")),
        (on("2024-01-02"), on("2024-01-11")),
        (on("2024-01-12"), on("2024-01-11")),
        (None, on("2024-01-11")),
        (on("2024-01-01"), None),
    ],
)
DAYS = (DAY, [on("2024-02-20"), on("2024-02-29"), on("2024-03-01"), on("2024-03-02"), None])
LEAP = {"curr_date": "2024-03-01"}
COL2 = "is_older_than_col2_for_n_days"

OLDER = [
    Case(
        COL2,
        "exactly n days is not enough",
        {"column1": "a", "column2": "b", "days": 10},
        AGES,
        failed(rows=[0, 1, 2], detail="a not more than 10 days before b"),
    ),
    Case(COL2, "n days", {"column1": "a", "column2": "b", "days": 9}, AGES, failed(rows=[1, 2])),
    Case(
        COL2,
        "negated",
        {"column1": "a", "column2": "b", "days": 9, "negate": True},
        AGES,
        failed(rows=[0], detail="a more than 9 days before b"),
    ),
    Case(COL2, "older", {"column1": "a", "column2": "b", "filter": "a < b"}, AGES, passed()),
    Case(COL2, "no rows", {"column1": "a", "column2": "b"}, (PAIRS, []), passed()),
    Case(
        COL2,
        "timestamps count as days",
        {"column1": "a", "column2": "b", "days": 0},
        (
            {"a": pa.timestamp("us", "UTC"), "b": pa.timestamp("ms")},
            [(at("2024-01-01T23:59:59"), dt.datetime(2024, 1, 2)), (at("2024-01-02T00:00:00"), dt.datetime(2024, 1, 2, 23))],
        ),
        failed(rows=[1]),
    ),
    Case(
        COL2,
        "text",
        {"column1": "a", "column2": "b"},
        ({"a": pa.string(), "b": pa.string()}, [("2024-01-02", "2024-1-2T99"), ("soon", "2024-01-03"), ("2024", "2024-01-03")]),
        failed(rows=[0]),
    ),
    Case(
        COL2,
        "numbers hold no days",
        {"column1": "a", "column2": "b"},
        ({"a": pa.int64(), "b": pa.date32()}, [(1, None)]),
        refused("DECLARED_CHECK_INVALID", "name dates, timestamps or text"),
    ),
    Case(
        "is_older_than_n_days",
        "today left out",
        {"column": "d", "days": 0, **LEAP},
        DAYS,
        failed(rows=[2, 3], detail="d not more than 0 days before 2024-03-01"),
    ),
    Case("is_older_than_n_days", "one day", {"column": "d", "days": 1, **LEAP}, DAYS, failed(rows=[1, 2, 3])),
    Case("is_older_than_n_days", "negative", {"column": "d", "days": -2, **LEAP}, DAYS, passed()),
    Case("is_older_than_n_days", "negated", {"column": "d", "days": 1, "negate": True, **LEAP}, DAYS, failed(rows=[0])),
    Case(
        "is_older_than_n_days",
        "today is the evaluation's",
        {"column": "d", "days": 0},
        (DAY, [on("2026-02-28"), on("2026-03-01")]),
        failed(rows=[1], detail="before 2026-03-01"),
    ),
    Case(
        "is_older_than_n_days",
        "an expression",
        {"column": "d", "days": 0, "curr_date": {"expression": "DATE '2024-03-02'"}},
        DAYS,
        failed(rows=[3]),
    ),
    Case("is_older_than_n_days", "no rows", {"column": "d", "days": 0}, (DAY, []), passed()),
    Case("is_older_than_n_days", "filter", {"column": "d", "days": 0, "filter": "d > DATE '2024-03-01'", **LEAP}, DAYS, failed(rows=[3])),
    Case("is_older_than_n_days", "days as text", {"column": "d", "days": "1"}, DAYS, refused("RECIPE_DOCUMENT_INVALID")),
    Case(
        "is_older_than_n_days",
        "no point in time",
        {"column": "d", "days": 1, "curr_date": "soon"},
        DAYS,
        refused("DECLARED_CHECK_INVALID", "no point in time"),
    ),
]

NOON = {"curr_timestamp": "2024-05-05 12:00:00.9"}
NEAR = [
    at("2024-05-05T11:59:59"),
    at("2024-05-05T12:00:00"),
    at("2024-05-05T12:00:00.5"),
    at("2024-05-05T12:01:00"),
    at("2024-05-05T12:01:01"),
    None,
]

FUTURE = [
    Case(
        "is_not_in_future",
        "now is cut to seconds",
        {"column": "t", **NOON},
        (TIME, NEAR),
        failed(rows=[2, 3, 4], detail="t later than 2024-05-05 12:00:00.9"),
    ),
    Case("is_not_in_future", "offset", {"column": "t", "offset": 60, **NOON}, (TIME, NEAR), failed(rows=[4], detail="and 60 seconds")),
    Case(
        "is_not_in_future",
        "the evaluation's now",
        {"column": "t"},
        (TIME, [NOW, NOW + dt.timedelta(seconds=1)]),
        failed(rows=[1], detail="later than 2026-03-01T12:00:00Z"),
    ),
    Case(
        "is_not_in_future",
        "naive is UTC",
        {"column": "t", **NOON},
        (NAIVE, [dt.datetime(2024, 5, 5, 12), dt.datetime(2024, 5, 5, 13)]),
        failed(rows=[1]),
    ),
    Case(
        "is_not_in_future",
        "a nanosecond",
        {"column": "t", **NOON},
        (NANOS, [1_714_910_400_000_000_000, 1_714_910_400_000_000_001]),
        failed(rows=[1]),
    ),
    Case("is_not_in_future", "days are midnight", {"column": "d", **NOON}, (DAY, [on("2024-05-05"), on("2024-05-06")]), failed(rows=[1])),
    Case(
        "is_not_in_future",
        "days no timestamp holds",
        {"column": "d", **NOON},
        pa.table({"d": pa.array([2**31 - 2, -(2**31) + 2], pa.int32()).cast(pa.date32())}),
        failed(rows=[0]),
    ),
    Case(
        "is_not_in_future",
        "the ends of the type",
        {"column": "t", **NOON},
        pa.table({"t": pa.array([LAST, -LAST, LAST - 1], pa.int64()).cast(pa.timestamp("us", "UTC"))}),
        failed(rows=[0, 2]),
    ),
    Case(
        "is_not_in_future",
        "text",
        {"column": "s", **NOON},
        (TEXT, ["2024-05-05 14:00:00+02:00", "2024-05-05T12:00:01Z", "2024-05-05 12:0:1", "soon", "9999-01-01", "294248"]),
        failed(rows=[1, 2, 4]),
    ),
    Case(
        "is_not_in_future",
        "a column as now",
        {"column": "t", "curr_timestamp": {"column": "u"}},
        (
            {"t": pa.timestamp("us", "UTC"), "u": pa.date32()},
            [
                (at("2024-05-05T00:00:01"), on("2024-05-05")),
                (at("2024-05-05T00:00:01"), None),
                (at("2024-05-05T00:00:00"), on("2024-05-05")),
            ],
        ),
        failed(rows=[0]),
    ),
    Case(
        "is_not_in_future",
        "a column of the last instants",
        {"column": "t", "offset": 60, "curr_timestamp": {"column": "t"}},
        pa.table({"t": pa.array([LAST, LAST - 1, -LAST], pa.int64()).cast(pa.timestamp("us", "UTC"))}),
        passed(),
    ),
    Case("is_not_in_future", "no rows", {"column": "t"}, (TIME, []), passed()),
    Case(
        "is_not_in_future",
        "filter",
        {"column": "t", "filter": "t > TIMESTAMPTZ '2024-05-05 12:01:00+00'", **NOON},
        (TIME, NEAR),
        failed(rows=[4]),
    ),
    Case(
        "is_not_in_future",
        "numbers",
        {"column": "i"},
        ({"i": pa.int64()}, [1]),
        refused("DECLARED_CHECK_INVALID", "name dates, timestamps or text"),
    ),
    Case(
        "is_not_in_near_future",
        "both ends are allowed",
        {"column": "t", "offset": 61, **NOON},
        (TIME, NEAR),
        failed(rows=[2, 3], detail="t later than 2024-05-05 12:00:00.9 by less than 61 seconds"),
    ),
    Case("is_not_in_near_future", "nothing lies between", {"column": "t", **NOON}, (TIME, NEAR), passed()),
    Case("is_not_in_near_future", "negative", {"column": "t", "offset": -60, **NOON}, (TIME, NEAR), passed()),
    Case("is_not_in_near_future", "the far future is not near", {"column": "t", "offset": 60}, (TIME, [at("2999-01-01"), None]), passed()),
    Case("is_not_in_near_future", "no rows", {"column": "t", "offset": 60}, (TIME, []), passed()),
    Case(
        "is_not_in_near_future",
        "filter",
        {"column": "t", "offset": 61, "filter": "second(t) = 0", **NOON},
        (TIME, NEAR),
        failed(rows=[2, 3]),
    ),
]

BASE = {"base_timestamp": "2024-05-05 12:00:00"}
STAMPS = [at("2024-05-05T10:59:59"), at("2024-05-05T11:00:00"), at("2024-05-05T12:00:00"), at("2024-05-05T13:00:00"), None]

FRESH = [
    Case(
        "is_data_fresh",
        "exactly as old",
        {"column": "t", "max_age_minutes": 60, **BASE},
        (TIME, STAMPS),
        failed(rows=[0], detail="t more than 60 minutes before 2024-05-05 12:00:00"),
    ),
    Case("is_data_fresh", "no age", {"column": "t", "max_age_minutes": 0, **BASE}, (TIME, STAMPS), failed(rows=[0, 1])),
    Case(
        "is_data_fresh",
        "the evaluation's now",
        {"column": "t", "max_age_minutes": 5},
        (TIME, [NOW - dt.timedelta(minutes=6), NOW]),
        failed(rows=[0]),
    ),
    Case(
        "is_data_fresh",
        "a day as base",
        {"column": "t", "max_age_minutes": 60, "base_timestamp": "2024-05-05"},
        (TIME, [at("2024-05-04T22:59:59"), at("2024-05-04T23:00:00")]),
        failed(rows=[0]),
    ),
    Case(
        "is_data_fresh",
        "a column as base",
        {"column": "t", "max_age_minutes": 1, "base_timestamp": {"column": "u"}},
        (
            {"t": pa.timestamp("us"), "u": pa.timestamp("us", "UTC")},
            [(dt.datetime(2024, 1, 1), at("2024-01-01T00:01:01")), (dt.datetime(2024, 1, 1), None)],
        ),
        failed(rows=[0]),
    ),
    Case("is_data_fresh", "all fresh", {"column": "t", "max_age_minutes": 120, **BASE}, (TIME, STAMPS), passed()),
    Case("is_data_fresh", "no rows", {"column": "t", "max_age_minutes": 1}, (TIME, []), passed()),
    Case(
        "is_data_fresh",
        "filter",
        {"column": "t", "max_age_minutes": 0, "filter": "minute(t) = 0", **BASE},
        (TIME, STAMPS),
        failed(rows=[1]),
    ),
    Case(
        "is_data_fresh",
        "a number as base",
        {"column": "t", "max_age_minutes": 0, "base_timestamp": 5},
        (TIME, STAMPS),
        refused("DECLARED_CHECK_INVALID", "no point in time"),
    ),
]

MONTH = {"column": "t", "interval": 1, "period": "month"}
AUGUST = at("2026-07-31T12:00:00")

NEWEST = [
    Case(
        "is_newest_within",
        "fresh",
        {"column": "t", "interval": 1, "period": "hour"},
        (TIME, [at("2020-01-01"), at("2026-03-01T11:00:00")]),
        passed(
            detail="the newest value of column 't' is 2026-03-01T11:00:00Z, no further back than 1 hour before 2026-03-01T12:00:00Z",
            observed={"age_seconds": 3600},
        ),
    ),
    Case(
        "is_newest_within",
        "stale",
        {"column": "t", "interval": 2},
        (TIME, [at("2026-02-27T11:59:59"), None]),
        failed(detail="is 2026-02-27T11:59:59Z, further back than 2 days before"),
    ),
    Case(
        "is_newest_within", "no value", {"column": "t", "interval": 1}, (TIME, [None]), failed(detail="column 't' holds no point in time")
    ),
    Case("is_newest_within", "no rows", {"column": "t", "interval": 1}, (TIME, []), failed(detail="holds no point in time")),
    Case("is_newest_within", "a short month", MONTH, (TIME, [at("2026-06-30T12:00:00")]), passed(), now=AUGUST),
    Case("is_newest_within", "before the short month's end", MONTH, (TIME, [at("2026-06-30T11:59:59")]), failed(), now=AUGUST),
    Case(
        "is_newest_within",
        "years beyond the calendar",
        {"column": "t", "interval": 5000, "period": "year"},
        (TIME, [at("0001-01-01")]),
        passed(),
    ),
    Case(
        "is_newest_within",
        "a microsecond too old",
        {"column": "t", "interval": 1},
        (NAIVE, [dt.datetime(2026, 2, 28, 11, 59, 59, 999999)]),
        failed(),
    ),
    Case("is_newest_within", "the future is fresh", {"column": "t", "interval": 1}, (NAIVE, [dt.datetime(2030, 1, 1)]), passed()),
    Case(
        "is_newest_within",
        "a filter that selects nothing",
        {"column": "t", "interval": 1, "filter": "t < timestamp '2020-01-01'"},
        (NAIVE, [dt.datetime(2026, 3, 1)]),
        failed(rows=[]),
    ),
    Case("is_newest_within", "days", {"column": "d", "interval": 12, "period": "hour"}, (DAY, [on("2026-03-01")]), passed()),
    Case(
        "is_newest_within", "text", {"column": "s", "interval": 1}, (TEXT, ["2026-03-01 10", "soon"]), passed(detail="2026-03-01T10:00:00Z")
    ),
    Case(
        "is_newest_within",
        "nanoseconds",
        {"column": "t", "interval": 1},
        (NANOS, [1_772_366_400_000_000_001]),
        passed(detail="12:00:00.000000001Z"),
    ),
    Case(
        "is_newest_within",
        "filter",
        {"column": "t", "interval": 1, "filter": "year(t) < 2026"},
        (TIME, [at("2020-01-01"), NOW]),
        failed(rows=[0], detail="2020-01-01"),
    ),
    Case(
        "is_newest_within",
        "sensitive",
        {"column": "t", "interval": 1},
        (TIME, [at("2020-01-01")]),
        failed(detail="‹redacted›"),
        table={"sensitive": ["t"]},
    ),
    Case(
        "is_newest_within",
        "unknown period",
        {"column": "t", "interval": 1, "period": "decade"},
        (TIME, []),
        refused("RECIPE_DOCUMENT_INVALID"),
    ),
    Case("is_newest_within", "no interval", {"column": "t", "interval": 0}, (TIME, []), refused("RECIPE_DOCUMENT_INVALID")),
]

test_cases = run_cases(
    [*_valid("is_valid_date", "date_format"), *_valid("is_valid_timestamp", "timestamp_format"), *OLDER, *FUTURE, *FRESH, *NEWEST]
)


def _answer(expression: Any) -> Any:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        (answered,) = connection.execute(f"SELECT {expression.sql('duckdb')}").fetchall()
    return answered[0]


def _micros(text: str) -> int:
    return (at(text) - at("1970-01-01")) // dt.timedelta(microseconds=1)


CAST = [
    ("2024", "2024-01-01"), ("2024-02", "2024-02-01"), ("+2024-2-9", "2024-02-09"), ("\t2024-02-09\n", "2024-02-09"),
    ("2024-02-09 10", "2024-02-09T10:00:00"), ("2024-02-09T1:2:3", "2024-02-09T01:02:03"), ("2024-02-09 10:00:00.", "2024-02-09T10:00:00"),
    ("2024-02-09 10:00:00.1234567", "2024-02-09T10:00:00.123456"), ("2024-02-09T10:00:00Z", "2024-02-09T10:00:00"),
    ("2024-02-09 10:00:00+2", "2024-02-09T08:00:00"), ("2024-02-09 10:00:00 +02:30", "2024-02-09T07:30:00"),
    ("2024-02-09 10:00:00-0230", "2024-02-09T12:30:00"), ("2024-02-09 10:00:00UTC+2:5", "2024-02-09T07:55:00"),
    ("2024-02-09 10:00:00 Europe/Paris", "2024-02-09T09:00:00"), ("2024-02-09 10:00:00 PST", "2024-02-09T18:00:00"),
    ("12:30", "2026-03-01T12:30:00"), ("T7", "2026-03-01T07:00:00"), ("0001-01-01", "0001-01-01"),
]  # fmt: skip

NO_CAST = [
    "", " ", "24", "20240229", "2023-02-29", "2024-13-01", "2024-", "2024-02-09T", "2024-02-09Z", "2024-02-09 10:00Z", " T7", "-12:30",
    "12:",
    "2024-02-09 24:00:00", "2024-02-09 10:60", "2024-02-09 10:00:60", "2024-02-09 10:00:00+18:01", "2024-02-09 10:00:00 GMT-030",
    "2024-02-09 10:00:00 Nope/Zone", "2024-02-09 10:00:00z", "2024-02-09 10:00:00.5.", "294248-01-01", "1234567-01-01", "٢٠٢٤",
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CAST)
def test_text_is_cast_to_a_timestamp_as_in_spark(text: str, expected: str) -> None:
    assert _answer(text_as_microseconds(sql.text(text), NOW)) == _micros(expected)


@pytest.mark.parametrize("text", NO_CAST)
def test_text_that_is_no_timestamp_is_unknown(text: str) -> None:
    assert _answer(text_as_microseconds(sql.text(text), NOW)) is None


def test_years_that_no_python_date_holds_are_counted() -> None:
    assert _answer(text_as_microseconds(sql.text("294247-01-10T04:00:54.775807Z"), NOW)) == LAST
    assert _answer(text_as_microseconds(sql.text("-290308-12-21 19:59:05.224192"), NOW)) == -LAST - 1
    assert _answer(text_as_days(sql.text("-0001-02-28"))) == _answer(text_as_days(sql.text("-0001-03-01"))) - 1


@pytest.mark.parametrize(
    ("text", "day"), [("2024-02-09", 19762), ("2024-2-9Tanything", 19762), ("2024-02-09 99", 19762), ("1970", 0), ("1970-01-02x", None)]
)
def test_text_is_cast_to_a_date_as_in_spark(text: str, day: int | None) -> None:
    assert _answer(text_as_days(sql.text(text))) == day


FORMATS = [
    ("yyyy-MM-dd", ["2024-02-29", "2000-02-29", "+10000-01-01", "-0001-01-01", "0000-02-29"],
     ["1900-02-29", "10000-01-01", "-0000-01-01", "2024-2-9", "2024-02-29 ", "2024-02-29\n", "+294248-01-01"]),
    ("yyyy-M-d", ["2024-2-9", "2024-02-09"], ["2024-2-30", "2024-0-1"]),
    ("yyyy-mm-dd", ["2024-59-31"], ["2024-60-01"]),
    ("yy-MM-dd", ["00-02-29"], ["99-02-29", "2024-02-29"]),
    ("MM-dd", ["02-28"], ["02-29"]),
    ("yyyyMMdd", ["20240229"], ["20230229", "202402290", "2024022"]),
    ("yyyyMMddHHmmss", ["20240229235959"], ["20240229240000"]),
    ("ddMMyyyy", ["29022024"], ["30022024"]),
    ("MMM d, yyyy", ["Feb 29, 2024", "FEB 29, 2024"], ["February 29, 2024", "Feb 30, 2024"]),
    ("d MMMM yyyy", ["29 february 2024", "5 May 2024"], ["31 June 2024"]),
    ("hh:mm a", ["12:00 AM", "01:59 pm"], ["00:10 AM", "13:00 PM"]),
    ("HH:mm a", ["13:00 PM", "11:00 AM"], ["13:00 AM", "11:00 PM"]),
    ("yyyy-DDD", ["2024-366", "2023-365"], ["2023-366", "2023-000"]),
    ("G yyyy-MM-dd", ["AD 2024-02-29", "BC 0001-02-29"], ["BC 0002-02-29", "AD 2023-02-29"]),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", ["2024-02-29T10:00:00.1Z", "2024-02-29T10:00:00.123+02:00"],
     ["2024-02-29T10:00:00Z", "2024-02-29T10:00:00.1+18:01"]),
    ("yyyy-MM-dd[ HH:mm]", ["2024-02-29", "2024-02-29 10:00"], ["2024-02-30 10:00"]),
    ("[yyyy-MM-dd][dd/MM/yyyy]", ["2024-02-29", "29/02/2024"], ["30/02/2024"]),
    ("yyyy-MM-dd yyyy", ["2024-02-29 2024"], ["2024-02-29 2023"]),
    ("yyyy VV", ["2024 Europe/Paris", "2024 Z", "2024 UTC+01:00"], ["2024 Nope/X"]),
    ("'o''clock' HH", ["o'clock 10"], ["oclock 10"]),
]  # fmt: skip


@pytest.mark.parametrize(("written", "fitting", "others"), FORMATS, ids=[one[0] for one in FORMATS])
def test_a_format_is_read_as_in_spark(written: str, fitting: list[str], others: list[str]) -> None:
    answers = {text: _answer(time_format(written).fits(sql.text(text))) for text in [*fitting, *others]}
    assert answers == dict.fromkeys(fitting, True) | dict.fromkeys(others, False)


REFUSED = [
    "",
    "{",
    "YYYY",
    "ww",
    "E",
    "n",
    "T",
    "V",
    "z",
    "aa",
    "DDDD",
    "MMMMM",
    "yyyyyyy",
    "SSSSSSSSSS",
    "yyyy'T",
    "[yyyy",
    "yyyy]",
    "dM",
    "yyyyMMddSSS",
    "h H",
    "yyyy-D-d",
]


@pytest.mark.parametrize("written", REFUSED)
def test_a_format_that_means_nothing_is_refused(written: str) -> None:
    with pytest.raises(FormatRefused):
        time_format(written)
