"""A pattern as Java reads it, written anew for RE2: the same texts match, or the pattern is refused by name.

What RE2 spells differently is spelled out: classes become explicit sets of characters, `.` leaves out every line end
and `$` lets one stand behind it. Groups are never read, so none captures, and a lazy repetition is a greedy one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from dq_dagster.checks.code_points import BY_LETTER, BY_PROPERTY, EVERY, LINE_END, NEWLINE, CodePoints, escaped

MAX_REPEATS = 1_000
_LINE_END = r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])"
_UNIT = r"(?:\r\n|[\n\x{B}\f\r\x{85}\x{2028}\x{2029}])"
_CATEGORIES = [
    *("L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Me", "Mc", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"),
    *("S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "Zl", "Zp", "C", "Cc", "Cf", "Co"),
]
_BINARY = {"letter": "L", "titlecase": "Lt", "control": "Cc", "punctuation": "P", "digit": "Nd"}
_OF_ONE_CASE = {"Lower", "Upper", r"\p{Lu}", r"\p{Ll}", r"\p{Lt}"}
_GROUPS = (
    ("(?=", "a look-ahead"), ("(?!", "a look-ahead"), ("(?<=", "a look-behind"), ("(?<!", "a look-behind"),
    ("(?>", "an atomic group"), ("(?P=", "a back-reference"), ("(?P>", "a recursion"), ("(?R", "a recursion"),
    ("(?P<", "a named group"), ("(?<", "a named group"), ("(?'", "a named group"), ("(?(", "a conditional group"),
    ("(?#", "a comment"), ("(?|", "a branch reset"),
)  # fmt: skip
_MENDS = {
    "a look-ahead": "state what must not match as a check of its own with negate, or use a sql_expression",
    "a named group": "a check reads no group, so write (…)",
    "a comment": "take it out",
    "an atomic group": "RE2 never backtracks, so write (?:…)",
}
_CONTROLS = {"t": 9, "n": 10, "r": 13, "f": 12, "a": 7, "e": 27}


class PatternRefused(ValueError):
    """A pattern that RE2 cannot be made to evaluate as Java does; the message says which part, where, and what to do."""


@dataclass(frozen=True, slots=True)
class _Flags:
    """What `(?isdu)` has turned on."""

    i: bool = False
    s: bool = False
    d: bool = False
    u: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of the pattern: for RE2, whether it can take up characters, and whether a `$` stands in it."""

    text: str
    consumes: bool = False
    ends: bool = False


@dataclass(frozen=True, slots=True)
class _Class:
    """What stands between brackets: characters, and properties that only RE2 can tell (`\\p{L}`)."""

    points: CodePoints = field(default_factory=CodePoints)
    properties: tuple[str, ...] = ()

    def union(self, other: _Class) -> _Class:
        return _Class(self.points.union(other.points), (*self.properties, *other.properties))

    def re2(self) -> str:
        return self.points.re2() + "".join(self.properties)


def translated(pattern: str, *, ignore_case: bool = False) -> str:
    """The pattern for RE2. Raises PatternRefused."""
    reader = _Reader(pattern, _Flags(i=ignore_case))
    part = reader.alternatives()
    if reader.peek():
        raise reader.refused("a closing parenthesis without an opening one", reader.place, r"write \)")
    return part.text


