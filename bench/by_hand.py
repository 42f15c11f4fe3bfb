"""A suite as a good engineer writes it by hand in ten minutes: DuckDB, a fused query, GROUP BY for the keys.

    python bench/by_hand.py five|twenty TABLE

Every other figure is a ratio to this one's, from the same round. It lets pass what a hurried engineer lets pass: NaN
in a range, NaN and trailing commas in JSON. It says how many checks hold, not which rows break them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
from measured import done, started

FUSED = {
    "five": "count(*) > 0, count(air_temp_c) >= 0.99 * count(*), min(air_temp_c) >= -60 AND max(air_temp_c) <= 60",
    "twenty": r"""count(*) > 0, count(air_temp_c) >= 0.99 * count(*), count(relative_humidity_pct) >= 0.99 * count(*),
        count(wind_ms) >= 0.99 * count(*), count(*) FILTER (air_temp_c NOT BETWEEN -60 AND 60) = 0,
        count(*) FILTER (relative_humidity_pct NOT BETWEEN 0 AND 100) = 0, count(*) FILTER (wind_ms NOT BETWEEN 0 AND 75) = 0,
        count(*) FILTER (status NOT IN ('ok', 'suspect', 'missing', 'estimated', 'calibrating', 'offline')) = 0,
        count(*) FILTER (NOT regexp_matches(contact, '^[a-z0-9._-]+@[A-Za-z0-9.-]+\.[a-z]+$')) = 0,
        count(station) = count(*), count(observed_at) = count(*), count(*) FILTER (length(station) NOT BETWEEN 8 AND 12) = 0,
        count(*) FILTER (NOT json_valid(payload)) = 0, count(*) FILTER (reading_id <= wind_ms) = 0,
        avg(air_temp_c) >= 10, avg(air_temp_c) <= 14, max(observed_at) >= '2020-09-13',
        count(*) FILTER (station NOT IN (SELECT station FROM stations)) = 0""",
}
GAP = """SELECT max(gap) <= 3600 FROM (SELECT epoch(observed_at - lag(observed_at) OVER (ORDER BY observed_at)) AS gap
    FROM (SELECT DISTINCT observed_at FROM readings))"""
KEYS = {"five": ["station, observed_at"], "twenty": ["station, observed_at", "reading_id"]}


def main(suite: str, table: str) -> None:
    connection = duckdb.connect()
    started()
    connection.execute("SET TimeZone = 'UTC'")
    files = f"{table}/*.parquet" if Path(table).is_dir() else table
    connection.execute(f"CREATE VIEW readings AS FROM read_parquet('{files}')")
    connection.execute(f"CREATE VIEW stations AS FROM read_parquet('{Path(table).parent / 'stations.parquet'}')")
    holds = list(connection.execute(f"SELECT {FUSED[suite]} FROM readings").fetchall()[0])
    for key in KEYS[suite]:
        repeated = f"SELECT {key} FROM readings GROUP BY {key} HAVING count(*) > 1"
        holds.append(connection.execute(f"SELECT count(*) = 0 FROM ({repeated})").fetchall()[0][0])
    holds.append(connection.execute(GAP).fetchall()[0][0])
    done(checks=len(holds), passed=sum(bool(one) for one in holds))


if __name__ == "__main__":
    main(*sys.argv[1:])
