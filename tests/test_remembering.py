"""What is remembered of a table's parts: it changes no word of what is found, and nothing stale is ever used."""

from __future__ import annotations

import datetime as dt
import math
import os
import random
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dq_dagster import Limits, Recipe, evaluate, remembering, surveying
from dq_dagster.engines.duckdb import DuckDBEngine
from dq_dagster.errors import DqDagsterError, TableUnreadable
from dq_dagster.memory import MemoryUnusable
from dq_dagster.outcomes import Evaluation
from dq_dagster.run import RememberingUnsupported, explained

NAN = math.nan
CELLS: dict[str, tuple[list[pa.DataType], list[Any]]] = {
    "i": ([pa.int16(), pa.int64(), pa.uint8()], [0, 1, 2, 3, 4, 9, 100]),
    "f": ([pa.float64(), pa.float32()], [0.0, -0.0, 0.5, 1.0, 2.5, -3.0, NAN, math.inf]),
    "d": ([pa.decimal128(10, 2), pa.decimal128(12, 4), pa.decimal256(45, 3)], [Decimal(n) / 100 for n in (-300, -1, 0, 50, 250)]),
    "t": (
        [pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC")],
        [dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(milliseconds=n) for n in (-4000, -1, 0, 1000, 2000, 3000)],
    ),
    "s": ([pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())], ["", "a", "A", "é", '{"a": 1}', "{", "b|c"]),
    "b": ([pa.bool_()], [True, False]),
}
KINDS: list[dict[str, Any]] = [
    {"kind": "key_uniqueness", "columns": ["i"]},
    {"kind": "key_uniqueness", "columns": ["i", "s"]},
    {"kind": "key_uniqueness", "columns": ["t", "i"]},
    {"kind": "key_uniqueness", "columns": ["s", "d", "t"]},
    {"kind": "key_uniqueness", "columns": ["f"]},
    {"kind": "key_uniqueness", "columns": ["b", "i"]},
    {"kind": "null_ceiling", "columns": ["s"], "max_null_ppm": 200_000},
    {"kind": "value_range", "columns": ["i"], "min_value": 0, "max_value": 3},
    {"kind": "value_range", "columns": ["f"], "min_value": "-1", "max_value": "2.5"},
    {"kind": "value_range", "columns": ["d"], "min_value": "-1", "max_value": "2"},
    {"kind": "continuity", "columns": ["i"], "max_gap_seconds": 2},
    {"kind": "continuity", "columns": ["t"], "max_gap_seconds": 1},
    {"kind": "continuity", "columns": ["f"], "max_gap_seconds": 2},
    {"kind": "is_in_list", "column": "s", "allowed": ["a", "b|c"]},
    {"kind": "regex_match", "column": "s", "regex": "^[a-z]*$"},
    {"kind": "is_valid_json", "column": "s"},
    {"kind": "sql_expression", "expression": "i < f", "filter": "s <> 'a'"},
    {"kind": "is_not_null_and_not_empty", "column": "s", "max_failed_ppm": 500_000},
    {"kind": "is_unique", "columns": ["i"]},
    {"kind": "foreign_key", "columns": ["i"], "ref_columns": ["n"], "reference": "numbers"},
    {"kind": "is_aggr_not_greater_than", "column": "f", "aggr_type": "max", "limit": 2},
    {"kind": "is_aggr_not_less_than", "column": "f", "aggr_type": "min", "limit": 0},
    {"kind": "is_aggr_not_greater_than", "column": "i", "aggr_type": "sum", "limit": 5},
    {"kind": "is_aggr_not_greater_than", "column": "d", "aggr_type": "sum", "limit": 1},
    {"kind": "is_aggr_not_greater_than", "column": "d", "aggr_type": "avg", "limit": 1},
    {"kind": "is_aggr_not_greater_than", "column": "s", "aggr_type": "max", "limit": "b"},
    {"kind": "is_aggr_not_less_than", "column": "t", "aggr_type": "max", "limit": "1970-01-01"},
    {"kind": "is_aggr_not_greater_than", "column": "i", "aggr_type": "count_distinct", "limit": 3},
    {"kind": "is_aggr_equal", "column": "b", "aggr_type": "bool_and", "limit": True},
    {"kind": "is_aggr_equal", "column": "i", "aggr_type": "bit_or", "limit": 7},
]


