"""DQX's documents: a list of checks, each a function of DQX with its arguments."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from dq_dagster.checks import kinds
from dq_dagster.documents.dialect import Translation
from dq_dagster.documents.dqx_functions import FUNCTIONS, Argument, Function
from dq_dagster.documents.dqx_values import column_of, value_of
from dq_dagster.documents.naming import Ids
from dq_dagster.documents.spark_sql import expression_of, name_of, query_of
from dq_dagster.errors import Problem
from dq_dagster.expressions import ExpressionRefused
from dq_dagster.plain import child, shown
from dq_dagster.refusals import CHECK_INVALID, INVALID, meant

_KNOWN = ("name", "criticality", "filter", "user_metadata", "message_expr", "check")
_ENFORCEMENT = {"error": "required", "warn": "advisory"}
_RENAMED = {"ref_df_name": "reference", "ref_table": "reference", "row_filter": "filter"}
_ONE_COLUMN: tuple[Argument, ...] = ("column", "column or *")
_EXPECTED: Mapping[Argument, str] = {
    "column": "the name of a column, or an expression",
    "column or *": "the name of a column, an expression or '*'",
    "columns": "a list of columns",
    "name": "the name of a column",
    "names": "a list of names of columns",
    "value": "a number, a date, a timestamp or text",
    "values": "a list of values",
    "whole": "a whole number",
    "number": "a number",
    "flag": "true or false",
    "text": "text",
    "texts": "a list of texts",
    "mapping": "a mapping",
    "instant": "an expression made in Python (DQX takes no text here)",
    "expression": "a SQL expression",
    "filter": "a SQL condition",
    "query": "a SQL query",
    "reference": "the name of a reference",
    "message": "text",
    "hint": "true or false",
}


def translate(document: Any, *, table: dict[str, Any] | None) -> Translation:
    """A list of DQX checks as a recipe."""
    steps = _Document()
    entries = cast("list[Any]", document) if isinstance(document, list) else []
    if not isinstance(document, list):
        found = "is empty" if document is None else f"holds {shown(document)}"
        steps.refuse(INVALID, "", f"the document {found}, where a list of DQX checks is expected")
    for place, entry in enumerate(entries):
        steps.entry(entry, f"/{place}", place)
    native = {"recipe": "dqx_checks", "table": table or {"name": "table"}, "references": steps.references, "checks": steps.checks}
    return Translation(native, {"": "", "/checks": "", **steps.pointers}, tuple(steps.problems), tuple(steps.lost))


class _Document:
    """What the entries come to, one after the other."""

    def __init__(self) -> None:
        self.checks: list[dict[str, Any]] = []
        self.references: dict[str, dict[str, str]] = {}
        self.pointers: dict[str, str] = {}
        self.problems: list[Problem] = []
        self.lost: list[tuple[str, str]] = []
        self.ids = Ids()

    def refuse(self, code: str, pointer: str, message: str) -> None:
        self.problems.append(Problem(code, pointer, message))

    def entry(self, entry: Any, pointer: str, place: int) -> None:
        subject = f"check number {place + 1}"
        if not isinstance(entry, dict):
            return self.refuse(INVALID, pointer, f"{subject} is {shown(entry)}, where a mapping with the member check is expected")
        members = cast("dict[str, Any]", entry)
        name = members.get("name")
        if isinstance(name, str) and name:
            subject = f"check {shown(name)}"
        elif name is not None:
            self.refuse(INVALID, f"{pointer}/name", f"{subject} states {shown(name)} as name, where text is expected")
            name = None
        shared = self.shared(members, pointer, subject)
        for other in members:
            if other not in _KNOWN:
                self.lost.append((child(pointer, other), f"{subject}: {shown(other)} means nothing to DQX either, and is left out"))
        if (found := self.function(members, pointer, subject)) is None:
            return None
        function, arguments, each = found
        given = name if isinstance(name, str) else None
        for inner, named in each:
            self.check(_Call(function, {**arguments, **named}, inner, subject, given), shared, pointer, members)
        return None

    def function(
        self, entry: Mapping[str, Any], pointer: str, subject: str
    ) -> tuple[str, dict[str, Any], list[tuple[Mapping[str, str], dict[str, Any]]]] | None:
        """The function, its arguments, and what `for_each_column` adds to them, with pointers to it; None where it is unknown."""
        check = entry.get("check")
        if not isinstance(check, dict):
            found = "states no check" if check is None else f"states {shown(check)} as check"
            where = f"{pointer}/check" if "check" in entry else pointer
            return self.refuse(INVALID, where, f"{subject} {found}, where a mapping with function and arguments is expected")
        members = cast("dict[str, Any]", check)
        function, arguments, columns = members.get("function"), members.get("arguments"), members.get("for_each_column")
        if not isinstance(function, str):
            where = f"{pointer}/check/function" if "function" in members else f"{pointer}/check"
            found = "no function" if function is None else f"{shown(function)} as function"
            return self.refuse(INVALID, where, f"{subject} states {found}, where the name of a check function is expected")
        if function not in FUNCTIONS:
            mend = meant(function, list(FUNCTIONS), "the known functions are")
            return self.refuse(
                CHECK_INVALID, f"{pointer}/check/function", f"{subject} calls the unknown function {shown(function)}; {mend}"
            )
        if arguments is None and columns is None:
            return self.refuse(CHECK_INVALID, f"{pointer}/check", f"{subject} states no arguments; add those of {function}")
        if arguments is not None and not isinstance(arguments, dict):
            told = f"{subject} states {shown(arguments)} as arguments, where a mapping is expected"
            return self.refuse(INVALID, f"{pointer}/check/arguments", told)
        if not arguments and columns is None:
            return self.refuse(CHECK_INVALID, f"{pointer}/check/arguments", f"{subject} states no arguments; add those of {function}")
        each: list[tuple[Mapping[str, str], dict[str, Any]]] = [({}, {})]
        if columns is not None:
            if not isinstance(columns, list) or not columns:
                told = f"{subject} states {shown(columns)} as for_each_column, where a list of columns is expected"
                return self.refuse(INVALID, f"{pointer}/check/for_each_column", told)
            each = []
            for number, named in enumerate(cast("list[Any]", columns)):
                argument = "columns" if isinstance(named, list) else "column"
                each.append(({argument: f"{pointer}/check/for_each_column/{number}"}, {argument: named}))
        return function, cast("dict[str, Any]", arguments or {}), each

    def shared(self, entry: Mapping[str, Any], pointer: str, subject: str) -> dict[str, Any]:
        """The members that all kinds have."""
        shared: dict[str, Any] = {}
        criticality = entry.get("criticality", "error")
        if not isinstance(criticality, str) or criticality not in _ENFORCEMENT:
            told = f"{subject} states {shown(criticality)} as criticality, where one of error, warn is expected"
            self.refuse(CHECK_INVALID, f"{pointer}/criticality", told)
            criticality = "error"
        shared["enforcement"] = _ENFORCEMENT[criticality]
        metadata = entry.get("user_metadata")
        if metadata is not None and not isinstance(metadata, dict):
            told = f"{subject} states {shown(metadata)} as user_metadata, where a mapping is expected"
            self.refuse(INVALID, f"{pointer}/user_metadata", told)
        elif metadata:
            shared["metadata"] = dict(cast("dict[str, Any]", metadata))
        if entry.get("message_expr") is not None:
            self.lost.append(
                (f"{pointer}/message_expr", f"{subject}: a recipe's details are written by the kind, so message_expr is left out")
            )
        if (condition := entry.get("filter")) is not None:
            shared["filter"] = self.condition(condition, f"{pointer}/filter", subject, "filter")
        return shared

    def condition(self, text: Any, pointer: str, subject: str, name: str) -> Any:
        """A condition in DuckDB's words; as it was where it is refused."""
        if not isinstance(text, str):
            self.refuse(INVALID, pointer, f"{subject} states {shown(text)} as {name}, where a SQL condition is expected")
            return text
        try:
            return expression_of(text)
        except ExpressionRefused as refused:
            self.refuse(CHECK_INVALID, pointer, f"{subject} states {shown(text)} as {name}, which {refused}")
            return text

    def check(self, call: _Call, shared: Mapping[str, Any], pointer: str, entry: Mapping[str, Any]) -> None:
        """One check of the recipe: the function's arguments as members of its kind."""
        place = len(self.checks)
        mine = f"/checks/{place}"
        arguments_at = f"{pointer}/check/arguments" if "arguments" in entry["check"] else f"{pointer}/check"
        self.pointers.update(
            {
                mine: arguments_at,
                f"{mine}/check_id": f"{pointer}/name" if "name" in entry else pointer,
                f"{mine}/kind": f"{pointer}/check/function",
                f"{mine}/enforcement": f"{pointer}/criticality" if "criticality" in entry else pointer,
                f"{mine}/metadata": f"{pointer}/user_metadata",
                **({f"{mine}/filter": f"{pointer}/filter"} if "filter" in entry else {}),
            }
        )
        members = self.arguments(call, arguments_at, mine, shared)
        name = call.name
        if name is None:
            argument = members.pop("name", None) if call.function in ("sql_expression", "sql_query") else None
            name = argument if isinstance(argument, str) and argument else _derived(call)
        elif "column" in call.each or "columns" in call.each:
            name = f"{name}_{_words(call.arguments.get('column', call.arguments.get('columns')))}"
        members.pop("name", None)
        check_id = self.ids.give(name)
        metadata = dict(cast("Mapping[str, Any]", shared.get("metadata", {})))
        if check_id != name and call.name is not None:
            metadata.setdefault("name", call.name)
        known = kinds().get(call.function)
        native = {"check_id": check_id, "kind": call.function, **shared, **({"metadata": metadata} if metadata else {}), **members}
        if known is not None and "filter" in native and "filter" not in known.model_fields:
            del native["filter"]
            told = f"{call.subject}: {call.function} judges the columns and no rows, so its filter is left out"
            self.lost.append((f"{pointer}/filter" if "filter" in entry else arguments_at, told))
        self.checks.append(native)

    def arguments(self, call: _Call, arguments_at: str, mine: str, shared: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as members, each with the way back to where it stands."""
        function = FUNCTIONS[call.function]
        members: dict[str, Any] = {}
        for name, value in call.arguments.items():
            pointer = call.each.get(name) or child(arguments_at, name)
            if name not in function.arguments:
                mend = meant(name, list(function.arguments), f"the arguments of {call.function} are")
                self.refuse(INVALID, pointer, f"{call.subject} has the unknown argument {shown(name)}; {mend}")
                continue
            if value is None and name in function.nullable:
                continue
            member = _RENAMED.get(name, name)
            if member == "filter" and "filter" in shared:
                self.lost.append((pointer, f"{call.subject}: the check's filter stands in for row_filter, as in DQX"))
                continue
            if (
                name in ("abs_tolerance", "rel_tolerance")
                and isinstance(value, (int, float, Decimal))
                and value >= 0
                and _is_text(call.arguments.get("value"))
            ):
                self.lost.append((pointer, f"{call.subject}: a tolerance counts beside a number alone, so {name} is left out, as in DQX"))
                continue
            if member == "reference" and member in members:
                self.refuse(CHECK_INVALID, pointer, f"{call.subject} states both ref_df_name and ref_table; state one of the two")
                continue
            # A bare word is a column inside our member, and stands for itself in the user's.
            self.pointers.update({f"{mine}/{member}": pointer, f"{mine}/{member}/column": pointer})
            if function.arguments[name] == "values" and isinstance(value, list):
                value = self.without_nulls(cast("list[Any]", value), pointer, f"{mine}/{member}")
            members.update(self.member(call, name, member, function.arguments[name], value, pointer))
        if "ref_df_name" in function.arguments and "reference" not in members and "expected_schema" not in members:
            self.refuse(CHECK_INVALID, arguments_at, f"{call.subject} names no reference; state ref_df_name or ref_table")
            members["reference"] = ""
        return members

    def without_nulls(self, values: list[Any], pointer: str, mine: str) -> list[Any]:
        """The values that are listed; null among them lists nothing, for NULL is never compared."""
        kept = [(place, value) for place, value in enumerate(values) if value is not None]
        for number, (place, _) in enumerate(kept):
            self.pointers |= dict.fromkeys([child(mine, number), f"{child(mine, number)}/column"], child(pointer, place))
        return [value for _, value in kept]

    def member(self, call: _Call, name: str, member: str, argument: Argument, value: Any, pointer: str) -> dict[str, Any]:
        """One argument as a member; as it was where it is refused."""
        if argument == "hint":
            return {}
        if argument == "filter":
            return {member: self.condition(value, pointer, call.subject, name)}
        reader = _Reader(lambda where, code, words: self.refuse(code, where, f"{call.subject} {words}"), name)
        native = reader.read(argument, value, pointer)
        if argument == "message" and name != "name":
            self.lost.append((pointer, f"{call.subject}: a recipe's details are written by the kind, so {name} is left out"))
            return {}
        if argument == "reference" and isinstance(native, str):
            self.refer(native, native.replace(".", "/") if name == "ref_table" else native, pointer)
        if argument == "query" and isinstance(native, str):
            native, named = self.query(call, native, pointer)
            for reference in named:
                self.refer(reference, reference, pointer)
        return {member: native}

    def refer(self, name: str, asset: str, pointer: str) -> None:
        """Declares a reference, once. Where it is stored, the document does not say."""
        if name not in self.references:
            self.references[name] = {"asset": asset}
            told = f"the reference '{name}' is declared as the Dagster asset '{asset}'; state its path where it is none"
            self.lost.append((pointer, told))

    def query(self, call: _Call, text: str, pointer: str) -> tuple[str, Sequence[str]]:
        """A query in DuckDB's words, and the references that it names."""
        own = call.arguments.get("input_placeholder", "input_view")
        try:
            query, named = query_of(text)
        except ExpressionRefused as refused:
            self.refuse(CHECK_INVALID, pointer, f"{call.subject} states a query that {refused}")
            return text, ()
        return query, [name for name in named if name != own]


class _Call:
    """One call of a check function. `each` leads to the arguments that `for_each_column` brought."""

    def __init__(self, function: str, arguments: Mapping[str, Any], each: Mapping[str, str], subject: str, name: str | None) -> None:
        self.function = function
        self.arguments = arguments
        self.each = each
        self.subject = subject
        self.name = name


class _Reader:
    """Reads one argument, with DQX's strictness about types."""

    def __init__(self, refuse: Callable[[str, str, str], None], name: str) -> None:
        self._refuse = refuse
        self._name = name

    def read(self, argument: Argument, value: Any, pointer: str) -> Any:
        match argument:
            case "columns" | "names" | "values" | "texts" if isinstance(value, list):
                entry: Mapping[str, Argument] = {"columns": "column", "names": "name", "values": "value", "texts": "text"}
                return [self.entry(entry[argument], member, child(pointer, place)) for place, member in enumerate(cast("list[Any]", value))]
            case "column" | "column or *" | "name" | "expression" | "value" if _is_of(argument, value):
                return self.said(argument, value, pointer)
            case "instant" if isinstance(value, (dt.date, dict)):
                return self.said("value", value, pointer)
            case "whole" | "number" if isinstance(value, bool):
                return int(value)
            case _ if _is_of(argument, value):
                return value
            case _:
                self._refuse(pointer, INVALID, f"states {shown(value)} as {self._name}, where {_EXPECTED[argument]} is expected")
                return value

    def entry(self, argument: Argument, value: Any, pointer: str) -> Any:
        if argument == "value" and isinstance(value, list):
            return [self.entry("value", member, child(pointer, place)) for place, member in enumerate(cast("list[Any]", value))]
        return self.read(argument, value, pointer)

    def said(self, argument: Argument, value: Any, pointer: str) -> Any:
        """What a text says: a column, a value, an expression."""
        try:
            match argument:
                case "value":
                    return value_of(value)
                case "expression":
                    return expression_of(value)
                case "column or *" if value.strip() == "*":
                    return "*"
                case "name":
                    if (name := name_of(value)) is None:
                        raise ExpressionRefused("is no name of a column; put backquotes around it if it is one")
                    return name
                case _:
                    return column_of(value)
        except ExpressionRefused as refused:
            told = value.get("__expr__", value) if isinstance(value, dict) else value
            self._refuse(pointer, CHECK_INVALID, f"states {shown(told)} as {self._name}, which {refused}")
            return value


def _is_text(value: Any) -> bool:
    """Whether a value is written as text, which DQX reads as an expression, a number among them, or a date."""
    return isinstance(value, (str, dt.date)) or (isinstance(value, dict) and list(cast("dict[str, Any]", value)) == ["__expr__"])


def _is_of(argument: Argument, value: Any) -> bool:
    """Whether the value is of the argument's type; a truth value passes for a number, as it does in Python."""
    match argument:
        case "column" | "column or *" | "name" | "text" | "expression" | "query" | "reference" | "message":
            return isinstance(value, str) or (argument in _ONE_COLUMN and isinstance(value, dict) and list(value) == ["__expr__"])
        case "value":
            return isinstance(value, (str, int, float, Decimal, dt.date, dict))
        case "whole":
            return isinstance(value, int)
        case "number":
            return isinstance(value, (int, float, Decimal))
        case "flag" | "hint":
            return isinstance(value, bool)
        case "mapping":
            return isinstance(value, dict)
        case _:
            return False


def _derived(call: _Call) -> str:
    """The name of a check that nobody named: the column, then what failed."""
    function: Function = FUNCTIONS[call.function]
    named = call.arguments.get("column", call.arguments.get("columns", call.arguments.get("column1")))
    words = [_words(named)] if named is not None else [call.function]
    if isinstance(
        aggregate := call.arguments.get(
            "aggr_type", "count" if "limit" in function.arguments and "aggr_type" in function.arguments else None
        ),
        str,
    ):
        words.append(aggregate)
    if isinstance(groups := call.arguments.get("group_by"), list):
        words.append(f"group_by_{_words(groups)}")
    return "_".join([*words, function.what_failed])


def _words(named: Any) -> str:
    return "_".join(_each_word(named)) or "all"


def _each_word(named: Any) -> Iterator[str]:
    for entry in cast("list[Any]", named) if isinstance(named, list) else [named]:
        word = re.sub(r"[^0-9a-z]+", "_", str(entry).lower()).strip("_")
        yield "count_star" if entry == "*" else word or "column"
