"""Ubunye's documents: the expectations of a job's outputs, of which one becomes a recipe."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

from dq_dagster.documents.dialect import Translation
from dq_dagster.documents.naming import Ids, fit_id
from dq_dagster.errors import Problem, some_of
from dq_dagster.plain import child, shown
from dq_dagster.refusals import CHECK_INVALID, INVALID, meant
from dq_dagster.walks import DUPLICATE, INCOHERENT

_ENFORCEMENT = {"fail": "required", "quarantine": "quarantine", "warn": "advisory"}
_OF_ROWS = ("not_null", "between", "one_of", "matches")
_OF_TABLES = ("unique", "row_count", "columns")
_KINDS = (*_OF_ROWS, *_OF_TABLES)
_RULE = (*_KINDS, "name", "severity", "description", "extra")
_SET = ("rules", "reconcile", "quarantine", "max_quarantine_rate")
_RECONCILE = ("input", "rows", "sum", "severity", "description", "name")
_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*", re.ASCII)
_ZONED = re.compile(r"\btimestamp\b", re.IGNORECASE)
_OF_PYTHON = re.compile(r"\\.|\(\?P<\w+>", re.DOTALL)
MILLION = 1_000_000

Members = dict[str, Any]


def translate(document: Any, *, table: dict[str, Any] | None) -> Translation:
    """The expectations of one output as a recipe: the only one, or the one that the table's name picks."""
    job = _Job()
    expectations, pointer = job.expectations(document)
    sets = {name: job.output(name, stated, child(pointer, name)) for name, stated in expectations.items()}
    job.judge_outputs(expectations, pointer)
    wanted = None if table is None else table.get("name")
    chosen = next(iter(sets), None) if wanted is None else cast("str", wanted)
    if wanted is None and len(sets) > 1:
        told = f"the document states expectations of {len(sets)} outputs, {some_of(list(sets))}; name one of them as the table"
        job.refuse(INCOHERENT, pointer, told)
    elif chosen is not None and chosen not in sets and sets:
        mend = meant(chosen, list(sets), "it states expectations of")
        job.refuse(INCOHERENT, pointer, f"the document states no expectations of the table '{chosen}'; {mend}")
    output = sets.get(chosen or "", _Output())
    native: Members = {
        "recipe": fit_id(chosen or "expectations"),
        "table": table or {"name": chosen or "table"},
        "references": {name: {"asset": name} for name in output.references},
        **({"quarantine": output.quarantine} if output.quarantine else {}),
        "checks": output.checks,
    }
    whole = output.pointer or pointer
    return Translation(native, {"": whole, "/checks": f"{whole}/rules", **output.pointers}, tuple(job.problems), tuple(job.lost))


@dataclass
class _Output:
    """What the expectations of one output come to."""

    pointer: str = ""
    checks: list[Members] = field(default_factory=list)
    pointers: dict[str, str] = field(default_factory=dict)
    references: list[str] = field(default_factory=list)
    quarantine: Members | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule as a check of ours: its name, where it stands, and the way back from the check's members."""

    name: str
    pointer: str
    members: Members
    came_of: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Native:
    """What one kind of rule comes to: the columns that name it, the check's members, and the way back from them."""

    columns: Sequence[str]
    members: Members
    came_of: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Stated:
    """A mapping of the document: what it is called in a sentence, and where it stands."""

    subject: str
    pointer: str
    members: Mapping[str, Any]

    def at(self, name: str) -> str:
        return child(self.pointer, name) if name in self.members else self.pointer


