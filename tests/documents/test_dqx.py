"""DQX's documents as recipes: values, columns, SQL, names, refusals with their places, and what they find."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dq_dagster import RecipeRefused, evaluate, load_recipe
from dq_dagster.documents.dqx_functions import FUNCTIONS
from dq_dagster.documents.dqx_values import column_of, value_of
from dq_dagster.documents.spark_sql import expression_of, query_of
from dq_dagster.expressions import ExpressionRefused

VALUES = [
    ("10", 10),
    ("-10", -10),
    ("1.50", Decimal("1.50")),
    ("b", {"column": "b"}),
    ("st.a", {"column": "st.a"}),
    ("`my col`", {"column": "my col"}),
    ("b + 1", {"expression": "b + 1"}),
    ("'10'", "10"),
    ("'Can''t'", "Can't"),
    (r"'it\'s'", "it's"),
    (r"'a\b'", r"a\b"),
    ('"x"', "x"),
    ("NULL", {"expression": "NULL"}),
    ("true", True),
    ("2024-02-29", dt.date(2024, 2, 29)),
    ("2024-02-29 10:00:00", dt.datetime(2024, 2, 29, 10)),
    ("2024-06-01T12:00:00Z", dt.datetime(2024, 6, 1, 12, tzinfo=dt.timezone.utc)),
    ("DATE'2024-03-01'", dt.date(2024, 3, 1)),
    ("TIMESTAMP'2024-05-05 12:00:00.9'", dt.datetime(2024, 5, 5, 12, 0, 0, 900_000)),
    ("double('NaN')", {"expression": "TRY_CAST('NaN' AS DOUBLE)"}),
    ({"__decimal__": "1.10"}, Decimal("1.10")),
    (1.5, 1.5),
]
COLUMNS = [
    ("a", "a"),
    ("my col", "my col"),
    ("st.a", "st.a"),
    ("`order-id`", "order-id"),
    ("% humid", "% humid"),
    ("größe", "größe"),
    ("m['k']", {"expression": "m['k']"}),
    ("upper(s)", {"expression": "UPPER(s)"}),
    ("try_element_at(a, 1)", {"expression": "a[1]"}),
    ("a[0]", {"expression": "a[1]"}),
]
EXPRESSIONS = [
    ("s rlike '^[a-c]+'", "REGEXP_MATCHES(CAST(s AS TEXT), '^[a-c]+')"),
    ("a <=> b", "a IS NOT DISTINCT FROM b"),
    ("concat(a, b)", "a || b"),
    ("isnull(a)", "a IS NULL"),
    ("a % b", "a % NULLIF(b, 0)"),
    ("pmod(a, 2)", "((((a) % 2) + 2) % 2)"),
    ("date_add(d, 3)", "TRY_CAST((TRY_CAST(d AS DATE) + INTERVAL (3) DAY) AS DATE)"),
    ("dayofweek(d)", "(DAYOFWEEK(TRY_CAST(d AS DATE)) + 1)"),
    ("now() > t", "CURRENT_TIMESTAMP > t"),
    ("exists(a, x -> x > 1)", "LEN(LIST_FILTER(a, LAMBDA x : x > 1)) > 0"),
    ("cast(s as date)", "TRY_CAST(s AS DATE)"),
    ("t < TIMESTAMP'2024-05-05 10:30:00'", "t < CAST('2024-05-05 10:30:00' AS TIMESTAMPTZ)"),
    (r"s like 'a\\_b'", r"s LIKE 'a\_b' ESCAPE '\'"),
]
HOSTILE = [
    "a > 0; COPY (SELECT 1) TO 'pwned.csv'",
    "1=1) OR (1=1",
    "a > 0 --",
    "a > 0 /*",
    "true; DROP TABLE t",
    "a IN (SELECT 1)",
    "read_csv('x') IS NULL",
    "getenv('HOME') = 'x'",
    "current_user = 'x'",
    "count(*) > 1",
    "s rlike '(?=x)'",
]


def entry(function: str = "is_not_null", arguments: Any = None, **more: Any) -> dict[str, Any]:
    return {"check": {"function": function, "arguments": {"column": "a"} if arguments is None else arguments}, **more}


def refused(document: Any) -> list[tuple[str, str, str]]:
    with pytest.raises(RecipeRefused) as refusal:
        load_recipe(document, dialect="dqx")
    return [(problem.code, problem.pointer, problem.message) for problem in refusal.value.problems]


@pytest.mark.parametrize(("written", "meant"), VALUES, ids=lambda value: str(value))
def test_a_value_is_what_dqx_reads_it_as(written: Any, meant: Any) -> None:
    """Digits, dates, literals, columns and expressions are told apart."""
    assert value_of(written) == meant


@pytest.mark.parametrize(("written", "meant"), COLUMNS, ids=lambda value: str(value))
def test_a_column_is_a_name_or_an_expression(written: str, meant: Any) -> None:
    """What cannot be an expression is a name."""
    assert column_of(written) == meant


@pytest.mark.parametrize(("spark", "duckdb"), EXPRESSIONS, ids=lambda value: str(value))
def test_spark_expressions_keep_their_meaning(spark: str, duckdb: str) -> None:
    """Spark's SQL becomes DuckDB's."""
    assert expression_of(spark) == duckdb


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_no_single_allowed_expression_is_refused_at_its_place(text: str) -> None:
    """Statements, subqueries, comments, files, settings and patterns that RE2 lacks."""
    assert [(code, pointer) for code, pointer, _ in refused([entry(filter=text)])] == [("DECLARED_CHECK_INVALID", "/0/filter")]


def test_every_function_of_dqx_is_a_kind_of_ours() -> None:
    """The 54 of 0.16 and the three of 0.17, each with members of its own."""
    from dq_dagster.checks import kinds

    assert len(FUNCTIONS) == 57
    assert [name for name in FUNCTIONS if name not in kinds()] == []


def test_the_shared_members_are_carried_over() -> None:
    """Name, criticality, filter and metadata."""
    document = [entry(name="Ids are there!", criticality="warn", filter="b = 'x'", user_metadata={"team": "data"})]
    (check,) = load_recipe(document, dialect="dqx", table="orders").document()["checks"]
    assert check == {
        "check_id": "ids_are_there_",
        "kind": "is_not_null",
        "enforcement": "advisory",
        "metadata": {"team": "data", "name": "Ids are there!"},
        "filter": "b = 'x'",
        "column": "a",
    }


def test_ids_are_derived_and_never_alike() -> None:
    """One without a name is called by its column and what failed; the second of a name gets a number."""
    document = [
        entry(),
        entry(),
        entry(name="x"),
        entry("is_aggr_not_greater_than", {"column": "v", "limit": 1, "aggr_type": "sum", "group_by": ["g"]}),
    ]
    ids = [check.check_id for check in load_recipe(document, dialect="dqx").checks]
    assert ids == ["a_is_null", "a_is_null_2", "x", "v_sum_group_by_g_greater_than_limit"]


def test_for_each_column_is_one_check_a_column() -> None:
    """Lists of columns go where a list is taken."""
    document = [
        {"name": "present", "check": {"function": "is_not_null", "for_each_column": ["a", "b"]}},
        {"check": {"function": "is_unique", "for_each_column": [["a", "b"], ["c"]]}},
    ]
    checks = load_recipe(document, dialect="dqx").document()["checks"]
    assert [check["check_id"] for check in checks] == ["present_a", "present_b", "a_b_is_not_unique", "c_is_not_unique"]
    assert [check.get("column", check.get("columns")) for check in checks] == ["a", "b", ["a", "b"], ["c"]]


def test_references_are_declared_by_the_checks_that_use_them() -> None:
    """A data frame's name, a table's name, and the placeholders of a query."""
    keys = {"columns": ["a"], "ref_columns": ["b"]}
    document = [
        entry("foreign_key", {**keys, "ref_df_name": "people"}),
        entry("foreign_key", {**keys, "ref_table": "main.sales.people"}),
        entry("sql_query", {"query": "SELECT count(*) > 1 AS condition FROM {{ input_view }} JOIN {{ other }} ON a = b"}),
    ]
    references = load_recipe(document, dialect="dqx").document()["references"]
    assert references == {"people": {"asset": "people"}, "main.sales.people": {"asset": "main/sales/people"}, "other": {"asset": "other"}}


def test_a_query_keeps_its_placeholders() -> None:
    """Only its SQL is carried over."""
    query, names = query_of("SELECT g, sum(v) > 5 AS condition FROM {{ input_view }} WHERE s rlike 'x' GROUP BY g")
    assert query == "SELECT g, SUM(v) > 5 AS condition FROM {{ input_view }} WHERE REGEXP_MATCHES(CAST(s AS TEXT), 'x') GROUP BY g"
    assert names == ("input_view",)
    with pytest.raises(ExpressionRefused, match="is not exactly one SQL query"):
        query_of("DROP TABLE x")


def test_null_in_a_list_lists_nothing() -> None:
    """NULL is never compared."""
    (check,) = load_recipe([entry("is_in_list", {"column": "a", "allowed": [1, None]})], dialect="dqx").document()["checks"]
    assert check["allowed"] == [1]


def test_all_problems_are_told_at_once_with_their_places() -> None:
    """What DQX refuses to load, skips or aborts on."""
    document = [
        7,
        {"criticality": "fatal"},
        entry("is_not_nul"),
        entry("is_not_null", {"column": 5, "extra": 1}),
        entry("is_not_null", {}),
        {"check": {"function": "is_not_null", "for_each_column": []}},
        entry("is_in_list", {"column": "a", "allowed": "'red'"}),
        entry("foreign_key", {"columns": ["a"], "ref_columns": ["b"]}),
        entry("is_unique", {"columns": ["upper(s)"]}),
        entry("is_not_less_than", {"column": "a"}),
        entry("is_not_null", {"column": "a"}, filter="a +"),
    ]
    found = [(code, pointer) for code, pointer, _ in refused(document)]
    assert found == [
        ("RECIPE_DOCUMENT_INVALID", "/0"),
        ("RECIPE_DOCUMENT_INVALID", "/1"),
        ("RECIPE_DOCUMENT_INVALID", "/3/check/arguments/column"),
        ("RECIPE_DOCUMENT_INVALID", "/3/check/arguments/extra"),
        ("RECIPE_DOCUMENT_INVALID", "/5/check/for_each_column"),
        ("RECIPE_DOCUMENT_INVALID", "/6/check/arguments/allowed"),
        ("DECLARED_CHECK_INVALID", "/1/criticality"),
        ("DECLARED_CHECK_INVALID", "/2/check/function"),
        ("DECLARED_CHECK_INVALID", "/4/check/arguments"),
        ("DECLARED_CHECK_INVALID", "/7/check/arguments"),
        ("DECLARED_CHECK_INVALID", "/8/check/arguments/columns/0"),
        ("DECLARED_CHECK_INVALID", "/9/check/arguments"),
        ("DECLARED_CHECK_INVALID", "/10/filter"),
    ]


def test_a_problem_of_a_file_names_line_and_column(tmp_path: Path) -> None:
    """A stored table's too."""
    path = tmp_path / "checks.yml"
    path.write_text("- check:\n    function: is_not_null\n    arguments:\n      column: nope\n")
    with pytest.raises(RecipeRefused) as refusal:
        evaluate(load_recipe(path, dialect="dqx"), pa.table({"a": [1]}))
    (problem,) = refusal.value.problems
    assert (problem.code, problem.pointer, problem.line) == ("DECLARED_CHECK_COLUMN_UNKNOWN", "/0/check/arguments/column", 4)


