"""Kinds that compare with another table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import BeforeValidator, Field, model_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Numbers, Verdict
from dq_dagster.checks.comparing import aligned, is_within
from dq_dagster.checks.fields import ColumnRef, exact
from dq_dagster.checks.shapes import RowCheck
from dq_dagster.checks.table import CheckedTable, Value
from dq_dagster.errors import DoesNotFit, UnsupportedByEngine
from dq_dagster.rendering import with_article

Tolerance = Annotated[Decimal, BeforeValidator(exact), Field(ge=0)]


class _KeyCheck(RowCheck):
    """The shape of kinds that look a key of the table up in a reference."""

    columns: tuple[ColumnRef, ...] = Field(min_length=1)
    ref_columns: tuple[ColumnRef, ...] = Field(min_length=1)
    reference: str

    @model_validator(mode="after")
    def _same_length(self) -> _KeyCheck:
        if len(self.columns) != len(self.ref_columns):
            raise ValueError(f"names {len(self.columns)} columns and {len(self.ref_columns)} ref_columns; name as many of each")
        return self

    def reference_refs(self) -> Iterator[tuple[str, str, ColumnRef]]:
        yield from ((f"/ref_columns/{place}", self.reference, ref) for place, ref in enumerate(self.ref_columns))

    @property
    def _key(self) -> str:
        return f"({', '.join(ref.label for ref in self.columns)})"

    def key_sides(self, table: CheckedTable) -> tuple[list[exp.Expr], list[exp.Expr]]:
        """The key here and there, part by part in types that compare. Raises DoesNotFit."""
        other = table.references[self.reference]
        pairs: list[tuple[exp.Expr, exp.Expr]] = []
        for place, (ref, ref_there) in enumerate(zip(self.columns, self.ref_columns, strict=True)):
            try:
                pairs.append(key_parts(table.value(ref), other.value(ref_there)))
            except DoesNotFit as error:
                raise DoesNotFit(error.what, pointer=f"/ref_columns/{place}") from error
        return [here for here, _ in pairs], [there for _, there in pairs]


def key_parts(here: Value, there: Value) -> tuple[exp.Expr, exp.Expr]:
    """Two values as parts of a key. Text that meets another type meets its text, so that '01' is not 1."""
    if here.is_text == there.is_text or pa.types.is_null(here.type) or pa.types.is_null(there.type):
        return aligned(here.expression, here.type, there.expression, there.type)
    typed = there if here.is_text else here
    if pa.types.is_nested(typed.type) or pa.types.is_binary(typed.type):
        raise DoesNotFit(f"compares text with values of the type {typed.type}; cast one of them in an expression")
    written, read = _as_text(here), _as_text(there)
    return written, read


def _as_text(value: Value) -> exp.Expr:
    if value.is_text:
        return value.expression.copy()
    is_instant = pa.types.is_timestamp(value.type) and value.type.tz
    return sql.cast(sql.cast(value.expression, "TIMESTAMP") if is_instant else value.expression, "VARCHAR")


class ForeignKey(_KeyCheck):
    """Every key of the columns stands in the reference's `ref_columns`; with `negate`, none does.

    A key with a NULL part is not judged, unless `null_safe` lets NULL match NULL. Repeats in the reference do not
    matter. Text is compared with another type by its text: '01' is not the number 1. An empty table passes.

    Example:
        {check_id: station_known, kind: foreign_key, enforcement: required,
         columns: [station], ref_columns: [station], reference: stations}
    """

    kind: Literal["foreign_key"] = "foreign_key"
    negate: bool = False
    null_safe: bool = False

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        here, there = self.key_sides(table)
        query = sql.select_from(table.references[self.reference].relation, {f"k{place}": value for place, value in enumerate(there)})
        if not self.null_safe:
            query = query.where(sql.all_of([sql.not_(sql.is_null(value)) for value in there]))
        found = sql.is_among(here, query, null_safe=self.null_safe)
        wrong = found if self.negate else sql.not_(found)
        return wrong if self.null_safe else sql.all_of([wrong, *(sql.not_(sql.is_null(key)) for key in here)])

    def fault(self, table: CheckedTable) -> str:
        return f"{with_article(self._key)} that the reference {self.reference} {'holds' if self.negate else 'lacks'}"


class HasOnlyKnownKeys(_KeyCheck):
    """Every row's key stands in the reference's `ref_columns`, and a key with a NULL part does not; the table fails whole.

    A row without a key counts as missing from the reference. A tolerance allows some. An empty table passes. Where the
    rows are to be told apart, use `foreign_key`.

    Example:
        {check_id: stations_known, kind: has_only_known_keys, enforcement: advisory,
         columns: [station], ref_columns: [station], reference: stations}
    """

    kind: Literal["has_only_known_keys"] = "has_only_known_keys"

    @property
    def tells_rows_apart(self) -> bool:
        return False

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        here, there = self.key_sides(table)
        query = sql.select_from(table.references[self.reference].relation, {f"k{place}": value for place, value in enumerate(there)})
        query = query.where(sql.all_of([sql.not_(sql.is_null(value)) for value in there]))
        return sql.any_of([sql.not_(sql.is_among(here, query)), *(sql.is_null(key) for key in here)])

    def condemned_row(self, table: CheckedTable) -> exp.Expr | None:
        return None

    def example_row(self, table: CheckedTable) -> exp.Expr | None:
        return self.broken_row(table)

    def fault(self, table: CheckedTable) -> str:
        return f"{with_article(self._key)} that the reference {self.reference} lacks"

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        verdict = super().judge(numbers, table)
        return Verdict(verdict.passed, verdict.detail, None, {**verdict.observed, "missing_foreign_keys": numbers["failed"]})


class CompareDatasets(_KeyCheck):
    """Every row has its equal in the reference: a row of the same key, alike in every column that both tables have.

    Rows of one key are paired one to one in the order of their values; what is left over is bad. `exclude_columns` are
    not compared, maps never are. NULLs in the key are equal, unless `null_safe_row_matching` is off: then such a row
    has no equal. NULL differs from a value, unless `null_safe_column_value_matching` is off: then NULL is like
    anything. Numbers may differ by `abs_tolerance`, or by `rel_tolerance` of the larger; with a tolerance NaN is like
    any number. With `check_missing_records` a row of the reference without its equal breaks the check too and stands
    among the annotated rows. With `raise_on_duplicate_keys` a repeated key leaves the check unevaluated. An empty table
    passes, unless records are missing.

    Example:
        {check_id: like_yesterday, kind: compare_datasets, enforcement: advisory,
         columns: [station], ref_columns: [station], reference: stations, exclude_columns: [updated_at]}
    """

    kind: Literal["compare_datasets"] = "compare_datasets"
    check_missing_records: bool = False
    exclude_columns: tuple[ColumnRef, ...] = ()
    null_safe_row_matching: bool = True
    null_safe_column_value_matching: bool = True
    abs_tolerance: Tolerance | None = None
    rel_tolerance: Tolerance | None = None
    raise_on_duplicate_keys: bool = False

    def reads(self, table: CheckedTable) -> frozenset[str]:
        return super().reads(table) | frozenset(self._compared(table, table.references[self.reference]))

    def reference_reads(self, references: Mapping[str, CheckedTable]) -> dict[str, frozenset[str]]:
        other = references[self.reference]
        if self.check_missing_records:  # what is missing is shown whole
            return {self.reference: frozenset(column.name for column in other.stored.columns)}
        return {self.reference: other.reads(*self.ref_columns) | frozenset(self._possible(other))}

    def _possible(self, other: CheckedTable) -> list[str]:
        """The reference's columns that may be compared, whatever the table holds."""
        left_out = {ref.label for ref in (*self.columns, *self.exclude_columns)}
        stored = [column for column in other.stored.columns if not pa.types.is_map(column.type)]
        return [column.name for column in stored if column.name not in left_out and column.name not in other.stored.conflicts]

    def _compared(self, table: CheckedTable, other: CheckedTable) -> list[str]:
        """The columns that both tables have, to be compared."""
        possible = set(self._possible(other))
        return [column.name for column in table.stored.columns if column.name in possible and not pa.types.is_map(column.type)]

    def _side(self, table: CheckedTable, *, is_reference: bool) -> exp.Select:
        """The rows of one side: their key, their place among the rows of that key, and what is compared."""
        here, there = self.key_sides(table)
        one = table.references[self.reference] if is_reference else table
        keys = {f"k{place}": part for place, part in enumerate(there if is_reference else here)}
        values = {
            f"v{place}": one.value(name).expression for place, name in enumerate(self._compared(table, table.references[self.reference]))
        }
        side = sql.select_from(one.relation, {**keys, **values, "place": _place_among(list(keys.values()), list(values.values()))})
        if not is_reference and (selected := self.selected(table)) is not None:
            side = side.where(selected)
        return side

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        if self.abs_tolerance or self.rel_tolerance or not self.null_safe_column_value_matching:
            return self._has_no_like(table)
        other = table.references[self.reference]
        here, there = self.key_sides(table)
        pairs = [(table.value(name), other.value(name)) for name in self._compared(table, other)]
        values = [aligned(one.expression, one.type, two.expression, two.type) for one, two in pairs]
        place = _place_among(here, [one.expression for one, _ in pairs], self.selected(table))
        place_there = _place_among(there, [two.expression for _, two in pairs])
        rows_there = sql.select_from(other.relation, sql.numbered([*there, place_there, *(value for _, value in values)]))
        absent = sql.not_(sql.is_among([*here, place, *(value for value, _ in values)], rows_there, null_safe=True))
        return absent if self.null_safe_row_matching else sql.any_of([absent, *(sql.is_null(key) for key in here)])

    def _has_no_like(self, table: CheckedTable) -> exp.Expr:
        """Whether no row of the reference is paired with the row and like it, where being like is less than being equal."""
        other = table.references[self.reference]
        here, _ = self.key_sides(table)
        keys = list(sql.numbered(here))
        compared = self._compared(table, other)
        match = exp.NullSafeEQ if self.null_safe_row_matching else exp.EQ
        same = [match(this=sql.column(name, "here"), expression=sql.column(name, "there")) for name in keys]
        same.append(exp.EQ(this=sql.column("place", "here"), expression=sql.column("place", "there")))
        alike = [self._alike(table.value(name), other.value(name), f"v{place}") for place, name in enumerate(compared)]
        paired = (
            exp.select(*(sql.column(name, "here") for name in [*keys, "place"]))
            .from_(self._side(table, is_reference=False).subquery("here"))
            .join(self._side(table, is_reference=True).subquery("there"), on=exp.and_(*same), join_type="inner")
            .where(sql.all_of(alike))
        )
        place = _place_among(here, [table.value(name).expression for name in compared], self.selected(table))
        return sql.not_(sql.is_among([*here, place], paired, null_safe=True))

    def _alike(self, here: Value, there: Value, name: str) -> exp.Expr:
        """Whether the values of one column are alike on both sides."""
        left = Value(here.label, sql.column(name, "here"), here.type, None, False)
        right = Value(there.label, sql.column(name, "there"), there.type, None, False)
        if self.abs_tolerance or self.rel_tolerance:
            tolerances = {"abs_tolerance": self.abs_tolerance or Decimal(0), "rel_tolerance": self.rel_tolerance or Decimal(0)}
            equal: exp.Expr = is_within(left, right, **tolerances)
        else:
            one, other = aligned(left.expression, left.type, right.expression, right.type)
            equal = exp.EQ(this=one, expression=other)
        nulls = [sql.is_null(left.expression), sql.is_null(right.expression)]
        unknown = sql.all_of(nulls) if self.null_safe_column_value_matching else sql.any_of(nulls)
        return exp.paren(sql.any_of([unknown, equal]))

    def extra_rows(self, table: CheckedTable) -> exp.Query | None:
        if not self.check_missing_records:
            return None
        other = table.references[self.reference]
        named = dict(zip((ref.label for ref in self.columns), self.ref_columns, strict=True))
        shown: dict[str, exp.Expr] = {}
        for column in table.stored.columns:
            if column.name in named:
                shown[column.name] = other.value(named[column.name]).expression
            elif other.stored.column(column.name) is not None and column.name not in other.stored.conflicts:
                shown[column.name] = other.value(column.name).expression
        return self._missing(table, shown)

    def _missing(self, table: CheckedTable, shown: Mapping[str, exp.Expr]) -> exp.Select:
        """The rows of the reference that are left over once each row of the table has its pair."""
        other = table.references[self.reference]
        here, there = self.key_sides(table)
        keys = {f"k{place}": part for place, part in enumerate(there)}
        values = [other.value(name).expression for name in self._compared(table, other)]
        all_there = sql.select_from(other.relation, {**shown, **_hidden(keys), "dq place": _place_among(list(keys.values()), values)})
        counted = sql.select_from(
            table.relation, {**_hidden({f"k{place}": part for place, part in enumerate(here)}), "dq count": sql.count_rows()}
        )
        if (selected := self.selected(table)) is not None:
            counted = counted.where(selected)
        counted = counted.group_by(*(part.copy() for part in here))
        match = exp.NullSafeEQ if self.null_safe_row_matching else exp.EQ
        same = [match(this=sql.column(name, "there"), expression=sql.column(name, "here")) for name in _hidden(keys)]
        has_pair = exp.LTE(this=sql.column("dq place"), expression=sql.call("coalesce", sql.column("dq count"), sql.integer(0)))
        return (
            exp.select(*(exp.alias_(sql.column(name, "there"), name, quoted=True) for name in shown))
            .from_(all_there.subquery("there"))
            .join(counted.subquery("here"), on=exp.and_(*same), join_type="left")
            .where(sql.not_(has_pair))
        )

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        (ask,) = super().asks(table)
        numbers = dict(ask.numbers)
        if self.check_missing_records:
            numbers["missing"] = sql.select_from(self._missing(table, {"n": sql.integer(1)}), {"n": sql.count_rows()}).subquery()
        if self.raise_on_duplicate_keys:
            numbers["repeats"] = self._repeats(table, is_reference=False)
            numbers["repeats_there"] = self._repeats(table, is_reference=True)
        return (Ask(numbers, ask.reads, ask.over),)

    def _repeats(self, table: CheckedTable, *, is_reference: bool) -> exp.Expr:
        """How many rows have a key that a row before them has."""
        side = self._side(table, is_reference=is_reference)
        return sql.select_from(side, {"n": sql.count_where(sql.column("place") > sql.integer(1))}).subquery()

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        if numbers.get("repeats") or numbers.get("repeats_there"):
            told = (
                f"the key {self._key} repeats on {numbers['repeats']} rows of the table and {numbers['repeats_there']} of {self.reference}"
            )
            raise UnsupportedByEngine(engine=self.kind, what=f"refuses to pair repeated keys: {told}")
        verdict = super().judge(numbers, table)
        if not self.check_missing_records:
            return verdict
        missing: int = numbers["missing"]
        detail = f"{verdict.detail}; {missing or 'none'} of its rows {'is' if missing == 1 else 'are'} missing here"
        observed: dict[str, Any] = {**verdict.observed, "missing_records": missing}
        return Verdict(verdict.passed and not missing, detail, verdict.failed_rows, observed)

    def fault(self, table: CheckedTable) -> str:
        return f"no equal of the same {self._key} in the reference {self.reference}"


def _place_among(keys: Sequence[exp.Expr], values: Sequence[exp.Expr], selected: exp.Expr | None = None) -> exp.Expr:
    """The place of a row among the rows of its key, in the order of its values, NULLs first."""
    order = [exp.Ordered(this=value.copy(), nulls_first=True) for value in (values or keys)]
    parts = [*(key.copy() for key in keys), *([] if selected is None else [selected.copy()])]
    return exp.Window(this=exp.RowNumber(), partition_by=parts, order=exp.Order(expressions=order))


def _hidden(keys: Mapping[str, exp.Expr]) -> dict[str, exp.Expr]:
    """The keys under names that no shown column has."""
    return {f"dq {name}": part for name, part in keys.items()}
