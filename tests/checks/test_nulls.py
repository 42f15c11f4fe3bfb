"""Kinds about missing and empty values."""

from __future__ import annotations

import pyarrow as pa

from tests.checks.cases import Case, failed, passed, refused, run_cases, tolerated

TEXT = {"s": pa.string()}
WORDS = (TEXT, ["a", "", " ", "\t", "\u00a0", None, " a "])
NUMBERS = ({"x": pa.float64()}, [float("nan"), 0.0, None])
BYTES = ({"b": pa.binary()}, [b"", b" ", b"a", b"\x00", None])
STRUCT = pa.struct([("a", pa.int64())])
STRUCTS = ({"st": STRUCT}, [({"a": 1},), (None,), ({"a": None},)])
LISTS = ({"a": pa.list_(pa.int64())}, [([],), ([1],), (None,), ([None],)])
MAPS = ({"a": pa.map_(pa.string(), pa.int64())}, [([],), ([("k", 1)],), (None,)])

CASES = [
    Case("is_not_null", "values pass", {"column": "s"}, (TEXT, ["a", "", " "]), passed(detail="none of 3 rows have no s")),
    Case("is_not_null", "a NULL breaks it", {"column": "s"}, (TEXT, ["a", None]), failed(rows=[1], detail="1 of 2 rows have no s")),
    Case("is_not_null", "NaN is a value", {"column": "x"}, NUMBERS, failed(rows=[2])),
    Case("is_not_null", "a struct of NULLs is a value", {"column": "st"}, STRUCTS, failed(rows=[1])),
    Case("is_not_null", "a member of a NULL struct is NULL", {"column": "st.a"}, STRUCTS, failed(rows=[1, 2])),
    Case("is_not_null", "an expression", {"column": {"expression": "nullif(s, '')"}}, (TEXT, ["a", ""]), failed(rows=[1])),
    Case("is_not_null", "the filter's rows alone", {"column": "s", "filter": "n > 1"},
         ({"s": pa.string(), "n": pa.int64()}, [(None, 1), (None, 2), (None, None)]), failed(rows=[1], detail="1 of 1 rows where n > 1")),
    Case("is_not_null", "a filter that is no condition", {"column": "s", "filter": "s"}, (TEXT, ["a"]),
         refused("DECLARED_CHECK_INVALID", "states the condition 's', which is of the type string; state one that is true or false")),
    Case("is_not_null", "tolerated", {"column": "s", "max_failed_rows": 1}, (TEXT, ["a", None]), tolerated(rows=[1])),
    Case("is_not_null", "no rows", {"column": "s"}, (TEXT, []), passed()),
    Case("is_null", "no value", {"column": "s"}, (TEXT, [None, None]), passed()),
    Case("is_null", "an empty text is a value", {"column": "s"}, (TEXT, ["", None]), failed(rows=[0], detail="have a value in s")),
    Case("is_null", "NaN is a value", {"column": "x"}, NUMBERS, failed(rows=[0, 1])),
    Case("is_null", "a struct of NULLs is a value", {"column": "st"}, STRUCTS, failed(rows=[0, 2])),
    Case("is_null", "no rows", {"column": "s"}, (TEXT, []), passed()),
    Case("is_null", "the filter's rows alone", {"column": "s", "filter": "s <> 'a'"}, WORDS, failed(rows=[1, 2, 3, 4, 6], detail="5 of 5 rows where s <> 'a'")),
    Case("is_not_empty", "blanks are not empty", {"column": "s"}, WORDS, failed(rows=[1], detail="1 of 7 rows have an empty s")),
    Case("is_not_empty", "only spaces are trimmed", {"column": "s", "trim_strings": True}, WORDS, failed(rows=[1, 2])),
    Case("is_not_empty", "numbers never are", {"column": "x"}, NUMBERS, passed()),
    Case("is_not_empty", "zero bytes are", {"column": "b"}, BYTES, failed(rows=[0])),
    Case("is_not_empty", "bytes that are spaces, trimmed", {"column": "b", "trim_strings": True}, BYTES, failed(rows=[0, 1])),
    Case("is_not_empty", "lists never are", {"column": "a"}, LISTS, passed()),
    Case("is_not_empty", "no rows", {"column": "s"}, (TEXT, []), passed()),
    Case("is_not_empty", "the filter's rows alone", {"column": "s", "filter": "s <> ''"}, (TEXT, ["", "a"]),
         passed(detail="of 1 rows where")),
    Case("is_not_empty", "trim_strings is true or false", {"column": "s", "trim_strings": "yes"}, WORDS,
         refused("RECIPE_DOCUMENT_INVALID")),
    Case("is_empty", "what is not", {"column": "s"}, WORDS, failed(rows=[0, 2, 3, 4, 6], detail="have a s that is not empty")),
    Case("is_empty", "spaces trimmed", {"column": "s", "trim_strings": True}, WORDS, failed(rows=[0, 3, 4, 6])),
    Case("is_empty", "NULL passes", {"column": "s"}, (TEXT, ["", None]), passed()),
    Case("is_empty", "every number breaks it", {"column": "x"}, NUMBERS, failed(rows=[0, 1])),
    Case("is_empty", "bytes", {"column": "b"}, BYTES, failed(rows=[1, 2, 3])),
    Case("is_empty", "lists", {"column": "a"}, LISTS, failed(rows=[0, 1, 3])),
    Case("is_empty", "no rows", {"column": "s"}, (TEXT, []), passed()),
    Case("is_empty", "the filter's rows alone", {"column": "s", "filter": "s <> 'a'"}, WORDS, failed(rows=[2, 3, 4, 6])),
    Case("is_null_or_empty", "what is neither", {"column": "s"}, WORDS, failed(rows=[0, 2, 3, 4, 6], detail="neither NULL nor empty")),
    Case("is_null_or_empty", "NULL and empty pass", {"column": "s"}, (TEXT, ["", None]), passed()),
    Case("is_null_or_empty", "no rows", {"column": "s"}, (TEXT, []), passed()),
    Case("is_null_or_empty", "the filter's rows alone", {"column": "s", "filter": "s = 'a' OR s IS NULL"}, WORDS, failed(rows=[0], detail="1 of 2 rows where")),
    Case("is_not_null_and_not_empty", "values", {"column": "s"}, (TEXT, ["a", " "]), passed()),
    Case("is_not_null_and_not_empty", "NULL and empty break it", {"column": "s"}, WORDS, failed(rows=[1, 5])),
    Case("is_not_null_and_not_empty", "trimmed", {"column": "s", "trim_strings": True}, WORDS, failed(rows=[1, 2, 5])),
    Case("is_not_null_and_not_empty", "numbers", {"column": "x"}, NUMBERS, failed(rows=[2])),
    Case("is_not_null_and_not_empty", "bytes", {"column": "b"}, BYTES, failed(rows=[0, 4])),
    Case("is_not_null_and_not_empty", "no rows", {"column": "s"}, (TEXT, []), passed()),
    Case("is_not_null_and_not_empty", "the filter's rows alone", {"column": "s", "filter": "s IS NULL OR s = 'a'"}, WORDS, failed(rows=[5])),
    Case("is_not_null_and_not_empty_array", "lists", {"column": "a"}, LISTS, failed(rows=[0, 2], detail="no a, or one without an entry")),
    Case("is_not_null_and_not_empty_array", "lists of one length", {"column": "a"}, ({"a": pa.list_(pa.int64(), 2)}, [([1, 2],), (None,)]),
         failed(rows=[1])),
    Case("is_not_null_and_not_empty_array", "maps", {"column": "a"}, MAPS, failed(rows=[0, 2])),
    Case("is_not_null_and_not_empty_array", "a list of nothing is one", {"column": "a"}, ({"a": pa.list_(pa.string())}, [([""],)]),
         passed()),
    Case("is_not_null_and_not_empty_array", "an expression", {"column": {"expression": "string_split(s, ',')"}}, (TEXT, ["a", None]),
         failed(rows=[1])),
    Case("is_not_null_and_not_empty_array", "no rows", {"column": "a"}, (LISTS[0], []), passed()),
    Case("is_not_null_and_not_empty_array", "the filter's rows alone", {"column": "a", "filter": "a is not null"}, LISTS, failed(rows=[0])),
    Case("is_not_null_and_not_empty_array", "another type", {"column": "s"}, (TEXT, ["a"]),
         refused("DECLARED_CHECK_INVALID",
                 "check THE_CHECK counts entries of s, which is of the type string; name a column of lists or maps")),
]  # fmt: skip

test_cases = run_cases(CASES)
