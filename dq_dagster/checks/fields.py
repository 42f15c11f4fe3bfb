"""The value types that kinds share: what may stand in a check's fields."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, StrictBool, StrictInt, model_validator

from dq_dagster.expressions import column_paths, parse
from dq_dagster.rendering import plain_number

DECIMAL_TEXT = re.compile(r"^-?(?:0|[1-9][0-9]{0,38})(?:\.[0-9]{1,18})?$")


class Model(BaseModel):
    """A frozen model that knows no member but its own."""

    # Deferred: a recipe needs the validators of the few kinds that it names, and each takes a millisecond to build.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class HoldsColumns:
    """A field's value that reads columns."""

    def column_refs(self) -> Iterator[tuple[str, ColumnRef]]:
        """The columns it reads, each with the JSON pointer to it inside the value."""
        raise NotImplementedError


class SqlExpression(Model):
    """One SQL expression over the columns of the table, in DuckDB's dialect."""

    expression: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _parses(self) -> SqlExpression:
        parse(self.expression)
        return self


class ColumnRef(RootModel[str | SqlExpression]):
    """A column: its name, a dotted path into a struct, or `{expression: …}`."""

    model_config = ConfigDict(frozen=True)

    @property
    def label(self) -> str:
        """How a detail names it."""
        return self.root if isinstance(self.root, str) else self.root.expression

    def reads(self) -> tuple[str, ...]:
        """The column paths it reads, as written."""
        return (self.root,) if isinstance(self.root, str) else tuple(column_paths(parse(self.root.expression)))


def plain_names(refs: Sequence[ColumnRef]) -> tuple[str, ...] | None:
    """The names of the columns; None where one of them is an expression."""
    names = tuple(ref.root for ref in refs if isinstance(ref.root, str))
    return names if len(names) == len(refs) else None


class Condition(RootModel[str], HoldsColumns):
    """A SQL condition over the columns of a row, in DuckDB's dialect. A row for which it is unknown does not meet it."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="after")
    def _parses(self) -> Condition:
        parse(self.root)
        return self

    def column_refs(self) -> Iterator[tuple[str, ColumnRef]]:
        yield "", self.as_column()

    def as_column(self) -> ColumnRef:
        """The condition as a column of booleans."""
        return ColumnRef(SqlExpression(expression=self.root))


class OtherColumn(Model):
    """A column whose value in the same row is the bound."""

    column: str


def exact(value: Any) -> Any:
    """A Python float means its shortest decimal text."""
    return Decimal(repr(value)) if isinstance(value, float) else value


Literal = StrictBool | StrictInt | Decimal | dt.datetime | dt.date | str


class Bound(RootModel[Annotated[Literal | OtherColumn | SqlExpression, BeforeValidator(exact)]], HoldsColumns):
    """What a value is compared with: a number, a date, a timestamp, a text, `{column: other}` or `{expression: …}`."""

    model_config = ConfigDict(frozen=True)

    @property
    def label(self) -> str:
        """How a detail names it."""
        if isinstance(self.root, OtherColumn):
            return f"column {self.root.column}"
        if isinstance(self.root, SqlExpression):
            return self.root.expression
        return plain_number(self.root) if isinstance(self.root, Decimal) else str(self.root)

    def as_column(self) -> ColumnRef | None:
        """The column or expression it is; None for a literal."""
        if isinstance(self.root, OtherColumn):
            return ColumnRef(self.root.column)
        return ColumnRef(self.root) if isinstance(self.root, SqlExpression) else None

    def column_refs(self) -> Iterator[tuple[str, ColumnRef]]:
        if (ref := self.as_column()) is not None:
            yield ("/column" if isinstance(self.root, OtherColumn) else ""), ref