@pytest.fixture(autouse=True)
def the_smallest_parts_are_worth_it(monkeypatch):
    monkeypatch.setattr(remembering, "LEAST_ROWS", 0)
    monkeypatch.setattr(surveying, "WORTH_A_LOOK", 0)


def recipe_of(checks: list[dict[str, Any]], folder: str | Path = ".", **table: Any) -> Recipe:
    declared = [{"check_id": f"c{number}", "enforcement": "advisory", **check} for number, check in enumerate(checks)]
    path = str(Path(folder) / "numbers.parquet")
    return Recipe.model_validate(
        {"recipe": "r", "table": {"name": "t", **table}, "references": {"numbers": {"path": path}}, "checks": declared}
    )


def told(evaluation: Evaluation) -> list[str]:
    """Every word of the outcomes. Which of two equal zeros is the largest value hangs on which thread comes first, in any way."""
    said = [
        (one.check_id, one.status, one.detail, one.failed_rows, sorted(one.observed.items()), one.examples) for one in evaluation.outcomes
    ]
    return [repr(one).replace("-0.0", "0.0") for one in said]


def found(recipe: Recipe, place: Path, **how: Any) -> list[str]:
    try:
        return told(evaluate(recipe, place, **how))
    except DqDagsterError as error:  # a part may give a column a type that a kind refuses
        return [str(error)]


@st.composite
def parts(draw: st.DrawFn) -> pa.Table:
    """A part, of which each column may be typed in its own way; rows may be sorted, and a column may be missing."""
    rows = draw(st.integers(0, 5))
    names = [name for name in CELLS if name in "is" or draw(st.integers(0, 9))]
    held = {
        name: draw(
            st.lists(st.sampled_from([*CELLS[name][1], None] if draw(st.booleans()) else CELLS[name][1]), min_size=rows, max_size=rows)
        )
        for name in names
    }
    if draw(st.booleans()):
        order = sorted(range(rows), key=lambda row: (held["i"][row] is None, held["i"][row] or 0, held["s"][row] or ""))
        held = {name: [values[row] for row in order] for name, values in held.items()}
    table = pa.table({name: pa.array(values, draw(st.sampled_from(CELLS[name][0]))) for name, values in held.items()})
    return table.select(draw(st.permutations(table.schema.names)))


CHANGE = st.tuples(st.sampled_from(["write", "write", "write", "remove", "touch"]), st.integers(0, 4), parts())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=6),
    st.lists(st.lists(CHANGE, min_size=1, max_size=3), min_size=2, max_size=4),
)
def test_what_is_remembered_changes_no_word(kinds, changes):
    with TemporaryDirectory() as folder:
        place = Path(folder, "t")
        place.mkdir()
        pq.write_table(pa.table({"n": [0, 1, 2]}), Path(folder, "numbers.parquet"))
        pq.write_table(pa.table({name: pa.array([], kinds_[0]) for name, (kinds_, _) in CELLS.items()}), place / "part-none.parquet")
        recipe = recipe_of(kinds, folder)
        for round_of in changes:
            for what, number, table in round_of:
                path = place / f"part-{number}.parquet"
                if what == "write":
                    pq.write_table(table, path, row_group_size=2)
                elif path.exists():
                    path.unlink() if what == "remove" else os.utime(path)
            plainly = found(recipe, place)
            assert found(recipe, place, remember=Path(folder, "memory")) == plainly
            assert found(recipe, place, remember=Path(folder, "memory")) == plainly


def write(place: Path, number: int, values: Sequence[int | None], **columns: Any) -> Path:
    place.mkdir(exist_ok=True)
    path = place / f"part-{number}.parquet"
    pq.write_table(pa.table({"i": pa.array(values, pa.int64()), **columns}), path)
    return path


