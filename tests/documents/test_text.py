"""YAML and JSON as text: exact values, every place, and what is no document."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
import yaml

from dq_dagster.documents.json_text import parse_json
from dq_dagster.documents.parsed import Unreadable
from dq_dagster.documents.yaml_text import parse_yaml

UTC = dt.timezone.utc


@pytest.fixture(params=["libyaml", "pure"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both parsers of PyYAML: libyaml's may be missing where PyYAML was built without it."""
    if request.param == "pure":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    return request.param


YAML_SCALARS: list[tuple[str, Any]] = [
    ("0.1", Decimal("0.1")),
    ("1e3", Decimal("1E+3")),
    ("-.5", Decimal("-0.5")),
    ("123456789012345678901234567890.123456789", Decimal("123456789012345678901234567890.123456789")),
    ("12", 12),
    ("+12", 12),
    ("012", 12),
    ("0o17", 15),
    ("0x1F", 31),
    ("1_000", "1_000"),
    ("1:30", "1:30"),
    ("true", True),
    ("FALSE", False),
    ("no", "no"),
    ("on", "on"),
    ("Yes", "Yes"),
    ("y", "y"),
    ("~", None),
    ("null", None),
    ("", None),
    ("2020-09-13", dt.date(2020, 9, 13)),
    ("2020-09-13T12:26:40Z", dt.datetime(2020, 9, 13, 12, 26, 40, tzinfo=UTC)),
    ("2020-09-13 12:26:40.5 +02:00", dt.datetime(2020, 9, 13, 12, 26, 40, 500_000, dt.timezone(dt.timedelta(hours=2)))),
    ("2020-09-13 12:26:40", dt.datetime(2020, 9, 13, 12, 26, 40)),
    ("2020-09-13T12:26:40.123456789Z", "2020-09-13T12:26:40.123456789Z"),
    ("'0.1'", "0.1"),
    ('"2020-09-13"', "2020-09-13"),
    ("! 12", "12"),
    ("!!str 12", "12"),
    ("=", "="),
    ("<<", "<<"),
]


@pytest.mark.parametrize(("text", "value"), YAML_SCALARS)
def test_a_yaml_scalar_means_what_the_core_schema_says(text: str, value: Any, parser: str):
    read = parse_yaml(f"a: {text}\n").value["a"]
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.1", Decimal("0.1")), ("1.0", Decimal("1.0")), ("1e3", Decimal("1E+3")), ("12", 12), ("-0", 0), ("true", True), ("null", None)],
)
def test_a_json_number_is_exact(text: str, value: Any):
    read = parse_json(text).value
    assert (type(read), read) == (type(value), value)


def test_json_text_is_read_with_its_escapes():
    assert parse_json(r' {"a\/b" : [ "\ud83d\ude00\n", {} ,[]]} ').value == {"a/b": ["\U0001f600\n", {}, []]}


YAML = """\
# a comment
recipe: weather
checks:
  - {check_id: é, columns: [a,
      b]}
  - &base
    kind: x
  - <<: *base
    more:
      x/y~z: 1
"""
YAML_PLACES = {
    "": (2, 1),
    "/recipe": (2, 1),
    "/checks": (3, 1),
    "/checks/0": (4, 5),
    "/checks/0/check_id": (4, 6),
    "/checks/0/columns": (4, 19),
    "/checks/0/columns/0": (4, 29),
    "/checks/0/columns/1": (5, 7),
    "/checks/1": (6, 5),
    "/checks/1/kind": (7, 5),
    "/checks/2": (8, 5),
    "/checks/2/more": (9, 5),
    "/checks/2/more/x~1y~0z": (10, 7),
    "/checks/2/kind": (7, 5),
}


def test_every_value_of_yaml_has_a_place(parser: str):
    assert parse_yaml(YAML).places == YAML_PLACES


def test_every_value_of_json_has_a_place():
    text = '{\n\t"a": [1,\r\n {"b/c": "é",  "d": null}],\n "e": {}}'
    assert parse_json(text).places == {
        "": (1, 1),
        "/a": (2, 2),
        "/a/0": (2, 8),
        "/a/1": (3, 2),
        "/a/1/b~1c": (3, 3),
        "/a/1/d": (3, 16),
        "/e": (4, 2),
    }


