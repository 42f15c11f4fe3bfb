"""The check functions of DQX: what arguments each takes, and how it names a check that nobody named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Argument = Literal[
    "column", "column or *", "columns", "name", "names", "value", "values", "whole", "number", "flag", "text", "texts", "mapping",
    "instant", "expression", "filter", "query", "reference", "message", "hint",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Function:
    """A check function. `nullable` are the arguments for which null is as good as leaving them out.

    `what_failed` follows the column in the name of a check that nobody named, as it does in DQX.
    """

    arguments: Mapping[str, Argument]
    nullable: frozenset[str]
    what_failed: str


def _function(what_failed: str, arguments: Mapping[str, Argument], *, nullable: str = "") -> Function:
    return Function(arguments, frozenset(nullable.split()), what_failed)


def _column(what_failed: str, *, nullable: str = "", **more: Argument) -> Function:
    return _function(what_failed, {"column": "column", **more}, nullable=nullable)


_TOLERANCES: dict[str, Argument] = {"abs_tolerance": "number", "rel_tolerance": "number"}
_REFERENCE: dict[str, Argument] = {"ref_df_name": "reference", "ref_table": "reference"}
_AGGREGATE: dict[str, Argument] = {
    "column": "column or *",
    "limit": "value",
    "aggr_type": "text",
    "group_by": "columns",
    "row_filter": "filter",
    "aggr_params": "mapping",
}
_OF_AGGREGATES = "group_by row_filter aggr_params abs_tolerance rel_tolerance"

FUNCTIONS: dict[str, Function] = {
    "is_not_null": _column("is_null"),
    "is_null": _column("is_not_null"),
    "is_not_empty": _column("is_empty", trim_strings="flag", nullable="trim_strings"),
    "is_empty": _column("is_not_empty", trim_strings="flag", nullable="trim_strings"),
    "is_not_null_and_not_empty": _column("is_null_or_empty", trim_strings="flag", nullable="trim_strings"),
    "is_null_or_empty": _column("is_not_null_and_not_empty", trim_strings="flag", nullable="trim_strings"),
    "is_not_null_and_not_empty_array": _column("is_null_or_empty_array"),
    "has_valid_string_case": _column("has_invalid_string_case", case="text"),
    "is_in_list": _column("is_not_in_the_list", allowed="values", case_sensitive="flag"),
    "is_not_null_and_is_in_list": _column("is_null_or_is_not_in_the_list", allowed="values", case_sensitive="flag"),
    "is_not_in_list": _column("is_in_the_forbidden_list", forbidden="values", case_sensitive="flag"),
    "sql_expression": _function(
        "is_not_met",
        {"expression": "expression", "msg": "message", "name": "message", "negate": "flag", "columns": "columns"},
        nullable="msg name columns",
    ),
    "is_older_than_col2_for_n_days": _function(
        "not_older_than_n_days", {"column1": "column", "column2": "column", "days": "whole", "negate": "flag"}
    ),
    "is_older_than_n_days": _column("not_older_than_n_days", days="whole", curr_date="instant", negate="flag", nullable="curr_date"),
    "is_not_in_future": _column("in_future", offset="whole", curr_timestamp="instant", nullable="curr_timestamp"),
    "is_not_in_near_future": _column("in_near_future", offset="whole", curr_timestamp="instant", nullable="curr_timestamp"),
    "is_data_fresh": _column("is_data_fresh", max_age_minutes="whole", base_timestamp="value", nullable="base_timestamp"),
    "is_equal_to": _column(
        "not_equal_to_value", value="value", allow_nulls="flag", **_TOLERANCES, nullable="value abs_tolerance rel_tolerance"
    ),
    "is_not_equal_to": _column(
        "equal_to_value", value="value", allow_nulls="flag", **_TOLERANCES, nullable="value abs_tolerance rel_tolerance"
    ),
    "is_not_less_than": _column("less_than_limit", limit="value", allow_nulls="flag", nullable="limit"),
    "is_not_greater_than": _column("greater_than_limit", limit="value", allow_nulls="flag", nullable="limit"),
    "is_in_range": _column("not_in_range", min_limit="value", max_limit="value", allow_nulls="flag", nullable="min_limit max_limit"),
    "is_not_in_range": _column("in_range", min_limit="value", max_limit="value", allow_nulls="flag", nullable="min_limit max_limit"),
    "has_num_decimal_places": _column("has_more_decimal_places", limit="value", allow_nulls="flag", nullable="limit"),
    "regex_match": _column("not_matching_regex", regex="text", negate="flag"),
    "is_valid_date": _column("is_not_valid_date", date_format="text", nullable="date_format"),
    "is_valid_timestamp": _column("is_not_valid_timestamp", timestamp_format="text", nullable="timestamp_format"),
    "is_valid_ipv4_address": _column("does_not_match_pattern_ipv4_address"),
    "is_ipv4_address_in_cidr": _column("is_not_ipv4_in_cidr", cidr_block="text"),
    "is_valid_ipv6_address": _column("does_not_match_pattern_ipv6_address"),
    "is_ipv6_address_in_cidr": _column("is_not_ipv6_in_cidr", cidr_block="text"),
    "is_valid_email": _column("is_not_valid_email"),
    "is_valid_url": _column("is_not_valid_url"),
    "is_valid_national_id": _column("is_not_valid_national_id", country="text"),
    "is_valid_uuid": _column("is_not_valid_uuid", strict="flag"),
    "is_valid_country_code": _column("is_not_valid_country_code", code_format="text", case_sensitive="flag"),
    "is_valid_currency_code": _column("is_not_valid_currency_code", code_format="text", case_sensitive="flag"),
    "is_valid_subdivision_code": _column(
        "is_not_valid_subdivision_code", case_sensitive="flag", country_column="column", nullable="country_column"
    ),
    "is_valid_language_code": _column("is_not_valid_language_code", code_format="text", case_sensitive="flag"),
    "is_valid_json": _column("is_not_valid_json"),
    "has_json_keys": _column("does_not_have_json_keys", keys="texts", require_all="flag"),
    "has_valid_json_schema": _column("has_invalid_json_schema", schema="text"),
    "has_no_outliers": _column("has_outliers", row_filter="filter", nullable="row_filter"),
    "is_unique": _function(
        "is_not_unique",
        {"columns": "names", "nulls_distinct": "flag", "row_filter": "filter", "trim_strings": "flag"},
        nullable="row_filter",
    ),
    "foreign_key": _function(
        "not_exists_in_ref",
        {
            "columns": "columns",
            "ref_columns": "columns",
            **_REFERENCE,
            "negate": "flag",
            "row_filter": "filter",
            "null_safe": "flag",
            "broadcast_ref": "hint",
        },
        nullable="ref_df_name ref_table row_filter broadcast_ref",
    ),
    "sql_query": _function(
        "query_condition_violation",
        {
            "query": "query",
            "merge_columns": "names",
            "msg": "message",
            "name": "message",
            "negate": "flag",
            "condition_column": "text",
            "input_placeholder": "text",
            "row_filter": "filter",
        },
        nullable="merge_columns msg name row_filter",
    ),
    "is_aggr_not_greater_than": _function("greater_than_limit", _AGGREGATE, nullable=_OF_AGGREGATES),
    "is_aggr_not_less_than": _function("less_than_limit", _AGGREGATE, nullable=_OF_AGGREGATES),
    "is_aggr_equal": _function("not_equal_to_limit", {**_AGGREGATE, **_TOLERANCES}, nullable=_OF_AGGREGATES),
    "is_aggr_not_equal": _function("equal_to_limit", {**_AGGREGATE, **_TOLERANCES}, nullable=_OF_AGGREGATES),
    "has_no_aggr_outliers": _function(
        "has_aggr_outliers",
        {
            "column": "column or *",
            "time_column": "name",
            "aggr_type": "text",
            "sigma": "number",
            "lookback_num_intervals": "whole",
            "warmup_num_intervals": "whole",
            "time_interval": "text",
            "group_by": "columns",
            "row_filter": "filter",
            "aggr_params": "mapping",
        },
        nullable=_OF_AGGREGATES,
    ),
    "aggr_matches_dataset": _function(
        "does_not_match_dataset",
        {
            "column": "column or *",
            **_REFERENCE,
            "ref_column": "column or *",
            "aggr_type": "text",
            "aggr_params": "mapping",
            "group_by": "columns",
            "ref_group_by": "columns",
            "row_filter": "filter",
            "ref_row_filter": "filter",
            **_TOLERANCES,
        },
        nullable=f"ref_df_name ref_table ref_column ref_group_by ref_row_filter {_OF_AGGREGATES}",
    ),
    "compare_datasets": _function(
        "datasets_differ",
        {
            "columns": "columns",
            "ref_columns": "columns",
            **_REFERENCE,
            "check_missing_records": "flag",
            "exclude_columns": "columns",
            "null_safe_row_matching": "flag",
            "null_safe_column_value_matching": "flag",
            "row_filter": "filter",
            **_TOLERANCES,
            "raise_on_duplicate_keys": "flag",
        },
        nullable="ref_df_name ref_table check_missing_records exclude_columns null_safe_row_matching "
        "null_safe_column_value_matching row_filter abs_tolerance rel_tolerance raise_on_duplicate_keys",
    ),
    "is_data_fresh_per_time_window": _column(
        "is_data_fresh_per_time_window",
        window_minutes="whole",
        min_records_per_window="whole",
        lookback_windows="whole",
        row_filter="filter",
        curr_timestamp="instant",
        nullable="lookback_windows row_filter curr_timestamp",
    ),
    "has_no_gaps_per_time_window": _column(
        "has_gaps_per_time_window",
        window_minutes="whole",
        group_by="columns",
        trailing_gap="flag",
        curr_timestamp="instant",
        nullable="group_by curr_timestamp",
    ),
    "has_valid_schema": _function(
        "has_invalid_schema",
        {"expected_schema": "text", **_REFERENCE, "columns": "columns", "strict": "flag", "exclude_columns": "columns"},
        nullable="expected_schema ref_df_name ref_table columns exclude_columns",
    ),
    "is_in_distribution": _column(
        "is_not_in_distribution",
        distribution="mapping",
        distance="number",
        case_sensitive="flag",
        row_filter="filter",
        nullable="row_filter",
    ),
}
