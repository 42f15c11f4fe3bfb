"""Kinds about text: patterns, letter case."""

from __future__ import annotations

import pyarrow as pa

from tests.checks.cases import Case, failed, passed, refused, run_cases, tolerated

TEXT = {"s": pa.string()}
SAMPLES = (TEXT, ["abc", "xabcx", "ABC", "", None, "abc\n"])

REGEX_MATCH = [
    Case(
        "regex_match",
        "any part of the text",
        {"column": "s", "regex": "abc"},
        SAMPLES,
        failed(rows=[2, 3], detail="2 of 6 rows have s not matching abc"),
    ),
    Case(
        "regex_match", "negated", {"column": "s", "regex": "abc", "negate": True}, SAMPLES, failed(rows=[0, 1, 5], detail="s matching abc")
    ),
    Case("regex_match", "$ allows a last line end", {"column": "s", "regex": "^abc$"}, SAMPLES, failed(rows=[1, 2, 3])),
    Case("regex_match", "case ignored", {"column": "s", "regex": "abc", "ignore_case": True}, SAMPLES, failed(rows=[3])),
    Case("regex_match", "NULL broken", {"column": "s", "regex": "", "allow_nulls": False}, SAMPLES, failed(rows=[4], detail="or no s")),
    Case("regex_match", "all match", {"column": "s", "regex": "^[a-z]+$"}, (TEXT, ["a", None]), passed()),
    Case("regex_match", "no rows", {"column": "s", "regex": "a"}, (TEXT, []), passed()),
    Case("regex_match", "only filtered rows", {"column": "s", "regex": "abc", "filter": "s <> ''"}, SAMPLES, failed(rows=[2])),
    Case("regex_match", "tolerated", {"column": "s", "regex": "abc", "max_failed_rows": 2}, SAMPLES, tolerated(rows=[2, 3])),
    Case("regex_match", "numbers as text", {"column": "i", "regex": "1"}, ({"i": pa.int32()}, [1, 21, 3, None]), failed(rows=[2])),
    Case("regex_match", "look-ahead", {"column": "s", "regex": "(?=a)"}, SAMPLES, refused("DECLARED_CHECK_INVALID", "uses a look-ahead")),
    Case(
        "regex_match",
        "one letter case, ignored",
        {"column": "s", "regex": r"\p{Lu}", "ignore_case": True},
        SAMPLES,
        refused("DECLARED_CHECK_INVALID"),
    ),
    Case("regex_match", "long near-miss", {"column": "s", "regex": "^(a+)+$"}, (TEXT, ["a" * 5000 + "!", "aaaa"]), failed(rows=[0])),
]

UPPER = (TEXT, ["ABC", "AbC", "A1-Z", "", None, "é", "ß", "ẞ", "ǅ", "ŉ", "ﬁ", "ᾈ", "ΐ"])
LOWER = (TEXT, ["abc", "aBc", "", None, "ß", "É", "İ", "i\u0307", "ΑΣ", "ας"])
TITLE = (TEXT, ["Hello World", "HELLO", "Hello world", " a", "A  B", "Hello-world", "A\tb", "3 a", "ßa", "ǅ", "", None, "a"])
SENTENCE = (
    TEXT,
    ["Hello. World", "hello", "Hello. world", "Hello.\n world", "Hello! world", " Hello", " hello", "1.a", "...", "", None, "A.B.c", "ﬁn"],
)

CASE = [
    Case(
        "has_valid_string_case",
        "upper",
        {"column": "s", "case": "upper"},
        UPPER,
        failed(rows=[1, 5, 6, 8, 9, 10, 11, 12], detail="not in upper case"),
    ),
    Case("has_valid_string_case", "lower", {"column": "s", "case": "lower"}, LOWER, failed(rows=[1, 5, 6, 8])),
    Case("has_valid_string_case", "title", {"column": "s", "case": "title"}, TITLE, failed(rows=[2, 3, 7, 8, 9, 12])),
    Case("has_valid_string_case", "sentence", {"column": "s", "case": "sentence"}, SENTENCE, failed(rows=[1, 2, 3, 6, 7, 11, 12])),
    Case("has_valid_string_case", "booleans", {"column": "b", "case": "upper"}, ({"b": pa.bool_()}, [True, None]), failed(rows=[0])),
    Case("has_valid_string_case", "in the case", {"column": "s", "case": "lower"}, (TEXT, ["a", None]), passed()),
    Case("has_valid_string_case", "no rows", {"column": "s", "case": "title"}, (TEXT, []), passed()),
    Case("has_valid_string_case", "filter", {"column": "s", "case": "lower", "filter": "s = 'É'"}, LOWER, failed(rows=[5])),
    Case("has_valid_string_case", "unknown case", {"column": "s", "case": "Upper"}, UPPER, refused("RECIPE_DOCUMENT_INVALID")),
]

test_cases = run_cases([*REGEX_MATCH, *CASE])