RANGE = {"kind": "value_range", "columns": ["f"], "min_value": 0, "max_value": 3}
KEY = {"kind": "key_uniqueness", "columns": ["i"]}
GAPS = {"kind": "continuity", "columns": ["i"], "max_gap_seconds": 5}


def floats(values: list[float | None]) -> dict[str, pa.Array]:
    return {"f": pa.array(values, pa.float64())}


def stored_in(memory: Path) -> Path:
    (file,) = memory.iterdir()
    return file


def test_only_the_new_part_is_read(tmp_path):
    for number in range(5):
        write(tmp_path / "t", number, [number * 10, number * 10 + 5], **floats([1.0, 2.0]))
    recipe = recipe_of([RANGE, KEY, GAPS])
    first = evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")
    write(tmp_path / "t", 5, [60, 65], **floats([1.0, 9.0]))
    second = evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")
    third = evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")
    assert [one.receipt.remembered_parts for one in (first, second, third)] == [0, 5, 6]
    assert [one.status for one in second.outcomes] == ["failed", "passed", "failed"]
    assert told(third) == told(second) == told(evaluate(recipe, tmp_path / "t"))
    assert first.receipt.bytes_scanned > 4 * second.receipt.bytes_scanned > 0 == third.receipt.bytes_scanned
    assert third.receipt.to_dict()["remembered_parts"] == 6


@pytest.mark.parametrize("check", [RANGE, KEY, GAPS], ids=lambda check: check["kind"])
def test_a_part_that_was_rewritten_alike_is_read_again(check, tmp_path):
    """The same size, the same footer, and the time of change put back: only the instant of the inode's change tells."""
    rows = 400

    def plain(values: list[int]) -> None:
        table = pa.table({"i": pa.array(values, pa.int64()), "f": pa.array([float(v) for v in values], pa.float64())})
        pq.write_table(table, tmp_path / "t" / "part-0.parquet", compression="none", use_dictionary=False, write_statistics=False)

    write(tmp_path / "t", 1, [1_000_000], **floats([2.0]))
    plain([0] + [1] * (rows - 1))
    path = tmp_path / "t" / "part-0.parquet"
    status = path.stat()
    recipe = recipe_of([{**check, "max_value": 1_000} if check is RANGE else check])
    before = evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")
    plain([0] + [7] * (rows - 1))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    again = evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")
    assert told(again) == told(evaluate(recipe, tmp_path / "t")) != told(before)


