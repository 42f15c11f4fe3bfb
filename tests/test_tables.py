"""Tables as stored: which files they are, what type each column has, and what the footers know."""

from __future__ import annotations

import datetime as dt
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster.damage import find_fault, verify_checksums
from dq_dagster.errors import TableUnreadable
from dq_dagster.tables import is_unchanged, open_files, open_table

ODD_NAMES = ["a b", "it's", "st*r", "q?", "é🚀", "50%25", "a#b", "{a,b}", "semi;colon", "k=v", "back\\slash", "[x]", 'say "hi"']


def write(path: Path, table: pa.Table | Mapping[str, Any], **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as stream:
        pq.write_table(table if isinstance(table, pa.Table) else pa.table(dict(table)), stream, **options)
    return path


def refusal(place: Any, **options: Any) -> str:
    with pytest.raises(TableUnreadable) as caught:
        open_table(place, **options)
    assert caught.value.failure_code == "DECLARED_CHECK_UNREADABLE"
    assert caught.value.place == str(place)
    return caught.value.what


# ---------------------------------------------------------------- which files make up a table


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_path_is_a_path(tmp_path: Path, name: str) -> None:
    for neighbour in ("q2", "stX-r", "x", "a"):  # what a pattern would match too
        write(tmp_path / f"{neighbour}.parquet", {"v": [9] * 7})
        write(tmp_path / neighbour / "part.parquet", {"v": [9] * 7})
    as_file = write(tmp_path / f"{name}.parquet", {"v": [1, 2]})
    in_folder = write(tmp_path / name / f"{name}.parquet", {"v": [1, 2, 3]})
    table = open_table(str(as_file))
    assert (table.rows, table.parts[0].path, table.place) == (2, str(as_file), str(as_file))
    folder = open_table(tmp_path / name)
    assert (folder.rows, folder.parts[0].path) == (3, str(in_folder))
    assert [column.name for column in folder.columns] == ["v"]  # a root or a file named k=v gives no column


def test_names_that_open_with_underscore_or_dot_are_not_data(tmp_path: Path) -> None:
    root = tmp_path / "_candidate.parquet"  # the root itself may be named so
    write(root / "b.parquet", {"v": [1]})
    write(root / "a" / "c.parquet", {"v": [2]})
    for hidden in ("_temporary/0/part.parquet", ".part.parquet", "a/_delta/x.parquet", ".hidden/x.parquet"):
        write(root / hidden, {"v": [9]})
    (root / "_SUCCESS").touch()
    (root / ".part.parquet.crc").write_bytes(b"crc\x00")
    table = open_table(root)
    assert [part.name for part in table.parts] == ["a/c.parquet", "b.parquet"]
    assert table.rows == 2


def test_links_are_followed_and_never_in_circles(tmp_path: Path) -> None:
    elsewhere = write(tmp_path / "elsewhere" / "part.parquet", {"v": [1]})
    root = tmp_path / "table"
    write(root / "own.parquet", {"v": [2]})
    (root / "linked").symlink_to(elsewhere.parent)
    (root / "linked.parquet").symlink_to(elsewhere)
    (root / "linked" / "_up").symlink_to(root)
    (root / "up").symlink_to(root)
    assert [part.name for part in open_table(root).parts] == ["linked.parquet", "linked/part.parquet", "own.parquet"]
    (root / "gone.parquet").symlink_to(tmp_path / "nowhere")
    assert refusal(root) == "'gone.parquet' is not there; check the path, or write the table before checking it"


def test_a_path_that_climbs_follows_links_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "deep" / "t.parquet", {"v": [1]})
    write(tmp_path / "t.parquet", {"v": [1, 2]})
    (tmp_path / "deep" / "inner").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "inner")
    monkeypatch.chdir(tmp_path)
    assert open_table("link/../t.parquet").rows == 1
    assert open_table("t.parquet").parts[0].path == str(tmp_path / "t.parquet")
    assert open_table(f"file://{tmp_path}/t.parquet").rows == 2


