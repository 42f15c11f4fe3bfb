"""Kinds about the stored columns as a Spark schema."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dq_dagster.checks.spark_types import SchemaUnreadable, read_schema, spark_type
from tests.checks.cases import Case, failed, passed, refused, run_cases

AB = {"a": pa.int32(), "b": pa.string()}
ROWS = (AB, [(1, "x"), (2, None)])
NESTED = {"l": pa.list_(pa.int32()), "st": pa.struct([("q", pa.int32())]), "m": pa.map_(pa.string(), pa.int64())}


def expects(schema: str, **more: object) -> dict[str, object]:
    """The members of a check that expects the schema."""
    return {"expected_schema": schema, **more}


CASES = [
    Case("has_valid_schema", "the same", expects("a INT, b STRING"), ROWS, passed(detail="the 2 stored columns include those of the expected schema")),
    Case("has_valid_schema", "any number, any text", expects("a DECIMAL(10, 2), b VARCHAR(5)"), ROWS, passed()),
    Case("has_valid_schema", "a part, in any order", expects("struct<b: string, a: double>"), ROWS, passed()),
    Case("has_valid_schema", "a number is no text", expects("a STRING"), ROWS, failed(detail="'a' is int where string is expected")),
    Case("has_valid_schema", "a missing column", expects("c INT, A INT"), ROWS, failed(detail="'c' is missing, 'A' is missing")),
    Case("has_valid_schema", "nested", expects("l ARRAY<BIGINT>, st STRUCT<q: DOUBLE>, m MAP<STRING, INT>"), (NESTED, []), passed()),
    Case("has_valid_schema", "members in number and order", expects("st STRUCT<q: INT, r: INT>"), (NESTED, []),
         failed(detail="'st' is struct<q: int> where struct<q: int, r: int> is expected")),
    Case("has_valid_schema", "strict: the same", expects("a INT, b STRING", strict=True), ROWS, passed(detail="are exactly those"), is_numbered=False),
    Case("has_valid_schema", "strict: another type", expects("a BIGINT, b STRING", strict=True), ROWS, failed(detail="'a' is int where bigint is expected")),
    Case("has_valid_schema", "strict: another order", expects("b STRING, a INT", strict=True), ROWS, failed(detail="the order is a, b where b, a is expected")),
    Case("has_valid_schema", "strict: one too many", expects("a INT", strict=True), ROWS, failed(detail="'b' is not expected")),
    Case("has_valid_schema", "strict: one too few", expects("a INT, b STRING, c INT", strict=True), ROWS, failed(detail="'c' is missing")),
    Case("has_valid_schema", "strict: what is stored may be NULL", expects("a INT NOT NULL, b STRING", strict=True), ROWS,
         failed(detail="'a' is int where int not null is expected")),
    Case("has_valid_schema", "strict: only these", expects("a INT", columns=["a"], strict=True), ROWS, passed()),
    Case("has_valid_schema", "strict: but these", expects("a INT", exclude_columns=["b", "zz"], strict=True), ROWS, passed()),
    Case("has_valid_schema", "names with spaces", expects("`Customer Name` STRING COMMENT 'who'"), ({"Customer Name": pa.string()}, []), passed()),
    Case("has_valid_schema", "an empty table is judged", expects("a STRING"), (AB, []), failed(rows=[], observed={"differences": 1})),
    Case("has_valid_schema", "NULLs do not matter", expects("a INT"), (AB, [(None, None)]), passed()),
    Case("has_valid_schema", "a filter limits the rows condemned", expects("a STRING", filter="a > 1"), ROWS, failed(rows=[1])),
    Case("has_valid_schema", "like the reference", {"reference": "other"}, ROWS, passed(), references={"other": ({"a": pa.int64()}, [])}),
    Case("has_valid_schema", "unlike the reference", {"reference": "other"}, ROWS, failed(detail="of the reference other: 'c' is missing"),
         references={"other": ({"c": pa.int64()}, [])}),
    Case("has_valid_schema", "no such column", expects("a INT", columns=["zz"]), ROWS, refused("DECLARED_CHECK_COLUMN_UNKNOWN")),
    Case("has_valid_schema", "no such type", expects("a NOSUCH"), ROWS, refused("DECLARED_CHECK_INVALID", "where a type is expected")),
    Case("has_valid_schema", "neither", {}, ROWS, refused("DECLARED_CHECK_INVALID", "states neither expected_schema nor reference")),
]  # fmt: skip

test_cases = run_cases(CASES)


@pytest.mark.parametrize(
    "words", ["", "a", "a INT,", "a INT b", "a ARRAY<INT", "a DECIMAL(0)", "a DECIMAL(39)", "a VARCHAR", "a INT, a INT", "a INT; b"]
)
def test_a_schema_that_cannot_be_read_is_refused(words: str) -> None:
    with pytest.raises(SchemaUnreadable):
        read_schema(words)


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        (pa.uint8(), "smallint"), (pa.uint32(), "bigint"), (pa.uint64(), "decimal(20, 0)"), (pa.float32(), "float"), (pa.date32(), "date"),
        (pa.timestamp("ns"), "timestamp_ntz"), (pa.timestamp("ms", "UTC"), "timestamp"), (pa.decimal128(5, 2), "decimal(5, 2)"),
        (pa.binary(), "binary"), (pa.null(), "void"), (pa.map_(pa.string(), pa.list_(pa.bool_())), "map<string, array<boolean>>"),
    ],
)  # fmt: skip
def test_a_stored_type_is_what_spark_reads(stored: pa.DataType, words: str) -> None:
    assert str(spark_type(stored)) == words
