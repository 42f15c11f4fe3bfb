"""Publishing what a gate let through: one file by one rename, several tables or a folder of parts by one flip of a link.

A gate keeps a hidden folder beside its first table, `.orders.parquet.gate`:

    candidates/     what is being written and checked, a folder a run
    rejected/       the last rejected candidate of each table, where it is asked for
    generations/    of what no single rename can publish: a folder a publication
    current         a link to the generation that readers see
    lock            held while candidates are made or cleared, and while a generation takes its place

Tables that are published together, and tables of part files, are links through `current`, so that one rename changes
all of them at once.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dq_dagster.definitions.refusals import StoredOtherwise
from dq_dagster.files import locate
from dq_dagster.writing import WHOLE, is_whole, sync_folder

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has no advisory locks: there two runs of one gate must not overlap
    fcntl = None

# A reader that is on its way through a link when it changes finds what the link led to for this long.
GRACE_SECONDS = 60.0
_OWNER = "owner.lock"


class Candidates:
    """A private folder for the candidates of one run; its owner holds a lock that dies with the process."""

    def __init__(self, folder: str, owner: IO[bytes]) -> None:
        self.folder = folder
        self._owner = owner

    def path(self, name: str) -> str:
        """Where a candidate of this name is written."""
        return os.path.join(self.folder, name)

    @contextmanager
    def opened(self, path: str) -> Generator[IO[bytes], None, None]:
        """The candidate, to be written; it is on disk when this ends."""
        with open(path, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())

    @contextmanager
    def local(self, path: str) -> Generator[str, None, None]:
        """Where a writer that knows local files only writes the candidate."""
        yield path

    def size(self, path: str) -> int:
        """The candidate's bytes."""
        if not os.path.isdir(path):
            return os.path.getsize(path)
        return sum(file.stat().st_size for file in os.scandir(path) if not file.name.startswith((".", "_")))


class LocalGate:
    """The hidden folder of a gate on the local file system. `tables` are the paths that it publishes to, always the same."""

    def __init__(self, tables: Sequence[str]) -> None:
        self._tables = [_local(table) for table in tables]
        first = self._tables[0]
        self.home = first.with_name(f".{first.name}.gate")

    @contextmanager
    def candidates(self) -> Generator[Candidates, None, None]:
        """A private folder, gone afterwards. Those of dead processes are removed first."""
        parent = self.home / "candidates"
        parent.mkdir(parents=True, exist_ok=True)
        with self._locked():
            for folder in parent.iterdir():
                _remove_if_dead(folder)
            folder = Path(tempfile.mkdtemp(dir=parent))
            owner = (folder / _OWNER).open("wb")
            if fcntl is not None:
                fcntl.flock(owner, fcntl.LOCK_EX)
        try:
            yield Candidates(str(folder), owner)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            owner.close()

    def publish(self, moves: Mapping[str, str]) -> None:
        """Puts candidates where they are published, by path: all of them, in one step, or none.

        A path is a table's own, or that of a file in the folder of a partitioned table; of several tables, each has one.
        A candidate is a file, or a folder of part files that is one whole table.
        A reader sees what was there before or what is there now, also when the process or the machine stops.

        Raises:
            StoredOtherwise: a folder of partitions stands in a table's place, or a table in its.
        """
        targets = {_local(path): candidate for candidate, path in moves.items()}
        for path in targets:
            self._refuse_other_layout(path)
        if not self._needs_link(targets):
            ((path, candidate),) = targets.items()
            path.parent.mkdir(parents=True, exist_ok=True)
            os.replace(candidate, path)
            sync_folder(path.parent)
            return
        with self._locked():
            _Generations(self.home, self._tables).publish(targets)

    def _needs_link(self, targets: Mapping[Path, str]) -> bool:
        """Whether one rename cannot do it: there are several tables, a folder to put in place or to replace, or a link already."""
        is_folder = any(path.is_dir() or os.path.isdir(candidate) for path, candidate in targets.items())
        return len(self._tables) > 1 or is_folder or (self.home / "current").is_symlink()

    def keep(self, candidate: str, path: str) -> str:
        """Keeps a rejected candidate, instead of the last one that was rejected for the same path; says where."""
        folder = self.home / "rejected"
        folder.mkdir(exist_ok=True)
        target = _local(path)
        is_partition = target not in self._tables
        kept = folder / (f"{target.parent.name}--{target.name}" if is_partition else target.name)
        if os.path.isdir(kept) or os.path.isdir(candidate):
            _remove(kept)
        os.replace(candidate, kept)
        return str(kept)

    def _refuse_other_layout(self, path: Path) -> None:
        if path.is_dir() and not is_whole(path):
            raise StoredOtherwise(path=str(path), stored="a folder of partitions", wanted="a file")
        if path not in self._tables and path.parent.is_file():
            raise StoredOtherwise(path=str(path.parent), stored="a file", wanted="a partition")
        if path not in self._tables and is_whole(path.parent):
            raise StoredOtherwise(path=str(path.parent), stored="a table of part files", wanted="a partition")

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        with (self.home / "lock").open("wb") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield


