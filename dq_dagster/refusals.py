"""What is wrong with a member of a document, in our own sentences: which value, what is expected there, how to mend it."""

from __future__ import annotations

import datetime as dt
import difflib
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any, cast, get_args

from pydantic import BaseModel, RootModel, ValidationError

from dq_dagster.errors import SHOWN_AT_ONCE, DqDagsterError, Problem, some_of
from dq_dagster.outcomes import cut
from dq_dagster.plain import UNREADABLE, child, shown

INVALID = "RECIPE_DOCUMENT_INVALID"
CHECK_INVALID = "DECLARED_CHECK_INVALID"
IDENTIFIER = r"^[a-z][a-z0-9_]{0,127}$"
NAMES_COMPARED = 1_000

_EXPECTED = {
    **dict.fromkeys(["string_type"], "text"),
    **dict.fromkeys(["int_type", "int_parsing", "int_from_float", "int_parsing_size"], "a whole number"),
    **dict.fromkeys(["decimal_type", "decimal_parsing", "float_type", "float_parsing", "is_instance_of"], "a number"),
    **dict.fromkeys(["bool_type", "bool_parsing"], "true or false"),
    **dict.fromkeys(["list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"], "a list"),
    **dict.fromkeys(["dict_type", "mapping_type", "model_type", "model_attributes_type"], "a mapping"),
    **dict.fromkeys(["date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"], "a date"),
    **dict.fromkeys(["datetime_type", "datetime_parsing", "datetime_from_date_parsing"], "a timestamp"),
}
_SPELLED = {"SqlExpression": "{expression: …}", "OtherColumn": "{column: …}"}
_LIMITS = {
    "greater_than_equal": ("ge", "{} or more"),
    "greater_than": ("gt", "more than {}"),
    "less_than_equal": ("le", "at most {}"),
    "less_than": ("lt", "less than {}"),
    "string_too_short": ("min_length", "text of at least {} character"),
    "string_too_long": ("max_length", "text of at most {} characters"),
    "too_short": ("min_length", "a list of at least {}"),
    "too_long": ("max_length", "a list of at most {}"),
}


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was most likely meant; None where none is near."""
    candidates = list(islice(known, NAMES_COMPARED))
    name = cut(name, 128)
    same = [other for other in candidates if other.casefold() == name.casefold()]
    near = same or difflib.get_close_matches(name, candidates, n=1)
    return near[0] if near else None


def meant(name: str, known: Sequence[str], otherwise: str, *, is_compared: bool = True) -> str:
    """How to mend an unknown name: the nearest known one, else some of those there are."""
    near = nearest(name, known) if is_compared else None
    if near is not None:
        return f"did you mean '{cut(near, 128)}'?"
    listed = [*(cut(other, 60) for other in known[:SHOWN_AT_ONCE]), *known[SHOWN_AT_ONCE:]]
    return f"{otherwise} {some_of(listed)}" if known else f"{otherwise} none"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a document that one model reads: what it is called in a sentence, where it stands, what it holds."""

    subject: str
    pointer: str
    value: Any
    model: type[BaseModel]
    is_check: bool = False


@dataclass(frozen=True, slots=True)
class _Fault:
    """One pydantic error, placed: the path to it in the document, and where on it a union of types began."""

    type: str
    path: tuple[str | int, ...]
    loc: tuple[str | int, ...]
    value: Any
    context: Mapping[str, Any]
    missing: str | None = None
    union_at: int | None = None
    branch: str | int | None = None

    @property
    def expected(self) -> str | None:
        """What type stands here, in words; None where the type is right and something else is wrong."""
        if self.type == "literal_error":
            # Pydantic gives the words as "'a', 'b' or 'c'".
            return "one of " + ", ".join(re.findall(r"'((?:[^'\\]|\\.)*)'", self.context["expected"]))
        if self.context.get("class_name") in _SPELLED:
            return _SPELLED[self.context["class_name"]]
        return _EXPECTED.get(self.type)

    @property
    def is_of_union(self) -> bool:
        """Whether it says no more than that the value is not of this branch."""
        return self.union_at is not None and len(self.path) == self.union_at and self.missing is None and self.expected is not None


def problems_of(error: ValidationError, part: Part) -> Iterator[tuple[Problem, bool]]:
    """Every problem of the part, each in one sentence, and whether the value at its pointer is wrong as a whole.

    A member that is missing is told at the mapping that lacks it, whose other members may be right.
    """
    faults = [_placed(cast("Mapping[str, Any]", details), part.value) for details in error.errors(include_url=False)]
    for fault, alternatives in _closest(faults):
        if fault.missing is None or not _is_misspelt(fault, faults):
            yield _problem(fault, alternatives, part), fault.missing is None


