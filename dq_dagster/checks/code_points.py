"""Sets of characters, as sorted ranges of code points: what a pattern's character class holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

LAST = 0x10FFFF
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CodePoints:
    """A set of characters: ranges that neither touch nor overlap, in order."""

    ranges: tuple[Range, ...] = ()

    @classmethod
    def of(cls, ranges: Iterable[Range]) -> CodePoints:
        """The set that the ranges cover."""
        joined: list[Range] = []
        for low, high in sorted(ranges):
            if joined and low <= joined[-1][1] + 1:
                joined[-1] = (joined[-1][0], max(joined[-1][1], high))
            else:
                joined.append((low, high))
        return cls(tuple(joined))

    @classmethod
    def of_text(cls, text: str) -> CodePoints:
        """The characters of the text; `a-z` is a range."""
        ranges: list[Range] = []
        place = 0
        while place < len(text):
            is_range = text[place + 1 : place + 2] == "-" and place + 2 < len(text)
            ranges.append((ord(text[place]), ord(text[place + 2 if is_range else place])))
            place += 3 if is_range else 1
        return cls.of(ranges)

    def union(self, other: CodePoints) -> CodePoints:
        """What either holds."""
        return CodePoints.of([*self.ranges, *other.ranges])

    def complement(self) -> CodePoints:
        """Every other character."""
        gaps: list[Range] = []
        start = 0
        for low, high in self.ranges:
            if low > start:
                gaps.append((start, low - 1))
            start = high + 1
        if start <= LAST:
            gaps.append((start, LAST))
        return CodePoints(tuple(gaps))

    def intersection(self, other: CodePoints) -> CodePoints:
        """What both hold."""
        return self.complement().union(other.complement()).complement()

    def in_either_case(self) -> CodePoints:
        """With every ASCII letter in the other case too."""
        added: list[Range] = []
        for start, shift in ((ord("A"), 32), (ord("a"), -32)):
            for low, high in self.ranges:
                first, last = max(low, start), min(high, start + 25)
                if first <= last:
                    added.append((first + shift, last + shift))
        return CodePoints.of([*self.ranges, *added])

    def re2(self) -> str:
        """The ranges as they stand inside the brackets of a class."""
        return "".join(escaped(low) if low == high else f"{escaped(low)}-{escaped(high)}" for low, high in self.ranges)


def escaped(code_point: int) -> str:
    """One character, as RE2 reads it literally anywhere."""
    char = chr(code_point)
    if char.isascii() and char.isprintable():
        return char if char.isalnum() or char in "_ " else f"\\{char}"
    is_plain = char.isprintable() and not 0xD800 <= code_point <= 0xDFFF
    return char if is_plain else f"\\x{{{code_point:X}}}"


DIGIT = CodePoints.of_text("0-9")
WORD = CodePoints.of_text("a-zA-Z0-9_")
SPACE = CodePoints.of_text(" \t\n\x0b\f\r")
HORIZONTAL_SPACE = CodePoints.of_text(" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000")
VERTICAL_SPACE = CodePoints.of_text("\n\x0b\f\r\x85\u2028\u2029")
LINE_END = CodePoints.of_text("\n\r\x85\u2028\u2029")
NEWLINE = CodePoints.of_text("\n")
EVERY = CodePoints(((0, LAST),))

BY_LETTER = {"d": DIGIT, "w": WORD, "s": SPACE, "h": HORIZONTAL_SPACE, "v": VERTICAL_SPACE}

_PUNCTUATION = CodePoints.of([(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)])
BY_PROPERTY = {
    "Lower": CodePoints.of_text("a-z"),
    "Upper": CodePoints.of_text("A-Z"),
    "ASCII": CodePoints(((0, 0x7F),)),
    "Alpha": CodePoints.of_text("a-zA-Z"),
    "Digit": DIGIT,
    "Alnum": CodePoints.of_text("a-zA-Z0-9"),
    "Punct": _PUNCTUATION,
    "Graph": CodePoints(((0x21, 0x7E),)),
    "Print": CodePoints(((0x20, 0x7E),)),
    "Blank": CodePoints.of_text(" \t"),
    "Cntrl": CodePoints.of([(0, 0x1F), (0x7F, 0x7F)]),
    "XDigit": CodePoints.of_text("0-9a-fA-F"),
    "Space": SPACE,
    "L1": CodePoints(((0, 0xFF),)),
    "all": EVERY,
}
