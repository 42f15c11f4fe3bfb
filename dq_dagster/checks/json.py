"""Kinds about JSON in text. What counts as JSON is one rule: json_rules.py, docs/decisions/0041-json.md."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field, StrictStr, field_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.base import Ask
from dq_dagster.checks.fields import ColumnRef
from dq_dagster.checks.functions import judgement
from dq_dagster.checks.json_rules import NotJson, conforms, read_json, read_schema
from dq_dagster.checks.json_shapes import shapes_of
from dq_dagster.checks.shapes import RowCheck
from dq_dagster.checks.table import CheckedTable
from dq_dagster.errors import UnsupportedByEngine

_WHOLE = "whole"


class _JsonCheck(RowCheck):
    """The shape of kinds that read a column's text as JSON."""

    column: ColumnRef

    def asks(self, table: CheckedTable) -> Sequence[Ask]:
        value = table.value(self.column)
        if not value.is_text and not pa.types.is_null(value.type):
            raise UnsupportedByEngine(engine=self.kind, what=f"reads JSON out of text, and {self.column.label} is of the type {value.type}")
        return super().asks(table)

    def judged(self, table: CheckedTable, name: str, parameter: str) -> exp.Expr:
        """True in a row whose text the judgement refuses."""
        return sql.not_(sql.call_python(name, table.value(self.column).as_text, parameter))

    def shapes(self, table: CheckedTable) -> str | None:
        """A pattern that good texts alone match, made from some of the column's; None where there is none to be had."""
        return None

    def doubtful_row(self, table: CheckedTable) -> exp.Expr | None:
        shapes = self.shapes(table)
        return None if shapes is None else sql.not_(sql.matches(table.value(self.column).as_text, shapes))

    def texts(self, table: CheckedTable) -> Sequence[str]:
        """Some of the column's texts, where a look was taken."""
        value = table.value(self.column)
        return table.survey.texts.get(value.stored, ()) if table.survey is not None and value.stored is not None else ()


@judgement("dq_is_json")
def is_json(text: str, mode: str) -> bool:
    """Whether the text opens with a JSON value; in the mode `whole`, whether it is nothing else."""
    try:
        _, rest = read_json(text)
    except NotJson:
        return False
    return not rest or mode != _WHOLE


class IsValidJson(_JsonCheck):
    """Every value is JSON (RFC 8259): an object or an array, or a text, a number, `true`, `false` or `null`.

    An object that names a member twice is none, nor is NaN or Infinity, nor what is nested more than 500 levels deep.
    What follows a whole value is not looked at, unless `strict` says that there must be nothing. An empty text is none.
    NULL passes. An empty table passes. Columns other than text cannot be judged.

    Example:
        {check_id: payload_is_json, kind: is_valid_json, enforcement: required, column: payload, strict: true}
    """

    kind: Literal["is_valid_json"] = "is_valid_json"
    strict: bool = False

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return self.judged(table, "dq_is_json", _WHOLE if self.strict else "")

    def shapes(self, table: CheckedTable) -> str | None:
        return shapes_of(self.texts(table), lambda text: is_json(text, _WHOLE))

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} that is not valid JSON"


@lru_cache(maxsize=64)
def _wanted_keys(wanted: str) -> tuple[frozenset[str], bool]:
    keys, require_all = json.loads(wanted)
    return frozenset(keys), require_all


@judgement("dq_has_json_keys")
def has_json_keys(text: str, wanted: str) -> bool:
    """Whether the text is JSON and, where it is an object, has all or some of the keys that `wanted` lists as JSON."""
    keys, require_all = _wanted_keys(wanted)
    try:
        value, _ = read_json(text)
    except NotJson:
        return False
    if not isinstance(value, dict):
        return True
    members: dict[str, Any] = value
    return keys <= members.keys() if require_all else not keys.isdisjoint(members)


class HasJsonKeys(_JsonCheck):
    """Every JSON object in the column has the `keys` among its own members: all of them, or one with `require_all: false`.

    Keys are compared letter by letter, at the top level alone; a dot in one is a dot. A member that is null is there. What
    is no JSON, by the rule of `is_valid_json`, breaks it; an array or a bare value has no keys and passes. NULL passes. An
    empty table passes. Columns other than text cannot be judged.

    Example:
        {check_id: payload_has_id, kind: has_json_keys, enforcement: required, column: payload, keys: [id, kind]}
    """

    kind: Literal["has_json_keys"] = "has_json_keys"
    keys: Annotated[tuple[StrictStr, ...], Field(min_length=1)]
    require_all: bool = True

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        return self.judged(table, "dq_has_json_keys", self._wanted)

    def shapes(self, table: CheckedTable) -> str | None:
        return shapes_of(self.texts(table), lambda text: has_json_keys(text, self._wanted))

    @property
    def _wanted(self) -> str:
        return json.dumps([sorted(set(self.keys)), self.require_all])

    def fault(self, table: CheckedTable) -> str:
        which = "" if len(self.keys) == 1 else "all of " if self.require_all else "any of "
        return f"{self.column.label} that is not valid JSON with {which}the keys {', '.join(self.keys)}"


@judgement("dq_has_json_schema")
def has_json_schema(text: str, schema: str) -> bool:
    """Whether the text is a JSON object that conforms to the schema."""
    wanted = read_schema(schema)
    try:
        value, _ = read_json(text)
    except NotJson:
        return False
    return isinstance(value, dict) and conforms(value, wanted)


with warnings.catch_warnings():  # pydantic warns that the member has the name of a method, which nothing here calls
    warnings.filterwarnings("ignore", 'Field name "schema"', UserWarning)

    class HasValidJsonSchema(_JsonCheck):
        """Every value is a JSON object that can be read with `schema`, a Spark schema such as `id INT NOT NULL, tags ARRAY<STRING>`.

        A missing member counts as null, which only NOT NULL refuses, also inside arrays and maps; members that the schema does
        not name are passed over; names are compared letter by letter. Anything can be read as STRING; a number in quotes is no
        INT or DOUBLE, and a number with a fraction no INT. What is no JSON object, by the rule of `is_valid_json`, breaks it.
        NULL passes. An empty table passes. Columns other than text cannot be judged.

        Example:
            {check_id: payload_conforms, kind: has_valid_json_schema, enforcement: required, column: payload,
             schema: "id INT NOT NULL, name STRING, tags ARRAY<STRING>"}
        """

        kind: Literal["has_valid_json_schema"] = "has_valid_json_schema"
        schema: str  # pyright: ignore[reportIncompatibleMethodOverride]: pydantic's own has been deprecated since its version 2

        @field_validator("schema")
        @classmethod
        def _reads(cls, schema: str) -> str:
            read_schema(schema)
            return schema

        def bad_row(self, table: CheckedTable) -> exp.Expr:
            return self.judged(table, "dq_has_json_schema", self.schema)

        def fault(self, table: CheckedTable) -> str:
            return f"{self.column.label} that is no JSON object of the schema {self.schema}"
