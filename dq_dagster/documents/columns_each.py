"""`columns_each`: one written check that stands for one check a column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from dq_dagster.checks import kinds
from dq_dagster.checks.base import CHECK_ID, Check
from dq_dagster.checks.core import CoreCheck
from dq_dagster.documents.dialect import Translation
from dq_dagster.errors import Problem
from dq_dagster.plain import child, shown
from dq_dagster.refusals import INVALID, identifier
from dq_dagster.walks import DUPLICATE, INCOHERENT

EACH = "columns_each"
Part = tuple[dict[str, Any], str | None]
_CLASH = object()


def expand(document: Any) -> Translation:
    """The document with every `columns_each` written out, each check's id with the column's name appended."""
    if not isinstance(document, dict):
        return Translation(document)
    checks = cast("dict[str, Any]", document).get("checks")
    if not isinstance(checks, list) or not any(_stands_for_many(entry) for entry in cast("list[Any]", checks)):
        return Translation(document)
    expansion = _Expansion(cast("list[Any]", checks))
    return Translation({**document, "checks": expansion.checks}, expansion.pointers, tuple(expansion.problems))


def _stands_for_many(entry: Any) -> bool:
    """Whether the check is of a kind that may be written once for many columns, and is."""
    return isinstance(entry, dict) and EACH in entry and _member_of(cast("dict[str, Any]", entry)) is not None


def _member_of(entry: dict[str, Any]) -> str | None:
    kind = entry.get("kind")
    model = kinds().get(kind) if isinstance(kind, str) else None
    return None if model is None else column_member(model)


def column_member(kind: type[Check]) -> str | None:
    """The member that takes the column: `column`, or `columns` of a kind that takes a list; None where none may."""
    if issubclass(kind, CoreCheck):
        return None
    return next((name for name in ("column", "columns") if name in kind.model_fields), None)


class _Expansion:
    def __init__(self, written: Sequence[Any]) -> None:
        self.checks: list[Any] = []
        self.pointers: dict[str, str] = {"": ""}
        self.problems: list[Problem] = []
        ids = (
            cast("dict[str, Any]", entry).get("check_id") for entry in written if isinstance(entry, dict) and not _stands_for_many(entry)
        )
        self._ids = {check_id for check_id in ids if isinstance(check_id, str)}
        for place, entry in enumerate(written):
            parts = self.parts(entry, f"/checks/{place}") if _stands_for_many(entry) else [(entry, None)]
            for part, column in parts:
                self.add(part, f"/checks/{place}", column)

    def add(self, check: Any, written: str, column: str | None) -> None:
        """One check, the pointer to where it is written, and the one to the column that it is written out for."""
        place = child("/checks", len(self.checks))
        self.pointers[place] = written
        if column is not None:
            member = cast(str, _member_of(check))
            self.pointers[f"{place}/{member}"] = column
            self.pointers[f"{place}/columns/0"] = column
        self.checks.append(check)

    def refuse(self, code: str, pointer: str, message: str) -> None:
        self.problems.append(Problem(code, pointer, message))

    def parts(self, entry: dict[str, Any], pointer: str) -> Iterator[Part]:
        """The checks that the entry stands for, each with the pointer to its column."""
        member, each = cast(str, _member_of(entry)), f"{pointer}/{EACH}"
        subject = f"the check {shown(entry.get('check_id'))}"
        columns = entry[EACH]
        if member in entry:
            self.refuse(INVALID, each, f"{subject} states both {member} and {EACH}; keep one of the two")
        elif not isinstance(columns, list) or not columns:
            told = f"{subject} states {shown(columns)} as {EACH}, where a list of columns is expected"
            self.refuse(INVALID, each, f"{told}; name one or more")
        else:
            shared = {name: value for name, value in entry.items() if name != EACH}
            for place, column in enumerate(cast("list[Any]", columns)):
                check_id = self.check_id(entry.get("check_id"), column, f"{each}/{place}", subject)
                if check_id is not _CLASH:
                    own = {"check_id": check_id} if "check_id" in shared else {}
                    yield {**shared, member: column if member == "column" else [column], **own}, f"{each}/{place}"

    def check_id(self, stem: Any, column: Any, pointer: str, subject: str) -> Any:
        """The id of the check for one column, as written where none can be made: the walks tell what is wrong with it."""
        name = cast("dict[str, Any]", column).get("expression") if isinstance(column, dict) else column
        if not isinstance(stem, str) or not re.fullmatch(CHECK_ID, stem) or not isinstance(name, str):
            return stem
        made = f"{stem}_{identifier('x' + name)[1:].lstrip('_')}".rstrip("_")
        if len(made) > 128:
            told = f"{subject} gets an id of more than 128 characters for the column {shown(name)}"
            self.refuse(INVALID, pointer, f"{told}; give it a shorter check_id")
            return made[:128]
        if made in self._ids:
            told = f"{subject} gets the id '{made}' for the column {shown(name)}, which another check has"
            self.refuse(INCOHERENT, pointer, f"{told}; write this column as a check of its own")
            self.refuse(DUPLICATE, pointer, f"{told}; results under one id could not be told apart")
            return _CLASH
        self._ids.add(made)
        return made
