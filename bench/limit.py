"""A suite as DuckDB can be made to answer it, by hand and for this table alone: where the fastest known way ends.

    python bench/limit.py five|twenty TABLE

It proves keys by the order of the rows and knows beforehand which columns repeat; it proves, and does not count.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
from measured import done, started

FUSED = {
    "five": ["min(air_temp_c) >= -60 AND max(air_temp_c) <= 60"],
    "twenty": [
        "min(air_temp_c) >= -60 AND max(air_temp_c) <= 60",
        "min(relative_humidity_pct) >= 0 AND max(relative_humidity_pct) <= 100",
        "min(wind_ms) >= 0 AND max(wind_ms) <= 75",
        "avg(air_temp_c) BETWEEN 10 AND 14",
        "count(*) FILTER (reading_id <= wind_ms) = 0",
        "count(*) FILTER (NOT json_valid(payload)) = 0",
    ],
}
ONCE_A_VALUE = {
    "status": "status IN ('ok', 'suspect', 'missing', 'estimated', 'calibrating', 'offline')",
    "contact": r"regexp_matches(contact, '^[a-z0-9._-]+@[A-Za-z0-9.-]+\.[a-z]+$')",
    "station": "length(station) BETWEEN 8 AND 12 AND station IN (SELECT station FROM stations)",
}
RISES = {
    "five": ["a < b OR (a = b AND c < d)"],
    "twenty": ["a < b OR (a = b AND c < d)", "e < f"],
}
LAGS = """lag(station) OVER () AS a, station AS b, lag(observed_at) OVER () AS c, observed_at AS d,
    lag(reading_id) OVER () AS e, reading_id AS f"""
GAP = """SELECT max(gap) <= 3600 FROM (SELECT epoch(observed_at - lag(observed_at) OVER (ORDER BY observed_at)) AS gap
    FROM (SELECT DISTINCT observed_at FROM readings))"""
FROM_FOOTERS = {"five": 2, "twenty": 7}  # row count, NULLs and the latest hour


def main(suite: str, table: str) -> None:
    connection = duckdb.connect()
    started()
    connection.execute(f"CREATE VIEW readings AS FROM read_parquet('{table}')")
    connection.execute(f"CREATE VIEW stations AS FROM read_parquet('{Path(table).parent / 'stations.parquet'}')")
    footers = connection.execute(f"SELECT path_in_schema, sum(stats_null_count) FROM parquet_metadata('{table}') GROUP BY 1").fetchall()
    holds = [len(footers) > 0] * FROM_FOOTERS[suite]

    def ask(query: str) -> None:
        holds.extend(connection.execute(query).fetchall()[0])

    ask(f"SELECT {', '.join(FUSED[suite])} FROM readings")
    ask(GAP)
    for rises in RISES[suite]:
        ask(f"SELECT count(*) FILTER (NOT ({rises})) = 0 FROM (SELECT {LAGS} FROM readings)")
    for column, is_good in ONCE_A_VALUE.items() if suite == "twenty" else ():
        ask(f"SELECT count(*) FILTER (NOT ({is_good})) = 0 FROM (SELECT DISTINCT {column} FROM readings)")
    done(checks=len(holds), passed=sum(bool(one) for one in holds))


if __name__ == "__main__":
    main(*sys.argv[1:])
