"""ParquetIOManager: what it stores, how it replaces it, and what it gives back."""

# No `from __future__ import annotations` here: Dagster compares the annotation of an asset's context as it stands.
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import fsspec
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dq_dagster.definitions.factory import build_recipe_checks
from dq_dagster.definitions.parquet_files import StagedFile, read_paths
from dq_dagster.definitions.refusals import NotStored, StoredOtherwise, ValueRefused
from dq_dagster.definitions.store import ParquetIOManager
from dq_dagster.tables import open_table
from tests.definitions.warehouse import QUIET, materialized, passed, recipe, run, store, unique

TABLE = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})
DAYS = dg.StaticPartitionsDefinition(["1", "10", "2"])


def batches(count: int = 3) -> Iterator[pa.RecordBatch]:
    return (pa.record_batch({"id": [number]}) for number in range(1, count + 1))


def relation() -> duckdb.DuckDBPyRelation:
    return duckdb.connect().sql("SELECT i::BIGINT AS id, if(i < 3, chr((96 + i)::INTEGER), NULL) AS name FROM range(1, 4) AS r(i)")


WRITTEN: Mapping[str, Any] = {
    "a pyarrow Table": lambda: TABLE,
    "a RecordBatch": lambda: TABLE.to_batches()[0],
    "a RecordBatchReader": lambda: TABLE.to_reader(),
    "a list of RecordBatches": lambda: TABLE.to_batches(max_chunksize=1),
    "a generator of RecordBatches": lambda: (batch for batch in TABLE.to_batches(max_chunksize=1)),
    "a pandas frame": lambda: TABLE.to_pandas(),
    "a polars frame": lambda: pl.DataFrame(TABLE.to_pydict()),
    "a polars LazyFrame": lambda: pl.LazyFrame(TABLE.to_pydict()),
    "a DuckDB relation": relation,
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_table_of_any_make_is_stored(name: str, tmp_path: Path):
    path = str(tmp_path / "deep" / "t.parquet")
    staged = StagedFile(path, WRITTEN[name]())
    staged.publish()
    assert pq.ParquetFile(path).read().to_pydict() == TABLE.to_pydict()
    assert (staged.rows, staged.size) == (3, os.path.getsize(path))
    assert os.listdir(tmp_path / "deep") == ["t.parquet"]


@pytest.mark.parametrize("value", [{"a": 1}, 7, "text", [1, 2], [{"id": 1}], [], iter([])], ids=range(7))
def test_what_is_no_table_is_refused_and_leaves_nothing(value: object, tmp_path: Path):
    with pytest.raises(ValueRefused):
        StagedFile(str(tmp_path / "t.parquet"), value)
    assert os.listdir(tmp_path) == []


def test_a_refusal_names_the_type_and_the_choice(tmp_path: Path):
    with pytest.raises(ValueRefused) as refused:
        StagedFile(str(tmp_path / "t.parquet"), 7)
    assert str(refused.value) == (
        "a value of type int cannot be stored as Parquet; return a pyarrow Table or RecordBatch, a pandas or polars frame, "
        "a DuckDB relation, a RecordBatchReader or an iterator of batches"
    )


def test_an_empty_table_is_stored_with_its_schema(tmp_path: Path):
    staged = StagedFile(str(tmp_path / "t.parquet"), pa.RecordBatchReader.from_batches(TABLE.schema, iter([])))
    staged.publish()
    assert (staged.rows, pq.ParquetFile(tmp_path / "t.parquet").schema_arrow) == (0, TABLE.schema)


def test_small_batches_become_large_row_groups_with_page_checksums(tmp_path: Path):
    path = str(tmp_path / "t.parquet")
    StagedFile(path, (pa.record_batch({"id": list(range(100))}) for _ in range(2000))).publish()
    file = pq.ParquetFile(path, page_checksum_verification=True)
    assert [file.metadata.row_group(at).num_rows for at in range(file.metadata.num_row_groups)] == [122_900 - 20, 20, 77_100]
    assert file.read().num_rows == 200_000


def test_a_categorical_polars_frame_survives(tmp_path: Path):
    frame = pl.DataFrame({"c": pl.Series(["x", "y"], dtype=pl.Categorical), "e": pl.Series(["x", None], dtype=pl.Enum(["x"]))})
    for number, value in enumerate((frame, frame.lazy())):
        StagedFile(str(tmp_path / f"{number}.parquet"), value).publish()
        found = read_paths([str(tmp_path / f"{number}.parquet")], "polars.DataFrame")
        assert found.cast(pl.String).to_dicts() == frame.cast(pl.String).to_dicts()


@pytest.mark.parametrize("failing", ["generator", "reader", "polars"])
def test_a_write_that_fails_leaves_the_old_table_whole(failing: str, tmp_path: Path):
    path = str(tmp_path / "t.parquet")
    StagedFile(path, TABLE).publish()

    def broken() -> Iterator[pa.RecordBatch]:
        yield from batches(2)
        raise RuntimeError("the source is gone")

    values = {
        "generator": broken(),
        "reader": pa.RecordBatchReader.from_batches(pa.schema({"id": pa.int64()}), broken()),
        "polars": pl.LazyFrame({"id": ["x"]}).with_columns(pl.col("id").cast(pl.Int64)),
    }
    with pytest.raises(Exception, match=r"the source is gone|conversion"):
        StagedFile(path, values[failing])
    assert pq.ParquetFile(path).read() == TABLE
    assert os.listdir(tmp_path) == ["t.parquet"]


@given(before=st.integers(0, 5), at_the_end=st.booleans())
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_written_before_the_failure_the_old_table_stays(before: int, at_the_end: bool, tmp_path: Path):
    path = str(tmp_path / f"{uuid.uuid4()}.parquet")
    StagedFile(path, TABLE).publish()

    def broken() -> Iterator[object]:
        yield from batches(before)
        if at_the_end:
            raise OSError("no space left")
        yield "not a batch"

    with pytest.raises((OSError, ValueRefused)):
        StagedFile(path, broken())
    assert pq.ParquetFile(path).read() == TABLE


def test_a_process_that_is_killed_leaves_the_old_table_and_no_data(tmp_path: Path):
    path = str(tmp_path / "t.parquet")
    StagedFile(path, TABLE).publish()
    code = (
        "import os, sys, pyarrow as pa\nfrom dq_dagster.definitions.parquet_files import StagedFile\n"
        "def batches():\n    yield pa.record_batch({'id': [1]})\n    os.kill(os.getpid(), 9)\n"
        "StagedFile(sys.argv[1], batches())"
    )
    died = subprocess.run([sys.executable, "-c", code, path], cwd=Path(__file__).parents[2], check=False)
    assert died.returncode == -9
    hidden = [name for name in os.listdir(tmp_path) if name != "t.parquet"]
    assert [name.startswith(".t.parquet.") for name in hidden] == [True]
    assert open_table(path).rows == open_table(tmp_path).rows == 3


def test_a_reader_sees_one_table_or_the_other_never_a_part(tmp_path: Path):
    path = str(tmp_path / "t.parquet")
    old, new = TABLE, pa.table({"id": [9], "name": ["z"]})
    StagedFile(path, old).publish()
    reading = pq.ParquetFile(path)
    StagedFile(path, new).publish()
    assert reading.read() == old
    assert pq.ParquetFile(path).read() == new


def test_a_table_on_a_remote_file_system_is_stored_and_read():
    base = f"memory://{uuid.uuid4().hex}"
    for value in (pa.table({"id": [0]}), TABLE, pl.LazyFrame(TABLE.to_pydict())):
        staged = StagedFile(f"{base}/t.parquet", value)
        staged.publish()
    assert open_table(base).rows == 3
    assert [part.name for part in open_table(base).parts] == ["t.parquet"]
    for wanted in ("pyarrow.Table", "pandas.DataFrame", "polars.DataFrame", "polars.LazyFrame", "pyarrow.RecordBatchReader"):
        assert len(list(_rows(read_paths([f"{base}/t.parquet"], wanted)))) == 3


def test_a_remote_write_that_fails_leaves_the_old_table_and_nothing_else():
    base = f"memory://{uuid.uuid4().hex}"
    StagedFile(f"{base}/t.parquet", TABLE).publish()
    with pytest.raises(ValueRefused):
        StagedFile(f"{base}/t.parquet", [*batches(2), "x"])
    assert len(fsspec.filesystem("memory").find(base)) == 1
    assert open_table(base).rows == 3


def _rows(value: Any) -> Any:
    if isinstance(value, pl.LazyFrame):
        value = value.collect()
    if isinstance(value, pl.DataFrame):
        return value.rows()
    if isinstance(value, pd.DataFrame):
        return value.itertuples()
    return (value.read_all() if isinstance(value, pa.RecordBatchReader) else value).to_pylist()


@pytest.mark.parametrize("annotation", [pa.Table, pa.RecordBatchReader, pd.DataFrame, pl.DataFrame, pl.LazyFrame, None], ids=str)
def test_an_input_comes_as_what_its_annotation_names(annotation: Any, tmp_path: Path):
    seen: list[Any] = []

    @dg.asset
    def orders() -> pa.Table:
        return TABLE

    def downstream(orders: Any) -> None:
        seen.append(orders)
        assert len(list(_rows(orders))) == 3

    if annotation is None:
        del downstream.__annotations__["orders"]
    else:
        downstream.__annotations__["orders"] = annotation
    assert run([orders, dg.asset(downstream)], tmp_path).success
    assert isinstance(seen[0], annotation or pa.Table)


def test_an_annotation_that_cannot_be_served_says_what_can(tmp_path: Path):
    @dg.asset
    def orders() -> pa.Table:
        return TABLE

    @dg.asset
    def report(orders: int) -> None: ...

    result = run([orders, report], tmp_path)
    told = result.failure_data_for_node("report")
    assert told is not None
    assert told.error is not None
    choice = "pyarrow.Table, pyarrow.RecordBatchReader, pandas.DataFrame, polars.DataFrame, polars.LazyFrame, or a dict"
    assert f"input 'orders' is annotated with int; a stored table can be loaded as {choice}" in str(told.error)


def test_an_asset_that_returns_none_is_told_how_to_say_so(tmp_path: Path):
    @dg.asset
    def orders():
        return None

    failure = run([orders], tmp_path).failure_data_for_node("orders")
    assert failure is not None
    assert "asset orders returned None; return a table, or annotate it with `-> None` if it stores its own data" in str(failure.error)


def test_the_materialization_tells_rows_columns_path_and_size(tmp_path: Path):
    column = dg.TableColumn("id", "bigint", description="The order.", constraints=dg.TableColumnConstraints(unique=True))
    declared = dg.TableSchema([column])

    @dg.asset(metadata={"dagster/column_schema": declared, "dq_dagster/recipe_digest": "abc"})
    def orders() -> pa.Table:
        return TABLE

    (event,) = run([orders], tmp_path).get_asset_materialization_events()
    metadata = {key: value.value for key, value in event.materialization.metadata.items()}
    path = tmp_path / "orders.parquet"
    schema: Any = metadata.pop("dagster/column_schema")
    assert metadata == {"path": str(path), "size_bytes": path.stat().st_size, "dagster/row_count": 3, "dq_dagster/recipe_digest": "abc"}
    assert [(column.name, column.type, column.description, column.constraints.unique) for column in schema.columns] == [
        ("id", "bigint", "The order.", True),
        ("name", "varchar", None, False),
    ]
    json.dumps(metadata, allow_nan=False)


def partitioned(returned: Any, partitions: dg.PartitionsDefinition[Any] = DAYS) -> dg.AssetsDefinition:
    @dg.asset(partitions_def=partitions, backfill_policy=dg.BackfillPolicy.single_run())
    def orders(context: dg.AssetExecutionContext) -> Any:
        return returned(list(context.partition_keys))

    return orders


def of_key(keys: list[str]) -> pa.Table:
    return pa.table({"id": [int(keys[0])]})


def test_partition_1_is_not_partition_10(tmp_path: Path):
    orders, seen = partitioned(of_key), []

    @dg.asset(partitions_def=DAYS, backfill_policy=dg.BackfillPolicy.single_run())
    def copy(orders: pa.Table) -> None:
        seen.append(orders.to_pydict()["id"])

    for key in ("10", "2", "1"):
        assert run([orders, copy], tmp_path, partition_key=key).success
    assert seen == [[10], [2], [1]]
    assert sorted(os.listdir(tmp_path / "orders.parquet")) == ["1.parquet", "10.parquet", "2.parquet"]
    assert open_table(tmp_path / "orders.parquet").rows == 3


def in_range(first: str, last: str) -> dict[str, Any]:
    return {"tags": {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}}


def test_a_run_for_several_partitions_returns_a_dict(tmp_path: Path):
    orders = partitioned(lambda keys: {key: of_key([key]) for key in keys})
    result = run([orders], tmp_path, **in_range("1", "2"))
    assert result.success
    assert sorted(str(event.partition) for event in result.get_asset_materialization_events()) == ["1", "10", "2"]
    assert store(tmp_path).path_for(orders.key, "10") == f"{tmp_path}/orders.parquet/10.parquet"
    assert open_table(tmp_path / "orders.parquet").rows == 3


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (of_key, "asset orders was run for 3 partitions at once and returned one Table; return a dict from partition key to table"),
        (lambda keys: {"1": of_key(keys), "7": of_key(keys)}, "asset orders returned a dict that lacks '10', '2' and has the unasked '7'"),
        (lambda keys: {"1": of_key(keys), "10": of_key(keys), "2": "text"}, "a value of type str cannot be stored as Parquet"),
    ],
    ids=["one table", "other keys", "no table"],
)
def test_a_run_for_several_partitions_that_goes_wrong_replaces_none(returned: Any, told: str, tmp_path: Path):
    for key in ("1", "10", "2"):
        assert run([partitioned(of_key)], tmp_path, partition_key=key).success
    before = {path.name: path.read_bytes() for path in (tmp_path / "orders.parquet").iterdir()}
    failure = run([partitioned(returned)], tmp_path, **in_range("1", "2")).failure_data_for_node("orders")
    assert failure is not None
    assert told in str(failure.error)
    assert {path.name: path.read_bytes() for path in (tmp_path / "orders.parquet").iterdir()} == before


