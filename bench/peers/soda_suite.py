"""A suite in Soda's check language over DuckDB: soda_suite.py five|twenty TABLE."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb
from soda.scan import Scan

sys.path.append(str(Path(__file__).parents[1]))
from measured import done, started

FIVE = """
checks for readings:
  - row_count > 0
  - duplicate_count(station, observed_at) = 0
  - missing_percent(air_temp_c) <= 1
  - invalid_count(air_temp_c) = 0: {valid min: -60, valid max: 60}
  - widest_gap <= 3600:
      widest_gap query: >
        SELECT max(gap) FROM (SELECT epoch(observed_at - lag(observed_at) OVER (ORDER BY observed_at)) AS gap
        FROM (SELECT DISTINCT observed_at FROM readings))
"""
FIFTEEN_MORE = r"""
  - duplicate_count(reading_id) = 0
  - missing_percent(relative_humidity_pct) <= 1
  - missing_percent(wind_ms) <= 1
  - invalid_count(relative_humidity_pct) = 0: {valid min: 0, valid max: 100}
  - invalid_count(wind_ms) = 0: {valid min: 0, valid max: 75}
  - invalid_count(status) = 0: {valid values: [ok, suspect, missing, estimated, calibrating, offline]}
  - invalid_count(contact) = 0: {valid regex: '^[a-z0-9._-]+@[A-Za-z0-9.-]+\.[a-z]+$'}
  - missing_count(station) = 0
  - missing_count(observed_at) = 0
  - invalid_count(station) = 0: {valid min length: 8, valid max length: 12}
  - avg(air_temp_c) between 10 and 14
  - freshness(observed_at) < 100000d
  - values in (station) must exist in stations (station)
  - failed rows: {name: payload is JSON, fail condition: not json_valid(payload)}
  - failed rows: {name: id is above wind, fail condition: not (reading_id > wind_ms)}
"""


def main(suite: str, table: str) -> None:
    connection = duckdb.connect()
    started()
    connection.execute(f"CREATE VIEW readings AS FROM read_parquet('{table}')")
    connection.execute(f"CREATE VIEW stations AS FROM read_parquet('{Path(table).parent / 'stations.parquet'}')")
    scan = Scan()
    scan.disable_telemetry()
    scan.add_duckdb_connection(connection)
    scan.set_data_source_name("duckdb")
    scan.add_sodacl_yaml_str(FIVE if suite == "five" else FIVE + FIFTEEN_MORE.removeprefix("\n"))
    scan.execute()
    outcomes = [check["outcome"] for check in scan.get_scan_results()["checks"]]
    done(checks=len(outcomes), passed=outcomes.count("pass"))


if __name__ == "__main__":
    main(*sys.argv[1:])
