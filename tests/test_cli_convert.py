"""`dq-dagster convert`: the recipe goes to stdout, and what it does without goes to stderr, a line each."""

from __future__ import annotations

from pathlib import Path

import pytest

from dq_dagster import load_recipe
from dq_dagster.cli import main

DQX = """\
- name: id_there
  message_expr: "'no id'"
  check: {function: is_not_null, arguments: {column: id}}
- {criticality: warn, check: {function: is_in_range, arguments: {column: x, min_limit: 0, max_limit: "2.5"}}}
"""
SPARKDQ = '[{"check": "null-check", "check-id": "there", "columns": ["a", "b"], "colour": "red"}]'
UBUNYE = """\
expectations:
  clean: {rules: [{not_null: a}]}
  other: {rules: [{row_count: {min: 1}}]}
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Exit status, stdout and stderr of the command, in a folder with a document of each system."""
    for name, text in (("dqx.yaml", DQX), ("sparkdq.json", SPARKDQ), ("ubunye.yaml", UBUNYE)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["dq-dagster", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        told = capsys.readouterr()
        return int(left.value.code or 0), told.out, told.err

    return run


def test_convert_prints_the_recipe_and_tells_what_it_does_without(run):
    assert run("convert", "dqx.yaml", "--from", "dqx", "--table", "orders") == (
        0,
        "recipe: dqx_checks\n"
        "table:\n"
        "  name: orders\n"
        "checks:\n"
        "- check_id: id_there\n"
        "  kind: is_not_null\n"
        "  enforcement: required\n"
        "  column: id\n"
        "- check_id: x_not_in_range\n"
        "  kind: is_in_range\n"
        "  enforcement: advisory\n"
        "  column: x\n"
        "  min_limit: 0\n"
        "  max_limit: 2.5\n",
        "NOT_CARRIED_OVER at /0/message_expr (line 2, column 3): check 'id_there': a recipe's details are written by the kind, "
        "so message_expr is left out\n",
    )


@pytest.mark.parametrize(
    ("arguments", "checks", "told"),
    [
        (["dqx.yaml", "--from", "dqx"], ["id_there", "x_not_in_range"], ["message_expr"]),
        (["sparkdq.json", "--from", "sparkdq"], ["there"], ["'colour' means nothing to SparkDQ either"]),
        (["ubunye.yaml", "--from", "ubunye", "--table", "clean"], ["a_not_null"], []),
        (["ubunye.yaml", "--from", "ubunye", "--table", "other"], ["row_count"], []),
    ],
)
def test_what_convert_prints_is_a_recipe(run, arguments, checks, told):
    status, out, err = run("convert", *arguments)
    assert status == 0
    Path("recipe.yaml").write_text(out)
    assert [check.check_id for check in load_recipe("recipe.yaml").checks] == checks
    assert len(err.splitlines()) == len(told)
    for line, words in zip(err.splitlines(), told, strict=True):
        assert words in line


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.yaml", "--from", "dqx"], "RECIPE_DOCUMENT_UNREADABLE at /: "),
        (["dqx.yaml", "--from", "native"], "'native' is not one of 'dqx', 'sparkdq', 'ubunye'"),
        (["dqx.yaml"], "Missing option '--from'"),
        (["bad.yaml", "--from", "dqx"], "did you mean 'is_not_null'?"),
        (["ubunye.yaml", "--from", "ubunye", "--table", "cleen"], "did you mean 'clean'?"),
    ],
)
def test_what_is_refused_ends_with_2_and_nothing_on_stdout(run, arguments, told):
    Path("bad.yaml").write_text("- check: {function: is_not_nul, arguments: {column: a}}\n")
    status, out, err = run("convert", *arguments)
    assert (status, out) == (2, "")
    assert told in err