EACH_OR_WHOLE = [pa.Table, pd.DataFrame, pl.LazyFrame, pa.RecordBatchReader, dict[str, pa.Table], dict, None]


@pytest.mark.parametrize("annotation", EACH_OR_WHOLE, ids=str)
def test_several_partitions_come_as_a_dict_or_as_one_table(annotation: Any, tmp_path: Path):
    orders, seen = partitioned(of_key), {}
    for key in ("1", "10"):
        assert run([orders], tmp_path, partition_key=key).success

    def whole(orders: Any) -> None:
        seen["is_dict"] = isinstance(orders, dict)
        seen["ids"] = {key: _rows(table) for key, table in orders.items()} if seen["is_dict"] else len(list(_rows(orders)))

    if annotation is None:
        del whole.__annotations__["orders"]
    else:
        whole.__annotations__["orders"] = annotation
    ins = {"orders": dg.AssetIn(metadata={"allow_missing_partitions": True})}
    assert run([orders, dg.asset(ins=ins)(whole)], tmp_path, selection=["whole"]).success
    expected = {"1": [{"id": 1}], "10": [{"id": 10}]}
    assert seen == {"is_dict": annotation in (None, dict, dict[str, pa.Table]), "ids": expected if seen["is_dict"] else 2}


def test_a_partition_that_is_missing_is_an_error(tmp_path: Path):
    orders = partitioned(of_key)
    run([orders], tmp_path, partition_key="1")

    @dg.asset
    def whole(orders: pa.Table) -> None: ...

    failure = run([orders, whole], tmp_path, selection=["whole"]).failure_data_for_node("whole")
    assert failure is not None
    assert f"nothing is stored at {tmp_path}/orders.parquet/10.parquet; materialize it first" in str(failure.error)


