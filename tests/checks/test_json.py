"""Kinds about JSON, and the rule of what counts as JSON."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dq_dagster.checks.json import has_json_schema, is_json
from dq_dagster.checks.json_rules import MAX_DEPTH, NotJson, read_json, read_schema
from dq_dagster.checks.spark_types import SchemaUnreadable
from tests.checks.cases import Case, failed, not_evaluated, passed, refused, run_cases

TEXT = {"s": pa.string()}
FILTERED = {"s": pa.string(), "a": pa.int64()}
COLUMN = {"column": "s"}
KEYS = {**COLUMN, "keys": ["a", "b"]}
SCHEMA = {**COLUMN, "schema": "id INT NOT NULL, name STRING"}
KINDS = {"is_valid_json": COLUMN, "has_json_keys": KEYS, "has_valid_json_schema": SCHEMA}
GOOD = '{"a":1,"b":2,"id":1}'
OBJECTS = [
    '{"a":1,"b":2}',
    '{"a":1}',
    '{"b":null}',
    "{}",
    '{"A":1}',
    '{"x":{"a":1}}',
    '[{"a":1}]',
    "[]",
    "1",
    "bad",
    "",
    None,
    '{"a":1,"a":2}',
]

VALID = [
    '{"a":1}', "{}", "[]", "[1,2]", "1", "-1", "0", "-0", "1e5", "1E-5", "1.50", '"text"', "null", "true", "false", '""', '{"":1}',
    ' \t\r\n{"a":[1,2]} \n',
    '{"a":"\\u00e9\\ud83d\\ude00"}', '{"a":"\U0001f600"}', '{"a":"\u2028\x7f"}', '{"a\\u0000b":1}', '{"a":"\\ud800"}',
    '{"a":{"a":{"a":1}}}', '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
    "9" * 5000, "1e999999999999", "0." + "1" * 5000,
]  # fmt: skip
FOLLOWED = ['{"a":1} x', '{"a":1}{"b":2}', "[]]", '"a"b', "1 2", "null,", "true x", "{}\x00", "[] \ufeff"]
INVALID = [
    "", " ", "{a:1}", "{'a':1}", '{"a":1,}', "[1,]", "[,]", '{"a":NaN}', '{"a":Infinity}', "-Infinity", "NaN", '{"a":FALSE}', '{"a":01}',
    "01", "-01", "-", "+1", ".5", "1.",
    "1.e5", "1e", "1e+", "0x1", "1x", "1,", "nul", "nullx", "null1", "true_", '{"a":', '{"a"}', '{"a" 1}', '{"a":1 "b":2}',
    '{"a":"x\ny"}', '{"a":"\t"}', '"\\x41"', '"\\u00zz"',
    '"\\u12"', '"open', "// c\n{}", "/* c */{}", '\ufeff{"a":1}', '{"a":1,"a":2}',
    '[{"a":1,"b":{"c":1,"\\u0063":2}}]', "\xa01", "\x0b1", "٣", "{1:2}", "[" * 50,
]  # fmt: skip

CASES = [
    *(Case(kind, "no rows", check, (TEXT, []), passed(detail="none of 0 rows")) for kind, check in KINDS.items()),
    *(
        Case(kind, "NULL passes and an empty text does not", check, (TEXT, [None, "", GOOD]), failed(rows=[1]))
        for kind, check in KINDS.items()
    ),
    *(
        Case(
            kind,
            "only rows that the filter selects",
            {**check, "filter": "a > 0"},
            (FILTERED, [("bad", 1), ("bad", 0), (GOOD, 1)]),
            failed(rows=[0]),
        )
        for kind, check in KINDS.items()
    ),
    *(
        Case(
            kind,
            "a column that is no text",
            check,
            ({"s": pa.int32()}, [1, None]),
            not_evaluated("reads JSON out of text, and s is of the type int32"),
        )
        for kind, check in KINDS.items()
    ),
    *(Case(kind, "a column of NULLs alone", check, ({"s": pa.null()}, [None, None]), passed()) for kind, check in KINDS.items()),
    *(
        Case(kind, "what follows a whole value is not looked at", check, (TEXT, [f"{GOOD} {{", f"{GOOD}{GOOD}"]), passed())
        for kind, check in KINDS.items()
    ),
    *(
        Case(kind, "a member named twice", check, (TEXT, [GOOD[:-1] + ',"x":{"y":1,"y":1}}']), failed(rows=[0]))
        for kind, check in KINDS.items()
    ),
    Case("is_valid_json", "what is JSON", COLUMN, (TEXT, VALID), passed()),
    Case(
        "is_valid_json",
        "what is none",
        COLUMN,
        (TEXT, INVALID),
        failed(rows=range(len(INVALID)), detail="rows have s that is not valid JSON"),
    ),
    Case("is_valid_json", "a value and what follows it", COLUMN, (TEXT, FOLLOWED), passed()),
    Case(
        "is_valid_json",
        "strict: nothing may follow",
        {**COLUMN, "strict": True},
        (TEXT, [*FOLLOWED, *VALID]),
        failed(rows=range(len(FOLLOWED))),
    ),
    Case(
        "is_valid_json",
        "a bomb of brackets",
        COLUMN,
        (TEXT, ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000, "[" * 200 + "]" * 200, '["' + "[" * 5000 + '"]']),
        failed(rows=[0, 1, 2]),
    ),
    Case("has_json_keys", "all of them", KEYS, (TEXT, OBJECTS), failed(rows=[1, 2, 3, 4, 5, 9, 10, 12], detail="all of the keys a, b")),
    Case(
        "has_json_keys",
        "one of them",
        {**KEYS, "require_all": False},
        (TEXT, OBJECTS),
        failed(rows=[3, 4, 5, 9, 10, 12], detail="any of the keys a, b"),
    ),
    Case("has_json_keys", "one key, named twice", {**COLUMN, "keys": ["a", "a"]}, (TEXT, OBJECTS), failed(rows=[2, 3, 4, 5, 9, 10, 12])),
    Case(
        "has_json_keys",
        "a dot and a quote are letters",
        {**COLUMN, "keys": ["a.b", "it's", '"']},
        (TEXT, ['{"a.b":1,"it\'s":2,"\\"":3}', '{"a":{"b":1}}']),
        failed(rows=[1]),
    ),
    Case("has_json_keys", "no keys", {**COLUMN, "keys": []}, (TEXT, []), refused("RECIPE_DOCUMENT_INVALID")),
    Case("has_json_keys", "a key that is no text", {**COLUMN, "keys": [1]}, (TEXT, []), refused("RECIPE_DOCUMENT_INVALID")),
    Case(
        "has_valid_json_schema",
        "a required member and one that may be missing",
        SCHEMA,
        (
            TEXT,
            [
                '{"id":1,"name":"x"}',
                '{"id":2,"name":5,"extra":0}',
                '{"id":1}',
                '{"name":"x"}',
                '{"id":null}',
                '{"ID":1}',
                '{"id":"1"}',
                '{"id":1.5}',
                '{"id":true}',
                '{"id":99999999999}',
                "[]",
                '[{"id":1}]',
                "5",
                "null",
                "not json",
            ],
        ),
        failed(rows=range(3, 15), detail="no JSON object of the schema id INT NOT NULL, name STRING"),
    ),
    Case(
        "has_valid_json_schema",
        "a required member of a struct that may be null",
        {**COLUMN, "schema": "p STRUCT<q: INT NOT NULL>"},
        (TEXT, ['{"p":{"q":1}}', '{"p":null}', "{}", '{"p":{}}', '{"p":5}']),
        failed(rows=[3, 4]),
    ),
    Case(
        "has_valid_json_schema",
        "required members inside arrays and maps",
        {**COLUMN, "schema": "a array<struct<q int not null>>, m map<string, struct<q int not null>>"},
        (
            TEXT,
            ['{"a":[{"q":1},null]}', '{"m":{"x":{"q":1}}}', '{"a":[{}]}', '{"m":{"x":{}}}', '{"a":[{"q":1},[]]}', '{"a":{}}', '{"m":[]}'],
        ),
        failed(rows=[2, 3, 4, 5, 6]),
    ),
    Case(
        "has_valid_json_schema",
        "an unreadable schema",
        {**COLUMN, "schema": "not a schema!"},
        (TEXT, []),
        refused("DECLARED_CHECK_INVALID", "as schema, which"),
    ),
    Case("has_valid_json_schema", "a bare type", {**COLUMN, "schema": "ARRAY<INT>"}, (TEXT, []), refused("DECLARED_CHECK_INVALID")),
    Case(
        "has_valid_json_schema",
        "the values of a sensitive column are shown nowhere",
        SCHEMA,
        (TEXT, ["secret"]),
        failed(rows=[0], detail="1 of 1 rows"),
        table={"sensitive": ["s"]},
    ),
]

test_cases = run_cases(CASES)

TYPES = [
    ("BOOLEAN", ["true", "false"], ['"yes"', "1", '"true"']),
    ("TINYINT", ["-128", "127"], ["128", "-129", "1.0"]),
    ("SMALLINT", ["-32768", "32767"], ["32768"]),
    ("INT", ["-2147483648", "2147483647", "-0"], ["2147483648", "1.0", "1e3", '"1"', '""', "9" * 5000]),
    ("BIGINT", ["-9223372036854775808", "9223372036854775807"], ["9223372036854775808"]),
    ("DOUBLE", ["1", "1.5", "1e400", '"NaN"', '"-Infinity"', '"+INF"'], ['"1"', '"nan"', "true", '""']),
    ("DECIMAL(5, 2)", ["999.99", "999.994", "-1", '"1,2.50"', "1e2", "0.001"], ["999.995", "1000", '"x"', '""', "true",
     "1e99999999999999999999", '" 1"', '"NaN"']),
    ("DECIMAL", ["9999999999", "0.4"], ["10000000000"]),
    ("STRING", ["1", '""', "[1]", '{"a":1}', "true"], []),
    ("VARIANT", ["1", "[]"], []),
    ("BINARY", ['"aGk="', '""'], ['"a"', '"ä"', "1"]),
    ("DATE", ['"2024-02-29"', '"2024"', '"2024-2-9"', '"2024-02-29T25:00"', '"12"', '"-2024-01-01"'], ['"2023-02-29"', '"2024-13-01"',
     '"x"', '""', "20240101"]),
    ("TIMESTAMP", ['"2024-02-29"', '"2024-02-29T23:59:59.5Z"', '"2024-01-01 1:2:3+01:00"', '"12:30:00"',
     '"2024-01-01 12:00 Europe/Paris"', "17"],
     ['"2024-01-01T24:00"', '"2023-02-29T00:00"', '"2024-01-01T"', '"x"', '""', "1.5", '"2024-01-01 12:00 x"']),
    ("TIMESTAMP_NTZ", ['"2024-02-29"', '"2024-02-29T23:59:59.5"'], ['"2024-02-29T23:59:59Z"', '"12:30:00"', "17"]),
    ("ARRAY<INT>", ["[1,2,null]", "[]"], ['["x"]', "5", "{}"]),
    ("MAP<STRING, INT>", ['{"x":1,"y":null}', "{}"], ['{"x":"y"}', "[]"]),
    ("STRUCT<a: INT, b: STRUCT<c: STRING>>", ['{"a":1,"b":{"c":2},"d":0}', "{}"], ['{"a":"1"}', '{"b":{"c":1},"a":1.5}', '"x"']),
]  # fmt: skip


@pytest.mark.parametrize(("type", "good", "bad"), TYPES, ids=[name for name, _, _ in TYPES])
def test_a_value_is_read_as_its_type_or_breaks_the_schema(type: str, good: list[str], bad: list[str]):
    schema = f"v {type}"
    assert [text for text in ["null", *good] if not has_json_schema(f'{{"v":{text}}}', schema)] == []
    assert [text for text in bad if has_json_schema(f'{{"v":{text}}}', schema)] == []
    assert not has_json_schema('{"v":null}', f"{schema} NOT NULL")


@pytest.mark.parametrize(
    "schema",
    [
        "id INT, name STRING",
        "id: int, name: string",
        "struct<id:int,name:string>",
        " STRUCT < `id` : INT , `name` STRING COMMENT 'a, b' > ",
    ],
)
def test_a_schema_may_be_written_in_every_way_that_spark_reads(schema: str):
    assert [(member.name, member.type.name, member.is_required) for member in read_schema(schema).members] == [
        ("id", "int", False),
        ("name", "string", False),
    ]


def test_a_name_in_backquotes_may_hold_anything():
    assert [member.name for member in read_schema("`a b` INT, `struct` STRING, `x``y` INT").members] == ["a b", "struct", "x`y"]


@pytest.mark.parametrize(
    "schema",
    ["", " ", "INT", "ARRAY<INT>", "id", "id INT,", "id INT name STRING", "id INT NOT", "id STRUCT<a INT", "id DECIMAL(39)",
    "id DECIMAL(2, 3)", "id DECIMAL(x)",
     "id MAP<INT, INT>", "id INT, id INT", "id WIBBLE", "id INT;", "STRUCT<a: INT> x", "a " + "ARRAY<" * 200 + "INT" + ">" * 200],
)  # fmt: skip
def test_a_schema_that_cannot_be_read_is_refused(schema: str):
    with pytest.raises(SchemaUnreadable):
        read_schema(schema)


def test_json_may_be_nested_as_deep_as_the_rule_says_and_no_deeper():
    assert is_json("[" * MAX_DEPTH + "]" * MAX_DEPTH, "whole")
    assert not is_json("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "whole")
    assert is_json("[" + "[]," * 5000 + "[]]", "whole")


def test_a_number_keeps_its_text():
    assert read_json("[1, 1.50, -0, 1e2]")[0] == ["1", "1.50", "-0", "1e2"]
    with pytest.raises(NotJson):
        read_json("[1, 01]")
