"""Kinds that compare the values of a column with a list, or with a distribution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Literal

import pyarrow as pa
from pydantic import Field, StrictBool, field_validator, model_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Numbers, Verdict
from dq_dagster.checks.comparing import bound_value, operands, with_literal
from dq_dagster.checks.fields import Bound, ColumnRef
from dq_dagster.checks.shapes import RowCheck, TableCheck
from dq_dagster.checks.table import CheckedTable, Value
from dq_dagster.errors import DoesNotFit, some_of
from dq_dagster.rendering import plain_number

Entry = Bound | tuple[Bound | None, ...] | None


class ListCheck(RowCheck):
    """What kinds about lists share. With `case_sensitive: false`, text compares in lower case."""

    column: ColumnRef
    case_sensitive: StrictBool = True

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is listed."""
        raise NotImplementedError

    def is_listed(self, table: CheckedTable) -> exp.Expr:
        """Whether the value stands in the list; NULL for NULL, and for a miss where an entry is NULL."""
        value = table.value(self.column)
        listed: dict[str, tuple[exp.Expr, list[exp.Expr]]] = {}
        for entry in self.entries:
            left, right = self._sides(value, entry, table)
            if not self.case_sensitive and _holds_text(value.type):
                left, right = _lower(left, value.type), _lower(right, value.type)
            listed.setdefault(left.sql("duckdb"), (left, []))[1].append(right)
        return exp.paren(sql.any_of([_is_among(left, entries, value) for left, entries in listed.values()]))

    def _sides(self, value: Value, entry: Entry, table: CheckedTable) -> tuple[exp.Expr, exp.Expr]:
        if entry is None:
            return value.expression.copy(), exp.Null()
        if isinstance(entry, Bound):
            return operands(value, entry, table)
        if not _is_list(value.type):
            raise DoesNotFit(f"lists a list, where {value.label} is of the type {value.type}; list values of that type")
        inner = [exp.Null() if one is None else bound_value(one, value.type.value_type, table) for one in entry]
        return value.expression.copy(), exp.Array(expressions=inner)

    def listing(self) -> str:
        """The list, in words."""
        return some_of([_label(entry) for entry in self.entries])


class AllowedListCheck(ListCheck):
    """What the kinds share that allow what is listed."""

    allowed: tuple[Entry, ...] = Field(min_length=1)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.allowed


class IsInList(AllowedListCheck):
    """Every value of the column is one of `allowed`.

    An entry is a number, text, a date, a timestamp, `{column: other}`, `{expression: …}`, or a list of such for a column
    of lists. With `case_sensitive: false`, text compares in lower case. NULL is not judged; a NULL entry makes every
    value that is not found unknown, so nothing breaks the check. An empty table passes.

    Example:
        {check_id: origin_known, kind: is_in_list, enforcement: required, column: origin, allowed: [EWR, JFK, LGA]}
    """

    kind: Literal["is_in_list"] = "is_in_list"

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.not_(self.is_listed(table))

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} not among {self.listing()}"


class IsNotNullAndIsInList(AllowedListCheck):
    """Every value of the column is present and one of `allowed`.

    An entry is a number, text, a date, a timestamp, `{column: other}`, `{expression: …}`, or a list of such for a column
    of lists. With `case_sensitive: false`, text compares in lower case. NULL breaks it; a NULL entry makes every value
    that is not found unknown, so only NULL breaks the check. An empty table passes.

    Example:
        {check_id: origin_known, kind: is_not_null_and_is_in_list, enforcement: required, column: origin, allowed: [EWR, JFK, LGA]}
    """

    kind: Literal["is_not_null_and_is_in_list"] = "is_not_null_and_is_in_list"

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return sql.any_of([sql.is_null(table.value(self.column).expression), sql.not_(self.is_listed(table))])

    def fault(self, table: CheckedTable) -> str:
        return f"no {self.column.label}, or one not among {self.listing()}"


class IsNotInList(ListCheck):
    """No value of the column is one of `forbidden`.

    An entry is a number, text, a date, a timestamp, `{column: other}`, `{expression: …}`, or a list of such for a column
    of lists. With `case_sensitive: false`, text compares in lower case. NULL is not judged. An empty table passes.

    Example:
        {check_id: no_test_users, kind: is_not_in_list, enforcement: advisory, column: user_name, forbidden: [test, admin]}
    """

    kind: Literal["is_not_in_list"] = "is_not_in_list"
    forbidden: tuple[Entry, ...] = Field(min_length=1)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.forbidden

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return self.is_listed(table)

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} among {self.listing()}"


