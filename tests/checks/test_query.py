"""Kinds that users write as a SQL query."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pytest

from dq_dagster.checks.queries import parse_query
from dq_dagster.expressions import ExpressionRefused
from tests.checks.cases import Case, Expected, Rows, failed, not_evaluated, passed, refused, run_cases, tolerated

GV = {"g": pa.string(), "v": pa.int64()}
FIVE = (GV, [("a", 1), ("a", 5), ("b", 10), (None, 3), ("c", None)])
REF: Mapping[str, Rows] = {"r": ({"k": pa.int64()}, [1, 5])}
SUMS = "SELECT g, sum(v) > 5 AS condition FROM {{ input_view }} GROUP BY g"


def query(title: str, text: str, expected: Expected, rows: Rows = FIVE, *, there: Mapping[str, Rows] | None = None, **more: object) -> Case:
    """A case of sql_query."""
    return Case("sql_query", title, {"query": text, **more}, rows, expected, references=there or {})


CASES = [
    query("the rows of a violating key", SUMS, failed(rows=[0, 1, 2], detail="3 of 5 rows have a (g) for which the query's condition is true"), merge_columns=["g"]),
    query("negated; NULL is no violation", SUMS, failed(rows=[3]), merge_columns=["g"], negate=True),
    query("any true row of a key fails it", "SELECT g, v > 1 AS condition FROM {{input_view}}", failed(rows=[0, 1, 2, 3]), merge_columns=["g"]),
    query("negated, one true row of a key saves it", "SELECT g, v > 1 AS condition FROM {{input_view}}", passed(), merge_columns=["g"], negate=True),
    query("the table whole", "SELECT count(*) > 4 AS condition FROM {{ input_view }}", failed(detail="the query's condition is true")),
    query("the table whole, as it should be", "SELECT count(*) > 5 AS condition FROM {{ input_view }}", passed(detail="the query's condition is not true")),
    query("the table whole, negated", "SELECT count(*) > 5 AS condition FROM {{ input_view }}", failed(detail="the query's condition is false"), negate=True),
    query("several rows for the table whole", "SELECT v > 1 AS condition FROM {{ input_view }}", not_evaluated("the query gives 5 rows where one judges")),
    query("no row is no violation", "SELECT true AS condition FROM {{ input_view }} WHERE v > 100", passed()),
    query("NULL is no violation", "SELECT max(NULL::BOOLEAN) AS condition FROM {{ input_view }}", passed()),
    query("the filter's rows alone", "SELECT count(*) > 1 AS condition FROM {{ input_view }}", failed(rows=[0, 1]), filter="g = 'a'"),
    query("the filter's rows alone, by key", "SELECT g, true AS condition FROM {{ input_view }}", failed(rows=[1]), filter="v = 5", merge_columns=["g"]),
    query("words inside text", "SELECT 'drop it; --' = 'x' AS condition FROM {{ input_view }} LIMIT 1", passed()),
    query("a reference", "SELECT g, count(*) > 1 AS condition FROM {{ input_view }} JOIN {{ r }} ON v = k GROUP BY g", failed(rows=[0, 1]), there=REF,
          merge_columns=["g"]),
    query("a reference by its name", "SELECT count(*) <> 2 AS condition FROM r, input_view LIMIT 1", failed(), there=REF),
    query("a CTE, a subquery, a window", "WITH s AS (SELECT g, row_number() OVER (PARTITION BY g ORDER BY v) AS n FROM {{ input_view }}) "
          "SELECT g, n > 1 AS condition FROM s WHERE g IN (SELECT g FROM {{ input_view }})", failed(rows=[0, 1]), merge_columns=["g"]),
    query("other names", "SELECT g AS g, v = 10 AS broken FROM {{ t }} t", failed(rows=[2]), merge_columns=["g"], condition_column="broken", input_placeholder="t"),
    query("a star", "SELECT *, v = 10 AS condition FROM {{ input_view }}", failed(rows=[2]), merge_columns=["g"]),
    query("twins of a name", 'SELECT "Kg", "kG" > 1 AS condition FROM {{ input_view }}', failed(rows=[1]), ({"Kg": pa.int64(), "kG": pa.int64()}, [(1, 1), (2, 2)]),
          merge_columns=["Kg"]),
    query("a column called condition", "SELECT count(condition) > 1 AS condition FROM {{ input_view }}", failed(), ({"condition": pa.int64()}, [1, 2])),
    query("now", "SELECT count(*) FILTER (t > current_timestamp) > 0 AS condition FROM {{ input_view }}", passed(), ({"t": pa.timestamp("us", "UTC")}, [0])),
    query("tolerated", SUMS, tolerated(rows=[0, 1, 2]), merge_columns=["g"], max_failed_rows=3),
    query("no rows", SUMS, passed(), (GV, []), merge_columns=["g"]),
    query("no rows, the table whole", "SELECT count(*) = 0 AS condition FROM {{ input_view }}", failed(rows=[]), (GV, [])),
    query("no condition", "SELECT 1 AS x FROM {{ input_view }} LIMIT 1", refused("DECLARED_CHECK_INVALID", "gives no column condition")),
    query("a condition that is none", "SELECT 1 AS condition FROM {{ input_view }} LIMIT 1", refused("DECLARED_CHECK_INVALID", "make it true or false")),
    query("no merge column", "SELECT true AS condition FROM {{ input_view }}", refused("DECLARED_CHECK_INVALID", "gives no column g"), merge_columns=["g"]),
    query("an unknown column", "SELECT max(zz) > 1 AS condition FROM {{ input_view }}", refused("DECLARED_CHECK_INVALID", "'zz' could not be resolved")),
    query("types that do not fit", "SELECT sum(g) > 1 AS condition FROM {{ input_view }}", refused("DECLARED_CHECK_INVALID", "does not fit the types")),
    query("another table", "SELECT true AS condition FROM {{ input_view }}, secrets", refused("RECIPE_DOCUMENT_INCOHERENT", "secrets")),
    query("a file", "SELECT true AS condition FROM {{ input_view }}, 'x.csv'", refused("RECIPE_DOCUMENT_INCOHERENT", "x.csv")),
    query("not over the table", "SELECT true AS condition", refused("DECLARED_CHECK_INVALID", "does not read from the table")),
    query("quarantine without keys", "SELECT true AS condition FROM {{ input_view }}", refused("RECIPE_DOCUMENT_INCOHERENT"), enforcement="quarantine"),
    query("a tolerance without keys", "SELECT true AS condition FROM {{ input_view }}", refused("DECLARED_CHECK_INVALID", "judges the table as a whole"),
          max_failed_rows=1),
]  # fmt: skip

test_cases = run_cases(CASES)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 FROM read_parquet('/etc/passwd')", 'SELECT 1 FROM "a"."b"', "SELECT 1 FROM range(5)", "SELECT 1; SELECT 2",
        "DROP TABLE t", "INSERT INTO t SELECT 1", "COPY t TO 'x'", "ATTACH 'x'", "PRAGMA version", "SET a = 1", "CALL f()", "SELECT getenv('HOME') FROM t",
        "SELECT read_text('x') FROM t", "WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM a) SELECT * FROM a", "SELECT 1 INTO x FROM t",
        "SELECT * FROM t TABLESAMPLE 1 ROWS", "SELECT unnest([1, 2]) FROM t", "VALUES (1)", "SELECT $1 FROM t", "SELECT current_setting('x') FROM t",
        "SELECT * FROM t, LATERAL (SELECT 1)", "SELECT nextval('s') FROM t", "PIVOT t ON a USING sum(b)", "SUMMARIZE t", "DESCRIBE t", "SELECT ( FROM t", "",
        "SELECT * FROM glob('*')", "SELECT (SELECT content FROM read_text('x')) FROM t", "SELECT * FROM t AT (VERSION => 1)", "EXPLAIN SELECT 1",
    ],
)  # fmt: skip
def test_what_is_no_select_over_named_tables_is_refused(text: str) -> None:
    with pytest.raises(ExpressionRefused):
        parse_query(text)
