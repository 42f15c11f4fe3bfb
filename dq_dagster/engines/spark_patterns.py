"""Regular expressions as RE2 reads them, written as Java reads them.

The two differ in `$`, `.`, `\\s`, `\\b`, in classes inside classes, and in the names of scripts. What `.` and `^` take for
the end of a line is a line feed alone in RE2, which Java is told by (?d).
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = "[0-9A-Za-z_]"
_BOUNDARY = f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"
_NO_BOUNDARY = f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))"
_SPACES = r"\t\n\f\r "
_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7F", "blank": r"\t ", "cntrl": r"\x00-\x1F\x7F", "digit": "0-9",
    "graph": r"\x21-\x7E", "lower": "a-z", "print": r"\x20-\x7E", "punct": r"\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E",
    "space": r"\t\n\x0B\f\r ", "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_TOKEN = re.compile(
    r"""
    \\Q(?P<quoted>.*?)(?:\\E|$)
    | (?P<property>\\[pP](?:\{\^?\w+\}|\w))
    | (?P<code>\\x\{[0-9A-Fa-f]+\})
    | (?P<octal>\\[0-7]{1,3})
    | (?P<escape>\\.)
    | (?P<posix>\[:\^?\w+:\])
    | (?P<flags>\(\?[imsU-]+[:)])
    | (?P<name>\(\?P?<\w+>)
    | (?P<repeat>\{\d+(?:,\d*)?\})
    | (?P<char>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=1024)
def java_pattern(pattern: str) -> str:
    """The pattern of RE2 as one of Java that matches the same."""
    written: list[str] = ["(?d)"]
    is_in_class = is_first = is_multiline = False
    for token in _TOKEN.finditer(pattern):
        text, kind = token.group(), token.lastgroup
        if is_in_class:
            closes = text == "]" and not is_first
            if not (is_first and text == "^"):
                is_first = False
            written.append("]" if closes else _in_class(text, kind))
            is_in_class = not closes
            continue
        if text == "[":
            is_in_class = is_first = True
            written.append(text)
        elif kind == "flags":
            is_multiline = _multiline(text, was=is_multiline)
            written.append(text.replace("U", ""))
        else:
            written.append(_outside(text, kind, token.group("quoted"), is_multiline=is_multiline))
    return "".join(written)


def _multiline(flags: str, *, was: bool) -> bool:
    on, _, off = flags[2:-1].partition("-")
    return True if "m" in on else False if "m" in off else was


def _outside(text: str, kind: str | None, quoted: str | None, *, is_multiline: bool) -> str:
    match kind:
        case "quoted":
            return "".join(_literal(char) for char in quoted or "")
        case "property":
            return _property(text)
        case "name":
            return "("
        case "octal":
            return f"\\x{{{int(text[1:], 8):X}}}"
        case "escape":
            plain = {r"\s": f"[{_SPACES}]", r"\S": f"[^{_SPACES}]", r"\b": _BOUNDARY, r"\B": _NO_BOUNDARY, r"\C": "."}
            return plain.get(text, _escape(text))
        case "char":
            return (r"(?=\n|\z)" if is_multiline else r"\z") if text == "$" else r"\{" if text == "{" else r"\}" if text == "}" else text
        case _:
            return text


def _in_class(text: str, kind: str | None) -> str:
    if kind == "quoted":
        return "".join(_literal(char) for char in text[2:].removesuffix("\\E"))
    if kind == "posix":
        name = text[2:-2]
        return f"[^{_POSIX[name[1:]]}]" if name.startswith("^") else _POSIX[name]
    if kind == "property":
        return _property(text)
    if kind == "octal":
        return f"\\x{{{int(text[1:], 8):X}}}"
    if kind == "escape":
        return _SPACES if text == r"\s" else f"[^{_SPACES}]" if text == r"\S" else r"\x08" if text == r"\b" else _escape(text)
    if kind in ("char", "repeat", "flags", "name"):  # inside a class these are characters like any other
        return "".join(_literal(char) if char in "[&]" else char for char in text)
    return text


def _escape(text: str) -> str:
    """A letter behind a backslash that means nothing in Java is the letter itself."""
    return {r"\v": r"\x0B", r"\a": r"\x07"}.get(text, text)


def _literal(char: str) -> str:
    return f"\\{char}" if char.isascii() and not char.isalnum() and char.isprintable() else char


def _property(text: str) -> str:
    """A class of Unicode: Java opens the name of a script with Is."""
    sign, name = text[1], text[2:].strip("{}")
    if name.startswith("^"):
        sign, name = "P" if sign == "p" else "p", name[1:]
    return f"\\{sign}{{{name if len(name) <= 2 else f'Is{name}'}}}"
