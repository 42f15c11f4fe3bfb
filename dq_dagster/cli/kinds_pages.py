"""The reference of kinds, docs/kinds: a page a family, made of docstrings, fields, and what each example really says.

`python -m dq_dagster.cli.kinds_pages FOLDER` writes it (`make docs`), with `--check` it only tells what is out of date.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from pydantic_core import PydanticUndefined

from dq_dagster.checks import kinds
from dq_dagster.checks.base import Check
from dq_dagster.checks.core import BOUNDS
from dq_dagster.checks.shapes import FilteredCheck, GroupCheck, SchemaCheck, TolerantCheck
from dq_dagster.cli.sample_rows import example_recipe, example_text, sample_of

OWN = "dq_dagster.checks."
EVERY = ("check_id", "kind", "enforcement", "description", "metadata")
SHARED = {FilteredCheck: ("filter",), TolerantCheck: ("max_failed_ppm", "max_failed_rows")}
WORDS = {
    "ColumnRef": "a column",
    "Bound": "a value",
    "Condition": "a condition in SQL",
    "Pattern": "a pattern",
    "AggregateParameters": "`percentile`, `accuracy`, `rsd`",
}
MEMBERS = {"reference": "the name of a declared reference", "aggr_type": "the name of an aggregate"}
TYPES = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false", "null": "nothing"}

INDEX = """\
# The kinds

Every kind of check, by what it is about. These pages are made from the code by `make docs`; `dq-dagster kinds KIND` prints \
the same on a terminal.

{table}

## What every check has

| member | what stands there |
|---|---|
| `check_id` | its name: lower-case letters, digits and `_`, a letter first; outcomes report it in upper case |
| `kind` | one of the words above |
| `enforcement` | `required`, `advisory`, or, where the kind tells rows apart, `quarantine` |
| `description` | prose; may be left out |
| `metadata` | anything of your own, carried to Dagster; may be left out |

Many kinds have these too; a kind's own table says whether it does.

| member | what stands there |
|---|---|
| `filter` | a condition: only rows for which it is true are judged |
| `max_failed_rows`, `max_failed_ppm` | how many of the judged rows may break it, as a count and in parts per million; by default none |

**A column** is a name, a dotted path into a struct, or `{{expression: …}}` in DuckDB's SQL. **A value** is a number, text, a \
date, a timestamp, `{{column: other}}` or `{{expression: …}}`. **A condition** is SQL over the columns of a row; one that is \
unknown, as a NULL makes it, is not met. A row for which it is unknown whether it breaks the kind is not judged, unless the kind \
says otherwise.

## The rows of the examples

Under each example stands the detail that its check gives of six odd rows. Columns of numbers go through 12.5, -1000, 12.5, \
1000000, NULL; columns of text through `EWR`, the empty text, `EWR`, `no such value`, NULL; columns of times through one and two \
hours before noon of 2026-03-01, which is "now", two days after it, 400 days before it, NULL. No two columns start at the same \
place, the first row stands again as the sixth, and a reference holds the first two rows.
"""


def families() -> dict[str, list[tuple[str, type[Check]]]]:
    """The package's own kinds by their family, each with its word, in the order of the registry."""
    found: dict[str, list[tuple[str, type[Check]]]] = {}
    for word, kind in kinds().items():
        if kind.__module__.startswith(OWN):
            found.setdefault(kind.__module__.removeprefix(OWN), []).append((word, kind))
    return found


def pages() -> dict[str, str]:
    """Every file of the reference, by its name."""
    written = {f"{family}.md": _page(family, members) for family, members in families().items()}
    return {"index.md": INDEX.format(table=_index()), **written}


def sentences(kind: type[Check], about: re.Pattern[str]) -> str:
    """What the docstring says about something: the sentences that mention it."""
    prose = " ".join(" ".join(paragraphs(kind)).split())
    return " ".join(sentence for sentence in re.split(r"(?<=[.:])\s+(?=[A-Z`'])", prose) if about.search(sentence))


ABOUT_NULL = re.compile(r"NULL|of nothing")
ABOUT_EMPTY = re.compile(r"empty tables?\b|without a(?:ny)? value|no value at all|fewer than two|of no row")


def paragraphs(kind: type[Check]) -> list[str]:
    """The docstring without its example."""
    text = (inspect.getdoc(kind) or "").partition("Example:\n")[0]
    return [paragraph for paragraph in text.strip().split("\n\n") if paragraph]


def judges(kind: type[Check]) -> str:
    """What a kind gives its verdict on, in words."""
    if issubclass(kind, SchemaCheck):
        return "the stored columns"
    rows = "groups of rows" if issubclass(kind, GroupCheck) else "rows"
    match _may_tell_rows_apart(kind):
        case "yes":
            return rows
        case "no":
            return "the table"
        case _:
            return f"{rows}, or the table"


def _may_tell_rows_apart(kind: type[Check]) -> str:
    """Whether a check of the kind can quarantine: yes, no, or by which members it does."""
    if kind.condemned_row is Check.condemned_row:
        return "no"
    if kind.tells_rows_apart is Check.tells_rows_apart:
        return "yes"
    members = [name for name in ("group_by", "merge_columns") if name in kind.model_fields]
    return f"with `{members[0]}`" if members else "no"


