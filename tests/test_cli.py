"""The command line, as a user runs it: what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

RECIPE = """\
recipe: weather
table:
  name: weather
  grain: [station, hour]
checks:
  - {check_id: grain_unique, kind: key_uniqueness, enforcement: required}
  - {check_id: humid_range, kind: value_range, enforcement: %s, columns: [humid], min_value: "0", max_value: "100"}
  - {check_id: enough_rows, kind: row_expectation, enforcement: required, min_rows: 1}
"""


@pytest.fixture
def place(tmp_path) -> Path:
    (tmp_path / "weather.yaml").write_text(RECIPE % "advisory")
    (tmp_path / "strict.yaml").write_text(RECIPE % "required")
    pq.write_table(pa.table({"station": ["a", "a", "b"], "hour": [1, 2, 1], "humid": [50.0, 104.5, None]}), tmp_path / "weather.parquet")
    return tmp_path


def run(place: Path, *arguments: str, **environment: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a whole process."""
    done = subprocess.run(
        [sys.executable, "-m", "dq_dagster", *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_check_prints_every_outcome_and_ends_with_0_where_only_an_advisory_check_failed(place):
    code, out, err = run(place, "check", "weather.yaml", "weather.parquet")
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == [
        "GRAIN_UNIQUE\tpassed\trequired\tkey (station, hour) is distinct across all 3 rows, as expected",
        "HUMID_RANGE\tfailed\tadvisory\tcolumn 'humid' holds '104.5', above the declared maximum of 100",
        "ENOUGH_ROWS\tpassed\trequired\trow count 3 satisfies the declared minimum of 1",
    ]


def test_check_ends_with_1_where_a_required_check_failed(place):
    code, _, err = run(place, "check", "strict.yaml", "weather.parquet")
    assert (code, err) == (1, "CHECK_FAILED: HUMID_RANGE: column 'humid' holds '104.5', above the declared maximum of 100\n")


def test_check_prints_json_for_programs(place):
    code, out, err = run(place, "check", "weather.yaml", "weather.parquet", "--json", "--only", "GRAIN_UNIQUE", "--only", "humid_range")
    assert (code, err) == (0, "")
    document = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert document["outcomes"][1] == {
        "check_id": "HUMID_RANGE",
        "passed": False,
        "detail": "column 'humid' holds '104.5', above the declared maximum of 100",
        "scope": "weather",
    }
    assert len(document["outcomes"]) == 2
    assert document["receipt"]["files"][0]["rows"] == 3


def test_check_explains_its_plan(place):
    code, out, _ = run(place, "check", "weather.yaml", "weather.parquet", "--explain")
    assert code == 0
    assert out.startswith("from metadata, no row is read: ENOUGH_ROWS\n")
    assert "answers GRAIN_UNIQUE; reads hour, station" in out
    assert "SELECT" in out


def test_parts_that_are_known_are_not_read_again(place):
    (place / "parts").mkdir()
    for number in range(2):
        numbers = range(number * 50_000, (number + 1) * 50_000)
        pq.write_table(pa.table({"n": pa.array(numbers, pa.int64())}), place / "parts" / f"{number}.parquet")
    check = "{check_id: n_unique, kind: key_uniqueness, enforcement: required, columns: [n]}"
    (place / "parts.yaml").write_text(f"{{recipe: parts, table: {{name: parts}}, checks: [{check}]}}")
    arguments = ("check", "parts.yaml", "parts", "--remember", "known")
    for remembered in (0, 2):
        code, out, _ = run(place, *arguments, "--json")
        assert (code, json.loads(out)["receipt"]["remembered_parts"]) == (0, remembered)
    _, out, _ = run(place, *arguments, "--explain")
    assert out.splitlines()[0] == "2 of 2 parts remembered, the others are asked one by one: N_UNIQUE"


def test_budgets_are_options(place):
    code, out, _ = run(place, "check", "strict.yaml", "weather.parquet", "--max-scan-bytes", "1")
    assert code == 0
    assert "HUMID_RANGE\tnot_evaluated\trequired\tnot_evaluated: CHECK_SCAN_BUDGET_EXCEEDED: estimated scan of" in out


REFUSED = [
    (["check", "weather.yaml", "nowhere.parquet"], "DECLARED_CHECK_UNREADABLE at check: nowhere.parquet: "),
    (["check", "nowhere.yaml", "weather.parquet"], "RECIPE_DOCUMENT_UNREADABLE at /"),
    (["check", "bad.yaml", "weather.parquet"], "DECLARED_CHECK_INVALID at /checks/0/kind (line 3, column 24): "),
    (["validate", "bad.yaml"], "did you mean 'key_uniqueness'?"),
    (["check", "unknown.yaml", "weather.parquet"], "DECLARED_CHECK_COLUMN_UNKNOWN at /checks/0/columns/0"),
    (["check", "weather.yaml", "weather.parquet", "--only", "grain"], "the recipe declares no check 'grain'; did you mean 'grain_unique'?"),
    (["check", "weather.yaml", "weather.parquet", "--engine", "duckbd"], "there is no engine 'duckbd'; did you mean 'duckdb'?"),
    (["check", "weather.yaml", "weather.parquet", "--reference", "x"], "is not NAME=PATH"),
    (["kinds", "key_uniquenes"], "there is no kind 'key_uniquenes'; did you mean 'key_uniqueness'?"),
    (["checks", "nope"], "run 'nope' cannot be read: DAGSTER_HOME is not set"),
]


@pytest.mark.parametrize(("arguments", "told"), REFUSED, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_what_cannot_be_done_ends_with_2_and_one_line_a_problem(place, arguments, told):
    (place / "bad.yaml").write_text("recipe: r\ntable: {name: t}\nchecks: [{check_id: a, kind: key_uniquenes, enforcement: required}]\n")
    (place / "unknown.yaml").write_text(
        "recipe: r\ntable: {name: t}\nchecks: [{check_id: a, kind: key_uniqueness, enforcement: required, columns: [statio]}]\n"
    )
    code, out, err = run(place, *arguments, DAGSTER_HOME="")
    assert (code, out) == (2, "")
    assert told in err


def test_validate_reads_the_document_alone(place):
    assert run(place, "validate", "weather.yaml")[:2] == (0, "weather.yaml: 3 checks of table weather, no problem found\n")


def test_kinds_lists_the_catalogue_and_documents_each(place):
    code, out, _ = run(place, "kinds")
    assert code == 0
    assert "row_expectation\tThe stored row count lies in the declared bounds" in out
    code, out, _ = run(place, "kinds", "null_ceiling")
    assert code == 0
    assert "Example:" in out
    assert "max_null_ppm" in out


def test_schema_prints_json_schema(place):
    code, out, _ = run(place, "schema")
    assert code == 0
    assert "checks" in json.loads(out)["properties"]


def test_annotate_and_split_write_their_files(place):
    code, out, _ = run(place, "annotate", "strict.yaml", "weather.parquet", "--out", "out.parquet")
    assert code == 1
    assert "wrote out.parquet" in out
    assert pq.read_table(place / "out.parquet").column("_dq_passed").to_pylist() == [True, False, True]
    (place / "quarantine.yaml").write_text((RECIPE % "quarantine") + "quarantine: {to: weather_quarantine, max_rate_ppm: 500000}\n")
    code, out, _ = run(place, "split", "quarantine.yaml", "weather.parquet", "--valid", "v.parquet", "--quarantine", "q.parquet")
    assert (code, pq.read_table(place / "v.parquet").num_rows, pq.read_table(place / "q.parquet").num_rows) == (0, 2, 1)
    (place / "quarantine.yaml").write_text((RECIPE % "quarantine") + "quarantine: {to: weather_quarantine, max_rate_ppm: 10}\n")
    code, _, err = run(place, "split", "quarantine.yaml", "weather.parquet", "--valid", "v2.parquet", "--quarantine", "q2.parquet")
    assert (code, (place / "v2.parquet").exists()) == (1, False)
    assert err.startswith("CHECK_FAILED: QUARANTINE_RATE: 1 of 3 rows would be quarantined")
