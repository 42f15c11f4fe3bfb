"""The measured cases: what the systems we stand in for did on a real Spark, and what plain Python finds in the field's data.

The cases, their inputs and the comparison are kept as they were handed to us; what differs on purpose is listed in
docs/differences.md under the case's number or id.
"""

from __future__ import annotations

import atexit
import datetime as dt
import importlib.util
import json
import re
import tempfile
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pytest

import dq_dagster as dq
from tests.acceptance.on_spark import Asked, Listening, differences
from tests.local_spark import runs_everything_on_spark

NOW = dt.datetime.now(dt.timezone.utc)
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


@cache
def cases(suite: str) -> list[Any]:
    found: list[Any] = []
    for number, line in enumerate((HERE / f"{suite}.jsonl").read_text().splitlines(), 1):
        case = json.loads(line)
        label = case["id"] if suite == "field" else f"{suite} {case.get('number', number)}"
        if suite == "field" and case.get("steps") and case["kind"] in ("partition", "resources", "race", "dagster"):
            continue  # tests/definitions and tests/engines take these steps
        found.append(pytest.param(label, case, id=label))
    return found


def labels(suite: str) -> list[str]:
    return [one.values[0] for one in cases(suite)]


def deliberate() -> set[str]:
    return set(re.findall(r"^\W*((?:dqx|sparkdq) \d+|[a-z0-9-]+):", DIFFERENCES.read_text(), re.M))


def agrees(label: str, said: str | None) -> None:
    """The product agrees, or differs where the page says that it does."""
    if label in deliberate():
        assert said is not None, f"{label} agrees by now: take it out of docs/differences.md"
    else:
        assert said is None


@dataclass(frozen=True, slots=True)
class Scored:
    """What came of a case: None where the product agrees, else what it did; and what it was asked."""

    said: str | None
    asked: tuple[Asked, ...]


@cache
def scored(suite: str, label: str) -> Scored:
    """The case, run once for all tests of this file."""
    (case,) = (one.values[1] for one in cases(suite) if one.values[0] == label)
    folder = Path(tempfile.mkdtemp(dir=_folder().name))
    heard: list[Asked] = []
    with pytest.MonkeyPatch.context() as patched:
        for name in ("evaluate", "annotate"):
            patched.setattr(dq, name, Listening(getattr(dq, name), label, NOW, heard))
        if suite == "field":
            said = score.field_case(case, folder, lambda case_id, inside: inputs.CASES[case_id](inside))
        else:
            said = score.oracle_case(suite, case, folder)
    return Scored(said, tuple(heard))


@lru_cache(maxsize=1)
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where the cases' data stays until the process ends."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return folder


@pytest.mark.parametrize("label", labels("field"))
def test_a_field_case_comes_out_right(label):
    agrees(label, scored("field", label).said)


@pytest.mark.parametrize("label", labels("dqx"))
def test_a_dqx_document_flags_the_rows_that_dqx_flags(label):
    agrees(label, scored("dqx", label).said)


@pytest.mark.parametrize("label", labels("sparkdq"))
def test_a_sparkdq_document_fails_the_rows_that_sparkdq_fails(label):
    agrees(label, scored("sparkdq", label).said)


@pytest.mark.spark
@pytest.mark.parametrize("suite", ["field", "dqx", "sparkdq"])
def test_spark_says_of_the_cases_what_duckdb_says(suite):
    """Of every fourth case, or of all where DQ_DAGSTER_ON_SPARK is `all`."""
    share = labels(suite) if runs_everything_on_spark() else labels(suite)[::4]
    asked = [one for label in share for one in scored(suite, label).asked]
    told = differences(asked)
    print(f"{suite}: {len(told)} of {len(asked)} evaluations differ between Spark and DuckDB", *told, sep="\n")
    assert told == []


def test_few_cases_differ_on_purpose():
    measured = [parameter.values[0] for suite in ("dqx", "sparkdq") for parameter in cases(suite)]
    assert len(deliberate() & set(measured)) <= 0.03 * len(measured)