def _index() -> str:
    lines = ["| kind | what it promises | judges | can quarantine |", "|---|---|---|---|"]
    for family, members in families().items():
        lines.extend(
            f"| [`{word}`]({family}.md#{word}) | {_cell(paragraphs(kind)[0])} | {judges(kind)} | {_may_tell_rows_apart(kind)} |"
            for word, kind in members
        )
    return "\n".join(lines)


def _page(family: str, members: list[tuple[str, type[Check]]]) -> str:
    module = inspect.getmodule(members[0][1])
    opening = " ".join((inspect.getdoc(module) or "").split("\n\n")[0].split())
    title = family.replace("_", " ").capitalize().replace("Json", "JSON")
    head = f"# {title}\n\n{opening} What all kinds share stands in [the index](index.md).\n"
    return "\n".join([head, *(_section(word, kind) for word, kind in members)])


def _section(word: str, kind: type[Check]) -> str:
    outcome = sample_of(kind).outcome
    rows = [
        ("judges", judges(kind)),
        ("NULL", sentences(kind, ABOUT_NULL)),
        ("an empty table", sentences(kind, ABOUT_EMPTY)),
        ("can quarantine", _may_tell_rows_apart(kind)),
    ]
    parts = [
        f"## {word}",
        *(" ".join(paragraph.split()) for paragraph in paragraphs(kind)),
        "\n".join(["| | |", "|---|---|", *(f"| {name} | {_cell(told)} |" for name, told in rows)]),
        "\n".join(["| member | what stands there | default |", "|---|---|---|", *_members(kind)]),
        _example(kind),
        f"It says of [the six rows](index.md#the-rows-of-the-examples), {outcome.status}:",
        f"```text\n{outcome.detail}\n```\n",
    ]
    return "\n\n".join(parts)


def _members(kind: type[Check]) -> Iterator[str]:
    """A row a member that is the kind's own, then one for those it shares."""
    schema = kind.model_json_schema()
    shared = [name for shape, names in SHARED.items() if issubclass(kind, shape) for name in names]
    unread = set(BOUNDS) - set(getattr(kind, "reads_bounds", BOUNDS))
    for name, field in kind.model_fields.items():
        if name in EVERY or name in shared or name in unread:
            continue
        told = MEMBERS.get(name) or _told(cast("Mapping[str, Any]", schema["properties"][field.alias or name]))
        default = "must be stated" if field.is_required() else _default(field.get_default(call_default_factory=True, validated_data={}))
        yield f"| `{field.alias or name}` | {_cell(told)} | {default} |"
    if shared:
        yield f"| {', '.join(f'`{name}`' for name in shared)} | [as everywhere](index.md#what-every-check-has) | none |"


def _told(schema: Mapping[str, Any]) -> str:
    """What may stand in a member, in words, from its JSON Schema."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return WORDS.get(name, name)
    if "enum" in schema:
        return _either([f"`{word}`" for word in schema["enum"]])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "anyOf" in schema:
        options = [option for option in schema["anyOf"] if option.get("type") != "null"]
        numbers = [option for option in options if option.get("type") in ("number", "integer")]
        if numbers and len(numbers) + 1 == len(options) and any(option.get("type") == "string" for option in options):
            return "a number" + _limits(numbers[0])  # a decimal number may be written as text too
        return _either(list(dict.fromkeys(_told(option) for option in options)))
    match schema.get("type"):
        case "array":
            items = schema.get("items") or {}
            word = _told(items) if items else "anything"
            return "columns" if word == "a column" else f"a list, each {word}"
        case "object":
            return f"a mapping of names, each to {_told(schema.get('additionalProperties') or {})}"
        case str(name):
            return TYPES[name] + _limits(schema)
        case _:
            return "anything"


def _limits(schema: Mapping[str, Any]) -> str:
    words = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    told = [f"{words[name]} {schema[name]:g}" for name in words if name in schema and abs(schema[name]) < 10**9]
    return f", {' and '.join(told)}" if told else ""


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _default(value: Any) -> str:
    if value is None or value is PydanticUndefined or value == () or value == {} or type(value).__name__ in WORDS:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:f}`" if isinstance(value, Decimal) else f"`{value}`"


def _example(kind: type[Check]) -> str:
    """The docstring's example inside the smallest whole recipe, so that it can be loaded as it stands."""
    recipe = example_recipe(kind)
    references = [f"  {name}: {{path: {name}.parquet}}" for name in recipe.checks[0].references_used()]
    first, *more = example_text(kind).splitlines()
    lines = ["recipe: example", "table: {name: readings}", *(["references:", *references] if references else []), "checks:"]
    return "\n".join(["```yaml", *lines, f"  - {first}", *(f"    {line}" for line in more), "```"])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(arguments: list[str]) -> int:
    """Writes the pages into a folder, or tells which of them are out of date."""
    *flags, place = arguments
    folder, wanted = Path(place), pages()
    there = {path.name: path.read_text("utf-8") for path in folder.glob("*.md")} if folder.is_dir() else {}
    stale = sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
    if "--check" in flags:
        if stale:
            print(f"{folder} is out of date ({', '.join(stale)}): run make docs", file=sys.stderr)
        return 1 if stale else 0
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in wanted:
            (folder / name).write_text(wanted[name], "utf-8")
        else:
            (folder / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
