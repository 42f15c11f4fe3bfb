"""The recipe: a table and the checks that are declared for it. One that exists has passed both walks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    Field,
    PrivateAttr,
    SerializeAsAny,
    StrictInt,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from dq_dagster.arrow_types import arrow_type
from dq_dagster.checks.base import Check
from dq_dagster.checks.fields import Model
from dq_dagster.errors import Problem, RecipeRefused
from dq_dagster.limits import Limits
from dq_dagster.plain import MAX_DEPTH, UNREADABLE, ReadingOrder, canonical_json, find, is_within, model_document, parent, plain
from dq_dagster.refusals import IDENTIFIER
from dq_dagster.walks import is_of_registration, walk

Named = Annotated[str, Field(min_length=1)]


class Column(Model):
    """One column of the table, as it is promised to be."""

    name: str = Field(description="The column's name, compared code point by code point.")
    type: str | None = Field(default=None, description="The type in words, such as varchar, decimal(10, 2) or timestamp with time zone.")
    description: str | None = Field(default=None, description="Prose for the reader of the table.")

    @field_validator("type")
    @classmethod
    def _is_known(cls, value: str | None) -> str | None:
        if value is not None:
            if sum(map(value.count, "(<[")) > MAX_DEPTH:
                raise ValueError(f"is nested more than {MAX_DEPTH} deep")
            arrow_type(value)
        return value


class Table(Model):
    """The table that the checks are declared for."""

    name: Named = Field(description="How outcomes name the table.")
    columns: tuple[Column, ...] | None = Field(
        default=None, description="The columns. Where declared, every name in the recipe is compared with them."
    )
    grain: tuple[str, ...] = Field(default=(), max_length=32, description="The columns that tell one row from another.")
    sensitive: tuple[str, ...] = Field(default=(), description="Columns whose values are shown to nobody.")
    description: str | None = Field(default=None, description="Prose for the reader of the table.")


class Reference(Model):
    """Another table that checks look into: a path, relative to the recipe's own file, or an asset."""

    path: Named | None = Field(default=None, description="A Parquet file or a folder of them.")
    asset: Named | None = Field(default=None, description="The key of a Dagster asset, its parts joined by slashes.")

    @model_validator(mode="after")
    def _is_one(self) -> Reference:
        if (self.path is None) == (self.asset is None):
            raise ValueError(f"states {'both path and asset' if self.path else 'neither path nor asset'}; state exactly one of the two")
        return self


class Quarantine(Model):
    """Where the rows go that break a check of enforcement quarantine, and how many of them are too many."""

    to: Named = Field(description="The table that takes the rows.")
    max_rate_ppm: Annotated[StrictInt, Field(ge=0, le=1_000_000)] | None = Field(
        default=None, description="The highest share of quarantined rows, in parts per million of all candidate rows."
    )


