"""Tables on other file systems: fsspec in memory, and S3 from a server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster.damage import find_fault, verify_checksums
from dq_dagster.tables import is_unchanged, open_files, open_table
from tests.test_tables import refusal


def test_a_table_on_an_fsspec_file_system(tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    root = "memory://dq_test_tables/st*r?#%25 [x]"
    try:
        for name, rows in (("k=a%20b/p.parquet", [1, None]), ("k=c/p.parquet", [3]), ("_tmp/x.parquet", [9]), ("k=c/.y.parquet", [9])):
            with memory.open(f"{root}/{name}", "wb") as stream:
                pq.write_table(pa.table({"v": rows}), stream)
        with memory.open("memory://dq_test_tables/stXrY#%25 x/p.parquet", "wb") as stream:
            pq.write_table(pa.table({"v": [9]}), stream)
        table = open_table(root)
        top = "memory:///dq_test_tables/st*r?#%25 [x]"
        assert [part.path for part in table.parts] == [f"{top}/k=a%20b/p.parquet", f"{top}/k=c/p.parquet"]
        assert [part.keys for part in table.parts] == [{"k": "a b"}, {"k": "c"}]
        assert (table.rows, table.null_count("v"), table.extremes("v"), table.filesystem) == (3, 1, (1, 3), memory)
        assert open_files([table.parts[1].path], root=root).rows == 1
        assert open_files(["k=a%20b"], root=root).parts[0].keys == {"k": "a b"}
        assert open_table(table.parts[0].path).parts[0].keys == {}
        verify_checksums(table, ["v"])
        assert is_unchanged(table)
        assert find_fault(table, ["v"]) is None
        with memory.open(table.parts[0].path, "wb") as stream:
            stream.write(b"PAR1")
        assert not is_unchanged(table)
        assert refusal(root).startswith("file 'k=a%20b/p.parquet' begins as a Parquet file and does not end as one")
        assert refusal("memory://dq_test_tables/none").startswith("the table is not there")
        memory.makedirs("/dq_test_tables/empty")
        assert refusal("memory://dq_test_tables/empty").startswith("no data file is there")
    finally:
        memory.rm("/dq_test_tables", recursive=True)


def test_a_long_footer_on_a_remote_file_system(tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    try:
        with memory.open("/dq_test_long.parquet", "wb") as stream:
            pq.write_table(pa.table({f"column_{at}": list(range(100)) for at in range(40)}), stream, row_group_size=5)
        table = open_table("memory://dq_test_long.parquet")
        assert int.from_bytes(memory.cat("/dq_test_long.parquet")[-8:-4], "little") > 64 * 1024
        assert table.extremes("column_39") == (0, 99)
    finally:
        memory.rm("/dq_test_long.parquet")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket on an S3 server of this process."""
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    try:
        s3fs.S3FileSystem().mkdir("dq-tables")
        yield "dq-tables"
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()


def test_a_table_on_s3(bucket: str) -> None:
    import s3fs

    files = s3fs.S3FileSystem()
    root = f"s3://{bucket}/d=1 st*r?#%25 [x]"
    for name, rows in (("k=1/p.parquet", [1, None]), ("k=10/p.parquet", [3]), ("_tmp/x.parquet", [9])):
        with files.open(f"{root}/{name}", "wb") as stream:
            pq.write_table(pa.table({"v": rows}), stream)
    with files.open(f"{root}0/p.parquet", "wb") as stream:
        pq.write_table(pa.table({"v": [9]}), stream)
    files.pipe_file(f"{bucket}/d=1 st*r?#%25 [x]/k=1/", b"")  # what consoles leave to show an empty folder
    table = open_table(root)
    assert [part.path for part in table.parts] == [f"{root}/k=1/p.parquet", f"{root}/k=10/p.parquet"]
    assert (table.rows, table.null_count("v"), table.extremes("v")) == (3, 1, (1, 3))
    assert all(part.modified for part in table.parts)
    assert open_files(["k=1"], root=root).rows == 2
    assert open_table(f"{root}/k=10/p.parquet").rows == 1
    assert is_unchanged(table)
    assert find_fault(table, ["v"]) is None
    with s3fs.S3FileSystem(skip_instance_cache=True).open(f"{root}/k=10/q.parquet", "wb") as stream:
        pq.write_table(pa.table({"v": [4]}), stream)  # by another process, as far as our listing knows
    assert not is_unchanged(table)
    assert open_table(root).rows == 4
    assert refusal(f"s3://{bucket}/missing") == "the table is not there; check the path, or write the table before checking it"
    assert refusal("s3://no-such-bucket/t").startswith("the table ")
    files.pipe_file(f"{root}/bad.parquet", b"")
    assert refusal(root).startswith("file 'bad.parquet' is empty (0 bytes)")