def _is_misspelt(fault: _Fault, faults: Sequence[_Fault]) -> bool:
    """Whether the missing member is there under a name that is told to be meant for it."""
    unknown = [other for other in faults if other.type == "extra_forbidden" and other.loc[:-1] == fault.loc[:-1]]
    return any(nearest(str(other.path[-1]), [cast(str, fault.missing)]) for other in unknown)


def _closest(faults: Sequence[_Fault]) -> Iterator[tuple[_Fault, Sequence[_Fault]]]:
    """The faults to tell; of a value that fits no branch of a union, those of the branch that it is closest to, or one for all."""
    unions: dict[tuple[str | int, ...], list[_Fault]] = {}
    for fault in faults:
        if fault.union_at is None:
            yield fault, [fault]
        else:
            unions.setdefault(fault.path[: fault.union_at], []).append(fault)
    for members in unions.values():
        branches: dict[str | int | None, list[_Fault]] = {}
        for fault in members:
            branches.setdefault(fault.branch, []).append(fault)
        closest = [branch for branch in branches.values() if not any(fault.is_of_union for fault in branch)]
        if closest:
            yield from ((fault, [fault]) for fault in min(closest, key=len))
        else:
            yield members[0], members


def _placed(details: Mapping[str, Any], document: Any) -> _Fault:
    """The error at the path that exists in the document: the words by which pydantic tells branches apart are none."""
    loc = cast("tuple[str | int, ...]", details["loc"])
    value = document
    path: list[str | int] = []
    missing = union_at = branch = None
    for place, token in enumerate(loc):
        if isinstance(value, dict) and token in value:
            value = cast("dict[str | int, Any]", value)[token]
            path.append(token)
        elif isinstance(value, list) and isinstance(token, int) and token < len(value):
            value = cast("list[Any]", value)[token]
            path.append(token)
        elif place == len(loc) - 1 and details["type"] == "missing":
            missing = str(token)
        elif union_at is None:
            union_at, branch = len(path), token
    return _Fault(details["type"], tuple(path), loc, value, details.get("ctx", {}), missing, union_at, branch)


def _problem(fault: _Fault, alternatives: Sequence[_Fault], part: Part) -> Problem:
    pointer = part.pointer
    for token in fault.path:
        pointer = child(pointer, token)
    subject, path = _subject(part, fault.path)
    code, sentence = _sentence(fault, alternatives, part, subject, path)
    return Problem(code, pointer, sentence)


def _subject(part: Part, path: tuple[str | int, ...]) -> tuple[str, tuple[str | int, ...]]:
    """Who states the member, and the way to the member from there."""
    if part.is_check or not path:
        return part.subject, path
    if path[0] in ("table", "quarantine"):
        return f"the {path[0]}", path[1:]
    if path[0] == "references" and len(path) > 1:
        return f"the reference '{cut(str(path[1]), 60)}'", path[2:]
    return part.subject, path


def _named(path: Sequence[str | int]) -> str:
    """The member in words: `columns`, `entry 2 of columns`, `type in entry 2 of columns`."""
    words = ""
    for token in path:
        word = f"entry {token + 1}" if isinstance(token, int) else cut(token, 60)
        words = f"{word} {'of' if isinstance(token, int) else 'in'} {words}" if words else word
    return words