class Declaration(Model):
    """A recipe: a table and the checks that are declared for it."""

    recipe: str = Field(pattern=IDENTIFIER, description="The recipe's name, a lower-case identifier.")
    description: str | None = Field(default=None, description="Prose for the reader of the recipe.")
    table: Table
    references: dict[str, Reference] = Field(default_factory=dict, description="Other tables that checks look into, by name.")
    quarantine: Quarantine | None = None
    checks: Any


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a recipe was read from: what its refusals say of the user's document.

    `document` is that document as parsed (None: the recipe's own members), `pointers` lead from the recipe's members
    into it, `places` tell line and column. `problems` are what reading and translating it have already found, with
    pointers into it.
    """

    source: str = "the recipe"
    folder: Path | None = None
    limits: Limits = field(default_factory=Limits)
    document: Any = None
    pointers: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def refused(self, problems: Sequence[Problem], members: Any = None, *, unreadable: Sequence[Problem] = ()) -> RecipeRefused:
        """All problems of the recipe's members, and those found before, as one refusal that points into the user's document.

        Registration's come first, then acquire's, each in the order of the document. What could not be read is told
        once: nothing more is said of that value, nor that the check which holds it lacks something.
        """
        order = ReadingOrder(members if self.document is None else self.document)
        known = (*self.problems, *unreadable)
        values = {problem.pointer for problem in known}
        maimed = {_check_around(problem.pointer) for problem in known if problem.code == UNREADABLE}
        told = [
            problem
            for problem in self._in_document(problems)
            if not is_within(problem.pointer, values) and (is_of_registration(problem) or problem.pointer not in maimed)
        ]
        placed = [self.placed(problem) for problem in (*known, *told)]
        placed.sort(key=lambda problem: (not is_of_registration(problem), order(problem.pointer)))
        return RecipeRefused(placed, source=self.source)

    def _in_document(self, problems: Sequence[Problem]) -> Iterator[Problem]:
        """The problems where the user reads them; what one written check brings as a fault of all that it stands for, once."""
        first: dict[tuple[str, str], str] = {}
        for problem in problems:
            pointer = self._translated(problem.pointer) if self.pointers else problem.pointer
            check = _check_around(problem.pointer)
            if first.setdefault((problem.code, pointer), check) == check:
                yield replace(problem, pointer=pointer)

    def _translated(self, pointer: str) -> str:
        """By the longest part of the way that is known; the rest is kept where the user's document has it too."""
        known = pointer
        while known and known not in self.pointers:
            known = parent(known)
        start = self.pointers.get(known, "")
        whole = start + pointer[len(known) :]
        return whole if find(self.document, whole)[0] or find(self.document, parent(whole))[0] else start

    def placed(self, problem: Problem) -> Problem:
        """The problem with the line and the column of its pointer, or of what is around it."""
        if problem.line is not None or not self.places:
            return problem
        outer = problem.pointer
        while outer and outer not in self.places:
            outer = parent(outer)
        line, column = self.places.get(outer, (None, None))
        return replace(problem, line=line, column=column)


def _check_around(pointer: str) -> str:
    """The pointer to the check that a place belongs to, or to the like elsewhere."""
    return "/".join(pointer.split("/")[:3])


class Recipe(Declaration):
    """A table and the checks that are declared for it, in an order that outcomes keep.

    Built from a document by `load_recipe`, or in Python from models or mappings. Validate with an `Origin` as the
    context to be held to other limits than the default ones.

    Raises:
        RecipeRefused: the registration or the acquire walk found problems; it holds them all.
    """

    checks: tuple[SerializeAsAny[Check], ...]
    _origin: Origin = PrivateAttr(default_factory=Origin)

    @model_validator(mode="wrap")
    @classmethod
    def _walk(cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Recipe:
        if isinstance(value, cls):
            return value
        origin = info.context if isinstance(info.context, Origin) else Origin()
        document, unreadable = plain(value)
        members, problems = walk(document, declared=Declaration, limits=origin.limits)
        if problems or unreadable or origin.problems:
            raise origin.refused(problems, document, unreadable=unreadable)
        recipe = handler(members)
        recipe._origin = origin
        return recipe

    @property
    def source(self) -> str:
        """What messages call the recipe: the path it was read from."""
        return self._origin.source

    @property
    def folder(self) -> Path | None:
        """Where the recipe's relative paths are resolved from: its own file's folder. None where there is no file."""
        return self._origin.folder

    @property
    def digest(self) -> str:
        """The SHA-256 of what the recipe says, in hexadecimal: equal recipes have equal digests, wherever they were read."""
        return hashlib.sha256(canonical_json(self.document()).encode()).hexdigest()

    def document(self) -> dict[str, Any]:
        """The document that `load_recipe` reads as an equal recipe; what is left at its default is left out."""
        document, _ = plain({**model_document(self), "checks": list(self.checks)})
        return document

    def refused(self, problems: Sequence[Problem]) -> RecipeRefused:
        """Problems that only the stored table shows, as a refusal that points into the user's document."""
        return self._origin.refused(problems, self.document())

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Recipe:
        """A copy with other members, which both walks hold as well."""
        origin = Origin(source=self.source, folder=self.folder, limits=self._origin.limits)
        return Recipe.model_validate({**{name: getattr(self, name) for name in type(self).model_fields}, **(update or {})}, context=origin)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and all(getattr(self, name) == getattr(other, name) for name in Recipe.model_fields)

    def __hash__(self) -> int:
        return hash((self.recipe, len(self.checks)))
