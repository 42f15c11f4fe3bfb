"""Patterns that only valid JSON matches, made from texts that are: most texts of a column have one of a few shapes.

A pattern describes a part of what json_rules.py accepts, never more: the same members in the same order, none twice,
each value a scalar, or nested as in the text that it was made from. What matches none is judged by the rule itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from dq_dagster.checks.code_points import escaped
from dq_dagster.checks.json_rules import NotJson, read_json

MOST_SHAPES = 4
_MOST_PARTS = 200
_BLANK = r"[ \t\n\r]*"
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_TEXT = r'"[^"\\\x00-\x1f]*"'
_SCALAR = f"(?:{_NUMBER}|{_TEXT}|true|false|null)"
_PLAIN_KEY = re.compile(r"[^\"\\\x00-\x1f\ud800-\udfff]*")


def shapes_of(texts: Iterable[str], is_good: Callable[[str], bool]) -> str | None:
    """A pattern, to be matched with the whole text, of the shapes of those texts that are good; None where there is none."""
    shapes = dict.fromkeys(shape for text in texts if is_good(text) and (shape := _shape_of(text)) is not None)
    return "|".join(list(shapes)[:MOST_SHAPES]) or None


def _shape_of(text: str) -> str | None:
    try:
        value, rest = read_json(text)
    except NotJson:
        return None
    parts: list[str] = []
    return None if rest or not _spell(value, parts) else _BLANK + "".join(parts) + _BLANK


def _spell(value: Any, parts: list[str]) -> bool:
    """Adds the pattern of a value; False where it would grow too long or a key cannot be written plainly."""
    if len(parts) > _MOST_PARTS:
        return False
    match value:
        case dict():
            members: dict[str, Any] = value
            parts.append(r"\{" + _BLANK)
            for place, (key, member) in enumerate(members.items()):
                if not _PLAIN_KEY.fullmatch(key):
                    return False
                comma = f"{_BLANK},{_BLANK}" if place else ""
                parts.append(f'{comma}"{"".join(escaped(ord(char)) for char in key)}"{_BLANK}:{_BLANK}')
                if not _spell(member, parts):
                    return False
            parts.append(_BLANK + r"\}")
        case list():
            items: list[Any] = value
            if not any(isinstance(item, dict | list) for item in items):
                parts.append(rf"\[{_BLANK}(?:{_SCALAR}(?:{_BLANK},{_BLANK}{_SCALAR})*)?{_BLANK}\]")
                return True
            parts.append(r"\[" + _BLANK)
            for place, item in enumerate(items):
                parts.append(f"{_BLANK},{_BLANK}" if place else "")
                if not _spell(item, parts):
                    return False
            parts.append(_BLANK + r"\]")
        case _:
            parts.append(_SCALAR)
    return True
