"""Kinds about codes that a registry assigns: countries, currencies, subdivisions, languages, persons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator
from sqlglot import exp

from dq_dagster import sql
from dq_dagster.checks.fields import ColumnRef
from dq_dagster.checks.shapes import RowCheck
from dq_dagster.checks.table import CheckedTable


def _in_case(change: Callable[[str], str]) -> BeforeValidator:
    """Lets a word be written in either case."""

    def changed(written: Any) -> Any:
        return change(written) if isinstance(written, str) else written

    return BeforeValidator(changed)


CountryFormat = Annotated[Literal["alpha-2", "alpha-3", "numeric"], _in_case(str.lower)]
CurrencyFormat = Annotated[Literal["alphabetic", "numeric"], _in_case(str.lower)]
LanguageFormat = Annotated[Literal["alpha-2", "alpha-3"], _in_case(str.lower)]
IdCountry = Annotated[Literal["US", "GB", "IN"], _in_case(str.upper)]


@lru_cache(maxsize=16)
def _assigned(registry: str, member: str) -> frozenset[str]:
    """The codes that a registry of pycountry assigns, as they are registered. Reading one takes up to a few tenths of a second."""
    import pycountry

    entries: Iterable[Any] = getattr(pycountry, registry)
    return frozenset(code for entry in entries if (code := getattr(entry, member, None)))


def _not_assigned(value: exp.Expr, codes: frozenset[str], *, case_sensitive: bool) -> exp.Expr:
    """Whether the text is none of the codes; NULL stays NULL."""
    if case_sensitive:
        return sql.not_(sql.is_word(value, codes))
    return sql.not_(sql.is_word(sql.call("lower", value), {code.lower() for code in codes}))


class IsValidCountryCode(RowCheck):
    """Every value is a country code that ISO 3166-1 has assigned, in the form that `code_format` names.

    `code_format` is alpha-2 (US), alpha-3 (USA) or numeric (840, always three digits: a stored 4 is not 004). Reserved
    and user-assigned codes such as XK are none. NULL passes. An empty table passes.

    Example:
        {check_id: country_known, kind: is_valid_country_code, enforcement: required, column: country, code_format: alpha-3}
    """

    kind: Literal["is_valid_country_code"] = "is_valid_country_code"
    column: ColumnRef
    code_format: CountryFormat = "alpha-2"
    case_sensitive: bool = True

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        codes = _assigned("countries", self.code_format.replace("-", "_"))
        return _not_assigned(table.value(self.column).as_text, codes, case_sensitive=self.case_sensitive)

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} that is no {self.code_format} country code of ISO 3166-1"


class IsValidCurrencyCode(RowCheck):
    """Every value is a currency code that ISO 4217 has assigned, in the form that `code_format` names.

    `code_format` is alphabetic (USD) or numeric (840, always three digits: a stored 36 is not 036). Codes of no spendable
    currency, such as XXX, XTS and XAU, are codes; withdrawn ones are none. NULL passes. An empty table passes.

    Example:
        {check_id: currency_known, kind: is_valid_currency_code, enforcement: required, column: currency}
    """

    kind: Literal["is_valid_currency_code"] = "is_valid_currency_code"
    column: ColumnRef
    code_format: CurrencyFormat = "alphabetic"
    case_sensitive: bool = True

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        codes = _assigned("currencies", {"alphabetic": "alpha_3", "numeric": "numeric"}[self.code_format])
        return _not_assigned(table.value(self.column).as_text, codes, case_sensitive=self.case_sensitive)

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} that is no {self.code_format} currency code of ISO 4217"


class IsValidSubdivisionCode(RowCheck):
    """Every value is a code of a state, province or region that ISO 3166-2 has assigned, such as US-CA.

    With `country_column` the part before the hyphen must be that column's value in the same row, where it is present.
    `case_sensitive` governs both. NULL passes. An empty table passes.

    Example:
        {check_id: region_known, kind: is_valid_subdivision_code, enforcement: required, column: region, country_column: country}
    """

    kind: Literal["is_valid_subdivision_code"] = "is_valid_subdivision_code"
    column: ColumnRef
    case_sensitive: bool = True
    country_column: ColumnRef | None = None

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        value = table.value(self.column).as_text
        unknown = _not_assigned(value, _assigned("subdivisions", "code"), case_sensitive=self.case_sensitive)
        if self.country_column is None:
            return unknown
        ends = [sql.call("split_part", value, sql.text("-"), sql.integer(1)), table.value(self.country_column).as_text]
        prefix, country = ends if self.case_sensitive else [sql.call("lower", end) for end in ends]
        return sql.any_of([unknown, exp.NEQ(this=prefix, expression=country)])

    def fault(self, table: CheckedTable) -> str:
        within = f", or of another country than {self.country_column.label}" if self.country_column else ""
        return f"{self.column.label} that is no subdivision code of ISO 3166-2{within}"


class IsValidLanguageCode(RowCheck):
    """Every value is a language code of ISO 639, in the form that `code_format` names.

    `code_format` is alpha-2 (ISO 639-1, en) or alpha-3 (ISO 639-3, eng). Codes are lower-case; bibliographic ones that
    differ, such as ger, are none. NULL passes. An empty table passes.

    Example:
        {check_id: language_known, kind: is_valid_language_code, enforcement: required, column: language, case_sensitive: false}
    """

    kind: Literal["is_valid_language_code"] = "is_valid_language_code"
    column: ColumnRef
    code_format: LanguageFormat = "alpha-2"
    case_sensitive: bool = True

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        codes = _assigned("languages", self.code_format.replace("-", "_"))
        return _not_assigned(table.value(self.column).as_text, codes, case_sensitive=self.case_sensitive)

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} that is no {self.code_format} language code of ISO 639"


# What is never issued is left out: areas 000, 666 and 9xx, group 00 and serial 0000 in the US (SSA); the letters D, F, I,
# Q, U, V and seven prefixes in the UK (HMRC); in an Indian PAN the fourth letter says what the holder is.
_AREA = "(?:00[1-9]|0[1-9][0-9]|[1-578][0-9]{2}|6[0-57-9][0-9]|66[0-57-9])"
_NUMBER, _SERIAL = "(?:0[1-9]|[1-9][0-9])", "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_NATIONAL_IDS = {
    "US": "|".join(f"{_AREA}{mark}{_NUMBER}{mark}{_SERIAL}" for mark in ("-", " ", "")),
    "GB": "[ABCEGHJ-PRSTW-Z][ABCEGHJ-NPRSTW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]",
    "IN": "[A-Z]{3}[ABCFGHJLPT][A-Z][0-9]{4}[A-Z]",
}
_NEVER_ISSUED = {"GB": ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ")}
_ID_NAMES = {"US": "US social security number", "GB": "UK national insurance number", "IN": "Indian permanent account number"}


class IsValidNationalId(RowCheck):
    """Every value has the form of a person's number in `country`, and lies in a range that is issued.

    `country` is US (social security number, with hyphens, with spaces or with neither), GB (national insurance number,
    upper-case) or IN (permanent account number, upper-case), in either case. NULL passes. An empty table passes.

    Example:
        {check_id: ssn_usable, kind: is_valid_national_id, enforcement: required, column: ssn, country: US}
    """

    kind: Literal["is_valid_national_id"] = "is_valid_national_id"
    column: ColumnRef
    country: IdCountry = "US"

    def bad_row(self, table: CheckedTable) -> exp.Expr:
        value = table.value(self.column).as_text
        wrong = sql.not_(sql.matches(value, _NATIONAL_IDS[self.country]))
        if self.country not in _NEVER_ISSUED:
            return wrong
        return sql.any_of([wrong, sql.matches(value, f"(?s:(?:{'|'.join(_NEVER_ISSUED[self.country])}).*)")])

    def fault(self, table: CheckedTable) -> str:
        return f"{self.column.label} that is no {_ID_NAMES[self.country]}"
