"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dq_dagster.errors import DqDagsterError


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
    with ExitStack() as cleanup:
        handle, hidden = tempfile.mkstemp(prefix=".dq_dagster-", dir=os.path.dirname(path))
        cleanup.callback(_remove, hidden)
        with open(handle, "wb") as file:
            file.write(content)
        os.chmod(hidden, 0o666 & ~_umask())
        os.replace(hidden, path)


# A folder with this file in it is one table, written whole: Spark leaves it, and readers pass over it.
WHOLE = "_SUCCESS"


def finish_folder(folder: str | os.PathLike[str]) -> None:
    """Marks a folder of part files as one whole table, and sees to it that all of it is on disk."""
    (Path(folder) / WHOLE).touch()
    for file in os.scandir(folder):
        _sync(file.path)
    sync_folder(folder)


def is_whole(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is one table of part files, and not a folder of tables, or of anything else."""
    return (Path(path) / WHOLE).is_file()


class FolderInTheWay(DqDagsterError):
    """A folder that is no table stands where a table is to be written."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path} is a folder, and no table that Spark wrote: it has no file {WHOLE}; move it away, or write elsewhere")


@contextmanager
def part_folders(targets: Sequence[str | os.PathLike[str]]) -> Generator[list[str], None, None]:
    """A place for each target folder, which is not there yet; those that were written take their places when the body ends.

    A file or a whole table that is there is moved aside first, so that there is a moment without any. None takes its
    place where the body raises.

    Raises:
        FolderInTheWay: a folder is there that is no table.
    """
    for target in targets:
        if os.path.isdir(target) and not is_whole(target):
            raise FolderInTheWay(os.fspath(target))
    with ExitStack() as cleanup:
        hidden: list[Path] = []
        for target in targets:
            beside = Path(target).absolute().parent
            beside.mkdir(parents=True, exist_ok=True)
            hidden.append(Path(tempfile.mkdtemp(prefix=".dq_dagster-", dir=beside)))
            cleanup.callback(shutil.rmtree, hidden[-1], ignore_errors=True)
        yield [str(folder / "new") for folder in hidden]
        for folder, target in zip(hidden, targets, strict=True):
            if os.path.lexists(target):
                os.replace(target, folder / "old")
            os.replace(folder / "new", target)
            sync_folder(Path(target).absolute().parent)


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
