"""The files that make up a table: finding them, on any file system, and reading how each one ends."""

from __future__ import annotations

import datetime as dt
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dq_dagster.errors import TableUnreadable
from dq_dagster.key_records import TRAILER, length_of

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*(?:::[A-Za-z][A-Za-z0-9+.\-]*)*://")
_LOCAL = ("file://", "local://")
_MAGIC, _ENCRYPTED = b"PAR1", b"PARE"
_TAIL = 64 * 1024
_VERSION_KEYS = ("ETag", "etag", "md5Hash", "generation", "LastModified", "last_modified", "updated", "mtime", "modified", "created")


@dataclass(frozen=True, slots=True)
class Location:
    """Where a table is: how a person named it, its root, and the file system (None: the local one)."""

    place: str
    root: str
    filesystem: Any = None


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a table: its path as an engine opens it, its name below the root, and what a listing said about it."""

    path: str
    name: str
    listed: Mapping[str, Any] | None = None

    @property
    def shown(self) -> str:
        """The file as a sentence names it."""
        return f"file '{self.name}'" if self.name else "the file"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as it was when it was opened: its identity and the bytes of its footer, length and magic included.

    `record` is what its writer stated before the footer, by key_records.py; mostly nothing.
    """

    found: FoundFile
    size: int
    modified: str
    footer: bytes
    record: bytes = b""


def locate(place: str | os.PathLike[str]) -> Location:
    """Where a path or a URL points. A path is taken literally: no character of it is a pattern.

    Raises:
        TableUnreadable: no installed file system reads the URL.
    """
    text = os.fspath(place)
    for prefix in _LOCAL:
        if text.startswith(prefix):
            return Location(text, _absolute(text.removeprefix(prefix)))
    if not _URL.match(text):
        return Location(text, _absolute(text))
    from fsspec.core import url_to_fs  # slow to import, and needed for remote tables only

    try:
        filesystem, root = url_to_fs(text)
    except Exception as error:  # a file system is foreign code: it raises what it likes
        raise TableUnreadable(text, f"no file system could be opened for this address ({_kind(error)}){_remedy(error)}") from error
    return Location(text, root.rstrip("/"), filesystem)


def find_files(location: Location, *, within: Sequence[str] | None = None) -> list[FoundFile]:
    """Every data file of a table, sorted by path; `within` names the files or folders to take, instead of all.

    Names below the root that open with `_` or `.` are not data. Every other file is, whatever its name.

    Raises:
        TableUnreadable: nothing is there, or it cannot be listed.
    """
    list_one = _find_local if location.filesystem is None else _find_remote
    if location.filesystem is not None:
        location.filesystem.invalidate_cache()  # a listing kept from before would hide what has changed
    starts = [location.root] if within is None else [_start(location, path) for path in within]
    found = {file.path: file for start in starts for file in list_one(location, start)}
    if not found:
        raise TableUnreadable(
            location.place, "no data file is there (names that open with '_' or '.' are not data); write the table before checking it"
        )
    return [found[path] for path in sorted(found)]


def read_footers(location: Location, found: Sequence[FoundFile]) -> list[StoredFile]:
    """How each of the files ends, and its identity at that moment; a few small reads a file.

    Raises:
        TableUnreadable: a file is gone, may not be read, or does not end like a Parquet file.
    """
    if location.filesystem is None:
        return [_read_local_footer(location.place, file) for file in found]
    return _read_remote_footers(location, found)


