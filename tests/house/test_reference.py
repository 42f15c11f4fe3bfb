"""The reference is made from the code and up to date, and the pages for those who come from elsewhere leave nothing out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dq_dagster.checks import kinds
from dq_dagster.cli.kinds_pages import families, main, pages
from dq_dagster.documents.dqx_functions import FUNCTIONS
from dq_dagster.documents.sparkdq import CHECKS

DOCS = Path(__file__).parents[2] / "docs"
UBUNYE = ("not_null", "unique", "between", "one_of", "matches", "row_count", "columns", "extra", "reconcile.rows", "reconcile.sum")
UBUNYE_MEMBERS = ("severity: fail", "quarantine: output", "max_quarantine_rate")
ROW = re.compile(r"^\|(.+?)(?<!\\)\|(.+?)(?<!\\)\|", re.MULTILINE)


def rows(page: str) -> list[tuple[str, str]]:
    """The first two cells of every row of the page's tables."""
    return [(first.strip(), second.strip()) for first, second in ROW.findall((DOCS / page).read_text("utf-8"))]


def told(page: str) -> set[str]:
    """Every word in code in the first cells of the page's tables."""
    return {word for first, _ in rows(page) for word in re.findall(r"`([^`]+)`", first)}


def test_the_reference_is_up_to_date():
    there = {path.name: path.read_text("utf-8") for path in (DOCS / "kinds").glob("*.md")}
    stale = sorted(name for name in {*there, *pages()} if there.get(name) != pages().get(name))
    assert stale == [], "run make docs"


def test_every_kind_has_its_row_and_its_section():
    words = [word for members in families().values() for word, _ in members]
    assert [word for word in words if word not in told("kinds/index.md")] == []
    for family, members in families().items():
        headings = re.findall(r"^## (.+)$", (DOCS / "kinds" / f"{family}.md").read_text("utf-8"), re.MULTILINE)
        assert headings == [word for word, _ in members]


def test_a_stale_reference_is_told_and_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "gone.md").write_text("a family that is no more")
    assert main(["--check", str(tmp_path)]) == 1
    assert "gone.md" in capsys.readouterr().err
    assert main([str(tmp_path)]) == 0
    assert main(["--check", str(tmp_path)]) == 0
    assert not (tmp_path / "gone.md").exists()


def test_every_function_of_dqx_is_told():
    assert len(FUNCTIONS) == 57
    assert sorted(set(FUNCTIONS) - told("coming-from/dqx.md")) == []


def test_every_check_of_sparkdq_is_told():
    assert len(CHECKS) == 33
    assert sorted(set(CHECKS) - told("coming-from/sparkdq.md")) == []


def test_every_rule_of_ubunye_is_told():
    words = {word.partition(":")[0] for word in told("coming-from/ubunye.md")} | told("coming-from/ubunye.md")
    assert [rule for rule in (*UBUNYE, *UBUNYE_MEMBERS) if rule not in words] == []


@pytest.mark.parametrize("page", ["coming-from/dqx.md", "coming-from/sparkdq.md", "coming-from/ubunye.md"])
def test_what_they_become_is_a_kind_that_there_is(page: str):
    named = {word for _, second in rows(page) for word in re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", second)}
    members = {name for kind in kinds().values() for name, field in kind.model_fields.items() for name in (name, field.alias or name)}
    assert sorted(named - set(kinds()) - members - {"max_rate_ppm"}) == []