def _damaged_footer(whole: bytes) -> bytes:
    return whole[:-60] + b"\xff" * 52 + whole[-8:]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda whole: b"", " is empty (0 bytes), so whatever wrote it did not finish; write it again"),
        (lambda whole: whole[: len(whole) // 2], " begins as a Parquet file and does not end as one: it was cut short; write it again"),
        (lambda whole: whole[:-1], " begins as a Parquet file and does not end as one: it was cut short; write it again"),
        (lambda whole: b"PAR1", " begins as a Parquet file and does not end as one: it was cut short; write it again"),
        (lambda whole: b"secret,cell\n", " is not a Parquet file"),
        (lambda whole: b"x", " is not a Parquet file"),
        (_damaged_footer, " has a damaged Parquet footer, so nothing in it can be read; write it again"),
        (
            lambda whole: b"PAR1" + whole[-8:-4] + b"PAR1",
            " states a footer of 456 bytes and holds 12: it is damaged; write it again",
        ),
        (lambda whole: whole[:-4] + b"PARE", " has an encrypted footer, which cannot be read here; write it unencrypted"),
    ],
    ids=["zero bytes", "cut in half", "one byte short", "magic only", "text", "one byte", "damaged footer", "footer beyond", "encrypted"],
)
def test_a_file_that_is_no_parquet_is_named(tmp_path: Path, change: Any, what: str) -> None:
    good = write(tmp_path / "table" / "a.parquet", {"v": [1, 2]})
    changed = change(good.read_bytes())
    length = int.from_bytes(good.read_bytes()[-8:-4], "little")
    what = what.replace("456", str(length))
    (alone := tmp_path / "alone.parquet").write_bytes(changed)
    assert refusal(alone) == "the file" + what
    (tmp_path / "table" / "b.parquet").write_bytes(changed)
    hint = "; take it out of the folder, or rename it so that its name opens with '_'" if what == " is not a Parquet file" else ""
    assert refusal(tmp_path / "table") == "file 'b.parquet'" + what + hint


def test_nothing_there_is_said(tmp_path: Path) -> None:
    missing = "the table is not there; check the path, or write the table before checking it"
    assert refusal(tmp_path / "missing.parquet") == missing
    assert refusal(write(tmp_path / "t.parquet", {"v": [1]}) / "below.parquet") == missing
    (tmp_path / "empty" / "_hidden").mkdir(parents=True)
    assert refusal(tmp_path / "empty") == (
        "no data file is there (names that open with '_' or '.' are not data); write the table before checking it"
    )
    assert refusal("a\0b") == "the path holds a NUL character, which no path can; check it"
    assert refusal("nosuchprotocol://a/b").startswith("no file system could be opened for this address (ValueError)")


def test_a_stray_file_is_named(tmp_path: Path) -> None:
    write(tmp_path / "t" / "a.parquet", {"v": [1]})
    (tmp_path / "t" / "README.md").write_text("hello")
    assert refusal(tmp_path / "t").startswith("file 'README.md' is not a Parquet file; take it out")


def test_a_pipe_and_a_name_that_is_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    os.mkfifo(tmp_path / "p" / "pipe.parquet")
    assert refusal(tmp_path / "p") == "file 'pipe.parquet' is neither a file nor a folder; move it out of the table"
    (tmp_path / "n").mkdir()
    open(os.fsencode(tmp_path / "n") + b"/\xff.parquet", "wb").close()
    assert refusal(tmp_path / "n") == "file '\\udcff.parquet' has a name that is not UTF-8; rename it"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    part = write(tmp_path / "t" / "sub" / "a.parquet", {"v": [1]})
    part.chmod(0)
    assert refusal(tmp_path / "t") == "file 'sub/a.parquet' may not be read by this process; grant it read access"
    part.parent.chmod(0)
    try:
        assert refusal(tmp_path / "t") == "'sub' may not be read by this process; grant it read access"
    finally:
        part.parent.chmod(0o755)


def test_a_file_without_columns_opens(tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "t.parquet", {}))
    assert (table.rows, table.columns, table.null_count("v")) == (0, (), None)


# ---------------------------------------------------------------- columns over parts