class IsInDistribution(TableCheck):
    """The values of the column are distributed as declared, up to `distance`.

    `distribution` maps values to their shares. Shares that sum up to less than 1 leave the rest to all other values.
    What is measured is the total variation distance: half the sum of the differences of the shares. NULLs do not
    count. Columns of floats are refused. A table without a value passes. With `case_sensitive: false`, text compares
    in lower case.

    Example:
        {check_id: origins_balanced, kind: is_in_distribution, enforcement: advisory, column: origin,
         distribution: {EWR: 0.36, JFK: 0.33, LGA: 0.31}, distance: 0.05}
    """

    kind: Literal["is_in_distribution"] = "is_in_distribution"
    column: ColumnRef
    distribution: dict[str, Decimal] = Field(min_length=1)
    distance: Decimal = Field(ge=0, le=1)
    case_sensitive: StrictBool = True

    @field_validator("distribution")
    @classmethod
    def _is_one(cls, shares: dict[str, Decimal]) -> dict[str, Decimal]:
        if any(share < 0 for share in shares.values()):
            raise ValueError("holds a share below 0; state shares from 0 to 1")
        if sum(shares.values()) > 1 + Decimal("1e-9"):
            raise ValueError(f"sums up to {sum(shares.values())}; state shares that sum up to 1 or less")
        return shares

    @model_validator(mode="after")
    def _is_unambiguous(self) -> IsInDistribution:
        if not self.case_sensitive and len({key.lower() for key in self.distribution}) < len(self.distribution):
            raise ValueError("states a value twice in distribution, in different cases; state it once, or take case_sensitive out")
        return self

    def metrics(self, table: CheckedTable) -> Mapping[str, exp.Expr]:
        value = table.value(self.column)
        if pa.types.is_floating(value.type):
            raise DoesNotFit(f"counts the values of {value.label}, which are floats; round them in an expression", pointer="/column")
        return {"values": sql.call("count", value.expression), **dict(self._counts(value))}

    def _counts(self, value: Value) -> Iterator[tuple[str, exp.Expr]]:
        for place, key in enumerate(self.distribution):
            left, right = with_literal(value.expression, value.type, key)
            if not self.case_sensitive and value.is_text:
                left, right = _lower(left, value.type), _lower(right, value.type)
            yield f"v{place}", sql.count_where(exp.EQ(this=left, expression=right))

    def verdict(self, numbers: Numbers, table: CheckedTable) -> Verdict:
        values = numbers["values"]
        label = self.column.label
        if not values:
            return Verdict(
                True, f"column {label} holds no value in {self.among(table.rows)}, so nothing is off the distribution", None, {"values": 0}
            )
        found = {key: Fraction(numbers[f"v{place}"], values) for place, key in enumerate(self.distribution)}
        off = {key: abs(share - Fraction(self.distribution[key])) for key, share in found.items()}
        declared = sum((Fraction(share) for share in self.distribution.values()), Fraction(0))
        rest = abs(1 - sum(found.values(), Fraction(0)) - max(Fraction(0), 1 - declared))
        distance = sum(off.values(), rest) / 2
        is_near = distance <= Fraction(self.distance) + Fraction(1, 10**9)
        detail = (
            f"column {label} is {_share(distance)} away from its declared distribution over {values} values, "
            f"{'at or below' if is_near else 'above'} the {plain_number(self.distance)} that is allowed"
        )
        if not is_near:
            farthest = max(off, key=lambda key: off[key])
            declared = plain_number(self.distribution[farthest])
            detail += f"; '{farthest}' has a share of {_share(found[farthest])} where {declared} is declared"
        return Verdict(is_near, detail, None, {"distance": float(distance), "values": values})


def _share(share: Fraction) -> str:
    """A share as a person reads it."""
    return f"{float(share):.6g}"


def _is_among(left: exp.Expr, entries: list[exp.Expr], value: Value) -> exp.Expr:
    """Whether the value, as it is to be compared, is one of the entries. Text that cannot be read as they are is not."""
    found = exp.In(this=left, expressions=entries)
    if not value.is_text or not list(left.find_all(exp.TryCast)):
        return found
    is_misread = exp.and_(sql.is_null(left), sql.not_(sql.is_null(value.expression)))
    return exp.If(this=is_misread, true=exp.false(), false=found)


def _label(entry: Entry) -> str:
    if entry is None:
        return "NULL"
    return entry.label if isinstance(entry, Bound) else f"[{', '.join(_label(one) for one in entry)}]"


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _holds_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or (_is_list(kind) and pa.types.is_string(kind.value_type))


def _lower(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """Text in lower case; of a list, its entries."""
    if pa.types.is_string(kind):
        return sql.call("lower", value)
    entry = exp.to_identifier("e")
    return sql.call("list_transform", value, exp.Lambda(this=sql.call("lower", exp.Column(this=entry)), expressions=[entry.copy()]))
