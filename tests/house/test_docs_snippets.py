"""Every fenced block of the documents is executed; CONTRIBUTING.md ("Snippets in the documents") says how."""

from __future__ import annotations

import datetime as dt
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from dq_dagster import load_recipe
from dq_dagster.cli import main
from tests.local_spark import spark_engine

CHECKOUT = Path(__file__).parents[2]
PAGES = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]

ON_SPARK = [CHECKOUT / "docs" / "engines.md"]

FENCED = re.compile(r"^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT_STATUS = re.compile(r"\s+# exit status (?P<status>\d)$")


@dataclass(frozen=True, slots=True)
class Snippet:
    """One fenced block: its language, its text, and the line of the page that it opens on."""

    language: str
    text: str
    line: int


def snippets(page: Path) -> Iterator[Snippet]:
    text = page.read_text("utf-8")
    for match in FENCED.finditer(text):
        yield Snippet(match["language"].strip(), match["text"], text.count("\n", 0, match.start()) + 1)


def write_weather(folder: Path) -> None:
    """Eight rows without a fault: two airports, four hours."""
    hours = [dt.datetime(2013, 1, 1, 6 + hour, tzinfo=dt.timezone.utc) for hour in range(4)]
    table = pa.table(
        {
            "origin": pa.array(["EWR"] * 4 + ["JFK"] * 4),
            "time_hour": pa.array(hours * 2, pa.timestamp("us", tz="UTC")),
            "humid": pa.array([59.37, 61.63, 64.43, 62.21, 59.37, 61.63, 64.43, 62.21]),
            "pressure": pa.array([1012.0, 1012.3, 1012.5, None, 1012.6, 1012.9, 1012.2, 1011.9]),
        }
    )
    pq.write_table(table, folder / "weather.parquet")


def run_recipe(text: str) -> None:
    document: Any = yaml.safe_load(text)
    assert isinstance(document, dict), "a yaml block must be a whole recipe"
    assert "recipe" in document, "a yaml block must be a whole recipe"
    path = Path(f"{document['recipe']}.yaml")
    path.write_text(text, "utf-8")
    load_recipe(path)


def run_commands(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed: str | None = None
    for line in text.splitlines():
        if line.startswith("$ "):
            command, expected = line.removeprefix("$ "), 0
            if match := EXIT_STATUS.search(command):
                command, expected = command[: match.start()], int(match["status"])
            program, *arguments = shlex.split(command)
            assert program == "dq-dagster", f"only dq-dagster can be run here: {line}"
            status, printed = exit_status(arguments), None
            captured = capsys.readouterr()
            assert status == expected, f"{line}\nexited with {status}\n{captured.out}{captured.err}"
            printed = " ".join((captured.out + captured.err).split())
        elif line.strip():
            assert printed is not None, f"output before any command: {line}"
            assert " ".join(line.split()) in printed, f"not printed: {line}\nprinted: {printed}"


def exit_status(arguments: list[str]) -> int:
    """The status that the command line leaves with."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.argv", ["dq-dagster", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
    return left.value.code if isinstance(left.value.code, int) else int(left.value.code is not None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_every_snippet_of_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    if page in ON_SPARK:
        spark_engine()  # the session that the page's engine finds, where there is a Spark; else the page is skipped
    write_weather(tmp_path)
    names: dict[str, Any] = {"__name__": "snippet"}
    for snippet in snippets(page):
        where = f"{page.name}:{snippet.line}"
        match snippet.language:
            case "text":
                pass
            case "yaml":
                run_recipe(snippet.text)
            case "python":
                exec(compile("\n" * snippet.line + snippet.text, str(page), "exec", dont_inherit=True), names)
            case "console":
                run_commands(snippet.text, capsys)
            case other:
                pytest.fail(f"{where}: a block in {other or 'no language'!r}; use python, yaml, console, or text for what cannot run")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_every_link_to_a_file_leads_somewhere(page: Path):
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