def test_json_is_told_by_shape_in_a_part_too(tmp_path):
    good, bad = '{"v": 1}', ['{"v": 1, "v": 2}', "{", '{"v": NaN}']
    for number, texts in enumerate([[good] * 30, [good] * 20 + bad, [None, good, "7"]]):
        write(tmp_path / "t", number, range(len(texts)), s=pa.array(texts))
    recipe = recipe_of([{"kind": "is_valid_json", "column": "s"}, {"kind": "is_valid_json", "column": "s", "filter": "i < 21"}])
    remembered = [evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory") for _ in range(2)]
    assert [one.failed_rows for one in remembered[0].outcomes] == [3, 1]
    assert [told(one) for one in remembered] == [told(evaluate(recipe, tmp_path / "t"))] * 2


def test_a_changed_recipe_uses_nothing_of_the_old_one(tmp_path):
    for number in range(3):
        write(tmp_path / "t", number, [number], **floats([2.0]))
    evaluate(recipe_of([RANGE]), tmp_path / "t", remember=tmp_path / "memory")
    stricter = recipe_of([{**RANGE, "max_value": 1}])
    found_now = evaluate(stricter, tmp_path / "t", remember=tmp_path / "memory")
    assert (found_now.outcomes[0].status, found_now.receipt.remembered_parts) == ("failed", 0)


def test_a_part_that_widens_a_column_makes_the_others_be_read_again(tmp_path):
    for number in range(3):
        write(tmp_path / "t", number, [number], s=pa.array([1], pa.int8()))
    recipe = recipe_of([{"kind": "is_aggr_not_greater_than", "column": "s", "aggr_type": "max", "limit": 100}])
    evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")
    write(tmp_path / "t", 3, [3], s=pa.array([2.5], pa.float64()))
    widened = evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")
    assert widened.receipt.remembered_parts == 0
    assert told(widened) == told(evaluate(recipe, tmp_path / "t"))


def test_a_changed_reference_makes_all_parts_be_read_again(tmp_path):
    for number in range(3):
        write(tmp_path / "t", number, [number])
    recipe = recipe_of([{"kind": "foreign_key", "columns": ["i"], "ref_columns": ["n"], "reference": "numbers"}], tmp_path)
    pq.write_table(pa.table({"n": [0, 1, 2]}), tmp_path / "numbers.parquet")
    assert evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory").outcomes[0].status == "passed"
    assert evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory").receipt.remembered_parts == 3
    pq.write_table(pa.table({"n": [0, 1, 5]}), tmp_path / "numbers.parquet")
    assert evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory").outcomes[0].status == "failed"


def test_a_reference_in_memory_has_no_identity_and_is_not_relied_on(tmp_path):
    for number in range(3):
        write(tmp_path / "t", number, [number])
    recipe = recipe_of([{"kind": "foreign_key", "columns": ["i"], "ref_columns": ["n"], "reference": "numbers"}])
    for numbers, status in (([0, 1, 2], "passed"), ([0, 1, 5], "failed")):
        references = {"numbers": pa.table({"n": numbers})}
        assert evaluate(recipe, tmp_path / "t", references=references, remember=tmp_path / "memory").outcomes[0].status == status
    assert not (tmp_path / "memory").exists()


def test_no_value_of_a_sensitive_column_is_written_down(tmp_path):
    for number in range(3):
        write(tmp_path / "t", number, [7_000_001 + number], s=pa.array([f"secret-{number}"]), **floats([123456.5]))
    checks = [
        {"kind": "key_uniqueness", "columns": ["s"]},
        {"kind": "key_uniqueness", "columns": ["i"]},
        {"kind": "value_range", "columns": ["f"], "min_value": 0, "max_value": 3},
        {"kind": "is_aggr_not_greater_than", "column": "s", "aggr_type": "max", "limit": "a"},
        {"kind": "regex_match", "column": "s", "regex": "^secret"},
    ]
    recipe = recipe_of(checks, sensitive=["s", "i", "f"])
    evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")
    again = evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")
    assert told(again) == told(evaluate(recipe, tmp_path / "t"))
    content = stored_in(tmp_path / "memory").read_bytes()
    assert b"secret" not in content
    assert b"7000001" not in content
    assert b"123456" not in content
    assert pa.array([123456.5]).buffers()[1].to_pybytes()[:8] not in content
    with_counts = recipe_of([{**checks[4], "check_id": "c4"}], sensitive=["s"])
    assert evaluate(with_counts, tmp_path / "t", remember=tmp_path / "memory").receipt.remembered_parts == 3, "counts may be kept"


def damage(kind: str, content: bytes) -> bytes:
    middle = len(content) // 2
    return {
        "flipped": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
        "cut": content[:middle],
        "empty": b"",
        "grown": content + b"x",
        "other": b"PAR1" * 100,
        "another version": content.replace(b"dqparts1", b"dqparts0"),
    }[kind]


@pytest.mark.parametrize("kind", ["flipped", "cut", "empty", "grown", "other", "another version"])
def test_a_damaged_memory_is_told_and_computed_anew(kind, tmp_path):
    for number in range(3):
        write(tmp_path / "t", number, [number], **floats([9.0]))
    recipe = recipe_of([RANGE, KEY, GAPS])
    evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")
    file = stored_in(tmp_path / "memory")
    file.write_bytes(damage(kind, file.read_bytes()))
    with pytest.warns(MemoryUnusable, match="is damaged, or of another version; the numbers of all parts are computed instead"):
        again = evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")
    assert (again.receipt.remembered_parts, told(again)) == (0, told(evaluate(recipe, tmp_path / "t")))
    assert evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory").receipt.remembered_parts == 3


def test_a_memory_that_cannot_be_written_is_told(tmp_path):
    for number in range(3):
        write(tmp_path / "t", number, [number], **floats([1.0]))
    (tmp_path / "memory").write_text("a file")
    with pytest.warns(MemoryUnusable, match="could not be"):
        assert evaluate(recipe_of([RANGE]), tmp_path / "t", remember=tmp_path / "memory").outcomes[0].status == "passed"


def test_what_is_gone_is_forgotten(tmp_path):
    recipe = recipe_of([RANGE, KEY, GAPS])
    sizes = []
    for number in range(12):
        write(tmp_path / "t", number, [number], **floats([1.0]))
        if number > 1:
            (tmp_path / "t" / f"part-{number - 2}.parquet").unlink()
        evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")
        if number:
            sizes.append(stored_in(tmp_path / "memory").stat().st_size)
    assert max(sizes) <= min(sizes) + 200


def test_two_recipes_keep_what_they_know_of_one_table_beside_each_other(tmp_path):
    for number in range(3):
        write(tmp_path / "t", number, [number], **floats([1.0]))
    for check in (RANGE, KEY):
        evaluate(recipe_of([check]), tmp_path / "t", remember=tmp_path / "memory")
    assert [
        evaluate(recipe_of([check]), tmp_path / "t", remember=tmp_path / "memory").receipt.remembered_parts for check in (RANGE, KEY)
    ] == [3, 3]


def test_many_evaluations_at_once_neither_fail_nor_lie(tmp_path):
    rng = random.Random(3)
    for number in range(6):
        write(tmp_path / "t", number, sorted(rng.sample(range(number * 100, number * 100 + 90), 20)), **floats([1.0] * 20))
    recipes = [recipe_of([RANGE, KEY, GAPS]), recipe_of([KEY]), recipe_of([GAPS, RANGE])]
    plainly = [told(evaluate(recipe, tmp_path / "t")) for recipe in recipes]
    with ThreadPoolExecutor(4) as pool, warnings.catch_warnings():
        warnings.simplefilter("error")
        runs = [pool.submit(evaluate, recipes[n % 3], tmp_path / "t", remember=tmp_path / "memory") for n in range(18)]
        assert [told(run.result()) for run in runs] == [plainly[n % 3] for n in range(18)]


def test_what_looks_at_the_clock_is_not_remembered(tmp_path):
    at = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
    for number in range(3):
        write(tmp_path / "t", number, [number], at=pa.array([at], pa.timestamp("us", "UTC")))
    recipe = recipe_of([{"kind": "sql_expression", "expression": "at < now()"}, {"kind": "sql_expression", "expression": "i >= 0"}])
    for year, status in ((2027, "passed"), (2025, "failed")):
        now = dt.datetime(year, 1, 1, tzinfo=dt.timezone.utc)
        assert evaluate(recipe, tmp_path / "t", now=now, remember=tmp_path / "memory").outcomes[0].status == status
    told_of = explained(recipe, tmp_path / "t", remember=tmp_path / "memory").splitlines()[0]
    assert told_of == "3 of 3 parts remembered, the others are asked one by one: C1"


def test_only_what_is_read_counts_against_the_budget(tmp_path):
    for number in range(4):
        write(tmp_path / "t", number, list(range(number * 1_000, number * 1_000 + 1_000)), **floats([1.0] * 1_000))
    recipe = recipe_of([KEY])
    whole = evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory").receipt.bytes_scanned
    write(tmp_path / "t", 4, list(range(4_000, 5_000)), **floats([1.0] * 1_000))
    limits = Limits(scan_bytes=whole // 2)
    assert evaluate(recipe, tmp_path / "t", limits=limits).outcomes[0].status == "not_evaluated"
    assert evaluate(recipe, tmp_path / "t", limits=limits, remember=tmp_path / "memory").outcomes[0].status == "passed"


def test_a_damaged_part_is_named_as_ever_and_nothing_is_kept_of_it(tmp_path):
    for number in range(3):
        write(tmp_path / "t", number, list(range(number * 1_000, number * 1_000 + 900)), **floats([1.0] * 900))
    path = tmp_path / "t" / "part-1.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:40] + bytes(byte ^ 0xFF for byte in content[40:200]) + content[200:])
    recipe = recipe_of([KEY])
    with pytest.raises(TableUnreadable) as plainly:
        evaluate(recipe, tmp_path / "t")
    with pytest.raises(TableUnreadable) as remembering_:
        evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")
    assert str(remembering_.value) == str(plainly.value)
    assert not (tmp_path / "memory").exists()


def test_instants_without_end_are_left_to_the_whole_table(tmp_path):
    endless = pa.array([2**63 - 1], pa.int64()).cast(pa.timestamp("us", "UTC"))
    for number in range(2):
        write(tmp_path / "t", number, [number], t=endless)
    recipe = recipe_of([{"kind": "key_uniqueness", "columns": ["i", "t"]}])
    assert found(recipe, tmp_path / "t", remember=tmp_path / "memory") == found(recipe, tmp_path / "t")


def test_a_time_budget_leaves_no_verdict(tmp_path):
    for number in range(3):
        write(tmp_path / "t", number, [number], **floats([1.0]))
    limits = Limits(scan_seconds=0)
    statuses = {
        one.status for one in evaluate(recipe_of([RANGE, KEY]), tmp_path / "t", limits=limits, remember=tmp_path / "memory").outcomes
    }
    assert statuses == {"not_evaluated"}


@pytest.mark.parametrize("values", [[[None], [None]], [[1], [None], [None]], [[1, 2], [2, 3]], [[1, 1], [5]], [[5], [5]]], ids=str)
def test_keys_that_repeat_across_parts_are_found(values, tmp_path):
    for number, held in enumerate(values):
        write(tmp_path / "t", number, held)
    for _ in range(2):
        outcome = evaluate(recipe_of([KEY]), tmp_path / "t", remember=tmp_path / "memory").outcomes[0]
        assert (outcome.status, outcome.observed["repeats"]) == ("failed", 1)


@pytest.mark.parametrize(
    "values",
    [
        [[1, 2, 3], [3, 4, 5]],
        [[1, 2, 3], [2, 3, 4]],
        [[1, 3, 5], [2, 4, 6]],
        [[1, 3, 5], [3, 5, 7], [20]],
        [[1, 2, 9], [4, 5]],
        [[1, 1, 1], [1]],
        [[4], [1, 9]],
        [[None], []],
        [[*range(0, 900, 9), 1, 2], [901, 950]],
        [[n * n for n in range(90)], [9_000], [8_100, 8_101]],
        [[n * n for n in range(90)], [50, 51]],
    ],
    ids=str,
)
def test_gaps_across_parts_are_those_of_the_whole(values, tmp_path):
    for number, held in enumerate(values):
        write(tmp_path / "t", number, held)
    recipe = recipe_of([GAPS])
    plainly = told(evaluate(recipe, tmp_path / "t"))
    assert [told(evaluate(recipe, tmp_path / "t", remember=tmp_path / "memory")) for _ in range(2)] == [plainly, plainly]


def test_an_engine_that_cannot_ask_part_by_part_says_so(tmp_path):
    class Elsewhere(DuckDBEngine):
        name = "elsewhere"
        chooses = False

    with pytest.raises(RememberingUnsupported, match=r"^the engine elsewhere does not ask a table part by part"):
        evaluate(recipe_of([KEY]), write(tmp_path / "t", 0, [1]), engine=Elsewhere(), remember=tmp_path / "memory")


def test_small_parts_are_read_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(remembering, "LEAST_ROWS", 2)
    for number in range(3):
        write(tmp_path / "t", number, [number])
    assert evaluate(recipe_of([KEY]), tmp_path / "t", remember=tmp_path / "memory").outcomes[0].status == "passed"
    assert not (tmp_path / "memory").exists()