def test_multi_partition_keys_have_one_spelling(tmp_path: Path):
    days, airports = dg.StaticPartitionsDefinition(["1", "10"]), dg.StaticPartitionsDefinition(["EWR"])
    grid = dg.MultiPartitionsDefinition({"day": days, "airport": airports})
    orders = partitioned(lambda keys: TABLE, grid)
    assert run([orders], tmp_path, partition_key=dg.MultiPartitionKey({"day": "1", "airport": "EWR"})).success
    assert os.listdir(tmp_path / "orders.parquet") == ["EWR%7C1.parquet"]


@pytest.mark.parametrize("key", ["/etc/passwd", "../x"])
def test_a_partition_key_that_leaves_the_base_is_refused(key: str, tmp_path: Path):
    keys = dg.DynamicPartitionsDefinition(name="keys")
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("keys", [key])
        orders = partitioned(lambda keys: TABLE, keys)
        failure = run([orders], tmp_path / "base", partition_key=key, instance=instance).failure_data_for_node("orders")
    assert failure is not None
    assert f"partition key {key!r} reads as a path that leaves the table's folder" in str(failure.error)
    assert not (tmp_path / "base").exists()


def test_a_table_that_was_partitioned_otherwise_is_not_overwritten(tmp_path: Path):
    store(tmp_path)
    StagedFile(f"{tmp_path}/orders.parquet", TABLE).publish()
    with pytest.raises(StoredOtherwise, match=r"orders.parquet is a file, and a partition is to be written"):
        StagedFile(f"{tmp_path}/orders.parquet/1.parquet", TABLE)
    StagedFile(f"{tmp_path}/flights.parquet/1.parquet", TABLE).publish()
    with pytest.raises(StoredOtherwise, match=r"flights.parquet is a folder of partitions, and a file is to be written"):
        StagedFile(f"{tmp_path}/flights.parquet", TABLE)
    assert open_table(tmp_path).rows == 6


