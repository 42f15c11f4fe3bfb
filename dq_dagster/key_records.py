"""What the writer of a file states of its keys, in the file itself: that the rows rise strictly by one, from where to where.

The statement stands between the last row group and the footer, under a digest of itself and the footer. Whoever writes the
file anew, whatever metadata is copied, leaves it out; whoever changes the footer breaks the digest. So it speaks of these rows.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Key = tuple[int | str, ...]
_DIGEST = 16
_LENGTH = 4
_MARK = b"dqkeys01"
TRAILER = _DIGEST + _LENGTH + len(_MARK)


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The rows of one file rise strictly by `columns`, compared in this order, none of them NULL, from `first` to `last`.

    Both are None of a file without rows. Text is compared by code point; everything else stands there as an integer:
    days, nanoseconds, a decimal's digits.
    """

    columns: tuple[str, ...]
    first: Key | None
    last: Key | None


def orders_of(key: Sequence[object]) -> list[list[int]]:
    """The orders in which rows are likely to be stored: by the key's parts as they are named, or by the first part last."""
    named = list(range(len(key)))
    return [named, [*named[1:], 0]] if len(key) > 1 else [named]


def spelled(ranges: Sequence[KeyRange], footer: bytes) -> bytes:
    """What is to be written before the footer, which is given with its length and magic; nothing where nothing is stated."""
    if not ranges:
        return b""
    stated = json.dumps([[list(one.columns), one.first, one.last] for one in ranges]).encode()
    return stated + _digest(stated, footer) + len(stated).to_bytes(_LENGTH, "little") + _MARK


def length_of(trailer: bytes) -> int:
    """The length of what stands before the footer, of which these are the last bytes; 0 where no statement does."""
    if len(trailer) < TRAILER or not trailer.endswith(_MARK):
        return 0
    return TRAILER + int.from_bytes(trailer[-len(_MARK) - _LENGTH : -len(_MARK)], "little")


def read(record: bytes, footer: bytes) -> tuple[KeyRange, ...]:
    """What is stated of the file with this footer; nothing where the statement is not of it."""
    stated, digest = record[:-TRAILER], record[-TRAILER:][:_DIGEST]
    if not stated or digest != _digest(stated, footer):
        return ()
    listed: list[list[Any]] = json.loads(stated)
    return tuple(KeyRange(tuple(columns), _key(first), _key(last)) for columns, first, last in listed)


def are_apart(ranges: Iterable[tuple[tuple[Any, ...], tuple[Any, ...]]]) -> bool:
    """Whether no two of the ranges, from a first key to a last one, share a key."""
    return all(before[1] < after[0] for before, after in itertools.pairwise(sorted(ranges)))


def _key(members: list[Any] | None) -> Key | None:
    return None if members is None else tuple(members)


def _digest(stated: bytes, footer: bytes) -> bytes:
    return hashlib.blake2b(stated + footer, digest_size=_DIGEST).digest()