def unreadable(place: str, shown: str, error: BaseException) -> TableUnreadable:
    """A failure to open or list something, in words of our own: a library's text may quote what it read."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return TableUnreadable(place, f"{shown} is not there; check the path, or write the table before checking it")
    if isinstance(error, PermissionError):
        return TableUnreadable(place, f"{shown} may not be read by this process; grant it read access")
    return TableUnreadable(place, f"{shown} could not be read ({_kind(error)}){_remedy(error)}")


def _kind(error: BaseException) -> str:
    reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else ""
    return f"{type(error).__name__}: {reason}" if reason else type(error).__name__


def _remedy(error: BaseException) -> str:
    if isinstance(error, ImportError):
        return "; install the fsspec package for it"
    return "; check the address and the credentials" if not isinstance(error, OSError) else ""


def _absolute(path: str) -> str:
    """The path from the top. Where it climbs, links are followed first: `a/..` is not the folder of `a` when `a` is a link."""
    return os.path.realpath(path) if ".." in path.split(os.sep) else os.path.abspath(path)


def _start(location: Location, path: str) -> str:
    if location.filesystem is None:
        return _absolute(os.path.join(location.root, locate(path).root if _URL.match(path) else path))
    if _URL.match(path):
        return str(type(location.filesystem)._strip_protocol(path)).rstrip("/")  # the one public spelling: fsspec documents it for callers
    inside = path == location.root or path.startswith(location.root + "/")
    return path.rstrip("/") if inside else f"{location.root}/{path}".rstrip("/")


def _name_below(root: str, path: str) -> str:
    """The path below the root; the bare file name where it is not below, and nothing for the root itself."""
    if path == root:
        return ""
    top = root.rstrip("/") + "/"
    return path.removeprefix(top) if path.startswith(top) else path.rsplit("/", 1)[-1]


def _is_hidden(name: str) -> bool:
    return name.startswith(("_", "."))


def _find_local(location: Location, start: str) -> Iterator[FoundFile]:
    place = location.place
    name = _name_below(location.root, start)
    shown = f"'{name}'" if name else "the table"
    try:
        status = os.stat(start)
        if not stat.S_ISDIR(status.st_mode):
            return iter([FoundFile(start, name)])
        files = list(_walk(start, frozenset({(status.st_dev, status.st_ino)})))
    except ValueError as error:
        raise TableUnreadable(place, "the path holds a NUL character, which no path can; check it") from error
    except OSError as error:
        if isinstance(error.filename, str) and error.filename != start:
            shown = f"'{_name_below(location.root, error.filename)}'"
        raise unreadable(place, shown, error) from error
    for path in files:
        try:
            path.encode()
        except UnicodeEncodeError as error:
            legible = path.encode(errors="backslashreplace").decode()
            raise TableUnreadable(place, f"file '{_name_below(location.root, legible)}' has a name that is not UTF-8; rename it") from error
    return iter([FoundFile(path, _name_below(location.root, path)) for path in files])


def _walk(folder: str, above: frozenset[tuple[int, int]]) -> Iterator[str]:
    """Every file below a folder, links followed; `above` are the folders on the way, so that a link to one ends there."""
    with os.scandir(folder) as entries:
        visible = [entry for entry in entries if not _is_hidden(entry.name)]
    for entry in visible:
        status = os.stat(entry.path)  # not entry.stat(): a link that points nowhere must be said
        if not stat.S_ISDIR(status.st_mode):
            yield entry.path
        elif (status.st_dev, status.st_ino) not in above:
            yield from _walk(entry.path, above | {(status.st_dev, status.st_ino)})


def _find_remote(location: Location, start: str) -> Iterator[FoundFile]:
    filesystem = location.filesystem
    name = _name_below(location.root, start)
    try:
        listed = filesystem.info(start)
        if listed["type"] == "directory":
            files = filesystem.find(start, detail=True)
        else:
            files = {start: listed}
    except Exception as error:  # a file system is foreign code: it raises what it likes
        raise unreadable(location.place, f"'{name}'" if name else "the table", error) from error
    top = start.rstrip("/") + "/"
    for path, listed in files.items():
        below = path.removeprefix(top) if path != start else ""
        if listed["type"] == "directory" or path.endswith("/") or any(map(_is_hidden, below.split("/"))):
            continue
        yield FoundFile(filesystem.unstrip_protocol(path), _name_below(location.root, path), {**listed, "name": path})


def _read_local_footer(place: str, file: FoundFile) -> StoredFile:
    try:
        if not stat.S_ISREG(os.stat(file.path).st_mode):  # opening a pipe would wait for ever
            raise TableUnreadable(place, f"{file.shown} is neither a file nor a folder; move it out of the table")
        with open(file.path, "rb") as stream:
            status = os.fstat(stream.fileno())

            def read(start: int, end: int) -> bytes:
                stream.seek(start)
                return stream.read(end - start)

            footer, record = _end(place, file, status.st_size, read)
    except OSError as error:
        raise unreadable(place, file.shown, error) from error
    seconds, rest = divmod(status.st_mtime_ns, 10**9)
    when = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)
    return StoredFile(file, status.st_size, f"{when.isoformat()}.{rest:09d}Z", footer, record)


def _read_remote_footers(location: Location, found: Sequence[FoundFile]) -> list[StoredFile]:
    filesystem = location.filesystem
    listings = [file.listed or {} for file in found]
    sizes = [int(listed.get("size") or 0) for listed in listings]
    paths = [str(listed["name"]) for listed in listings]
    starts = [max(0, size - _TAIL) for size in sizes]
    try:  # all at once: one file after the other would wait for each answer
        tails = filesystem.cat_ranges(paths, starts, sizes, on_error="return")
    except Exception as error:  # a file system is foreign code: it raises what it likes
        raise unreadable(location.place, "the table", error) from error
    stored: list[StoredFile] = []
    for file, listed, path, size, begin, tail in zip(found, listings, paths, sizes, starts, tails, strict=True):
        if size and isinstance(tail, BaseException):
            raise unreadable(location.place, file.shown, tail) from tail

        def read(start: int, end: int, path: str = path, begin: int = begin, tail: bytes = tail) -> bytes:
            return tail[start - begin : end - begin] if start >= begin else filesystem.cat_file(path, start=start, end=end)

        try:
            footer, record = _end(location.place, file, size, read)
        except TableUnreadable:
            raise
        except Exception as error:  # as above
            raise unreadable(location.place, file.shown, error) from error
        stored.append(StoredFile(file, size, _version(listed), footer, record))
    return stored


def _version(listed: Mapping[str, Any]) -> str:
    """What tells one content of a remote file from the next, as far as its file system says."""
    value = next((listed[key] for key in _VERSION_KEYS if listed.get(key)), "")
    return value.isoformat() if isinstance(value, dt.datetime) else str(value).strip('"')


def _end(place: str, file: FoundFile, size: int, read: Callable[[int, int], bytes]) -> tuple[bytes, bytes]:
    """A file's footer, and what its writer stated before it."""
    if size == 0:
        raise TableUnreadable(place, f"{file.shown} is empty (0 bytes), so whatever wrote it did not finish; write it again")
    end = read(max(0, size - 8), size)
    if end[-4:] == _ENCRYPTED:
        raise TableUnreadable(place, f"{file.shown} has an encrypted footer, which cannot be read here; write it unencrypted")
    if end[-4:] != _MAGIC or size < 12:
        if read(0, min(4, size)) == _MAGIC:
            raise TableUnreadable(place, f"{file.shown} begins as a Parquet file and does not end as one: it was cut short; write it again")
        hint = "; take it out of the folder, or rename it so that its name opens with '_'" if file.name else ""
        raise TableUnreadable(place, f"{file.shown} is not a Parquet file{hint}")
    length = int.from_bytes(end[:4], "little")
    if length + 12 > size:
        raise TableUnreadable(place, f"{file.shown} states a footer of {length} bytes and holds {size}: it is damaged; write it again")
    start = size - 8 - length
    tail = read(max(0, start - TRAILER), size)
    trailer, footer = tail[: -length - 8], tail[-length - 8 :]
    stated = length_of(trailer)
    record = read(start - stated, start) if 0 < stated <= start else b""
    if len(tail) != min(start, TRAILER) + length + 8 or len(record) not in (0, stated):
        raise TableUnreadable(place, f"{file.shown} changed while it was being opened; try again")
    return footer, record
