"""The measured cases: what the systems we stand in for did on a real Spark, and what plain Python finds in the field's data.

The cases, their inputs and the comparison are kept as they were handed to us; what differs on purpose is listed in
docs/differences.md under the case's number or id.
"""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
DIFFERENCES = Path(__file__).parents[2] / "docs" / "differences.md"


def _load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"acceptance_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


score, inputs = _load("score"), _load("field_inputs")


def cases(suite: str) -> list[Any]:
    found: list[Any] = []
    for number, line in enumerate((HERE / f"{suite}.jsonl").read_text().splitlines(), 1):
        case = json.loads(line)
        label = case["id"] if suite == "field" else f"{suite} {case.get('number', number)}"
        if suite == "field" and case.get("steps") and case["kind"] in ("partition", "resources", "race", "dagster"):
            continue  # tests/definitions and tests/engines take these steps
        found.append(pytest.param(label, case, id=label))
    return found


def deliberate() -> set[str]:
    return set(re.findall(r"^\W*((?:dqx|sparkdq) \d+|[a-z0-9-]+):", DIFFERENCES.read_text(), re.M))


def agrees(label: str, said: str | None) -> None:
    """The product agrees, or differs where the page says that it does."""
    if label in deliberate():
        assert said is not None, f"{label} agrees by now: take it out of docs/differences.md"
    else:
        assert said is None


@pytest.mark.parametrize(("label", "case"), cases("field"))
def test_a_field_case_comes_out_right(label, case, tmp_path):
    agrees(label, score.field_case(case, tmp_path, lambda case_id, folder: inputs.CASES[case_id](folder)))


@pytest.mark.parametrize(("label", "case"), cases("dqx"))
def test_a_dqx_document_flags_the_rows_that_dqx_flags(label, case, tmp_path):
    agrees(label, score.oracle_case("dqx", case, tmp_path))


@pytest.mark.parametrize(("label", "case"), cases("sparkdq"))
def test_a_sparkdq_document_fails_the_rows_that_sparkdq_fails(label, case, tmp_path):
    agrees(label, score.oracle_case("sparkdq", case, tmp_path))


def test_few_cases_differ_on_purpose():
    measured = [parameter.values[0] for suite in ("dqx", "sparkdq") for parameter in cases(suite)]
    assert len(deliberate() & set(measured)) <= 0.03 * len(measured)