def test_a_merge_key_takes_over_what_is_not_stated():
    text = "x: &x {a: 1, b: 2}\ny: &y {b: 3, c: {d: 4}}\nz: {<<: [*x, *y], a: 0}\n"
    assert parse_yaml(text).value["z"] == {"a": 0, "b": 2, "c": {"d": 4}}


class Case(NamedTuple):
    """A text, and the one problem that reading it has."""

    name: str
    text: str
    pointer: str
    place: tuple[int, int]
    message: str


UNREAD_YAML = [
    Case(
        "a key twice",
        "a: 1\nb: {c: 1,\n  c: 2}\n",
        "/b/c",
        (3, 3),
        "the key 'c' is written twice, first in line 2, column 5; keep one of the two",
    ),
    Case("NaN", "a: .nan\n", "/a", (1, 1), "the document holds .nan, which is no number to compare with"),
    Case("an infinity", "a: -.INF\n", "/a", (1, 1), "the document holds -.INF, which is no number to compare with"),
    Case(
        "a Python object",
        "a: !!python/object/apply:os.system [ls]\n",
        "/a",
        (1, 1),
        "the tag !!python/object/apply:os.system means nothing in a recipe; take it out",
    ),
    Case("a tag of its own", "a: !secret x\n", "/a", (1, 1), "the tag !secret means nothing in a recipe; take it out"),
    Case("a 13th month", "a: 2020-13-01\n", "/a", (1, 1), "'2020-13-01' looks like a date and is none; write it in quotes if it is text"),
    Case("a list for a key", "? [a]\n: 1\n", "", (1, 3), "a key must be text, not a list or a mapping; write it as text"),
    Case("a merge of text", "a: {<<: b}\n", "/a", (1, 9), "the key << takes a mapping, or a list of them, from elsewhere; write <<: *name"),
    Case(
        "a number without end",
        f"a: {'9' * 2000}\n",
        "/a",
        (1, 1),
        "the document holds a number of more than 1000 digits; write it in quotes if it is text",
    ),
    Case(
        "an exponent without end",
        "a: 1e999999999\n",
        "/a",
        (1, 1),
        "the document holds a number of more than 1000 digits; write it in quotes if it is text",
    ),
]


@pytest.mark.parametrize("case", UNREAD_YAML, ids=lambda case: case.name)
def test_what_yaml_cannot_say_is_told_at_its_place(case: Case, parser: str):
    [problem] = parse_yaml(case.text).problems
    assert (problem.pointer, (problem.line, problem.column), problem.message) == (case.pointer, case.place, case.message)


UNREAD_JSON = [
    Case("a key twice", '{"a": 1,\n "a": 2}', "/a", (2, 2), "the key 'a' is written twice, first in line 1, column 2; keep one of the two"),
    Case("NaN", "[NaN]", "/0", (1, 2), "the document holds NaN, which is no number to compare with"),
    Case("an infinity", "[-Infinity]", "/0", (1, 2), "the document holds -Infinity, which is no number to compare with"),
    Case("half a character", r'["\ud800"]', "/0", (1, 2), "the document holds text with half a surrogate pair, which is no character"),
    Case(
        "a number without end",
        "9" * 2000,
        "",
        (1, 1),
        "the document holds a number of more than 1000 digits; write it in quotes if it is text",
    ),
]


@pytest.mark.parametrize("case", UNREAD_JSON, ids=lambda case: case.name)
def test_what_json_cannot_say_is_told_at_its_place(case: Case):
    [problem] = parse_json(case.text).problems
    assert (problem.pointer, (problem.line, problem.column), problem.message) == (case.pointer, case.place, case.message)


