"""A table as stored: its files, the columns they agree on, and what their Parquet footers know about the rows."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from itertools import accumulate
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from dq_dagster import arrow_types, key_records
from dq_dagster.arrow_types import UnknownType, arrow_type, plain, widen, words_for
from dq_dagster.errors import TableUnreadable, some_of
from dq_dagster.files import FoundFile, Location, StoredFile, find_files, locate, read_footers
from dq_dagster.footers import Footer, digest_of, parse_footer
from dq_dagster.key_records import KeyRange
from dq_dagster.outcomes import FileRead

_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400
_EPOCH = dt.date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column of a table, with the type that holds the values of every part. `from_path`: only folder names carry it."""

    name: str
    type: pa.DataType
    from_path: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a table. `path` is literal, to be opened as it is; `name` is the part's name below the table's root.

    `keys` are the values that folder names (`k=v`) give, None for NULL; `footer` is the digest of the file's footer.
    `ranges` are the keys by which its rows rise, as their writer stated. `row_groups` are those that are left of a part
    that was cut.
    """

    path: str
    name: str
    rows: int
    schema: pa.Schema
    keys: Mapping[str, str | None]
    size: int
    modified: str
    footer: str
    statistics: Footer = field(repr=False, compare=False)
    ranges: tuple[KeyRange, ...] = field(default=(), repr=False, compare=False)
    row_groups: tuple[int, ...] | None = field(default=None, repr=False)

    def cut_to(self, row_groups: Sequence[int]) -> Part:
        """The part, of which only these row groups are there."""
        rows = sum(self.statistics.rows_of_group(at) for at in row_groups)
        return replace(self, rows=rows, row_groups=tuple(row_groups))

    @property
    def shown(self) -> str:
        """The part as a sentence names it."""
        return f"file '{self.name}'" if self.name else "the file"


@dataclass(frozen=True, eq=False)
class StoredTable:
    """A table as it was stored when it was opened: either its `parts`, or the Arrow table in `memory`.

    `conflicts` says, for each column that cannot be read, why: its parts hold types that no type joins, or its name
    stands twice in one file. Such a column stays in `columns`, with the type of the first part.
    """

    place: str
    parts: tuple[Part, ...]
    columns: tuple[StoredColumn, ...]
    conflicts: Mapping[str, str]
    rows: int
    memory: pa.Table | None = field(default=None, repr=False)
    location: Location | None = field(default=None, repr=False)
    within: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def is_cut(self) -> bool:
        """Whether only some row groups of its parts are there."""
        return any(part.row_groups is not None for part in self.parts)

    @property
    def filesystem(self) -> Any:
        """The fsspec file system of a remote table; None for a local one and for one in memory."""
        return self.location.filesystem if self.location else None

    @property
    def root(self) -> str:
        """Where a stored table is, in full; empty for one in memory."""
        return self.location.root if self.location else ""

    @cached_property
    def _by_name(self) -> dict[str, StoredColumn]:
        return {column.name: column for column in self.columns}

    def column(self, name: str) -> StoredColumn | None:
        """The column of exactly this name, or None."""
        return self._by_name.get(name)

    def null_count(self, name: str) -> int | None:
        """How many rows are NULL in a column, or None where only reading the rows can tell. A part without it counts whole."""
        column = self.column(name)
        if column is None or name in self.conflicts:
            return None
        if self.memory is not None:
            stored = self.memory.column(name)
            return stored.null_count if _counts_nulls(stored.type) else None
        if column.from_path:
            return sum(part.rows for part in self.parts if part.keys.get(name) is None)
        total = 0
        for part in self.parts:
            nulls = part.statistics.null_count(name) if name in part.statistics.names else part.rows
            if nulls is None:
                return None
            total += nulls
        return total

    def extremes(self, name: str) -> tuple[Any, Any] | None:
        """The exact least and greatest value of an integer, decimal, date or timestamp column, or None where unknown.

        A timestamp is an int in the unit of the column's type. None too where the column holds no value, and for
        floats (whose statistics leave out NaN), text and everything else.
        """
        column = self.column(name)
        if column is None or column.from_path or name in self.conflicts or self.memory is not None:
            return None
        ends: list[Any] = []
        for part in self.parts:
            if name not in part.statistics.names or part.statistics.null_count(name) == part.rows:
                continue
            pair = part.statistics.extremes(name)
            if pair is None:
                return None
            from_type = plain(_type_in(part.schema, name))
            converted = [_as(value, from_type, column.type) for value in pair]
            if None in converted:
                return None
            ends += converted
        return (min(ends), max(ends)) if ends else None

    def reads_alike(self, name: str) -> bool:
        """Whether Arrow reads a column's values as engines do, and orders them alike."""
        column = self.column(name)
        if column is None or name in self.conflicts or not arrow_types.reads_alike(column.type):
            return False
        return not any(part.statistics.needs_care(name) for part in self.parts)

    def may_leave(self, name: str, least: Decimal | float, greatest: Decimal | float) -> bool:
        """Whether the footers hint that some number of a column lies outside: no proof, for a float's extremes may be inexact."""
        for part in self.parts:
            hinted = part.statistics.hinted_extremes(name) if name in part.statistics.names else None
            if hinted is not None and isinstance(hinted[0], float):
                least, greatest = float(least), float(greatest)
            if hinted is not None and (hinted[0] < least or hinted[1] > greatest):
                return True
        return False

    def is_key(self, names: Iterable[str]) -> bool:
        """Whether the writers of all parts stated what makes these columns a key: no two rows share their values.

        The rows of each part rise by some of the columns, none of which is NULL, and the parts' ranges lie apart.
        """
        wanted = frozenset(names)
        stated = [{one.columns: one for one in part.ranges} for part in self.parts]
        orders = [order for order in (stated[0] if stated else ()) if wanted.issuperset(order)]
        return any(all(order in part for part in stated) and self._rises_by(order, [part[order] for part in stated]) for order in orders)

    def _rises_by(self, order: Sequence[str], ranges: Sequence[KeyRange]) -> bool:
        """Whether the parts' ranges can be compared, their columns being of one type, and lie apart."""
        for name in order:
            column = self.column(name)
            if column is None or column.from_path or name in self.conflicts:
                return False
            if any(name not in part.statistics.names or plain(_type_in(part.schema, name)) != column.type for part in self.parts):
                return False
        return key_records.are_apart([(one.first, one.last) for one in ranges if one.first is not None and one.last is not None])

    def bytes_of(self, names: Iterable[str]) -> int:
        """The bytes to be read for these columns: compressed ones of files, buffers of a table in memory."""
        distinct = dict.fromkeys(names)
        if self.memory is not None:
            held = self.memory.schema.names
            return sum(self.memory.column(at).nbytes for at, name in enumerate(held) if name in distinct)
        return sum(part.statistics.bytes_of(name) for part in self.parts for name in distinct)

    def of_parts(self, parts: Sequence[Part]) -> StoredTable:
        """The same table, its columns and their types as they are, of which only these parts are there."""
        return replace(self, parts=tuple(parts), rows=sum(part.rows for part in parts))

    def least_rows(self, name: str, *, at_least: int) -> tuple[StoredTable, int | str] | None:
        """The table cut to the row groups in which a column's values begin lowest, and a value below which all others have none.

        None where the footers do not tell, or nothing would be left out. For text, whole numbers, days and instants, these
        two as integers: instants in nanoseconds where the column has them, else in microseconds, whatever it counts in.
        """
        column = self.column(name)
        if column is None or column.from_path or name in self.conflicts or self.memory is not None or pa.types.is_decimal(column.type):
            return None
        groups: list[tuple[Any, int, int]] = []
        for place, part in enumerate(self.parts):
            least = part.statistics.least_of_groups(name) if name in part.statistics.names else None
            if least is None or plain(_type_in(part.schema, name)) != column.type:
                return None
            groups += [(value, place, at) for at, value in least.items()]
        groups.sort()
        rows = accumulate(self.parts[place].statistics.rows_of_group(at) for _, place, at in groups)
        taken = next((count for count, held in enumerate(rows, 1) if held >= at_least), len(groups))
        if taken == len(groups) or groups[taken][0] <= groups[0][0]:
            return None
        beyond = groups[taken][0]
        try:
            beyond = beyond.decode() if isinstance(beyond, bytes) else beyond
        except UnicodeDecodeError:  # text that was cut within a character
            return None
        if pa.types.is_timestamp(column.type):
            beyond *= max(1, _UNITS["us"] // _UNITS[column.type.unit])
        kept: dict[int, list[int]] = {}
        for _, place, at in sorted(groups[:taken], key=lambda group: group[1:]):
            kept.setdefault(place, []).append(at)
        return self.of_parts([self.parts[place].cut_to(row_groups) for place, row_groups in kept.items()]), beyond

    def files(self) -> tuple[FileRead, ...]:
        """The files as they were read, for the receipt."""
        return tuple(FileRead(path=part.path, size=part.size, modified=part.modified, rows=part.rows) for part in self.parts)


def open_table(table: str | os.PathLike[str] | pa.Table, *, types: Mapping[str, str] | None = None) -> StoredTable:
    """The table at a path or URL, or in memory, from its footers alone: no row is read.

    `types` are the types a recipe declares; they type the columns that only folder names carry, which are text otherwise.

    Raises:
        TableUnreadable: nothing is there, or one of its files cannot be opened.
    """
    return _in_memory(table) if isinstance(table, pa.Table) else _open(locate(table), None, types)


def open_files(paths: Sequence[str], *, root: str, types: Mapping[str, str] | None = None) -> StoredTable:
    """Some files or folders of the table at `root`, such as those of one partition; relative paths start at `root`.

    Raises:
        TableUnreadable: one of them is not there, or cannot be opened.
    """
    return _open(locate(root), tuple(paths), types)


def is_unchanged(table: StoredTable) -> bool:
    """Whether the table is still the one that was opened: the same files, sizes, modification times and footers."""
    if table.location is None:
        return True
    try:
        now = read_footers(table.location, find_files(table.location, within=table.within))
    except TableUnreadable:
        return False
    identities = [(file.found.path, file.size, file.modified, digest_of(file.footer)) for file in now]
    return identities == [(part.path, part.size, part.modified, part.footer) for part in table.parts]


def _open(location: Location, within: tuple[str, ...] | None, types: Mapping[str, str] | None) -> StoredTable:
    parts: list[Part] = []
    for file in read_footers(location, find_files(location, within=within)):
        parts.append(_part(location.place, file, parts[-1].statistics if parts else None))
    columns, conflicts = _join(location.place, parts, types or {})
    return StoredTable(
        place=location.place,
        parts=tuple(parts),
        columns=columns,
        conflicts=conflicts,
        rows=sum(part.rows for part in parts),
        location=location,
        within=within,
    )


def _in_memory(table: pa.Table) -> StoredTable:
    columns = {column.name: StoredColumn(column.name, plain(column.type)) for column in reversed(table.schema)}
    names = dict.fromkeys(table.schema.names)
    return StoredTable(
        place="the table in memory",
        parts=(),
        columns=tuple(columns[name] for name in names),
        conflicts={name: _twice("the table", name) for name in names if table.schema.names.count(name) > 1},
        rows=table.num_rows,
        memory=table,
    )


def _part(place: str, file: StoredFile, like: Footer | None) -> Part:
    found = file.found
    try:
        footer = parse_footer(file.footer, like=like)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise TableUnreadable(place, f"{found.shown} has a damaged Parquet footer, so nothing in it can be read; write it again") from error
    return Part(
        path=found.path,
        name=found.name,
        rows=footer.rows,
        schema=footer.schema,
        keys=_keys_of(place, found),
        size=file.size,
        modified=file.modified,
        footer=footer.digest,
        statistics=footer,
        ranges=key_records.read(file.record, file.footer) if file.record else (),
    )


def _keys_of(place: str, file: FoundFile) -> dict[str, str | None]:
    """What the folders between the root and the file say. Folders are named `column=value`, percent-encoded."""
    keys: dict[str, str | None] = {}
    for folder in file.name.split("/")[:-1]:
        name, sign, value = folder.partition("=")
        if not sign or not name:
            continue
        try:
            name, text = unquote(name, errors="strict"), unquote(value, errors="strict")
        except UnicodeDecodeError as error:
            raise TableUnreadable(place, f"{file.shown} is in a folder whose percent-encoding is not UTF-8; rename the folder") from error
        if name in keys:
            raise TableUnreadable(place, f"{file.shown} is in two folders that both give column '{name}'; keep one of them")
        keys[name] = None if value == _HIVE_NULL else text
    return keys


def _join(place: str, parts: Sequence[Part], types: Mapping[str, str]) -> tuple[tuple[StoredColumn, ...], dict[str, str]]:
    """The columns of all parts, by name, and those that cannot be read."""
    stored: dict[str, dict[pa.DataType, Part]] = {}  # each column's types, with the first part that has each
    conflicts: dict[str, str] = {}
    known: pa.Schema | None = None
    for part in parts:
        if part.schema is known:  # parts in a row with one schema share the object
            continue
        known = part.schema
        seen: set[str] = set()
        for column in part.schema:
            if column.name in seen:
                conflicts.setdefault(column.name, _twice(part.shown, column.name))
            else:
                stored.setdefault(column.name, {}).setdefault(plain(column.type), part)
                seen.add(column.name)
    columns: list[StoredColumn] = []
    for name, holders in stored.items():
        type = next(iter(holders))
        if len(holders) > 1 and name not in conflicts:
            joined = _widened(name, parts)
            if joined is None:
                told = some_of([f"{words_for(kind)} in '{part.name}'" for kind, part in holders.items()])
                conflicts[name] = f"column '{name}' is {told}, and no type keeps every value exactly; write its parts with one type"
            else:
                type = joined
        columns.append(StoredColumn(name, type))
    for name in dict.fromkeys(key for part in parts for key in part.keys):
        if name not in stored:
            columns.append(StoredColumn(name, _hive_type(place, parts, name, types.get(name)), from_path=True))
    return tuple(columns), conflicts


def _widened(name: str, parts: Sequence[Part]) -> pa.DataType | None:
    kinds: list[pa.DataType] = []
    ranges: list[tuple[Any, Any] | None] = []
    for part in parts:
        if name in part.statistics.names:
            empty = part.statistics.null_count(name) == part.rows
            kinds.append(_type_in(part.schema, name))
            ranges.append((0, 0) if empty else part.statistics.extremes(name))  # what holds no value fits everywhere
    return widen(kinds, ranges)


def _hive_type(place: str, parts: Sequence[Part], name: str, declared: str | None) -> pa.DataType:
    if declared is None:
        return pa.string()
    try:
        type = arrow_type(declared)
    except UnknownType as error:
        raise TableUnreadable(place, f"column '{name}' cannot be given its declared type: {error}") from error
    checked: set[str] = set()
    for part in parts:
        text = part.keys.get(name)
        if text is None or text in checked:
            continue
        try:
            _read_key(text, type)
        except pa.ArrowException as error:
            what = f"the folder of {part.shown} gives column '{name}' a value that is no {words_for(type)}, the type the recipe declares"
            raise TableUnreadable(place, f"{what}; rename the folder, or declare the column as varchar") from error
        checked.add(text)
    return type


def _read_key(text: str, type: pa.DataType) -> None:
    if pa.types.is_timestamp(type) and type.tz is not None:
        try:
            pa.array([text]).cast(pa.timestamp(type.unit))  # without a zone it is UTC
            return
        except pa.ArrowInvalid:
            pass  # with a zone, perhaps
    pa.array([text]).cast(type)


def _twice(shown: str, name: str) -> str:
    return f"{shown} carries two columns named '{name}', and neither can be told from the other; rename one"


def _type_in(schema: pa.Schema, name: str) -> pa.DataType:
    return schema.types[schema.names.index(name)]


def _counts_nulls(type: pa.DataType) -> bool:
    """Whether Arrow's own count is the number of NULL rows: a dictionary or a run may hide one in its values."""
    types = pa.types
    hides = types.is_dictionary(type) or types.is_run_end_encoded(type) or types.is_union(type)
    return not hides and not isinstance(type, pa.BaseExtensionType)


def _as(value: Any, type: pa.DataType, wanted: pa.DataType) -> Any:
    """A part's extreme as a value of the column's type; None where Python has no such value."""
    if pa.types.is_timestamp(wanted):
        factor = _UNITS[wanted.unit] * _DAY if pa.types.is_date(type) else _UNITS[wanted.unit] // _UNITS[type.unit]
        return value * factor
    if pa.types.is_date(wanted):
        ordinal = value + _EPOCH
        return dt.date.fromordinal(ordinal) if 1 <= ordinal <= dt.date.max.toordinal() else None
    if pa.types.is_decimal(wanted):
        return Decimal(value)
    return value if pa.types.is_integer(wanted) else None
