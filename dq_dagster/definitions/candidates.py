"""A candidate as it was written, by this process or by Spark, and what reads back of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dq_dagster.definitions.controls import Content, ContentDigest
from dq_dagster.definitions.parquet_files import write_parquet
from dq_dagster.definitions.publishing import Candidates
from dq_dagster.definitions.refusals import ValueRefused
from dq_dagster.definitions.remote_publishing import RemoteCandidates
from dq_dagster.frames import WrittenFrame, is_frame
from dq_dagster.tables import StoredTable


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """A table that this process wrote: its file, and the content that passed where it is digested."""

    source: str
    built: Content
    connection: Any

    def read_back(self, path: str, stored: StoredTable, names: Sequence[str] | None) -> Content:
        """The content of these columns of a file that was made of it."""
        from dq_dagster.stored_rows import batches_of  # brings pyarrow.parquet along, which definitions load without

        return ContentDigest(self.connection).add_all(batches_of(stored, names=names))


@dataclass(frozen=True, slots=True)
class WrittenBySpark:
    """A DataFrame that Spark wrote: the folder of its parts, and the content that passed."""

    source: WrittenFrame

    @property
    def built(self) -> Content:
        """What passed as it was written."""
        return Content.of(*self.source.measured)

    def read_back(self, path: str, stored: StoredTable, names: Sequence[str] | None) -> Content:
        """The content of the columns that were written, of a file or folder that was made of it, with the rows that this process sees."""
        from dq_dagster.engines.spark_frames import measured_again

        return Content.of(stored.rows, measured_again(self.source, path).digest)


Written = WrittenTable | WrittenBySpark


def write_candidate(
    value: object,
    path: str,
    candidates: Candidates | RemoteCandidates,
    connection: Any,
    *,
    keys: Sequence[Sequence[str]],
    digests: bool,
) -> Written:
    """Writes what a gated asset gave: a DataFrame by Spark, as a folder of part files, and everything else as one file.

    A file says by which of the `keys` its rows rise.

    Raises:
        ValueRefused: the value is no table, or a DataFrame for a file system where no folder takes its place in one step.
        FrameUnseen: this process does not find what Spark wrote.
    """
    if not is_frame(value):
        digest = ContentDigest(connection)
        with candidates.opened(path) as stream:
            write_parquet(value, stream, keys=keys, observe=digest.add if digests else None)
        return WrittenTable(path, digest.content, connection)
    if isinstance(candidates, RemoteCandidates):
        raise ValueRefused(
            "a Spark DataFrame is published as a folder of part files, which an object store cannot put in the place of another in one "
            "step; return frame.toArrow() instead, or publish to a mounted file system"
        )
    from dq_dagster.engines.spark_frames import stage_frame

    return WrittenBySpark(stage_frame(value, path))
