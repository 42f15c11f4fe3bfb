"""Kinds that compare an aggregate, of the table or of each group, with a limit or with a reference's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

import pyarrow as pa
from pydantic import BeforeValidator, Field, model_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask, Numbers, Verdict
from dq_dagster.checks.comparing import Sides, aligned, exact_number, is_within, with_literal
from dq_dagster.checks.fields import Bound, ColumnRef, Condition, exact
from dq_dagster.checks.metrics import STAR, AggregateCheck, aggregate, aggregate_reads, refuse_impossible
from dq_dagster.checks.table import CheckedTable, Value
from dq_dagster.errors import DoesNotFit
from dq_dagster.rendering import with_article

Tolerance = Annotated[Decimal, BeforeValidator(exact), Field(ge=0)]


class _Limited(AggregateCheck):
    """The shape of the four kinds that compare an aggregate with `limit`.

    A limit that reads columns is compared row by row.
    """

    limit: Bound
    broken: ClassVar[str]
    kept: ClassVar[str]

    @property
    def _is_by_row(self) -> bool:
        ref = self.limit.as_column()
        return ref is not None and bool(ref.reads())

    @property
    def tells_rows_apart(self) -> bool:
        return bool(self.group_by) or self._is_by_row

    def is_wrong(self, metric: Value, limit: Any) -> exp.Expr:
        """True where the aggregate breaks the limit, a literal or a value; NULL where it is unknown. Raises DoesNotFit."""
        raise NotImplementedError

    def _wrong(self, metric: Value, table: CheckedTable, limit: Value | None = None) -> exp.Expr:
        ref = self.limit.as_column()
        try:
            return self.is_wrong(metric, limit or (self.limit.root if ref is None else table.value(ref)))
        except DoesNotFit as error:
            raise DoesNotFit(error.what, pointer=error.pointer or "/limit") from error

    def bad_group(self, table: CheckedTable) -> exp.Expr:
        return self._wrong(self.metric(table), table)

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        if not self._is_by_row:
            return super().bad_row(table)
        if self.group_by:
            return self._bad_row_of_group(table)
        whole = sql.select_from(table.relation, {"found": self.metric(table, self.selected(table)).expression})
        return self._wrong(self._as_found(table, whole.subquery()), table)

    def _as_found(self, table: CheckedTable, expression: exp.Expr) -> Value:
        metric = self.metric(table)
        return Value(metric.label, expression, metric.type, None, metric.is_sensitive)

    def _bad_row_of_group(self, table: CheckedTable) -> exp.Expr:
        """The rows whose group and limit are among those pairs where the group's aggregate breaks the limit."""
        keys = self.keys(table)
        limits = [table.value(ref) for ref in [self.limit.as_column()] if ref is not None]
        parts = sql.numbered([*keys, *(limit.expression for limit in limits)])
        found = sql.select_from(table.relation, {**sql.numbered(keys), "found": self.metric(table).expression})
        if (selected := self.selected(table)) is not None:
            found = found.where(selected)
        found = found.group_by(*(key.copy() for key in keys))
        same = [exp.NullSafeEQ(this=sql.column(name, "here"), expression=sql.column(name, "there")) for name in sql.numbered(keys)]
        pairs = (
            exp.select(*(sql.column(name, "here") for name in parts))
            .from_(sql.select_from(table.relation, parts).subquery("here"))
            .join(found.subquery("there"), on=sql.all_of(same), join_type="inner")
        )
        limit = Value(self.limit.label, sql.column(f"k{len(keys)}", "here"), limits[0].type, None, False)
        return sql.is_among(
            list(parts.values()),
            pairs.where(self._wrong(self._as_found(table, sql.column("found", "there")), table, limit)),
            null_safe=True,
        )

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        if self._is_by_row:
            return self.asks_of_rows(table)
        if self.group_by:
            return super().asks(table)
        selected = self.selected(table)
        metric = self.metric(table, selected)
        return (Ask({"found": metric.shown, "wrong": self._wrong(metric, table)}, self.reads(table)),)

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        if self._is_by_row:
            return self.verdict_on(numbers["failed"], numbers.get("judged", table.rows), table)
        if self.group_by:
            return super().judge(numbers, table)
        found = numbers["found"]
        if found is None:
            return Verdict(True, f"the {self.label}{self.of_rows} is NULL, there being no value, so it breaks no limit")
        metric = self.metric(table)
        is_wrong = bool(numbers["wrong"])
        detail = f"the {self.label}{self.of_rows} is {table.text_of(metric, found)}, {self.broken if is_wrong else self.kept} {self._limit}"
        return Verdict(not is_wrong, detail, None, {self.aggr_type: observed(metric, found, table)})

    @property
    def _limit(self) -> str:
        return self.limit.label

    def fault(self, table: CheckedTable) -> str:
        return f"{with_article(self.label)}{self.per_group} {self.broken} {self._limit}"