def test_keys_that_look_alike_do_not_meet(tmp_path: Path):
    @dg.asset(key=["raw", "orders"])
    def nested() -> pa.Table:
        return pa.table({"id": [1]})

    @dg.asset(key="raw.orders")
    def dotted() -> pa.Table:
        return pa.table({"id": [2]})

    assert run([nested, dotted], tmp_path).success
    manager = store(tmp_path)
    assert open_table(manager.path_for(nested.key)).place != open_table(manager.path_for(dotted.key)).place
    assert pq.ParquetFile(manager.path_for(dotted.key)).read().to_pydict() == {"id": [2]}


def test_the_outputs_of_plain_ops_are_stored_too(tmp_path: Path):
    @dg.op
    def give() -> pa.Table:
        return TABLE

    @dg.op(out=dg.Out(io_manager_key="plain"))
    def count(table: pl.DataFrame) -> int:
        return table.height

    @dg.job(resource_defs={"io_manager": store(tmp_path), "plain": dg.mem_io_manager})
    def work():
        count(give())

    assert work.execute_in_process(run_config=QUIET).output_for_node("count") == 3


def test_nothing_is_stored_where_nothing_was_written(tmp_path: Path):
    with pytest.raises(NotStored, match="nothing is stored at"):
        read_paths([str(tmp_path / "t.parquet")], "pyarrow.Table")