def _sentence(fault: _Fault, alternatives: Sequence[_Fault], part: Part, subject: str, path: tuple[str | int, ...]) -> tuple[str, str]:
    own_code = CHECK_INVALID if part.is_check else INVALID
    inside = f" in {_named(path)}" if path else ""
    stated = _stated(fault.value, subject, path)
    if fault.missing is not None:
        is_own = part.is_check and not path and fault.missing not in ("check_id", "kind")
        return own_code if is_own else INVALID, f"{subject} states no {fault.missing}{inside}; {_how_to_state(fault)}"
    if fault.type == "extra_forbidden":
        name = str(fault.path[-1])
        within = f" in {_named(path[:-1])}" if path[:-1] else ""
        mend = meant(name, _members(part.model, fault.loc[:-1]), "known members are")
        return INVALID, f"{subject} has the unknown member '{cut(name, 60)}'{within}; {mend}"
    if fault.type == "value_error":
        return own_code, _of_value(fault, subject, path)
    if fault.type == "string_pattern_mismatch":
        return INVALID, f"{stated}, where {_of_pattern(fault)}"
    if fault.type in _LIMITS:
        name, words = _LIMITS[fault.type]
        return INVALID, f"{stated}, where {words.format(fault.context[name])} is expected"
    expected = list(dict.fromkeys(other.expected for other in alternatives if other.expected))
    if isinstance(fault.value, Decimal) and "a whole number" in expected:
        stated = stated.replace(" states ", " states the fraction ", 1)
        return UNREADABLE, f"{stated}, which takes none: {_without_fraction(fault.value, expected)}"
    if not expected:
        return INVALID, f"{stated}, which does not fit; see the documentation of the member"
    code = CHECK_INVALID if part.is_check and path == ("enforcement",) else INVALID
    return code, f"{stated}, where {_any_of(expected)} is expected{_how_to_write(fault.value, expected)}"


def _any_of(expected: Sequence[str]) -> str:
    words = [word for word in expected if word != "a whole number" or "a number" not in expected]
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def _stated(value: Any, subject: str, path: Sequence[str | int]) -> str:
    return f"{subject} states {shown(value)}" + (f" as {_named(path)}" if path else "")


def _how_to_state(fault: _Fault) -> str:
    match fault.missing:
        case "enforcement":
            return "there is no default, so state required, advisory or quarantine"
        case "checks":
            return "add the list of checks, which may be empty"
        case _:
            return "add it"


def _of_value(fault: _Fault, subject: str, path: Sequence[str | int]) -> str:
    """What a validator of the model's own says: a whole sentence, or the words that follow on `which`."""
    error = fault.context.get("error")
    if isinstance(error, DqDagsterError):
        return cut(str(error), 300)
    words = cut(str(error), 200)
    if not path:
        return f"{subject} {words}"
    value = fault.value
    if isinstance(value, dict) and list(cast("dict[str, Any]", value)) == ["expression"]:
        value = cast("dict[str, Any]", value)["expression"]
    return f"{_stated(value, subject, path)}, which {words}"


def _of_pattern(fault: _Fault) -> str:
    if fault.context["pattern"] != IDENTIFIER:
        return f"text that matches {cut(fault.context['pattern'], 80)} is expected"
    fit = identifier(fault.value)
    mend = f"; did you mean '{cut(fit, 60)}'?" if fit else ""
    return f"lower-case letters, digits and _ are expected, a letter first and at most 128 in all{mend}"


def identifier(text: str) -> str:
    """The text made fit to be an identifier of a recipe; empty where nothing of it is."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_").lstrip("0123456789_")[:128]


def _without_fraction(number: Decimal, expected: Sequence[str]) -> str:
    is_short = abs(number.adjusted()) < 60
    if "text" in expected:
        return f"write it as the text '{format(number, 'f') if is_short else shown(number)}'"
    if is_short and number == number.to_integral_value():
        return f"write {int(number)}"
    return "write a whole number"


def _how_to_write(value: Any, expected: Sequence[str]) -> str:
    if value is None:
        return "; fill it in"
    if isinstance(value, str):
        digits = value.replace("_", "")
        if "a whole number" in expected and re.fullmatch(r"-?[0-9]{1,20}", digits):
            return f"; write {int(digits)}, without quotes"
        near = [other for words in expected if words.startswith("one of ") for other in words[7:].split(", ")]
        return f"; did you mean '{found}'?" if near and (found := nearest(value, near)) else _as_list(value, expected)
    if "text" in expected and isinstance(value, (bool, int, Decimal, dt.date)):
        return f"; write it in quotes: '{shown(value)}'"
    return _as_list(value, expected)


def _as_list(value: Any, expected: Sequence[str]) -> str:
    if "a list" not in expected or isinstance(value, (dict, list)):
        return ""
    return f"; write [{shown(value)}]"


def _members(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    """The members that the model at this place knows."""
    models = [model]
    for token in loc:
        fields = [field for outer in models for name, field in outer.model_fields.items() if name == token]
        inner = [found for field in fields for found in _models_in(field.annotation)]
        models = inner or models
    return list(dict.fromkeys(name for found in models for name in found.model_fields))


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        if issubclass(annotation, RootModel):
            yield from _models_in(annotation.model_fields["root"].annotation)
        else:
            yield annotation
    else:
        for argument in get_args(annotation):
            yield from _models_in(argument)
