"""Makes the tables that the benchmarks check: hourly readings of weather stations, and the stations beside them.

    python bench/readings.py ROWS TARGET [--order station|time|none] [--broken] [--parts N]

TARGET is a Parquet file, or a folder where there are several parts. Every reading passes both suites, unless `--broken`:
then one row in a thousand breaks each check that judges rows or keys. The same arguments make the same rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb

ROW_GROUP = 122_880

# A row is made from its place alone. `drawn(place, salt)` lies between 0 and 1; `hit(place, salt)` is true of one row in
# a thousand of a broken table, other rows for every salt. A place in the order of the keys becomes a station and an hour.
_MACROS = """
CREATE MACRO number_of(place, salt) AS hash(place::BIGINT + (hash(salt) % 1000000007)::BIGINT * 1000000007);
CREATE MACRO drawn(place, salt) AS (number_of(place, salt) / 18446744073709551616.0);
CREATE MACRO hit(place, salt) AS (getvariable('broken') AND number_of(place, salt) % 1000 = 0);
CREATE MACRO normal(place, salt) AS
    (sqrt(-2 * ln(drawn(place, salt) + 1e-12)) * cos(2 * pi() * drawn(place, salt || ', again')));
CREATE MACRO station_of(number) AS
    printf('WX%05d-%s%s', number, chr((65 + number % 26)::INTEGER), chr((65 + number * 5 % 26)::INTEGER));
"""

_PLACES = """
SELECT CASE WHEN getvariable('is_shuffled') THEN (range * 7368787 + 12345) % getvariable('total') ELSE range END AS place
FROM range(getvariable('first'), getvariable('beyond'))
"""

_KEYED = f"""
SELECT place,
    CASE WHEN hit(place, 'key again') THEN place - 1 ELSE place END AS key_place,
    (CASE WHEN hit(place, 'id again') THEN place - 1 ELSE place END) * 7 + 1000000000 AS reading_id
FROM ({_PLACES})
"""

_LOCATED = f"""
SELECT *,
    CASE WHEN getvariable('by_time') THEN key_place % getvariable('stations')
         ELSE least(key_place // getvariable('hours'), getvariable('stations') - 1) END AS number,
    CASE WHEN getvariable('by_time') THEN key_place // getvariable('stations')
         ELSE key_place - number * getvariable('hours') END AS hour
FROM ({_KEYED})
"""

_READINGS = f"""
SELECT
    CASE WHEN hit(place, 'unknown') THEN 'WX' WHEN hit(place, 'no station') THEN NULL ELSE station_of(number) END AS station,
    TIMESTAMPTZ '2020-09-13 12:00:00+00' + to_hours(hour) AS observed_at,
    CASE WHEN hit(place, 'too hot') THEN 99.5 WHEN drawn(place, 'no temperature') >= 0.003
         THEN least(greatest(round(12 + 9 * normal(place, 'temperature'), 1), -60), 60) END AS air_temp_c,
    CASE WHEN drawn(place, 'no humidity') >= 0.002
         THEN round(least(greatest(62 + 16 * normal(place, 'humidity'), 0), 100), 1)::DECIMAL(5, 2) END AS relative_humidity_pct,
    CASE WHEN hit(place, 'too calm') THEN -1.0 WHEN hit(place, 'above its id') THEN 1e12 WHEN drawn(place, 'no wind') >= 0.001
         THEN round(least(-2 * ln((drawn(place, 'wind') + 1e-12) * (drawn(place, 'gust') + 1e-12)), 75), 1) END AS wind_ms,
    CASE WHEN hit(place, 'bad status') THEN 'broken' WHEN drawn(place, 'status') < 0.9 THEN 'ok'
         ELSE ['suspect', 'missing', 'estimated', 'calibrating', 'offline'][(1 + number_of(place, 'which') % 5)::INTEGER] END AS status,
    CASE WHEN hit(place, 'no contact') THEN 'nobody'
         ELSE concat('crew', reading_id % 40, '@', station_of(number), '.example.org') END AS contact,
    reading_id,
    CASE WHEN hit(place, 'no json') THEN '{{"v":1,}}'
         ELSE concat('{{"v":', reading_id % 97, ',"at":"', station_of(number), '","id":', reading_id, ',"flags":[1,2,',
                     reading_id % 11, ']}}')
         END AS payload
FROM ({_LOCATED})
"""


def write(rows: int, target: Path, *, order: str, broken: bool, parts: int) -> None:
    """Writes the readings, and the stations to stations.parquet beside them."""
    stations = 2_000 if rows >= 1_000_000 else max(1, rows // 100)
    (target if parts > 1 else target.parent).mkdir(parents=True, exist_ok=True)
    settings = {"total": rows, "stations": stations, "hours": rows // stations}
    flags = {"broken": broken, "by_time": order == "time", "is_shuffled": order == "none"}
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(_MACROS)
        for name, value in {**settings, **flags}.items():
            connection.execute(f"SET VARIABLE {name} = {value}")
        for part in range(parts):
            connection.execute(f"SET VARIABLE first = {rows * part // parts}")
            connection.execute(f"SET VARIABLE beyond = {rows * (part + 1) // parts}")
            _copy(connection, _READINGS, target if parts == 1 else target / f"part-{part:05d}.parquet")
        _copy(connection, f"SELECT station_of(range) AS station FROM range({stations})", target.parent / "stations.parquet")


def _copy(connection: duckdb.DuckDBPyConnection, query: str, file: Path) -> None:
    connection.execute(f"COPY ({query}) TO '{file}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=int)
    parser.add_argument("target", type=Path)
    parser.add_argument("--order", choices=("station", "time", "none"), default="station")
    parser.add_argument("--broken", action="store_true")
    parser.add_argument("--parts", type=int, default=1)
    asked = parser.parse_args()
    write(asked.rows, asked.target, order=asked.order, broken=asked.broken, parts=asked.parts)


if __name__ == "__main__":
    main()