def _sides(metric: Value, limit: Any) -> Sides:
    """The aggregate and the limit, a value or a literal, ready to be compared. Raises DoesNotFit."""
    if isinstance(limit, Value):
        return aligned(metric.expression, metric.type, limit.expression, limit.type)
    return with_literal(metric.expression, metric.type, limit)


def observed(metric: Value, found: Any, table: CheckedTable) -> int | float | Decimal | str:
    """An aggregate that was found, as a measured figure."""
    return table.text_of(metric, found) if pa.types.is_temporal(metric.type) else table.observed(metric, found)


class IsAggrNotGreaterThan(_Limited):
    """An aggregate of the column, or the number of rows for `*`, is at most `limit`: of the table, or of each group.

    NULLs are left out, as aggregates do, and NULL is a group of its own. Ungrouped, the table is judged whole; the rows
    of a bad group are bad. `limit` may be `{column: …}`, compared row by row. NaN is above every number. An aggregate of
    nothing is NULL and breaks no limit; the number of rows of an empty table is 0 and is compared.

    `aggr_type` is one of count, count_distinct, approx_count_distinct, count_if, sum, avg, min, max, mode, median,
    percentile, approx_percentile, stddev (_pop, _samp), variance, var_pop, var_samp, skewness, kurtosis, sum_distinct,
    product, bit_and, bit_or, bit_xor, bool_and, bool_or; `aggr_params: {percentile: 0.95}` belongs to the percentiles.

    Example:
        {check_id: few_cancelled, kind: is_aggr_not_greater_than, enforcement: advisory,
         column: cancelled, aggr_type: sum, limit: 100, group_by: [carrier]}
    """

    kind: Literal["is_aggr_not_greater_than"] = "is_aggr_not_greater_than"
    broken: ClassVar[str] = "above"
    kept: ClassVar[str] = "not above"

    def is_wrong(self, metric: Value, limit: Any) -> exp.Expr:
        found, bound = _sides(metric, limit)
        return exp.GT(this=found, expression=bound)


class IsAggrNotLessThan(_Limited):
    """An aggregate of the column, or the number of rows for `*`, is at least `limit`: of the table, or of each group.

    Arguments and meanings are those of `is_aggr_not_greater_than`. An aggregate of nothing is NULL and breaks no limit;
    the number of rows of an empty table is 0 and is compared.

    Example:
        {check_id: enough_flights, kind: is_aggr_not_less_than, enforcement: required, column: "*", limit: 1000}
    """

    kind: Literal["is_aggr_not_less_than"] = "is_aggr_not_less_than"
    broken: ClassVar[str] = "below"
    kept: ClassVar[str] = "not below"

    def is_wrong(self, metric: Value, limit: Any) -> exp.Expr:
        found, bound = _sides(metric, limit)
        return exp.LT(this=found, expression=bound)


class _Equality(_Limited):
    """The shape of the two kinds that may allow a tolerance."""

    abs_tolerance: Tolerance | None = None
    rel_tolerance: Tolerance | None = None

    def is_equal(self, metric: Value, limit: Any) -> exp.Expr:
        """Whether the aggregate is equal to the limit, or within the tolerance of it."""
        found, bound = _sides(metric, limit)
        if not (self.abs_tolerance or self.rel_tolerance):
            return exp.EQ(this=found, expression=bound)
        other = limit if isinstance(limit, Value) else _number(limit)
        if other is None:
            return exp.EQ(this=found, expression=bound)
        return is_within(metric, other, abs_tolerance=self.abs_tolerance or Decimal(0), rel_tolerance=self.rel_tolerance or Decimal(0))

    @property
    def _limit(self) -> str:
        said = [f"{name} {value}" for name, value in (("within", self.abs_tolerance), ("within a share of", self.rel_tolerance)) if value]
        return f"{self.limit.label} ({' or '.join(said)})" if said else self.limit.label


def _number(literal: Any) -> Value | None:
    if not isinstance(literal, (int, Decimal)) or isinstance(literal, bool):
        return None
    number = Decimal(literal)
    exponent = number.as_tuple().exponent
    scale = max(0, -exponent) if isinstance(exponent, int) else 0
    return Value(str(literal), exact_number(number), pa.decimal128(38, min(scale, 38)), None, False)


