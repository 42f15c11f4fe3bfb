"""Private folders for spilled rows, and the clearing of those that a killed process left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

_PREFIX = "dq_dagster-spill-"
_OWNER = "owner.lock"

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no advisory locks: dead folders stay until the system clears them
    fcntl = None


@contextlib.contextmanager
def private_folder(parent: str | None) -> Generator[str, None, None]:
    """A folder that only this process uses, gone afterwards. Folders of dead processes beside it are removed.

    The owner holds a lock on a file inside; a lock dies with its process, however that ends.
    """
    base = Path(parent) if parent else Path(tempfile.gettempdir())
    base.mkdir(parents=True, exist_ok=True)
    _clear_dead(base)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
    with open(folder / _OWNER, "w") as owner:
        if fcntl is not None:
            fcntl.flock(owner, fcntl.LOCK_EX)
        try:
            yield str(folder / "rows")
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _clear_dead(base: Path) -> None:
    if fcntl is None:
        return
    for folder in base.glob(f"{_PREFIX}*"):
        try:
            with open(folder / _OWNER) as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except (BlockingIOError, FileNotFoundError, PermissionError, NotADirectoryError):
            continue  # alive, just being made or removed, or somebody else's


def spill_folders(parent: str | None = None) -> list[str]:
    """The spill folders that exist, for tests and for the curious."""
    base = Path(parent) if parent else Path(tempfile.gettempdir())
    return sorted(os.fspath(folder) for folder in base.glob(f"{_PREFIX}*"))
