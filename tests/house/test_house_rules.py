"""The rules of the house that a linter does not know: file sizes, names of modules, a light import, no lock file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
MOST_LINES = 600
HANDED_TO_US = {Path("tests/acceptance/field_inputs.py"), Path("tests/acceptance/score.py")}  # measured cases, kept as they came
NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc", "base_utils"}
SLOW_TO_IMPORT = ("dagster", "duckdb", "sqlglot", "pyspark", "pandas", "polars", "rich", "typer")


def python_files() -> Iterator[Path]:
    for folder in ("dq_dagster", "example_project", "tests"):
        yield from (path for path in sorted((CHECKOUT / folder).rglob("*.py")) if path.relative_to(CHECKOUT) not in HANDED_TO_US)


def test_no_file_is_longer_than_a_reader_bears():
    sizes = {str(path.relative_to(CHECKOUT)): len(path.read_text("utf-8").splitlines()) for path in python_files()}
    assert {path: lines for path, lines in sizes.items() if lines > MOST_LINES} == {}, "split it by subject; the cap stays"


def test_every_module_is_named_for_what_it_holds():
    assert [str(path.relative_to(CHECKOUT)) for path in python_files() if path.stem in NAMES_THAT_SAY_NOTHING] == []


def test_every_module_of_the_package_says_what_it_is_for():
    silent = [
        str(path.relative_to(CHECKOUT))
        for folder in ("dq_dagster", "example_project")
        for path in sorted((CHECKOUT / folder).rglob("*.py"))
        if not path.read_text("utf-8").startswith('"""')
    ]
    assert silent == []


def test_importing_the_package_imports_nothing_slow():
    code = f"import sys, dq_dagster; print(*sorted(set({SLOW_TO_IMPORT!r}) & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def test_the_package_is_typed():
    assert (CHECKOUT / "dq_dagster" / "py.typed").exists()


@pytest.mark.parametrize("name", ["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml"])
def test_there_is_no_lock_file(name: str):
    assert not (CHECKOUT / name).exists(), "constraints.txt pins the versions; see docs/decisions/0001"


def test_the_constraints_name_versions_and_nothing_else():
    lines = [line for line in (CHECKOUT / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    assert [line for line in lines if "==" not in line or "/" in line or "@" in line] == []


def test_the_demo_runs_on_the_versions_that_the_pins_name():
    pins = (CHECKOUT / "constraints.txt").read_text("utf-8").splitlines()
    assert {"dagster==1.13.27", "dagster-duckdb==0.29.27", "dagster-webserver==1.13.27"} <= set(pins)