def test_an_unknown_bare_word_is_told_where_it_stands() -> None:
    """In a value, and in a list of values."""
    document = [
        entry("is_not_less_than", {"column": "a", "limit": "nope"}),
        entry("is_in_list", {"column": "a", "allowed": [None, 1, "nope"]}),
    ]
    with pytest.raises(RecipeRefused) as refusal:
        evaluate(load_recipe(document, dialect="dqx"), pa.table({"a": [1]}))
    assert [problem.pointer for problem in refusal.value.problems] == ["/0/check/arguments/limit", "/1/check/arguments/allowed/2"]


def test_a_bare_word_is_a_column_and_a_quoted_one_is_text() -> None:
    """Which is DQX's most frequent misunderstanding."""
    table = pa.table({"a": ["x", "b", None], "b": ["x", "y", "z"]})
    document = [entry("is_equal_to", {"column": "a", "value": "b"}), entry("is_equal_to", {"column": "a", "value": "'b'"})]
    outcomes = evaluate(load_recipe(document, dialect="dqx"), table).outcomes
    assert [(outcome.status, outcome.failed_rows) for outcome in outcomes] == [("failed", 1), ("failed", 1)]


def test_what_is_no_list_is_refused() -> None:
    """The whole document."""
    assert refused({"checks": []})[0][:2] == ("RECIPE_DOCUMENT_INVALID", "")
