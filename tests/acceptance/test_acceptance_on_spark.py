"""The measured cases on Spark: every outcome is compared with DuckDB's, which the other file compares with what was measured."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dq_dagster as dq
from dq_dagster.outcomes import Outcome
from tests.acceptance.test_acceptance import cases, inputs, score
from tests.local_spark import difference, spark_engine

# Where Spark answers otherwise than DuckDB, by the case's number or id, and why that is right or cannot be helped.
DIFFERENCES: dict[str, str] = {}

pytestmark = pytest.mark.spark


class OnBoth:
    """Stands for `evaluate` and `annotate`: evaluates on both engines, keeps what differs, and goes on with DuckDB's answer."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.differences: list[str] = []

    def __call__(self, recipe: Any, table: Any, *arguments: Any, **options: Any) -> Any:
        shared = {name: value for name, value in options.items() if name != "fail_levels"}
        on_spark = _outcomes(partial(dq_evaluate, recipe, table, engine=spark_engine(), **shared))
        try:
            on_duckdb = self._answer(recipe, table, *arguments, **options)
        except (dq.RecipeRefused, dq.CheckRunError) as error:
            self._compare(on_spark, type(error).__name__)
            raise
        self._compare(on_spark, on_duckdb.outcomes)
        return on_duckdb

    def _compare(self, there: str | tuple[Outcome, ...], here: str | tuple[Outcome, ...]) -> None:
        if isinstance(there, str) or isinstance(here, str):
            self.differences += [] if there == here else [f"{there} on Spark, and {here} on DuckDB"]
            return
        told = (difference(one, other) for one, other in zip(there, here, strict=True))
        self.differences += [f"{one.check_id}: {text}" for one, text in zip(there, told, strict=True) if text is not None]


dq_evaluate = dq.evaluate


def _outcomes(answer: Any) -> str | tuple[Outcome, ...]:
    try:
        return answer().outcomes
    except (dq.RecipeRefused, dq.CheckRunError) as error:
        return type(error).__name__


def differences(label: str, case: Any, suite: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What differs between the engines in one case."""
    spies = [OnBoth(dq.evaluate), OnBoth(dq.annotate)]
    monkeypatch.setattr(dq, "evaluate", spies[0])
    monkeypatch.setattr(dq, "annotate", spies[1])
    if suite == "field":
        score.field_case(case, folder, lambda case_id, inside: inputs.CASES[case_id](inside))
    else:
        score.oracle_case(suite, case, folder)
    return [told for spy in spies for told in spy.differences]


@pytest.mark.parametrize(
    ("suite", "label", "case"), [(suite, *one.values) for suite in ("field", "dqx", "sparkdq") for one in cases(suite)]
)
def test_both_engines_say_the_same(suite, label, case, tmp_path, monkeypatch):
    told = differences(label, case, suite, tmp_path, monkeypatch)
    if label in DIFFERENCES:
        assert told, f"{label} is the same on both engines by now: take it off the list"
    else:
        assert not told
