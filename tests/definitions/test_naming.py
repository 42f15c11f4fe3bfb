"""Names of check steps."""

from __future__ import annotations

import re

import dagster as dg
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dq_dagster.definitions.naming import refuse_unspellable, step_name
from dq_dagster.definitions.refusals import AssetRefused

PARTS = st.lists(st.text(st.sampled_from("ab1_.-é"), min_size=1, max_size=5), min_size=1, max_size=3)
RECIPES = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)


@pytest.mark.parametrize(
    ("key", "recipe", "name"),
    [
        (["orders"], "orders", "check_orders"),
        (["raw", "orders"], "orders", "check_raw__orders"),
        (["flight_weather"], "flight_weather", "check_flight_weather"),
        (["orders"], "strict", "check_orders___by_strict"),
    ],
)
def test_a_plain_key_is_read_off_the_name(key: list[str], recipe: str, name: str):
    assert step_name(dg.AssetKey(key), recipe) == name


@given(PARTS, RECIPES, PARTS, RECIPES)
@example(["raw.orders"], "orders", ["raw", "orders"], "orders")
@example(["raw__orders"], "orders", ["raw", "orders"], "orders")
@example(["raw_orders"], "orders", ["raw.orders"], "orders")
@example(["a"], "b", ["a___by_b"], "a___by_b")
def test_no_two_pairs_share_a_name(one: list[str], its_recipe: str, other: list[str], others_recipe: str):
    names = {step_name(dg.AssetKey(one), its_recipe), step_name(dg.AssetKey(other), others_recipe)}
    assert all(re.fullmatch(r"[A-Za-z0-9_]+", name) for name in names)
    assert len(names) == (1 if (one, its_recipe) == (other, others_recipe) else 2)


@pytest.mark.parametrize("part", ["métier", "a b", "a/b", "()"])
def test_a_key_that_dagster_cannot_spell_is_refused(part: str):
    with pytest.raises(AssetRefused, match="cannot carry checks: Dagster allows only letters A to Z"):
        refuse_unspellable(dg.AssetKey(["raw", part]))