def test_a_warehouse_may_have_any_name(tmp_path: Path):
    @dg.asset
    def orders() -> pa.Table:
        return TABLE

    @dg.asset
    def copy(orders: pl.LazyFrame) -> pl.LazyFrame:
        return orders

    folder = tmp_path / "a [b] *?%2F'\" c=1"
    result = run([orders, copy], folder)
    assert materialized(result) == ["orders", "copy"]
    assert open_table(ParquetIOManager(base_path=str(folder)).path_for(copy.key)).rows == 3


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket on an S3 server of our own, which every client of this process is sent to."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        forget_clients()
        fsspec.filesystem("s3").mkdir("warehouse")
        yield "s3://warehouse"
    forget_clients()
    server.stop()


def forget_clients() -> None:
    """fsspec keeps a file system with the settings that it first saw."""
    fsspec.get_filesystem_class("s3").clear_instance_cache()


def test_assets_are_stored_checked_and_loaded_on_s3(bucket: str, tmp_path: Path):
    orders = partitioned(lambda keys: pa.table({"id": [1, 1] if keys == ["10"] else [1]}))

    @dg.asset(partitions_def=DAYS, backfill_policy=dg.BackfillPolicy.single_run())
    def copy(orders: pa.RecordBatchReader) -> pa.RecordBatchReader:
        return orders

    checks = build_recipe_checks(asset=orders, recipe=recipe(unique()))
    manager = ParquetIOManager(base_path=f"{bucket}/raw data")
    for _ in range(2):  # the second time, objects are replaced
        for key in ("1", "10"):
            result = run([orders, copy, *checks], tmp_path, partition_key=key, resources={"io_manager": manager})
            assert passed(result) == {f"id_u[{key}]": key == "1"}
            assert materialized(result) == (["orders", "copy"] if key == "1" else ["orders"])
    found = fsspec.filesystem("s3").find("warehouse")
    assert found == ["warehouse/raw data/copy.parquet/1.parquet"] + [
        f"warehouse/raw data/orders.parquet/{key}.parquet" for key in ("1", "10")
    ]
    with pytest.raises(StoredOtherwise, match="is a folder of partitions, and a file is to be written"):
        StagedFile(manager.path_for(orders.key), TABLE)
    assert fsspec.filesystem("s3").find("warehouse") == found
