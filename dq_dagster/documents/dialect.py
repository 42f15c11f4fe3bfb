"""What a dialect hands over: a native document, and the way back into the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from dq_dagster.errors import Problem


@dataclass(frozen=True, slots=True)
class Translation:
    """A user's document as a native one.

    `pointers` lead from places in the native document to the places in the user's that they came of; what lies within
    such a place, and is there in the user's document too, needs no pointer of its own. With no pointers at all the two
    documents are alike. `problems` are what could not be carried over, with pointers into the user's document; the
    walks then say nothing more of that place. `lost` is what a recipe cannot say and does without: pointers into the
    user's document, each with a sentence.
    """

    document: Any
    pointers: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    lost: tuple[tuple[str, str], ...] = ()


class Dialect(Protocol):
    """A way to write a recipe down. Never raises for what a document holds: the walks tell what is wrong."""

    def __call__(self, document: Any, *, table: dict[str, Any] | None) -> Translation:
        """Translates a parsed document. `table` is what the caller says of the table, where the document does not."""
        ...
