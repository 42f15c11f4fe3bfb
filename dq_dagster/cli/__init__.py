"""The command line. Exit status: 0 done, 1 a required check failed, 2 refused or unreadable; never a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from dq_dagster.errors import CheckRunError, DqDagsterError, RecipeRefused

FOREIGN_DIALECTS = ("dqx", "sparkdq", "ubunye")
DIALECTS = ("native", *FOREIGN_DIALECTS)
FAILED, REFUSED = 1, 2

Command = TypeVar("Command", bound=Callable[..., Any])


def _telling_errors(command: Command) -> Command:
    """Every error we raise on purpose becomes lines on stderr, one a problem, and exit status 2."""

    @wraps(command)
    def told(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except RecipeRefused as error:
            for problem in error.problems:
                click.echo(str(problem), err=True)
        except CheckRunError as error:
            click.echo(f"{error.failure_code} at {error.failed_stage}: {error.failure_detail}", err=True)
        except DqDagsterError as error:
            click.echo(str(error), err=True)
        sys.exit(REFUSED)

    return told  # type: ignore[return-value]  # wraps() keeps the signature, which the checker cannot see


def _recipe_options(command: Command) -> Command:
    dialect = click.option("--dialect", type=click.Choice(DIALECTS), default="native", show_default=True, help="How RECIPE is written.")
    name = click.option("--table", "table_name", metavar="NAME", help="The table (in ubunye: the output) that the recipe is about.")
    return click.argument("recipe", type=click.Path(path_type=Path))(dialect(name(command)))


def _run_options(command: Command) -> Command:
    options = (
        click.option("--engine", default="duckdb", show_default=True, help="duckdb or spark."),
        click.option("--reference", "references", multiple=True, metavar="NAME=PATH", help="Where a reference is stored; may be repeated."),
        click.option("--max-scan-bytes", type=click.IntRange(min=0), metavar="N", help="The most bytes the pass may read."),
        click.option("--max-seconds", type=click.FloatRange(min=0), metavar="S", help="The longest the pass may take."),
        click.option("--memory-limit", metavar="SIZE", help="The most memory the engine may use, such as 2GiB."),
        click.option("--only", multiple=True, metavar="CHECK_ID", help="Evaluate this check alone; may be repeated."),
        click.option("--verify-checksums", is_flag=True, help="Compare page checksums too; reads the checked columns once more."),
        click.option("--no-key-records", "key_records", is_flag=True, flag_value=False, default=True, help="Look for keys in the rows."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dq_dagster")
def cli() -> None:
    """Data-quality checks for Parquet tables: declared in a recipe, evaluated in one pass, told in words."""


def _loaded(recipe: Path, dialect: str, table_name: str | None) -> Any:
    from dq_dagster.documents import load_recipe

    return load_recipe(recipe, dialect=dialect, table=table_name)


def _run_arguments(references: tuple[str, ...], **given: Any) -> dict[str, Any]:
    """The keyword arguments of evaluate() that the options stand for."""
    from dq_dagster.limits import Limits

    pairs = [reference.partition("=") for reference in references]
    for name, sign, path in pairs:
        if not (name and sign and path):
            raise click.BadParameter(f"{name!r} is not NAME=PATH", param_hint="--reference")
    names = {
        "max_scan_bytes": "scan_bytes",
        "max_seconds": "scan_seconds",
        "memory_limit": "memory_limit",
        "verify_checksums": "verify_checksums",
        "key_records": "key_records",
    }
    limits = Limits(**{limit: given[option] for option, limit in names.items() if given[option] is not None})
    return {
        "engine": given["engine"],
        "references": {name: path for name, _, path in pairs},
        "limits": limits,
        "only": list(given["only"]) or None,
    }


@cli.command()
@_recipe_options
@_telling_errors
def validate(recipe: Path, dialect: str, table_name: str | None) -> None:
    """Walk RECIPE and tell every problem it has; nothing but the document is read."""
    loaded = _loaded(recipe, dialect, table_name)
    click.echo(f"{recipe}: {len(loaded.checks)} checks of table {loaded.table.name}, no problem found")


@cli.command()
@_recipe_options
@click.argument("table")
@_run_options
@click.option(
    "--remember", type=click.Path(path_type=Path), metavar="FOLDER", help="Keep what is measured of each part; read new parts only."
)
@click.option("--explain", is_flag=True, help="Print the plan and its SQL instead; reads footers alone.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: outcomes and receipt.")
@_telling_errors
def check(
    recipe: Path, dialect: str, table_name: str | None, table: str, remember: Path | None, explain: bool, as_json: bool, **given: Any
) -> None:
    """Evaluate RECIPE over TABLE once, and print every outcome."""
    from dq_dagster import run
    from dq_dagster.cli import printing

    loaded = _loaded(recipe, dialect, table_name)
    arguments = _run_arguments(**given)
    if explain:
        told = {name: arguments[name] for name in ("references", "limits", "only")}
        click.echo(run.explained(loaded, table, remember=remember, **told))
        return
    with printing.progress(f"checking {table}", quiet=as_json):
        evaluation = run.evaluate(loaded, table, remember=remember, **arguments)
    printing.print_evaluation(evaluation, as_json=as_json)
    sys.exit(FAILED if evaluation.failure else 0)


@cli.command()
@_recipe_options
@click.argument("table")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The Parquet file to write.")
@click.option("--fail-level", "fail_levels", multiple=True, help="A severity that a passed row may not have: critical (default), warning.")
@_run_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: outcomes and receipt.")
@_telling_errors
def annotate(
    recipe: Path, dialect: str, table_name: str | None, table: str, out: Path, fail_levels: tuple[str, ...], as_json: bool, **given: Any
) -> None:
    """Evaluate RECIPE over TABLE, and write the rows with _dq_passed and _dq_errors."""
    from dq_dagster import run
    from dq_dagster.cli import printing

    loaded = _loaded(recipe, dialect, table_name)
    with printing.progress(f"annotating {table}", quiet=as_json):
        evaluation = run.annotate(loaded, table, out, fail_levels=list(fail_levels) or None, **_run_arguments(**given))
    printing.print_evaluation(evaluation, as_json=as_json, wrote=[out])
    sys.exit(FAILED if evaluation.failure else 0)


@cli.command()
@_recipe_options
@click.argument("table")
@click.option("--valid", required=True, type=click.Path(path_type=Path), help="Where the rows go that break no quarantine check.")
@click.option("--quarantine", required=True, type=click.Path(path_type=Path), help="Where the others go, with _dq_failed_checks.")
@_run_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: outcomes and receipt.")
@_telling_errors
def split(
    recipe: Path, dialect: str, table_name: str | None, table: str, valid: Path, quarantine: Path, as_json: bool, **given: Any
) -> None:
    """Evaluate RECIPE over TABLE, and split its rows into valid and quarantined ones; both files are written, or none."""
    from dq_dagster import run
    from dq_dagster.cli import printing

    loaded = _loaded(recipe, dialect, table_name)
    with printing.progress(f"splitting {table}", quiet=as_json):
        evaluation = run.split(loaded, table, valid=valid, quarantine=quarantine, **_run_arguments(**given))
    printing.print_evaluation(evaluation, as_json=as_json, wrote=[] if evaluation.failure else [valid, quarantine])
    sys.exit(FAILED if evaluation.failure else 0)


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--from", "dialect", required=True, type=click.Choice(FOREIGN_DIALECTS), help="The system that FILE is written for.")
@click.option("--table", "table_name", metavar="NAME", help="The table (in ubunye: the output) that the recipe is about.")
@_telling_errors
def convert(file: Path, dialect: str, table_name: str | None) -> None:
    """Print FILE, another system's checks, as a recipe; tell line by line on stderr what could not be carried over."""
    from dq_dagster.documents.convert import convert

    conversion = convert(file, dialect=dialect, table=table_name)
    click.echo(conversion.text, nl=False)
    for note in conversion.notes():
        click.echo(note, err=True)


