"""Kinds about rows that arrive over time."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from tests.checks.cases import NOW, Case, failed, passed, refused, run_cases

UTC = dt.timezone.utc
AT = {"t": pa.timestamp("us", "UTC")}
NAIVE = {"t": pa.timestamp("ns")}
GROUPED = {"t": pa.timestamp("us", "UTC"), "g": pa.string()}


def at(day: int, hour: int = 0, minute: int = 0, *, month: int = 1, year: int = 2026) -> dt.datetime:
    """An instant in January 2026."""
    return dt.datetime(year, month, day, hour, minute, tzinfo=UTC)


HOURS = [at(5, 10), at(5, 10, 14), at(5, 10, 15), at(5, 11), at(5, 11, 59), at(5, 12, 30), None]
FRESH = {"column": "t", "window_minutes": 60, "min_records_per_window": 3, "curr_timestamp": "2026-01-05T12:00:00Z"}
DAYS = [at(1, 9), at(2, 23), at(4), at(4, 12), at(8, 1), None]
DAILY = {"column": "t", "window_minutes": 1440}

CASES = [
    Case("is_data_fresh_per_time_window", "enough in every window", {**FRESH, "min_records_per_window": 2}, (AT, HOURS), passed()),
    Case("is_data_fresh_per_time_window", "later rows are not judged", FRESH, (AT, HOURS),
         failed(rows=[3, 4], detail="2 of 7 rows have a t in a window of 60 minutes with fewer than 3 rows")),
    Case("is_data_fresh_per_time_window", "a look back", {**FRESH, "curr_timestamp": "2026-01-05T12:30:00Z", "lookback_windows": 1}, (AT, HOURS),
         failed(rows=[4, 5])),
    Case("is_data_fresh_per_time_window", "now is when the evaluation began", {**FRESH, "curr_timestamp": None, "min_records_per_window": 1}, (AT, [NOW]),
         passed()),
    Case("is_data_fresh_per_time_window", "the filter's rows alone", {**FRESH, "filter": "t <> TIMESTAMPTZ '2026-01-05 10:00:00Z'"}, (AT, HOURS),
         failed(rows=[1, 2, 3, 4])),
    Case("is_data_fresh_per_time_window", "before 1970 too", {**FRESH, "min_records_per_window": 2},
         (AT, [at(1, 0, 10, year=1960), at(1, 0, 50, year=1960), at(1, 1, year=1960)]), failed(rows=[2])),
    Case("is_data_fresh_per_time_window", "dates", {**FRESH, "column": "d", "window_minutes": 1440, "min_records_per_window": 2},
         ({"d": pa.date32()}, [dt.date(2026, 1, 4), dt.date(2026, 1, 4), dt.date(2026, 1, 5)]), failed(rows=[2])),
    Case("is_data_fresh_per_time_window", "only NULLs", FRESH, (AT, [None, None]), passed()),
    Case("is_data_fresh_per_time_window", "no rows", FRESH, (AT, []), passed()),
    Case("is_data_fresh_per_time_window", "an empty window", {**FRESH, "window_minutes": 0}, (AT, []), refused("RECIPE_DOCUMENT_INVALID")),
    Case("is_data_fresh_per_time_window", "a column of numbers", {**FRESH, "column": "n"}, ({"n": pa.int64()}, []),
         refused("DECLARED_CHECK_INVALID", "name a column of dates or timestamps")),
    Case("has_no_gaps_per_time_window", "no gap", DAILY, (AT, [at(1), at(2), at(2, 5), None]), passed()),
    Case("has_no_gaps_per_time_window", "the last window before a gap", DAILY, (AT, DAYS),
         failed(rows=[1, 2, 3], detail="3 of 6 rows have a t in the last window of 1440 minutes before a gap")),
    Case("has_no_gaps_per_time_window", "the next window is no trailing gap", {**DAILY, "trailing_gap": True, "curr_timestamp": "2026-01-09T23:00:00Z"},
         (AT, DAYS), failed(rows=[1, 2, 3])),
    Case("has_no_gaps_per_time_window", "a trailing gap", {**DAILY, "trailing_gap": True, "curr_timestamp": "2026-01-10T00:00:00Z"}, (AT, DAYS),
         failed(rows=[1, 2, 3, 4])),
    Case("has_no_gaps_per_time_window", "a trailing gap until now", {**DAILY, "trailing_gap": True}, (AT, [at(27, month=2), at(28, month=2)]), passed()),
    Case("has_no_gaps_per_time_window", "each group by itself, NULL too", {**DAILY, "group_by": ["g"]},
         (GROUPED, [(at(1), "a"), (at(3), "a"), (at(2), "b"), (at(3), "b"), (at(1), None), (at(5), None)]), failed(rows=[0, 4], detail="per (g)")),
    Case("has_no_gaps_per_time_window", "a filter limits the rows judged, not the gaps", {**DAILY, "filter": "t <> TIMESTAMPTZ '2026-01-03 00:00:00Z'"},
         (AT, [at(1), at(3), at(5)]), failed(rows=[0], detail="1 of 2 rows where")),
    Case("has_no_gaps_per_time_window", "weeks begin on a Thursday", {"column": "t", "window_minutes": 10080},
         (NAIVE, [dt.datetime(2024, 1, 3), dt.datetime(2024, 1, 4), dt.datetime(2024, 1, 18)]), failed(rows=[1])),
    Case("has_no_gaps_per_time_window", "only NULLs", DAILY, (AT, [None]), passed()),
    Case("has_no_gaps_per_time_window", "no rows", {**DAILY, "trailing_gap": True}, (AT, []), passed()),
    Case("has_no_gaps_per_time_window", "an instant that nothing reads", {**DAILY, "curr_timestamp": "2026-01-09T23:00:00Z"}, (AT, []),
         refused("DECLARED_CHECK_INVALID", "states curr_timestamp without trailing_gap")),
]  # fmt: skip

test_cases = run_cases(CASES)
