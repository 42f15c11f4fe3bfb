"""What the two walks refuse: one fault is one problem, in one whole sentence."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from dq_dagster import Limits, RecipeRefused, load_recipe
from tests.recipe_documents import (
    CHECK,
    CHECKS,
    COLUMNS,
    DUPLICATE,
    INCOHERENT,
    INVALID,
    RANGE,
    ROWS,
    UNREADABLE,
    check_of,
    problems_of,
    recipe_with,
    without,
)


class Case(NamedTuple):
    """One fault, and the one problem it is."""

    name: str
    document: Any
    code: str
    pointer: str
    message: str


REGISTRATION = [
    Case(
        "an empty document",
        None,
        INVALID,
        "",
        "the document is empty, where a mapping with the members recipe, table and checks is expected",
    ),
    Case(
        "a list", [1], INVALID, "", "the document holds a list of 1, where a mapping with the members recipe, table and checks is expected"
    ),
    Case("no table", without("table", recipe_with()), INVALID, "", "the recipe states no table; add it"),
    Case(
        "no checks",
        without("checks", recipe_with()),
        INVALID,
        "",
        "the recipe states no checks; add the list of checks, which may be empty",
    ),
    Case("a misspelt member", recipe_with(tabel=1), INVALID, "/tabel", "the recipe has the unknown member 'tabel'; did you mean 'table'?"),
    Case(
        "a member under another name is one problem",
        {"recipe": "w", "tabel": {"name": "t"}, "checks": []},
        INVALID,
        "/tabel",
        "the recipe has the unknown member 'tabel'; did you mean 'table'?",
    ),
    Case(
        "an unknown member with nothing near",
        recipe_with(zzz=1),
        INVALID,
        "/zzz",
        "the recipe has the unknown member 'zzz'; known members are recipe, description, table, references, quarantine and 1 more",
    ),
    Case(
        "a name that is no identifier",
        recipe_with(recipe="My Weather"),
        INVALID,
        "/recipe",
        "the recipe states 'My Weather' as recipe, where lower-case letters, digits and _ are expected, a letter first and at most 128 "
        "in all; did you mean 'my_weather'?",
    ),
    Case(
        "text where a list belongs",
        recipe_with(table={"name": "t", "grain": "a"}),
        INVALID,
        "/table/grain",
        "the table states 'a' as grain, where a list is expected; write ['a']",
    ),
    Case(
        "a number where text belongs",
        recipe_with(table={"name": 5}),
        INVALID,
        "/table/name",
        "the table states 5 as name, where text is expected; write it in quotes: '5'",
    ),
    Case(
        "a grain too wide",
        recipe_with(table={"name": "t", "grain": [f"c{place}" for place in range(33)]}),
        INVALID,
        "/table/grain",
        "the table states a list of 33 as grain, where a list of at most 32 is expected",
    ),
    Case(
        "a column type that is none",
        recipe_with(table={"name": "t", "columns": [{"name": "a", "type": "varchr"}]}),
        INVALID,
        "/table/columns/0/type",
        "'varchr' is not a known column type; did you mean 'varchar'?",
    ),
    Case(
        "a column type nested out of all bounds",
        recipe_with(table={"name": "t", "columns": [{"name": "a", "type": "list<" * 5000}]}),
        INVALID,
        "/table/columns/0/type",
        f"the table states '{'list<' * 11}list…' as type in entry 1 of columns, which is nested more than 64 deep",
    ),
    Case(
        "an unknown member of a column",
        recipe_with(table={"name": "t", "columns": [{"name": "a", "typ": "varchar"}]}),
        INVALID,
        "/table/columns/0/typ",
        "the table has the unknown member 'typ' in entry 1 of columns; did you mean 'type'?",
    ),
    Case(
        "a reference to two things",
        recipe_with(references={"p": {"path": "a", "asset": "b"}}),
        INVALID,
        "/references/p",
        "the reference 'p' states both path and asset; state exactly one of the two",
    ),
    Case(
        "a reference to nothing",
        recipe_with(references={"p": {}}),
        INVALID,
        "/references/p",
        "the reference 'p' states neither path nor asset; state exactly one of the two",
    ),
    Case(
        "a rate beyond all rows",
        recipe_with(quarantine={"to": "bad", "max_rate_ppm": 1_000_001}),
        INVALID,
        "/quarantine/max_rate_ppm",
        "the quarantine states 1000001 as max_rate_ppm, where at most 1000000 is expected",
    ),
    Case(
        "a check that is no mapping",
        recipe_with("humid"),
        INVALID,
        "/checks/0",
        "check number 1 is 'humid', where a mapping with check_id, kind and enforcement is expected",
    ),
    Case("no check_id", recipe_with(ROWS, without("check_id", RANGE)), INVALID, "/checks/1", "check number 2 states no check_id; add it"),
    Case("no kind", recipe_with(without("kind", check_of("x"))), INVALID, "/checks/0", "check C states no kind; add it"),
    Case(
        "a check_id in capitals",
        recipe_with({**ROWS, "check_id": "Rows"}),
        INVALID,
        "/checks/0/check_id",
        "check number 1 states 'Rows' as check_id, where lower-case letters, digits and _ are expected, a letter first and at most 128 "
        "in all; did you mean 'rows'?",
    ),
    Case(
        "a misspelt member of a check",
        recipe_with({**RANGE, "colums": []}),
        INVALID,
        "/checks/0/colums",
        "check C has the unknown member 'colums'; did you mean 'columns'?",
    ),
    Case(
        "a column by number",
        recipe_with({**RANGE, "columns": [5]}),
        INVALID,
        "/checks/0/columns/0",
        "check C states 5 as entry 1 of columns, where text or {expression: …} is expected; write it in quotes: '5'",
    ),
    Case(
        "an expression member misspelt",
        recipe_with({**RANGE, "columns": [{"expresion": "a"}]}),
        INVALID,
        "/checks/0/columns/0/expresion",
        "check C has the unknown member 'expresion' in entry 1 of columns; did you mean 'expression'?",
    ),
    Case(
        "a truth for a bound",
        recipe_with({**ROWS, "min_rows": True}),
        INVALID,
        "/checks/0/min_rows",
        "check C states true as min_rows, where a whole number is expected",
    ),
    Case(
        "a number in quotes",
        recipe_with({**ROWS, "min_rows": "1_000"}),
        INVALID,
        "/checks/0/min_rows",
        "check C states '1_000' as min_rows, where a whole number is expected; write 1000, without quotes",
    ),
    Case(
        "a member left empty",
        recipe_with({**RANGE, "columns": None}),
        INVALID,
        "/checks/0/columns",
        "check C states nothing as columns, where a list is expected; fill it in",
    ),
    Case(
        "a float bound",
        recipe_with({**RANGE, "min_value": 0.1}),
        UNREADABLE,
        "/checks/0/min_value",
        "check C states the fraction 0.1 as min_value, which takes none: write it as the text '0.1'",
    ),
    Case(
        "a decimal bound",
        recipe_with({**RANGE, "max_value": Decimal("1E+2")}),
        UNREADABLE,
        "/checks/0/max_value",
        "check C states the fraction 1E+2 as max_value, which takes none: write it as the text '100'",
    ),
    Case(
        "a whole fraction",
        recipe_with({**ROWS, "min_rows": 2.0}),
        UNREADABLE,
        "/checks/0/min_rows",
        "check C states the fraction 2.0 as min_rows, which takes none: write 2",
    ),
    Case(
        "a real fraction",
        recipe_with({**ROWS, "min_rows": 1.5}),
        UNREADABLE,
        "/checks/0/min_rows",
        "check C states the fraction 1.5 as min_rows, which takes none: write a whole number",
    ),
    Case(
        "NaN",
        recipe_with({**RANGE, "min_value": float("nan")}),
        UNREADABLE,
        "/checks/0/min_value",
        "the document holds NaN or an infinity, which is no number to compare with",
    ),
    Case(
        "a set",
        recipe_with({**RANGE, "columns": {"a"}}),
        UNREADABLE,
        "/checks/0/columns",
        "the document holds a Python set; write text, a number, a date, a list or a mapping",
    ),
    Case(
        "a key that is no text",
        recipe_with({**ROWS, 5: 1}),
        UNREADABLE,
        "/checks/0",
        "the document has the key 5, and a key must be text; write it as text",
    ),
    Case(
        "half a character",
        recipe_with({**ROWS, "description": "\ud800"}),
        UNREADABLE,
        "/checks/0/description",
        "the document holds text with half a surrogate pair, which is no character",
    ),
    Case(
        "a column that is not declared",
        recipe_with({**RANGE, "columns": ["humd"]}, table={"name": "t", "columns": COLUMNS}),
        INCOHERENT,
        "/checks/0/columns/0",
        "the table declares no column 'humd'; did you mean 'humid'?",
    ),
    Case(
        "a column in another case",
        recipe_with({**RANGE, "columns": ["Humid"]}, table={"name": "t", "columns": COLUMNS}),
        INCOHERENT,
        "/checks/0/columns/0",
        "the table declares no column 'Humid'; did you mean 'humid'?",
    ),
    Case(
        "a column that an expression reads",
        recipe_with({**RANGE, "columns": [{"expression": "humid + pressure"}]}, table={"name": "t", "columns": COLUMNS}),
        INCOHERENT,
        "/checks/0/columns/0",
        "the table declares no column 'pressure'; it declares origin, time_hour, humid, place, v.w",
    ),
    Case(
        "a grain that is not declared",
        recipe_with(table={"name": "t", "columns": COLUMNS, "grain": ["origin", "tim_hour"]}),
        INCOHERENT,
        "/table/grain/1",
        "grain names column 'tim_hour', which the table does not declare; did you mean 'time_hour'?",
    ),
    Case(
        "a sensitive column that is not declared",
        recipe_with(table={"name": "t", "columns": COLUMNS, "sensitive": ["email"]}),
        INCOHERENT,
        "/table/sensitive/0",
        "sensitive names column 'email', which the table does not declare; it declares origin, time_hour, humid, place, v.w",
    ),
    Case(
        "a grain that repeats",
        recipe_with(table={"name": "t", "grain": ["a", "a"]}),
        INCOHERENT,
        "/table/grain/1",
        "grain names the column 'a' twice; keep one",
    ),
    Case(
        "a column declared twice",
        recipe_with(table={"name": "t", "columns": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}),
        INCOHERENT,
        "/table/columns/2/name",
        "the table declares the column 'a' twice, first as column number 1; keep one",
    ),
    Case(
        "a quarantine that is not declared",
        recipe_with({**RANGE, "enforcement": "quarantine"}),
        INCOHERENT,
        "/checks/0/enforcement",
        "check C quarantines rows, and the recipe declares no quarantine; add one, such as quarantine: {to: bad_rows}",
    ),
]

ACQUIRE = [
    Case(
        "checks that are no list",
        recipe_with(checks={"a": 1}),
        CHECKS,
        "/checks",
        "the recipe states a mapping as checks, where a list of checks is expected",
    ),
    Case(
        "too many checks",
        recipe_with(*({**ROWS, "check_id": f"c{place}"} for place in range(129))),
        CHECKS,
        "/checks",
        "the recipe declares 129 checks, and at most 128 are allowed; split it, or raise the limit max_checks",
    ),
    Case(
        "a bound that nothing can be compared with",
        recipe_with(check_of("is_in_range", column="humid", min_limit=[1], max_limit=5)),
        INVALID,
        "/checks/0/min_limit",
        "check C states a list of 1 as min_limit, where true or false, a number, a timestamp, a date, text, {column: …} or {expression: …} "
        "is expected",
    ),
    Case(
        "an unknown kind",
        recipe_with(check_of("row_expectatio")),
        CHECK,
        "/checks/0/kind",
        "check C has the unknown kind 'row_expectatio'; did you mean 'row_expectation'?",
    ),
    Case(
        "no enforcement",
        recipe_with(without("enforcement", ROWS)),
        CHECK,
        "/checks/0",
        "check C states no enforcement; there is no default, so state required, advisory or quarantine",
    ),
    Case(
        "an enforcement that is none",
        recipe_with({**ROWS, "enforcement": "requird"}),
        CHECK,
        "/checks/0/enforcement",
        "check C states 'requird' as enforcement, where one of required, advisory, quarantine is expected; did you mean 'required'?",
    ),
    Case(
        "an enforcement left empty",
        recipe_with({**ROWS, "enforcement": None}),
        CHECK,
        "/checks/0/enforcement",
        "check C states nothing as enforcement, where one of required, advisory, quarantine is expected; fill it in",
    ),
    Case(
        "too many columns",
        recipe_with({**check_of("null_ceiling", columns=["a", "b", "c"], max_null_ppm=0), "check_id": "temperature_present"}),
        CHECK,
        "/checks/0/columns",
        "check TEMPERATURE_PRESENT reads exactly one column and names 3",
    ),
    Case(
        "a bound that the kind does not read",
        recipe_with({**check_of("key_uniqueness", columns=["a"], max_rows=5), "check_id": "grain_unique"}),
        CHECK,
        "/checks/0/max_rows",
        "check GRAIN_UNIQUE is a key_uniqueness check and states max_rows, which a check of that kind does not read; a bound that is never "
        "evaluated would be reported as satisfied, so state it on a check whose kind reads it",
    ),
    Case(
        "a one-sided range",
        recipe_with({**without("max_value", RANGE), "columns": ["relh"], "check_id": "humidity_in_range"}),
        CHECK,
        "/checks/0",
        "check HUMIDITY_IN_RANGE bounds the values of column relh and states no max_value; an unstated bound is not an open one",
    ),
    Case(
        "a bound that is no decimal",
        recipe_with({**RANGE, "min_value": "1e3"}),
        CHECK,
        "/checks/0/min_value",
        "check C states '1e3' as min_value, which is no decimal number of at most 39 digits and 18 fraction digits, "
        "such as '0', '-12' or '104.5'",
    ),
    Case(
        "an expression that does not parse",
        recipe_with({**RANGE, "columns": [{"expression": "lower("}]}),
        CHECK,
        "/checks/0/columns/0",
        "check C states 'lower(' as entry 1 of columns, which cannot be parsed as one SQL expression near ')'",
    ),
    Case(
        "a floor above every run",
        recipe_with({**ROWS, "min_rows": 10_000_001}),
        CHECK,
        "/checks/0/min_rows",
        "check C states min_rows 10000001, above the 10000000 rows that one run may write; no run could satisfy it",
    ),
    Case(
        "no key to fall back to",
        recipe_with(check_of("key_uniqueness")),
        CHECK,
        "/checks/0/columns",
        "check C names no column and the table declares no grain to fall back to; name 1 to 16 columns",
    ),
    Case(
        "a kind that cannot quarantine",
        recipe_with({**ROWS, "enforcement": "quarantine"}, quarantine={"to": "bad"}),
        CHECK,
        "/checks/0/enforcement",
        "check C is a row_expectation check, which cannot tell which rows to quarantine; make it required or advisory",
    ),
]


@pytest.mark.parametrize("case", [*REGISTRATION, *ACQUIRE], ids=lambda case: case.name)
def test_one_fault_is_one_problem_in_one_sentence(case: Case):
    assert problems_of(case.document) == [(case.code, case.pointer, case.message)]


def test_problems_come_registration_first_and_then_in_the_order_of_the_document():
    document = recipe_with(
        {"check_id": "humid_range", "kind": "row_expectatio", "enforcement": "required"},
        {**ROWS, "check_id": "rows", "columns": ["humid"]},
        {**RANGE, "check_id": "range", "colums": []},
        {**check_of("key_uniqueness"), "check_id": "grain", "columns": ["origin", "tim_hour"]},
        table={"name": "weather", "columns": COLUMNS},
    )
    with pytest.raises(RecipeRefused) as refused:
        load_recipe(document)
    assert str(refused.value) == (
        "the recipe has 4 problems\n"
        "  RECIPE_DOCUMENT_INVALID at /checks/2/colums: check RANGE has the unknown member 'colums'; did you mean 'columns'?\n"
        "  RECIPE_DOCUMENT_INCOHERENT at /checks/3/columns/1: the table declares no column 'tim_hour'; did you mean 'time_hour'?\n"
        "  DECLARED_CHECK_INVALID at /checks/0/kind: check HUMID_RANGE has the unknown kind 'row_expectatio'; "
        "did you mean 'row_expectation'?\n"
        "  DECLARED_CHECK_INVALID at /checks/1/columns: check ROWS counts rows, reads no column and names humid; take the column out"
    )


def test_the_sample_of_the_house_style_reads_as_it_is_written_there():
    document = recipe_with(
        {**check_of("is_in_rnge", column="humid", min_limit=0, max_limit=100), "check_id": "humid_range"},
        *({**ROWS, "check_id": f"rows_{place}"} for place in range(2)),
        check_of("key_uniqueness", columns=["origin", "tim_hour"]),
        table={"name": "weather", "columns": COLUMNS},
    )
    assert [f"{code} at {pointer}: {message}" for code, pointer, message in problems_of(document)] == [
        "RECIPE_DOCUMENT_INCOHERENT at /checks/3/columns/1: the table declares no column 'tim_hour'; did you mean 'time_hour'?",
        "DECLARED_CHECK_INVALID at /checks/0/kind: check HUMID_RANGE has the unknown kind 'is_in_rnge'; did you mean 'is_in_range'?",
    ]


def test_two_checks_of_one_id_are_told_by_both_walks():
    told = "check C shares its id with check number 1"
    assert problems_of(recipe_with(ROWS, RANGE)) == [
        (INCOHERENT, "/checks/1/check_id", f"{told}; give each check an id of its own"),
        (DUPLICATE, "/checks/1/check_id", f"{told}; results under one id could not be told apart, so rename one of the two"),
    ]


def test_every_bound_that_is_not_read_is_told():
    """The acceptance case cfg-bound-not-read."""
    document = recipe_with(
        {"check_id": "a", "kind": "null_ceiling", "enforcement": "required", "columns": ["v"], "max_null_ppm": 0, "max_rows": 100},
        {"check_id": "b", "kind": "value_range", "enforcement": "required", "columns": ["v"], "min_value": "0"},
        {"check_id": "c", "kind": "continuity", "enforcement": "required", "columns": ["v", "v"], "max_gap_seconds": 1},
        {"check_id": "d", "kind": "row_expectation", "enforcement": "required", "columns": ["v"], "min_rows": 1},
        {"check_id": "e", "kind": "row_expectation", "enforcement": "required"},
        {"check_id": "f", "kind": "null_ceiling", "columns": ["v"], "max_null_ppm": 0},
        {"check_id": "g", "kind": "row_expectation", "enforcement": "required", "min_rows": 10000001},
    )
    assert [(code, pointer) for code, pointer, _ in problems_of(document)] == [
        (CHECK, "/checks/0/max_rows"),
        (CHECK, "/checks/1"),
        (CHECK, "/checks/2/columns"),
        (CHECK, "/checks/3/columns"),
        (CHECK, "/checks/4"),
        (CHECK, "/checks/5"),
        (CHECK, "/checks/6/min_rows"),
    ]


def test_sixteen_key_columns_are_a_key_and_seventeen_are_none():
    """The acceptance case cfg-17-key-columns."""
    keys = [f"k{place}" for place in range(17)]
    assert load_recipe(recipe_with(check_of("key_uniqueness", columns=keys[:16]))).checks
    assert [(code, pointer) for code, pointer, _ in problems_of(recipe_with(check_of("key_uniqueness", columns=keys)))] == [
        (CHECK, "/checks/0/columns")
    ]


def test_a_grain_that_is_wrong_is_not_told_again_at_the_check_that_falls_back_to_it():
    document = recipe_with(check_of("key_uniqueness"), table={"name": "t", "grain": "origin"})
    assert [pointer for _, pointer, _ in problems_of(document)] == ["/table/grain"]


@pytest.mark.parametrize("path", ["humid", "place.city", "v.w", "v.w.x"])
def test_a_dotted_path_needs_its_head_to_be_declared(path: str):
    document = recipe_with({**RANGE, "columns": [path]}, table={"name": "t", "columns": COLUMNS})
    assert load_recipe(document).checks[0].check_id == "c"


def test_a_limit_of_the_deployment_holds():
    document = recipe_with(*({**ROWS, "check_id": f"c{place}"} for place in range(129)))
    assert len(load_recipe(document, limits=Limits(max_checks=129)).checks) == 129


def test_values_of_the_document_are_cut_where_they_are_long():
    [(_, _, message)] = problems_of(recipe_with({**RANGE, "min_value": "x" * 10_000}))
    assert len(message) < 300