class _Generations:
    """The tables that are published together, generation by generation. The gate's lock is held for as long as one lives."""

    def __init__(self, home: Path, tables: Sequence[Path]) -> None:
        self._home = home
        self._current = home / "current"
        self._folder = home / "generations"
        self._folder.mkdir(exist_ok=True)
        self._members = {table: _member_name(table, home) for table in tables}

    def publish(self, moves: Mapping[Path, str]) -> None:
        current = self._number()
        self._clear(current)
        if not all(self._leads_here(table) for table in self._members):
            current = self._adopt(current)
        new = self._begun(current + 1)
        replaced = {self._place(path): candidate for path, candidate in moves.items()}
        if current:
            _link_tree(self._generation(current), new, without=set(replaced))
        for place, candidate in replaced.items():
            (new / place).parent.mkdir(exist_ok=True)
            os.replace(candidate, new / place)
        self._flip(current + 1)

    def _adopt(self, current: int) -> int:
        """Makes every table a link through `current`, and changes nothing of what a reader sees. Gives the generation's number.

        A table that was never published becomes a link to nothing, which is to every reader as if it were not there.
        """
        new = self._begun(current + 1)
        names = set(self._members.values())
        if current:
            _link_tree(self._generation(current), new, without=names)  # tables that this gate published once, and no longer does
        for table, name in self._members.items():
            if table.is_dir():
                (new / name).mkdir()
                _link_tree(table, new / name, without=set())
            elif table.exists():
                _link(os.path.realpath(table), new / name)
        self._flip(current + 1)
        for table in self._members:
            if not self._leads_here(table):
                self._replace_by_link(table)
        return current + 1

    def _replace_by_link(self, table: Path) -> None:
        table.parent.mkdir(parents=True, exist_ok=True)
        beside = table.with_name(f".{table.name}.link")
        _remove(beside)
        beside.symlink_to(self._link_to(table))
        if table.is_dir() and not table.is_symlink():
            _exchange(beside, table)
        else:
            os.replace(beside, table)
        _remove(beside)
        sync_folder(table.parent)

    def _link_to(self, table: Path) -> str:
        # The parents' own links are followed, for the kernel climbs from where they lead.
        return os.path.relpath(self._home.resolve() / "current" / self._members[table], table.parent.resolve())

    def _leads_here(self, table: Path) -> bool:
        return table.is_symlink() and os.readlink(table) == self._link_to(table)

    def _place(self, path: Path) -> Path:
        """Where a published path is inside a generation."""
        return Path(self._members[path]) if path in self._members else Path(self._members[path.parent]) / path.name

    def _number(self) -> int:
        return int(Path(os.readlink(self._current)).name) if self._current.is_symlink() else 0

    def _generation(self, number: int) -> Path:
        return self._folder / f"{number:012d}"

    def _begun(self, number: int) -> Path:
        folder = self._generation(number)
        folder.mkdir()
        return folder

    def _flip(self, number: int) -> None:
        folder = self._generation(number)
        for inner in (*(entry for entry in folder.iterdir() if entry.is_dir()), folder, self._folder):
            sync_folder(inner)
        beside = self._home / "current.new"
        _remove(beside)
        beside.symlink_to(Path("generations") / folder.name)
        os.replace(beside, self._current)
        sync_folder(self._home)

    def _clear(self, current: int) -> None:
        """Removes generations that a dead process never published, and those that no reader can be in any more."""
        for folder in self._folder.iterdir():
            number = int(folder.name)
            if number > current or (number < current and _age(self._generation(number + 1)) > GRACE_SECONDS):
                shutil.rmtree(folder)


def _local(path: str) -> Path:
    return Path(locate(path).root)


def _member_name(table: Path, home: Path) -> str:
    """A table's name inside generations: it stays when other tables come and go, and when the whole warehouse is moved."""
    where = os.path.relpath(table, home.parent)
    return f"{hashlib.sha256(where.encode(errors='surrogatepass')).hexdigest()[:8]}-{table.name}"


def _age(folder: Path) -> float:
    """Seconds since a generation took its place; no time at all where that cannot be told."""
    try:
        return time.time() - folder.stat().st_mtime
    except FileNotFoundError:  # cleared a moment ago: so long ago that the one before may go too
        return GRACE_SECONDS + 1


def _link_tree(source: Path, target: Path, *, without: set[Path] | set[str]) -> None:
    """The visible files of a folder, and of the folders in it, as further names of the same files; without those places.

    The mark of a whole table goes with them.
    """
    skipped = {str(place) for place in without}

    def walk(folder: Path, place: str) -> None:
        for entry in os.scandir(folder):
            here = f"{place}{entry.name}"
            if here in skipped or (entry.name.startswith((".", "_")) and entry.name != WHOLE):
                continue
            if entry.is_dir():
                (target / here).mkdir()
                walk(Path(entry.path), f"{here}/")
            else:
                _link(os.path.realpath(entry.path), target / here)

    walk(source, "")


def _link(source: str, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without hard links
        shutil.copy2(source, target)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _remove_if_dead(folder: Path) -> None:
    """Removes a candidates' folder unless its process lives. One without an owner is dead: owners come under the gate's lock."""
    if fcntl is None:
        return
    try:
        with (folder / _OWNER).open("rb") as owner:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except FileNotFoundError:
        shutil.rmtree(folder, ignore_errors=True)
    except (BlockingIOError, NotADirectoryError, PermissionError):
        return


def _exchange(one: Path, other: Path) -> None:
    """Lets two names change places in one step, as a plain rename cannot where one of them is a folder that is not empty."""
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        failed = library.renamex_np(os.fsencode(one), os.fsencode(other), 2)  # RENAME_SWAP
    elif hasattr(library, "renameat2"):
        failed = library.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2)  # AT_FDCWD, RENAME_EXCHANGE
    else:
        failed = 1
    if failed:
        raise StoredOtherwise(
            path=str(other), stored="a folder that this file system cannot exchange for a link in one step", wanted="a link"
        )