class IsAggrEqual(_Equality):
    """An aggregate of the column, or the number of rows for `*`, is equal to `limit`: of the table, or of each group.

    It may differ by `abs_tolerance`, or by `rel_tolerance` of the larger of the two: either suffices, both inclusive.
    Other arguments and meanings are those of `is_aggr_not_greater_than`. An aggregate of nothing is NULL and breaks no
    limit; the number of rows of an empty table is 0 and is compared.

    Example:
        {check_id: balanced, kind: is_aggr_equal, enforcement: required,
         column: amount, aggr_type: sum, limit: 0, abs_tolerance: 0.01}
    """

    kind: Literal["is_aggr_equal"] = "is_aggr_equal"
    broken: ClassVar[str] = "not equal to"
    kept: ClassVar[str] = "equal to"

    def is_wrong(self, metric: Value, limit: Any) -> exp.Expr:
        return sql.not_(exp.paren(self.is_equal(metric, limit)))


class IsAggrNotEqual(_Equality):
    """An aggregate of the column, or the number of rows for `*`, is not equal to `limit`: of the table, or of each group.

    What lies within `abs_tolerance`, or `rel_tolerance` of the larger of the two, counts as equal. Other arguments and
    meanings are those of `is_aggr_not_greater_than`. An aggregate of nothing is NULL and breaks no limit; the number of
    rows of an empty table is 0 and is compared.

    Example:
        {check_id: not_all_the_same, kind: is_aggr_not_equal, enforcement: advisory,
         column: carrier, aggr_type: count_distinct, limit: 1}
    """

    kind: Literal["is_aggr_not_equal"] = "is_aggr_not_equal"
    broken: ClassVar[str] = "equal to"
    kept: ClassVar[str] = "not equal to"

    def is_wrong(self, metric: Value, limit: Any) -> exp.Expr:
        return self.is_equal(metric, limit)


