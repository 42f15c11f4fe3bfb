"""Kinds about text: patterns, letter case."""

from __future__ import annotations

from typing import Literal

from pydantic import StrictBool, model_validator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.fields import ColumnRef
from dq_dagster.checks.patterns import Pattern
from dq_dagster.checks.shapes import RowCheck
from dq_dagster.checks.table import CheckedTable, Value

# Characters whose upper case is more than one character: engines map one to one and leave them as they are.
_WIDENED = (
    "\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9a\u1f50\u1f52\u1f54\u1f56\u1f88-\u1f8f\u1f98-\u1f9f\u1fa8-\u1faf\u1fb2\u1fb4\u1fb6"
    "\u1fb7\u1fbc\u1fc2\u1fc4\u1fc6\u1fc7\u1fcc\u1fd2\u1fd3\u1fd6\u1fd7\u1fe2-\u1fe4\u1fe6\u1fe7\u1ff2\u1ff4\u1ff6\u1ff7\u1ffc"
    "\ufb00-\ufb06\ufb13-\ufb17"
)
_BLANKS = r" \t\n\x0B\f\r"


def as_text(value: Value) -> exp.Expr:
    """The value as the text that it is written as."""
    return value.expression.copy() if value.is_text else sql.cast(value.expression, "VARCHAR")


class RegexMatch(RowCheck):
    """The pattern is found somewhere in every text; with `negate`, in none.

    A pattern is found in any part of a text: `^` and `$` tie it to the ends, where `$`, as in Java, allows a line end
    behind it and `\\z` does not. It is read as Java's, with ASCII digits and letters in `\\d` and `\\w`; what RE2 cannot
    evaluate (look-around, back-references, possessive repetitions) is refused. `ignore_case` does so for ASCII letters.
    Values of other types are read as the text they are written as. NULL is not judged, unless `allow_nulls` is false.
    An empty table passes.

    Example:
        {check_id: station_shape, kind: regex_match, enforcement: required, column: station, regex: '^[A-Z]{3}$'}
    """

    kind: Literal["regex_match"] = "regex_match"
    column: ColumnRef
    regex: Pattern
    negate: StrictBool = False
    ignore_case: StrictBool = False
    allow_nulls: StrictBool = True

    @model_validator(mode="after")
    def _compiles(self) -> RegexMatch:
        self.regex.re2(ignore_case=self.ignore_case)
        return self

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        text = as_text(table.value(self.column))
        found = sql.call("regexp_matches", text, sql.text(self.regex.re2(ignore_case=self.ignore_case)))
        wrong = found if self.negate else sql.not_(found)
        return wrong if self.allow_nulls else sql.any_of([sql.is_null(text), wrong])

    def fault(self, table: CheckedTable) -> str:
        wrong = "matching" if self.negate else "not matching"
        return f"{self.column.label} {wrong} {self.regex.root}" + ("" if self.allow_nulls else f", or no {self.column.label}")


class HasValidStringCase(RowCheck):
    """Every text is in the letter case: `upper`, `lower`, `title` or `sentence`.

    `upper` and `lower` ask that nothing changes when the text is put into that case: signs and digits do not matter,
    and `ß`, whose upper case is SS, is not upper. `title` looks at the first character of each word, and words end at
    spaces alone; `sentence` at the first character that is not blank behind each full stop, and at the start. What
    follows those characters does not matter. Values of other types are read as the text they are written as. NULL is
    not judged. An empty table passes.

    Example:
        {check_id: station_upper, kind: has_valid_string_case, enforcement: advisory, column: station, case: upper}
    """

    kind: Literal["has_valid_string_case"] = "has_valid_string_case"
    column: ColumnRef
    case: Literal["upper", "lower", "title", "sentence"]

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        text = as_text(table.value(self.column))
        match self.case:
            case "lower":
                return exp.NEQ(this=text, expression=sql.call("lower", text))
            case "upper":
                return _has_lower(text)
            case "title":
                return _has_lower(_found(text, "(?:^| )([^ ])"))
            case "sentence":
                return _has_lower(_found(text, rf"(?:^|\.)[{_BLANKS}]*([^.{_BLANKS}])"))

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} that is not in {self.case} case"


def _found(text: exp.Expr, pattern: str) -> exp.Expr:
    """What the pattern's group takes up, wherever the pattern matches, one behind the other."""
    return sql.call("array_to_string", sql.call("regexp_extract_all", text, sql.text(pattern), sql.integer(1)), sql.text(""))


def _has_lower(text: exp.Expr) -> exp.Expr:
    """Whether some character changes in upper case."""
    changed = exp.NEQ(this=text.copy(), expression=sql.call("upper", text))
    return sql.any_of([changed, sql.call("regexp_matches", text, sql.text(f"[{_WIDENED}]"))])
