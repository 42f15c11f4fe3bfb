"""The benchmarks run: the suites by hand and ours agree on a sound table, and on a broken one ours sees no less."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dq_dagster import load_recipe

BENCH = Path(__file__).parents[2] / "bench"
CHECKS = {"five": 5, "twenty": 21}


def told(script: str, *arguments: str) -> dict[str, float]:
    ran = subprocess.run([sys.executable, str(BENCH / script), *arguments], capture_output=True, text=True, check=True)
    return json.loads(ran.stdout) if ran.stdout else {}


@pytest.mark.parametrize(("order", "parts"), [("station", 1), ("none", 3)])
def test_every_check_of_a_sound_table_holds(order, parts, tmp_path):
    table = str(tmp_path / "readings.parquet") if parts == 1 else str(tmp_path / "readings")
    told("readings.py", "4000", table, "--order", order, "--parts", str(parts))
    for suite, checks in CHECKS.items():
        scripts = ["by_hand.py", "ours.py", *(["limit.py"] if parts == 1 and order == "station" else [])]
        for script in scripts:
            found = told(script, suite, table)
            assert found["passed"] == found["checks"] > 0, script
            assert script == "limit.py" or found["checks"] == checks
            assert found["cpu_seconds"] > 0


def test_a_broken_table_breaks_what_judges_rows_and_keys(tmp_path):
    table = str(tmp_path / "readings.parquet")
    told("readings.py", "40000", table, "--broken")
    assert told("ours.py", "five", table)["passed"] == told("by_hand.py", "five", table)["passed"] == 3
    assert told("ours.py", "twenty", table)["passed"] == 10


def test_what_stated_keys_save_is_measured():
    asked = ["--rows", "4000", "--parts", "2", "--rounds", "1"]
    ran = subprocess.run([sys.executable, str(BENCH / "stated_keys.py"), *asked], capture_output=True, text=True, check=True)
    assert [line.partition(":")[0] for line in ran.stdout.splitlines()] == ["five", "twenty", "writing"]


def test_what_remembered_parts_save_is_measured():
    asked = ["--rows", "120000", "--parts", "2", "--rounds", "1", "--order", "time"]
    ran = subprocess.run([sys.executable, str(BENCH / "remembered_parts.py"), *asked], capture_output=True, text=True, check=True)
    assert [line.partition(":")[0] for line in ran.stdout.splitlines()] == ["five", "twenty"]


def test_what_holds_state_is_declared_for_each_of_its_kinds():
    declared = {check.kind for check in load_recipe(BENCH / "suites" / "state.yaml").checks}
    assert declared >= {
        "key_uniqueness",
        "is_unique",
        "has_unique_rows",
        "continuity",
        "foreign_key",
        "compare_datasets",
        "has_no_outliers",
    }
