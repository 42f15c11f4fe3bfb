"""A suite as a dataframely schema over polars: dataframely_suite.py five|twenty TABLE."""

from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal
from pathlib import Path

import dataframely as dy
import polars as pl

sys.path.append(str(Path(__file__).parents[1]))
from measured import done, started

KNOWN = ["ok", "suspect", "missing", "estimated", "calibrating", "offline"]
ADDRESS = r"^[a-z0-9._-]+@[A-Za-z0-9.-]+\.[a-z]+$"


def is_measured(column: str) -> pl.Expr:
    return pl.col(column).is_null().mean() <= 0.01


def has_no_gap() -> pl.Expr:
    return pl.col("observed_at").unique().sort().diff().max() <= pl.duration(hours=1)


class Five(dy.Schema):
    station = dy.String(primary_key=True)
    observed_at = dy.Datetime(primary_key=True, time_zone="UTC")
    air_temp_c = dy.Float64(nullable=True, min=-60, max=60)

    @dy.rule()
    def temperature_is_measured(cls) -> pl.Expr:
        return is_measured("air_temp_c")

    @dy.rule()
    def there_are_readings(cls) -> pl.Expr:
        return pl.len() > 0

    @dy.rule()
    def no_hour_is_missing(cls) -> pl.Expr:
        return has_no_gap()


def twenty(registered: pl.Series) -> type[dy.Schema]:
    class Twenty(dy.Schema):
        station = dy.String(primary_key=True, min_length=8, max_length=12, check=lambda one: one.is_in(registered.implode()))
        observed_at = dy.Datetime(primary_key=True, time_zone="UTC")
        air_temp_c = dy.Float64(nullable=True, min=-60, max=60)
        relative_humidity_pct = dy.Decimal(5, 2, nullable=True, min=Decimal(0), max=Decimal(100))
        wind_ms = dy.Float64(nullable=True, min=0, max=75)
        status = dy.String(check=lambda one: one.is_in(KNOWN))
        contact = dy.String(regex=ADDRESS)
        reading_id = dy.Int64(unique=True)
        payload = dy.String(check=lambda one: one.str.json_path_match("$").is_not_null())

        @dy.rule()
        def temperature_is_measured(cls) -> pl.Expr:
            return is_measured("air_temp_c")

        @dy.rule()
        def humidity_is_measured(cls) -> pl.Expr:
            return is_measured("relative_humidity_pct")

        @dy.rule()
        def wind_is_measured(cls) -> pl.Expr:
            return is_measured("wind_ms")

        @dy.rule()
        def there_are_readings(cls) -> pl.Expr:
            return pl.len() > 0

        @dy.rule()
        def no_hour_is_missing(cls) -> pl.Expr:
            return has_no_gap()

        @dy.rule()
        def id_is_above_wind(cls) -> pl.Expr:
            return pl.col("reading_id") > pl.col("wind_ms")

        @dy.rule()
        def mean_is_likely(cls) -> pl.Expr:
            return pl.col("air_temp_c").mean().is_between(10, 14)

        @dy.rule()
        def readings_are_recent(cls) -> pl.Expr:
            return pl.col("observed_at").max() >= dt.datetime(2020, 9, 13, tzinfo=dt.timezone.utc)

    return Twenty


def main(suite: str, table: str) -> None:
    started()
    schema = Five if suite == "five" else twenty(pl.read_parquet(Path(table).parent / "stations.parquet")["station"])
    _, failure = schema.filter(pl.scan_parquet(table).select(schema.column_names()).collect())
    checks = 5 if suite == "five" else 20
    done(checks=checks, passed=checks - len(failure.counts()))


if __name__ == "__main__":
    main(*sys.argv[1:])
