"""A stored table as a check sees it: columns resolved to expressions, what the footers know, and one instant for now."""

from __future__ import annotations

import datetime as dt
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa
from sqlglot import exp

from dq_dagster import expressions, rendering, sql
from dq_dagster.checks.fields import ColumnRef, Condition
from dq_dagster.checks.survey import Survey
from dq_dagster.errors import DoesNotFit
from dq_dagster.outcomes import REDACTED
from dq_dagster.tables import StoredColumn, StoredTable


class ColumnUnknown(LookupError):
    """A name that no stored column carries."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


@dataclass(frozen=True, slots=True)
class Value:
    """A column or an expression, resolved: how to compute it, its type, where it is stored, whether it may be shown."""

    label: str
    expression: exp.Expr
    type: pa.DataType
    stored: str | None
    is_sensitive: bool

    @property
    def is_text(self) -> bool:
        """Whether its values are text."""
        return pa.types.is_string(self.type)

    @property
    def as_text(self) -> exp.Expr:
        """The value as text, as the engine writes it where it is none."""
        return self.expression.copy() if self.is_text else sql.cast(self.expression, "VARCHAR")

    @property
    def shown(self) -> exp.Expr:
        """The value in a form that loses nothing on its way out of an engine: instants travel as integers."""
        return transported(self.expression, self.type)


def transported(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """The expression in a form that every engine can hand over exactly, whatever year an instant lies in."""
    if pa.types.is_nested(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        return sql.cast(value.copy(), "VARCHAR")
    if pa.types.is_timestamp(kind):
        return sql.call("epoch_ns" if kind.unit == "ns" else "epoch_us", value.copy())
    if pa.types.is_date(kind):
        return exp.Sub(this=value.copy(), expression=sql.cast(sql.text("1970-01-01"), "DATE"))
    return value.copy()


def engine_names(columns: Sequence[StoredColumn]) -> dict[str, str]:
    """What each column is called in SQL: its own name, or `c` and its place where engines could take two for one."""
    folded = [unicodedata.normalize("NFKC", column.name).casefold() for column in columns]
    names: dict[str, str] = {}
    for place, column in enumerate(columns):
        is_plain = column.name.isprintable() and folded[place] and folded.count(folded[place]) == 1
        names[column.name] = column.name if is_plain else f"c{place}"
        while names[column.name] != column.name and names[column.name] in folded:
            names[column.name] += "_"
    return names


class CheckedTable:
    """What a check may ask of a table. `relation` is its name in SQL; `now` the instant that the evaluation began.

    `references` are the other tables that checks look into, `planned` the stored columns that are read at all;
    with `numbered` the relation carries each row's number too. `survey` is there for a large table on an engine that
    reads the rows in one sequence: only then are there cheaper ways to choose from. Where it `believes_records`, a key may
    be known from what its writers stated in the files.
    """

    def __init__(
        self,
        stored: StoredTable,
        *,
        relation: str = sql.ROWS,
        grain: Sequence[str] = (),
        sensitive: Sequence[str] = (),
        now: dt.datetime,
        references: Mapping[str, CheckedTable] | None = None,
        planned: frozenset[str] = frozenset(),
    ) -> None:
        self.stored = stored
        self.relation = relation
        self.grain = tuple(grain)
        self.sensitive = frozenset(sensitive)
        self._now = now
        self.now_was_asked = 0
        self.references = dict(references or {})
        self.planned = planned
        self.numbered = False
        self.believes_records = True
        self.expression_types: dict[str, pa.DataType] = {}
        self.survey: Survey | None = None

    @property
    def now(self) -> dt.datetime:
        """The instant that the evaluation began. `now_was_asked` counts: what is built meanwhile is of this evaluation alone."""
        self.now_was_asked += 1
        return self._now

    def narrowed(self, stored: StoredTable) -> CheckedTable:
        """The same table, of which only some parts are there."""
        narrow = CheckedTable(
            stored, relation=self.relation, grain=self.grain, sensitive=sorted(self.sensitive), now=self._now, references=self.references
        )
        narrow.planned, narrow.expression_types = self.planned, self.expression_types
        return narrow

    @property
    def presented(self) -> frozenset[str]:
        """The stored columns that an engine is given: those that are read, and the grain, which examples show."""
        return self.planned | frozenset(name for name in self.grain if self.stored.column(name) is not None)

    @cached_property
    def names(self) -> dict[str, str]:
        """Stored column name to name in SQL."""
        return engine_names(self.stored.columns)

    @cached_property
    def row_number(self) -> str:
        """What the number of a row, counted over the whole table from 0, is called in SQL, where rows are `numbered`."""
        name = "row_number"
        while name in {other.casefold() for other in self.names.values()}:
            name += "_"
        return name

    @property
    def rows(self) -> int:
        """How many rows the table holds, from its metadata."""
        return self.stored.rows

    def value(self, ref: ColumnRef | str) -> Value:
        """The column or expression, resolved. Raises ColumnUnknown."""
        written = ref if isinstance(ref, str) else ref.root
        if isinstance(written, str):
            return self._path(written)
        tree = expressions.resolve(expressions.parse(written.expression), lambda path: self._path(path).expression, now=self.instant)
        reads = [self._path(path) for path in expressions.column_paths(expressions.parse(written.expression))]
        kind = self.expression_types.get(written.expression, pa.string())
        return Value(written.expression, exp.paren(tree), kind, None, any(read.is_sensitive for read in reads))

    def condition(self, condition: Condition, *, pointer: str) -> exp.Expr:
        """The condition, resolved. Raises DoesNotFit where it is true of nothing, being no boolean."""
        kind = self.expression_types.get(condition.root, pa.bool_())
        if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            told = f"states the condition {condition.root!r}, which is of the type {kind}; state one that is true or false"
            raise DoesNotFit(told, pointer=pointer)
        return self.value(condition.as_column()).expression

    def reads(self, *refs: ColumnRef) -> frozenset[str]:
        """The stored columns that the references read."""
        return frozenset(self.stored_name(path) for ref in refs for path in ref.reads())

    def stored_name(self, path: str) -> str:
        """The stored column that a path reads. Raises ColumnUnknown."""
        return self._resolved(path)[0].name

    def instant(self) -> exp.Expr:
        """Now, as a timestamp with time zone."""
        return sql.cast(sql.text(self.now.isoformat()), "TIMESTAMPTZ")

    def _resolved(self, path: str) -> tuple[StoredColumn, str]:
        """The stored column behind a path, and what of the path is left to look up inside it."""
        if (column := self.stored.column(path)) is not None:
            return column, ""
        for end in (place for place, char in enumerate(path) if char == "."):
            column = self.stored.column(path[:end])
            if column is not None and pa.types.is_struct(column.type):
                return column, path[end + 1 :]
        raise ColumnUnknown(path)

    def _path(self, path: str) -> Value:
        column, rest = self._resolved(path)
        kind, value = column.type, sql.column(self.names[column.name])
        while rest:
            name = _member(kind, rest)
            if name is None:
                raise ColumnUnknown(path)
            value = exp.Dot(this=value, expression=exp.to_identifier(name, quoted=True))
            kind, rest = kind.field(name).type, rest[len(name) + 1 :]
        stored = column.name if path == column.name else None
        return Value(path, value, kind, stored, column.name in self.sensitive or path in self.sensitive)

    def null_count(self, value: Value) -> int | None:
        """How many rows hold NULL there, where the footers say it."""
        return None if value.stored is None else self.stored.null_count(value.stored)

    def extremes(self, value: Value) -> tuple[Any, Any] | None:
        """The exact smallest and largest stored value, where the footers say it; never for floats or text."""
        return None if value.stored is None else self.stored.extremes(value.stored)

    def may_leave(self, value: Value, least: Decimal, greatest: Decimal) -> bool:
        """Whether the footers hint that a number lies outside. They prove nothing."""
        return value.stored is not None and self.stored.may_leave(value.stored, least, greatest)

    def is_key(self, values: Sequence[Value]) -> bool:
        """Whether the files state that no two rows share these values."""
        names = [value.stored for value in values]
        return self.believes_records and None not in names and self.stored.is_key(name for name in names if name is not None)

    def repeating(self, reads: frozenset[str]) -> str | None:
        """The one stored column that is read, where its values repeat so often that each is better judged once; else None."""
        if self.survey is None or len(reads) != 1:
            return None
        (name,) = reads
        return name if self.survey.repeats(name, rows=self.rows) else None

    def text_of(self, value: Value, found: Any) -> str:
        """A value that was found, in words; the marker in its place where the column is sensitive."""
        if found is None:
            return "None"
        if value.is_sensitive:
            return REDACTED
        if rendering.is_wide_decimal(value.type):
            return f"{rendering.wide_decimal_of(found, value.type.scale):f}"
        return rendering.value_text(found, _transport_type(value.type))

    def marked(self, value: Value, text: str) -> str:
        """The text, or the marker in its place where the column is sensitive."""
        return REDACTED if value.is_sensitive else text

    def key_part(self, value: Value, found: Any) -> str:
        """A value that was found, as a member of a tuple."""
        if found is None or value.is_sensitive or rendering.is_wide_decimal(value.type):
            return self.text_of(value, found)
        return rendering.key_part_text(found, _transport_type(value.type))

    def observed(self, value: Value, found: Any) -> int | float | Decimal | str:
        """A value that was found, as a measured figure: a number where it is one."""
        if value.is_sensitive or not isinstance(found, int | float | Decimal) or (isinstance(found, float) and not math.isfinite(found)):
            return self.text_of(value, found)
        return float(rendering.shortest_text(found, bits=rendering.float_bits(value.type))) if isinstance(found, float) else found


def _member(kind: pa.DataType, path: str) -> str | None:
    """The longest beginning of the path that names a member of the struct."""
    if not pa.types.is_struct(kind):
        return None
    ends = [*(place for place, char in enumerate(path) if char == "."), len(path)]
    return next((path[:end] for end in reversed(ends) if kind.get_field_index(path[:end]) >= 0), None)


def _transport_type(kind: pa.DataType) -> pa.DataType:
    """Instants travel as microseconds or nanoseconds, whatever unit they are stored in."""
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) and kind.unit != "ns" else kind
