"""Patterns: read as Java's, evaluated by RE2 as DuckDB has it, and refused by name where that cannot be."""

from __future__ import annotations

import duckdb
import pytest

from dq_dagster.checks.fields import Model
from dq_dagster.checks.pattern_reader import PatternRefused
from dq_dagster.checks.patterns import Pattern, compiled

MATCHES = [
    ("abc", "xabcx", True),
    ("", "anything", True),
    (r"^abc$", "abc\n", True),
    (r"^abc$", "abc\r\n", True),
    (r"^abc$", "abc\u2028", True),
    (r"^abc$", "abc\n\n", False),
    (r"^abc\Z", "abc\n", True),
    (r"^abc\z", "abc\n", False),
    (r"^(a$|b$)", "b\n", True),
    (r"(?d)^a$", "a\r", False),
    (r"^.$", "\n", False),
    (r"^.$", "\r", False),
    (r"^.$", "\u0085", False),
    (r"^.$", "😀", True),
    (r"(?s)^.$", "\r", True),
    (r"^\w+$", "ä", False),
    (r"^\d+$", "٣", False),
    (r"\s", "\x0b", True),
    (r"[\s]", "\x0b", True),
    (r"\h", "\u00a0", True),
    (r"a\Rb", "a\r\nb", True),
    (r"(?i)Ab", "aB", True),
    (r"(?i)k", "\u212a", False),
    (r"(?iu)k", "\u212a", True),
    (r"(?i)ä", "Ä", False),
    (r"(?iu)ä", "Ä", True),
    (r"x(?i:a)b", "xAb", True),
    (r"x(?i:a)b", "xAB", False),
    (r"a(?i)b|C", "c", True),
    (r"[a-z&&[^b]]", "b", False),
    (r"[a-z&&[^b]]", "c", True),
    (r"[a-d[m-p]]", "n", True),
    (r"[^a[b]]", "b", False),
    (r"[]a]", "]", True),
    (r"[\w-.]", "-", True),
    (r"[a-c-]", "-", True),
    (r"[&a]", "&", True),
    (r"\Qa.b\E+", "a.bb", True),
    (r"\Qa.b\E", "axb", False),
    (r"\p{Lower}", "é", False),
    (r"\p{L}", "é", True),
    (r"\pL", "é", True),
    (r"\P{L}", "é", False),
    (r"\p{IsLatin}", "é", True),
    (r"\p{script=Greek}", "α", True),
    (r"[^\p{L}\d]", "-", True),
    (r"\x41\u0042\x{43}\0104", "ABCD", True),
    (r"\uD83D\uDE00", "😀", True),
    (r"^a{2,3}?b", "aab", True),
    (r"\$\{x\}", "${x}", True),
    (r"^(?:[01]\d|2[0-3]):[0-5]\d$", "23:59", True),
    (r"^[A-Z]{2}\d{4}$", "AB1234", True),
    (r"^é{2}$", "éé", True),
    (r"a(|b)c", "ac", True),
]

REFUSED = [
    (r"^(?!tmp_).*$", "a look-ahead ('(?!' at character 2)"),
    (r"a(?=b)", "a look-ahead"),
    (r"(?<=a)b", "a look-behind"),
    (r"(?<!a)b", "a look-behind"),
    (r"(a)\1", "a back-reference ('\\\\1' at character 4)"),
    (r"\k<n>", "a back-reference"),
    (r"a++", "a possessive repetition"),
    (r"a{2}+", "a possessive repetition"),
    (r"(?>a)", "an atomic group"),
    (r"(?<n>a)", "a named group"),
    (r"(?P<n>a)", "a named group"),
    (r"(?#note)a", "a comment"),
    (r"a{1001}", "a repetition of more than 1000 times"),
    (r"(a{1000}){1000}", "more than RE2 can compile"),
    (r"a{3,2}", "a repetition whose ends are reversed"),
    (r"*a", "a repetition with nothing to repeat"),
    (r"a**", "a repetition of a repetition"),
    (r"a{", "an opening brace that begins no repetition"),
    (r"(", "an opening parenthesis without a closing one"),
    (r")", "a closing parenthesis without an opening one"),
    (r"[", "an opening bracket without a closing one"),
    (r"[z-a]", "a range whose ends are reversed"),
    (r"[[:alpha:]]", r"write \p{Alpha}"),
    (r"[\p{L}&&[a]]", "an intersection with a property"),
    (r"\p{javaLowerCase}", "a property"),
    (r"\p{InGreek}", "a property"),
    (r"(?i)\p{Lu}", "letters of one case where case is ignored"),
    (r"(?m)^a$", "the flag m"),
    (r"(?x) a", "the flag x"),
    (r"(?U)\w", "the flag U"),
    (r"a$\n", "a $ with more behind it"),
    (r"\G", "the end of the last match"),
    (r"\X", "a grapheme"),
    (r"\y", "an unknown escape"),
    ("a\\", "a backslash at its end"),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), MATCHES)
def test_a_pattern_means_what_it_means_in_java(pattern: str, text: str, expected: bool) -> None:
    with duckdb.connect() as connection:
        found = connection.execute("SELECT regexp_matches(?, ?)", [text, compiled(pattern)]).fetchone()
    assert found == (expected,)


@pytest.mark.parametrize(("pattern", "named"), REFUSED)
def test_what_re2_cannot_do_is_refused_by_name(pattern: str, named: str) -> None:
    with pytest.raises(PatternRefused) as refusal:
        compiled(pattern)
    assert named in str(refusal.value)


def test_a_model_refuses_a_pattern_when_it_is_read_and_keeps_it_as_written() -> None:
    class Holder(Model):
        regex: Pattern

    assert Holder.model_validate({"regex": "^a$"}).model_dump() == {"regex": "^a$"}
    with pytest.raises(ValueError, match="look-ahead"):
        Holder.model_validate({"regex": "(?=a)"})
