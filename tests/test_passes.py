"""How few passes answer many checks: every DQX kind at once, over one table."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dq_dagster import Recipe, evaluate
from dq_dagster.documents.dqx_functions import FUNCTIONS
from dq_dagster.run import explained

MOST_PASSES = 12
ROWS = 2_000
START = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
NOW = START + dt.timedelta(seconds=ROWS)
RECENT = NOW.isoformat()

CHECKS: dict[str, dict[str, Any]] = {
    "is_not_null": {"column": "id"},
    "is_null": {"column": "nothing"},
    "is_not_empty": {"column": "name"},
    "is_empty": {"column": "blank"},
    "is_not_null_and_not_empty": {"column": "name", "trim_strings": True},
    "is_null_or_empty": {"column": "blank"},
    "is_not_null_and_not_empty_array": {"column": "tags"},
    "has_valid_string_case": {"column": "origin", "case": "upper"},
    "is_in_list": {"column": "origin", "allowed": ["EWR", "JFK", "LGA"]},
    "is_not_null_and_is_in_list": {"column": "origin", "allowed": ["EWR", "JFK", "LGA"]},
    "is_not_in_list": {"column": "name", "forbidden": ["test", "admin"]},
    "is_in_distribution": {"column": "origin", "distribution": {"EWR": 0.34, "JFK": 0.33, "LGA": 0.33}, "distance": 0.05},
    "sql_expression": {"expression": "price >= 0"},
    "is_older_than_col2_for_n_days": {"column1": "ordered", "column2": "delivered", "days": 1},
    "is_older_than_n_days": {"column": "ordered", "days": 30},
    "is_not_in_future": {"column": "at", "curr_timestamp": RECENT},
    "is_not_in_near_future": {"column": "at", "offset": 60, "curr_timestamp": RECENT},
    "is_data_fresh": {"column": "at", "max_age_minutes": 1440, "base_timestamp": RECENT},
    "is_equal_to": {"column": "unit", "value": "m"},
    "is_not_equal_to": {"column": "price", "value": -9999},
    "is_not_less_than": {"column": "price", "limit": 0},
    "is_not_greater_than": {"column": "price", "limit": 100},
    "is_in_range": {"column": "price", "min_limit": 0, "max_limit": 100},
    "is_not_in_range": {"column": "price", "min_limit": 500, "max_limit": 600},
    "has_num_decimal_places": {"column": "price", "limit": 2},
    "regex_match": {"column": "origin", "regex": "^[A-Z]{3}$"},
    "is_valid_date": {"column": "born", "date_format": "yyyy-MM-dd"},
    "is_valid_timestamp": {"column": "born"},
    "is_valid_ipv4_address": {"column": "ipv4"},
    "is_ipv4_address_in_cidr": {"column": "ipv4", "cidr_block": "10.0.0.0/8"},
    "is_valid_ipv6_address": {"column": "ipv6"},
    "is_ipv6_address_in_cidr": {"column": "ipv6", "cidr_block": "2001:db8::/32"},
    "is_valid_email": {"column": "email"},
    "is_valid_url": {"column": "homepage"},
    "is_valid_uuid": {"column": "uuid"},
    "is_valid_national_id": {"column": "ssn"},
    "is_valid_country_code": {"column": "country"},
    "is_valid_currency_code": {"column": "currency"},
    "is_valid_subdivision_code": {"column": "region", "country_column": "country"},
    "is_valid_language_code": {"column": "language"},
    "is_valid_json": {"column": "payload"},
    "has_json_keys": {"column": "payload", "keys": ["id"]},
    "has_valid_json_schema": {"column": "payload", "schema": "id INT NOT NULL"},
    "has_no_outliers": {"column": "price"},
    "is_unique": {"columns": ["id"]},
    "foreign_key": {"columns": ["origin"], "ref_columns": ["code"], "reference": "airports"},
    "sql_query": {"query": "SELECT count(*) < 2 AS condition FROM {{ input_view }}"},
    "is_aggr_not_greater_than": {"column": "price", "aggr_type": "max", "limit": 100},
    "is_aggr_not_less_than": {"column": "*", "limit": 2, "group_by": ["origin"]},
    "is_aggr_equal": {"column": "origin", "aggr_type": "count_distinct", "limit": 3},
    "is_aggr_not_equal": {"column": "price", "aggr_type": "avg", "limit": 0, "group_by": ["origin"]},
    "has_no_aggr_outliers": {"column": "price", "time_column": "at", "aggr_type": "avg", "time_interval": "minute"},
    "aggr_matches_dataset": {"column": "price", "aggr_type": "sum", "reference": "copy", "group_by": ["origin"]},
    "compare_datasets": {"columns": ["id"], "ref_columns": ["id"], "reference": "copy"},
    "is_data_fresh_per_time_window": {"column": "at", "window_minutes": 1, "min_records_per_window": 1, "curr_timestamp": RECENT},
    "has_no_gaps_per_time_window": {"column": "at", "window_minutes": 1},
    "has_valid_schema": {"expected_schema": "id BIGINT, origin STRING"},
}


def sales(rows: int) -> pa.Table:
    """Rows of which none breaks any of the checks."""
    numbers = range(rows)
    texts = {
        "blank": "",
        "unit": "m",
        "born": "1990-02-28",
        "ipv6": "2001:db8::1",
        "homepage": "https://example.com/a",
        "ssn": "123-45-6789",
        "country": "US",
        "currency": "USD",
        "region": "US-CA",
        "language": "en",
    }
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "nothing": pa.nulls(rows, pa.int32()),
            "name": [f"name {number % 97}" for number in numbers],
            "tags": pa.array([["a", "b"]] * rows),
            "origin": [("EWR", "JFK", "LGA")[number % 3] for number in numbers],
            "price": pa.array([20 + number % 7 for number in numbers], pa.float64()),
            "at": pa.array([START + dt.timedelta(seconds=number * ROWS / rows) for number in numbers], pa.timestamp("us", "UTC")),
            "ordered": pa.array([dt.date(2025, 1, 1)] * rows),
            "delivered": pa.array([dt.date(2025, 1, 8)] * rows),
            "ipv4": [f"10.0.{number % 200}.1" for number in numbers],
            "email": [f"user{number}@example.com" for number in numbers],
            "uuid": [f"123e4567-e89b-12d3-a456-{number:012d}" for number in numbers],
            "payload": [f'{{"id": {number}}}' for number in numbers],
            **{name: [text] * rows for name, text in texts.items()},
        }
    )


GROUPED: dict[str, dict[str, Any]] = {
    "is_aggr_not_greater_than": {"group_by": ["name"]},
    "is_aggr_not_less_than": {"group_by": ["origin"]},
    "is_aggr_equal": {"group_by": ["country"]},
    "is_aggr_not_equal": {"group_by": ["ordered"]},
    "has_no_aggr_outliers": {"group_by": ["origin"]},
    "has_no_gaps_per_time_window": {"group_by": ["origin"]},
    "sql_query": {"query": "SELECT origin, false AS condition FROM {{ input_view }} GROUP BY origin", "merge_columns": ["origin"]},
}


def recipe_of_all(**more: dict[str, Any]) -> Recipe:
    """One check of every DQX kind, some of them with more members."""
    checks = [
        {"check_id": kind, "kind": kind, "enforcement": "required", **members, **more.get(kind, {})} for kind, members in CHECKS.items()
    ]
    references = {"airports": {"path": "airports.parquet"}, "copy": {"path": "sales.parquet"}}
    return Recipe.model_validate({"recipe": "everything", "table": {"name": "sales"}, "references": references, "checks": checks})


def stored(folder: Path, rows: int) -> dict[str, str]:
    """Writes the table and the references; gives the paths of the references."""
    pq.write_table(sales(rows), folder / "sales.parquet")
    pq.write_table(pa.table({"code": ["EWR", "JFK", "LGA"]}), folder / "airports.parquet")
    return {"airports": str(folder / "airports.parquet"), "copy": str(folder / "sales.parquet")}


def passes(recipe: Recipe, folder: Path, references: dict[str, str]) -> list[str]:
    """What each pass of the plan answers."""
    plan = explained(recipe, folder / "sales.parquet", references=references)
    return re.findall(r"^pass \d+ answers (.*); reads", plan, re.MULTILINE)


def test_there_is_a_check_of_every_dqx_kind():
    assert sorted(CHECKS) == sorted(FUNCTIONS)
    assert len(CHECKS) == 57


def test_all_57_kinds_take_at_most_12_passes(tmp_path):
    recipe, references = recipe_of_all(), stored(tmp_path, ROWS)
    found = passes(recipe, tmp_path, references)
    assert len(found) <= MOST_PASSES, "\n".join(found)
    evaluation = evaluate(recipe, tmp_path / "sales.parquet", references=references, now=NOW)
    assert [f"{one.check_id}: {one.detail}" for one in evaluation.outcomes if one.status != "passed"] == []


def test_groups_and_filters_of_their_own_take_no_more(tmp_path):
    filters = {kind: {"filter": f"price > {place}", **GROUPED.get(kind, {})} for place, kind in enumerate(CHECKS)}
    found = passes(recipe_of_all(**filters), tmp_path, stored(tmp_path, ROWS))
    assert len(found) <= MOST_PASSES, "\n".join(found)
