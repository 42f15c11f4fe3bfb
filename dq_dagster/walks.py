"""The two walks over a document: registration (schema and coherence), then acquire (the dialect of the checks)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from dq_dagster.checks import kinds
from dq_dagster.checks.base import CHECK_ID, Check, Context
from dq_dagster.errors import Problem
from dq_dagster.limits import Limits
from dq_dagster.plain import child, is_within, shown
from dq_dagster.refusals import CHECK_INVALID, INVALID, Part, meant, problems_of

INCOHERENT = "RECIPE_DOCUMENT_INCOHERENT"
DUPLICATE = "DECLARED_CHECK_DUPLICATE"
CHECKS_INVALID = "DECLARED_CHECKS_INVALID"
SUGGESTED_AT_MOST = 50


def walk(document: Any, *, declared: type[BaseModel], limits: Limits) -> tuple[dict[str, Any], list[Problem]]:
    """The members of a recipe, and every problem of both walks. `declared` reads all members but the checks."""
    steps = _Walk(document, declared, limits)
    return steps.members(), steps.problems


def is_of_registration(problem: Problem) -> bool:
    """Whether the registration walk reports it; else it is the acquire walk's."""
    return problem.code.startswith("RECIPE_")


@dataclass
class _Walk:
    document: Any
    declared: type[BaseModel]
    limits: Limits
    problems: list[Problem] = field(default_factory=list)
    built: dict[int, Check] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)
    """The pointers to values that are wrong as a whole, so that nothing more is said of what they hold."""

    def members(self) -> dict[str, Any]:
        if not isinstance(self.document, dict):
            found = "is empty" if self.document is None else f"holds {shown(self.document)}"
            self.say(INVALID, "", f"the document {found}, where a mapping with the members recipe, table and checks is expected")
            return {}
        document = cast("dict[str, Any]", self.document)
        self.validate(Part("the recipe", "", document, self.declared))
        checks = self.checks(document)
        self.judge_names()
        for place, entry in enumerate(checks):
            self.judge_columns(place, entry)
            self.judge_promises(place, entry)
        self.judge_ids(checks)
        for place, check in self.built.items():
            self.acquire(place, check)
        return {**document, "checks": tuple(self.built.values())}

    def say(self, code: str, pointer: str, message: str) -> None:
        self.problems.append(Problem(code, pointer, message))

    def is_told(self, pointer: str) -> bool:
        """Whether the value there is already known to be wrong."""
        return is_within(pointer, self.wrong)

    def meant(self, name: str, known: Sequence[str], otherwise: str) -> str:
        """How to mend an unknown name; a document with very many problems gets no suggestions, for they take time."""
        return meant(name, known, otherwise, is_compared=len(self.problems) < SUGGESTED_AT_MOST)

    def validate(self, part: Part, value: Any = None) -> BaseModel | None:
        try:
            return part.model.model_validate(part.value if value is None else value)
        except ValidationError as error:
            told = [(problem, is_whole) for problem, is_whole in problems_of(error, part) if not self.is_told(problem.pointer)]
            self.problems += [problem for problem, _ in told]
            self.wrong.update(problem.pointer for problem, is_whole in told if is_whole)
            return None

    def checks(self, document: Mapping[str, Any]) -> list[Any]:
        """The checks as written; those that can be built are built."""
        checks = document.get("checks")
        if not isinstance(checks, list):
            if "checks" in document and not self.is_told("/checks"):
                self.say(CHECKS_INVALID, "/checks", f"the recipe states {shown(checks)} as checks, where a list of checks is expected")
            return []
        entries = cast("list[Any]", checks)
        if len(entries) > self.limits.max_checks:
            told = f"the recipe declares {len(entries)} checks, and at most {self.limits.max_checks} are allowed"
            self.say(CHECKS_INVALID, "/checks", f"{told}; split it, or raise the limit max_checks")
        for place, entry in enumerate(entries):
            if isinstance(check := self.check(place, entry), Check):
                self.built[place] = check
        return entries

    def check(self, place: int, entry: Any) -> BaseModel | None:
        pointer, subject = child("/checks", place), _subject(place, entry)
        if not isinstance(entry, dict):
            if not self.is_told(pointer):
                self.say(INVALID, pointer, f"{subject} is {shown(entry)}, where a mapping with check_id, kind and enforcement is expected")
            return None
        members = cast("dict[str, Any]", entry)
        kind = members.get("kind")
        known = kinds()
        if isinstance(kind, str) and kind in known:
            return self.validate(Part(subject, pointer, members, known[kind], is_check=True))
        if isinstance(kind, str) and not self.is_told(f"{pointer}/kind"):
            mend = self.meant(kind, list(known), "the known kinds are")
            self.say(CHECK_INVALID, f"{pointer}/kind", f"{subject} has the unknown kind {shown(kind)}; {mend}")
        shared = {name: value for name, value in members.items() if name in Check.model_fields}
        self.validate(Part(subject, pointer, members, Check, is_check=True), shared)
        return None

    def judge_names(self) -> None:
        """The names that the table itself states, against the columns it declares."""
        first: dict[str, int] = {}
        for place, name in enumerate(self.columns or ()):
            if name in first:
                told = f"the table declares the column {shown(name)} twice, first as column number {first[name] + 1}"
                self.say(INCOHERENT, f"/table/columns/{place}/name", f"{told}; keep one")
            first.setdefault(name, place)
        for member in ("grain", "sensitive"):
            for place, name in enumerate(self.table_list(member)):
                told = f"{member} names column {shown(name)}, which the table does not declare"
                self.judge_column(name, f"/table/{member}/{place}", told)
        met: set[str] = set()
        for place, name in enumerate(self.table_list("grain")):
            if isinstance(name, str) and name in met:
                self.say(INCOHERENT, f"/table/grain/{place}", f"grain names the column {shown(name)} twice; keep one")
            met.update([name] if isinstance(name, str) else [])

    def judge_column(self, path: Any, pointer: str, told: str) -> None:
        columns = self.columns
        if columns is not None and isinstance(path, str) and not self.is_told(pointer) and not _is_declared(path, self.column_set):
            self.say(INCOHERENT, pointer, f"{told}; {self.meant(path, columns, 'it declares')}")

    def judge_columns(self, place: int, entry: Any) -> None:
        """The columns that a check reads, against those that the table declares."""
        if self.columns is None or not isinstance(entry, dict):
            return
        check = self.built.get(place)
        for inner, paths in _columns_read(cast("dict[str, Any]", entry), check):
            pointer = f"/checks/{place}{inner}"
            for path in paths:
                self.judge_column(path, pointer, f"the table declares no column {shown(path)}")

    def judge_promises(self, place: int, entry: Any) -> None:
        """What a check needs of the recipe around it: a quarantine, a reference."""
        if not isinstance(entry, dict):
            return
        document, members, subject = cast("dict[str, Any]", self.document), cast("dict[str, Any]", entry), _subject(place, entry)
        if members.get("enforcement") == "quarantine" and document.get("quarantine") is None and not self.is_told("/quarantine"):
            told = f"{subject} quarantines rows, and the recipe declares no quarantine; add one, such as quarantine: {{to: bad_rows}}"
            self.say(INCOHERENT, f"/checks/{place}/enforcement", told)
        check = self.built.get(place)
        references = document.get("references") or {}
        if check is None or not isinstance(references, dict):
            return
        declared = list(cast("dict[str, Any]", references))
        used: Any = getattr(check, "reference", None)
        names: list[str] = [*([used] if isinstance(used, str) else []), *check.references_used()]
        for name in dict.fromkeys(names):
            if name not in declared:
                pointer = f"/checks/{place}" + ("/reference" if name == used else "")
                told = f"{subject} looks into the reference {shown(name)}, which the recipe does not declare"
                self.say(INCOHERENT, pointer, f"{told}; {self.meant(name, declared, 'it declares')}")

    def judge_ids(self, checks: Sequence[Any]) -> None:
        """Two checks of one id: a fault of the document, and one that stops a run."""
        first: dict[str, int] = {}
        for place, entry in enumerate(checks):
            check_id = cast("dict[str, Any]", entry).get("check_id") if isinstance(entry, dict) else None
            if not isinstance(check_id, str):
                continue
            if check_id in first:
                pointer, subject = f"/checks/{place}/check_id", _subject(place, entry)
                told = f"{subject} shares its id with check number {first[check_id] + 1}"
                self.say(INCOHERENT, pointer, f"{told}; give each check an id of its own")
                self.say(DUPLICATE, pointer, f"{told}; results under one id could not be told apart, so rename one of the two")
            first.setdefault(check_id, place)

    def acquire(self, place: int, check: Check) -> None:
        pointer = child("/checks", place)
        grain = tuple(name for name in self.table_list("grain") if isinstance(name, str))
        if check.falls_back_to_grain and (self.is_told("/table/grain") or len(grain) < len(self.table_list("grain"))):
            return  # what is wrong with the grain is told at the grain
        for inner, sentence in check.refusals(Context(grain, self.limits)):
            self.say(CHECK_INVALID, pointer + inner, sentence)
        if check.enforcement == "quarantine" and not check.tells_rows_apart:
            told = f"check {check.reported_id} is a {check.kind} check, which cannot tell which rows to quarantine"
            self.say(CHECK_INVALID, f"{pointer}/enforcement", f"{told}; make it required or advisory")

    def table_list(self, member: str) -> list[Any]:
        table = cast("dict[str, Any]", self.document).get("table")
        listed = cast("dict[str, Any]", table).get(member) if isinstance(table, dict) else None
        return cast("list[Any]", listed) if isinstance(listed, list) else []

    @cached_property
    def columns(self) -> tuple[str, ...] | None:
        """The declared columns; None where none are declared, or one of them has no readable name."""
        table = cast("dict[str, Any]", self.document).get("table")
        if not isinstance(table, dict) or not isinstance(cast("dict[str, Any]", table).get("columns"), list):
            return None
        entries = self.table_list("columns")
        names = [cast("dict[str, Any]", column).get("name") if isinstance(column, dict) else None for column in entries]
        told = tuple(name for name in names if isinstance(name, str))
        return told if len(told) == len(names) else None

    @cached_property
    def column_set(self) -> frozenset[str]:
        return frozenset(self.columns or ())