NO_YAML = [
    Case(
        "a list left open",
        "a: [1, 2\nb: 3\n",
        "",
        (2, 2),
        "the document is not YAML: while parsing a flow sequence, expected ',' or ']', but got ':'",
    ),
    Case(
        "a tab for an indentation",
        "a:\n\tb: 1\n",
        "",
        (2, 1),
        "the document is not YAML: while scanning for the next token, found character '\\t' that cannot start any token",
    ),
    Case("two colons", "a: b: c\n", "", (1, 5), "the document is not YAML: mapping values are not allowed here"),
    Case(
        "a control character",
        "a: 1\nb: x\x01\n",
        "",
        (2, 5),
        "the document is not YAML: it holds a control character; write it as an escape in double quotes",
    ),
    Case("an alias to nothing", "a: *b\n", "", (1, 4), "the alias *b names no anchor before it; define it with &"),
    Case(
        "two documents",
        "a: 1\n---\nb: 1\n",
        "",
        (2, 1),
        "the text holds more than one document; keep one, and put the others into files of their own",
    ),
    Case("an alias in its own anchor", "&a [*a]\n", "", (1, 1), "the document is nested more than 64 deep; write it flatter"),
    Case("very deep lists", "[" * 50_000, "", (1, 66), "the document is nested more than 64 deep; write it flatter"),
    Case("very deep lists that end", "[" * 5_000 + "]" * 5_000, "", (1, 66), "the document is nested more than 64 deep; write it flatter"),
]


@pytest.mark.parametrize("case", NO_YAML, ids=lambda case: case.name)
def test_what_is_no_yaml_is_told_at_its_place(case: Case, parser: str):
    with pytest.raises(Unreadable) as refused:
        parse_yaml(case.text)
    problem = refused.value.problem
    assert ((problem.line, problem.column), problem.message) == (case.place, case.message)


def test_a_document_of_very_many_values_is_refused(parser: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dq_dagster.documents.parsed.MAX_NODES", 1000)
    assert len(parse_yaml("[" + "1," * 999 + "]").value) == 999
    with pytest.raises(Unreadable, match="more than 1000 values, counting what aliases repeat"):
        parse_yaml("[" + "1," * 1000 + "]")


def test_an_alias_bomb_does_not_go_off(parser: str):
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    with pytest.raises(Unreadable, match="more than 100000 values"):
        parse_yaml(bomb)


NO_JSON = [
    Case(
        "nothing",
        "",
        "",
        (1, 1),
        "the document is not JSON: it ends where a value is expected; write text in double quotes, a number, a list or a mapping",
    ),
    Case(
        "a comma too many",
        '{"a": 1,\n}',
        "",
        (2, 1),
        "the document is not JSON: a key in double quotes is expected here; write one, or take out the comma before it",
    ),
    Case("a comma too few", "[1\n2]", "", (2, 1), "the document is not JSON: a comma or ']' is expected here; add it"),
    Case("no colon", '{"a" 1}', "", (1, 6), "the document is not JSON: a colon is expected after the key; add it"),
    Case(
        "a bare word",
        '{"a": yes}',
        "",
        (1, 7),
        "the document is not JSON: 'y' begins no value; write text in double quotes, a number, a list or a mapping",
    ),
    Case(
        "a leading zero",
        "[01]",
        "",
        (1, 2),
        "the document is not JSON: '0' begins no value; write text in double quotes, a number, a list or a mapping",
    ),
    Case(
        "text left open",
        '["a',
        "",
        (1, 2),
        "the document is not JSON: this text has no end, an unknown escape or a control character; close it, or escape what must be",
    ),
    Case(
        "a tab in text",
        '["a\tb"]',
        "",
        (1, 2),
        "the document is not JSON: this text has no end, an unknown escape or a control character; close it, or escape what must be",
    ),
    Case(
        "more than one document",
        "{} {}",
        "",
        (1, 4),
        "the document is not JSON: there is something after the end of the document; take it out",
    ),
    Case(
        "a comment",
        "// x\n{}",
        "",
        (1, 1),
        "the document is not JSON: '/' begins no value; write text in double quotes, a number, a list or a mapping",
    ),
    Case("very deep lists", "[" * 500_000, "", (1, 66), "the document is nested more than 64 deep; write it flatter"),
]


@pytest.mark.parametrize("case", NO_JSON, ids=lambda case: case.name)
def test_what_is_no_json_is_told_at_its_place(case: Case):
    with pytest.raises(Unreadable) as refused:
        parse_json(case.text)
    problem = refused.value.problem
    assert ((problem.line, problem.column), problem.message) == (case.place, case.message)
