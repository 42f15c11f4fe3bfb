"""What is remembered of a table's parts between evaluations: one file a table, replaced whole, never trusted blindly.

The file holds a mark, a digest of all that follows, the length of a JSON header, the header, and one Arrow stream for each
entry that the header lists, the one used last first. An entry's rows carry the identity of a part in the column `part`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Mapping, Sequence

import pyarrow as pa

from dq_dagster.writing import replace_file

PART = "part"
_MARK = b"dqparts1"
_DIGEST = 32
_LENGTH = 8
_MOST_ENTRIES = 256


class MemoryUnusable(UserWarning):
    """A file of remembered numbers that could not be read or written: what it would have told is computed instead."""

    def __init__(self, path: str, what: str) -> None:
        self.path = path
        super().__init__(f"{path} {what}; the numbers of all parts are computed instead, and it may be deleted at any time")


def digest_of_facts(facts: object) -> str:
    """What tells facts, made of JSON values, from others."""
    return hashlib.blake2b(json.dumps(facts, ensure_ascii=True).encode(), digest_size=16).hexdigest()


class PartMemory:
    """The remembered entries of one table: by fingerprint, a table with a row for each part that is known.

    `name` and `place` tell the table from others that are remembered in the same folder.
    """

    def __init__(self, folder: str | os.PathLike[str], *, name: str, place: Sequence[str]) -> None:
        legible = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:64]
        self.path = os.path.join(os.fspath(folder), f".{legible}-{digest_of_facts(list(place))}.dqparts")
        self._blobs = self._read()
        self._changed: dict[str, pa.Table] = {}

    def rows_of(self, fingerprint: str) -> pa.Table | None:
        """The entry of this fingerprint, or None."""
        blob = self._blobs.get(fingerprint)
        if blob is None:
            return None
        with pa.ipc.open_stream(pa.py_buffer(blob)) as reader:
            return reader.read_all()

    def remember(self, fingerprint: str, rows: pa.Table) -> None:
        """Has the entry of this fingerprint replaced when the memory is kept."""
        self._changed[fingerprint] = rows

    def keep(self) -> None:
        """Writes what has changed, beside what others have written meanwhile. Warns where it cannot."""
        if not self._changed:
            return
        fresh = {fingerprint: _spelled(rows) for fingerprint, rows in self._changed.items()}
        others = {fingerprint: blob for fingerprint, blob in self._read().items() if fingerprint not in fresh}
        blobs = dict(list({**fresh, **others}.items())[:_MOST_ENTRIES])
        header = json.dumps([[fingerprint, len(blob)] for fingerprint, blob in blobs.items()]).encode()
        body = b"".join([len(header).to_bytes(_LENGTH, "little"), header, *blobs.values()])
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            replace_file(self.path, _MARK + _digest(body) + body)
        except OSError as error:
            warnings.warn(MemoryUnusable(self.path, f"could not be written ({type(error).__name__})"), stacklevel=2)
        self._changed.clear()

    def _read(self) -> dict[str, bytes]:
        try:
            with open(self.path, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            return {}
        except OSError as error:
            warnings.warn(MemoryUnusable(self.path, f"could not be read ({type(error).__name__})"), stacklevel=3)
            return {}
        body = content[len(_MARK) + _DIGEST :]
        if not content.startswith(_MARK) or content[len(_MARK) : len(_MARK) + _DIGEST] != _digest(body):
            warnings.warn(MemoryUnusable(self.path, "is damaged, or of another version"), stacklevel=3)
            return {}
        return _entries(body)


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()


def _entries(body: bytes) -> dict[str, bytes]:
    """The entries of a body whose digest was right."""
    end = _LENGTH + int.from_bytes(body[:_LENGTH], "little")
    entries: dict[str, bytes] = {}
    listed: Mapping[str, int] = dict(json.loads(body[_LENGTH:end]))
    for fingerprint, length in listed.items():
        entries[fingerprint] = body[end : end + length]
        end += length
    return entries


def _spelled(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()
