"""The recipe document of our own, as CONTRACT describes it: its `columns_each` written out, and its JSON Schema for editors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from pydantic import BaseModel

from dq_dagster.checks import kinds
from dq_dagster.checks.base import Check
from dq_dagster.documents.columns_each import EACH, column_member, expand
from dq_dagster.documents.dialect import Translation
from dq_dagster.errors import Problem
from dq_dagster.recipe import Declaration
from dq_dagster.walks import INCOHERENT


def translate(document: Any, *, table: dict[str, Any] | None) -> Translation:
    """The document with every `columns_each` written out; `table` stands in where it declares none."""
    translation = expand(document)
    if table is None or not isinstance(translation.document, dict):
        return translation
    members = cast("dict[str, Any]", translation.document)
    if "table" not in members:
        return replace(translation, document={**members, "table": table})
    declared = members["table"]
    named = cast("dict[str, Any]", declared).get("name") if isinstance(declared, dict) else None
    if named == table["name"] or not isinstance(named, str):
        return translation
    told = f"the recipe is for the table '{named}', and the table '{table['name']}' was asked for; leave one of the two out"
    return replace(translation, problems=(*translation.problems, Problem(INCOHERENT, "/table/name", told)))


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the document, with one branch a kind. Its keywords are those that draft 07 has as well."""
    definitions: dict[str, Any] = {}
    schema = _of_model(Declaration, definitions)
    for word, kind in kinds().items():
        branch = _of_model(kind, definitions)
        branch["properties"]["kind"] = {"const": word}
        branch["required"] = [*branch["required"], "kind"]
        _allow_columns_each(branch, kind)
        definitions[f"kind_{word}"] = branch
    branches = [
        {"if": {"properties": {"kind": {"const": word}}, "required": ["kind"]}, "then": {"$ref": f"#/$defs/kind_{word}"}}
        for word in kinds()
    ]
    shared = _of_model(Check, definitions)
    properties = {**shared["properties"], "kind": {"enum": list(kinds()), "description": "What the check asserts."}}
    definitions["check"] = {
        "type": "object",
        "description": "One declared assertion.",
        "properties": properties,
        "required": ["check_id", "kind", "enforcement"],
        "allOf": branches,
    }
    checks = {"type": "array", "items": {"$ref": "#/$defs/check"}, "description": "The checks; outcomes keep their order."}
    properties = {**schema["properties"], "checks": checks}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A recipe of dq_dagster",
        **{**schema, "properties": properties},
        "$defs": dict(sorted(definitions.items())),
    }


def _allow_columns_each(branch: dict[str, Any], kind: type[Check]) -> None:
    """One check may be written for many columns, in place of the member that names one."""
    member = column_member(kind)
    if member is None:
        return
    column = {"$ref": "#/$defs/ColumnRef"}
    told = "Stands for one check a column; each id gets the column's name appended."
    branch["properties"][EACH] = {"type": "array", "items": column, "minItems": 1, "description": told}
    if member in branch["required"]:
        branch["required"].remove(member)
        branch["oneOf"] = [{"required": [member]}, {"required": [EACH]}]


def _of_model(model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    schema = cast("dict[str, Any]", _tidy(model.model_json_schema()))
    definitions.update(schema.pop("$defs", {}))
    return schema


def _tidy(schema: Any) -> Any:
    """The schema without the titles and defaults that pydantic makes of field names, and with the first paragraph of each docstring."""
    if isinstance(schema, list):
        return [_tidy(entry) for entry in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, Any]", schema)
    tidied: dict[str, Any] = {}
    for name, member in members.items():
        if name in ("properties", "$defs"):
            tidied[name] = {inner: _tidy(value) for inner, value in cast("dict[str, Any]", member).items()}
        elif name == "description" and isinstance(member, str):
            tidied[name] = " ".join(member.split("\n\n")[0].split())
        elif name not in ("title", "default"):
            tidied[name] = _tidy(member)
    return tidied
