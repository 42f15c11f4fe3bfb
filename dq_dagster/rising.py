"""Reading a stored table's key by Arrow, in the order of its rows, for where they do not rise: what checks/runs.py asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute

from dq_dagster.arrow_types import plain
from dq_dagster.checks.runs import InOrder, Rise
from dq_dagster.key_recording import rises
from dq_dagster.stored_rows import BATCH_ROWS, batches_of, row_numbers, schema_of
from dq_dagster.tables import StoredTable

pc: Any = pyarrow.compute
_FEW = 20_000  # rows that do not tell yet how often the rise breaks
_MOST_BYTES = 1 << 27  # of keys held; with more, they are better grouped
_BATCH_BYTES = 1 << 23
_FALSE_TRUE, _TRUE_FALSE = (pa.Array.from_buffers(pa.bool_(), 2, [None, pa.py_buffer(bits)]) for bits in (b"\2", b"\1"))


def read_in_order(
    table: StoredTable, asked: InOrder, *, after_each: Callable[[], None], batch_rows: int = 2 * BATCH_ROWS
) -> dict[int, Rise]:
    """The orders by which the rows rise but for few, by their place and the best one first.

    `after_each` is called after each batch, and may raise. No order is found where a file cannot be read: whoever reads
    it next says why.
    """
    watches = {place: _Watch(order) for place, order in enumerate(asked.orders)}
    end = table.rows if asked.rows is None else min(table.rows, asked.rows)
    seen, last = 0, list[pa.RecordBatch]()
    try:
        for batch in _batches(table, asked, batch_rows):
            batch = batch.slice(0, end - seen)
            if not batch.num_rows:
                continue
            compared = [_compared(values) for values in batch.columns]
            border = _joined([*last, batch.slice(0, 1)])
            last = [batch.slice(batch.num_rows - 1)]
            seen += batch.num_rows
            for place, watch in list(watches.items()):
                watch.see(batch, compared, border)
                if watch.falls > asked.most * max(seen, _FEW) or watch.bytes_held > _MOST_BYTES:
                    del watches[place]
            after_each()
            if seen == end or not watches:
                break
    except (pa.ArrowException, OSError):
        return {}
    pa.default_memory_pool().release_unused()
    found = {place: watch.told() for place, watch in watches.items() if seen == end and watch.falls <= asked.most * seen}
    return dict(sorted(found.items(), key=lambda one: one[1].falls))


def _batches(table: StoredTable, asked: InOrder, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """The key's columns, batch by batch; text whose values repeat as numbers of a dictionary."""
    schema = schema_of(table)
    for name in asked.coded if table.memory is None else ():
        place = schema.get_field_index(name)
        if pa.types.is_string(kind := schema.field(place).type):
            schema = schema.set(place, pa.field(name, pa.dictionary(pa.int32(), kind)))
    width = max(1, table.bytes_of(asked.columns) // max(table.rows, 1))
    most = min(batch_rows, max(1024, _BATCH_BYTES // width))
    return batches_of(table, schema, names=asked.columns, batch_rows=_that_fit(table, most), use_threads=False)


def _that_fit(table: StoredTable, most: int) -> int:
    """As many rows as make whole row groups, or a whole part of one: a batch across two is copied together."""
    group = max(1, next((part.statistics.rows_of_group(0) for part in table.parts if part.rows), most))
    return group * (most // group) if group <= most else -(-group // -(-group // most))


def _compared(values: pa.Array) -> pa.Array:
    """The values, or numbers that compare as they do. Raises ArrowInvalid for text that is not UTF-8."""
    if not pa.types.is_dictionary(values.type) or len(values.dictionary) > len(values):
        return _plain(values)
    words = _plain(values.dictionary)
    return pc.rank(words, sort_keys="ascending", tiebreaker="dense").take(values.indices)


def _plain(values: pa.Array) -> pa.Array:
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if values.type != (kind := plain(values.type)):
        values = values.cast(kind)
    if pa.types.is_string(kind):
        values.validate(full=True)
    return values


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Few rows as one batch, its columns `k0`, `k1` …."""
    columns = [pa.concat_arrays([_plain(batch.column(place)) for batch in batches]) for place in range(batches[0].num_columns)]
    return pa.record_batch(columns, names=[f"k{place}" for place in range(len(columns))])


@dataclass(slots=True)
class _Watch:
    """What is found of one order. A batch begins as if with a turn, and another followed it: no run reaches beyond a batch."""

    order: Sequence[int]
    falls: int = 0
    suspects: list[pa.RecordBatch] = field(default_factory=list)
    runs: list[pa.RecordBatch] = field(default_factory=list)
    bytes_held: int = 0

    def see(self, batch: pa.RecordBatch, compared: Sequence[pa.Array], border: pa.RecordBatch) -> None:
        """The next rows; `border` is the last row before them, where there is one, and the first of them."""
        rising = rises([compared[place] for place in self.order])
        falls = len(rising) - (rising.true_count or 0)
        suspects, firsts, lasts = _around(rising) if falls else _at_the_ends(batch.num_rows)
        taken = _joined([batch.take(pa.concat_arrays([suspects, firsts, lasts]))])
        begin, end = taken.slice(len(suspects), len(firsts)), taken.slice(len(suspects) + len(firsts))
        self.suspects.append(taken.slice(0, len(suspects)))
        names = [*taken.schema.names, *(f"e{place}" for place in range(taken.num_columns))]
        self.runs.append(pa.record_batch([*begin.columns, *end.columns], names=names))
        self.falls += falls + (len(border) == 2 and not rises([border.column(place) for place in self.order]).true_count)
        self.bytes_held += taken.nbytes

    def told(self) -> Rise:
        """What is known when all rows were seen."""
        suspects, runs = (pa.Table.from_batches(seen) if seen else pa.table({}) for seen in (self.suspects, self.runs))
        return Rise(self.falls, suspects, runs)


def _at_the_ends(rows: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The suspects of a batch whose rows rise, and the first and the last row of the run between them."""
    if rows < 5:
        return row_numbers(range(rows)), row_numbers(()), row_numbers(())
    return row_numbers((0, 1, rows - 2, rows - 1)), row_numbers((2,)), row_numbers((rows - 3,))


def _around(rising: pa.BooleanArray) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The suspects of a batch, and the first and the last row of each run; `rising` is of each row but the first."""
    rows = len(rising) + 1
    falls = pc.invert(rising)
    if rising.null_count:
        falls = pc.or_kleene(falls, pc.is_null(rising))
    turns = pa.concat_arrays([_FALSE_TRUE, falls, _TRUE_FALSE])  # of the row before the first, and so on to two rows behind the last
    suspects = turns.slice(0, rows)
    for distance in (1, 2, 3):  # a row is suspect for a turn from one row before it to two rows behind it
        suspects = pc.or_(suspects, turns.slice(distance, rows))
    firsts = pc.and_not(pa.concat_arrays([_FALSE_TRUE.slice(0, 1), suspects.slice(0, rows - 1)]), suspects)
    lasts = pc.and_not(suspects.slice(1), suspects.slice(0, rows - 1))
    return pc.indices_nonzero(suspects), pc.indices_nonzero(firsts), pc.indices_nonzero(lasts)
