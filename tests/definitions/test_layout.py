"""Where tables are kept: one path a key, never out of the base, never hidden."""

from __future__ import annotations

import os

import dagster as dg
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dq_dagster.definitions.layout import op_output_path, partition_path, segment, table_path
from dq_dagster.definitions.refusals import KeyRefused

KEYS = st.one_of(st.text(max_size=12), st.text(st.sampled_from("a1./\\%_ ~|=*?[]\0"), max_size=8))


def path_of(key: str) -> str | None:
    try:
        return partition_path("/base/t.parquet", key)
    except KeyRefused:
        return None


@given(KEYS)
@example("..")
@example(".")
@example("a/../../b")
@example("~root")
@example("a" * 300)
def test_a_partition_is_one_visible_file_of_its_tables_folder(key: str):
    path = path_of(key)
    assume(path is not None)
    assert path is not None
    assert os.path.dirname(os.path.normpath(path)) == "/base/t.parquet"
    assert not os.path.basename(path).startswith((".", "_"))
    assert len(os.path.basename(path)) + 30 <= 255
    assert path.isascii()


@given(KEYS, KEYS)
@example("a/b", "a%2Fb")
@example("_a", "%5Fa")
@example("1", "10")
@example("2024-01-01|a", "2024-01-01%7Ca")
def test_no_two_keys_share_a_path(one: str, other: str):
    paths = path_of(one), path_of(other)
    assume(None not in paths)
    assert (paths[0] == paths[1]) == (one == other)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("2024-01-01", "2024-01-01"),
        ("0.94-to-0.95", "0.94-to-0.95"),
        ("a b", "a%20b"),
        ("a/b", "a%2Fb"),
        ("_x", "%5Fx"),
        (".x", "%2Ex"),
        ("x=1", "x%3D1"),
        ("x..y", "x..y"),
        ("é", "%C3%A9"),
        (str(dg.MultiPartitionKey({"day": "2024-01-01", "airport": "EWR"})), "EWR%7C2024-01-01"),
    ],
)
def test_a_key_is_readable_where_it_may_be(key: str, name: str):
    assert segment(key) == name


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ("", "is empty"),
        ("/etc/passwd", "reads as a path that leaves the table's folder"),
        ("\\\\host\\share", "reads as a path that leaves the table's folder"),
        ("../x", "reads as a path that leaves the table's folder"),
        ("a/../b", "reads as a path that leaves the table's folder"),
        ("..", "reads as a path that leaves the table's folder"),
        ("a\0b", "holds a NUL"),
        ("\udc80", "is not valid text"),
        ("x" * 201, "is too long: written out it has 201 of at most 200 characters"),
    ],
    ids=range(9),
)
def test_a_key_that_would_leave_or_cannot_be_spelled_is_refused(key: str, what: str):
    with pytest.raises(KeyRefused) as refused:
        segment(key)
    assert str(refused.value) == f"partition key {key!r} {what}; no file is named for it, so choose another key"


ASSETS = st.lists(st.text(st.sampled_from("ab.parquet%_-"), min_size=1, max_size=10), min_size=1, max_size=3)


@given(ASSETS, ASSETS, KEYS)
@example(["raw", "orders"], ["raw"], "orders")
@example(["raw.parquet", "orders"], ["raw"], "orders")
@example(["raw.orders"], ["raw", "orders"], "x")
def test_no_asset_is_a_partition_or_a_part_of_another(one: list[str], other: list[str], key: str):
    assume(one != other)
    try:
        mine, its = table_path("/base", one), table_path("/base", other)
        partition = partition_path(its, key)
    except KeyRefused:
        assume(False)
        return
    assert mine != its
    assert mine != partition
    assert not mine.startswith(its + "/")


def test_the_output_of_an_op_is_out_of_every_assets_way():
    assert op_output_path("/base", ["run", "step[1]", "result"]) == "/base/_op_outputs/run/step%5B1%5D/result.parquet"
    assert table_path("/base", ["_op_outputs", "run"]) == "/base/%5Fop_outputs/run.parquet"


def test_the_base_may_be_a_url():
    assert table_path("s3://bucket/warehouse/", ["raw", "orders"]) == "s3://bucket/warehouse/raw/orders.parquet"
    assert table_path("memory://", ["orders"]) == "memory://orders.parquet"
