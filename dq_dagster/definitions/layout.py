"""Where ParquetIOManager keeps a table: from keys to paths, never two keys to one path, never out of the base."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from dq_dagster.definitions.refusals import KeyRefused

SUFFIX = ".parquet"
# A file name has at most 255 bytes on common file systems, and the one that is being written is 30 longer than its table's.
LONGEST_SEGMENT = 200


def segment(key: str, *, kind: str = "partition key") -> str:
    """The one path segment that stands for a key, and for no other key.

    Letters, digits and `-._~` stand for themselves, everything else is percent-encoded; so is a leading `.` or `_`,
    which would hide the file. On a file system that ignores case, keys that differ only in case share a file.

    Raises:
        KeyRefused: the key is empty, too long or no text, or reads as a path that leaves the base.
    """
    if not key:
        raise KeyRefused(kind=kind, key=key, what="is empty")
    if "\0" in key:
        raise KeyRefused(kind=kind, key=key, what="holds a NUL")
    if key[0] in "/\\" or ".." in re.split(r"[/\\]", key):
        raise KeyRefused(kind=kind, key=key, what="reads as a path that leaves the table's folder")
    try:
        quoted = quote(key, safe="")
    except UnicodeEncodeError as error:
        raise KeyRefused(kind=kind, key=key, what="is not valid text") from error
    if quoted[0] in "._":
        quoted = f"%{ord(quoted[0]):02X}{quoted[1:]}"
    if len(quoted) > LONGEST_SEGMENT:
        raise KeyRefused(kind=kind, key=key, what=f"is too long: written out it has {len(quoted)} of at most {LONGEST_SEGMENT} characters")
    return quoted


def table_path(base: str, asset_key: Sequence[str]) -> str:
    """Where an asset's table is: a file, or the folder of its partitions' files. `orders.parquet` for both.

    The ending tells a table from a folder that holds other assets, so that ["raw", "orders"] is never a partition of
    ["raw"].
    """
    *folders, name = (segment(part, kind="asset key part") for part in asset_key)
    return _below(base, *(_not_a_table(folder) for folder in folders), name + SUFFIX)


def partition_path(table: str, partition_key: str) -> str:
    """Where one partition of a table is: a file of the table's folder. A multi-partition key is its one spelling, `a|b`."""
    return _below(table, segment(partition_key) + SUFFIX)


def op_output_path(base: str, identifier: Sequence[str]) -> str:
    """Where the output of an op that is no asset is: under a hidden name, which no asset's folder can have."""
    *folders, name = (segment(part, kind="op output") for part in identifier)
    return _below(base, "_op_outputs", *folders, name + SUFFIX)


def _not_a_table(folder: str) -> str:
    stem = folder[: -len(SUFFIX)]
    return f"{stem}%2E{folder[len(stem) + 1 :]}" if folder.lower().endswith(SUFFIX) else folder


def _below(base: str, *segments: str) -> str:
    return (base if base.endswith("/") else base + "/") + "/".join(segments)