class _Reader:
    """Reads a pattern from left to right. A quoted character is a token of two, so that it is never taken for a sign."""

    def __init__(self, pattern: str, flags: _Flags) -> None:
        self.tokens: list[str] = []
        self.places: list[int] = []
        self.flags = flags
        self.place = 0
        quoted, place = False, 0
        while place < len(pattern):
            if not quoted and pattern.startswith("\\", place) and not pattern.startswith("\\Q", place):
                self._take(pattern[place], place)
                if place + 1 < len(pattern):
                    self._take(pattern[place + 1], place + 1)
                place += 2
            elif pattern.startswith("\\E" if quoted else "\\Q", place):
                quoted, place = not quoted, place + 2
            else:
                self._take(f"q{pattern[place]}" if quoted else pattern[place], place)
                place += 1

    def _take(self, token: str, place: int) -> None:
        self.tokens.append(token)
        self.places.append(place)

    def peek(self, ahead: int = 0) -> str:
        """A coming token; empty past the end."""
        at = self.place + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def next(self) -> str:
        """The coming token, taken."""
        token = self.peek()
        self.place += 1
        return token

    def follows(self, text: str) -> bool:
        """Whether these plain characters come now."""
        return self.tokens[self.place : self.place + len(text)] == list(text)

    def refused(self, what: str, start: int, mend: str, *, lacking: bool = False) -> PatternRefused:
        """The refusal of a part of the pattern."""
        at = self.places[start] + 1 if start < len(self.places) else len(self.places) + 1
        shown = "".join(token[-1] for token in self.tokens[start : max(self.place, start + 1)])
        named = f"{what} ({shown!r} at character {at})" if shown else what
        return PatternRefused(f"{'uses' if lacking else 'has'} {named}{', which RE2 does not have' if lacking else ''}; {mend}")

    def alternatives(self) -> _Part:
        """Everything up to the end of the group, or of the pattern."""
        parts = [self._sequence()]
        while self.peek() == "|":
            self.next()
            parts.append(self._sequence())
        return _Part("|".join(part.text for part in parts), any(part.consumes for part in parts), any(part.ends for part in parts))

    def _sequence(self) -> _Part:
        text, consumes, ends = "", False, False
        while (token := self.peek()) and token not in ("|", ")"):
            start = self.place
            part = self._repeated(self._atom())
            if ends and part.consumes:
                raise self.refused("a $ with more behind it", start, r"write the line end, or \z, instead of $")
            text, consumes, ends = text + part.text, consumes or part.consumes, ends or part.ends
        return _Part(text, consumes, ends)

    def _repeated(self, part: _Part) -> _Part:
        start = self.place
        repeats = self._repetition()
        if repeats is None:
            return part
        sign, most = repeats
        if self.peek() == "+":
            self.next()
            raise self.refused("a possessive repetition", start, "RE2 never backtracks, so leave out the second +", lacking=True)
        if self.peek() == "?":
            self.next()
        if self.peek() in ("*", "+", "?", "{"):
            self.next()
            raise self.refused("a repetition of a repetition", start, "put what is repeated into (?:…)")
        if part.ends and part.consumes and most != 1:
            raise self.refused("a $ inside a repetition", start, "take the $ out of it")
        text = part.text if part.text else "(?:)"
        return replace(part, text=f"(?:{text}){sign}" if not _is_single(text) else text + sign)

    def _repetition(self) -> tuple[str, int | None] | None:
        """The coming repetition and how often at most it repeats; None where none comes."""
        start = self.place
        token = self.peek()
        if token in ("*", "+", "?"):
            self.next()
            return token, 1 if token == "?" else None
        if token != "{":
            return None
        written = ""
        while self.peek() and self.peek() != "}":
            written += self.next()
        found = re.fullmatch(r"\{([0-9]+)(,([0-9]*))?", written)
        if self.next() != "}" or not found:
            raise self.refused("an opening brace that begins no repetition", start, r"write \{")
        low, high = int(found[1]), int(found[3]) if found[3] else None
        if max(low, high or 0) > MAX_REPEATS:
            raise self.refused(
                f"a repetition of more than {MAX_REPEATS} times", start, f"repeat at most {MAX_REPEATS} times, or without an end"
            )
        if high is not None and high < low:
            raise self.refused("a repetition whose ends are reversed", start, "state the smaller number first")
        return written + "}", low if not found[2] else high

    def _atom(self) -> _Part:
        start = self.place
        token = self.next()
        match token:
            case "(":
                return self._group(start)
            case "[":
                return self._class_part(start)
            case "\\":
                return self._escape(start)
            case "^":
                return _Part("^")
            case "$":
                return _Part(r"(?:\n?\z)" if self.flags.d else rf"(?:{_LINE_END}?\z)", ends=True)
            case ".":
                return self._of_class(_Class(EVERY if self.flags.s else (NEWLINE if self.flags.d else LINE_END).complement()))
            case "*" | "+" | "?":
                raise self.refused("a repetition with nothing to repeat", start, f"write \\{token}")
            case "{":
                raise self.refused("an opening brace that begins no repetition", start, r"write \{")
            case _:
                return self._literal(ord(token[-1]))

    def _literal(self, code_point: int) -> _Part:
        points = CodePoints(((code_point, code_point),))
        if self.flags.u:
            return self._of_class(_Class(points))
        if self.flags.i and points.in_either_case() != points:
            return self._of_class(_Class(points))
        return _Part(escaped(code_point), consumes=True)

    def _group(self, start: int) -> _Part:
        for opening, name in _GROUPS:
            if self.tokens[start : start + len(opening)] == list(opening):
                self.place = start + len(opening)
                raise self.refused(name, start, _MENDS.get(name, "state the pattern without it"), lacking=True)
        before = self.flags
        if self.peek() == "?":
            self.next()
            if self._turn_flags(start):
                return _Part("")
        part = self.alternatives()
        if self.next() != ")":
            raise self.refused("an opening parenthesis without a closing one", start, r"close it, or write \(")
        self.flags = before
        return replace(part, text=f"(?:{part.text})")

    def _turn_flags(self, start: int) -> bool:
        """Reads `i-s:` or `i-s)`; whether it was the latter, which holds to the end of the group around it."""
        turned = dict.fromkeys("isdu", False) | {name: getattr(self.flags, name) for name in "isdu"}
        on = True
        while (token := self.next()) not in (":", ")"):
            if token == "-" and on:
                on = False
            elif token in turned:
                turned[token] = on
            elif token == "m":
                raise self.refused("the flag m", start, r"lines end differently in RE2; write (?:^|\n) and (?:\n|\z)")
            elif token in ("x", "U"):
                raise self.refused(f"the flag {token}", start, "state the pattern without it", lacking=True)
            else:
                raise self.refused("an unknown group", start, "write (?:…), or (?i), (?s), (?d), (?u) before a pattern")
        self.flags = _Flags(**turned)
        return token == ")"

    def _escape(self, start: int) -> _Part:
        token = self.peek()
        match token:
            case "":
                raise self.refused("a backslash at its end", start, r"write \\")
            case "A":
                self.next()
                return _Part(r"\A")
            case "z":
                self.next()
                return _Part(r"\z")
            case "Z":
                self.next()
                return _Part(r"(?:\n?\z)" if self.flags.d else rf"(?:{_LINE_END}?\z)", ends=True)
            case "b" | "B":
                self.next()
                if self.peek() == "{":
                    raise self.refused("a boundary of graphemes", start, r"write \b", lacking=True)
                return _Part(f"\\{token}")
            case "R":
                self.next()
                return _Part(_UNIT, consumes=True)
            case "G" | "X" | "C" | "K":
                self.next()
                raise self.refused(
                    {"G": "the end of the last match", "X": "a grapheme", "C": "a byte", "K": "a reset"}[token],
                    start,
                    "state the pattern without it",
                    lacking=True,
                )
            case _:
                found = self._class_escape(start)
                return self._of_class(found) if found is not None else self._literal(self._character(start))

    def _class_escape(self, start: int) -> _Class | None:
        """`\\d`, `\\p{L}` and their like behind a backslash; None where one character comes."""
        token = self.peek()
        if token and token.lower() in BY_LETTER and token.isascii():
            self.next()
            points = BY_LETTER[token.lower()]
            return _Class(points.complement() if token.isupper() else points)
        if token not in ("p", "P"):
            return None
        self.next()
        name = self.next()
        if name == "{":
            name = ""
            while self.peek() and self.peek() != "}":
                name += self.next()
            if self.next() != "}":
                raise self.refused("a property without a closing brace", start, r"write \p{…}")
        return self._property(name, start, negated=token == "P")

    def _property(self, name: str, start: int, *, negated: bool) -> _Class:
        if name.startswith("^"):
            name, negated = name[1:], not negated
        if (points := BY_PROPERTY.get(name)) is not None:
            self._refuse_one_case(name, start)
            points = points.in_either_case() if self.flags.i else points
            return _Class(points.complement() if negated else points)
        key, _, value = name.rpartition("=")
        named = value[2:] if not key and value.startswith("Is") else value
        found = named if named in _CATEGORIES and key.lower() in ("", "gc", "general_category") else None
        if found is None and not key:
            found = _BINARY.get(named.lower()) if value.startswith("Is") else None
        if found is None and key.lower() in ("", "sc", "script") and (value != name or named != value or _is_script(named)):
            found = "_".join(word.capitalize() for word in named.split("_"))
            found = found if _is_script(found) else None
        if found is None:
            raise self.refused(
                "a property",
                start,
                r"name a general category such as \p{Lu}, a script such as \p{IsLatin}, or list the characters",
                lacking=True,
            )
        self._refuse_one_case(f"\\p{{{found}}}", start)
        return _Class(properties=(f"\\{'P' if negated else 'p'}{{{found}}}",))

    def _refuse_one_case(self, name: str, start: int) -> None:
        if name in _OF_ONE_CASE and self.flags.i:
            raise self.refused("letters of one case where case is ignored", start, "name letters of both cases")

    def _character(self, start: int) -> int:
        """The one character behind a backslash."""
        token = self.next()
        char = token[-1]
        if token in _CONTROLS:
            return _CONTROLS[token]
        match token:
            case "x" if self.peek() == "{":
                self.next()
                return self._hex(start, until="}")
            case "x":
                return self._hex(start, count=2)
            case "u":
                high = self._hex(start, count=4)
                if 0xD800 <= high <= 0xDBFF and self.peek() == "\\" and self.peek(1) == "u":
                    self.place += 2
                    low = self._hex(start, count=4)
                    return 0x10000 + ((high - 0xD800) << 10) + low - 0xDC00
                return high
            case "0":
                digits = ""
                while self.peek() and self.peek() in "01234567" and len(digits) < 3 and int(digits + self.peek(), 8) <= 0o377:
                    digits += self.next()
                if not digits:
                    raise self.refused("an octal number without digits", start, r"write \x{…}")
                return int(digits, 8)
            case "c" if self.peek():
                return ord(self.next()[-1]) ^ 64
            case "k":
                raise self.refused("a back-reference", start, "state the pattern without it", lacking=True)
            case _ if token.isascii() and token.isdigit():
                raise self.refused("a back-reference", start, "state the pattern without it", lacking=True)
            case _ if token.isascii() and token.isalpha():
                raise self.refused("an unknown escape", start, f"write {char}, or name the character by \\x{{…}}")
            case _:
                return ord(char)

    def _hex(self, start: int, *, count: int = 0, until: str = "") -> int:
        digits = ""
        while self.peek() and (len(digits) < count if count else self.peek() != until):
            digits += self.next()
        is_number = re.fullmatch(r"[0-9a-fA-F]{1,8}", digits) is not None and (not count or len(digits) == count)
        if (until and self.next() != until) or not is_number or int(digits, 16) > EVERY.ranges[0][1]:
            raise self.refused("a character number that is none", start, r"write \x{…} with hexadecimal digits")
        return int(digits, 16)

    def _of_class(self, found: _Class, *, negated: bool = False) -> _Part:
        points = found.points.in_either_case() if self.flags.i else found.points
        inner = replace(found, points=points)
        if not inner.properties and points.complement() == CodePoints():
            inner, negated = _Class(EVERY), negated
        elif not inner.properties and not points.ranges:
            inner, negated = _Class(EVERY), not negated
        text = f"[{'^' if negated else ''}{inner.re2()}]"
        if not negated and len(inner.properties) == 1 and not points.ranges:
            text = inner.properties[0]
        return _Part(f"(?i:{text})" if self.flags.u and self.flags.i else text, consumes=True)

    def _class_part(self, start: int) -> _Part:
        found, negated = self._class(start)
        return self._of_class(found, negated=negated)

    def _class(self, start: int) -> tuple[_Class, bool]:
        """What stands up to the closing bracket, and whether it is what must not stand there."""
        negated = self.peek() == "^"
        if negated:
            self.next()
        operands = [self._union(start, is_first=True)]
        while self.follows("&&"):
            self.place += 2
            operands.append(self._union(start, is_first=False))
        self.next()
        found = operands[0]
        for operand in operands[1:]:
            if found.properties or operand.properties:
                raise self.refused("an intersection with a property", start, "list the characters", lacking=True)
            found = _Class(found.points.intersection(operand.points))
        return found, negated

    def _union(self, start: int, *, is_first: bool) -> _Class:
        """The members up to `]` or `&&`."""
        found, members, after_nested = _Class(), 0, False
        while not self.follows("&&"):
            token = self.peek()
            if not token:
                raise self.refused("an opening bracket without a closing one", start, r"close it, or write \[")
            if token == "]" and (members or not is_first):
                break
            members += 1
            if token == "[" and self.peek(1) in (":", "=", ".") and self._is_posix(self.peek(1)):
                raise self.refused(
                    "a class such as [:alpha:]", self.place, r"write \p{Alpha}; Java reads it as the letters between the colons"
                )
            if token == "[":
                nested_start = self.place
                self.next()
                found, after_nested = found.union(self._nested(nested_start)), True
                continue
            if after_nested and not is_first:
                raise self.refused(
                    "a class that intersects brackets with more behind them", start, "put all of it into one pair of brackets"
                )
            found = found.union(self._member(start))
        if not members:
            raise self.refused("an empty part of a class", start, "state what stands in it")
        return found

    def _is_posix(self, sign: str) -> bool:
        rest = "".join(self.tokens[self.place : self.place + 16])
        return re.match(rf"\[{re.escape(sign)}\^?[a-zA-Z]+{re.escape(sign)}\]", rest) is not None

    def _nested(self, start: int) -> _Class:
        found, negated = self._class(start)
        if not negated:
            return found
        if found.properties:
            raise self.refused("a property inside a negated class inside a class", start, r"write \P{…}")
        points = found.points.in_either_case() if self.flags.i else found.points
        return _Class(points.complement())

    def _member(self, start: int) -> _Class:
        """One character, one range, or one escape such as `\\d`."""
        first_place = self.place
        if self.peek() == "\\":
            self.next()
            if self.peek() == "":
                raise self.refused("a backslash at its end", start, r"write \\")
            found = self._class_escape(first_place)
            if found is not None:
                return found
            low = self._character(first_place)
        else:
            low = ord(self.next()[-1])
        high = low
        if self.peek() == "-" and self.peek(1) not in ("", "]", "["):
            self.next()
            if self.peek() == "\\":
                self.next()
                if self._class_escape(first_place) is not None:
                    raise self.refused("a range that ends in a class", first_place, r"write \- for the sign itself")
                high = self._character(first_place)
            else:
                high = ord(self.next()[-1])
            if high < low:
                raise self.refused("a range whose ends are reversed", first_place, "state the smaller character first")
        points = CodePoints(((low, high),))
        return _Class(points.in_either_case() if self.flags.i else points)


def _is_single(text: str) -> bool:
    """Whether a repetition behind the text takes all of it."""
    if len(text) == 1 or (len(text) == 2 and text[0] == "\\"):
        return True
    if re.fullmatch(r"\\[xpP]\{[^}]*\}", text):
        return True
    return text.startswith("[") and re.fullmatch(r"\[(?:[^\]\\]|\\.)*\]", text) is not None


def _is_script(name: str) -> bool:
    import re2  # pyright: ignore[reportMissingTypeStubs]  # slow to import; wanted only where a script is named

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(f"\\p{{{name}}}", options)
    except re2.error:
        return False
    return name not in _CATEGORIES and name not in ("Any", "C", "Cs")