@cli.command()
@click.argument("run_id")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--record", is_flag=True, help="The spelling of a run record (name, status, reason) instead of the wire's.")
@_telling_errors
def checks(run_id: str, as_json: bool, record: bool) -> None:
    """Read the outcomes of the Dagster run RUN_ID off the instance that DAGSTER_HOME names."""
    from dq_dagster.cli import printing
    from dq_dagster.definitions.outcomes_of_run import wires_of_run
    from dq_dagster.outcomes import record_of

    wires = wires_of_run(run_id)
    printing.print_outcomes([record_of(wire) for wire in wires] if record else wires, as_json=as_json, record=record)


@cli.command()
@click.argument("kind", required=False)
@_telling_errors
def kinds(kind: str | None) -> None:
    """The catalogue: every kind with what it promises, or all about one KIND."""
    from dq_dagster.cli import printing

    printing.print_kinds(kind)


@cli.command()
@_telling_errors
def schema() -> None:
    """The JSON Schema of the recipe document, for editors."""
    from dq_dagster.cli import printing
    from dq_dagster.documents.native import json_schema

    click.echo(printing.as_json_text(json_schema()))


@cli.command()
@click.argument("folder")
@click.option("--asset", help="Only the receipts of this asset.")
@click.option("--run-id", help="Only the receipts of this Dagster run.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: the receipts, oldest first.")
@_telling_errors
def receipts(folder: str, asset: str | None, run_id: str | None, as_json: bool) -> None:
    """Read the receipts in FOLDER, one an evaluation, oldest first."""
    from dq_dagster.cli import printing
    from dq_dagster.definitions.receipts import read_receipts

    printing.print_receipts(read_receipts(folder, asset=asset, run_id=run_id), as_json=as_json)


def main() -> None:
    """The entry point of `dq-dagster`."""
    cli(prog_name="dq-dagster")
