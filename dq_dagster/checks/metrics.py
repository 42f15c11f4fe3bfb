"""Aggregates by name, as Spark means them: what is computed, of which type the result is, what it says in words."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated

import pyarrow as pa
from pydantic import BeforeValidator, Field, model_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Context
from dq_dagster.checks.bounds import is_number
from dq_dagster.checks.fields import ColumnRef, Model, exact
from dq_dagster.checks.shapes import GroupCheck
from dq_dagster.checks.table import CheckedTable, Value
from dq_dagster.errors import DoesNotFit
from dq_dagster.rendering import WIDE_DECIMAL_DIGITS, is_wide_decimal

STAR = "*"
_WHOLE = pa.decimal128(WIDE_DECIMAL_DIGITS, 0)
_WIDEST = 76
_WORDS = {
    "avg": "average",
    "mean": "average",
    "count_if": "number of rows with",
    "count_distinct": "number of distinct values of",
    "approx_count_distinct": "approximate number of distinct values of",
    "max": "largest",
    "min": "smallest",
    "mode": "most frequent",
}


class AggregateParameters(Model):
    """What some aggregates need beyond the column: percentiles which one; `accuracy` and `rsd` are met by being exact."""

    percentile: Annotated[Decimal, BeforeValidator(exact), Field(ge=0, le=1)] | None = None
    accuracy: int | None = Field(default=None, gt=0)
    rsd: Annotated[Decimal, BeforeValidator(exact), Field(gt=0, lt=1)] | None = None


_READS: Mapping[str, tuple[str, ...]] = {
    "percentile": ("percentile",),
    "approx_percentile": ("percentile", "accuracy"),
    "approx_count_distinct": ("rsd",),
}


def refuse_impossible(aggr_type: str, column: ColumnRef, parameters: AggregateParameters, *, is_filtered: bool) -> None:
    """Raises ValueError for an aggregate that is not known, or that cannot be taken so."""
    if aggr_type not in _AGGREGATES:
        near = difflib.get_close_matches(aggr_type, sorted(_AGGREGATES), n=1)
        mend = f"did you mean {near[0]}?" if near else f"use one of {', '.join(AGGREGATES)}"
        raise ValueError(f"names the unknown aggregate '{aggr_type}'; {mend}")
    if column.root == STAR and (aggr_type not in ("count", "count_distinct") or (is_filtered and aggr_type == "count_distinct")):
        beside = " beside a filter" if aggr_type == "count_distinct" else ""
        raise ValueError(f"takes the {aggr_type} of '{STAR}'{beside}, which has no meaning; name a column")
    if "percentile" in _READS.get(aggr_type, ()) and parameters.percentile is None:
        raise ValueError(f"takes a {aggr_type} and does not say which; state aggr_params, such as {{percentile: 0.95}}")
    for name in sorted(parameters.model_fields_set - set(_READS.get(aggr_type, ()))):
        if getattr(parameters, name) is not None:
            raise ValueError(f"states the parameter {name}, which the aggregate {aggr_type} does not read; take it out")


class _Taken:
    """One aggregate being taken: of a value, over the rows for which the condition is true."""

    def __init__(self, value: Value, parameters: AggregateParameters, condition: exp.Expr | None, rows: int) -> None:
        self.value = value
        self.parameters = parameters
        self.condition = condition
        self.rows = rows

    def of(self, aggregate: exp.Expr, condition: exp.Expr | None = None) -> exp.Expr:
        """The aggregate over the judged rows, of which a condition may select some."""
        conditions = [one for one in (self.condition, condition) if one is not None]
        return sql.where(aggregate, sql.all_of(conditions)) if conditions else aggregate

    def misfit(self, aggr_type: str, wanted: str) -> DoesNotFit:
        what = f"takes the {aggr_type} of {self.value.label}, which is of the type {self.value.type}"
        return DoesNotFit(f"{what}; name {wanted}", pointer="/column")

    def double(self, aggr_type: str) -> exp.Expr:
        """The value as a double. Text is read as one, and what cannot be read stops the check, as it does in Spark."""
        if pa.types.is_float64(self.value.type):
            return self.value.expression
        if not (is_number(self.value.type) or self.value.is_text or pa.types.is_null(self.value.type)) or is_wide_decimal(self.value.type):
            raise self.misfit(aggr_type, "a column of numbers")
        return sql.cast(self.value.expression, "DOUBLE")


_Result = tuple[exp.Expr, pa.DataType]


def _count(taken: _Taken) -> _Result:
    return taken.of(sql.call("count", taken.value.expression)), pa.int64()


def _count_distinct(taken: _Taken) -> _Result:
    return taken.of(sql.count_distinct(taken.value.expression)), pa.int64()


def _approx_count_distinct(taken: _Taken) -> _Result:
    if taken.parameters.rsd is not None:
        return _count_distinct(taken)
    return taken.of(sql.call("approx_count_distinct", taken.value.expression)), pa.int64()


def _count_if(taken: _Taken) -> _Result:
    if not pa.types.is_boolean(taken.value.type):
        raise taken.misfit("count_if", "a column or an expression that is true or false")
    return taken.of(sql.count_rows(), taken.value.expression), pa.int64()


def _sum(taken: _Taken) -> _Result:
    value, kind = taken.value.expression, taken.value.type
    if pa.types.is_integer(kind):
        return taken.of(sql.call("sum", value)), _WHOLE
    if pa.types.is_decimal(kind):
        if kind.precision + len(str(taken.rows)) <= WIDE_DECIMAL_DIGITS:
            return taken.of(sql.call("sum", value)), pa.decimal128(WIDE_DECIMAL_DIGITS, kind.scale)
        total = taken.of(sql.call("sum", _unscaled(value, kind)))
        moved = exp.Add(this=total, expression=sql.big_integer(10 ** (_WIDEST + 1)))
        text = sql.call("lpad", sql.cast(moved, "VARCHAR"), sql.integer(_WIDEST + 2), sql.text("0"))
        return text, pa.decimal256(_WIDEST, kind.scale)
    return taken.of(sql.call("sum", taken.double("sum"))), pa.float64()


def _unscaled(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """A decimal without its point, as a whole number of any size."""
    if is_wide_decimal(kind):
        return exp.Sub(this=sql.cast(value, "BIGNUM"), expression=sql.big_integer(10 ** (_WIDEST + 1)))
    return sql.cast(sql.call("replace", sql.cast(value, "VARCHAR"), sql.text("."), sql.text("")), "BIGNUM")


def _sum_distinct(taken: _Taken) -> _Result:
    kind = taken.value.type
    if pa.types.is_integer(kind):
        return taken.of(_distinct("sum", taken.value.expression)), _WHOLE
    if pa.types.is_decimal(kind) and not is_wide_decimal(kind):
        return taken.of(_distinct("sum", taken.value.expression)), pa.decimal128(WIDE_DECIMAL_DIGITS, kind.scale)
    return taken.of(_distinct("sum", taken.double("sum_distinct"))), pa.float64()


def _distinct(name: str, value: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[exp.Distinct(expressions=[value.copy()])])


def _bits(name: str) -> Callable[[_Taken], _Result]:
    def taken_of(taken: _Taken) -> _Result:
        if not pa.types.is_integer(taken.value.type):
            raise taken.misfit(name, "a column of whole numbers")
        return taken.of(sql.call(name, taken.value.expression)), taken.value.type

    return taken_of


def _truth(name: str) -> Callable[[_Taken], _Result]:
    def taken_of(taken: _Taken) -> _Result:
        if not pa.types.is_boolean(taken.value.type):
            raise taken.misfit(name, "a column or an expression that is true or false")
        return taken.of(sql.call(name, taken.value.expression)), pa.bool_()

    return taken_of


def _avg(taken: _Taken) -> _Result:
    """The average of decimals has four more places, as in Spark; every other is a double."""
    kind = taken.value.type
    if not pa.types.is_decimal(kind) or kind.precision + 4 + len(str(taken.rows)) > WIDE_DECIMAL_DIGITS:
        return taken.of(sql.call("avg", taken.double("avg"))), pa.float64()
    total, count = (taken.of(sql.call(name, taken.value.expression)) for name in ("sum", "count"))
    scale = kind.scale + 4
    mean = exp.Div(this=sql.cast(total, "DOUBLE"), expression=sql.call("nullif", count, sql.integer(0)))
    exact_mean = sql.cast(sql.call("round", mean, sql.integer(scale)), f"DECIMAL({WIDE_DECIMAL_DIGITS}, {scale})")
    return exact_mean, pa.decimal128(WIDE_DECIMAL_DIGITS, scale)


def _extreme(name: str) -> Callable[[_Taken], _Result]:
    def taken_of(taken: _Taken) -> _Result:
        if pa.types.is_map(taken.value.type):
            raise taken.misfit(name, "a column whose values have an order")
        return taken.of(sql.call(name, taken.value.expression)), taken.value.type

    return taken_of


def _mode(taken: _Taken) -> _Result:
    """Of several most frequent values the smallest, so that it is the same whatever the order of the rows."""
    ordered = exp.Order(
        this=taken.value.expression.copy(), expressions=[exp.Ordered(this=taken.value.expression.copy(), nulls_first=False)]
    )
    return taken.of(exp.Anonymous(this="mode", expressions=[ordered])), taken.value.type


def _moment(name: str) -> Callable[[_Taken], _Result]:
    return lambda taken: (taken.of(sql.call(name, taken.double(name))), pa.float64())


def _percentile(taken: _Taken, share: Decimal | None = None) -> _Result:
    which = share if share is not None else taken.parameters.percentile
    assert which is not None
    return taken.of(sql.quantile_cont(taken.double("percentile"), float(which))), pa.float64()


def _approx_percentile(taken: _Taken) -> _Result:
    """An element of the column: the exact one is near enough for every accuracy."""
    assert taken.parameters.percentile is not None
    kind = taken.value.type
    if not (is_number(kind) or pa.types.is_temporal(kind)) or is_wide_decimal(kind):
        raise taken.misfit("approx_percentile", "a column of numbers or times")
    return taken.of(sql.quantile_disc(taken.value.expression, float(taken.parameters.percentile))), kind


def _shape_of_curve(name: str) -> Callable[[_Taken], _Result]:
    """Skewness and kurtosis of the values as a whole population. What is not finite makes them NaN."""

    def taken_of(taken: _Taken) -> _Result:
        value = taken.double(name)
        is_finite = sql.call("isfinite", value)
        strays = taken.of(sql.count_rows(), sql.not_(is_finite))
        result = (
            _population_skewness(taken, value, is_finite) if name == "skewness" else taken.of(sql.call("kurtosis_pop", value), is_finite)
        )
        return exp.Case(
            ifs=[exp.If(this=exp.GT(this=strays, expression=sql.integer(0)), true=sql.double(float("nan")))], default=result
        ), pa.float64()

    return taken_of


def _population_skewness(taken: _Taken, value: exp.Expr, is_finite: exp.Expr) -> exp.Expr:
    """DuckDB corrects the skewness for a sample, which Spark does not; of two different values it is 0."""
    n = taken.of(sql.call("count", value), is_finite)
    of_sample = taken.of(sql.call("skewness", value), is_finite)
    pairs = exp.Mul(this=sql.cast(n, "DOUBLE"), expression=exp.paren(exp.Sub(this=n.copy(), expression=sql.integer(1))))
    shrunk = exp.Mul(this=of_sample, expression=exp.paren(exp.Sub(this=n.copy(), expression=sql.integer(2))))
    of_all = exp.Div(this=shrunk, expression=sql.call("nullif", sql.call("sqrt", pairs), sql.integer(0)))
    spread = taken.of(sql.call("var_pop", value), is_finite)
    is_pair = exp.and_(exp.EQ(this=n.copy(), expression=sql.integer(2)), exp.GT(this=spread, expression=sql.integer(0)))
    return exp.Case(ifs=[exp.If(this=is_pair, true=sql.double(0.0))], default=of_all)


_AGGREGATES: Mapping[str, Callable[[_Taken], _Result]] = {
    "count": _count,
    "count_distinct": _count_distinct,
    "approx_count_distinct": _approx_count_distinct,
    "count_if": _count_if,
    "sum": _sum,
    "avg": _avg,
    "mean": _avg,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "mode": _mode,
    "median": lambda taken: _percentile(taken, Decimal("0.5")),
    "percentile": _percentile,
    "approx_percentile": _approx_percentile,
    "stddev": _moment("stddev_samp"),
    "std": _moment("stddev_samp"),
    "stddev_samp": _moment("stddev_samp"),
    "stddev_pop": _moment("stddev_pop"),
    "variance": _moment("var_samp"),
    "var_samp": _moment("var_samp"),
    "var_pop": _moment("var_pop"),
    "skewness": _shape_of_curve("skewness"),
    "kurtosis": _shape_of_curve("kurtosis"),
    "sum_distinct": _sum_distinct,
    "product": _moment("product"),
    **{name: _bits(name) for name in ("bit_and", "bit_or", "bit_xor")},
    **dict.fromkeys(["bool_and", "every"], _truth("bool_and")),
    **dict.fromkeys(["bool_or", "some"], _truth("bool_or")),
}
AGGREGATES = tuple(_AGGREGATES)
_COUNTS = ("count", "count_distinct", "approx_count_distinct", "count_if")


def aggregate(
    aggr_type: str,
    column: ColumnRef,
    parameters: AggregateParameters,
    table: CheckedTable,
    condition: exp.Expr | None = None,
    *,
    rows: int = 0,
) -> Value:
    """The aggregate of a column, or of `*`, over the rows for which the condition is true. Raises DoesNotFit.

    `rows` is how many rows a table has that this one is compared with: the results are of one type then.
    """
    rows = max(rows, table.rows)
    label = label_of(aggr_type, column, parameters)
    if column.root == STAR:
        value = _whole_row(table)
        every = (
            [sql.not_(sql.is_null(table.value(ref).expression)) for ref in _every_column(table)] if aggr_type == "count_distinct" else []
        )
        taken = _Taken(value, parameters, condition, rows)
        counted = sql.count_rows() if aggr_type == "count" else sql.count_distinct(value.expression)
        return Value(label, taken.of(counted, sql.all_of(every) if every else None), pa.int64(), None, False)
    value = table.value(column)
    expression, kind = _AGGREGATES[aggr_type](_Taken(value, parameters, condition, rows))
    return Value(label, expression, kind, None, value.is_sensitive and aggr_type not in _COUNTS)


def aggregate_reads(aggr_type: str, column: ColumnRef, table: CheckedTable) -> frozenset[str]:
    """The stored columns that the aggregate reads."""
    if column.root != STAR:
        return table.reads(column)
    return table.reads(*_every_column(table)) if aggr_type == "count_distinct" else frozenset()


def label_of(aggr_type: str, column: ColumnRef, parameters: AggregateParameters) -> str:
    """The aggregate in words: `sum of price`."""
    if column.root == STAR:
        return "number of rows" if aggr_type == "count" else "number of distinct rows"
    if aggr_type in ("percentile", "approx_percentile"):
        return f"{parameters.percentile} percentile of {column.label}"
    if aggr_type == "count":
        return f"number of {column.label}"
    words = _WORDS.get(aggr_type, f"{aggr_type} of")
    return f"{words} {column.label}"


def _every_column(table: CheckedTable) -> list[ColumnRef]:
    return [ColumnRef(column.name) for column in table.stored.columns]


def _whole_row(table: CheckedTable) -> Value:
    members = {f"c{place}": table.value(ref).expression for place, ref in enumerate(_every_column(table))}
    return Value(STAR, sql.struct(members), pa.struct([]), None, False)


class AggregateCheck(GroupCheck):
    """The shape of kinds that judge an aggregate: of each group, whose rows are bad when it is wrong, or of the table whole."""

    column: ColumnRef
    aggr_type: str = "count"
    aggr_params: AggregateParameters = AggregateParameters()
    group_by: tuple[ColumnRef, ...] = ()

    @model_validator(mode="after")
    def _is_possible(self) -> AggregateCheck:
        refuse_impossible(self.aggr_type, self.column, self.aggr_params, is_filtered=self.filter is not None)
        return self

    @property
    def tells_rows_apart(self) -> bool:
        return bool(self.group_by)

    def refusals(self, context: Context) -> Iterator[tuple[str, str]]:
        for name in ("max_failed_ppm", "max_failed_rows"):
            if not self.tells_rows_apart and getattr(self, name) is not None:
                told = f"check {self.reported_id} judges the table as a whole and states {name}, which counts rows"
                yield f"/{name}", f"{told}; take it out, or judge groups with group_by"

    def column_refs(self) -> Iterator[tuple[str, ColumnRef]]:
        yield from ((pointer, ref) for pointer, ref in super().column_refs() if ref.root != STAR)

    def named_columns(self) -> tuple[ColumnRef, ...]:
        return tuple(ref for ref in (*self.group_by, self.column) if ref.root != STAR)

    def reads(self, table: CheckedTable) -> frozenset[str]:
        return super().reads(table) | aggregate_reads(self.aggr_type, self.column, table)

    def keys(self, table: CheckedTable) -> Sequence[exp.Expr]:
        return [table.value(ref).expression for ref in self.group_by]

    def metric(self, table: CheckedTable, condition: exp.Expr | None = None) -> Value:
        """The aggregate over the rows for which the condition is true. Raises DoesNotFit."""
        rows = max((table.references[name].rows for name in self.references_used()), default=0)
        return aggregate(self.aggr_type, self.column, self.aggr_params, table, condition, rows=rows)

    @property
    def label(self) -> str:
        """The aggregate in words."""
        return label_of(self.aggr_type, self.column, self.aggr_params)

    @property
    def of_rows(self) -> str:
        """Which rows the aggregate is taken of, in words, where it is not all."""
        return "" if self.filter is None else f" of the rows where {self.filter.root}"

    @property
    def per_group(self) -> str:
        """What the rows of a group share, in words."""
        return f" per ({', '.join(ref.label for ref in self.group_by)})" if self.group_by else ""

    def condemned_row(self, table: CheckedTable) -> exp.Expr | None:
        return super().condemned_row(table) if self.tells_rows_apart else None
