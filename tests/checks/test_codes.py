"""Kinds about codes that a registry assigns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dq_dagster.checks.codes import _assigned
from tests.checks.cases import Case, failed, passed, refused, run_cases

TEXT = {"s": pa.string()}
FILTERED = {"s": pa.string(), "a": pa.int64()}
WITH_COUNTRY = {"s": pa.string(), "c": pa.string()}
COLUMN = {"column": "s"}
GOOD = {
    "is_valid_country_code": "US",
    "is_valid_currency_code": "USD",
    "is_valid_subdivision_code": "US-CA",
    "is_valid_language_code": "en",
    "is_valid_national_id": "123-45-6789",
}

CASES = [
    *(Case(kind, "no rows", COLUMN, (TEXT, []), passed(detail="none of 0 rows")) for kind in GOOD),
    *(
        Case(kind, "NULL passes and an empty text does not", COLUMN, (TEXT, [None, "", good]), failed(rows=[1]))
        for kind, good in GOOD.items()
    ),
    *(
        Case(
            kind,
            "only rows that the filter selects",
            {**COLUMN, "filter": "a > 0"},
            (FILTERED, [("??", 1), ("??", 0), (good, 1)]),
            failed(rows=[0]),
        )
        for kind, good in GOOD.items()
    ),
    *(
        Case(kind, "spaces and line breaks belong to the code", COLUMN, (TEXT, [good, f" {good}", f"{good}\n"]), failed(rows=[1, 2]))
        for kind, good in GOOD.items()
    ),
    Case(
        "is_valid_country_code",
        "assigned codes alone",
        COLUMN,
        (TEXT, ["US", "TW", "SS", "AQ", "us", "UK", "XK", "EU", "USA", "AN"]),
        failed(rows=range(4, 10), detail="6 of 10 rows have s that is no alpha-2 country code of ISO 3166-1"),
    ),
    Case("is_valid_country_code", "in either case", {**COLUMN, "case_sensitive": False}, (TEXT, ["us", "Gb", "xk"]), failed(rows=[2])),
    Case(
        "is_valid_country_code",
        "alpha-3",
        {**COLUMN, "code_format": "Alpha-3"},
        (TEXT, ["USA", "usa", "US", "XKX"]),
        failed(rows=[1, 2, 3]),
    ),
    Case(
        "is_valid_country_code",
        "numeric text",
        {**COLUMN, "code_format": "numeric"},
        (TEXT, ["840", "004", "4", "999"]),
        failed(rows=[2, 3]),
    ),
    Case(
        "is_valid_country_code",
        "numbers have no zeros before them",
        {**COLUMN, "code_format": "NUMERIC"},
        ({"s": pa.int64()}, [840, 4, None]),
        failed(rows=[1]),
    ),
    Case(
        "is_valid_country_code",
        "an unknown format",
        {**COLUMN, "code_format": "alpha-4"},
        (TEXT, []),
        refused("RECIPE_DOCUMENT_INVALID", "alpha-3"),
    ),
    Case(
        "is_valid_currency_code",
        "every assigned code and no withdrawn one",
        COLUMN,
        (TEXT, ["USD", "XXX", "XTS", "XAU", "XDR", "XCG", "ZWG", "SLE", "VED", "BTC", "HRK", "ZWL", "SLL", "CUC", "ANG", "BGN", "usd"]),
        failed(rows=range(9, 17), detail="no alphabetic currency code of ISO 4217"),
    ),
    Case("is_valid_currency_code", "in either case", {**COLUMN, "case_sensitive": False}, (TEXT, ["usd", "eUr", "btc"]), failed(rows=[2])),
    Case(
        "is_valid_currency_code",
        "numeric",
        {**COLUMN, "code_format": "numeric"},
        (TEXT, ["840", "036", "999", "36", "000"]),
        failed(rows=[3, 4]),
    ),
    Case(
        "is_valid_subdivision_code",
        "codes with their country",
        COLUMN,
        (TEXT, ["US-CA", "GB-ENG", "DE-BY", "US-BY", "us-ca", "CA"]),
        failed(rows=[3, 4, 5]),
    ),
    Case(
        "is_valid_subdivision_code",
        "in either case",
        {**COLUMN, "case_sensitive": False},
        (TEXT, ["us-ca", "Gb-eNg", "us-by"]),
        failed(rows=[2]),
    ),
    Case(
        "is_valid_subdivision_code",
        "of the country in the same row",
        {**COLUMN, "country_column": "c"},
        (WITH_COUNTRY, [("US-CA", "US"), ("US-CA", "GB"), ("US-CA", "us"), ("US-CA", None), (None, "US"), ("bad", None), ("US-BY", "US")]),
        failed(rows=[1, 2, 5, 6], detail="or of another country than c"),
    ),
    Case(
        "is_valid_subdivision_code",
        "of the country in either case",
        {**COLUMN, "country_column": "c", "case_sensitive": False},
        (WITH_COUNTRY, [("us-ca", "US"), ("US-CA", "us"), ("US-CA", "gb")]),
        failed(rows=[2]),
    ),
    Case(
        "is_valid_subdivision_code",
        "the country's column is not stored",
        {**COLUMN, "country_column": "nope"},
        (TEXT, ["US-CA"]),
        refused("DECLARED_CHECK_COLUMN_UNKNOWN"),
    ),
    Case(
        "is_valid_language_code",
        "codes of ISO 639-1",
        COLUMN,
        (TEXT, ["en", "sh", "he", "tl", "EN", "eng", "xx", "iw", "mo", "zh-CN"]),
        failed(rows=range(4, 10), detail="no alpha-2 language code of ISO 639"),
    ),
    Case("is_valid_language_code", "in either case", {**COLUMN, "case_sensitive": False}, (TEXT, ["EN", "Fr", "XX"]), failed(rows=[2])),
    Case(
        "is_valid_language_code",
        "codes of ISO 639-3",
        {**COLUMN, "code_format": "ALPHA-3"},
        (TEXT, ["eng", "deu", "lat", "tlh", "mis", "und", "zxx", "ger", "ENG", "en", "qaa"]),
        failed(rows=[7, 8, 9, 10]),
    ),
    Case(
        "is_valid_national_id",
        "US: one separator throughout, and ranges that are issued",
        COLUMN,
        (
            TEXT,
            [
                "123-45-6789",
                "123 45 6789",
                "123456789",
                "899-12-3456",
                "665-01-0001",
                "123-45 6789",
                "12345-6789",
                "000-12-3456",
                "666-12-3456",
                "900-12-3456",
                "123-00-4567",
                "123-45-0000",
                "123-45-67890",
            ],
        ),
        failed(rows=range(5, 13), detail="no US social security number"),
    ),
    Case(
        "is_valid_national_id",
        "US: numbers",
        {**COLUMN, "country": "us"},
        ({"s": pa.int64()}, [123456789, 1234567, None]),
        failed(rows=[1]),
    ),
    Case(
        "is_valid_national_id",
        "GB",
        {**COLUMN, "country": "gb"},
        (
            TEXT,
            [
                "AB123456C",
                "AB 12 34 56 C",
                "AB12 3456C",
                "OA123456A",
                "ab123456c",
                "BG123456A",
                "DA123456A",
                "AO123456A",
                "AB123456E",
                "AB  123456C",
                "ZZ 12 34 56 C",
            ],
        ),
        failed(rows=range(4, 11), detail="no UK national insurance number"),
    ),
    Case(
        "is_valid_national_id",
        "IN: the fourth letter says what the holder is",
        {**COLUMN, "country": "IN"},
        (TEXT, ["ABCPE1234F", "ABCCE1234F", "ABCDE1234F", "abcpe1234f", "ABCPE12345"]),
        failed(rows=[2, 3, 4], detail="no Indian permanent account number"),
    ),
    Case(
        "is_valid_national_id", "another country", {**COLUMN, "country": "DE"}, (TEXT, []), refused("RECIPE_DOCUMENT_INVALID", "US, GB, IN")
    ),
]

test_cases = run_cases(CASES)


@pytest.mark.parametrize(
    ("registry", "member", "assigned"),
    [
        ("countries", "alpha_2", 249),
        ("countries", "alpha_3", 249),
        ("countries", "numeric", 249),
        ("currencies", "alpha_3", 170),
        ("currencies", "numeric", 170),
        ("subdivisions", "code", 5000),
        ("languages", "alpha_2", 183),
        ("languages", "alpha_3", 7900),
    ],
)
def test_a_registry_is_read_whole_and_no_code_holds_a_space(registry: str, member: str, assigned: int):
    codes = _assigned(registry, member)
    assert len(codes) >= assigned
    assert not [code for code in codes if " " in code or not code]
