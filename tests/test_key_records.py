"""What the writers of files state of keys: nothing is read where they settle it, and nothing that is not so is ever believed."""

from __future__ import annotations

import datetime as dt
import io
import os
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import fsspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dq_dagster import Limits, Recipe, evaluate, key_records
from dq_dagster.definitions.parquet_files import write_parquet
from dq_dagster.key_recording import record_keys
from dq_dagster.outcomes import Evaluation
from dq_dagster.run import explained
from dq_dagster.tables import open_table

UTC = dt.timezone.utc
HOUR = dt.datetime(2024, 1, 1, tzinfo=UTC)
SEARCHED = Limits(key_records=False)


def recipe(*keys: Sequence[str], **more: Any) -> Recipe:
    checks = [
        {"check_id": f"key_{place}_{kind}", "kind": kind, "enforcement": "required", "columns": list(key)}
        for place, key in enumerate(keys)
        for kind in ("key_uniqueness", "is_unique")
    ]
    return Recipe.model_validate({"recipe": "r", "table": {"name": "t"}, "checks": checks, **more})


def write(path: Path, rows: pa.Table, *keys: Sequence[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        write_parquet(rows, stream, keys=keys)
    return path


def hours(station: str, first: int, count: int) -> pa.Table:
    instants = pa.array([HOUR + dt.timedelta(hours=first + n) for n in range(count)], pa.timestamp("us", "UTC"))
    return pa.table(
        {"station": pa.array([station] * count, pa.string()), "at": instants, "id": pa.array(range(first, first + count), pa.int64())}
    )


def told(evaluation: Evaluation) -> list[Any]:
    """The outcomes, but for what they cost."""
    return [replace(outcome, seconds=0.0, bytes_scanned=0) for outcome in evaluation.outcomes]


def from_metadata(evaluation: Evaluation) -> bool:
    """Whether no row was read."""
    return evaluation.receipt.bytes_scanned == 0


def checked(table: Path, one: Recipe, **same: Any) -> Evaluation:
    """The evaluation; what it finds is what the rows say, word for word."""
    evaluation = evaluate(one, table, **same)
    assert told(evaluation) == told(evaluate(one, table, limits=SEARCHED))
    return evaluation


KEY = ("station", "at")


def stations(folder: Path) -> Path:
    """Three parts by station, whose rows rise by station and hour."""
    for number, station in enumerate("ABC"):
        write(folder / f"{number}.parquet", hours(station, 0, 50), KEY)
    return folder


def days(folder: Path) -> Path:
    """Three parts by time: each has every station, and the hours of no other."""
    for number in range(3):
        rows = pa.concat_tables([hours(station, 24 * number, 24) for station in "ABC"]).sort_by(
            [("at", "ascending"), ("station", "ascending")]
        )
        write(folder / f"{number}.parquet", rows, KEY)
    return folder


@pytest.mark.parametrize("make", [stations, days])
def test_a_key_of_parts_that_lie_apart_is_known_without_reading_a_row(make: Callable[[Path], Path], tmp_path: Path):
    evaluation = checked(make(tmp_path / "t"), recipe(KEY))
    assert [outcome.status for outcome in evaluation.outcomes] == ["passed", "passed"]
    assert from_metadata(evaluation)


def test_what_holds_of_some_columns_holds_of_more(tmp_path: Path):
    write(tmp_path / "t.parquet", hours("A", 0, 9).append_column("note", pa.nulls(9, pa.string())), ("id",))
    assert from_metadata(checked(tmp_path / "t.parquet", recipe(("note", "id"))))
    assert not from_metadata(checked(tmp_path / "t.parquet", recipe(("note",))))


def test_the_plan_says_so(tmp_path: Path):
    table = stations(tmp_path / "t")
    assert "from metadata, no row is read: KEY_0_KEY_UNIQUENESS, KEY_0_IS_UNIQUE" in explained(recipe(KEY), table)
    assert "from metadata" not in explained(recipe(KEY), table, limits=SEARCHED)


def test_a_filter_or_trimmed_text_is_looked_for_in_the_rows(tmp_path: Path):
    table = write(tmp_path / "t.parquet", pa.table({"name": [" a", "a", "b"]}), ("name",))
    check = {"check_id": "a", "kind": "is_unique", "enforcement": "required", "columns": ["name"]}
    one = recipe(checks=[{**check, "trim_strings": True}, {**check, "check_id": "b", "filter": "name <> 'b'"}])
    assert [outcome.status for outcome in checked(table, one).outcomes] == ["failed", "passed"]
    assert [one.checks[place].key(()) for place in (0, 1)] == [None, None]


def duplicated(table: pa.Table) -> pa.Table:
    """The same rows, of which the last is the first once more."""
    return pa.concat_tables([table.slice(0, table.num_rows - 1), table.slice(0, 1)])


def by_arrow(path: Path) -> None:
    pq.write_table(duplicated(pq.read_table(path)), path, store_schema=True)


def by_arrow_with_all_metadata(path: Path) -> None:
    table = duplicated(pq.read_table(path))
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({b"dqkeys01": b"[]"})


def by_duckdb(path: Path) -> None:
    found = duplicated(pq.read_table(path))
    duckdb.connect().from_arrow(found).write_parquet(str(path))


def by_polars(path: Path) -> None:
    pl.DataFrame(duplicated(pq.read_table(path))).write_parquet(path)


def under_the_statement_of_before(path: Path) -> None:
    """The end of the file as it was, behind other rows of the same size."""
    before = path.read_bytes()
    stated = statement(before)
    with io.BytesIO() as stream:
        write_parquet(duplicated(pq.read_table(path)), stream)
        after = stream.getvalue()
    path.write_bytes(after[: -footer_length(after)] + stated + after[-footer_length(after) :])


def under_the_footer_of_another(path: Path) -> None:
    """A footer of other names, behind the rows and the statement as they were."""
    before = path.read_bytes()
    with io.BytesIO() as stream:
        write_parquet(pq.read_table(path).rename_columns(["at_", "at", "station"]).rename_columns(["id", "at", "station"]), stream)
        other = stream.getvalue()
    path.write_bytes(before[: -footer_length(before)] + other[-footer_length(other) :])


def footer_length(content: bytes) -> int:
    return 8 + int.from_bytes(content[-8:-4], "little")


def statement(content: bytes) -> bytes:
    end = content[: -footer_length(content)]
    return end[-key_records.length_of(end[-key_records.TRAILER :]) :]


@pytest.mark.parametrize("rewrite", [by_arrow, by_arrow_with_all_metadata, by_duckdb, by_polars, under_the_statement_of_before])
def test_rows_that_were_written_anew_are_read(rewrite: Callable[[Path], None], tmp_path: Path):
    table = stations(tmp_path / "t")
    rewrite(table / "1.parquet")
    assert [outcome.status for outcome in checked(table, recipe(KEY)).outcomes] == ["failed", "failed"]


def test_a_statement_is_of_one_footer_alone(tmp_path: Path):
    table = write(tmp_path / "t.parquet", hours("A", 0, 50), KEY, ("id",))
    assert open_table(table).is_key(["id"])
    under_the_footer_of_another(table)
    assert not open_table(table).is_key(["id"])


@pytest.mark.parametrize("place", [-1, -9, -10, -14, -30, -60])
def test_a_damaged_statement_states_nothing(place: int, tmp_path: Path):
    table = write(tmp_path / "t.parquet", hours("A", 0, 50), KEY)
    content = bytearray(table.read_bytes())
    content[len(content) - footer_length(bytes(content)) + place] ^= 0x5A
    table.write_bytes(content)
    assert open_table(table).parts[0].ranges == ()
    assert not from_metadata(checked(table, recipe(KEY)))


def test_a_statement_that_claims_to_be_longer_than_the_file_states_nothing(tmp_path: Path):
    table = write(tmp_path / "t.parquet", hours("A", 0, 50))
    content = table.read_bytes()
    at = len(content) - footer_length(content)
    table.write_bytes(content[:at] + bytes(16) + (2**32 - 1).to_bytes(4, "little") + b"dqkeys01" + content[at:])
    assert not from_metadata(checked(table, recipe(KEY)))


def one_part_twice(folder: Path) -> None:
    os.link(folder / "1.parquet", folder / "again.parquet")


def one_part_copied(folder: Path) -> None:
    shutil.copy(folder / "1.parquet", folder / "sub.parquet")


def a_part_that_begins_where_another_ends(folder: Path) -> None:
    write(folder / "more.parquet", hours("B", 49, 50), KEY)


def a_part_inside_another(folder: Path) -> None:
    write(folder / "more.parquet", hours("B", 20, 1), KEY)


def a_part_of_another_writer(folder: Path) -> None:
    pq.write_table(hours("A", 3, 1), folder / "more.parquet")


@pytest.mark.parametrize(
    "add", [one_part_twice, one_part_copied, a_part_that_begins_where_another_ends, a_part_inside_another, a_part_of_another_writer]
)
def test_a_part_that_repeats_what_others_hold_is_found(add: Callable[[Path], None], tmp_path: Path):
    table = stations(tmp_path / "t")
    add(table)
    assert [outcome.status for outcome in checked(table, recipe(KEY)).outcomes] == ["failed", "failed"]


def test_a_part_next_to_another_is_apart(tmp_path: Path):
    table = stations(tmp_path / "t")
    write(table / "more.parquet", hours("B", 50, 50), KEY)
    write(table / "none.parquet", hours("B", 0, 0), KEY)
    assert from_metadata(checked(table, recipe(KEY)))


def instants(unit: str, *ticks: int) -> pa.Array:
    return pa.array(ticks, pa.timestamp(unit, "UTC"))


def cents(*amounts: str) -> pa.Array:
    return pa.array([Decimal(amount) for amount in amounts], pa.decimal128(9, 2))


WRITTEN_OF: dict[str, tuple[pa.Array, pa.Array, bool]] = {
    "integers": (pa.array([1, 2]), pa.array([3, 4]), True),
    "unsigned": (pa.array([1, 2**63], pa.uint64()), pa.array([2**63 + 1], pa.uint64()), True),
    "widths that differ": (pa.array([1, 2], pa.int32()), pa.array([3, 4], pa.int64()), False),
    "seconds and milliseconds, both stored as milliseconds": (instants("s", 5, 6), instants("ms", 7, 8), True),
    "seconds and milliseconds that overlap": (instants("s", 1, 2), instants("ms", 1500, 2000), True),
    "nanoseconds": (instants("ns", 1, 2), instants("ns", 3), True),
    "days": (pa.array([1, 2], pa.date32()), pa.array([3], pa.date32()), True),
    "milliseconds of a day, stored as one day": (pa.array([0, 1], pa.date64()), pa.array([86_400_000], pa.date64()), False),
    "truth": (pa.array([False]), pa.array([True]), True),
    "decimals": (cents("-1.50", "0.10"), cents("0.11"), True),
    "wide decimals": (pa.array([Decimal(10**60)], pa.decimal256(70, 0)), pa.array([Decimal(10**60 + 1)], pa.decimal256(70, 0)), True),
    "floats": (pa.array([1.0, 2.0]), pa.array([3.0]), False),
    "zeros": (pa.array([-0.0]), pa.array([0.0]), False),
    "text by code point": (pa.array(["Z", "a", "é", "\uffff"]), pa.array(["\U0001f600"]), True),
    "large text": (pa.array(["a", "b"], pa.large_string()), pa.array(["c"], pa.large_string()), True),
    "a dictionary": (pa.array(["a", "b"]).dictionary_encode(), pa.array(["c"]).dictionary_encode(), True),
    "long text": (pa.array(["a", "b" * 1001]), pa.array(["c"]), False),
    "bytes": (pa.array([b"a"]), pa.array([b"b"]), False),
    "NULL": (pa.array([1, None]), pa.array([3]), False),
    "rows that fall": (pa.array([2, 1]), pa.array([3]), False),
    "rows that stay": (pa.array([1, 1]), pa.array([3]), False),
    "lists": (pa.array([[1], [2]]), pa.array([[3]]), False),
}


@pytest.mark.parametrize("name", WRITTEN_OF)
def test_what_can_be_stated_of_a_type(name: str, tmp_path: Path):
    first, second, is_stated = WRITTEN_OF[name]
    for number, values in enumerate((first, second)):
        write(tmp_path / "t" / f"{number}.parquet", pa.table({"k": values}), ("k",))
    stored = open_table(tmp_path / "t")
    assert stored.is_key(["k"]) == (is_stated and "overlap" not in name)
    if name not in ("lists", "bytes"):
        checked(tmp_path / "t", recipe(("k",)))


def test_a_column_that_is_there_twice_or_in_folder_names_is_none_of_a_key(tmp_path: Path):
    twice = pa.Table.from_arrays([pa.array([1, 2]), pa.array([1, 1])], ["k", "k"])
    assert not open_table(write(tmp_path / "twice.parquet", twice, ("k",))).is_key(["k"])
    for day in (1, 2):
        write(tmp_path / "t" / f"day={day}" / "p.parquet", hours("A", 0, 5), KEY)
    assert [outcome.status for outcome in checked(tmp_path / "t", recipe((*KEY, "day"), KEY)).outcomes] == [
        "passed",
        "passed",
        "failed",
        "failed",
    ]


def test_a_part_that_lacks_a_column_states_nothing_of_it(tmp_path: Path):
    write(tmp_path / "t" / "0.parquet", hours("A", 0, 5), ("id",))
    write(tmp_path / "t" / "1.parquet", hours("A", 9, 0).drop_columns(["id"]), ("id",))
    assert [outcome.status for outcome in checked(tmp_path / "t", recipe(("id",))).outcomes] == ["passed", "passed"]


def test_rows_are_watched_over_all_batches(tmp_path: Path):
    batches = [hours("A", 0, 5).to_batches()[0], hours("A", 5, 5).to_batches()[0], hours("A", 4, 1).to_batches()[0]]
    for count, is_key in ((2, True), (3, False)):
        with (tmp_path / "t.parquet").open("wb") as stream:
            write_parquet(iter(batches[:count]), stream, keys=[KEY])
        assert open_table(tmp_path / "t.parquet").is_key(KEY) is is_key


def test_every_reader_reads_a_file_that_states_keys(tmp_path: Path):
    rows = hours("A", 0, 5000)
    path = write(tmp_path / "t.parquet", rows, KEY, ("id",))
    assert pq.read_table(path) == rows
    assert pl.read_parquet(path).height == pl.scan_parquet(path).select(pl.len()).collect().item() == 5000
    assert duckdb.connect().read_parquet(str(path)).aggregate("count(*), sum(id)").fetchall() == [(5000, sum(range(5000)))]
    assert pq.ParquetFile(path, page_checksum_verification=True).read() == rows
    assert checked(path, recipe(KEY), limits=Limits(verify_checksums=True)).failure is None


def test_a_file_that_is_there_is_given_its_statement_afterwards(tmp_path: Path):
    for number, station in enumerate("AB"):
        (tmp_path / "t").mkdir(exist_ok=True)
        pq.write_table(hours(station, 0, 50), tmp_path / "t" / f"{number}.parquet", row_group_size=7, write_page_index=True)
    (tmp_path / "t" / ".0.parquet.crc").write_bytes(b"of the file as it was")
    record_keys(tmp_path / "t", [KEY])
    assert from_metadata(checked(tmp_path / "t", recipe(KEY)))
    assert pq.read_table(tmp_path / "t").num_rows == 100
    assert not (tmp_path / "t" / ".0.parquet.crc").exists()


def test_a_remote_file_states_keys_too():
    filesystem = fsspec.filesystem("memory")
    for number, station in enumerate("AB"):
        with filesystem.open(f"/stated/t/{number}.parquet", "wb") as stream:
            write_parquet(hours(station, 0, 40_000), stream, keys=[KEY])
    assert from_metadata(evaluate(recipe(KEY), "memory://stated/t"))
    assert not from_metadata(evaluate(recipe(KEY), "memory://stated/t", limits=SEARCHED))


CELLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int64(), [0, 1, 2, 3, None]),
    "s": (pa.string(), ["", "a", "b", "é"]),
    "t": (pa.timestamp("ms"), [dt.datetime(2024, 1, day) for day in (1, 2, 3)]),
}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 12), st.sampled_from([("i",), ("s",), ("i", "s"), ("t", "i"), ("i", "t", "s")])
)
def test_whatever_is_stated_the_outcomes_are_those_of_the_rows(seed: int, parts: int, rows: int, key: tuple[str, ...]):
    """Rows in some order, cut into parts at random: mostly sorted, sometimes with a repeat or a NULL."""
    chance = random.Random(seed)
    order = chance.choice([key, (*key[1:], key[0])])
    drawn = [{name: chance.choice(values[: chance.choice([2, 4, 5])]) for name, (_, values) in CELLS.items()} for _ in range(rows)]
    if chance.random() < 0.9:
        drawn = list({tuple(row[name] for name in key): row for row in drawn}.values())
        drawn.sort(
            key=lambda row: (
                [(row[name] is None, row[name] if row[name] is not None else 0) for name in order] if None not in row.values() else []
            )
        )
    with TemporaryDirectory() as folder:
        cuts = sorted(chance.randint(0, len(drawn)) for _ in range(parts - 1))
        for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(drawn)], strict=True)):
            columns = {name: pa.array([row[name] for row in drawn[start:stop]], kind) for name, (kind, _) in CELLS.items()}
            write(Path(folder) / f"{number}.parquet", pa.table(columns), key)
        checked(Path(folder), recipe(key))
