"""A document as it was parsed: its values, and the line and column of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from dq_dagster.errors import Problem
from dq_dagster.outcomes import cut
from dq_dagster.plain import MAX_DEPTH, MAX_DIGITS, MAX_NODES, SHOWN_CHARS, UNREADABLE, what_is_wrong_with_number, what_is_wrong_with_text

MAX_BYTES = 1024 * 1024
Place = tuple[int, int]

_WHOLE = re.compile(r"[-+]?[0-9]+")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed document. `places` gives line and column, from 1, by JSON pointer: where the key or the entry begins.

    `problems` are what stood in the text and could not be read; its value is None there.
    """

    value: Any
    places: Mapping[str, Place] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


class Unreadable(Exception):
    """A text that is no document at all, or too large a one; carries the problem."""

    def __init__(self, message: str, place: Place | None = None, pointer: str = "") -> None:
        line, column = place or (None, None)
        self.problem = Problem(UNREADABLE, pointer, message, line, column)
        super().__init__(message)


class Reading:
    """What one pass over a text gathers: where everything stands, what cannot be read, and how much there is."""

    def __init__(self) -> None:
        self.places: dict[str, Place] = {}
        self.problems: list[Problem] = []
        self._nodes = 0

    def enter(self, pointer: str, place: Place, depth: int) -> None:
        """Notes a value. Raises Unreadable where there are too many, or too deep ones."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise Unreadable(f"the document holds more than {MAX_NODES} values, counting what aliases repeat; write a smaller one", place)
        if depth > MAX_DEPTH:
            raise Unreadable(f"the document is nested more than {MAX_DEPTH} deep; write it flatter", place)
        self.places.setdefault(pointer, place)

    def refuse(self, pointer: str, message: str, place: Place) -> None:
        """Notes what cannot be read."""
        self.problems.append(Problem(UNREADABLE, pointer, message, *place))

    def refuse_second_key(self, pointer: str, key: str, place: Place, first: Place) -> None:
        """Notes a key that was there before."""
        told = f"the key '{cut(key, SHOWN_CHARS)}' is written twice, first in line {first[0]}, column {first[1]}; keep one of the two"
        self.refuse(pointer, told, place)

    def text(self, text: str, pointer: str, place: Place) -> str | None:
        """The text, where every character of it is one."""
        if wrong := what_is_wrong_with_text(text):
            return self.refuse(pointer, f"the document {wrong}", place)
        return text

    def number(self, text: str, pointer: str, place: Place) -> int | Decimal | None:
        """The exact number that the text spells: whole, or a decimal."""
        too_long = len(text) > MAX_DIGITS
        number = 0 if too_long else int(text) if _WHOLE.fullmatch(text) else Decimal(text)
        wrong = f"holds a number of more than {MAX_DIGITS} digits" if too_long else what_is_wrong_with_number(number)
        if wrong:
            return self.refuse(pointer, f"the document {wrong}; write it in quotes if it is text", place)
        return number
