"""A date format as Spark reads it, as a pattern that the whole text must match and what must hold of its parts.

The letters are those of Java's DateTimeFormatter, read strictly: `MM` is two digits and `M` one or more, `mm` minutes,
a day must be in its month, and text in quotes stands for itself. Names of months and letters match in either case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.code_points import escaped

_MONTHS = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]
_WEEK_BASED = "YwWuec"
_MEANINGLESS = "AnNpBEFqQ"
_HOURS = "HkKh"
_ONE_OR_TWO = {
    "M": (r"0*(?:[1-9]|1[0-2])", r"(?:0[1-9]|1[0-2])"),
    "d": (r"0*(?:[1-9]|[12]\d|3[01])", r"(?:0[1-9]|[12]\d|3[01])"),
    "H": (r"0*(?:1?\d|2[0-3])", r"(?:[01]\d|2[0-3])"),
    "k": (r"0*(?:[1-9]|1\d|2[0-4])", r"(?:0[1-9]|1\d|2[0-4])"),
    "K": (r"0*(?:\d|1[01])", r"(?:0\d|1[01])"),
    "h": (r"0*(?:[1-9]|1[0-2])", r"(?:0[1-9]|1[0-2])"),
    "m": (r"0*(?:[1-5]?\d)", r"[0-5]\d"),
    "s": (r"0*(?:[1-5]?\d)", r"[0-5]\d"),
}
_DAY_OF_YEAR = r"(?:[1-9]|[1-9]\d|[12]\d\d|3[0-5]\d|36[0-6])"
_COLONS = r"(?:(?:0\d|1[0-7]):[0-5]\d|18:00)"
_PLAIN = r"(?:(?:0\d|1[0-7])[0-5]\d|1800)"
_HOUR_ALONE = r"(?:0\d|1[0-8])"
_OFFSETS = {
    "X": rf"(?:Z|[+-](?:{_PLAIN}|{_HOUR_ALONE}))", "XX": rf"(?:Z|[+-]{_PLAIN})", "XXX": rf"(?:Z|[+-]{_COLONS})",
    "XXXX": rf"(?:Z|[+-]{_PLAIN}(?:[0-5]\d)?)", "XXXXX": rf"(?:Z|[+-]{_COLONS}(?::[0-5]\d)?)",
    "x": rf"[+-](?:{_PLAIN}|{_HOUR_ALONE})", "xx": rf"[+-]{_PLAIN}", "xxx": rf"[+-]{_COLONS}",
    "xxxx": rf"[+-]{_PLAIN}(?:[0-5]\d)?", "xxxxx": rf"[+-]{_COLONS}(?::[0-5]\d)?",
    "Z": rf"[+-]{_PLAIN}", "ZZ": rf"[+-]{_PLAIN}", "ZZZ": rf"[+-]{_PLAIN}",
    "ZZZZ": rf"GMT(?:[+-]{_COLONS}(?::[0-5]\d)?)?", "ZZZZZ": rf"(?:Z|[+-]{_COLONS}(?::[0-5]\d)?)",
    "O": r"GMT(?:[+-](?:1?\d)(?::[0-5]\d(?::[0-5]\d)?)?)?", "OOOO": rf"GMT(?:[+-]{_COLONS}(?::[0-5]\d)?)?",
}  # fmt: skip
_ZONE = rf"(?:(?:UTC|GMT|UT)?[+-]{_COLONS}(?::[0-5]\d)?|[A-Z][A-Z0-9~/._+-]*)"
_FIRST_YEAR, _LAST_YEAR = -290_308, 294_247


class FormatRefused(ValueError):
    """A format in which a letter means nothing; the message says which."""


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """What a format asks of a text: the pattern that all of it matches, and the names of the groups in it, in order.

    A name is a letter of the format, with the number of its occurrence behind it. What matches `certain` is a time
    without a further look at its parts; an engine finds that out much faster.
    """

    pattern: str
    names: tuple[str, ...]
    certain: str | None = None

    def fits(self, text: exp.Expr) -> exp.Expr:
        """Whether the text is a time in this format; NULL for NULL."""
        if not self.names:
            return sql.call("regexp_full_match", text, sql.text(self.pattern))

        def holds(written: exp.Expr) -> exp.Expr:
            found = {name: sql.member(written, name) for name in self.names}
            conditions = [_is_written(sql.member(written, "all")), *_Fields(found).conditions()]
            return sql.all_of([sql.call("coalesce", condition, exp.false()) for condition in conditions])

        found = sql.groups(text, f"^({self.pattern})$", ["all", *self.names])
        whens = [exp.If(this=sql.is_null(text), true=exp.Null())]
        if self.certain is not None:
            whens.append(exp.If(this=sql.call("regexp_full_match", text, sql.text(self.certain)), true=exp.true()))
        return exp.Case(ifs=whens, default=sql.let("written", found, holds))


class _Fields:
    """The parts of a text that matched, as SQL. One that is missing is NULL."""

    def __init__(self, found: Mapping[str, exp.Expr]) -> None:
        self._found = found

    def _texts(self, letter: str) -> list[exp.Expr]:
        return [sql.call("nullif", value, sql.text("")) for name, value in self._found.items() if name[0] == letter]

    def _numbers(self, letter: str) -> list[exp.Expr]:
        if letter != "M":
            return [sql.try_cast(sql.call("ltrim", text, sql.text("+")), "BIGINT") for text in self._texts(letter)]
        names = exp.array(*(sql.text(name[:3]) for name in _MONTHS), copy=False)
        return [
            sql.call(
                "coalesce",
                sql.try_cast(text, "BIGINT"),
                sql.call("list_position", names, sql.call("lower", sql.call("left", text, sql.integer(3)))),
            )
            for text in self._texts("M")
        ]

    def _first(self, letter: str) -> exp.Expr | None:
        """The first of the letter's numbers that is there; None where the format lacks the letter."""
        numbers = self._numbers(letter)
        return None if not numbers else numbers[0] if len(numbers) == 1 else sql.call("coalesce", *numbers)

    def conditions(self) -> list[exp.Expr]:
        """What must hold of the parts together."""
        conditions: list[exp.Expr] = []
        for letter in "yMdD":
            numbers = self._numbers(letter)
            for other in numbers[1:]:
                first = self._first(letter)
                assert first is not None
                conditions.append(sql.any_of([sql.is_null(other), exp.EQ(this=other.copy(), expression=first)]))
        year, day, day_of_year = self._year(conditions), self._first("d"), self._first("D")
        if day is not None:
            month = self._first("M")
            parts = [_in_cycle(year), month if month is not None else sql.integer(1), day]
            written = sql.call(
                "concat_ws",
                sql.text("-"),
                *(sql.call("coalesce", part, sql.integer(default)) for part, default in zip(parts, (1970, 1, 1), strict=True)),
            )
            conditions.append(sql.not_(sql.is_null(sql.try_cast(written, "DATE"))))
        if day_of_year is not None and self._texts("y"):
            last = sql.call("concat", sql.call("coalesce", _in_cycle(year), sql.integer(1972)), sql.text("-12-31"))
            days = sql.call("dayofyear", sql.try_cast(last, "DATE"))
            conditions.append(sql.any_of([sql.is_null(day_of_year), exp.LTE(this=day_of_year.copy(), expression=days)]))
        conditions.extend(self._of_clock())
        for zone in self._texts("V"):
            instant = sql.try_cast(sql.call("concat", sql.text("2000-01-01 00:00:00 "), zone), "TIMESTAMPTZ")
            is_known = sql.any_of(
                [
                    sql.is_null(zone),
                    sql.call("regexp_full_match", zone, sql.text(r"(?i)(?:Z|(?:UTC|GMT|UT)(?:[+-].*)?|[+-].*)")),
                    sql.not_(sql.is_null(instant)),
                ]
            )
            conditions.append(is_known)
        return conditions

    def _year(self, conditions: list[exp.Expr]) -> exp.Expr:
        """The year counted through zero; what must hold of it is added to the conditions."""
        year = self._first("y")
        if year is None:
            return exp.Null()
        text, era = self._texts("y"), self._texts("G")
        if era:
            is_before = sql.call("starts_with", sql.call("lower", era[0]), sql.text("b"))
            conditions.append(sql.any_of([sql.is_null(year), exp.GT(this=year.copy(), expression=sql.integer(0))]))
            year = exp.paren(
                exp.Case(ifs=[exp.If(this=is_before, true=exp.Sub(this=sql.integer(1), expression=year.copy()))], default=year.copy())
            )
        is_written = sql.any_of([*(sql.not_(sql.is_null(one)) for one in text)])
        within = exp.Between(this=year.copy(), low=sql.integer(_FIRST_YEAR), high=sql.integer(_LAST_YEAR))
        conditions.append(sql.any_of([sql.not_(is_written), within]))
        minus_zero = sql.any_of([*(sql.call("coalesce", sql.call("regexp_matches", one, sql.text("^-0+$")), exp.false()) for one in text)])
        conditions.append(sql.not_(minus_zero))
        return year

    def _of_clock(self) -> list[exp.Expr]:
        """With a.m. or p.m. beside an hour of the day, the two must agree."""
        half, hour = self._texts("a"), self._first("H")
        hour = hour if hour is not None else self._first("k")
        if not half or hour is None:
            return []
        at = exp.Mod(this=exp.paren(hour), expression=sql.integer(24))
        is_late = exp.EQ(this=sql.call("lower", half[0]), expression=sql.text("pm"))
        agrees = exp.EQ(this=exp.paren(exp.GTE(this=at, expression=sql.integer(12))), expression=exp.paren(is_late))
        return [sql.any_of([sql.is_null(half[0]), sql.is_null(hour), agrees])]