class _Job:
    """Reads the document part by part, and gathers what is wrong with it."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.lost: list[tuple[str, str]] = []
        self.inputs: list[str] | None = None
        self.outputs: list[str] | None = None

    def refuse(self, code: str, pointer: str, message: str) -> None:
        self.problems.append(Problem(code, pointer, message))

    def expectations(self, document: Any) -> tuple[Mapping[str, Any], str]:
        """The expectations by output, and where they stand: in the document itself, or in the CONFIG of a whole job."""
        members = cast("Mapping[str, Any]", document) if isinstance(document, dict) else {}
        pointer = "/expectations"
        if isinstance(config := members.get("CONFIG"), dict):
            members, pointer = cast("Mapping[str, Any]", config), "/CONFIG/expectations"
            inputs, outputs = members.get("inputs"), members.get("outputs")
            self.inputs = list(cast("Mapping[str, Any]", inputs)) if isinstance(inputs, dict) else []
            self.outputs = list(cast("Mapping[str, Any]", outputs)) if isinstance(outputs, dict) else []
        stated = members.get("expectations")
        if not isinstance(stated, dict) or not stated:
            found = "states no expectations" if stated is None else f"states {shown(stated)} as expectations"
            self.refuse(
                INVALID, pointer if "expectations" in members else "", f"the document {found}, where a mapping of outputs is expected"
            )
            return {}, pointer
        return cast("Mapping[str, Any]", stated), pointer

    def judge_outputs(self, expectations: Mapping[str, Any], pointer: str) -> None:
        """What outputs owe each other: a quarantine of one's own, that is no checked output itself."""
        taken: dict[str, str] = {}
        for name, stated in expectations.items():
            target = cast("Mapping[str, Any]", stated).get("quarantine") if isinstance(stated, dict) else None
            if self.outputs is not None and name not in self.outputs and name not in (self.inputs or []):
                mend = meant(name, [*self.outputs, *(self.inputs or [])], "there are")
                self.refuse(INCOHERENT, child(pointer, name), f"the job has no input or output '{name}'; {mend}")
            if self.outputs is not None and name in self.outputs and name in (self.inputs or []):
                self.refuse(INCOHERENT, child(pointer, name), f"'{name}' is both an input and an output of the job; rename one of them")
            if not isinstance(target, str):
                continue
            at = f"{child(pointer, name)}/quarantine"
            if target == name:
                self.refuse(INCOHERENT, at, f"output '{name}' quarantines rows into itself; name another output")
            elif target in expectations:
                self.refuse(
                    INCOHERENT, at, f"output '{name}' quarantines rows into '{target}', which has expectations of its own; take those out"
                )
            elif self.outputs is not None and target not in self.outputs:
                mend = meant(target, self.outputs, "its outputs are")
                self.refuse(INCOHERENT, at, f"output '{name}' quarantines rows into '{target}', which the job does not have; {mend}")
            if target in taken:
                self.refuse(INCOHERENT, at, f"outputs '{taken[target]}' and '{name}' share the quarantine '{target}'; give each its own")
            taken.setdefault(target, name)

    def known_only(self, stated: _Stated, known: Sequence[str]) -> None:
        for name in stated.members:
            if name not in known:
                mend = meant(name, known, "known members are")
                self.refuse(INVALID, stated.at(name), f"{stated.subject} has the unknown member {shown(name)}; {mend}")

    def output(self, name: str, stated: Any, pointer: str) -> _Output:
        output = _Output(pointer)
        subject = f"output '{name}'"
        if not isinstance(stated, dict):
            self.refuse(INVALID, pointer, f"{subject} states {shown(stated)} as expectations, where a mapping with rules is expected")
            return output
        whole = _Stated(subject, pointer, cast("Mapping[str, Any]", stated))
        self.known_only(whole, _SET)
        found: list[_Rule] = []
        readers: dict[str, Callable[[Any, str, int, _Output], list[_Rule]]] = {"rules": self.rule, "reconcile": self.reconcile}
        for member, read in readers.items():
            entries = whole.members.get(member, [])
            if not isinstance(entries, list):
                self.refuse(INVALID, whole.at(member), f"{subject} states {shown(entries)} as {member}, where a list is expected")
                continue
            for place, entry in enumerate(cast("list[Any]", entries)):
                found += read(entry, f"{pointer}/{member}/{place}", place, output)
        self.quarantine(whole, output, [rule.members["enforcement"] for rule in found])
        ids, named = Ids(), set[str]()
        for rule in found:
            if rule.name in named:
                told = f"{subject} has two rules of the name {shown(rule.name)}; give one of them another name"
                self.refuse(DUPLICATE, rule.pointer, told)
            named.add(rule.name)
            check_id = ids.give(rule.name)
            kept = {} if check_id == rule.name else {"metadata": {"name": rule.name}}
            mine, members = f"/checks/{len(output.checks)}", rule.members
            output.pointers |= {mine: rule.pointer, **{f"{mine}/{member}": place for member, place in rule.came_of.items()}}
            output.checks.append({"check_id": check_id, "kind": members["kind"], "enforcement": members["enforcement"], **kept, **members})
        return output

    def quarantine(self, whole: _Stated, output: _Output, enforcements: Sequence[str]) -> None:
        target, rate = whole.members.get("quarantine"), whole.members.get("max_quarantine_rate")
        if target is not None and (not isinstance(target, str) or not target):
            self.refuse(
                INVALID,
                whole.at("quarantine"),
                f"{whole.subject} states {shown(target)} as quarantine, where the name of an output is expected",
            )
            output.quarantine = {"to": "quarantine"}
        elif target is not None:
            output.quarantine = {"to": target}
            output.pointers["/quarantine"] = whole.at("quarantine")
        wants = "quarantine" in enforcements
        if wants and target is None:
            self.refuse(INCOHERENT, whole.pointer, f"{whole.subject} has a rule that quarantines rows, and names no quarantine; add one")
            output.quarantine = {"to": "quarantine"}
        if rate is None:
            return
        at = whole.at("max_quarantine_rate")
        if isinstance(rate, bool) or not isinstance(rate, (int, Decimal)) or not 0 <= rate <= 1:
            self.refuse(INVALID, at, f"{whole.subject} states {shown(rate)} as max_quarantine_rate, where a number from 0 to 1 is expected")
        elif not wants:
            self.refuse(INCOHERENT, at, f"{whole.subject} states max_quarantine_rate, and no rule of it quarantines rows; take it out")
        elif output.quarantine is not None:
            ppm = rate * MILLION
            output.quarantine["max_rate_ppm"] = int(ppm)
            output.pointers["/quarantine/max_rate_ppm"] = at
            if ppm != int(ppm):
                self.lost.append(
                    (at, f"{whole.subject}: a recipe states the rate in whole parts per million, so {rate} becomes {int(ppm)} ppm")
                )

    def rule(self, entry: Any, pointer: str, place: int, output: _Output) -> list[_Rule]:
        """The rule's name, where it stands, its check and the way back from the check's members; empty where it is none."""
        if not isinstance(entry, dict):
            self.refuse(INVALID, pointer, f"rule number {place + 1} is {shown(entry)}, where a mapping with one kind of rule is expected")
            return []
        members = cast("Mapping[str, Any]", entry)
        given = members.get("name")
        stated = _Stated(f"rule {shown(given)}" if isinstance(given, str) and given else f"rule number {place + 1}", pointer, members)
        self.known_only(stated, _RULE)
        kinds = [kind for kind in _KINDS if members.get(kind) is not None]
        severity = self.severity(stated, _ENFORCEMENT)
        if len(kinds) != 1:
            found = "no kind of rule" if not kinds else f"{len(kinds)} kinds of rules, {', '.join(kinds)}"
            self.refuse(CHECK_INVALID, pointer, f"{stated.subject} states {found}, where exactly one of {', '.join(_KINDS)} is expected")
            return []
        (kind,) = kinds
        if severity == "quarantine" and kind not in _OF_ROWS:
            told = f"{stated.subject} is a {kind} rule, which cannot tell which rows to quarantine; make it fail or warn"
            self.refuse(CHECK_INVALID, stated.at("severity"), told)
        if members.get("extra") is not None and kind != "columns":
            self.refuse(
                CHECK_INVALID, stated.at("extra"), f"{stated.subject} states extra, which goes with a columns rule alone; take it out"
            )
        before = len(self.problems)
        native: _Native | None = getattr(self, f"_{kind}")(stated, members[kind], stated.at(kind))
        if native is None or len(self.problems) > before:
            return []
        name = given if isinstance(given, str) and given else "_".join([*native.columns, kind])
        came_of = {"check_id": stated.at("name"), "kind": stated.at(kind), "enforcement": stated.at("severity"), **native.came_of}
        return [_Rule(name, pointer, {**self.shared(stated, severity), **native.members}, came_of)]

    def severity(self, stated: _Stated, known: Mapping[str, str]) -> str:
        severity = stated.members.get("severity", "fail")
        if isinstance(severity, str) and severity in known:
            return severity
        self.refuse(
            CHECK_INVALID,
            stated.at("severity"),
            f"{stated.subject} states {shown(severity)} as severity, where one of {', '.join(known)} is expected",
        )
        return "fail"

    def shared(self, stated: _Stated, severity: str) -> Members:
        described = stated.members.get("description")
        for name in ("name", "description"):
            value = stated.members.get(name)
            if value is not None and not isinstance(value, str):
                self.refuse(INVALID, stated.at(name), f"{stated.subject} states {shown(value)} as {name}, where text is expected")
        return {"enforcement": _ENFORCEMENT[severity], **({"description": described} if isinstance(described, str) else {})}

    def of_column(self, stated: _Stated, value: Any, pointer: str, known: Sequence[str]) -> tuple[str, _Stated] | None:
        """The column that a rule's own mapping names, and the mapping; None where it is none."""
        if not isinstance(value, dict):
            self.refuse(INVALID, pointer, f"{stated.subject} states {shown(value)}, where a mapping with column is expected")
            return None
        own = _Stated(stated.subject, pointer, cast("Mapping[str, Any]", value))
        self.known_only(own, known)
        column = own.members.get("column")
        if not isinstance(column, str):
            found = "no column" if column is None else f"{shown(column)} as column"
            self.refuse(INVALID, own.at("column"), f"{stated.subject} states {found}, where the name of a column is expected")
            return None
        return column, own

    def _not_null(self, stated: _Stated, value: Any, pointer: str) -> _Native | None:
        if not isinstance(value, str):
            self.refuse(INVALID, pointer, f"{stated.subject} states {shown(value)} as not_null, where the name of a column is expected")
            return None
        return _Native([value], {"kind": "is_not_null", "column": value}, {"column": pointer})

    def _unique(self, stated: _Stated, value: Any, pointer: str) -> _Native | None:
        columns = [value] if isinstance(value, str) else cast("list[Any]", value) if isinstance(value, list) else []
        if not columns or not all(isinstance(column, str) for column in columns):
            self.refuse(
                INVALID, pointer, f"{stated.subject} states {shown(value)} as unique, where a column or a list of columns is expected"
            )
            return None
        came_of = {"columns": pointer, **({"columns/0": pointer} if isinstance(value, str) else {})}
        return _Native(columns, {"kind": "is_unique", "columns": columns, "nulls_distinct": False}, came_of)

    def _between(self, stated: _Stated, value: Any, pointer: str) -> _Native | None:
        found = self.of_column(stated, value, pointer, ("column", "min", "max"))
        if found is None:
            return None
        column, own = found
        native: Members = {"kind": "are_between", "columns": [column]}
        for side in ("min", "max"):
            bound = own.members.get(side)
            if bound is None:
                continue
            if isinstance(bound, bool) or not isinstance(bound, (int, Decimal)):
                self.refuse(INVALID, own.at(side), f"{stated.subject} states {shown(bound)} as {side}, where a number is expected")
            native[f"{side}_value"] = bound
        if len(native) == 2:
            self.refuse(CHECK_INVALID, pointer, f"{stated.subject} states neither min nor max; state at least one of the two")
        came_of = {"columns": own.at("column"), "columns/0": own.at("column"), "min_value": own.at("min"), "max_value": own.at("max")}
        return _Native([column], native, came_of)

    def _one_of(self, stated: _Stated, value: Any, pointer: str) -> _Native | None:
        found = self.of_column(stated, value, pointer, ("column", "values"))
        if found is None:
            return None
        column, own = found
        values = own.members.get("values")
        if not isinstance(values, list):
            what = "no values" if values is None else f"{shown(values)} as values"
            self.refuse(INVALID, own.at("values"), f"{stated.subject} states {what}, where a list is expected")
            return None
        allowed = [entry for entry in cast("list[Any]", values) if entry is not None]
        if not allowed:
            # An empty list allows nothing: whatever is there breaks the rule.
            return _Native([column], {"kind": "are_null", "columns": [column]}, {"columns": own.at("column")})
        came_of = {"column": own.at("column"), "allowed": own.at("values")}
        return _Native([column], {"kind": "is_in_list", "column": column, "allowed": allowed}, came_of)

    def _matches(self, stated: _Stated, value: Any, pointer: str) -> _Native | None:
        found = self.of_column(stated, value, pointer, ("column", "pattern"))
        if found is None:
            return None
        column, own = found
        pattern = own.members.get("pattern")
        if not isinstance(pattern, str):
            what = "no pattern" if pattern is None else f"{shown(pattern)} as pattern"
            self.refuse(INVALID, own.at("pattern"), f"{stated.subject} states {what}, where a regular expression is expected")
            return None
        came_of = {"column": own.at("column"), "regex": own.at("pattern")}
        return _Native([column], {"kind": "regex_match", "column": column, "regex": _as_java(pattern)}, came_of)

    def _row_count(self, stated: _Stated, value: Any, pointer: str) -> _Native | None:
        if not isinstance(value, dict):
            self.refuse(
                INVALID, pointer, f"{stated.subject} states {shown(value)} as row_count, where a mapping with min and max is expected"
            )
            return None
        own = _Stated(stated.subject, pointer, cast("Mapping[str, Any]", value))
        self.known_only(own, ("min", "max"))
        for side in ("min", "max"):
            bound = own.members.get(side)
            if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int)):
                self.refuse(INVALID, own.at(side), f"{stated.subject} states {shown(bound)} as {side}, where a whole number is expected")
                return None
        least, most = own.members.get("min"), own.members.get("max")
        bounds = {"min_count": least if least is not None or most is not None else 0, "max_count": most}
        native = {"kind": "has_row_count", **{name: bound for name, bound in bounds.items() if bound is not None}}
        return _Native([], native, {"min_count": own.at("min"), "max_count": own.at("max")})

    def _columns(self, stated: _Stated, value: Any, pointer: str) -> _Native | None:
        extra = stated.members.get("extra", "allow")
        if extra not in ("allow", "forbid"):
            self.refuse(
                INVALID, stated.at("extra"), f"{stated.subject} states {shown(extra)} as extra, where one of allow, forbid is expected"
            )
        if not isinstance(value, dict) or not value:
            self.refuse(
                INVALID, pointer, f"{stated.subject} states {shown(value)} as columns, where a mapping of columns to types is expected"
            )
            return None
        types: dict[str, list[str]] = {}
        for name, words in cast("dict[str, Any]", value).items():
            named = [words] if isinstance(words, str) else cast("list[Any]", words) if isinstance(words, list) else []
            if not named or not all(isinstance(word, str) for word in named):
                told = f"{stated.subject} states {shown(words)} as the type of '{name}', where a type or a list of types is expected"
                self.refuse(INVALID, child(pointer, name), told)
                continue
            # A timestamp is an instant here, and timestamp_ntz the one without a zone.
            types[name] = [_ZONED.sub("timestamptz", word) for word in cast("list[str]", named)]
        came_of = {"types": pointer, "extra": stated.at("extra")}
        return _Native([], {"kind": "has_column_types", "types": types, "extra": extra}, came_of)

    def reconcile(self, entry: Any, pointer: str, place: int, output: _Output) -> list[_Rule]:
        """What must carry over from an input: a check of the rows, one of a sum, or both."""
        if not isinstance(entry, dict):
            self.refuse(INVALID, pointer, f"reconcile number {place + 1} is {shown(entry)}, where a mapping with input is expected")
            return []
        stated = _Stated(f"reconcile number {place + 1}", pointer, cast("Mapping[str, Any]", entry))
        self.known_only(stated, _RECONCILE)
        source, rows, total = (stated.members.get(name) for name in ("input", "rows", "sum"))
        severity = self.severity(stated, {"fail": "", "warn": ""})
        if not isinstance(source, str) or not source:
            what = "no input" if source is None else f"{shown(source)} as input"
            self.refuse(INVALID, stated.at("input"), f"{stated.subject} states {what}, where the name of an input is expected")
            return []
        if self.inputs is not None and source not in self.inputs:
            told = (
                f"{stated.subject} names the input '{source}', which the job does not have; {meant(source, self.inputs, 'its inputs are')}"
            )
            self.refuse(INCOHERENT, stated.at("input"), told)
        if rows is None and total is None:
            self.refuse(CHECK_INVALID, pointer, f"{stated.subject} states neither rows nor sum; state at least one of the two")
        if source not in output.references:
            output.references.append(source)
            told = f"{stated.subject}: the input '{source}' is declared as the Dagster asset '{source}'; state its path where it is none"
            self.lost.append((stated.at("input"), told))
        shared, given = self.shared(stated, severity), stated.members.get("name")
        found: list[_Rule] = []
        before = len(self.problems)
        if rows is not None and (native := self.rows_kept(stated, rows)) is not None:
            name = f"{given}_rows" if isinstance(given, str) and given else f"rows_from_{source}"
            came_of = {"reference": stated.at("input"), **{f"max_{way}": stated.at("rows") for way in ("lost", "gained")}}
            found.append(_Rule(name, pointer, {**shared, "kind": "rows_carry_over", "reference": source, **native}, came_of))
        if total is not None and (native := self.sum_kept(stated, total)) is not None:
            name = f"{given}_sum" if isinstance(given, str) and given else f"{native['column']}_sum_from_{source}"
            at = stated.at("sum")
            came_of = {"reference": stated.at("input"), "column": f"{at}/column", "ref_column": f"{at}/input_column"}
            found.append(_Rule(name, pointer, {**shared, "kind": "sum_carries_over", "reference": source, **native}, came_of))
        return found if len(self.problems) == before else []

    def rows_kept(self, stated: _Stated, value: Any) -> Members | None:
        at = stated.at("rows")
        if not isinstance(value, dict):
            return self.refuse(
                INVALID, at, f"{stated.subject} states {shown(value)} as rows, where a mapping with max_lost or max_gained is expected"
            )
        own = _Stated(stated.subject, at, cast("Mapping[str, Any]", value))
        self.known_only(own, ("max_lost", "max_gained"))
        native: Members = {}
        for name in ("max_lost", "max_gained"):
            if own.members.get(name) is None:
                continue
            found = self.allowance(own, name)
            if found is not None and found[0] == "" and found[1] != int(found[1]):
                self.refuse(
                    INVALID,
                    own.at(name),
                    f"{stated.subject} states {found[1]} as {name}, where a number of rows or a share such as '1%' is expected",
                )
            elif found is not None:
                native[f"{name}{found[0]}"] = found[1] if found[0] else int(found[1])
        if not native:
            self.refuse(CHECK_INVALID, at, f"{stated.subject} states neither max_lost nor max_gained; state at least one of the two")
        return native

    def sum_kept(self, stated: _Stated, value: Any) -> Members | None:
        found = self.of_column(stated, value, stated.at("sum"), ("column", "input_column", "tolerance"))
        if found is None:
            return None
        column, own = found
        other = own.members.get("input_column")
        if other is not None and not isinstance(other, str):
            self.refuse(
                INVALID,
                own.at("input_column"),
                f"{stated.subject} states {shown(other)} as input_column, where the name of a column is expected",
            )
        native: Members = {"column": column, "ref_column": other if isinstance(other, str) else column}
        if "tolerance" in own.members and (allowed := self.allowance(own, "tolerance")) is not None and allowed[1]:
            native[f"tolerance{allowed[0]}"] = allowed[1]
        return native

    def allowance(self, own: _Stated, name: str) -> tuple[str, int | Decimal] | None:
        """A number, or a share as parts per million: what is appended to the member's name, and its value."""
        value = own.members[name]
        if isinstance(value, str) and (found := _PERCENT.fullmatch(value)):
            return "_ppm", Decimal(found.group(1)) * (MILLION // 100)
        if not isinstance(value, bool) and isinstance(value, (int, Decimal)) and value >= 0:
            return "", value
        self.refuse(
            INVALID, own.at(name), f"{own.subject} states {shown(value)} as {name}, where a number or a share such as '1%' is expected"
        )
        return None


def _as_java(pattern: str) -> str:
    """A pattern of Python's as Java writes it: a rule reads no group, so none has a name, and `\\Z` is the very end."""
    return _OF_PYTHON.sub(lambda found: "(" if found.group().startswith("(") else {r"\Z": r"\z"}.get(found.group(), found.group()), pattern)
