"""What a document holds once it is read: mappings, lists, text, exact numbers and dates; and the JSON pointers into it."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any, cast

from pydantic import BaseModel

from dq_dagster.errors import Problem
from dq_dagster.outcomes import cut

UNREADABLE = "RECIPE_DOCUMENT_UNREADABLE"
MAX_NODES = 100_000
MAX_DEPTH = 64
MAX_DIGITS = 1_000
SHOWN_CHARS = 60


def child(pointer: str, token: str | int) -> str:
    """The pointer to a member or an entry of what the pointer names."""
    return f"{pointer}/{str(token).replace('~', '~0').replace('/', '~1')}"


def parent(pointer: str) -> str:
    """The pointer to what holds it; the root holds itself."""
    return pointer.rpartition("/")[0]


def is_within(pointer: str, outer: Collection[str]) -> bool:
    """Whether the pointer names what one of the outer ones names, or something in it."""
    while pointer and pointer not in outer:
        pointer = parent(pointer)
    return pointer in outer


def find(document: Any, pointer: str) -> tuple[bool, Any]:
    """Whether the document holds the place, and what stands there."""
    value = document
    for token in _tokens(pointer):
        if isinstance(value, dict) and token in value:
            value = cast("dict[str, Any]", value)[token]
        elif isinstance(value, list) and _is_entry(token, value):
            value = cast("list[Any]", value)[int(token)]
        else:
            return False, None
    return True, value


class ReadingOrder:
    """Sort keys that put pointers in the order in which a reader of the document meets them; what is missing comes last."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._places: dict[int, dict[str, int]] = {}

    def __call__(self, pointer: str) -> tuple[int, ...]:
        order: list[int] = []
        value = self._document
        for token in _tokens(pointer):
            if isinstance(value, dict) and token in value:
                members = cast("dict[str, Any]", value)
                if id(members) not in self._places:
                    self._places[id(members)] = {name: place for place, name in enumerate(members)}
                order.append(self._places[id(members)][token])
                value = members[token]
            elif isinstance(value, list) and _is_entry(token, value):
                order.append(int(token))
                value = cast("list[Any]", value)[int(token)]
            else:
                return (*order, MAX_NODES)
        return tuple(order)


def _is_entry(token: str, entries: Sequence[Any]) -> bool:
    return token.isdecimal() and len(token) < 8 and int(token) < len(entries)


def _tokens(pointer: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def shown(value: Any) -> str:
    """A value of a document as a message quotes it, cut where it is long."""
    if isinstance(value, str):
        return f"'{cut(value, SHOWN_CHARS)}'"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(cast('Sequence[Any]', value))}"
    return cut(str(value), SHOWN_CHARS)


def what_is_wrong_with_number(number: int | Decimal) -> str | None:
    """Why a number has no place in a document; None where it has."""
    if isinstance(number, int):
        return None if abs(number) < 10**MAX_DIGITS else f"holds a number of more than {MAX_DIGITS} digits"
    if not number.is_finite():
        return "holds NaN or an infinity, which is no number to compare with"
    digits = number.as_tuple().digits
    return None if len(digits) < MAX_DIGITS and abs(number.adjusted()) < MAX_DIGITS else f"holds a number of more than {MAX_DIGITS} digits"


def what_is_wrong_with_text(text: str) -> str | None:
    """Why a text has no place in a document; None where it has."""
    return (
        "holds text with half a surrogate pair, which is no character"
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)
        else None
    )


