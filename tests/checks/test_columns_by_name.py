"""Columns are found by their exact names, and tables at their exact paths, through the engine."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster import Recipe, RecipeRefused, evaluate
from tests.test_tables import ODD_NAMES


def nulls_of(name: str, place) -> int:
    check = {"check_id": "c", "kind": "null_ceiling", "enforcement": "required", "columns": [name], "max_null_ppm": 0}
    outcome = evaluate(Recipe.model_validate({"recipe": "r", "table": {"name": "t"}, "checks": [check]}), place).outcomes[0]
    return int(outcome.observed["nulls"])


def repeats_of(name: str, place) -> int:
    check = {"check_id": "c", "kind": "key_uniqueness", "enforcement": "required", "columns": [name]}
    outcome = evaluate(Recipe.model_validate({"recipe": "r", "table": {"name": "t"}, "checks": [check]}), place).outcomes[0]
    return int(outcome.observed["repeats"])


TWINS: dict[str, list[int | None]] = {
    "café": [1, None, 3],
    "cafe\u0301": [None, None, 3],
    "É": [1, 2, 3],
    "é": [None, 1, 2],
    "\u212a": [1, 1, 1],
    "k": [5, 6, 7],
    "K": [1, 1, 2],
}


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_names_that_look_alike_are_different_columns(kind, tmp_path):
    table = pa.Table.from_arrays([pa.array(values, pa.int64()) for values in TWINS.values()], names=list(TWINS))
    if kind == "file":
        pq.write_table(table, tmp_path / "t.parquet")
        table = tmp_path / "t.parquet"
    assert {name: nulls_of(name, table) for name in TWINS} == {name: values.count(None) for name, values in TWINS.items()}
    assert {name: repeats_of(name, table) for name in TWINS} == {name: 3 - len(set(values)) for name, values in TWINS.items()}


HELPERS = [
    "filename",
    "file_row_number",
    "rows",
    "row_number",
    "n",
    "k0",
    "bad",
    "condemned",
    "dq_file",
    "dq_row",
    "p0",
    "t",
    "q",
    "",
    "a.b",
    'say "hi"',
    "c1",
]


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_a_column_may_be_called_what_we_call_our_own(kind, tmp_path):
    table = pa.Table.from_arrays([pa.array(["u", "u", None, str(place)]) for place in range(len(HELPERS))], names=HELPERS)
    if kind == "file":
        pq.write_table(table, tmp_path / "t.parquet")
        table = tmp_path / "t.parquet"
    assert {name: repeats_of(name, table) for name in HELPERS} == dict.fromkeys(HELPERS, 1)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_table_is_read_at_its_own_path_alone(name, tmp_path):
    for neighbour in ("q2", "stX-r", "x", "a"):
        pq.write_table(pa.table({"v": [9] * 7}), tmp_path / f"{neighbour}.parquet")
    with open(tmp_path / f"{name}.parquet", "wb") as stream:
        pq.write_table(pa.table({"v": [1, 1, 2]}), stream)
    assert repeats_of("v", tmp_path / f"{name}.parquet") == 1


def test_a_name_that_differs_by_case_is_unknown_and_the_right_one_is_offered(tmp_path):
    with pytest.raises(RecipeRefused, match="names column 'long name', which the table does not hold; did you mean 'Long Name'"):
        repeats_of("long name", pa.table({"Long Name": ["a"]}))


def test_hive_folders_give_columns_that_the_engine_reads(tmp_path):
    for folder, values in (("k=__HIVE_DEFAULT_PARTITION__", [1]), ("k=a%20b%2Fc", [2, 3]), ("k=10", [4])):
        (tmp_path / "t" / folder).mkdir(parents=True)
        pq.write_table(pa.table({"v": values}), tmp_path / "t" / folder / "part.parquet")
    assert nulls_of("k", tmp_path / "t") == 1
    assert repeats_of("k", tmp_path / "t") == 1


def test_parts_of_different_schemas_are_joined_by_name(tmp_path):
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int32()), "b": ["x", "y"]}), tmp_path / "t" / "1.parquet")
    pq.write_table(pa.table({"b": ["x"], "a": pa.array([2**40], pa.int64())}), tmp_path / "t" / "2.parquet")
    pq.write_table(pa.table({"c": [1]}), tmp_path / "t" / "3.parquet")
    assert (repeats_of("a", tmp_path / "t"), repeats_of("b", tmp_path / "t"), nulls_of("c", tmp_path / "t")) == (0, 1, 3)