@dataclass(frozen=True)
class Parts:
    title: str
    parts: tuple[Mapping[str, Any], ...]
    columns: Mapping[str, pa.DataType]
    nulls: Mapping[str, int | None]
    extremes: Mapping[str, tuple[Any, Any] | None]
    conflicts: Mapping[str, str] | None = None


D = Decimal
PARTS = [
    Parts(
        "decimals of two scales",
        ({"x": pa.array([D("99.99")], pa.decimal128(10, 2))}, {"x": pa.array([D("100.0049"), None], pa.decimal128(10, 4))}),
        {"x": pa.decimal128(12, 4)},
        {"x": 1},
        {"x": (D("99.99"), D("100.0049"))},
    ),
    Parts(
        "ms, us and ns",
        tuple({"t": pa.array([value], pa.timestamp(unit))} for value, unit in ((0, "ms"), (1_000_000, "us"), (2_000_000_001, "ns"))),
        {"t": pa.timestamp("ns")},
        {"t": 0},
        {"t": (0, 2_000_000_001)},
    ),
    Parts(
        "a column that only later parts have, and one that they lack",
        ({"a": [1, 2], "old": [1, 2]}, {"b": ["ok", None], "a": [3, 4]}),
        {"a": pa.int64(), "old": pa.int64(), "b": pa.string()},
        {"a": 0, "old": 2, "b": 3},
        {"a": (1, 4), "old": (1, 2), "b": None},
    ),
    Parts("bigint, then double", ({"x": [1]}, {"x": [100.4]}), {"x": pa.float64()}, {"x": 0}, {"x": None}),
    Parts(
        "bigint too long for a double",
        ({"x": [2**53 + 1]}, {"x": [100.4]}),
        {"x": pa.int64()},
        {"x": None},
        {"x": None},
        {"x": "column 'x' is bigint in 'p0.parquet', double in 'p1.parquet', and no type keeps every value exactly; "
              "write its parts with one type"},
    ),
    Parts(
        "a bigint part without values, and double",
        ({"x": pa.nulls(2, pa.int64())}, {"x": [0.5]}),
        {"x": pa.float64()},
        {"x": 2},
        {"x": None},
    ),
    Parts("null and integer", ({"x": pa.nulls(3)}, {"x": [5]}), {"x": pa.int64()}, {"x": 3}, {"x": (5, 5)}),
    Parts(
        "signed and unsigned 64 bits",
        ({"x": pa.array([2**64 - 1], pa.uint64())}, {"x": [-(2**63)]}),
        {"x": pa.decimal128(20, 0)},
        {"x": 0},
        {"x": (D(-(2**63)), D(2**64 - 1))},
    ),
    Parts(
        "date and timestamp",
        ({"x": [dt.date(1970, 1, 2)]}, {"x": pa.array([-1], pa.timestamp("ms", "UTC"))}),
        {"x": pa.timestamp("ms", "UTC")},
        {"x": 0},
        {"x": (-1, 86_400_000)},
    ),
    Parts(
        "text and number",
        ({"x": ["secret"], "y": [1]}, {"x": [7], "y": [2]}),
        {"x": pa.string(), "y": pa.int64()},
        {"x": None, "y": 0},
        {"x": None, "y": (1, 2)},
        {"x": "column 'x' is varchar in 'p0.parquet', bigint in 'p1.parquet', and no type keeps every value exactly; "
              "write its parts with one type"},
    ),
    Parts("no rows in the first part", ({"x": pa.array([], pa.int64())}, {"x": [None, 4]}), {"x": pa.int64()}, {"x": 1}, {"x": (4, 4)}),
]  # fmt: skip


@pytest.mark.parametrize("case", PARTS, ids=lambda case: case.title)
def test_parts_are_joined_by_column_name(tmp_path: Path, case: Parts) -> None:
    for at, part in enumerate(case.parts):
        write(tmp_path / f"p{at}.parquet", part)
    table = open_table(tmp_path)
    assert {column.name: column.type for column in table.columns} == dict(case.columns)
    assert list(case.columns) == [column.name for column in table.columns]
    assert {name: table.null_count(name) for name in case.nulls} == dict(case.nulls)
    assert {name: table.extremes(name) for name in case.extremes} == dict(case.extremes)
    assert table.conflicts == (case.conflicts or {})


