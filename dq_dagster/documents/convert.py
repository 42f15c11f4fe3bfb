"""Another system's document as a recipe of ours, and what of it a recipe cannot say."""

from __future__ import annotations

from dataclasses import dataclass

from dq_dagster.documents import Source, dump_recipe, load
from dq_dagster.errors import Problem
from dq_dagster.limits import Limits
from dq_dagster.recipe import Recipe, Table


@dataclass(frozen=True, slots=True)
class Conversion:
    """A document that was converted: the recipe, its text, and what the recipe does without."""

    recipe: Recipe
    text: str
    lost: tuple[Problem, ...]

    def notes(self) -> tuple[str, ...]:
        """What could not be carried over, one line each: where it stands in the document, and what it means."""
        return tuple(str(problem) for problem in self.lost)


def convert(source: Source, *, dialect: str, table: str | Table | None = None, limits: Limits | None = None) -> Conversion:
    """The recipe that says the same as a document of the dialect, as YAML of ours. Comments are not kept.

    `table` names the table, and picks the output where a document states expectations of several.

    Raises:
        RecipeRefused: the document cannot be read, or states something that would be refused; it holds every problem.
        UnknownDialect: there is no dialect of that name.
    """
    loaded = load(source, dialect=dialect, table=table, limits=limits)
    return Conversion(loaded.recipe, dump_recipe(loaded.recipe), loaded.lost)
