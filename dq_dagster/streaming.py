"""Parquet files that are read batch by batch, however large their row groups are."""

from __future__ import annotations

from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

_HELD = 1 << 20


def parquet_stream(source: pa.NativeFile | IO[bytes], *, is_local: bool, **options: Any) -> pq.ParquetFile:
    """The file, of whose columns little is held at a time: 1 MiB where it is local, else a row group, which is one request.

    Left to itself, pyarrow holds all of the columns that it reads, of the whole file.
    """
    return pq.ParquetFile(source, pre_buffer=False, buffer_size=_HELD if is_local else 0, **options)