def test_two_columns_of_one_name_are_a_conflict(tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", pa.Table.from_arrays([pa.array([1]), pa.array(["a"]), pa.array([3])], names=["x", "x", "X"]))
    table = open_table(tmp_path)
    assert table.conflicts == {"x": "file 't.parquet' carries two columns named 'x', and neither can be told from the other; rename one"}
    assert [(column.name, column.type) for column in table.columns] == [("x", pa.int64()), ("X", pa.int64())]
    assert (table.null_count("x"), table.extremes("x"), table.null_count("X")) == (None, None, 0)
    assert open_table(pq.ParquetFile(tmp_path / "t.parquet").read()).conflicts.keys() == {"x"}


def test_columns_are_matched_code_point_by_code_point(tmp_path: Path) -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    table = open_table(write(tmp_path / "t.parquet", {composed: [1, None], decomposed: [None, None], "": [1, 2], "K": [1, 1]}))
    assert (table.null_count(composed), table.null_count(decomposed), table.null_count("")) == (1, 2, 0)
    assert table.column("k") is None


# ---------------------------------------------------------------- hive folders


def test_hive_folders_give_text_columns(tmp_path: Path) -> None:
    root = tmp_path / "above=1" / "table"
    for value, rows in (("__HIVE_DEFAULT_PARTITION__", 1), ("a%20b%2Fc", 2), ("S%C3%A3o", 3), ("", 4)):
        write(root / f"k={value}" / "p.parquet", {"v": [1] * rows})
    table = open_table(root)
    assert {part.rows: part.keys["k"] for part in table.parts} == {1: None, 2: "a b/c", 3: "São", 4: ""}
    assert [(column.name, column.type, column.from_path) for column in table.columns] == [
        ("v", pa.int64(), False),
        ("k", pa.string(), True),
    ]
    assert (table.null_count("k"), table.extremes("k"), table.bytes_of(["k"])) == (1, None, 0)


def test_a_recipe_types_hive_columns(tmp_path: Path) -> None:
    for value in ("1", "10"):
        write(tmp_path / f"d={value}" / f"at%3D=2024-01-0{value[0]}" / "p.parquet", {"v": [1]})
    table = open_table(tmp_path, types={"d": "integer", "at=": "timestamptz", "v": "varchar"})
    assert {column.name: column.type for column in table.columns} == {"v": pa.int64(), "d": pa.int32(), "at=": pa.timestamp("us", "UTC")}
    write(tmp_path / "d=x" / "p.parquet", {"v": [1]})
    assert refusal(tmp_path, types={"d": "integer"}) == (
        "the folder of file 'd=x/p.parquet' gives column 'd' a value that is no integer, the type the recipe declares; "
        "rename the folder, or declare the column as varchar"
    )
    assert refusal(tmp_path, types={"d": "integr"}).endswith("'integr' is not a known column type; did you mean 'integer'?")


def test_a_stored_column_beats_one_from_the_path(tmp_path: Path) -> None:
    write(tmp_path / "k=a" / "p.parquet", {"k": [1]})
    write(tmp_path / "k=b" / "p.parquet", {"v": [1]})
    table = open_table(tmp_path)
    assert [(column.name, column.type, column.from_path) for column in table.columns] == [
        ("k", pa.int64(), False),
        ("v", pa.int64(), False),
    ]
    assert table.null_count("k") == 1


def test_a_folder_name_that_cannot_be_told_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a" / "k=%FF" / "p.parquet", {"v": [1]})
    assert refusal(tmp_path / "a") == ("file 'k=%FF/p.parquet' is in a folder whose percent-encoding is not UTF-8; rename the folder")
    write(tmp_path / "b" / "k=1" / "k=2" / "p.parquet", {"v": [1]})
    assert refusal(tmp_path / "b") == "file 'k=1/k=2/p.parquet' is in two folders that both give column 'k'; keep one of them"


def test_a_partition_is_its_own_files(tmp_path: Path) -> None:
    for value, rows in (("1", [5, 6]), ("10", [500]), ("2", [7])):
        write(tmp_path / f"d={value}" / "p.parquet", {"v": rows})
    partition = open_files([str(tmp_path / "d=1")], root=str(tmp_path), types={"d": "integer"})
    assert (partition.rows, partition.extremes("v"), partition.parts[0].keys) == (2, (5, 6), {"d": "1"})
    assert partition.column("d") is not None
    assert open_files(["d=2/p.parquet", "d=10"], root=str(tmp_path)).rows == 2
    write(tmp_path / "d=3" / "p.parquet", {"v": [1]})
    assert is_unchanged(partition)
    with pytest.raises(TableUnreadable, match="'d=4' is not there"):
        open_files(["d=4"], root=str(tmp_path))
    with pytest.raises(TableUnreadable, match="no data file is there"):
        open_files([], root=str(tmp_path))


# ---------------------------------------------------------------- what the footers know

BIG = 10**70
EXTREMES: list[tuple[str, pa.Array, tuple[Any, Any] | None, Mapping[str, Any]]] = [
    ("int8", pa.array([-128, None, 127], pa.int8()), (-128, 127), {}),
    ("uint32", pa.array([0, 2**32 - 1, 2**31], pa.uint32()), (0, 2**32 - 1), {}),
    ("uint64", pa.array([1, 2**64 - 1, 2**63], pa.uint64()), (1, 2**64 - 1), {}),
    ("int64", pa.array([-(2**63), 2**63 - 1]), (-(2**63), 2**63 - 1), {}),
    ("decimal, bytes", pa.array([D("-1.50"), D("2.25")], pa.decimal128(5, 2)), (D("-1.50"), D("2.25")), {}),
    ("decimal, int32", pa.array([D("-1.50"), D("2.25")], pa.decimal128(5, 2)), (D("-1.50"), D("2.25")), {"store_decimal_as_integer": True}),
    (
        "decimal, int64",
        pa.array([D("-1.50"), D("2.25")], pa.decimal128(18, 2)),
        (D("-1.50"), D("2.25")),
        {"store_decimal_as_integer": True},
    ),
    ("decimal, 38 digits", pa.array([D("9" * 38), D("-" + "9" * 38)], pa.decimal128(38, 0)), (D("-" + "9" * 38), D("9" * 38)), {}),
    ("decimal256", pa.array([D(f"{BIG}.1234"), D(-BIG)], pa.decimal256(76, 4)), (D(-BIG), D(f"{BIG}.1234")), {}),
    ("date", pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31)]), (dt.date(1, 1, 1), dt.date(9999, 12, 31)), {}),
    ("date beyond Python's", pa.array([2**30, 0], pa.int32()).cast(pa.date32()), None, {}),
    ("date64", pa.array([0, 86_400_000], pa.date64()), (dt.date(1970, 1, 1), dt.date(1970, 1, 2)), {}),
    ("timestamp in s is stored in ms", pa.array([-1, 5], pa.timestamp("s")), (-1000, 5000), {}),
    ("timestamp in ns", pa.array([-1, 1709287260123456789], pa.timestamp("ns", "Asia/Tokyo")), (-1, 1709287260123456789), {}),
    ("timestamp beyond Python's", pa.array([-(2**62), 2**62], pa.timestamp("us")), (-(2**62), 2**62), {}),
    ("timestamp as int96", pa.array([1, 2], pa.timestamp("ns")), None, {"use_deprecated_int96_timestamps": True}),
    ("dictionary of integers", pa.array([5, None, 7]).dictionary_encode(), (5, 7), {}),
    ("no value", pa.nulls(3, pa.int64()), None, {}),
    ("no statistics", pa.array([1, 2]), None, {"write_statistics": False}),
    ("double", pa.array([1.0, float("nan")]), None, {}),
    ("text", pa.array(["a", "b"]), None, {}),
    ("bytes", pa.array([b"a"]), None, {}),
    ("boolean", pa.array([True, False]), None, {}),
    ("time", pa.array([1], pa.time64("ns")), None, {}),
    ("nested", pa.array([[1, 2]]), None, {}),
]