def _is_written(text: exp.Expr) -> exp.Expr:
    return exp.NEQ(this=text.copy(), expression=sql.text(""))


def _in_cycle(year: exp.Expr) -> exp.Expr:
    """A year from 2000 to 2399 with the same calendar: it repeats every 400 years, and leap years lie evenly around zero."""
    rest = exp.Mod(this=sql.call("abs", year), expression=sql.integer(400))
    return exp.paren(exp.Add(this=sql.integer(2000), expression=rest))


@lru_cache(maxsize=1024)
def time_format(written: str) -> TimeFormat:
    """The format. Raises FormatRefused."""
    if not written:
        raise FormatRefused("is empty; state one such as yyyy-MM-dd, or none")
    if written.count("'") % 2:
        raise FormatRefused("opens a quote and does not close it; close it")
    reader = _FormatReader(written)
    pieces = written.split("'")
    for place, piece in enumerate(pieces):
        if place % 2 or (not piece and 0 < place < len(pieces) - 1):
            reader.read_literal(piece or "'")
        else:
            reader.read_letters(piece)
    return reader.format()


class _FormatReader:
    """Reads a format from left to right into a pattern. `run` is what digits stand side by side just now."""

    def __init__(self, written: str) -> None:
        self.has_era = "G" in "".join(written.split("'")[::2])
        self.text: list[str] = []
        self.certain: list[str] = []
        self.names: list[str] = []
        self.open = 0
        self.run: str | None = None

    def format(self) -> TimeFormat:
        if self.open:
            raise FormatRefused("opens a bracket and does not close it; close it")
        letters = {name[0] for name in self.names}
        if len(letters & set(_HOURS)) > 1:
            raise FormatRefused(f"names the hour as {' and '.join(sorted(letters & set(_HOURS)))}; keep one of them")
        if "D" in letters and letters & set("Md"):
            raise FormatRefused("names the day of the year beside the month or the day; keep one of the two ways")
        told = "yMdDaGVHk" if "a" in letters else "yMdDGV"
        kept = [name for name in self.names if name[0] in told]
        pattern = "".join(self.text)
        for name in set(self.names) - set(kept):
            pattern = pattern.replace(f"(?P<{name}>", "(?:")
        for name in kept:
            pattern = pattern.replace(f"(?P<{name}>", "(")
        told_once = len({name[0] for name in kept}) == len(kept) and not letters & set("aGVD") and "(?:" not in self.text
        return TimeFormat(f"(?i){pattern}", tuple(kept), f"(?i){''.join(self.certain)}" if told_once else None)

    def read_literal(self, text: str) -> None:
        """Text that stands for itself."""
        literal = [escaped(ord(char)) for char in text]
        self.text.extend(literal)
        self.certain.extend(literal)
        self.run = None

    def read_letters(self, piece: str) -> None:
        """A part of the format outside quotes."""
        for char, group in groupby(piece):
            count = len(list(group))
            if char == "[":
                self.text.extend(["(?:"] * count)
                self.open, self.run = self.open + count, None
            elif char == "]":
                if count > self.open:
                    raise FormatRefused("closes a bracket that is not open; open it, or write ']' in quotes")
                self.text.append(")?" * count)
                self.open, self.run = self.open - count, None
            elif char in "{}#":
                raise FormatRefused(f"holds {char}, which means nothing; write it in quotes")
            elif char.isascii() and char.isalpha():
                self._letter(char, count)
            else:
                self.read_literal(char * count)

    def _letter(self, letter: str, count: int) -> None:
        if letter in _WEEK_BASED:
            raise FormatRefused(f"holds the letter {letter}, which counts weeks, and no date is read from those; write yyyy, MM and dd")
        if letter in _MEANINGLESS:
            raise FormatRefused(f"holds the letter {letter}, which means nothing that can be read; write text in quotes")
        name = "M" if letter == "L" else letter
        if (name in "MG" and count == 5) or (name == "y" and count > 6) or (name == "S" and count > 9):
            raise FormatRefused(f"holds the letter {letter} too often; see the letters of Java's DateTimeFormatter")
        pattern, width = self._pattern(name, count)
        self.certain.append(f"(?:{self._certain(name, count) or pattern})")
        if width is not None and self.run == "open" and width != "fixed":
            raise FormatRefused(f"holds {letter * count} right behind a number of no fixed width; put a sign between them")
        self.run = ("open" if self.run == "open" or width == "open" else "fixed") if width is not None else None
        if name == "S":
            self.run = "open"
        if name in "yMdDaGVHk":
            self.names.append(f"{name}{len(self.names)}")
            self.text.append(f"(?P<{self.names[-1]}>{pattern})")
        else:
            self.names.extend([f"{name}{len(self.names)}"] if name in _HOURS else [])
            self.text.append(f"(?P<{self.names[-1]}>{pattern})" if name in _HOURS else f"(?:{pattern})")

    def _certain(self, letter: str, count: int) -> str | None:
        """A narrower pattern for a year or a day, which no calendar lacks; None for what the pattern itself settles."""
        match letter:
            case "y" if count != 2:
                return rf"\d{{{max(count, 4)}}}"
            case "d" if count <= 2:
                return rf"{'0' if count == 2 else '0*'}[1-9]|1\d|2[0-8]"
            case _:
                return None

    def _pattern(self, letter: str, count: int) -> tuple[str, str | None]:
        """The pattern of a run of one letter, and whether it is a number of a fixed or an open width."""
        match letter:
            case "y" if count == 2:
                return r"\d{2}", "fixed"
            case "y" if count < 4:
                return rf"{'' if self.has_era else '-?'}\d{{{count},19}}", "open"
            case "y":
                minus = "" if self.has_era else rf"|-\d{{{count},19}}"
                return rf"\d{{{count}}}|\+\d{{{count + 1},19}}{minus}", "open"
            case "M" if count == 3:
                return "|".join(name[:3] for name in _MONTHS), None
            case "M" if count == 4:
                return "|".join(_MONTHS), None
            case _ if letter in _ONE_OR_TWO and count <= 2:
                return _ONE_OR_TWO[letter][count - 1], "open" if count == 1 else "fixed"
            case "D" if count == 1:
                return f"0*{_DAY_OF_YEAR}", "open"
            case "D" if count == 2:
                return r"0[1-9]|[1-9]\d|[12]\d\d|3[0-5]\d|36[0-6]", "open"
            case "D" if count == 3:
                return r"00[1-9]|0[1-9]\d|[12]\d\d|3[0-5]\d|36[0-6]", "fixed"
            case "S":
                return rf"\d{{1,{count}}}", "fixed" if count == 1 else "fraction"
            case "a" if count == 1:
                return "am|pm", None
            case "G":
                return ("ad|bc" if count < 4 else "anno domini|before christ"), None
            case "V" if count == 2:
                return _ZONE, None
            case _ if letter * count in _OFFSETS:
                return _OFFSETS[letter * count], None
            case "z" | "v":
                raise FormatRefused(
                    f"holds the letter {letter}, which reads names of zones, and those differ between systems; write VV, XXX or Z"
                )
            case _ if letter in "MdDHkKhmsaVXxZO":
                raise FormatRefused(f"holds the letter {letter} too often; see the letters of Java's DateTimeFormatter")
            case _:
                raise FormatRefused(f"holds the letter {letter}, which means nothing; write text in quotes")