def _subject(place: int, entry: Any) -> str:
    check_id = cast("dict[str, Any]", entry).get("check_id") if isinstance(entry, dict) else None
    return f"check {check_id.upper()}" if isinstance(check_id, str) and re.fullmatch(CHECK_ID, check_id) else f"check number {place + 1}"


def _columns_read(entry: Mapping[str, Any], check: Check | None) -> Iterator[tuple[str, Sequence[str]]]:
    """The column paths that a check reads, each with its pointer; of one that could not be built, the plainly named ones."""
    if check is not None:
        elsewhere = {inner for inner, _, _ in check.reference_refs()}
        yield from ((inner, ref.reads()) for inner, ref in check.column_refs() if inner not in elsewhere)
        return
    for member in ("column", "columns"):
        value = entry.get(member)
        if isinstance(value, str):
            yield f"/{member}", (value,)
        elif isinstance(value, list):
            yield from ((f"/{member}/{place}", (path,)) for place, path in enumerate(cast("list[Any]", value)) if isinstance(path, str))


def _is_declared(path: str, columns: Collection[str]) -> bool:
    """Whether the path names a declared column, or something in one: the head of a dotted path is enough."""
    parts = path.split(".")
    return any(".".join(parts[:length]) in columns for length in range(1, len(parts) + 1))