class AggrMatchesDataset(AggregateCheck):
    """An aggregate is the same as the reference's: of the table as a whole, or of each group.

    `ref_column` and `ref_group_by` are what the reference calls `column` and `group_by`; `ref_row_filter` selects its rows.
    NULL is the same as NULL alone, as an aggregate and in a group's key. A group that the reference lacks is bad, unless
    its own aggregate is NULL; groups of the reference alone are not looked at. Two aggregates may differ by
    `abs_tolerance`, or by `rel_tolerance` of the larger. Aggregates are those of `is_aggr_not_greater_than`. An empty
    table is compared like any other, where there is no group to compare it passes.

    Example:
        {check_id: nothing_lost, kind: aggr_matches_dataset, enforcement: required,
         column: amount, aggr_type: sum, reference: orders, group_by: [region]}
    """

    kind: Literal["aggr_matches_dataset"] = "aggr_matches_dataset"
    reference: str
    ref_column: ColumnRef | None = None
    ref_group_by: tuple[ColumnRef, ...] = ()
    ref_row_filter: Condition | None = None
    abs_tolerance: Tolerance | None = None
    rel_tolerance: Tolerance | None = None

    @model_validator(mode="after")
    def _is_matched(self) -> AggrMatchesDataset:
        if self.ref_group_by and len(self.ref_group_by) != len(self.group_by):
            raise ValueError(f"names {len(self.group_by)} group_by and {len(self.ref_group_by)} ref_group_by; name as many of each")
        refuse_impossible(self.aggr_type, self.ref_column or self.column, self.aggr_params, is_filtered=self.ref_row_filter is not None)
        return self

    def reference_refs(self) -> Iterator[tuple[str, str, ColumnRef]]:
        pointed = [
            ("/ref_column", self.ref_column) if self.ref_column is not None else ("/reference", self.column),
            *(
                [(f"/ref_group_by/{place}", ref) for place, ref in enumerate(self.ref_group_by)]
                or [("/reference", ref) for ref in self.group_by]
            ),
            *([] if self.ref_row_filter is None else [("/ref_row_filter", self.ref_row_filter.as_column())]),
        ]
        yield from ((pointer, self.reference, ref) for pointer, ref in pointed if ref.root != STAR)

    def references_used(self) -> tuple[str, ...]:
        return (self.reference,)

    def reference_reads(self, references: Mapping[str, CheckedTable]) -> dict[str, frozenset[str]]:
        read = super().reference_reads(references).get(self.reference, frozenset())
        return {self.reference: read | aggregate_reads(self.aggr_type, self._ref_column, references[self.reference])}

    @property
    def _ref_column(self) -> ColumnRef:
        return self.ref_column or self.column

    def _there(self, table: CheckedTable) -> tuple[CheckedTable, Value, exp.Expr | None]:
        """The reference, its aggregate, and which of its rows are looked at."""
        other = table.references[self.reference]
        condition = (
            None
            if self.ref_row_filter is None
            else sql.call("coalesce", other.condition(self.ref_row_filter, pointer="/ref_row_filter"), exp.false())
        )
        there = aggregate(self.aggr_type, self._ref_column, self.aggr_params, other, condition, rows=table.rows)
        return other, there, condition

    def _differs(self, here: Value, there: Value) -> exp.Expr:
        """Whether two aggregates differ. NULL is the same as NULL alone."""
        if self.abs_tolerance or self.rel_tolerance:
            tolerances = {"abs_tolerance": self.abs_tolerance or Decimal(0), "rel_tolerance": self.rel_tolerance or Decimal(0)}
            is_same = is_within(here, there, **tolerances)
        else:
            one, other = aligned(here.expression, here.type, there.expression, there.type)
            is_same = exp.EQ(this=one, expression=other)
        both_null = exp.and_(sql.is_null(here.expression), sql.is_null(there.expression))
        return sql.not_(exp.paren(exp.or_(both_null, sql.call("coalesce", is_same, exp.false()))))

    def groups(self, table: CheckedTable) -> exp.Select:
        other, there, condition = self._there(table)
        here = self.metric(table)
        keys = [table.value(ref) for ref in self.group_by]
        keys_there = [other.value(ref) for ref in self.ref_group_by or self.group_by]
        ours = sql.select_from(table.relation, {**sql.numbered(self.keys(table)), "n": sql.count_rows(), "found": here.expression})
        if (selected := self.selected(table)) is not None:
            ours = ours.where(selected)
        ours = ours.group_by(*self.keys(table))
        theirs = sql.select_from(other.relation, {**sql.numbered([key.expression for key in keys_there]), "found": there.expression})
        if condition is not None:
            theirs = theirs.where(condition)
        theirs = theirs.group_by(*(key.expression.copy() for key in keys_there))
        same: list[exp.Expr] = []
        for name, key, key_there in zip(sql.numbered(self.keys(table)), keys, keys_there, strict=True):
            left, right = aligned(sql.column(name, "here"), key.type, sql.column(name, "there"), key_there.type)
            same.append(exp.NullSafeEQ(this=left, expression=right))
        found = [
            Value(side.label, sql.column("found", place), side.type, None, False) for side, place in ((here, "here"), (there, "there"))
        ]
        named = [sql.column(name, "here") for name in [*sql.numbered(self.keys(table)), "n"]]
        return (
            exp.select(*named, exp.alias_(self._differs(*found), "bad", quoted=True))
            .from_(ours.subquery("here"))
            .join(theirs.subquery("there"), on=sql.all_of(same), join_type="left")
        )

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        if self.group_by:
            return super().asks(table)
        other, there, _ = self._there(table)
        here = self.metric(table, self.selected(table))
        scalar = sql.select_from(other.relation, {"found": there.expression}).subquery()
        there = Value(there.label, scalar, there.type, None, there.is_sensitive)
        return (Ask({"found": here.shown, "there": there.shown, "wrong": self._differs(here, there)}, self.reads(table)),)

    def judge(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        if self.group_by:
            return super().judge(numbers, table)
        other, there, _ = self._there(table)
        here = self.metric(table)
        is_sensitive = here.is_sensitive
        said = [
            "NULL" if found is None else table.marked(here, one.text_of(metric, found))
            for one, metric, found in ((table, here, numbers["found"]), (other, there, numbers["there"]))
        ]
        is_wrong = bool(numbers["wrong"])
        same = "not the same as" if is_wrong else "the same as"
        detail = f"the {self.label}{self.of_rows} is {said[0]}, {same} {said[1]} of the reference {self.reference}"
        figures = {self.aggr_type: numbers["found"], f"ref_{self.aggr_type}": numbers["there"]}
        shown = {} if is_sensitive else {name: observed(here, found, table) for name, found in figures.items() if found is not None}
        return Verdict(not is_wrong, detail, None, shown)

    def fault(self, table: CheckedTable) -> str:
        return f"{with_article(self.label)}{self.per_group} that is not the reference {self.reference}'s"
