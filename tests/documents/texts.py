"""Documents for tests: a whole one, values to put into one, files, refusals."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from dq_dagster import RecipeRefused, load_recipe

names = st.text(min_size=1, max_size=8)
texts = st.one_of(
    st.text(max_size=12), st.sampled_from(["no", "1e3", "0o7", "2020-01-01", "~", "", " x ", "a: b", "<<", "1_0", ".inf", "\x85", "'"])
)
decimals = st.decimals(allow_nan=False, allow_infinity=False, places=6)
dates = st.one_of(st.dates(), st.datetimes(timezones=st.just(dt.timezone.utc)), st.datetimes())
leaves = st.one_of(st.none(), st.booleans(), st.integers(), decimals, texts)

VALID: dict[str, Any] = {
    "recipe": "weather",
    "description": "x",
    "table": {"name": "t", "columns": [{"name": "a", "type": "varchar"}, {"name": "b"}], "grain": ["a"], "sensitive": ["b"]},
    "references": {"planes": {"path": "planes.parquet"}},
    "quarantine": {"to": "bad", "max_rate_ppm": 5},
    "checks": [
        {"check_id": "k", "kind": "key_uniqueness", "enforcement": "required", "columns": ["a", {"expression": "lower(b)"}]},
        {"check_id": "n", "kind": "null_ceiling", "enforcement": "required", "columns": ["b"], "max_null_ppm": 5},
        {"check_id": "r", "kind": "value_range", "enforcement": "quarantine", "columns": ["b"], "min_value": "0.5", "max_value": 1},
        {"check_id": "e", "kind": "row_expectation", "enforcement": "required", "min_rows": 1, "metadata": {"owner": {"name": "x"}}},
        {"check_id": "p", "kind": "is_not_null", "enforcement": "required", "columns_each": ["a", "b"], "filter": "a > 'x'"},
        {"check_id": "f", "kind": "foreign_key", "enforcement": "required", "columns": ["a"], "ref_columns": ["z"], "reference": "planes"},
    ],
}


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(source: Any, **options: Any) -> RecipeRefused:
    with pytest.raises(RecipeRefused) as refused:
        load_recipe(source, **options)
    return refused.value
