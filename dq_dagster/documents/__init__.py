"""How a recipe may be written down: reading documents of every dialect, as text or parsed, and writing them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from dq_dagster.documents.dialect import Dialect, Translation
from dq_dagster.documents.json_text import parse_json
from dq_dagster.documents.parsed import MAX_BYTES, Parsed, Unreadable
from dq_dagster.documents.yaml_text import parse_yaml, yaml_text
from dq_dagster.errors import Problem, RecipeRefused, UnknownDialect
from dq_dagster.limits import Limits
from dq_dagster.plain import json_text, model_document, plain
from dq_dagster.recipe import Origin, Recipe, Table

LOST = "NOT_CARRIED_OVER"
Source = str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any]


def _imported_when_used(name: str) -> Dialect:
    """A dialect's own module is imported when a document is written in it: the foreign ones bring the grammar of Spark."""

    def translate(document: Any, *, table: dict[str, Any] | None) -> Translation:
        return importlib.import_module(f"{__name__}.{name}").translate(document, table=table)

    return translate


DIALECTS: dict[str, Dialect] = {name: _imported_when_used(name) for name in ("native", "dqx", "sparkdq", "ubunye")}


def load_recipe(
    source: Source,
    *,
    dialect: str = "native",
    table: str | Table | None = None,
    limits: Limits | None = None,
) -> Recipe:
    """The recipe that a document declares.

    `source` is the path of a YAML or JSON file, or the document itself, parsed. `table` names the table, or declares
    it, where the document does not. `limits` are those of the deployment.

    Raises:
        RecipeRefused: the document cannot be read, or breaks the rules; it holds every problem.
        UnknownDialect: there is no dialect of that name.
    """
    return load(source, dialect=dialect, table=table, limits=limits).recipe


@dataclass(frozen=True, slots=True)
class Loaded:
    """A recipe as it was read, and what of the document it cannot say, with the places there."""

    recipe: Recipe
    lost: tuple[Problem, ...] = ()


def load(source: Source, *, dialect: str, table: str | Table | None, limits: Limits | None) -> Loaded:
    """`load_recipe`, telling as well what of the document the recipe does without."""
    if dialect not in DIALECTS:
        raise UnknownDialect(dialect, list(DIALECTS))
    is_path = isinstance(source, (str, os.PathLike))
    origin = Origin(limits=limits or Limits())
    if is_path:
        path = Path(source)
        origin = replace(origin, source=str(path), folder=path.absolute().parent)
    try:
        parsed = _parse(Path(source)) if is_path else _parsed(source)
    except Unreadable as error:
        raise RecipeRefused([error.problem], source=origin.source) from error
    declared = {"name": table} if isinstance(table, str) else model_document(table) if table is not None else None
    translation = DIALECTS[dialect](parsed.value, table=declared)
    problems = (*parsed.problems, *translation.problems)
    origin = replace(origin, document=parsed.value, pointers=translation.pointers, places=parsed.places, problems=problems)
    recipe = Recipe.model_validate(translation.document, context=origin)
    return Loaded(recipe, tuple(origin.placed(Problem(LOST, pointer, message)) for pointer, message in translation.lost))


def dump_recipe(recipe: Recipe, *, form: Literal["yaml", "json"] = "yaml") -> str:
    """The recipe as the text of a document, which `load_recipe` reads as an equal recipe.

    JSON has no dates: there, a bound that is one is written as text.
    """
    document = recipe.document()
    return yaml_text(document) if form == "yaml" else json_text(document, indent=0) + "\n"


def _parsed(document: Any) -> Parsed:
    value, problems = plain(document)
    return Parsed(value, problems=tuple(problems))


def _parse(path: Path) -> Parsed:
    text = _read(path)
    match path.suffix.lower():
        case ".json":
            return parse_json(text)
        case ".yaml" | ".yml":
            return parse_yaml(text)
        case _:
            try:
                return parse_json(text)
            except Unreadable:
                return parse_yaml(text)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise Unreadable("there is no such file; check the path") from error
    except IsADirectoryError as error:
        raise Unreadable("this is a directory; name the recipe's file in it") from error
    except (OSError, ValueError) as error:
        raise Unreadable(
            f"the file cannot be opened ({getattr(error, 'strerror', None) or error}); check the path and its permissions"
        ) from error
    if len(content) > MAX_BYTES:
        raise Unreadable(f"the file holds more than {MAX_BYTES} bytes; split the recipe")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8-sig", "replace")) + 1
        raise Unreadable("the file is not UTF-8; save it as UTF-8", (line, column)) from error
