"""What the commands print: tables and progress on a terminal, plain lines when piped, JSON for programs."""

from __future__ import annotations

import difflib
import inspect
import json
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from dq_dagster.errors import DqDagsterError
from dq_dagster.outcomes import Evaluation

_STYLES = {"passed": "green", "failed": "red", "not_evaluated": "yellow"}


class UnknownKind(DqDagsterError):
    """A kind that the catalogue does not have."""

    def __init__(self, kind: str, known: Sequence[str]) -> None:
        self.kind = kind
        near = difflib.get_close_matches(kind, known, n=1)
        super().__init__(f"there is no kind '{kind}'; " + (f"did you mean '{near[0]}'?" if near else "see dq-dagster kinds"))


def as_json_text(value: Any) -> str:
    """Strict JSON, indented: no NaN, no Infinity."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


@contextmanager
def progress(what: str, *, quiet: bool) -> Generator[None, None, None]:
    """A spinner on a terminal, nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def print_evaluation(evaluation: Evaluation, *, as_json: bool, wrote: Sequence[Path] = ()) -> None:
    """Every outcome; then what it cost, what was written, and why the run fails, where it does."""
    if as_json:
        click.echo(as_json_text({"outcomes": [outcome.wire() for outcome in evaluation.outcomes], "receipt": evaluation.receipt.to_dict()}))
        return
    _print_table(
        ("check", "status", "enforcement", "detail"),
        [(outcome.check_id, outcome.status, outcome.enforcement, outcome.detail) for outcome in evaluation.outcomes],
    )
    receipt = evaluation.receipt
    click.echo(
        f"{receipt.rows} rows of {receipt.scope}, {receipt.bytes_scanned} bytes scanned in {receipt.seconds:.2f} s by {receipt.engine}"
    )
    for path in wrote:
        click.echo(f"wrote {path}")
    if evaluation.failure:
        click.echo(f"{evaluation.failure.failure_code}: {evaluation.failure.failure_detail}", err=True)


def print_outcomes(outcomes: Sequence[Mapping[str, Any]], *, as_json: bool, record: bool) -> None:
    """The outcomes of a run, in the wire's or the record's spelling."""
    if as_json:
        click.echo(as_json_text(list(outcomes)))
        return
    names = ("name", "status", "reason") if record else ("check_id", "passed", "scope", "detail")
    _print_table(names, [tuple("" if outcome.get(name) is None else str(outcome[name]) for name in names) for outcome in outcomes])


def print_kinds(wanted: str | None) -> None:
    """The catalogue, or one kind's documentation, members and example."""
    from dq_dagster.checks import kinds

    known = kinds()
    if wanted is None:
        _print_table(("kind", "promise"), [(word, _promise(check)) for word, check in known.items()])
        return
    if wanted not in known:
        raise UnknownKind(wanted, list(known))
    check = known[wanted]
    click.echo(f"{wanted}\n\n{inspect.getdoc(check)}\n\nMembers:")
    for name, member in check.model_fields.items():
        if name != "kind":
            click.echo(f"  {name}{'' if member.is_required() else ' (optional)'}")


def _promise(check: type[Any]) -> str:
    return (inspect.getdoc(check) or "").split("\n\n")[0].replace("\n", " ")


def _print_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(" ".join(cell.split("\n")) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*names)
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    Console().print(table)


def print_receipts(receipts: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """A line an evaluation: when, of what, what was found and what it cost."""
    if as_json:
        click.echo(as_json_text(list(receipts)))
        return
    rows: list[tuple[str, ...]] = []
    for receipt in receipts:
        statuses = [outcome["status"] for outcome in receipt["outcomes"]]
        counts = ", ".join(f"{statuses.count(status)} {status}" for status in _STYLES if status in statuses)
        cost = f"{receipt['rows']} rows, {receipt['bytes_scanned']} bytes, {receipt['seconds']:.2f} s"
        rows.append((receipt["now"], receipt["scope"], receipt.get("gate", ""), counts, receipt["recipe_digest"][:12], cost))
    _print_table(("evaluated", "scope", "gate", "outcomes", "recipe", "cost"), rows)