@pytest.mark.parametrize(("title", "values", "expected", "options"), EXTREMES, ids=[case[0] for case in EXTREMES])
@pytest.mark.parametrize("group", [1, 100])
def test_extremes_are_exact_or_unknown(
    tmp_path: Path, title: str, values: pa.Array, expected: tuple[Any, Any] | None, options: Mapping[str, Any], group: int
) -> None:
    table = open_table(write(tmp_path / "t.parquet", {"x": values}, row_group_size=group, **options))
    found = table.extremes("x")
    assert found == expected
    assert found is None or [type(end) for end in found] == [type(end) for end in expected or ()]


REQUIRED = pa.schema([pa.field("x", pa.int64(), nullable=False)])
NULLS: list[tuple[str, pa.Table, int | None, Mapping[str, Any]]] = [
    ("some", pa.table({"x": [1, None, None]}), 2, {}),
    ("all", pa.table({"x": pa.nulls(3, pa.string())}), 3, {}),
    ("a column of type null", pa.table({"x": pa.nulls(3)}), 3, {}),
    ("text", pa.table({"x": ["a" * 5000, None]}), 1, {}),
    ("NaN is no null", pa.table({"x": [float("nan"), None]}), 1, {}),
    ("dictionary", pa.table({"x": pa.array(["a", None]).dictionary_encode()}), 1, {}),
    ("no statistics", pa.table({"x": [1, None]}), None, {"write_statistics": False}),
    ("no statistics and no null possible", pa.table({"x": [1]}, schema=REQUIRED), 0, {"write_statistics": False}),
    ("list", pa.table({"x": [[1], None]}), None, {}),
    ("struct", pa.table({"x": [{"a": 1}, None]}), None, {}),
    ("map", pa.table({"x": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64()))}), None, {}),
]


