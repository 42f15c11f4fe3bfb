"""SparkDQ's documents: a list of checks, each a mapping with `check`, `check-id` and the check's own parameters."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, cast

from dq_dagster.documents.dialect import Translation
from dq_dagster.documents.naming import fit_id
from dq_dagster.documents.spark_sql import expression_of, name_of
from dq_dagster.errors import Problem
from dq_dagster.expressions import ExpressionRefused
from dq_dagster.plain import child, shown
from dq_dagster.refusals import CHECK_INVALID, INVALID, meant

_ENFORCEMENT = {"critical": "required", "warning": "advisory"}
_PERIODS = ("year", "month", "week", "day", "hour", "minute", "second")
_TYPES = {
    "string": "varchar",
    "boolean": "boolean",
    "int": "integer",
    "bigint": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "binary": "blob",
    "array": "array",
    "map": "map",
    "struct": "struct",
    "decimal": "decimal",
}
_DECIMAL = re.compile(r"decimal\(\s*\d+\s*,\s*\d+\s*\)")
_MOMENT = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?\s*(Z|[-+]\d\d:?\d\d)?)?", re.ASCII
)
Members = dict[str, Any]


def translate(document: Any, *, table: dict[str, Any] | None) -> Translation:
    """A list of SparkDQ checks as a recipe."""
    pointers: dict[str, str] = {"": "", "/checks": ""}
    lost: list[tuple[str, str]] = []
    problems: list[Problem] = []
    checks: list[Members] = []
    references: dict[str, Any] = {}
    if not isinstance(document, list):
        found = "is empty" if document is None else f"holds {shown(document)}"
        problems.append(Problem(INVALID, "", f"the document {found}, where a list of SparkDQ checks is expected"))
    for place, entry in enumerate(cast("list[Any]", document) if isinstance(document, list) else []):
        stated = _Stated(entry, f"/{place}", place, problems)
        if (native := stated.check()) is None:
            continue
        lost += stated.ignored()
        mine = f"/checks/{len(checks)}"
        pointers |= {mine: f"/{place}", **{f"{mine}/{member}": pointer for member, pointer in stated.came_of.items()}}
        name = native.get("reference")
        if isinstance(name, str) and name not in references:
            references[name] = {"asset": name}
            told = f"the reference '{name}' is declared as the Dagster asset '{name}'; state its path where it is none"
            lost.append((stated.came_of["reference"], told))
        checks.append(native)
    native_document = {"recipe": "sparkdq_checks", "table": table or {"name": "table"}, "references": references, "checks": checks}
    return Translation(native_document, pointers, tuple(problems), tuple(lost))


class _Stated:
    """What one entry states, read parameter by parameter. Keys are in kebab-case or snake_case; unknown ones are ignored.

    A parameter that is wrong is told once and read as None. `came_of` leads from the members of our check to the
    parameters.
    """

    def __init__(self, entry: Any, pointer: str, place: int, problems: list[Problem]) -> None:
        self._problems = problems
        self._pointer = pointer
        self._entry = entry
        self.members: Mapping[str, Any] = {}
        self._keys: dict[str, str] = {}
        self.came_of: dict[str, str] = {}
        self.is_wrong = False
        self.asked: set[str] = set()
        if isinstance(entry, dict):
            self._keys = {str(key).replace("_", "-"): str(key) for key in cast("dict[str, Any]", entry)}
            self.members = {name: cast("dict[str, Any]", entry)[key] for name, key in self._keys.items()}
        given = self.members.get("check-id")
        self.subject = f"check {shown(given)}" if isinstance(given, str) and given else f"check number {place + 1}"

    def refuse(self, code: str, name: str, words: str) -> None:
        pointer = child(self._pointer, self._keys[name]) if name in self._keys else self._pointer
        self._problems.append(Problem(code, pointer, f"{self.subject} {words}"))
        self.is_wrong = True

    def check(self) -> Members | None:
        """The entry as a check of ours; None where it is none."""
        if not isinstance(self._entry, dict):
            self.refuse(INVALID, "", f"is {shown(self._entry)}, where a mapping with check and check-id is expected")
            return None
        severity = self.members.get("severity", "critical")
        enforcement = _ENFORCEMENT.get(severity.lower()) if isinstance(severity, str) else None
        if enforcement is None:
            self.refuse(CHECK_INVALID, "severity", f"states {shown(severity)} as severity, where one of critical, warning is expected")
        given = self.members.get("check-id")
        if not isinstance(given, str) or not given:
            found = "no check-id" if given is None else f"{shown(given)} as check-id"
            self.refuse(INVALID, "check-id", f"states {found}, where text is expected")
        name = self.members.get("check")
        if not isinstance(name, str):
            found = "no check" if name is None else f"{shown(name)} as check"
            self.refuse(INVALID, "check", f"states {found}, where the name of a check is expected")
            return None
        if name not in CHECKS:
            self.refuse(
                CHECK_INVALID, "check", f"calls the unknown check {shown(name)}; {meant(name, list(CHECKS), 'the known checks are')}"
            )
            return None
        members = CHECKS[name](self)
        if self.is_wrong or members is None:
            return None
        for member, parameter in (("check_id", "check-id"), ("kind", "check"), ("enforcement", "severity")):
            if parameter in self._keys:
                self.came_of[member] = child(self._pointer, self._keys[parameter])
        check_id = fit_id(cast(str, given))
        named = {} if check_id == given else {"metadata": {"name": given}}
        return {"check_id": check_id, "kind": members["kind"], "enforcement": enforcement, **named, **members}

    def ignored(self) -> list[tuple[str, str]]:
        """What no parameter of the check is, which SparkDQ ignores, with its place."""
        known = {"check", "check-id", "severity", *self.asked}
        names = [name for name in self.members if name not in known]
        told = "means nothing to SparkDQ either, and is left out"
        return [(child(self._pointer, self._keys[name]), f"{self.subject}: {shown(self._keys[name])} {told}") for name in names]

    def take(self, name: str, member: str, expected: str, read: Callable[[Any], Any], *, default: Any = ...) -> Any:
        """The parameter as `read` gives it, which is None for what is not of the expected sort."""
        self.asked.add(name)
        if name not in self.members or (self.members[name] is None and default is not ...):
            if default is ...:
                self.refuse(CHECK_INVALID, name, f"states no {name}; add it")
                return None
            return default
        self.came_of[member] = child(self._pointer, self._keys[name])
        value = read(self.members[name])
        if value is None:
            self.refuse(INVALID, name, f"states {shown(self.members[name])} as {name}, where {expected} is expected")
        return value

    def column(self, name: str = "column", member: str = "column") -> Any:
        return self.take(name, member, "the name of a column", _column)

    def columns(self, name: str = "columns", member: str = "columns", **more: Any) -> Any:
        return self.take(name, member, "a list of names of columns", _columns, **more)

    def flag(self, name: str, *, default: bool) -> bool:
        return self.take(
            name, name.replace("-", "_"), "true or false", lambda value: value if isinstance(value, bool) else None, default=default
        )

    def both_flags(self, *, default: bool) -> tuple[bool, bool]:
        def read(value: Any) -> tuple[bool, bool] | None:
            pair = cast("list[Any]", value) if isinstance(value, list) else []
            return (pair[0], pair[1]) if len(pair) == 2 and all(isinstance(one, bool) for one in pair) else None

        return self.take("inclusive", "inclusive", "a list of two truth values", read, default=(default, default)) or (default, default)

    def whole(self, name: str, member: str, *, at_least: int) -> Any:
        number = self.take(name, member, "a whole number", _whole)
        if number is not None and number < at_least:
            self.refuse(CHECK_INVALID, name, f"states {number} as {name}, where {at_least} or more is expected")
            return None
        return number


def _column(value: Any) -> str | None:
    return (name_of(value) or value) if isinstance(value, str) and value else None


def _columns(value: Any) -> list[str] | None:
    names = [_column(name) for name in cast("list[Any]", value)] if isinstance(value, list) else []
    return cast("list[str]", names) if names and all(name is not None for name in names) else None


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    return int(value) if isinstance(value, (int, Decimal)) and value == int(value) else None


def _number(value: Any) -> int | Decimal | None:
    if isinstance(value, str) and re.fullmatch(r"-?\d+(?:\.\d+)?", value, re.ASCII):
        return Decimal(value)
    return value if isinstance(value, (int, Decimal)) and not isinstance(value, bool) else None


def _moment(value: Any) -> dt.datetime | None:
    """An instant or a day that is written as Spark reads one; one without a zone is in UTC."""
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day)
    found = _MOMENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return None
    *numbers, fraction, zone = found.groups()
    year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
    offset = None
    if zone is not None:
        apart = dt.timedelta() if zone == "Z" else dt.timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        offset = dt.timezone(-apart if zone[0] == "-" else apart)
    try:
        return dt.datetime(year, month, day, hour, minute, second, int((fraction or "0")[:6].ljust(6, "0")), offset)
    except ValueError:
        return None


def _day(value: Any) -> dt.date | None:
    moment = _moment(value)
    return None if moment is None else moment.date()


_BOUNDS: Mapping[str, tuple[str, Callable[[Any], Any], str | None]] = {
    "numeric": ("a number", _number, None),
    "date": ("a date, such as '2024-02-29'", _day, "date"),
    "timestamp": ("a timestamp, such as '2024-02-29 12:00:00'", _moment, "timestamp"),
}


def _one_sided(sort: str, side: str) -> Callable[[_Stated], Members]:
    def read(stated: _Stated) -> Members:
        expected, reader, read_as = _BOUNDS[sort]
        bound = stated.take(f"{side}-value", f"{side}_value", expected, reader)
        members: Members = {"kind": "are_between", "columns": stated.columns(), f"{side}_value": bound}
        members[f"{side}_inclusive"] = stated.flag("inclusive", default=False)
        return members if read_as is None else {**members, "read_as": read_as}

    return read


def _two_sided(sort: str) -> Callable[[_Stated], Members]:
    def read(stated: _Stated) -> Members:
        expected, reader, read_as = _BOUNDS[sort]
        lower = stated.take("min-value", "min_value", expected, reader)
        upper = stated.take("max-value", "max_value", expected, reader)
        low, high = stated.members.get("min-value"), stated.members.get("max-value")
        # SparkDQ compares text as text, so that an unpadded month can stand above a later one.
        is_turned = low > high if isinstance(low, str) and isinstance(high, str) and read_as else False
        if lower is not None and upper is not None and (is_turned or _comparable(lower) > _comparable(upper)):
            mend = "; write months and days with two digits" if is_turned and not _comparable(lower) > _comparable(upper) else ""
            stated.refuse(CHECK_INVALID, "min-value", f"states {shown(low)} as min-value, above its max-value of {shown(high)}{mend}")
        from_inclusive, to_inclusive = stated.both_flags(default=False)
        members: Members = {"kind": "are_between", "columns": stated.columns(), "min_value": lower, "max_value": upper}
        members |= {"min_inclusive": from_inclusive, "max_inclusive": to_inclusive}
        return members if read_as is None else {**members, "read_as": read_as}

    return read


def _comparable(bound: Any) -> Any:
    if isinstance(bound, dt.datetime):
        return bound if bound.tzinfo else bound.replace(tzinfo=dt.timezone.utc)
    return bound


def _over_columns(kind: str) -> Callable[[_Stated], Members]:
    return lambda stated: {"kind": kind, "columns": stated.columns()}


def _null_check(stated: _Stated) -> Members:
    columns = stated.columns()
    if columns is None or len(columns) != 1:
        return {"kind": "are_not_null", "columns": columns}
    stated.came_of["column"] = child(stated.came_of["columns"], 0)
    return {"kind": "is_not_null", "column": columns[0]}


def _min_length(stated: _Stated) -> Members:
    least, inclusive = stated.whole("min-length", "min_length", at_least=1), stated.flag("inclusive", default=True)
    return {"kind": "has_length", "column": stated.column(), "min_length": _moved(least, 0 if inclusive else 1)}


def _max_length(stated: _Stated) -> Members:
    most, inclusive = stated.whole("max-length", "max_length", at_least=1), stated.flag("inclusive", default=True)
    return {"kind": "has_length", "column": stated.column(), "max_length": _moved(most, 0 if inclusive else -1)}


def _length_between(stated: _Stated) -> Members:
    least, most = stated.whole("min-length", "min_length", at_least=1), stated.whole("max-length", "max_length", at_least=1)
    if least is not None and most is not None and least > most:
        stated.refuse(CHECK_INVALID, "min-length", f"states {least} as min-length, above its max-length of {most}")
    from_inclusive, to_inclusive = stated.both_flags(default=True)
    least, most = _moved(least, 0 if from_inclusive else 1), _moved(most, 0 if to_inclusive else -1)
    column = stated.column()
    if least is not None and most is not None and least > most:
        # Between two neighbours there is no length: whatever is there breaks it.
        return {"kind": "are_null", "columns": [column]}
    return {"kind": "has_length", "column": column, "min_length": least, "max_length": most}


def _moved(number: int | None, by: int) -> int | None:
    return None if number is None else number + by


def _regex_match(stated: _Stated) -> Members:
    pattern = stated.take("pattern", "regex", "a regular expression", lambda value: value if isinstance(value, str) else None)
    ignores_case = stated.flag("ignore-case", default=False)
    fails_null = stated.flag("treat-null-as-failure", default=False)
    more = {**({"ignore_case": True} if ignores_case else {}), **({"allow_nulls": False} if fails_null else {})}
    return {"kind": "regex_match", "column": stated.column(), "regex": pattern, **more}


def _in_lists(parameter: str, *, single: str, member: str, several: str) -> Callable[[_Stated], Members | None]:
    def read(stated: _Stated) -> Members | None:
        def lists(value: Any) -> dict[str, Any] | None:
            if not isinstance(value, dict) or not value:
                return None
            listed = cast("dict[str, Any]", value)
            return listed if all(isinstance(values, list) and values for values in listed.values()) else None

        listed = stated.take(parameter, member, "a mapping of columns to lists of values", lists)
        if listed is None:
            return None
        values = {_column(name) or name: [value for value in entries if value is not None] for name, entries in listed.items()}
        if len(values) > 1:
            stated.came_of["values"] = stated.came_of[member]
            return {"kind": several, "values": values}
        ((column, entries),) = values.items()
        stated.came_of["column"] = stated.came_of[member]
        return {"kind": single, "column": column, member: entries}

    return read


def _compared(kind: str) -> Callable[[_Stated], Members]:
    def read(stated: _Stated) -> Members:
        limit = stated.take(
            "limit", "limit", "a column or a SQL expression", lambda value: value if isinstance(value, (str, int, Decimal)) else None
        )
        if isinstance(limit, str):
            try:
                name = name_of(limit)
                limit = {"expression": expression_of(limit)} if name is None else {"column": name}
                stated.came_of["limit/column"] = stated.came_of["limit"]
            except ExpressionRefused as refused:
                stated.refuse(CHECK_INVALID, "limit", f"states {shown(limit)} as limit, which {refused}")
        return {"kind": kind, "column": stated.column(), "limit": limit, "inclusive": stated.flag("inclusive", default=False)}

    return read


def _row_count_min(stated: _Stated) -> Members:
    return {"kind": "has_row_count", "min_count": stated.whole("min-count", "min_count", at_least=1)}


def _row_count_max(stated: _Stated) -> Members:
    return {"kind": "has_row_count", "max_count": stated.whole("max-count", "max_count", at_least=1)}


def _row_count_exact(stated: _Stated) -> Members:
    count = stated.whole("expected-count", "min_count", at_least=0)
    return {"kind": "has_row_count", "min_count": count, "max_count": count}


def _row_count_between(stated: _Stated) -> Members:
    least, most = stated.whole("min-count", "min_count", at_least=0), stated.whole("max-count", "max_count", at_least=0)
    if least is not None and most is not None and least > most:
        stated.refuse(CHECK_INVALID, "min-count", f"states {least} as min-count, above its max-count of {most}")
    return {"kind": "has_row_count", "min_count": least, "max_count": most}


def _ratio(kind: str) -> Callable[[_Stated], Members]:
    def read(stated: _Stated) -> Members:
        ratio = stated.take("min-ratio", "min_ratio", "a number from 0 to 1", _number)
        if ratio is not None and not 0 <= ratio <= 1:
            stated.refuse(CHECK_INVALID, "min-ratio", f"states {ratio} as min-ratio, where 0 to 1 is expected")
        return {"kind": kind, "column": stated.column(), "min_ratio": ratio}

    return read


def _unique_rows(stated: _Stated) -> Members:
    columns = stated.columns("subset-columns", "columns", default=None)
    return {"kind": "has_unique_rows", **({} if columns is None else {"columns": columns})}


def _column_presence(stated: _Stated) -> Members:
    names = stated.take("required-columns", "names", "a list of names of columns", _texts)
    return {"kind": "has_columns", "names": names}


def _texts(value: Any) -> list[str] | None:
    texts = cast("list[Any]", value) if isinstance(value, list) else []
    return cast("list[str]", texts) if texts and all(isinstance(text, str) for text in texts) else None


def _schema(stated: _Stated) -> Members:
    def types(value: Any) -> dict[str, str] | None:
        named = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        return cast("dict[str, str]", named) if named and all(isinstance(word, str) for word in named.values()) else None

    expected = stated.take("expected-schema", "types", "a mapping of columns to types", types)
    read: dict[str, str] = {}
    for name, word in (expected or {}).items():
        plain = word.strip().lower()
        read[name] = plain if _DECIMAL.fullmatch(plain) else _TYPES.get(plain, "")
        if not read[name]:
            mend = meant(plain, list(_TYPES), "the known types are")
            stated.refuse(CHECK_INVALID, "expected-schema", f"gives '{name}' the unknown type {shown(word)}; {mend}")
    return {"kind": "has_column_types", "types": read, "extra": "forbid" if stated.flag("strict", default=True) else "allow"}


def _foreign_key(stated: _Stated) -> Members:
    name = stated.take(
        "reference-dataset", "reference", "the name of a reference", lambda value: value if isinstance(value, str) and value else None
    )
    column, other = stated.column(), stated.column("reference-column", "ref_columns")
    stated.came_of["columns"] = stated.came_of.get("column", "")
    return {"kind": "has_only_known_keys", "columns": [column], "reference": name, "ref_columns": [other]}


def _freshness(stated: _Stated) -> Members:
    interval = stated.whole("interval", "interval", at_least=1)
    period = stated.take("period", "period", f"one of {', '.join(_PERIODS)}", lambda value: value if value in _PERIODS else None)
    return {"kind": "is_newest_within", "column": stated.column(), "interval": interval, "period": period}


CHECKS: Mapping[str, Callable[[_Stated], Members | None]] = {
    "null-check": _null_check,
    "not-null-check": _over_columns("are_null"),
    "exactly-one-not-null-check": _over_columns("exactly_one_not_null"),
    **{f"{sort}-{side}-check": _one_sided(sort, side) for sort in _BOUNDS for side in ("min", "max")},
    **{f"{sort}-between-check": _two_sided(sort) for sort in _BOUNDS},
    "string-min-length-check": _min_length,
    "string-max-length-check": _max_length,
    "string-length-between-check": _length_between,
    "regex-match-check": _regex_match,
    "is-contained-in-check": _in_lists("allowed-values", single="is_in_list", member="allowed", several="any_is_in_list"),
    "is-not-contained-in-check": _in_lists("forbidden-values", single="is_not_in_list", member="forbidden", several="any_is_not_in_list"),
    "column-less-than-check": _compared("is_less_than"),
    "column-greater-than-check": _compared("is_greater_than"),
    "row-count-min-check": _row_count_min,
    "row-count-max-check": _row_count_max,
    "row-count-exact-check": _row_count_exact,
    "row-count-between-check": _row_count_between,
    "columns-are-complete-check": _over_columns("are_complete"),
    "completeness-ratio-check": _ratio("has_completeness"),
    "distinct-ratio-check": _ratio("has_distinct_ratio"),
    "unique-ratio-check": _ratio("has_unique_ratio"),
    "unique-rows-check": _unique_rows,
    "column-presence-check": _column_presence,
    "schema-check": _schema,
    "foreign-key-check": _foreign_key,
    "freshness-check": _freshness,
}
