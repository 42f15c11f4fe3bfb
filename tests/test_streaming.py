"""Reading a file takes little memory, also where all of its rows are one row group."""

from __future__ import annotations

import io
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dq_dagster.streaming import parquet_stream

ROWS, WIDTH = 1_000_000, 100
MOST = 50_000_000  # bytes; the column alone has 100,000,000
READERS = {
    "rows": "assert sum(batch.num_rows for batch in batches_of(open_table(path))) == rows",
    "faults": "assert find_fault(open_table(path), ['x']) is None",
    "checksums": "verify_checksums(open_table(path), ['x'])",
    "keys": "record_keys(path, [['x']])",
    "an input of an asset": "assert sum(batch.num_rows for batch in read_paths([path], 'pyarrow.RecordBatchReader')) == rows",
}
SCRIPT = """
import sys
import pyarrow as pa, pyarrow.parquet as pq
from dq_dagster.damage import find_fault, verify_checksums
from dq_dagster.definitions.parquet_files import read_paths
from dq_dagster.key_recording import record_keys
from dq_dagster.stored_rows import batches_of
from dq_dagster.tables import open_table
path, rows = sys.argv[1], int(sys.argv[2])
{reader}
print(pa.default_memory_pool().max_memory())
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("wide") / "t.parquet"
    texts = pa.array([f"{number:0{WIDTH}d}" for number in range(ROWS)])
    pq.write_table(pa.table({"x": texts}), path, row_group_size=ROWS, use_dictionary=False, compression="none")
    return path


def memory_of(reader: str, path) -> int:
    script = SCRIPT.format(reader=reader)
    done = subprocess.run([sys.executable, "-c", script, str(path), str(ROWS)], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize("name", READERS)
def test_a_row_group_is_never_held_whole(name, file):
    assert memory_of(READERS[name], file) < MOST


def test_left_to_itself_pyarrow_holds_it_whole(file):
    """Why streaming.py is there: where this fails one day, it need not be."""
    assert memory_of("[batch.num_rows for batch in pq.ParquetFile(path).iter_batches()]", file) > MOST


def test_a_remote_file_is_read_a_row_group_at_a_request(file):
    class Counted(io.BytesIO):
        reads = 0

        def read(self, size=-1, /):
            type(self).reads += 1
            return super().read(size)

    read = parquet_stream(Counted(file.read_bytes()), is_local=False).iter_batches()
    assert sum(batch.num_rows for batch in read) == ROWS
    assert Counted.reads < 10
