"""JSON text, read strictly: exact numbers, no key twice, and the line and column of every value."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from dq_dagster.documents.parsed import Parsed, Place, Reading, Unreadable
from dq_dagster.plain import child

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?![0-9A-Za-z_.+-])")
_WORD = re.compile(r"[-+]?[A-Za-z_][A-Za-z0-9_]*")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_NOT_NUMBERS = {"NaN", "Infinity", "-Infinity"}


def parse_json(text: str) -> Parsed:
    """The document that the text holds. Raises Unreadable where it is not JSON."""
    scan = _Scan(text)
    value = scan.value("", 0, None)
    scan.skip_space()
    if scan.at < len(text):
        raise scan.not_json("there is something after the end of the document", "take it out")
    return Parsed(value, scan.reading.places, tuple(scan.reading.problems))


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.reading = Reading()
        self._lines = [0, *(found.end() for found in re.finditer(r"\r\n|\n|\r", text))]

    def place(self, at: int) -> Place:
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def not_json(self, what: str, mend: str) -> Unreadable:
        return Unreadable(f"the document is not JSON: {what}; {mend}", self.place(self.at))

    def skip_space(self) -> None:
        self.at = self._end(_SPACE)

    def _end(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self.text, self.at)
        return self.at if found is None else found.end()

    def takes(self, mark: str) -> bool:
        """Whether the mark comes next; it is then behind."""
        self.skip_space()
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def value(self, pointer: str, depth: int, place: Place | None) -> Any:
        """The value that begins here; `place` is where its key stands, if it has one."""
        self.skip_space()
        place = place or self.place(self.at)
        self.reading.enter(pointer, place, depth)
        if self.takes("{"):
            return self.members(pointer, depth)
        if self.takes("["):
            return [self.value(child(pointer, number), depth + 1, None) for number in self.separated("]")]
        if self.text.startswith('"', self.at):
            return self.reading.text(self.string(), pointer, place)
        start, self.at = self.at, self._end(_NUMBER)
        if self.at > start:
            return self.reading.number(self.text[start : self.at], pointer, place)
        return self.word(pointer, place)

    def word(self, pointer: str, place: Place) -> Any:
        word = self.text[self.at : self._end(_WORD)]
        if word in _NOT_NUMBERS:
            self.at += len(word)
            return self.reading.refuse(pointer, f"the document holds {word}, which is no number to compare with", place)
        if word not in _WORDS:
            found = f"'{self.text[self.at]}' begins no value" if self.at < len(self.text) else "it ends where a value is expected"
            raise self.not_json(found, "write text in double quotes, a number, a list or a mapping")
        self.at += len(word)
        return _WORDS[word]

    def separated(self, closing: str) -> Iterator[int]:
        """The numbers of the entries up to the closing mark, each time with the scan at the entry."""
        if self.takes(closing):
            return
        number = 0
        while True:
            yield number
            number += 1
            if self.takes(closing):
                return
            if not self.takes(","):
                raise self.not_json(f"a comma or '{closing}' is expected here", "add it")

    def string(self) -> str:
        end = self._end(_STRING)
        if end == self.at:
            raise self.not_json("this text has no end, an unknown escape or a control character", "close it, or escape what must be")
        start, self.at = self.at, end
        return json.loads(self.text[start:end])

    def members(self, pointer: str, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        first: dict[str, Place] = {}
        for _ in self.separated("}"):
            self.skip_space()
            place = self.place(self.at)
            if not self.text.startswith('"', self.at):
                raise self.not_json("a key in double quotes is expected here", "write one, or take out the comma before it")
            key = self.string()
            if not self.takes(":"):
                raise self.not_json("a colon is expected after the key", "add it")
            if self.reading.text(key, pointer, place) is None:
                key = key.encode("utf-8", "replace").decode()
            inner = child(pointer, key)
            value = self.value(inner, depth + 1, place)
            if key in first:
                self.reading.refuse_second_key(inner, key, place, first[key])
                continue
            first[key] = place
            members[key] = value
        return members
