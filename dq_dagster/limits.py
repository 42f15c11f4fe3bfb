"""What one deployment allows an evaluation to use. Each limit has a default; none is part of a recipe."""

from __future__ import annotations

from dataclasses import dataclass

GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Limits:
    """The budgets of one evaluation.

    `max_checks` and `max_rows` bound what a recipe may declare. `scan_bytes` (compressed bytes, estimated from the
    footers) and `scan_seconds` bound the pass over the rows. `memory_limit` is a size in DuckDB's spelling ("1GiB").
    `temp_directory` is where a private spill folder is made (None: the system's, empty: nothing is spilled), and
    `max_temp_bytes` its largest size. `verify_checksums` reads the checked columns once more to compare page checksums. Without
    `key_records` a key is looked for in the rows even where the writers of the files stated that it is one.
    """

    max_checks: int = 128
    max_rows: int = 10_000_000
    scan_bytes: int = 64 * GIB
    scan_seconds: float = 900
    memory_limit: str = "1GiB"
    temp_directory: str | None = None
    max_temp_bytes: int | None = None
    detail_chars: int = 1024
    verify_checksums: bool = False
    key_records: bool = True
    threads: int | None = None