@pytest.mark.parametrize(("title", "stored", "expected", "options"), NULLS, ids=[case[0] for case in NULLS])
def test_null_counts_are_exact_or_unknown(
    tmp_path: Path, title: str, stored: pa.Table, expected: int | None, options: Mapping[str, Any]
) -> None:
    path = write(tmp_path / "t.parquet", stored.append_column("after", pa.array([7] * len(stored))), row_group_size=1, **options)
    assert open_table(path).null_count("x") == expected


def test_columns_after_a_nested_one_keep_their_own_figures(tmp_path: Path) -> None:
    nested = pa.array([{"b": [1, 2], "c": {"d": "x"}}], pa.struct([("b", pa.list_(pa.int8())), ("c", pa.struct([("d", pa.string())]))]))
    mapped = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))
    table = open_table(write(tmp_path / "t.parquet", {"a": nested, "m": mapped, "a.b": [5], "z": [7]}))
    assert (table.extremes("a.b"), table.extremes("z")) == ((5, 5), (7, 7))
    chunks = pq.read_metadata(tmp_path / "t.parquet").row_group(0)
    sizes = [chunks.column(at).total_compressed_size for at in range(chunks.num_columns)]
    assert table.bytes_of(["a"]) == sizes[0] + sizes[1]
    assert table.bytes_of(["m", "z", "m"]) == sizes[2] + sizes[3] + sizes[5]
    assert table.bytes_of(["missing"]) == 0


def test_a_table_in_memory() -> None:
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None]))
    stored = pa.table({"x": pa.chunked_array([[1], [None, 3]]), "d": dictionary, "v": pa.array(["a"] * 3, pa.large_string())})
    table = open_table(stored)
    assert (table.rows, table.parts, table.filesystem, table.files()) == (3, (), None, ())
    assert table.memory is stored
    assert [column.type for column in table.columns] == [pa.int64(), pa.string(), pa.string()]
    assert (table.null_count("x"), table.null_count("d"), table.extremes("x")) == (1, None, None)
    assert table.bytes_of(["x"]) == stored.column("x").nbytes
    assert is_unchanged(table)
    verify_checksums(table)
    assert find_fault(table, ["x", "missing"]) is None


