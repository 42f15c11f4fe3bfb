"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


@contextmanager
def parquet_files(targets: Sequence[tuple[str | os.PathLike[str], pa.Schema]]) -> Generator[list[pq.ParquetWriter], None, None]:
    """A writer for each target file; the files take their places when the body ends, and none does where it raises.

    Each is written under a hidden name in its own folder, and moved over what was there in one step. The moves follow
    each other: a process that dies between two leaves whole files of both ages, and says so nowhere.
    """
    with ExitStack() as cleanup:
        hidden: list[str] = []
        writers: list[pq.ParquetWriter] = []
        for target, schema in targets:
            folder = Path(target).absolute().parent
            folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=".dq_dagster-", suffix=".parquet", dir=folder)
            os.close(handle)
            hidden.append(name)
            cleanup.callback(_remove, name)
            writers.append(cleanup.enter_context(pq.ParquetWriter(name, schema, compression="zstd")))
        yield writers
        for writer in writers:
            writer.close()
        for name, (target, _) in zip(hidden, targets, strict=True):
            _sync(name)
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, target)


def replace_file(path: str, content: bytes) -> None:
    """Writes a file in one step: a reader sees what was there before, or all of this. Raises OSError."""
    handle, hidden = tempfile.mkstemp(prefix=".dq_dagster-", dir=os.path.dirname(path))
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.chmod(hidden, 0o666 & ~_umask())
        os.replace(hidden, path)
    except BaseException:
        _remove(hidden)
        raise


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Makes what was renamed in a folder survive a crash of the machine, where the platform lets a folder be synced."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folder
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(name: str) -> None:
    Path(name).unlink(missing_ok=True)


def _sync(name: str) -> None:
    with open(name, "rb") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