class _Plain:
    """One walk over a value that Python code brought. What has no place in a document becomes None, with a problem."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.nodes = 0

    def refuse(self, pointer: str, what: str) -> None:
        self.problems.append(Problem(UNREADABLE, pointer, what))

    def of(self, value: Any, pointer: str, depth: int) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            if self.nodes == MAX_NODES + 1:
                self.refuse("", f"the document holds more than {MAX_NODES} values; write a smaller one")
            return None
        if depth > MAX_DEPTH:
            return self.refuse(pointer, f"the document is nested more than {MAX_DEPTH} deep; write it flatter")
        if isinstance(value, BaseModel):
            value = model_document(value)
        if isinstance(value, Enum):
            value = value.value
        if isinstance(value, os.PathLike):
            value = os.fspath(cast("os.PathLike[Any]", value))
        if isinstance(value, Mapping):
            return self.mapping(cast("Mapping[Any, Any]", value), pointer, depth)
        if isinstance(value, (list, tuple)):
            return [self.of(entry, child(pointer, place), depth + 1) for place, entry in enumerate(cast("Sequence[Any]", value))]
        return self.scalar(value, pointer)

    def mapping(self, value: Mapping[Any, Any], pointer: str, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, member in value.items():
            wrong = what_is_wrong_with_text(name) if isinstance(name, str) else f"has the key {shown(name)}, and a key must be text"
            if wrong:
                self.refuse(pointer, f"the document {wrong}; write it as text")
            else:
                members[str(name)] = self.of(member, child(pointer, name), depth + 1)
        return members

    def scalar(self, value: Any, pointer: str) -> Any:
        wrong = None
        if value is None or isinstance(value, (bool, dt.date)):
            return value
        if isinstance(value, str):
            value = str(value)
            wrong = what_is_wrong_with_text(value)
        elif isinstance(value, float):
            # The shortest decimal text is what was written, whoever parsed it.
            value = Decimal(float.__repr__(value)) if math.isfinite(value) else Decimal("NaN")
            wrong = what_is_wrong_with_number(value)
        elif isinstance(value, (int, Decimal)):
            wrong = what_is_wrong_with_number(value)
        else:
            wrong = f"holds a Python {type(value).__name__}; write text, a number, a date, a list or a mapping"
        if wrong:
            return self.refuse(pointer, f"the document {wrong}")
        return value


def plain(value: Any) -> tuple[Any, list[Problem]]:
    """The value as a document holds it, in dicts and lists of its own, and what has no place in a document."""
    walk = _Plain()
    return walk.of(value, "", 0), walk.problems


def model_document(model: BaseModel) -> dict[str, Any]:
    """The members of a model that say something: all that differ from their default, and the kind."""
    members = model.model_dump(exclude_defaults=True, serialize_as_any=True)
    if "kind" not in type(model).model_fields:
        return members
    told = {name: members.pop(name) for name in ("check_id",) if name in members}
    return {**told, "kind": getattr(model, "kind", None), **members}


def json_text(value: Any, *, indent: int | None = None) -> str:
    """A plain value as JSON, its decimals as exact numbers, its dates as text."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        told = [f"{json.dumps(name, ensure_ascii=False)}: {json_text(member, indent=_deeper(indent))}" for name, member in members]
        return _bracketed("{", told, "}", indent)
    if isinstance(value, list):
        return _bracketed("[", [json_text(entry, indent=_deeper(indent)) for entry in cast("list[Any]", value)], "]", indent)
    if isinstance(value, Decimal):
        return str(value)
    return json.dumps(value.isoformat() if isinstance(value, dt.date) else value, ensure_ascii=False)


def _deeper(indent: int | None) -> int | None:
    return None if indent is None else indent + 2


def _bracketed(opening: str, parts: list[str], closing: str, indent: int | None) -> str:
    if not parts or indent is None:
        return opening + ", ".join(parts) + closing
    inner, outer = "\n" + " " * (indent + 2), "\n" + " " * indent
    return opening + inner + f",{inner}".join(parts) + outer + closing


def canonical_json(value: Any) -> str:
    """The one JSON text of a plain value: keys sorted, equal numbers written alike, dates told from text."""

    def told(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: told(member) for name, member in cast("dict[str, Any]", value).items()}
        if isinstance(value, list):
            return [told(entry) for entry in cast("list[Any]", value)]
        if isinstance(value, Decimal):
            return int(value) if value == value.to_integral_value() else {"decimal": _shortest(value)}
        if isinstance(value, dt.datetime):
            return {"instant": (value.astimezone(dt.timezone.utc) if value.tzinfo else value).isoformat()}
        return {"date": value.isoformat()} if isinstance(value, dt.date) else value

    return json.dumps(told(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _shortest(number: Decimal) -> str:
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits))
    kept = text.rstrip("0")
    return f"{'-' if sign else ''}{kept}E{cast(int, exponent) + len(text) - len(kept)}"