# ---------------------------------------------------------------- one version, and faults


@pytest.mark.parametrize("change", ["replaced", "touched", "another part", "gone", "cut"])
def test_a_change_is_seen(tmp_path: Path, change: str) -> None:
    part = write(tmp_path / "a.parquet", {"v": [1, 2]})
    table = open_table(tmp_path)
    assert is_unchanged(table)
    assert [(file.path, file.size, file.rows) for file in table.files()] == [(str(part), part.stat().st_size, 2)]
    match change:
        case "replaced":  # as long, and as old as before
            before = part.stat()
            write(part, {"v": [1, 3]})
            assert part.stat().st_size == before.st_size
            os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
        case "touched":
            os.utime(part, (0, 0))
        case "another part":
            write(tmp_path / "b.parquet", {"v": [1]})
        case "gone":
            part.unlink()
        case _:
            part.write_bytes(part.read_bytes()[:-1])
    assert not is_unchanged(table)


def _flipped(path: Path, **options: Any) -> Path:
    write(path, {"v": pa.array(range(1000)), "w": pa.array(range(1000, 2000))}, compression="none", use_dictionary=False, **options)
    whole = bytearray(path.read_bytes())
    whole[bytes(whole).find(struct.pack("<qq", 500, 501)) + 7] ^= 0x10
    path.write_bytes(whole)
    return path


def test_a_flipped_bit_is_found_where_pages_carry_a_checksum(tmp_path: Path) -> None:
    write(tmp_path / "t" / "a.parquet", {"v": [1], "only here": [1]}, write_page_checksum=True)
    _flipped(tmp_path / "t" / "b.parquet", write_page_checksum=True)
    table = open_table(tmp_path / "t")
    verify_checksums(table, ["w", "only here"])
    for names in ([], ["w", "v"]):
        with pytest.raises(TableUnreadable) as caught:
            verify_checksums(table, names)
        assert caught.value.what == (
            "a page of column 'v' in file 'b.parquet' does not match its checksum, or cannot be decoded: "
            "the file is damaged; write it again"
        )
    verify_checksums(open_table(_flipped(tmp_path / "silent.parquet")))  # nothing to compare with


def test_invalid_utf8_is_said_without_quoting_it(tmp_path: Path) -> None:
    offsets = pa.py_buffer(struct.pack("<4i", 0, 2, 4, 8))
    text = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"ok\xc3\x28bad!")])
    for at, options in enumerate(({"use_dictionary": False}, {"use_dictionary": True})):
        table = open_table(write(tmp_path / f"{at}.parquet", {"id": [1, 2, 3], "s": text}, **options))
        assert find_fault(table, ["id"]) is None
        assert find_fault(table, ["id", "s"]) == "column 's' holds text that is not valid UTF-8"
        assert find_fault(table) == "column 's' holds text that is not valid UTF-8"
    assert find_fault(open_table(pa.table({"s": text}))) == "column 's' holds text that is not valid UTF-8"


def test_a_page_that_cannot_be_decoded_names_file_and_column(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"v": list(range(1000))})
    part = write(tmp_path / "b.parquet", {"u": [0] * 1000, "v": ["secret" + str(n) for n in range(1000)]}, compression="zstd")
    chunk = pq.read_metadata(part).row_group(0).column(1)
    whole = bytearray(part.read_bytes())
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    whole[start + 4 : start + chunk.total_compressed_size] = b"\xff" * (chunk.total_compressed_size - 4)
    part.write_bytes(whole)
    table = open_table(tmp_path)
    assert find_fault(table, ["u"]) is None
    with pytest.raises(TableUnreadable) as caught:
        find_fault(table, ["u", "v"])
    assert caught.value.what == "a page of column 'v' in file 'b.parquet' cannot be decoded: the file is damaged; write it again"
    part.unlink()
    with pytest.raises(TableUnreadable, match=r"file 'b.parquet' is not there"):
        find_fault(table, ["v"])
