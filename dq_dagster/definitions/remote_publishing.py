"""Publishing on an fsspec file system, such as an object store: copies on the server, and a journal where there are several.

An object store replaces one object in one step, so that a reader of one table sees the old one or the new one. It can
change no two objects at once: tables that are published together are copied one after the other, and a reader in
between may see both ages. The journal makes sure that it ends: the next run of the gate completes what a dead one began.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import secrets
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from dq_dagster.definitions.refusals import StoredOtherwise
from dq_dagster.files import Location, locate

# Nobody can tell whether the process that left a candidate lives, but none lives that long.
_ORPHANED_AFTER = dt.timedelta(hours=24)
_STAMP = "%Y%m%dT%H%M%SZ"


class RemoteCandidates:
    """A private folder for the candidates of one run."""

    def __init__(self, filesystem: Any, folder: str, prefix: str) -> None:
        self._filesystem = filesystem
        self._prefix = prefix
        self.folder = folder

    def path(self, name: str) -> str:
        """Where a candidate of this name is written."""
        return f"{self._prefix}{self.folder}/{name}"

    @contextmanager
    def opened(self, path: str) -> Generator[IO[bytes], None, None]:
        """The candidate, to be written."""
        with self._filesystem.open(path, "wb") as stream:
            yield stream

    @contextmanager
    def local(self, path: str) -> Generator[str, None, None]:
        """Where a writer that knows local files only writes the candidate, which is uploaded when this ends."""
        with tempfile.TemporaryDirectory(prefix="dq_dagster-gate-") as folder:
            written = os.path.join(folder, "candidate.parquet")
            yield written
            if os.path.exists(written):
                self._filesystem.put_file(written, path)

    def size(self, path: str) -> int:
        """The candidate's bytes."""
        return int(self._filesystem.info(path)["size"])


class RemoteGate:
    """The hidden folder of a gate on an fsspec file system. `tables` are the addresses that it publishes to."""

    def __init__(self, tables: Sequence[str]) -> None:
        located = [locate(table) for table in tables]
        self._tables = [location.root for location in located]
        self._filesystem: Any = located[0].filesystem
        self._prefix = _prefix_of(located[0])
        folder, _, name = self._tables[0].rpartition("/")
        self._home = f"{folder}/.{name}.gate"
        self._journal = f"{self._home}/journal.json"
        self.home = self._prefix + self._home
        self._is_half_published = False

    @contextmanager
    def candidates(self) -> Generator[RemoteCandidates, None, None]:
        """A private folder, gone afterwards. What a dead run began to publish is completed first, and old orphans are removed."""
        self._filesystem.invalidate_cache()
        self._complete()
        self._clear()
        stamp = dt.datetime.now(dt.timezone.utc).strftime(_STAMP)
        folder = f"{self._home}/candidates/{stamp}-{secrets.token_hex(8)}"
        self._filesystem.makedirs(folder, exist_ok=True)
        try:
            yield RemoteCandidates(self._filesystem, folder, self._prefix)
        finally:
            if not self._is_half_published:  # else the next run needs what is in it
                self._remove(folder)

    def publish(self, moves: Mapping[str, str]) -> None:
        """Copies candidates to where they are published, on the server. Several: one after the other, with a journal.

        Raises:
            StoredOtherwise: a folder stands in a file's place, or a file in a folder's.
        """
        copies = {locate(candidate).root: locate(path).root for candidate, path in moves.items()}
        for path in copies.values():
            self._refuse_other_layout(path)
        if len(copies) == 1:
            self._copy(copies)
            return
        self._filesystem.pipe_file(self._journal, json.dumps(copies).encode())
        self._is_half_published = True
        self._copy(copies)
        self._filesystem.rm_file(self._journal)
        self._is_half_published = False

    def keep(self, candidate: str, path: str) -> str:
        """Keeps a rejected candidate, instead of the last one that was rejected for the same path; says where."""
        root = locate(path).root
        table = next(table for table in self._tables if root == table or root.startswith(table + "/"))
        name = table.rpartition("/")[2] + ("" if root == table else f"--{root.rpartition('/')[2]}")
        kept = f"{self._home}/rejected/{name}"
        self._filesystem.makedirs(f"{self._home}/rejected", exist_ok=True)
        self._filesystem.cp_file(locate(candidate).root, kept)
        return self._prefix + kept

    def _copy(self, copies: Mapping[str, str]) -> None:
        for candidate, path in copies.items():
            self._filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._filesystem.cp_file(candidate, path)

    def _complete(self) -> None:
        """Publishes what a journal says was begun, where all of it is still there; what is there no longer was published whole."""
        if not self._filesystem.exists(self._journal):
            return
        copies: dict[str, str] = json.loads(self._filesystem.cat_file(self._journal))
        if all(self._filesystem.exists(candidate) for candidate in copies):
            self._copy(copies)
            for candidate in copies:
                self._remove(candidate.rpartition("/")[0])
        self._filesystem.rm_file(self._journal)

    def _clear(self) -> None:
        parent = f"{self._home}/candidates"
        if not self._filesystem.exists(parent):
            return
        oldest = (dt.datetime.now(dt.timezone.utc) - _ORPHANED_AFTER).strftime(_STAMP)
        for folder in self._filesystem.ls(parent, detail=False):
            if folder.rstrip("/").rpartition("/")[2] < oldest:
                self._remove(folder)

    def _remove(self, folder: str) -> None:
        if self._filesystem.exists(folder):
            self._filesystem.rm(folder, recursive=True)

    def _refuse_other_layout(self, path: str) -> None:
        if self._filesystem.isdir(path):
            raise StoredOtherwise(path=path, stored="a folder of partitions", wanted="a file")
        if path not in self._tables and self._filesystem.isfile(path.rpartition("/")[0]):
            raise StoredOtherwise(path=path.rpartition("/")[0], stored="a file", wanted="a partition")


def _prefix_of(location: Location) -> str:
    """What makes a path of the file system an address again, such as "s3://"."""
    return str(location.filesystem.unstrip_protocol(location.root))[: -len(location.root)]
